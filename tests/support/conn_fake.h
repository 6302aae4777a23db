/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection without a socket, for tests and fuzzers of a protocol: defines the tc_conn_
 * functions of net/net.h, so that net.c is not linked. Include it in one file of a program.
 */
#ifndef TC_TESTS_SUPPORT_CONN_FAKE_H
#define TC_TESTS_SUPPORT_CONN_FAKE_H

#include "base/assert.h"
#include "net/net.h"

#include <stdlib.h>
#include <string.h>

struct tc_net {
    int64_t mono_ns;
    int64_t wall_ns;
};

struct tc_conn {
    struct tc_net *net;
    const struct tc_proto *proto;
    void *state;
    struct tc_net_limits limits;
    const struct tc_service *service;
    struct tc_pool *pool;
    unsigned char *out; /* what was written and nobody took yet */
    size_t out_len;
    size_t out_cap;
    int64_t deadline_ns;
    bool paused;
    bool finished;
};

const struct tc_net_limits *tc_conn_limits(const struct tc_conn *c)
{
    return &c->limits;
}

const struct tc_service *tc_conn_service(const struct tc_conn *c)
{
    return c->service;
}

struct tc_pool *tc_conn_pool(const struct tc_conn *c)
{
    return c->pool;
}

struct tc_peer tc_conn_peer(const struct tc_conn *c)
{
    (void)c;
    return (struct tc_peer){.is_v6 = false};
}

tc_status tc_conn_write(struct tc_conn *c, struct tc_slice bytes)
{
    if (c->out_len + bytes.len > c->limits.output_bytes_max) {
        c->finished = true;
        return TC_E_LIMIT;
    }
    if (c->out_len + bytes.len > c->out_cap) {
        c->out_cap = (c->out_len + bytes.len) * 2;
        c->out = realloc(c->out, c->out_cap);
        TC_ASSERT(c->out != NULL);
    }
    if (bytes.len > 0) {
        memcpy(c->out + c->out_len, bytes.ptr, bytes.len);
        c->out_len += bytes.len;
    }
    return TC_OK;
}

size_t tc_conn_pending(const struct tc_conn *c)
{
    return c->out_len;
}

void tc_conn_pause(struct tc_conn *c, bool paused)
{
    c->paused = paused;
}

void tc_conn_deadline(struct tc_conn *c, int64_t at_ns)
{
    c->deadline_ns = at_ns;
}

void tc_conn_finish(struct tc_conn *c)
{
    c->finished = true;
}

struct tc_net *tc_conn_net(const struct tc_conn *c)
{
    return c->net;
}

int64_t tc_net_mono_ns(const struct tc_net *n)
{
    return n->mono_ns;
}

int64_t tc_net_wall_ns(const struct tc_net *n)
{
    return n->wall_ns;
}

/* Time goes on, and what was due meanwhile is told. */
static inline void tc_fake_advance(struct tc_conn *c, int64_t by_ns)
{
    int64_t until_ns = c->net->mono_ns + by_ns;
    while (!c->finished && c->deadline_ns != 0 && c->deadline_ns <= until_ns) {
        if (c->net->mono_ns < c->deadline_ns) {
            c->net->mono_ns = c->deadline_ns;
        }
        c->deadline_ns = 0;
        c->proto->expired(c, c->state);
    }
    c->net->mono_ns = until_ns;
}

/* Opens a connection of that protocol; limits, service and pool are set before. */
static inline tc_status tc_fake_open(struct tc_conn *c, const struct tc_proto *proto)
{
    c->proto = proto;
    c->state = calloc(1, proto->state_bytes);
    TC_ASSERT(c->state != NULL);
    return proto->open(c, c->state);
}

static inline void tc_fake_close(struct tc_conn *c)
{
    if (c->state != NULL) {
        c->proto->close(c, c->state);
    }
    free(c->state);
    free(c->out);
    c->state = NULL;
    c->out = NULL;
    c->out_len = 0;
    c->out_cap = 0;
}

#endif
