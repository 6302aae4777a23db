/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a client of the gRPC port. Besides not crashing: the connection's memory stays below
 * its cap, output below its limit, every request is answered once, and at the end nothing of the
 * pool is left.
 *
 * The first four bytes say how: bits (0: the preface and SETTINGS come first, 1: answers come
 * later, 2: they fail, 3: the peer does not read, 4: shutdown in the middle), how many bytes at
 * once, the time between, and the size of the pool.
 */
#include "../tests/support/conn_fake.h"

#include "base/assert.h"
#include "net/http2/http2.h"
#include "net/http2/priv.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HELD_MAX 64
#define MS INT64_C(1000000)

struct world {
    bool later;
    bool fail;
    struct tc_request *held[HELD_MAX];
    size_t held_count;
};

static void answer(struct world *w, struct tc_request *r)
{
    struct tc_response response = {.answer = w->fail ? TC_ANSWER_TOO_MANY : TC_ANSWER_OK,
                                   .message = r->path,
                                   .retry_after_s = 1};
    if (r->body != NULL) {
        TC_ASSERT(r->body->len <= r->body->cap);
        response.body = tc_slice_make((const char *)r->body->data, r->body->len);
    }
    tc_request_respond(r, &response);
}

static void handle(void *context, struct tc_request *r)
{
    struct world *w = context;
    TC_ASSERT(r->protocol == TC_PROTOCOL_GRPC && r->method == TC_METHOD_POST && r->of != NULL);
    TC_ASSERT(memchr(r->path.ptr, '\0', r->path.len) == NULL);
    if (w->later && w->held_count < HELD_MAX) {
        w->held[w->held_count++] = r;
        return;
    }
    answer(w, r);
}

static void answer_oldest(struct world *w)
{
    if (w->held_count > 0) {
        struct tc_request *r = w->held[0];
        w->held[0] = w->held[--w->held_count];
        answer(w, r);
    }
}

static void check(const struct tc_conn *c)
{
    const struct tc__h2 *h = c->state;
    TC_ASSERT(h->mem.used <= h->mem.cap);
    TC_ASSERT(h->open_count <= h->stream_count);
    TC_ASSERT(h->stream_count <= 2 * c->limits.streams_max);
    TC_ASSERT(c->out_len <= c->limits.output_bytes_max);
}

static void feed(struct tc_conn *c, const void *bytes, size_t len)
{
    /* A copy of its own, so that reading past its end is seen. */
    char *copy = malloc(len + 1);
    TC_ASSERT(copy != NULL);
    memcpy(copy, bytes, len);
    if (!c->finished && c->proto->input(c, c->state, tc_slice_make(copy, len)) != TC_OK) {
        c->finished = true;
    }
    free(copy);
    check(c);
}

static void drain(struct tc_conn *c)
{
    c->out_len = 0;
    if (!c->finished) {
        (void)c->proto->drained(c, c->state);
    }
    check(c);
}

static void run(struct tc_conn *c, struct world *w, const uint8_t *data, size_t size)
{
    static const char hello[] = NGHTTP2_CLIENT_MAGIC "\0\0\0\4\0\0\0\0\0"
                                                     "\0\0\0\4\1\0\0\0\0";
    uint8_t bits = data[0];
    size_t cut = (size_t)data[1] + 1;
    int64_t step_ns = data[2] * 20 * MS;
    if ((bits & 1) != 0) {
        feed(c, hello, sizeof hello - 1);
    }
    for (size_t at = 4, turn = 0; at < size; at += cut, turn++) {
        feed(c, data + at, cut < size - at ? cut : size - at);
        tc_fake_advance(c, step_ns);
        check(c);
        if ((bits & 8) == 0) {
            drain(c);
        }
        if (turn % 3 == 2) {
            answer_oldest(w);
            tc_grpc_health_set(turn % 2 == 0);
        }
        if ((bits & 16) != 0 && turn == 5 && !c->finished) {
            c->proto->shutdown(c, c->state);
        }
    }
    drain(c);
    tc_fake_advance(c, 120 * 1000 * MS);
    check(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4) {
        return 0;
    }
    struct world w = {.later = (data[0] & 2) != 0, .fail = (data[0] & 4) != 0};
    struct tc_service service = {.handle = handle, .context = &w};
    struct tc_net net = {.mono_ns = 1000000 * MS, .wall_ns = 1};
    struct tc_conn c = {.net = &net,
                        .service = &service,
                        .limits = {.streams_max = 8,
                                   .header_bytes_max = 4096,
                                   .headers_max = 16,
                                   .body_bytes_max = 65536,
                                   .output_bytes_max = 32768,
                                   .header_timeout_ns = 5000 * MS,
                                   .body_timeout_ns = 10000 * MS,
                                   .idle_timeout_ns = 60000 * MS,
                                   .write_timeout_ns = 20000 * MS,
                                   .resets_per_s_max = 10,
                                   .requests_per_conn_max = 5}};
    c.pool = tc_pool_create((size_t)data[3] * 1024, 65536);
    TC_ASSERT(c.pool != NULL);
    TC_ASSERT(tc_fake_open(&c, &tc_proto_grpc) == TC_OK);
    run(&c, &w, data, size);
    tc_fake_close(&c);
    while (w.held_count > 0) {
        TC_ASSERT(w.held[0]->of == NULL);
        answer_oldest(&w);
    }
    struct tc_pool_stats stats;
    tc_pool_stats(c.pool, &stats);
    TC_ASSERT(stats.used == 0);
    tc_pool_destroy(c.pool);
    return 0;
}
