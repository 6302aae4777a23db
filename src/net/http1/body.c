/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bytes of a body go: into one pooled buffer, or to the disk. */
#include "base/os/spool.h"
#include "net/http1/priv.h"

#include <string.h>

/* Small ones do not stand in the queue: they take of what is kept for those who have to come to an
 * end. */
struct tc_buffer *tc__http_body_claim(struct tc__http *h, uint64_t length, size_t in_hand)
{
    struct tc_pool *pool = tc_conn_pool(h->conn);
    size_t promise_max = tc_pool_promise_max(pool);
    size_t first = in_hand > TC_HTTP_FIRST_BYTES ? in_hand : TC_HTTP_FIRST_BYTES;
    size_t bytes = first;
    if (!h->is_chunked && length > first) {
        bytes = length < promise_max ? (size_t)length : promise_max;
        bytes = bytes < first ? first : bytes;
    } else if (!h->is_chunked) {
        bytes = (size_t)length;
    }
    struct tc_buffer *b =
        bytes <= TC_HTTP_FIRST_BYTES ? tc_pool_take(pool, bytes) : (struct tc_buffer *)NULL;
    h->claim.kind = h->is_known ? TC_CLAIM_KNOWN : TC_CLAIM_NEW;
    return b != NULL ? b
                     : tc_pool_claim(pool, &h->claim, bytes, tc_net_mono_ns(tc_conn_net(h->conn)),
                                     tc_conn_limits(h->conn)->memory_wait_ns);
}

/* How large the buffer becomes when it is full and `more` may come. */
static size_t grown(const struct tc_request *r, uint64_t more)
{
    uint64_t most = r->body->len + more;
    uint64_t next = (uint64_t)r->body->cap * TC_HTTP_GROWTH;
    return (size_t)(next < most ? next : most);
}

struct tc_buffer *tc__http_body_claim_more(struct tc__http *h, uint64_t more)
{
    h->claim.kind = TC_CLAIM_FINISHING;
    return tc_pool_claim(tc_conn_pool(h->conn), &h->claim, grown(&h->slot->request, more),
                         tc_net_mono_ns(tc_conn_net(h->conn)),
                         tc_conn_limits(h->conn)->memory_wait_ns);
}

void tc__http_body_move(struct tc__http *h, struct tc_buffer *b)
{
    struct tc_request *r = &h->slot->request;
    if (r->body != NULL) {
        memcpy(b->data, r->body->data, r->body->len);
        b->len = r->body->len;
        tc_buffer_set_new(b, r->body->is_new);
        tc_buffer_give(r->body);
    }
    r->body = b;
}

bool tc__http_body_room(struct tc__http *h, uint64_t more)
{
    struct tc_request *r = &h->slot->request;
    if (r->body->len < r->body->cap) {
        return true;
    }
    struct tc_pool_stats stats;
    tc_pool_stats(tc_conn_pool(h->conn), &stats);
    struct tc_buffer *larger =
        stats.waiting > 0 ? NULL : tc_buffer_grow(r->body, grown(r, more)); /* in its turn */
    if (larger == NULL) {
        return false;
    }
    r->body = larger;
    return true;
}

size_t tc__http_body_keep(struct tc__http *h, struct tc_slice bytes, uint64_t after)
{
    struct tc_request *r = &h->slot->request;
    size_t kept = 0;
    if (r->spool != NULL) {
        struct tc_error err;
        return tc_spool_write(r->spool, bytes, &err) == TC_OK ? bytes.len : 0;
    }
    while (kept < bytes.len && tc__http_body_room(h, bytes.len - kept + after)) {
        size_t room = r->body->cap - r->body->len;
        size_t len = bytes.len - kept < room ? bytes.len - kept : room;
        memcpy(r->body->data + r->body->len, bytes.ptr + kept, len);
        r->body->len += len;
        kept += len;
    }
    return kept;
}
