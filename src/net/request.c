/* SPDX-License-Identifier: Apache-2.0 */
#include "net/request.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/os/spool.h"
#include "net/request_priv.h"
#include "observe/metrics.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_PER_BLOCK 32

static const struct {
    int http;
    int grpc;
} ANSWERS[] = {
#define TC_ANSWER_ROW(name, http, grpc) [TC_ANSWER_##name] = {(http), (grpc)},
    TC_ANSWER_MAP(TC_ANSWER_ROW)
#undef TC_ANSWER_ROW
};

int tc_answer_http(enum tc_answer a)
{
    return ANSWERS[a].http;
}

int tc_answer_grpc(enum tc_answer a)
{
    return ANSWERS[a].grpc;
}

void tc_request_respond(struct tc_request *r, const struct tc_response *response)
{
    if (r->arrival_ns != 0) {
        int64_t ns = tc_wall_ns() - r->arrival_ns;
        tc_observe(TC_HIST_REQUEST, ns > 0 ? ns : 0); /* the wall clock may have been set back */
    }
    r->respond(r, response);
}

bool tc_request_stream(struct tc_request *r, const struct tc_response *head,
                       const struct tc_stream_owner *owner)
{
    if (r->stream_ops == NULL || r->of == NULL) {
        return false;
    }
    r->stream = *owner;
    return r->stream_ops->begin(r, head);
}

tc_status tc_stream_write(struct tc_request *r, struct tc_slice bytes)
{
    return r->stream_ops->write(r, bytes);
}

size_t tc_stream_pending(const struct tc_request *r)
{
    return r->stream_ops->pending(r);
}

void tc_stream_end(struct tc_request *r)
{
    r->stream_ops->end(r);
}

struct block {
    struct block *next;
    struct tc__request_slot slots[SLOTS_PER_BLOCK];
};

/* Invariant: taken counts the slots that are neither in `waiting` nor never used. */
struct tc__requests {
    struct tc__request_slot *waiting;
    struct block *blocks;
    size_t taken;
    bool abandoned; /* the loop is gone: the last slot frees all */
};

struct tc__requests *tc__requests_create(void)
{
    return calloc(1, sizeof(struct tc__requests));
}

static void free_all(struct tc__requests *s)
{
    while (s->blocks != NULL) {
        struct block *next = s->blocks->next;
        free(s->blocks);
        s->blocks = next;
    }
    free(s);
}

void tc__requests_destroy(struct tc__requests *s)
{
    if (s == NULL) {
        return;
    }
    s->abandoned = true;
    if (s->taken == 0) {
        free_all(s);
    }
}

struct tc__request_slot *tc__request_take(struct tc__requests *s)
{
    if (s->waiting == NULL) {
        struct block *b = malloc(sizeof *b);
        if (b == NULL) {
            return NULL;
        }
        b->next = s->blocks;
        s->blocks = b;
        for (size_t i = 0; i < SLOTS_PER_BLOCK; i++) {
            b->slots[i].next = s->waiting;
            s->waiting = &b->slots[i];
        }
    }
    struct tc__request_slot *slot = s->waiting;
    s->waiting = slot->next;
    s->taken++;
    slot->request = (struct tc_request){0};
    slot->of = s;
    slot->next = NULL;
    slot->long_text = NULL;
    return slot;
}

void tc__request_give(struct tc__request_slot *slot)
{
    struct tc__requests *s = slot->of;
    TC_ASSERT(s->taken > 0);
    tc_buffer_give(slot->request.body);
    tc_buffer_give(slot->long_text);
    tc_spool_close(slot->request.spool);
    slot->request.body = NULL;
    slot->request.spool = NULL;
    slot->long_text = NULL;
    slot->next = s->waiting;
    s->waiting = slot;
    s->taken--;
    if (s->abandoned && s->taken == 0) {
        free_all(s);
    }
}
