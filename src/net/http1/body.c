/* SPDX-License-Identifier: Apache-2.0 */
/* Where the bytes of a body go: into one pooled buffer, or to the disk. */
#include "base/os/spool.h"
#include "net/http1/priv.h"

#include <string.h>

/* How much to take for a body at first: all of it while half of the pool is free, else what is
 * there already. So promises alone cannot use up the other half. */
static size_t claim(const struct tc__http *h, bool chunked, uint64_t length, size_t in_hand)
{
    struct tc_pool_stats stats;
    tc_pool_stats(tc_conn_pool(h->conn), &stats);
    size_t half = stats.limit / 2;
    size_t first = in_hand > TC_HTTP_FIRST_BYTES ? in_hand : TC_HTTP_FIRST_BYTES;
    if (chunked) {
        return first;
    }
    bool whole = length <= first || (stats.used <= half && length <= (uint64_t)(half - stats.used));
    return whole ? (size_t)length : first;
}

bool tc__http_body_take(struct tc__http *h, bool chunked, uint64_t length, size_t in_hand)
{
    struct tc_request *r = &h->slot->request;
    if (r->spool == NULL) {
        r->body = tc_pool_take(tc_conn_pool(h->conn), claim(h, chunked, length, in_hand));
    }
    return r->spool != NULL || r->body != NULL;
}

bool tc__http_body_room(struct tc__http *h, uint64_t more)
{
    struct tc_request *r = &h->slot->request;
    if (r->body->len < r->body->cap) {
        return true;
    }
    uint64_t most = r->body->len + more;
    uint64_t next = (uint64_t)r->body->cap * TC_HTTP_GROWTH;
    struct tc_buffer *larger = tc_buffer_grow(r->body, (size_t)(next < most ? next : most));
    if (larger == NULL) {
        return false;
    }
    r->body = larger;
    return true;
}

bool tc__http_body_keep(struct tc__http *h, struct tc_slice bytes, uint64_t after)
{
    struct tc_request *r = &h->slot->request;
    if (r->spool != NULL) {
        struct tc_error err;
        return tc_spool_write(r->spool, bytes, &err) == TC_OK;
    }
    while (bytes.len > 0) {
        if (!tc__http_body_room(h, bytes.len + after)) {
            return false;
        }
        size_t room = r->body->cap - r->body->len;
        size_t len = bytes.len < room ? bytes.len : room;
        memcpy(r->body->data + r->body->len, bytes.ptr, len);
        r->body->len += len;
        bytes = tc_slice_from(bytes, len);
    }
    return true;
}
