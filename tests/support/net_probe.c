/* SPDX-License-Identifier: Apache-2.0 */
#include "support/net_probe.h"

#include "base/os/spool.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct tc_net_limits net_probe_limits(void)
{
    return (struct tc_net_limits){
        .connections_max = 64,
        .streams_max = 16,
        .header_bytes_max = 4096,
        .headers_max = 32,
        .body_bytes_max = 1 << 20,
        .output_bytes_max = 4 << 20,
        .header_timeout_ns = 10 * TC_SECOND,
        .body_timeout_ns = 30 * TC_SECOND,
        .idle_timeout_ns = 60 * TC_SECOND,
        .write_timeout_ns = 20 * TC_SECOND,
        .resets_per_s_max = 100,
    };
}

static int64_t probe_mono(void *context)
{
    return ((const struct net_probe *)context)->mono_ns;
}

static int64_t probe_wall(void *context)
{
    return ((const struct net_probe *)context)->wall_ns;
}

static void keep_text(char *to, struct tc_slice from)
{
    (void)snprintf(to, NET_PROBE_TEXT_MAX, "%.*s", TC_FMT(from));
}

static enum tc_answer probe_begin(void *context, struct tc_request *head, size_t *io_body_max,
                                  struct tc_response *out_refusal)
{
    struct net_probe *p = context;
    p->begun++;
    assert_null(head->body);
    if (p->begin_body_max != 0) {
        *io_body_max = p->begin_body_max;
    }
    if (p->spool_dir != NULL) {
        struct tc_error err = {0};
        assert_int_equal(tc_spool_open(p->spool_dir, &head->spool, &err), TC_OK);
    }
    out_refusal->message = TC_LIT("not here");
    out_refusal->allow = TC_LIT("POST");
    out_refusal->delay_ns = p->begin_delay_ns;
    return p->begin_answer;
}

static void answer(struct net_probe *p, struct tc_request *r)
{
    struct tc_response response = p->answer;
    if (response.body.len == 0 && r->body != NULL) {
        response.content_type = TC_LIT("application/octet-stream");
        response.body = tc_slice_make((const char *)r->body->data, r->body->len);
    }
    tc_request_respond(r, &response);
}

static void probe_handle(void *context, struct tc_request *r)
{
    struct net_probe *p = context;
    struct net_probe_seen *s = &p->seen;
    p->handled++;
    s->method = r->method;
    keep_text(s->path, r->path);
    keep_text(s->query, r->query);
    keep_text(s->content_type, r->content_type);
    keep_text(s->content_encoding, r->content_encoding);
    keep_text(s->authorization, r->authorization);
    keep_text(s->host, r->host.ptr == NULL ? TC_LIT("(none)") : r->host);
    keep_text(s->origin, r->origin);
    keep_text(s->fetch_site, r->fetch_site);
    struct tc_slice body = TC_EMPTY;
    struct tc_error err = {0};
    if (r->body != NULL) {
        body = tc_slice_make((const char *)r->body->data, r->body->len);
    } else if (r->spool != NULL) {
        assert_int_equal(tc_spool_map(r->spool, &body, &err), TC_OK);
    }
    s->body_len = body.len;
    s->body_hash = tc_slice_hash(body, 0);
    s->arrival_ns = r->arrival_ns;
    if (p->holds) {
        assert_true(p->held_count < NET_PROBE_HELD_MAX);
        p->held[p->held_count++] = r;
    } else {
        answer(p, r);
    }
}

void net_probe_answer(struct net_probe *p)
{
    assert_true(p->held_count > 0);
    struct tc_request *r = p->held[0];
    p->held_count--;
    memmove(p->held, p->held + 1, p->held_count * sizeof p->held[0]);
    answer(p, r);
    if (p->net != NULL) {
        tc__net_turn(p->net);
    }
}

void net_probe_init(struct net_probe *p, const struct tc_net_limits *limits, size_t pool_bytes)
{
    *p = (struct net_probe){
        .mono_ns = 1000 * TC_SECOND,
        .wall_ns = INT64_C(784111777) * TC_SECOND, /* Sun, 06 Nov 1994 08:49:37 GMT */
    };
    p->service = (struct tc_service){.begin = probe_begin, .handle = probe_handle, .context = p};
    p->pool = tc_pool_create(pool_bytes, (size_t)4 << 20);
    assert_non_null(p->pool);
    p->net = tc_net_create(limits, p->pool);
    assert_non_null(p->net);
    tc__net_clock(p->net, (struct tc__clock){probe_mono, probe_wall, p});
    p->listener = tc__net_listener(p->net, &tc_proto_http, &p->service);
    assert_non_null(p->listener);
}

void net_probe_fini(struct net_probe *p)
{
    tc_net_destroy(p->net);
    p->net = NULL;
    while (p->held_count > 0) {
        net_probe_answer(p);
    }
    tc_pool_destroy(p->pool);
}

void net_probe_wait(struct net_probe *p, int64_t ns)
{
    p->mono_ns += ns;
    p->wall_ns += ns;
    tc__net_tick(p->net);
    tc__net_memory_serve(p->net);
    tc__net_turn(p->net);
}

static ssize_t peer_read(struct tc_conn *c, void *to, size_t len)
{
    struct net_peer *peer = c->io_state;
    peer->reads++;
    len = len < peer->in.len ? len : peer->in.len;
    len = peer->read_most != 0 && len > peer->read_most ? peer->read_most : len;
    if (len == 0) {
        errno = peer->read_errno != 0 ? peer->read_errno : EAGAIN;
        return peer->in_ends && peer->read_errno == 0 ? 0 : -1;
    }
    memcpy(to, peer->in.ptr, len);
    peer->in = tc_slice_from(peer->in, len);
    return (ssize_t)len;
}

static ssize_t peer_write(struct tc_conn *c, const struct iovec *iov, int count)
{
    struct net_peer *peer = c->io_state;
    size_t taken = 0;
    if (peer->write_errno != 0 || peer->write_room == 0) {
        errno = peer->write_errno != 0 ? peer->write_errno : EAGAIN;
        return -1;
    }
    for (int i = 0; i < count && peer->write_room > 0; i++) {
        size_t len = iov[i].iov_len < peer->write_room ? iov[i].iov_len : peer->write_room;
        if (peer->out_len + len + 1 > peer->out_cap) {
            peer->out_cap = (peer->out_len + len + 1) * 2;
            peer->out = realloc(peer->out, peer->out_cap);
            assert_non_null(peer->out);
        }
        memcpy(peer->out + peer->out_len, iov[i].iov_base, len);
        peer->out_len += len;
        peer->write_room -= len;
        taken += len;
    }
    return (ssize_t)taken;
}

static void peer_half_close(struct tc_conn *c)
{
    struct net_peer *peer = c->io_state;
    assert_false(peer->half_closed);
    peer->half_closed = true;
}

static void peer_close(struct tc_conn *c)
{
    struct net_peer *peer = c->io_state;
    assert_ptr_equal(peer->conn, c);
    peer->conn = NULL;
}

static const struct tc__io peer_io = {
    .read = peer_read,
    .write = peer_write,
    .half_close = peer_half_close,
    .close = peer_close,
};

void net_peer_open(struct net_peer *peer, struct net_probe *p)
{
    *peer = (struct net_peer){.probe = p, .write_room = SIZE_MAX};
    peer->conn = tc__net_attach(p->listener, -1, &peer_io, peer);
    assert_non_null(peer->conn);
    tc__net_turn(p->net);
}

void net_peer_send(struct net_peer *peer, struct tc_slice bytes)
{
    peer->in = bytes;
    /* An event comes again as long as there is something to read and reading is not paused. */
    size_t before = 0;
    do {
        before = peer->reads;
        if (peer->conn != NULL) {
            tc__conn_readable(peer->conn);
        }
        tc__net_turn(peer->probe->net);
        while (peer->conn != NULL && peer->conn->pending > 0 && peer->write_room > 0 &&
               peer->write_errno == 0) {
            net_peer_writable(peer, peer->write_room);
        }
    } while (peer->conn != NULL && peer->in.len > 0 && peer->reads > before);
}

void net_peer_say(struct net_peer *peer, const char *text)
{
    net_peer_send(peer, tc_slice_cstr(text));
}

void net_peer_end(struct net_peer *peer)
{
    peer->in_ends = true;
    net_peer_send(peer, TC_EMPTY);
}

void net_peer_writable(struct net_peer *peer, size_t bytes)
{
    peer->write_room = bytes;
    tc__conn_writable(peer->conn);
    tc__net_turn(peer->probe->net);
}

const char *net_peer_heard(struct net_peer *peer)
{
    if (peer->out_len == 0) {
        return "";
    }
    peer->out[peer->out_len] = '\0';
    return peer->out;
}

void net_peer_forget(struct net_peer *peer)
{
    peer->out_len = 0;
}

size_t net_peer_answers(struct net_peer *peer, int *out_status)
{
    struct tc_slice heard = tc_slice_make(net_peer_heard(peer), peer->out_len);
    size_t count = 0;
    for (size_t at = tc_slice_find(heard, TC_LIT("HTTP/1.1 ")); at != TC_NPOS;
         at = tc_slice_find(heard, TC_LIT("HTTP/1.1 "))) {
        uint64_t status = 0;
        heard = tc_slice_from(heard, at + 9);
        assert_int_equal(tc_slice_u64(heard, &status), 3);
        if (out_status != NULL) {
            *out_status = (int)status;
        }
        count++;
    }
    return count;
}

void net_peer_fini(struct net_peer *peer)
{
    if (peer->conn != NULL) {
        tc__conn_kill(peer->conn, TC_COUNT_CONN_CLOSED_DONE);
        tc__net_turn(peer->probe->net);
        assert_null(peer->conn);
    }
    free(peer->out);
    peer->out = NULL;
}
