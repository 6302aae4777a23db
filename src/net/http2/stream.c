/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From headers and DATA to one request. What a call may send is what there is memory for (admit.c).
 */
#include "net/http2/priv.h"

#include <string.h>

#define ENTRY_OVERHEAD 32  /* RFC 9113, 6.5.2: what a field counts besides its bytes */
#define HEADERS_HOPELESS 4 /* times the limit: nobody is that wrong by mistake */

/* A block of text that did not fit into the stream. */
struct more {
    struct more *next;
    char text[];
};

struct tc__h2_stream *tc__h2_find(struct tc__h2 *h, int32_t id)
{
    return nghttp2_session_get_stream_user_data(h->session, id);
}

void tc__h2_consume(struct tc__h2 *h, int32_t id, size_t len)
{
    if (len > 0 && !h->ended && nghttp2_session_consume(h->session, id, len) != 0) {
        tc__h2_fatal(h);
    }
}

static struct tc__h2_stream *create(struct tc__h2 *h, int32_t id)
{
    struct tc__h2_stream *s = tc__h2_alloc(&h->mem, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    memset(s, 0, sizeof *s);
    s->h = h;
    s->id = id;
    s->window = TC_H2_STREAM_WINDOW;
    s->open = true;
    s->next = h->streams;
    s->link = &h->streams;
    if (s->next != NULL) {
        s->next->link = &s->next;
    }
    h->streams = s;
    h->stream_count++;
    h->open_count++;
    s->req.protocol = TC_PROTOCOL_GRPC;
    s->req.method = TC_METHOD_OTHER;
    s->req.respond = tc__h2_respond;
    s->req.peer = tc_conn_peer(h->conn);
    return s;
}

static void unlink_stream(struct tc__h2_stream *s)
{
    *s->link = s->next;
    if (s->next != NULL) {
        s->next->link = s->link;
    }
    s->h->stream_count--;
}

static void free_out(struct tc__h2_stream *s)
{
    if (s->out != NULL && s->out != s->out_inline) {
        tc__h2_free(&s->h->mem, s->out);
    }
    s->out = NULL;
}

static void destroy(struct tc__h2_stream *s)
{
    struct tc__h2_mem *mem = s->h == NULL ? NULL : &s->h->mem;
    tc_pool_cancel(&s->claim);
    tc__h2_early_over(s);
    tc_buffer_give(s->req.body);
    for (struct more *m = s->more; m != NULL;) {
        struct more *next = m->next;
        tc__h2_free(mem, m);
        m = next;
    }
    tc__h2_free(mem, s);
}

void tc__h2_release(struct tc__h2_stream *s)
{
    if (s->open || s->with_handler) {
        return;
    }
    if (s->h != NULL) {
        unlink_stream(s);
    }
    destroy(s);
}

void tc__h2_orphan(struct tc__h2 *h)
{
    tc__h2_set_early(h, false);
    while (h->streams != NULL) {
        struct tc__h2_stream *s = h->streams;
        tc__h2_health_forget(s);
        free_out(s);
        unlink_stream(s);
        s->open = false;
        s->req.of = NULL;
        for (struct more *m = s->more; m != NULL; m = m->next) {
            tc__h2_disown(&h->mem, m);
        }
        tc__h2_disown(&h->mem, s);
        s->h = NULL;
        tc__h2_release(s);
    }
    h->open_count = 0;
}

/* ---- head ---- */

static bool keep(struct tc__h2_stream *s, struct tc_slice *slot, struct tc_slice value)
{
    if (slot->ptr != NULL || value.len == 0) {
        return true; /* said twice: the first one counts */
    }
    char *place = NULL;
    if (value.len <= sizeof s->text - s->text_len) {
        place = s->text + s->text_len;
        s->text_len += value.len;
    } else {
        struct more *m = tc__h2_alloc(&s->h->mem, sizeof *m + value.len);
        if (m == NULL) {
            return false;
        }
        m->next = s->more;
        s->more = m;
        place = m->text;
    }
    memcpy(place, value.ptr, value.len);
    *slot = tc_slice_make(place, value.len);
    return true;
}

static struct tc_slice rc_slice(nghttp2_rcbuf *rc)
{
    nghttp2_vec v = nghttp2_rcbuf_get_buf(rc);
    return tc_slice_make((const char *)v.base, v.len);
}

static bool keep_header(struct tc__h2_stream *s, struct tc_slice name, struct tc_slice value)
{
    if (tc_slice_eq(name, TC_LIT(":method"))) {
        s->req.method = tc_slice_eq(value, TC_LIT("POST")) ? TC_METHOD_POST : TC_METHOD_OTHER;
        return true;
    }
    const struct {
        struct tc_slice name;
        struct tc_slice *slot;
    } kept[] = {{TC_LIT(":path"), &s->path},
                {TC_LIT("content-type"), &s->req.content_type},
                {TC_LIT("grpc-encoding"), &s->req.content_encoding},
                {TC_LIT("grpc-timeout"), &s->timeout},
                {TC_LIT("authorization"), &s->req.authorization}};
    for (size_t i = 0; i < TC_COUNT(kept); i++) {
        if (tc_slice_eq(name, kept[i].name)) {
            return keep(s, kept[i].slot, value);
        }
    }
    return true;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    struct tc__h2 *h = user_data;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
        return 0;
    }
    const struct tc_net_limits *limits = tc_conn_limits(h->conn);
    /* Streams that were reset while the service works on them count too. */
    bool room = !h->closing && h->stream_count < 2 * limits->streams_max;
    struct tc__h2_stream *s = room ? create(h, frame->hd.stream_id) : NULL;
    if (s == NULL) {
        tc_count(TC_COUNT_GRPC_REFUSED_STREAMS, 1);
        return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                         NGHTTP2_REFUSED_STREAM) == 0
                   ? 0
                   : NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    s->since_ns = tc__h2_now(h);
    s->due_ns = s->since_ns + limits->header_timeout_ns;
    tc__h2_due(h, s->due_ns);
    tc_count(TC_COUNT_GRPC_STREAMS, 1);
    return nghttp2_session_set_stream_user_data(session, s->id, s) == 0
               ? 0
               : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name_rc,
                     nghttp2_rcbuf *value_rc, uint8_t flags, void *user_data)
{
    (void)session;
    (void)flags;
    struct tc__h2 *h = user_data;
    struct tc__h2_stream *s = tc__h2_find(h, frame->hd.stream_id);
    if (s == NULL) {
        return 0;
    }
    const struct tc_net_limits *limits = tc_conn_limits(h->conn);
    struct tc_slice name = rc_slice(name_rc);
    struct tc_slice value = rc_slice(value_rc);
    s->header_count++;
    s->header_bytes += name.len + value.len + ENTRY_OVERHEAD;
    if (s->header_bytes / HEADERS_HOPELESS > limits->header_bytes_max ||
        s->header_count / HEADERS_HOPELESS > limits->headers_max) {
        tc__h2_end(h, TC_H2_END_HEADERS);
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    if (s->phase != TC_H2_HEAD || s->header_bytes > limits->header_bytes_max ||
        s->header_count > limits->headers_max) {
        return 0; /* trailers are of no interest; too many headers are said when all are there */
    }
    return keep_header(s, name, value) ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static bool is_grpc(struct tc_slice content_type)
{
    struct tc_slice rest = TC_EMPTY;
    struct tc_slice type = tc_slice_trim(tc_slice_cut(content_type, ';', &rest));
    return tc_slice_eq_nocase(type, TC_LIT("application/grpc")) ||
           tc_slice_eq_nocase(type, TC_LIT("application/grpc+proto"));
}

/* What is wrong with the head is answered here; false then. */
static bool check_head(struct tc__h2_stream *s)
{
    const struct tc_net_limits *limits = tc_conn_limits(s->h->conn);
    if (s->header_bytes > limits->header_bytes_max || s->header_count > limits->headers_max) {
        tc_count(TC_COUNT_GRPC_ERROR_HEADERS, 1);
        tc__h2_fail(s, TC_GRPC_RESOURCE_EXHAUSTED, TC_LIT("the header list is too large"), 0);
        return false;
    }
    if (s->req.method != TC_METHOD_POST) {
        tc_count(TC_COUNT_GRPC_ERROR_METHOD, 1);
        tc__h2_refuse(s, "405", TC_LIT("gRPC calls are POST requests\n"));
        return false;
    }
    if (!is_grpc(s->req.content_type)) {
        tc_count(TC_COUNT_GRPC_ERROR_CONTENT_TYPE, 1);
        tc__h2_refuse(s, "415", TC_LIT("send content-type: application/grpc\n"));
        return false;
    }
    int64_t timeout_ns = 0;
    if (s->timeout.len > 0) {
        if (!tc__grpc_timeout(s->timeout, &timeout_ns)) {
            tc_count(TC_COUNT_GRPC_ERROR_TIMEOUT_TEXT, 1);
            tc__h2_fail(s, TC_GRPC_INTERNAL, TC_LIT("malformed grpc-timeout"), 0);
            return false;
        }
        s->deadline_ns = tc__h2_now(s->h) + timeout_ns;
        tc__h2_due(s->h, s->deadline_ns);
    }
    return true;
}

static void head_complete(struct tc__h2_stream *s)
{
    struct tc__h2 *h = s->h;
    tc__h2_count_request(h);
    s->req.path = tc_slice_cut(s->path, '?', &s->req.query);
    if (!check_head(s)) {
        return;
    }
    const struct tc_net_limits *limits = tc_conn_limits(h->conn);
    const struct tc_service *service = tc_conn_service(h->conn);
    s->body_max = limits->body_bytes_max;
    if (service->begin != NULL && !tc__h2_health_is(s->req.path)) {
        struct tc_response refusal = {.answer = TC_ANSWER_OK};
        enum tc_answer answer = service->begin(service->context, &s->req, &s->body_max, &refusal);
        if (answer != TC_ANSWER_OK) {
            tc_count(TC_COUNT_GRPC_ERROR_REFUSED, 1);
            if (refusal.delay_ns > 0) {
                refusal.answer = answer;
                s->delayed = refusal;
                s->phase = TC_H2_DELAYED;
                s->due_ns = tc__h2_now(h) + refusal.delay_ns;
                tc__h2_due(h, s->due_ns);
                return;
            }
            tc__h2_fail(s, tc_answer_grpc(answer), refusal.message, refusal.retry_after_s);
            return;
        }
    }
    s->phase = TC_H2_BODY;
    s->since_ns = tc__h2_now(h);
    s->due_ns = s->since_ns + limits->body_timeout_ns;
    tc__h2_due(h, s->due_ns);
}

/* ---- body ---- */

static void frame_complete(struct tc__h2_stream *s)
{
    const unsigned char *f = s->frame;
    s->message_len = (size_t)f[1] << 24 | (size_t)f[2] << 16 | (size_t)f[3] << 8 | f[4];
    bool encoded = s->req.content_encoding.len > 0 &&
                   !tc_slice_eq(s->req.content_encoding, TC_LIT("identity"));
    if (f[0] > 1 || (f[0] == 1 && !encoded)) {
        tc_count(TC_COUNT_GRPC_ERROR_FLAG, 1);
        tc__h2_fail(s, TC_GRPC_INTERNAL,
                    f[0] == 1 ? TC_LIT("compressed flag set without grpc-encoding")
                              : TC_LIT("the compressed flag is neither 0 nor 1"),
                    0);
    } else if (s->message_len > s->body_max) {
        tc_count(TC_COUNT_GRPC_ERROR_TOO_LARGE, 1);
        tc__h2_fail(s, tc_answer_grpc(TC_ANSWER_TOO_LARGE),
                    TC_LIT("the message is larger than this server takes"), 0);
    } else {
        if (f[0] == 0) {
            s->req.content_encoding = TC_EMPTY;
        }
        tc__h2_admit(s);
    }
}

/* Room for one byte of the message at least. What comes before the message has its memory is no
 * more than the window: it takes what it needs, without waiting. */
static bool has_room(struct tc__h2_stream *s)
{
    struct tc_buffer *b = s->req.body;
    if (b != NULL && b->len < b->cap) {
        return true;
    }
    if (s->is_admitted) {
        return false;
    }
    b = tc__h2_early(s);
    s->req.body = b == NULL ? s->req.body : b;
    return b != NULL && b->len < b->cap;
}

/* Bytes of the message, as many as fit; `taken` of those that came were looked at before. */
static size_t take_message(struct tc__h2_stream *s, const unsigned char *data, size_t len)
{
    size_t have = s->req.body == NULL ? 0 : s->req.body->len;
    size_t n = len < s->message_len - have ? len : s->message_len - have;
    if (n == 0) {
        tc_count(TC_COUNT_GRPC_ERROR_SECOND_MESSAGE, 1);
        tc__h2_fail(s, TC_GRPC_INTERNAL, TC_LIT("bytes after the one message of the call"), 0);
        return 0;
    }
    if (!has_room(s)) {
        return 0;
    }
    struct tc_buffer *b = s->req.body;
    n = n < b->cap - have ? n : b->cap - have;
    memcpy(b->data + have, data, n);
    b->len += n;
    if (b->len == b->cap && b->len < s->message_len && s->is_admitted && s->claim.pool == NULL) {
        tc__h2_admit_more(s);
    }
    return n;
}

/* The connection's window is given back as bytes come, the call's as there is memory. */
static void account(struct tc__h2_stream *s, size_t len)
{
    struct tc__h2 *h = s->h;
    if (s->phase != TC_H2_BODY) {
        tc__h2_consume(h, s->id, len); /* thrown away */
        return;
    }
    s->came += len;
    s->came_ns = tc__h2_now(h);
    if (!h->settings_acked) {
        h->first_flight += len; /* no more than the first window of the connection */
        return;
    }
    if (len > 0 && !h->ended && nghttp2_session_consume_connection(h->session, len) != 0) {
        tc__h2_fatal(h);
    }
}

size_t tc__h2_take(struct tc__h2_stream *s, const unsigned char *data, size_t len)
{
    size_t taken = 0;
    bool is_stuck = false;
    while (taken < len && s->phase == TC_H2_BODY && !is_stuck) {
        if (s->frame_len < TC_H2_FRAME_BYTES) {
            s->frame[s->frame_len++] = data[taken++];
            if (s->frame_len == TC_H2_FRAME_BYTES) {
                frame_complete(s);
            }
            continue;
        }
        size_t n = take_message(s, data + taken, len - taken);
        is_stuck = n == 0;
        taken += n;
    }
    if (s->phase != TC_H2_BODY) {
        taken = len; /* answered already: thrown away */
    }
    account(s, taken);
    return taken;
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                         size_t len, void *user_data)
{
    (void)session;
    (void)flags;
    struct tc__h2 *h = user_data;
    struct tc__h2_stream *s = tc__h2_find(h, id);
    if (s == NULL) {
        tc__h2_consume(h, id, len);
        return 0;
    }
    size_t taken = tc__h2_take(s, data, len);
    if (taken == len) {
        return 0;
    }
    h->stuck = data + taken;
    h->stuck_len = len - taken;
    h->stuck_id = id;
    return NGHTTP2_ERR_PAUSE;
}

static void body_complete(struct tc__h2_stream *s)
{
    s->remote_done = true;
    if (s->phase != TC_H2_BODY) {
        return;
    }
    size_t have = s->req.body == NULL ? 0 : s->req.body->len;
    if (s->frame_len < TC_H2_FRAME_BYTES || have < s->message_len) {
        tc_count(TC_COUNT_GRPC_ERROR_TRUNCATED, 1);
        tc__h2_fail(s, TC_GRPC_INTERNAL,
                    s->frame_len == 0 ? TC_LIT("the call has no message")
                                      : TC_LIT("the message ends before its length"),
                    0);
        return;
    }
    s->due_ns = 0;
    if (tc__h2_health_is(s->req.path)) {
        tc__h2_health_call(s);
        return;
    }
    const struct tc_service *service = tc_conn_service(s->h->conn);
    tc_count(TC_COUNT_GRPC_MESSAGES, 1);
    tc_count(TC_COUNT_GRPC_MESSAGE_BYTES, have);
    s->h->is_known = true;
    if (s->req.body != NULL) {
        tc__h2_early_over(s);
        s->is_admitted = true;
        tc_buffer_set_new(s->req.body, false);
    }
    s->phase = TC_H2_HANDLED;
    s->with_handler = true;
    s->req.of = s;
    s->req.arrival_ns = tc_net_wall_ns(tc_conn_net(s->h->conn));
    service->handle(service->context, &s->req);
}

/* ---- what nghttp2 tells ---- */

static int on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    (void)session;
    struct tc__h2 *h = user_data;
    bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    bool ack = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    struct tc__h2_stream *s = NULL;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
        s = tc__h2_find(h, frame->hd.stream_id);
        if (s != NULL && s->phase == TC_H2_HEAD) {
            head_complete(s);
        }
        if (s != NULL && last) {
            body_complete(s);
        }
        break;
    case NGHTTP2_SETTINGS:
        h->settings_seen = h->settings_seen || !ack;
        if (ack && !h->settings_acked) {
            tc__h2_acked(h);
        }
        break;
    case NGHTTP2_PING:
        if (ack && h->last_call_ns != 0) {
            h->last_call_ns = tc__h2_now(h);
            tc__h2_due(h, h->last_call_ns);
        }
        break;
    case NGHTTP2_RST_STREAM:
        tc_count(TC_COUNT_GRPC_RESETS_CLIENT, 1);
        break;
    default:
        break;
    }
    return h->ended ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static void reset_sent(struct tc__h2 *h, uint32_t code)
{
    tc_count(TC_COUNT_GRPC_RESETS_SERVER, 1);
    if (code == NGHTTP2_NO_ERROR || code == NGHTTP2_REFUSED_STREAM || code == NGHTTP2_CANCEL) {
        return;
    }
    /* A client that makes us reset its streams is no better than one that resets them. */
    if (tc__h2_guard_reset(&h->guard, tc__h2_now(h), tc_conn_limits(h->conn)->resets_per_s_max)) {
        tc__h2_end(h, TC_H2_END_RESETS);
    }
}

static int on_frame_send(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    struct tc__h2 *h = user_data;
    struct tc__h2_stream *s = NULL;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
        s = tc__h2_find(h, frame->hd.stream_id);
        /* Answered before the client was done: it need not send the rest. */
        if (s != NULL && !s->remote_done && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
            nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR) != 0) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
        break;
    case NGHTTP2_RST_STREAM:
        reset_sent(h, frame->rst_stream.error_code);
        break;
    case NGHTTP2_GOAWAY:
        if (h->why == TC_H2_END_NONE) {
            tc_count(TC_COUNT_GRPC_END_PROTOCOL, 1);
        }
        break;
    default:
        break;
    }
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error_code,
                           void *user_data)
{
    (void)session;
    (void)error_code;
    struct tc__h2 *h = user_data;
    struct tc__h2_stream *s = tc__h2_find(h, id);
    if (s == NULL) {
        return 0;
    }
    tc__h2_health_forget(s);
    free_out(s);
    s->open = false;
    s->req.of = NULL;
    tc_pool_cancel(&s->claim);
    h->open_count--;
    h->idle_ns = tc__h2_now(h);
    if (h->open_count == 0) {
        tc__h2_due(h, h->idle_ns + tc_conn_limits(h->conn)->idle_timeout_ns);
    }
    if (!s->with_handler && s->req.body != NULL && h->stall.data != NULL) {
        tc__h2_due(h, h->idle_ns); /* its memory may be what others wait for */
    }
    tc__h2_release(s);
    return 0;
}

void tc__h2_callbacks(nghttp2_session_callbacks *cbs)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(cbs, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(cbs, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cbs, on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cbs, on_frame_recv);
    nghttp2_session_callbacks_set_on_frame_send_callback(cbs, on_frame_send);
    nghttp2_session_callbacks_set_on_stream_close_callback(cbs, on_stream_close);
}
