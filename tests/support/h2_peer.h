/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gRPC client and a server's connection in one process: nghttp2's client session on one side,
 * tc_proto_grpc on a fake connection on the other, or frames made by hand. Include after cmocka.h,
 * in one file of a program.
 */
#ifndef TC_TESTS_SUPPORT_H2_PEER_H
#define TC_TESTS_SUPPORT_H2_PEER_H

#include "base/time.h"
#include "net/http2/priv.h"
#include "support/conn_fake.h"

#include <stdio.h>

#define LOGS_PATH "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
#define MIB ((size_t)1 << 20)

/* What the client saw of one call. */
struct call {
    int32_t id;
    char http_status[8];
    char grpc_status[8];
    char message[512];
    char details[512];
    char content_type[64];
    char accept_encoding[64];
    unsigned char data[65536];
    size_t data_len;
    bool closed;
    uint32_t error_code;
    /* what it sends */
    const unsigned char *body;
    size_t body_len;
    size_t body_at;
    bool hold_end; /* no END_STREAM after the body */
};

#define CALLS_MAX 32
#define HELD_MAX 256

struct peer {
    struct tc_net net;
    struct tc_conn conn;
    struct tc_service service;
    nghttp2_session *client;
    struct call calls[CALLS_MAX];
    size_t call_count;
    bool goaway;
    uint32_t goaway_code;
    char goaway_text[64];
    size_t ping_acks;
    size_t resets;
    tc_status status; /* the last of input */
    /* the service */
    bool hold; /* requests are kept, not answered */
    struct tc_request *held[HELD_MAX];
    size_t held_count;
    size_t handled;
    struct tc_response response;
    enum tc_answer begin_answer;
    size_t begin_max; /* 0: as it is */
    int64_t begin_delay_ns;
    char path[256];
    char encoding[64];
    char authorization[2048];
    size_t body_len;
    uint64_t body_hash;
};

static inline void copy_text(char *out, size_t cap, struct tc_slice s)
{
    (void)snprintf(out, cap, "%.*s", (int)(s.len < cap ? s.len : cap - 1), s.len == 0 ? "" : s.ptr);
}

static inline enum tc_answer peer_begin(void *context, struct tc_request *head, size_t *io_body_max,
                                        struct tc_response *out_refusal)
{
    struct peer *p = context;
    assert_int_equal(head->protocol, TC_PROTOCOL_GRPC);
    assert_null(head->body);
    if (p->begin_max != 0) {
        *io_body_max = p->begin_max;
    }
    out_refusal->message = TC_LIT("refused by begin");
    out_refusal->delay_ns = p->begin_delay_ns;
    return p->begin_answer;
}

static inline void peer_handle(void *context, struct tc_request *r)
{
    struct peer *p = context;
    p->handled++;
    copy_text(p->path, sizeof p->path, r->path);
    copy_text(p->encoding, sizeof p->encoding, r->content_encoding);
    copy_text(p->authorization, sizeof p->authorization, r->authorization);
    p->body_len = r->body == NULL ? 0 : r->body->len;
    p->body_hash =
        r->body == NULL ? 0 : tc_slice_hash(tc_slice_make((char *)r->body->data, r->body->len), 0);
    if (p->hold) {
        assert_true(p->held_count < HELD_MAX);
        p->held[p->held_count++] = r;
        return;
    }
    tc_request_respond(r, &p->response);
}

static inline struct call *call_of(struct peer *p, int32_t id)
{
    for (size_t i = 0; i < p->call_count; i++) {
        if (p->calls[i].id == id) {
            return &p->calls[i];
        }
    }
    return NULL;
}

static inline int client_header(nghttp2_session *session, const nghttp2_frame *frame,
                                const uint8_t *name, size_t name_len, const uint8_t *value,
                                size_t value_len, uint8_t flags, void *user_data)
{
    (void)session;
    (void)flags;
    struct call *c = call_of(user_data, frame->hd.stream_id);
    if (c == NULL) {
        return 0;
    }
    struct tc_slice n = tc_slice_make((const char *)name, name_len);
    struct tc_slice v = tc_slice_make((const char *)value, value_len);
    const struct {
        struct tc_slice name;
        char *to;
        size_t cap;
    } kept[] = {{TC_LIT(":status"), c->http_status, sizeof c->http_status},
                {TC_LIT("grpc-status"), c->grpc_status, sizeof c->grpc_status},
                {TC_LIT("grpc-message"), c->message, sizeof c->message},
                {TC_LIT("grpc-status-details-bin"), c->details, sizeof c->details},
                {TC_LIT("content-type"), c->content_type, sizeof c->content_type},
                {TC_LIT("grpc-accept-encoding"), c->accept_encoding, sizeof c->accept_encoding}};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (tc_slice_eq(n, kept[i].name)) {
            copy_text(kept[i].to, kept[i].cap, v);
        }
    }
    return 0;
}

static inline int client_data(nghttp2_session *session, uint8_t flags, int32_t id,
                              const uint8_t *data, size_t len, void *user_data)
{
    (void)session;
    (void)flags;
    struct call *c = call_of(user_data, id);
    if (c != NULL && len <= sizeof c->data - c->data_len) {
        memcpy(c->data + c->data_len, data, len);
        c->data_len += len;
    }
    return 0;
}

static inline int client_close(nghttp2_session *session, int32_t id, uint32_t error_code,
                               void *user_data)
{
    (void)session;
    struct call *c = call_of(user_data, id);
    if (c != NULL) {
        c->closed = true;
        c->error_code = error_code;
    }
    return 0;
}

static inline int client_frame(nghttp2_session *session, const nghttp2_frame *frame,
                               void *user_data)
{
    (void)session;
    struct peer *p = user_data;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        p->goaway = true;
        p->goaway_code = frame->goaway.error_code;
        copy_text(
            p->goaway_text, sizeof p->goaway_text,
            tc_slice_make((const char *)frame->goaway.opaque_data, frame->goaway.opaque_data_len));
    }
    p->ping_acks += frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    p->resets += frame->hd.type == NGHTTP2_RST_STREAM;
    return 0;
}

static inline ssize_t client_body(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
                                  uint32_t *data_flags, nghttp2_data_source *source,
                                  void *user_data)
{
    (void)session;
    (void)source;
    struct call *c = call_of(user_data, id);
    size_t n = c->body_len - c->body_at;
    if (n == 0 && c->hold_end) {
        return NGHTTP2_ERR_DEFERRED;
    }
    n = n < length ? n : length;
    if (n > 0) {
        memcpy(buf, c->body + c->body_at, n);
    }
    c->body_at += n;
    if (c->body_at == c->body_len && !c->hold_end) {
        *data_flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)n;
}

static inline struct tc_net_limits peer_limits(void)
{
    return (struct tc_net_limits){
        .connections_max = 10,
        .streams_max = 10,
        .header_bytes_max = 8192,
        .headers_max = 32,
        .body_bytes_max = MIB,
        .output_bytes_max = MIB,
        .header_timeout_ns = 5 * TC_SECOND,
        .body_timeout_ns = 10 * TC_SECOND,
        .idle_timeout_ns = 60 * TC_SECOND,
        .write_timeout_ns = 20 * TC_SECOND,
        .memory_wait_ns = 2 * TC_SECOND,
        .resets_per_s_max = 20,
        .requests_per_conn_max = 0,
    };
}

/* The server's side only; frames are made by hand. */
static inline struct peer *peer_raw(const struct tc_net_limits *limits, size_t pool_bytes)
{
    struct peer *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->net = (struct tc_net){.mono_ns = 1000 * TC_SECOND, .wall_ns = 1700000000 * TC_SECOND};
    p->service = (struct tc_service){.begin = peer_begin, .handle = peer_handle, .context = p};
    p->conn.net = &p->net;
    p->conn.service = &p->service;
    p->conn.limits = *limits;
    p->conn.pool = tc_pool_create(pool_bytes, 4 * MIB);
    assert_non_null(p->conn.pool);
    assert_int_equal(tc_fake_open(&p->conn, &tc_proto_grpc), TC_OK);
    return p;
}

static inline void exchange(struct peer *p);

static inline struct peer *peer_create_with(const struct tc_net_limits *limits, size_t pool_bytes)
{
    struct peer *p = peer_raw(limits, pool_bytes);
    nghttp2_session_callbacks *cbs = NULL;
    assert_int_equal(nghttp2_session_callbacks_new(&cbs), 0);
    nghttp2_session_callbacks_set_on_header_callback(cbs, client_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cbs, client_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(cbs, client_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cbs, client_frame);
    assert_int_equal(nghttp2_session_client_new(&p->client, cbs, p), 0);
    nghttp2_session_callbacks_del(cbs);
    assert_int_equal(nghttp2_submit_settings(p->client, 0, NULL, 0), 0);
    exchange(p);
    return p;
}

static inline struct peer *peer_create(void)
{
    struct tc_net_limits limits = peer_limits();
    return peer_create_with(&limits, 16 * MIB);
}

static inline void answer_held(struct peer *p, size_t i, const struct tc_response *response)
{
    struct tc_request *r = p->held[i];
    p->held[i] = p->held[--p->held_count];
    tc_request_respond(r, response);
}

static inline void peer_destroy(struct peer *p)
{
    struct tc_pool_stats stats;
    nghttp2_session_del(p->client);
    tc_fake_close(&p->conn);
    while (p->held_count > 0) {
        assert_null(p->held[0]->of);
        answer_held(p, 0, &p->response);
    }
    tc_pool_stats(p->conn.pool, &stats);
    assert_int_equal(stats.used, 0);
    tc_pool_destroy(p->conn.pool);
    free(p);
}

static inline void to_server(struct peer *p, const void *bytes, size_t len)
{
    if (!p->conn.finished) {
        p->status =
            tc_proto_grpc.input(&p->conn, p->conn.state, tc_slice_make((const char *)bytes, len));
    }
}

/* What the server wrote goes to the client. */
static inline bool from_server(struct peer *p)
{
    if (p->conn.out_len == 0) {
        return false;
    }
    size_t len = p->conn.out_len;
    ssize_t n = nghttp2_session_mem_recv(p->client, p->conn.out, len);
    assert_int_equal(n, (ssize_t)len);
    p->conn.out_len = 0;
    if (!p->conn.finished) {
        assert_int_equal(tc_proto_grpc.drained(&p->conn, p->conn.state), TC_OK);
    }
    return true;
}

static inline bool from_client(struct peer *p)
{
    const uint8_t *data = NULL;
    ssize_t n = p->conn.paused ? 0 : nghttp2_session_mem_send(p->client, &data);
    assert_true(n >= 0);
    if (n > 0) {
        to_server(p, data, (size_t)n);
    }
    return n > 0;
}

/* Both sides talk until they have nothing more to say. */
static inline void exchange(struct peer *p)
{
    bool moved = true;
    while (moved) {
        moved = from_client(p);
        moved = from_server(p) || moved;
    }
}

#define NV(n, v)                                                                                  \
    ((nghttp2_nv){(uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), sizeof(n) - 1, strlen(v), \
                  NGHTTP2_NV_FLAG_NONE})

/* Begins a call; `more` fields are added to the usual ones. */
static inline struct call *call_with(struct peer *p, const char *path, const void *body,
                                     size_t body_len, bool hold_end, const nghttp2_nv *more,
                                     size_t more_count)
{
    assert_true(p->call_count < CALLS_MAX);
    struct call *c = &p->calls[p->call_count++];
    nghttp2_nv nv[64] = {NV(":method", "POST"),
                         NV(":scheme", "http"),
                         NV(":authority", "localhost"),
                         NV(":path", path),
                         NV("content-type", "application/grpc"),
                         NV("te", "trailers")};
    size_t count = 6;
    for (size_t i = 0; i < more_count; i++) {
        size_t at = count;
        for (size_t j = 0; j < count; j++) {
            if (nv[j].namelen == more[i].namelen &&
                memcmp(nv[j].name, more[i].name, more[i].namelen) == 0) {
                at = j;
            }
        }
        nv[at] = more[i];
        count += at == count;
    }
    *c = (struct call){.body = body, .body_len = body_len, .hold_end = hold_end};
    nghttp2_data_provider provider = {.source.ptr = c, .read_callback = client_body};
    c->id = nghttp2_submit_request(p->client, NULL, nv, count, &provider, NULL);
    assert_true(c->id > 0);
    return c;
}

/* A message with its frame. The caller frees it. */
static inline unsigned char *framed(unsigned char flag, const void *message, size_t len)
{
    unsigned char *f = malloc(len + TC_H2_FRAME_BYTES);
    assert_non_null(f);
    f[0] = flag;
    for (unsigned i = 0; i < 4; i++) {
        f[1 + i] = (unsigned char)(len >> (24 - 8 * i));
    }
    memcpy(f + TC_H2_FRAME_BYTES, message, len);
    return f;
}

/* One whole call with a framed message and its answer. */
static inline struct call *call_whole(struct peer *p, const char *path, const void *message,
                                      size_t len, unsigned char flag, const nghttp2_nv *more,
                                      size_t more_count)
{
    unsigned char *f = framed(flag, message, len);
    struct call *c = call_with(p, path, f, len + TC_H2_FRAME_BYTES, false, more, more_count);
    exchange(p);
    free(f);
    return c;
}

/* ---- frames by hand ---- */

static inline void raw_frame(struct peer *p, unsigned type, unsigned flags, unsigned stream,
                             const void *payload, size_t len)
{
    unsigned char *f = malloc(len + 9);
    assert_non_null(f);
    const unsigned char head[9] = {
        (unsigned char)(len >> 16),    (unsigned char)(len >> 8),    (unsigned char)len,
        (unsigned char)type,           (unsigned char)flags,         (unsigned char)(stream >> 24),
        (unsigned char)(stream >> 16), (unsigned char)(stream >> 8), (unsigned char)stream};
    memcpy(f, head, sizeof head);
    if (len > 0) {
        memcpy(f + 9, payload, len);
    }
    to_server(p, f, len + 9);
    free(f);
}

/* Preface, SETTINGS and the ACK of the server's. */
static inline void raw_hello(struct peer *p)
{
    to_server(p, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    raw_frame(p, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
    raw_frame(p, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, NULL, 0);
}

/* HPACK without the table: literal fields, never indexed. Lengths below 127. */
static inline size_t raw_field(unsigned char *out, const char *name, const char *value)
{
    size_t n = strlen(name);
    size_t v = strlen(value);
    out[0] = 0x10;
    out[1] = (unsigned char)n;
    memcpy(out + 2, name, n);
    out[2 + n] = (unsigned char)v;
    memcpy(out + 3 + n, value, v);
    return 3 + n + v;
}

static inline size_t raw_head(unsigned char *out)
{
    size_t n = 0;
    n += raw_field(out + n, ":method", "POST");
    n += raw_field(out + n, ":scheme", "http");
    n += raw_field(out + n, ":path", LOGS_PATH);
    n += raw_field(out + n, ":authority", "localhost");
    n += raw_field(out + n, "content-type", "application/grpc");
    return n;
}

static inline void raw_call(struct peer *p, unsigned stream, unsigned flags)
{
    unsigned char head[512];
    raw_frame(p, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | flags, stream, head, raw_head(head));
}

/* The n-th frame of that type that the server wrote, from 0; NULL: there is none. */
static inline const unsigned char *raw_find(const struct peer *p, unsigned type, size_t n)
{
    size_t at = 0;
    while (at + 9 <= p->conn.out_len) {
        const unsigned char *f = p->conn.out + at;
        if (f[3] == type && n-- == 0) {
            return f;
        }
        at += 9 + ((size_t)f[0] << 16 | (size_t)f[1] << 8 | f[2]);
    }
    return NULL;
}

static inline uint32_t raw_u32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The error code of the last GOAWAY; UINT32_MAX: there was none. */
static inline uint32_t raw_goaway(const struct peer *p)
{
    uint32_t code = UINT32_MAX;
    const unsigned char *f = NULL;
    for (size_t i = 0; (f = raw_find(p, NGHTTP2_GOAWAY, i)) != NULL; i++) {
        code = raw_u32(f + 9 + 4);
    }
    return code;
}

#endif
