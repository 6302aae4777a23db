/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of calls: headers, one message and trailers when it went well, trailers only when it did
 * not. nghttp2 copies what is not a literal.
 */
#include "net/http2/priv.h"

#include <stdio.h>
#include <string.h>

#define HEADERS_MAX 6
#define ENCODED_MAX ((TC_H2_MESSAGE_MAX)*3)
#define DETAILS_MAX ((TC_H2_MESSAGE_MAX + 128) * 4 / 3 + 4)

/* A field list that is being made. */
struct fields {
    nghttp2_nv nv[HEADERS_MAX];
    size_t count;
};

/* nghttp2 does not write there; its type only says so. */
static uint8_t *unconst(const char *p)
{
    return (uint8_t *)(uintptr_t)p;
}

static void add(struct fields *f, struct tc_slice name, struct tc_slice value, uint8_t flags)
{
    f->nv[f->count++] = (nghttp2_nv){.name = unconst(name.ptr),
                                     .value = unconst(value.ptr),
                                     .namelen = name.len,
                                     .valuelen = value.len,
                                     .flags = (uint8_t)(NGHTTP2_NV_FLAG_NO_COPY_NAME | flags)};
}

/* A value that is a literal, and the same for many answers. */
static void add_fixed(struct fields *f, struct tc_slice name, struct tc_slice value)
{
    add(f, name, value, NGHTTP2_NV_FLAG_NO_COPY_VALUE);
}

/* A value that is copied, and not worth a place in the table of the connection. */
static void add_once(struct fields *f, struct tc_slice name, struct tc_slice value)
{
    add(f, name, value, NGHTTP2_NV_FLAG_NO_INDEX);
}

static void add_grpc(struct fields *f)
{
    add_fixed(f, TC_LIT(":status"), TC_LIT("200"));
    add_fixed(f, TC_LIT("content-type"), TC_LIT("application/grpc"));
    add_fixed(f, TC_LIT("grpc-accept-encoding"), TC_LIT("identity,gzip,zstd"));
}

/* From now on what comes is thrown away, and the answer has to get out in time. */
static void answered(struct tc__h2_stream *s)
{
    struct tc__h2 *h = s->h;
    s->phase = TC_H2_ANSWERED;
    tc_pool_cancel(&s->claim);
    s->req.of = NULL;
    if (!s->with_handler) {
        if (s->req.body != NULL && h->stall.data != NULL) {
            tc__h2_due(h, tc__h2_now(h));
        }
        tc__h2_early_over(s);
        tc_buffer_give(s->req.body);
        s->req.body = NULL;
    }
    s->due_ns = tc__h2_now(h) + tc_conn_limits(h->conn)->write_timeout_ns;
    tc__h2_due(h, s->due_ns);
}

static void submit(struct tc__h2_stream *s, const struct fields *f,
                   nghttp2_data_source_read_callback read)
{
    struct tc__h2 *h = s->h;
    if (h->ended) {
        return;
    }
    nghttp2_data_provider provider = {.source.ptr = s, .read_callback = read};
    if (nghttp2_submit_response(h->session, s->id, f->nv, f->count,
                                read == NULL ? NULL : &provider) != 0) {
        tc__h2_fatal(h);
        return;
    }
    tc__h2_pump(h);
}

void tc__h2_fail(struct tc__h2_stream *s, int grpc_status, struct tc_slice message,
                 unsigned retry_after_s)
{
    struct fields f = {.count = 0};
    char status[12];
    char encoded[ENCODED_MAX];
    char details[DETAILS_MAX];
    message = tc_slice_head(message, TC_H2_MESSAGE_MAX);
    add_grpc(&f);
    int len = snprintf(status, sizeof status, "%d", grpc_status);
    add_once(&f, TC_LIT("grpc-status"), tc_slice_make(status, (size_t)len));
    if (message.len > 0) {
        add_once(&f, TC_LIT("grpc-message"),
                 tc_slice_make(encoded, tc__grpc_message(message, encoded, sizeof encoded)));
    }
    if (retry_after_s > 0) {
        size_t n = tc__grpc_details(grpc_status, message, retry_after_s, details, sizeof details);
        add_once(&f, TC_LIT("grpc-status-details-bin"), tc_slice_make(details, n));
    }
    answered(s); /* not before: the message may be part of the body */
    submit(s, &f, NULL);
}

bool tc__h2_end_reply(struct tc__h2_stream *s, bool ok, uint32_t *data_flags)
{
    struct fields f = {.count = 0};
    *data_flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    add_fixed(&f, TC_LIT("grpc-status"), ok ? TC_LIT("0") : TC_LIT("14"));
    return nghttp2_submit_trailer(s->h->session, s->id, f.nv, f.count) == 0;
}

static ssize_t read_out(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
                        uint32_t *data_flags, nghttp2_data_source *source, void *user_data)
{
    (void)session;
    (void)id;
    struct tc__h2 *h = user_data;
    struct tc__h2_stream *s = source->ptr;
    size_t n = s->out_len - s->out_at;
    n = n < length ? n : length;
    memcpy(buf, s->out + s->out_at, n);
    s->out_at += n;
    s->due_ns = tc__h2_now(h) + tc_conn_limits(h->conn)->write_timeout_ns;
    if (s->out_at < s->out_len) {
        return (ssize_t)n;
    }
    *data_flags |= NGHTTP2_DATA_FLAG_EOF;
    bool said = !s->trailers || tc__h2_end_reply(s, true, data_flags);
    return said ? (ssize_t)n : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static bool make_out(struct tc__h2_stream *s, size_t len)
{
    s->out = len <= sizeof s->out_inline ? s->out_inline : tc__h2_alloc(&s->h->mem, len);
    s->out_len = len;
    s->out_at = 0;
    return s->out != NULL;
}

void tc__h2_refuse(struct tc__h2_stream *s, const char *http_status, struct tc_slice text)
{
    struct fields f = {.count = 0};
    answered(s);
    if (!make_out(s, text.len)) {
        tc__h2_fatal(s->h);
        return;
    }
    memcpy(s->out, text.ptr, text.len);
    add(&f, TC_LIT(":status"), tc_slice_cstr(http_status), NGHTTP2_NV_FLAG_NONE);
    add_fixed(&f, TC_LIT("content-type"), TC_LIT("text/plain; charset=utf-8"));
    submit(s, &f, read_out);
}

void tc__h2_begin_reply(struct tc__h2_stream *s, nghttp2_data_source_read_callback read)
{
    struct fields f = {.count = 0};
    answered(s);
    add_grpc(&f);
    submit(s, &f, read);
}

void tc__h2_reply(struct tc__h2_stream *s, struct tc_slice message)
{
    if (message.len > UINT32_MAX || !make_out(s, TC_H2_FRAME_BYTES + message.len)) {
        tc__h2_fail(s, TC_GRPC_RESOURCE_EXHAUSTED, TC_LIT("no memory for the answer"), 0);
        return;
    }
    s->out[0] = 0;
    for (unsigned i = 0; i < 4; i++) {
        s->out[1 + i] = (unsigned char)(message.len >> (24 - 8 * i));
    }
    if (message.len > 0) {
        memcpy(s->out + TC_H2_FRAME_BYTES, message.ptr, message.len);
    }
    s->trailers = true;
    tc__h2_begin_reply(s, read_out);
}

void tc__h2_respond(struct tc_request *r, const struct tc_response *response)
{
    struct tc__h2_stream *s = (struct tc__h2_stream *)r; /* its first member */
    bool wanted = r->of != NULL;
    s->with_handler = false;
    if (!wanted) {
        struct tc__h2 *h = s->h;
        if (h != NULL && h->stall.data != NULL && r->body != NULL) {
            tc__h2_due(h, tc__h2_now(h));
        }
        tc_buffer_give(r->body);
        r->body = NULL;
        tc__h2_release(s);
        return;
    }
    if (response->answer == TC_ANSWER_OK) {
        tc__h2_reply(s, response->body);
    } else {
        tc_count(TC_COUNT_GRPC_ERROR_ANSWERED, 1);
        tc__h2_fail(s, tc_answer_grpc(response->answer), response->message,
                    response->retry_after_s);
    }
}
