/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of bodies: a request whose body finds none is not read until its turn comes, or until it
 * has waited for limits.memory_wait and is answered 503 (docs/internals/connections.md).
 */
#include "net/http1/priv.h"

static int64_t now_of(const struct tc__http *h)
{
    return tc_net_mono_ns(tc_conn_net(h->conn));
}

static uint64_t rest_of(const struct tc__http *h)
{
    return h->is_chunked ? 0 : h->body_left;
}

/* What is left of a body that is refused has to be read over. */
static void refuse_rest(struct tc__http *h)
{
    if (h->is_chunked) {
        h->chunks.left = h->chunks.size + TC_HTTP_DISCARD_BYTES;
    }
    tc__http_refuse_busy(h, h->is_chunked, rest_of(h));
}

/* There is memory: the bytes may come. */
static void start(struct tc__http *h, size_t in_hand)
{
    if (!h->body_began && h->fields[TC__HTTP_EXPECT].there && in_hand == 0 &&
        h->parser.http_minor > 0) {
        if (tc_conn_write(h->conn, TC_LIT("HTTP/1.1 100 Continue\r\n\r\n")) != TC_OK) {
            tc__http_drop_slot(h);
            tc__http_enter(h, TC__HTTP_OVER);
            return;
        }
    }
    if (!h->body_began) {
        h->body_since_ns = now_of(h);
        h->body_len = 0;
        h->body_fresh = 0;
    }
    h->body_began = true;
    h->body_last_ns = now_of(h);
    tc__http_enter(h, h->is_chunked ? TC__HTTP_CHUNKED : TC__HTTP_BODY);
}

/* Its turn has come, or the end of its wait. */
static void turn_came(struct tc_pool_claim *claim, struct tc_buffer *b)
{
    struct tc__http *h =
        (struct tc__http *)(void *)((char *)claim - offsetof(struct tc__http, claim));
    tc_conn_pause(h->conn, false);
    if (b == NULL) {
        refuse_rest(h);
    } else {
        tc__http_body_move(h, b);
        start(h, h->rest == NULL ? 0 : h->rest->len - h->rest_start);
    }
    tc__http_pump(h);
}

static void enter_queue(struct tc__http *h)
{
    tc__http_enter(h, TC__HTTP_QUEUED);
    tc_conn_pause(h->conn, true);
}

void tc__http_begin_body(struct tc__http *h, bool chunked, uint64_t length, size_t in_hand)
{
    h->is_chunked = chunked;
    h->body_left = length;
    h->body_began = false;
    h->claim.done = turn_came;
    if (h->slot->request.spool != NULL) {
        start(h, in_hand);
        return;
    }
    struct tc_buffer *b = tc__http_body_claim(h, length, in_hand);
    if (b != NULL) {
        tc__http_body_move(h, b);
        start(h, in_hand);
    } else if (h->claim.pool != NULL) {
        enter_queue(h);
    } else {
        tc__http_refuse_busy(h, chunked, length);
    }
}

void tc__http_wait_for_more(struct tc__http *h, uint64_t more)
{
    if (h->slot->request.spool != NULL) {
        refuse_rest(h); /* the disk had no room */
        return;
    }
    struct tc_buffer *b = tc__http_body_claim_more(h, more);
    if (b != NULL) {
        tc__http_body_move(h, b);
    } else if (h->claim.pool != NULL) {
        enter_queue(h);
    } else {
        refuse_rest(h);
    }
}

void tc__http_refuse_queued(struct tc__http *h)
{
    tc_pool_cancel(&h->claim);
    tc_conn_pause(h->conn, false);
    refuse_rest(h);
}

void tc__http_body_moves(struct tc__http *h, size_t len)
{
    h->body_len += len;
    h->body_last_ns = now_of(h);
}

void tc__http_reclaim(struct tc_conn *c, void *state, int64_t now_ns)
{
    struct tc__http *h = state;
    bool is_coming = h->phase == TC__HTTP_BODY || h->phase == TC__HTTP_CHUNKED;
    if (!is_coming || h->slot->request.body == NULL ||
        !tc_is_stalled(h->body_len, h->body_since_ns, h->body_last_ns, now_ns)) {
        return;
    }
    tc_count(TC_COUNT_MEMORY_RECLAIMED, 1);
    tc__conn_why(c, TC_COUNT_CONN_CLOSED_TIMEOUT_BODY);
    tc__http_refuse_with(h, 408, TC_COUNT_HTTP_TIMEOUT,
                         "the body stopped coming while others waited for its memory");
    tc__http_refuse(h);
}

size_t tc__http_read_most(const struct tc_conn *c, const void *state)
{
    struct tc_pool_stats stats;
    (void)state;
    tc_pool_stats(tc_conn_pool(c), &stats);
    return stats.waiting > 0 ? TC_HTTP_FIRST_BYTES : TC_HTTP_READ_BYTES;
}
