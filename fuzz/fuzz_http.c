/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes to an HTTP/1.1 connection. The first byte chooses the mode, the second the size of the
 * pieces. Either the bytes come once whole and once in pieces, and both ways must say and hand over
 * the same; or memory is short, answers come late, the peer reads slowly and time passes.
 */
#include "base/assert.h"
#include "base/time.h"
#include "net/net_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OUT_MAX ((size_t)1 << 20)
#define HELD_MAX 64
#define STEPS_MAX 200000

enum { MODE_HOSTILE = 1, MODE_HOLDS = 2, MODE_SLOW = 4, MODE_TIME = 8, MODE_REFUSE = 16 };

struct run {
    struct tc_slice in;
    size_t piece;
    unsigned mode;
    bool closed;
    int64_t now_ns;
    struct tc_request *held[HELD_MAX];
    size_t held_first;
    size_t held_count;
    size_t handled;
    uint64_t digest; /* of what the handler saw */
    size_t out_len;
    char *out; /* OUT_MAX */
};

static void see(struct run *r, struct tc_slice s)
{
    r->digest = tc_hash_mix(r->digest, tc_slice_hash(s, 0) + s.len);
}

static enum tc_answer begin(void *context, struct tc_request *head, size_t *io_body_max,
                            struct tc_response *out_refusal)
{
    const struct run *r = context;
    TC_ASSERT(head->body == NULL);
    out_refusal->message = TC_LIT("refused");
    if ((r->mode & MODE_REFUSE) != 0 && head->path.len % 2 == 0) {
        return TC_ANSWER_NOT_FOUND;
    }
    *io_body_max = head->path.len > 4 ? 64 : *io_body_max;
    return TC_ANSWER_OK;
}

static void answer(struct tc_request *q)
{
    struct tc_response response = {.answer = TC_ANSWER_OK, .content_type = TC_LIT("a/b")};
    if (q->body != NULL) {
        response.body = tc_slice_make((const char *)q->body->data, q->body->len);
    }
    tc_request_respond(q, &response);
}

static void handle(void *context, struct tc_request *q)
{
    struct run *r = context;
    r->handled++;
    see(r, q->path);
    see(r, q->query);
    see(r, q->content_type);
    see(r, q->content_encoding);
    see(r, q->authorization);
    TC_ASSERT(memchr(q->path.ptr, '\0', q->path.len) == NULL);
    if (q->body != NULL) {
        see(r, tc_slice_make((const char *)q->body->data, q->body->len));
    }
    if ((r->mode & MODE_HOLDS) != 0 && r->held_first + r->held_count < HELD_MAX) {
        r->held[r->held_first + r->held_count++] = q;
    } else {
        answer(q);
    }
}

static ssize_t io_read(struct tc_conn *c, void *to, size_t len)
{
    struct run *r = c->io_state;
    len = len < r->in.len ? len : r->in.len;
    len = len < r->piece ? len : r->piece;
    if (len == 0) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(to, r->in.ptr, len);
    r->in = tc_slice_from(r->in, len);
    return (ssize_t)len;
}

static ssize_t io_write(struct tc_conn *c, const struct iovec *iov, int count)
{
    struct run *r = c->io_state;
    size_t taken = 0;
    size_t most = (r->mode & MODE_SLOW) != 0 ? 7 : SIZE_MAX;
    for (int i = 0; i < count && taken < most; i++) {
        size_t len = iov[i].iov_len < most - taken ? iov[i].iov_len : most - taken;
        size_t room = OUT_MAX - r->out_len;
        size_t kept = len < room ? len : room;
        memcpy(r->out + r->out_len, iov[i].iov_base, kept);
        r->out_len += kept;
        taken += len;
    }
    return (ssize_t)taken;
}

static void io_half_close(struct tc_conn *c)
{
    (void)c;
}

static void io_close(struct tc_conn *c)
{
    ((struct run *)c->io_state)->closed = true;
}

static int64_t now(void *context)
{
    return ((const struct run *)context)->now_ns;
}

static void turn(struct tc_net *n, struct run *r, struct tc_conn *c)
{
    if ((r->mode & MODE_TIME) != 0) {
        r->now_ns += TC_SECOND / 4;
        tc__net_tick(n);
        tc__net_turn(n);
    }
    if (!r->closed && c->pending > 0) {
        tc__conn_writable(c);
        tc__net_turn(n);
    }
    if (r->held_count > 0) {
        r->held_count--;
        answer(r->held[r->held_first++]);
        tc__net_turn(n);
    }
}

static void play(struct run *r, struct tc_slice bytes)
{
    static const struct tc__io io = {
        .read = io_read, .write = io_write, .half_close = io_half_close, .close = io_close};
    static const struct tc_net_limits limits = {
        .connections_max = 4,
        .header_bytes_max = 2048,
        .headers_max = 8,
        .body_bytes_max = 4096,
        .output_bytes_max = 1 << 16,
        .header_timeout_ns = 2 * TC_SECOND,
        .body_timeout_ns = 3 * TC_SECOND,
        .idle_timeout_ns = 5 * TC_SECOND,
        .write_timeout_ns = 4 * TC_SECOND,
    };
    struct tc_service service = {.begin = begin, .handle = handle, .context = r};
    struct tc_pool *pool =
        tc_pool_create((r->mode & MODE_HOSTILE) != 0 ? 24 << 10 : 8 << 20, 1 << 18);
    struct tc_net *n = pool == NULL ? NULL : tc_net_create(&limits, pool);
    if (n == NULL) {
        abort();
    }
    r->in = bytes;
    r->now_ns = 1000 * TC_SECOND;
    tc__net_clock(n, (struct tc__clock){now, now, r});
    struct tc_conn *c = tc__net_attach(tc__net_listener(n, &tc_proto_http, &service), -1, &io, r);
    for (size_t i = 0; i < STEPS_MAX && !r->closed && (r->in.len > 0 || r->held_count > 0); i++) {
        tc__conn_readable(c);
        tc__net_turn(n);
        turn(n, r, c);
    }
    tc_net_destroy(n);
    TC_ASSERT(r->closed);
    while (r->held_count > 0) {
        r->held_count--;
        answer(r->held[r->held_first++]);
    }
    tc_pool_destroy(pool); /* asserts that every buffer was given back */
}

/* 100 Continue is said only where the body was not there yet, which is up to the pieces. */
static void forget_continue(struct run *r)
{
    static const struct tc_slice words = {"HTTP/1.1 100 Continue\r\n\r\n", 25};
    size_t at = tc_slice_find(tc_slice_make(r->out, r->out_len), words);
    while (at != TC_NPOS) {
        memmove(r->out + at, r->out + at + words.len, r->out_len - at - words.len);
        r->out_len -= words.len;
        at = tc_slice_find(tc_slice_make(r->out, r->out_len), words);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char outs[2][OUT_MAX];
    static struct run whole;
    static struct run pieces;
    if (size < 2) {
        return 0;
    }
    struct tc_slice bytes = tc_slice_make((const char *)data + 2, size - 2);
    whole = (struct run){.mode = data[0] & MODE_REFUSE, .piece = SIZE_MAX, .out = outs[0]};
    pieces = (struct run){.mode = data[0], .piece = (size_t)data[1] + 1, .out = outs[1]};
    if ((data[0] & MODE_HOSTILE) == 0) {
        pieces.mode &= MODE_REFUSE;
        play(&whole, bytes);
        play(&pieces, bytes);
        forget_continue(&whole);
        forget_continue(&pieces);
        TC_ASSERT(whole.handled == pieces.handled && whole.digest == pieces.digest);
        TC_ASSERT(whole.out_len == pieces.out_len &&
                  memcmp(whole.out, pieces.out, whole.out_len) == 0);
    } else {
        play(&pieces, bytes);
    }
    return 0;
}
