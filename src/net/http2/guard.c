/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts frames before nghttp2 sees them, those that it ignores as well. What costs a client
 * nothing and us some work (resets, pings, settings, priorities, empty frames, unknown ones) is
 * allowed at a rate; real work (headers, data) earns some of it back.
 */
#include "net/http2/priv.h"

/* 10 control frames for each 100 ms on the long run, 1,000 at once. */
#define FRAME_NS INT64_C(10000000)
#define FRAME_BURST 1000
#define SETTINGS_COST 20 /* each is answered and may walk all streams */
#define HEADERS_REWARD 8 /* a call comes with updates of windows, a priority, a ping */
/* gRPC's keepalive is one in 10 s at most; a measurement of bandwidth sends some beside data. */
#define PING_NS INT64_C(500000000)
#define PING_BURST 10

#define FRAME_HEAD 9

/* One more unit in a bucket that empties one in `each_ns` and holds `burst`. True: it is over. */
static bool drop(int64_t *until_ns, int64_t now_ns, int64_t each_ns, int64_t cost, int64_t burst)
{
    if (*until_ns < now_ns) {
        *until_ns = now_ns;
    }
    *until_ns += each_ns * cost;
    return *until_ns - now_ns > each_ns * burst;
}

bool tc__h2_guard_reset(struct tc__h2_guard *g, int64_t now_ns, size_t resets_per_s)
{
    int64_t rate = resets_per_s == 0 ? 1 : (int64_t)(resets_per_s & INT32_MAX);
    return drop(&g->reset_until_ns, now_ns, TC_H2_SECOND / rate, 1, rate);
}

static enum tc__h2_end control(struct tc__h2_guard *g, int64_t now_ns, int64_t cost)
{
    return drop(&g->frame_until_ns, now_ns, FRAME_NS, cost, FRAME_BURST) ? TC_H2_END_FRAMES
                                                                         : TC_H2_END_NONE;
}

static void reward(struct tc__h2_guard *g, int64_t frames)
{
    g->frame_until_ns -= FRAME_NS * frames;
    g->ping_until_ns = 0;
}

static enum tc__h2_end frame(struct tc__h2_guard *g, int64_t now_ns, size_t resets_per_s)
{
    switch (g->head[3]) {
    case NGHTTP2_DATA:
        if (g->skip == 0 && (g->head[4] & NGHTTP2_FLAG_END_STREAM) == 0) {
            return control(g, now_ns, 1);
        }
        reward(g, 1);
        return TC_H2_END_NONE;
    case NGHTTP2_HEADERS:
        reward(g, HEADERS_REWARD);
        return TC_H2_END_NONE;
    case NGHTTP2_RST_STREAM:
        return tc__h2_guard_reset(g, now_ns, resets_per_s) ? TC_H2_END_RESETS : TC_H2_END_NONE;
    case NGHTTP2_PING:
        if ((g->head[4] & NGHTTP2_FLAG_ACK) == 0) {
            return drop(&g->ping_until_ns, now_ns, PING_NS, 1, PING_BURST) ? TC_H2_END_PINGS
                                                                           : TC_H2_END_NONE;
        }
        return control(g, now_ns, 1);
    case NGHTTP2_SETTINGS:
        return control(g, now_ns, SETTINGS_COST);
    default: /* priorities, windows, continuations, and what nobody knows */
        return control(g, now_ns, 1);
    }
}

static enum tc__h2_end preface(struct tc__h2_guard *g, struct tc_slice *io_bytes)
{
    struct tc_slice magic = tc_slice_make(NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    struct tc_slice want = tc_slice_from(magic, g->preface);
    struct tc_slice got = tc_slice_head(*io_bytes, want.len);
    if (!tc_slice_eq(got, tc_slice_head(want, got.len))) {
        /* "GET", "POST", "PRI ..." of another kind: a text protocol, most likely HTTP/1. */
        bool letters = g->preface > 0 || (got.ptr[0] >= 'A' && got.ptr[0] <= 'Z');
        return letters ? TC_H2_END_HTTP1 : TC_H2_END_PREFACE;
    }
    g->preface += got.len;
    *io_bytes = tc_slice_from(*io_bytes, got.len);
    return TC_H2_END_NONE;
}

enum tc__h2_end tc__h2_guard_scan(struct tc__h2_guard *g, struct tc_slice bytes, int64_t now_ns,
                                  size_t resets_per_s)
{
    if (g->preface < NGHTTP2_CLIENT_MAGIC_LEN && bytes.len > 0) {
        enum tc__h2_end end = preface(g, &bytes);
        if (end != TC_H2_END_NONE) {
            return end;
        }
    }
    while (bytes.len > 0) {
        size_t skip = g->skip < bytes.len ? g->skip : bytes.len;
        g->skip -= skip;
        bytes = tc_slice_from(bytes, skip);
        size_t take = FRAME_HEAD - g->head_len;
        take = take < bytes.len ? take : bytes.len;
        if (take == 0) {
            continue;
        }
        memcpy(g->head + g->head_len, bytes.ptr, take);
        bytes = tc_slice_from(bytes, take);
        g->head_len += take;
        if (g->head_len == FRAME_HEAD) {
            g->head_len = 0;
            g->skip = (size_t)g->head[0] << 16 | (size_t)g->head[1] << 8 | g->head[2];
            enum tc__h2_end end = frame(g, now_ns, resets_per_s);
            if (end != TC_H2_END_NONE) {
                return end;
            }
        }
    }
    return TC_H2_END_NONE;
}
