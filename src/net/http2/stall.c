/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the pool has not even room for what a call sends before its turn comes (admit.c). That is
 * kept, and the connection is not read: the sender waits, nothing is lost. One that has parts of
 * messages waits a second at most, as others wait for that memory; then the call is refused with
 * UNAVAILABLE and RetryInfo, and the client is told to have fewer calls at once.
 */
#include "net/http2/priv.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_NS INT64_C(5000000)
#define WAIT_HOLDING_NS TC_STALLED_NS /* of a connection that holds parts of messages */
#define BYTES_MAX ((size_t)8 << 20)   /* of what waits, all connections together */
#define CHANGE_NS INT64_C(50000000)   /* between two reductions */
#define RELAX_NS TC_H2_SECOND         /* between two relaxations */

/* Of all connections; the loop's thread only. */
static size_t waiting_bytes;

/* ---- calls at once ---- */

static void allow(struct tc__h2 *h, size_t streams, int64_t now_ns)
{
    const nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
                                          (uint32_t)streams};
    h->streams_now = streams;
    h->changed_ns = now_ns;
    tc__h2_due(h, now_ns + RELAX_NS);
    if (nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, &entry, 1) != 0) {
        tc__h2_fatal(h);
    }
}

void tc__h2_slow_down(struct tc__h2 *h, int64_t now_ns)
{
    size_t watching = 0;
    for (const struct tc__h2_stream *s = h->streams; s != NULL; s = s->next) {
        watching += s->watch_link != NULL;
    }
    size_t calls = (h->open_count - watching) / 2;
    size_t streams = watching + (calls > 0 ? calls : 1);
    if (streams < h->streams_now && now_ns - h->changed_ns >= CHANGE_NS) {
        tc_count(TC_COUNT_GRPC_SLOWED, 1);
        allow(h, streams, now_ns);
    }
}

void tc__h2_relax(struct tc__h2 *h, int64_t now_ns)
{
    size_t max = tc_conn_limits(h->conn)->streams_max;
    if (h->ended || h->closing || h->streams_now >= max) {
        return;
    }
    struct tc_pool_stats stats;
    tc_pool_stats(tc_conn_pool(h->conn), &stats);
    if (now_ns - h->changed_ns >= RELAX_NS && stats.used <= stats.limit / 2) {
        allow(h, 2 * h->streams_now < max ? 2 * h->streams_now : max, now_ns);
    }
    tc__h2_due(h, now_ns + RELAX_NS);
}

/* ---- what waits ---- */

/* Whether calls of h have memory that they fill: then others may wait for it. */
static bool holds_parts(const struct tc__h2 *h)
{
    for (const struct tc__h2_stream *s = h->streams; s != NULL; s = s->next) {
        if (s->phase == TC_H2_BODY && s->is_admitted) {
            return true;
        }
    }
    return false;
}

static int64_t wait_max_ns(const struct tc__h2 *h)
{
    int64_t wait_ns = tc_conn_limits(h->conn)->memory_wait_ns;
    return holds_parts(h) && wait_ns > WAIT_HOLDING_NS ? WAIT_HOLDING_NS : wait_ns;
}

/* The call that found no room is answered: try again later. */
static void refuse(struct tc__h2 *h, int32_t id, size_t len)
{
    struct tc__h2_stream *s = tc__h2_find(h, id);
    if (s != NULL && s->phase == TC_H2_BODY) {
        tc__h2_refuse_memory(s);
    }
    tc__h2_consume(h, id, len);
}

static void watch_over(struct tc__h2 *h, int64_t now_ns)
{
    h->stall.since_ns = now_ns;
    tc_count(TC_COUNT_GRPC_STALLS, 1);
    tc__h2_due(h, now_ns + RETRY_NS);
}

void tc__h2_drop_stall(struct tc__h2 *h)
{
    waiting_bytes -= h->stall.len;
    free(h->stall.data);
    h->stall = (struct tc__h2_stall){.data = NULL};
}

bool tc__h2_stall(struct tc__h2 *h, const unsigned char *data, size_t len, size_t fed)
{
    size_t chunk_at = (size_t)(h->stuck - data);
    size_t bytes = len - chunk_at;
    unsigned char *copy = bytes <= BYTES_MAX - waiting_bytes ? malloc(bytes) : NULL;
    if (copy == NULL) {
        refuse(h, h->stuck_id, h->stuck_len);
        return false;
    }
    memcpy(copy, h->stuck, bytes);
    waiting_bytes += bytes;
    h->stall = (struct tc__h2_stall){.data = copy,
                                     .len = bytes,
                                     .chunk_at = 0,
                                     .chunk_len = h->stuck_len,
                                     .stream_id = h->stuck_id,
                                     .rest_at = fed - chunk_at};
    watch_over(h, tc__h2_now(h));
    return true;
}

tc_status tc__h2_stall_more(struct tc__h2 *h, struct tc_slice bytes)
{
    struct tc__h2_stall *t = &h->stall;
    if (bytes.len > BYTES_MAX - waiting_bytes) {
        return TC_E_LIMIT;
    }
    unsigned char *larger = realloc(t->data, t->len + bytes.len);
    if (larger == NULL) {
        return TC_E_NOMEM;
    }
    memcpy(larger + t->len, bytes.ptr, bytes.len);
    t->data = larger;
    t->len += bytes.len;
    waiting_bytes += bytes.len;
    return TC_OK;
}

/* The chunk that found no room; false: it still waits. */
static bool resume_chunk(struct tc__h2 *h, int64_t now_ns)
{
    struct tc__h2_stall *t = &h->stall;
    struct tc__h2_stream *s = tc__h2_find(h, t->stream_id);
    if (s != NULL && s->phase == TC_H2_BODY && t->chunk_len > 0) {
        size_t taken = tc__h2_take(s, t->data + t->chunk_at, t->chunk_len);
        t->chunk_at += taken;
        t->chunk_len -= taken;
        if (t->chunk_len > 0 && now_ns - t->since_ns < wait_max_ns(h)) {
            tc__h2_due(h, now_ns + RETRY_NS);
            return false;
        }
    }
    if (t->chunk_len > 0) {
        refuse(h, t->stream_id, t->chunk_len);
        t->chunk_len = 0;
    }
    return true;
}

void tc__h2_resume(struct tc__h2 *h, int64_t now_ns)
{
    struct tc__h2_stall *t = &h->stall;
    h->busy = true;
    bool go_on = resume_chunk(h, now_ns);
    h->busy = false;
    if (!go_on) {
        return;
    }
    /* Even without a rest: the end of the frame is told by this call. */
    size_t from = t->rest_at;
    size_t fed = h->ended ? 0 : tc__h2_feed(h, t->data + from, t->len - from);
    if (h->ended || h->stuck == NULL) {
        tc__h2_drop_stall(h);
        return;
    }
    t->chunk_at = (size_t)(h->stuck - t->data);
    t->chunk_len = h->stuck_len;
    t->stream_id = h->stuck_id;
    t->rest_at = from + fed;
    watch_over(h, now_ns);
}
