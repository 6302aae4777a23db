/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of messages. A call may send a little before there is any (TC_H2_STREAM_WINDOW); once the
 * length is known and there is room for it, its window is opened. While it waits for its turn the
 * other calls of the connection go on: docs/internals/connections.md.
 */
#include "net/http2/priv.h"

#include <string.h>

#define EARLY_GROWTH 2

void tc__h2_refuse_memory(struct tc__h2_stream *s)
{
    tc_count(TC_COUNT_GRPC_ERROR_MEMORY, 1);
    tc__h2_slow_down(s->h, tc__h2_now(s->h));
    tc__h2_fail(s, TC_GRPC_UNAVAILABLE, TC_LIT("no memory for the message now"), 1);
}

/* So much of the call may come as there is room for. */
static void open_window(struct tc__h2_stream *s)
{
    struct tc__h2 *h = s->h;
    size_t window = TC_H2_FRAME_BYTES + s->req.body->cap;
    s->is_admitted = true;
    if (window <= s->window || s->remote_done) {
        return;
    }
    s->window = window;
    if (!h->ended && nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, s->id,
                                                           (int32_t)window) != 0) {
        tc__h2_fatal(h);
    }
}

static void move_to(struct tc__h2_stream *s, struct tc_buffer *b)
{
    struct tc_buffer *old = s->req.body;
    tc__h2_early_over(s);
    if (old != NULL) {
        memcpy(b->data, old->data, old->len);
        b->len = old->len;
        tc_buffer_set_new(b, b->is_new || old->is_new);
        tc_buffer_give(old);
    }
    s->req.body = b;
    s->came_ns = tc__h2_now(s->h);
    s->since_ns = s->is_admitted ? s->since_ns : s->came_ns;
    open_window(s);
}

/* Its turn has come, or the end of its wait. */
static void turn_came(struct tc_pool_claim *claim, struct tc_buffer *b)
{
    struct tc__h2_stream *s =
        (struct tc__h2_stream *)(void *)((char *)claim - offsetof(struct tc__h2_stream, claim));
    struct tc__h2 *h = s->h;
    if (b == NULL) {
        tc__h2_refuse_memory(s); /* the call may be gone afterwards */
    } else {
        move_to(s, b);
    }
    tc__h2_pump(h);
}

static void claim(struct tc__h2_stream *s, size_t bytes, enum tc_claim_kind kind)
{
    struct tc__h2 *h = s->h;
    s->claim.done = turn_came;
    s->claim.kind = kind;
    struct tc_buffer *b = tc_pool_claim(tc_conn_pool(h->conn), &s->claim, bytes, tc__h2_now(h),
                                        tc_conn_limits(h->conn)->memory_wait_ns);
    if (b != NULL) {
        move_to(s, b);
    } else if (s->claim.pool == NULL) {
        tc__h2_refuse_memory(s);
    }
}

void tc__h2_admit(struct tc__h2_stream *s)
{
    size_t promise_max = tc_pool_promise_max(tc_conn_pool(s->h->conn));
    /* A client that has not seen our settings sends as it likes: windows mean nothing yet. */
    if (s->h->settings_acked && s->message_len > TC_H2_STREAM_WINDOW - TC_H2_FRAME_BYTES) {
        claim(s, s->message_len < promise_max ? s->message_len : promise_max,
              s->h->is_known ? TC_CLAIM_KNOWN : TC_CLAIM_NEW);
    }
}

void tc__h2_admit_more(struct tc__h2_stream *s)
{
    size_t next = 2 * s->req.body->cap;
    claim(s, next < s->message_len ? next : s->message_len, TC_CLAIM_FINISHING);
}

void tc__h2_acked(struct tc__h2 *h)
{
    h->settings_acked = true;
    if (nghttp2_session_set_local_window_size(h->session, NGHTTP2_FLAG_NONE, 0,
                                              TC_H2_CONN_WINDOW) != 0 ||
        nghttp2_session_consume_connection(h->session, h->first_flight) != 0) {
        tc__h2_fatal(h);
    }
    for (struct tc__h2_stream *s = h->streams; s != NULL && !h->ended; s = s->next) {
        size_t have = s->req.body == NULL ? 0 : s->req.body->len;
        if (s->phase == TC_H2_BODY && s->frame_len == TC_H2_FRAME_BYTES && have < s->message_len) {
            tc__h2_admit(s);
        }
    }
}

/* Connections that have brought more than a window's bytes before there was memory for them; of all
 * of them, in the loop's thread. */
static size_t early_count;

static bool is_early(const struct tc__h2_stream *s)
{
    return !s->is_admitted && s->req.body != NULL && s->req.body->cap > TC_H2_STREAM_WINDOW;
}

void tc__h2_set_early(struct tc__h2 *h, bool is_early)
{
    if (h->is_early != is_early) {
        h->is_early = is_early;
        early_count += is_early ? 1 : (size_t)-1;
    }
}

void tc__h2_early_over(const struct tc__h2_stream *s)
{
    if (s->h == NULL || !is_early(s)) {
        return;
    }
    for (const struct tc__h2_stream *other = s->h->streams; other != NULL; other = other->next) {
        if (other != s && is_early(other)) {
            return;
        }
    }
    tc__h2_set_early(s->h, false);
}

struct tc_buffer *tc__h2_early(struct tc__h2_stream *s)
{
    struct tc_pool *pool = tc_conn_pool(s->h->conn);
    size_t have = s->req.body == NULL ? 0 : s->req.body->cap;
    size_t bytes = have == 0 ? TC_H2_STREAM_WINDOW : EARLY_GROWTH * have;
    bytes = bytes < TC_H2_FIRST_WINDOW ? bytes : TC_H2_FIRST_WINDOW;
    bytes = bytes < s->message_len ? bytes : s->message_len;
    if (have == 0) {
        return tc_pool_take(pool, bytes);
    }
    /* A few at a time: who has begun must come to the end of its first flight. */
    bool may_begin = (early_count + 1) * TC_H2_FIRST_WINDOW <= tc_pool_promise_max(pool);
    if (have >= bytes || (!s->h->is_early && !may_begin && early_count > 0)) {
        return NULL;
    }
    struct tc_buffer *b = tc_buffer_grow(s->req.body, bytes);
    if (b != NULL) {
        tc__h2_set_early(s->h, true);
    }
    return b;
}

static bool is_stalled(const struct tc__h2_stream *s, int64_t now_ns)
{
    return s->phase == TC_H2_BODY && s->is_admitted && s->claim.pool == NULL &&
           tc_is_stalled(s->came, s->since_ns, s->came_ns, now_ns);
}

void tc__h2_reclaim(struct tc_conn *c, void *state, int64_t now_ns)
{
    struct tc__h2 *h = state;
    (void)c;
    if (h->ended || h->closing || h->paused || h->stall.data != NULL) {
        return; /* it may be we who do not read */
    }
    h->busy = true; /* nothing is sent, so no stream goes away under the walk */
    for (struct tc__h2_stream *s = h->streams; s != NULL && !h->ended; s = s->next) {
        if (s->open && is_stalled(s, now_ns)) {
            tc_count(TC_COUNT_MEMORY_RECLAIMED, 1);
            tc_count(TC_COUNT_GRPC_ERROR_SLOW_BODY, 1);
            tc__h2_fail(s, TC_GRPC_DEADLINE_EXCEEDED,
                        TC_LIT("the message stopped coming while others waited for its memory"), 0);
        }
    }
    h->busy = false;
    tc__h2_pump(h);
}
