/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One gRPC connection: bytes go through the guard into nghttp2, what nghttp2 has to say goes out as
 * far as there is room, deadlines are kept, and it ends with a GOAWAY that says why.
 */

#include "base/assert.h"
#include "net/http2/priv.h"

#include <string.h>

#define OUTPUT_CHUNK 16384
#define OUTPUT_HIGH ((size_t)256 << 10) /* waiting output at which reading stops */
#define READ_CAREFULLY 16384
#define ACKS_MAX 128              /* of PING and SETTINGS that wait to be sent */
#define LAST_CALL_NS TC_H2_SECOND /* for the client to see the first GOAWAY */
/* Memory of a connection: header tables and buffers, and what a stream takes in nghttp2 and here.
 */
#define MEM_BASE ((size_t)384 << 10)
#define MEM_STREAM ((size_t)3 << 10)

int64_t tc__h2_now(const struct tc__h2 *h)
{
    return tc_net_mono_ns(tc_conn_net(h->conn));
}

void tc__h2_due(struct tc__h2 *h, int64_t at_ns)
{
    if (h->armed_ns == 0 || at_ns < h->armed_ns) {
        h->armed_ns = at_ns;
        tc_conn_deadline(h->conn, at_ns);
    }
}

static void finish(struct tc__h2 *h)
{
    h->ended = true;
    tc_conn_finish(h->conn);
}

void tc__h2_fatal(struct tc__h2 *h)
{
    if (!h->ended) {
        tc_count(TC_COUNT_GRPC_END_MEMORY, 1);
        finish(h);
    }
}

/* ---- output ---- */

static void pause_reading(struct tc__h2 *h, bool pause)
{
    if (h->paused != pause) {
        h->paused = pause;
        tc_conn_pause(h->conn, pause);
    }
}

static bool write_out(struct tc__h2 *h, const unsigned char *data, size_t len)
{
    if (len > 0 && tc_conn_write(h->conn, tc_slice_make((const char *)data, len)) != TC_OK) {
        h->ended = true;
        return false;
    }
    return true;
}

/* Frames are small and many: they are put together before they are written. True: all is out. */
static bool send_frames(struct tc__h2 *h)
{
    unsigned char chunk[OUTPUT_CHUNK];
    size_t len = 0;
    size_t high = tc_conn_limits(h->conn)->output_bytes_max / 2;
    size_t pending = tc_conn_pending(h->conn);
    high = high < OUTPUT_HIGH ? high : OUTPUT_HIGH;
    while (pending + len < high) {
        const uint8_t *data = NULL;
        h->busy = true;
        ssize_t n = nghttp2_session_mem_send(h->session, &data);
        h->busy = false;
        if (n < 0) {
            tc__h2_fatal(h);
            return false;
        }
        if (n == 0 || h->ended) {
            return write_out(h, chunk, len);
        }
        if ((size_t)n > sizeof chunk - len) {
            if (!write_out(h, chunk, len)) {
                return false;
            }
            pending += len;
            len = 0;
        }
        if ((size_t)n > sizeof chunk) {
            if (!write_out(h, data, (size_t)n)) {
                return false;
            }
            pending += (size_t)n;
        } else {
            memcpy(chunk + len, data, (size_t)n);
            len += (size_t)n;
        }
    }
    (void)write_out(h, chunk, len);
    return false;
}

void tc__h2_pump(struct tc__h2 *h)
{
    if (h->busy || h->ended) {
        return;
    }
    bool all = send_frames(h);
    if (h->ended) {
        return;
    }
    if (all && (h->closing || (h->ending && h->open_count == 0) ||
                (nghttp2_session_want_read(h->session) == 0 &&
                 nghttp2_session_want_write(h->session) == 0))) {
        finish(h);
        return;
    }
    pause_reading(h, !all || h->stall.data != NULL);
}

/* ---- the end ---- */

static const struct {
    uint32_t code;
    enum tc_counter counter;
    struct tc_slice text;
} ends[] = {
#define END_ROW(name, error, words) \
    [TC_H2_END_##name] = {(error), TC_COUNT_GRPC_END_##name, {(words), sizeof(words) - 1}},
    TC_H2_END_MAP(END_ROW)
#undef END_ROW
};

static void goaway(struct tc__h2 *h, enum tc__h2_end why)
{
    h->why = why;
    tc_count(ends[why].counter, 1);
    int32_t last = nghttp2_session_get_last_proc_stream_id(h->session);
    if (nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE, last, ends[why].code,
                              (const uint8_t *)ends[why].text.ptr, ends[why].text.len) != 0) {
        tc__h2_fatal(h);
    }
}

void tc__h2_end(struct tc__h2 *h, enum tc__h2_end why)
{
    if (!h->closing && !h->ended) {
        h->closing = true;
        goaway(h, why);
        tc__h2_pump(h);
    }
}

/* Streams that are there go on; there will be no new ones. */
static void last_goaway(struct tc__h2 *h, enum tc__h2_end why)
{
    h->last_call_ns = 0;
    if (h->ending) {
        return;
    }
    h->ending = true;
    goaway(h, why);
    for (struct tc__h2_stream *s = h->streams; s != NULL && !h->ended; s = s->next) {
        tc__h2_health_end(s); /* a watch would go on for ever */
    }
}

void tc__h2_count_request(struct tc__h2 *h)
{
    size_t max = tc_conn_limits(h->conn)->requests_per_conn_max;
    h->request_count++;
    if (max == 0 || h->request_count != max) {
        return;
    }
    /* First a GOAWAY that still takes all, and a PING behind it: once that comes back the client
     * has seen it, and the one that counts loses nothing. */
    h->why = TC_H2_END_REQUESTS;
    if (nghttp2_submit_shutdown_notice(h->session) != 0 ||
        nghttp2_submit_ping(h->session, NGHTTP2_FLAG_NONE, NULL) != 0) {
        tc__h2_fatal(h);
        return;
    }
    h->last_call_ns = tc__h2_now(h) + LAST_CALL_NS;
    tc__h2_due(h, h->last_call_ns);
}

/* ---- input ---- */

size_t tc__h2_feed(struct tc__h2 *h, const unsigned char *data, size_t len)
{
    h->stuck = NULL;
    h->busy = true;
    ssize_t n = nghttp2_session_mem_recv(h->session, data, len);
    h->busy = false;
    if (n < 0 && !h->ended) {
        if (n == NGHTTP2_ERR_FLOODED) {
            tc_count(TC_COUNT_GRPC_END_FRAMES, 1);
            finish(h);
        } else {
            tc__h2_fatal(h);
        }
    }
    return n < 0 ? len : (size_t)n;
}

static void take_input(struct tc__h2 *h, struct tc_slice bytes)
{
    const unsigned char *data = (const unsigned char *)bytes.ptr;
    size_t at = 0;
    do {
        size_t fed = tc__h2_feed(h, data + at, bytes.len - at);
        if (h->ended || h->stuck == NULL || tc__h2_stall(h, data + at, bytes.len - at, fed)) {
            return;
        }
        at += fed;
    } while (true); /* each round takes a part of the bytes, or ends */
}

/* ---- the protocol ---- */

/* A client that does not know our window yet, or that may have to wait, is read in small pieces:
 * what finds no room has to be kept. */
static size_t on_read_most(const struct tc_conn *c, const void *state)
{
    const struct tc__h2 *h = state;
    struct tc_pool_stats stats;
    tc_pool_stats(tc_conn_pool(c), &stats);
    return !h->settings_acked || stats.waiting > 0 ? READ_CAREFULLY : SIZE_MAX;
}

static void reject_http1(struct tc__h2 *h)
{
    static const char text[] =
        "HTTP/1.1 400 Bad Request\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        "Content-Length: 66\r\n"
        "Connection: close\r\n\r\n"
        "This port speaks gRPC. OTLP/HTTP has its own, 4318 if not changed\n";
    (void)write_out(h, (const unsigned char *)text, sizeof text - 1);
}

static tc_status on_input(struct tc_conn *c, void *state, struct tc_slice bytes)
{
    (void)c;
    struct tc__h2 *h = state;
    if (h->ended || h->closing || bytes.len == 0) {
        return TC_OK;
    }
    const struct tc_net_limits *limits = tc_conn_limits(h->conn);
    int64_t now_ns = tc__h2_now(h);
    if (h->guard.preface == 0) {
        h->handshake_ns = now_ns + limits->header_timeout_ns;
        tc__h2_due(h, h->handshake_ns);
    }
    enum tc__h2_end end = tc__h2_guard_scan(&h->guard, bytes, now_ns, limits->resets_per_s_max);
    if (end == TC_H2_END_HTTP1 || end == TC_H2_END_PREFACE) {
        tc_count(ends[end].counter, 1);
        if (end == TC_H2_END_HTTP1) {
            reject_http1(h);
        }
        finish(h);
        return TC_OK;
    }
    if (end != TC_H2_END_NONE) {
        tc__h2_end(h, end);
        return TC_OK;
    }
    if (h->stall.data != NULL) {
        return tc__h2_stall_more(h, bytes);
    }
    take_input(h, bytes);
    if (h->guard.preface < NGHTTP2_CLIENT_MAGIC_LEN) {
        return TC_OK; /* nothing is said before it is clear that this is HTTP/2 */
    }
    if (h->handshake_ns != 0 && h->settings_seen && h->settings_acked) {
        h->handshake_ns = 0;
        h->idle_ns = now_ns;
        tc__h2_due(h, h->idle_ns + limits->idle_timeout_ns);
    }
    tc__h2_pump(h);
    return TC_OK;
}

static tc_status start_session(struct tc__h2 *h)
{
    nghttp2_session_callbacks *cbs = NULL;
    nghttp2_option *option = NULL;
    const struct tc_net_limits *limits = tc_conn_limits(h->conn);
    nghttp2_mem hooks = tc__h2_hooks(&h->mem);
    tc_status status = TC_E_NOMEM;
    if (nghttp2_session_callbacks_new(&cbs) != 0 || nghttp2_option_new(&option) != 0) {
        goto out;
    }
    tc__h2_callbacks(cbs);
    nghttp2_option_set_no_auto_window_update(option, 1);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_outbound_ack(option, ACKS_MAX);
    /* The guard has its own rate, which is configured; this one is behind it. */
    nghttp2_option_set_stream_reset_rate_limit(option, 2 * limits->resets_per_s_max + 1000,
                                               2 * limits->resets_per_s_max + 1000);
    if (nghttp2_session_server_new3(&h->session, cbs, h, option, &hooks) != 0) {
        h->session = NULL;
        goto out;
    }
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, (uint32_t)limits->streams_max},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)limits->header_bytes_max},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, TC_H2_STREAM_WINDOW},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    if (nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings, TC_COUNT(settings)) == 0) {
        status = TC_OK;
    }
out:
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(cbs);
    return status;
}

static tc_status on_open(struct tc_conn *c, void *state)
{
    struct tc__h2 *h = state;
    const struct tc_net_limits *limits = tc_conn_limits(c);
    h->conn = c;
    h->streams_now = limits->streams_max;
    h->mem.cap = MEM_BASE + 2 * limits->streams_max * MEM_STREAM + 2 * limits->header_bytes_max;
    tc_status status = start_session(h);
    if (status != TC_OK) {
        nghttp2_session_del(h->session);
        h->session = NULL;
        h->ended = true;
        return status;
    }
    h->idle_ns = tc__h2_now(h);
    tc__h2_due(h, h->idle_ns + limits->idle_timeout_ns);
    return TC_OK;
}

static tc_status on_drained(struct tc_conn *c, void *state)
{
    (void)c;
    tc__h2_pump(state);
    return TC_OK;
}

/* One call's time is over. */
static void expire(struct tc__h2_stream *s, int64_t now_ns)
{
    struct tc__h2 *h = s->h;
    if (s->phase != TC_H2_ANSWERED && s->deadline_ns != 0 && now_ns >= s->deadline_ns) {
        tc_count(TC_COUNT_GRPC_ERROR_DEADLINE, 1);
        tc__h2_fail(s, TC_GRPC_DEADLINE_EXCEEDED, TC_LIT("the deadline of the call is over"), 0);
        return;
    }
    if (s->due_ns == 0 || now_ns < s->due_ns) {
        return;
    }
    switch (s->phase) {
    case TC_H2_HEAD:
        tc__h2_end(h, TC_H2_END_SLOW_HEADERS);
        break;
    case TC_H2_BODY:
        tc_count(TC_COUNT_GRPC_ERROR_SLOW_BODY, 1);
        tc__h2_fail(s, TC_GRPC_DEADLINE_EXCEEDED, TC_LIT("the message did not end in time"), 0);
        break;
    case TC_H2_HANDLED:
        break;
    case TC_H2_DELAYED:
        tc__h2_fail(s, tc_answer_grpc(s->delayed.answer), s->delayed.message,
                    s->delayed.retry_after_s);
        break;
    case TC_H2_ANSWERED:
        tc_count(TC_COUNT_GRPC_ERROR_SLOW_READER, 1);
        s->due_ns = 0;
        if (nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_CANCEL) != 0) {
            tc__h2_fatal(h);
        }
        break;
    }
}

static void arm_stream(const struct tc__h2_stream *s)
{
    if (s->due_ns != 0) {
        tc__h2_due(s->h, s->due_ns);
    }
    if (s->deadline_ns != 0 && s->phase != TC_H2_ANSWERED) {
        tc__h2_due(s->h, s->deadline_ns);
    }
}

static void expire_streams(struct tc__h2 *h, int64_t now_ns)
{
    h->busy = true; /* nothing is sent, so no stream goes away under the walk */
    for (struct tc__h2_stream *s = h->streams; s != NULL && !h->closing && !h->ended; s = s->next) {
        if (s->open) {
            expire(s, now_ns);
            arm_stream(s);
        }
    }
    h->busy = false;
}

static void on_expired(struct tc_conn *c, void *state)
{
    (void)c;
    struct tc__h2 *h = state;
    int64_t now_ns = tc__h2_now(h);
    int64_t idle_max_ns = tc_conn_limits(h->conn)->idle_timeout_ns;
    h->armed_ns = 0;
    if (h->ended || h->closing) {
        return;
    }
    if (h->handshake_ns != 0 && h->stall.data != NULL) {
        h->handshake_ns = now_ns + tc_conn_limits(h->conn)->header_timeout_ns; /* we do not read */
    }
    if (h->handshake_ns != 0 && now_ns >= h->handshake_ns) {
        tc__h2_end(h, TC_H2_END_HANDSHAKE);
        return;
    }
    if (h->handshake_ns == 0 && h->open_count == 0 && now_ns - h->idle_ns >= idle_max_ns) {
        tc__h2_end(h, TC_H2_END_IDLE);
        return;
    }
    if (h->stall.data != NULL) {
        tc__h2_resume(h, now_ns);
    }
    tc__h2_relax(h, now_ns);
    if (!h->ended && h->last_call_ns != 0 && now_ns >= h->last_call_ns) {
        last_goaway(h, TC_H2_END_REQUESTS);
    }
    expire_streams(h, now_ns);
    if (h->ended) {
        return;
    }
    if (h->handshake_ns != 0) {
        tc__h2_due(h, h->handshake_ns);
    } else if (h->open_count == 0) {
        tc__h2_due(h, h->idle_ns + idle_max_ns);
    }
    if (h->last_call_ns != 0) {
        tc__h2_due(h, h->last_call_ns);
    }
    tc__h2_pump(h);
}

static void on_shutdown(struct tc_conn *c, void *state)
{
    (void)c;
    struct tc__h2 *h = state;
    if (h->ended || h->closing) {
        return;
    }
    last_goaway(h, TC_H2_END_SHUTDOWN);
    tc__h2_pump(h);
}

static enum tc_use use_of_stream(const struct tc__h2_stream *s, int64_t now_ns)
{
    size_t len = s->req.body == NULL ? 0 : s->req.body->len;
    switch (s->phase) {
    case TC_H2_HEAD:
    case TC_H2_BODY:
        return tc_is_slow(len, now_ns - s->since_ns) ? TC_USE_SLOW : TC_USE_BUSY;
    case TC_H2_DELAYED:
        return TC_USE_SLOW;
    case TC_H2_HANDLED:
    case TC_H2_ANSWERED:
        break;
    }
    return TC_USE_BUSY;
}

static enum tc_use on_use(const struct tc_conn *c, const void *state, int64_t *out_since_ns)
{
    const struct tc__h2 *h = state;
    int64_t now_ns = tc_net_mono_ns(tc_conn_net(c));
    size_t calls = 0;
    int64_t since_ns = now_ns;
    for (const struct tc__h2_stream *s = h->streams; s != NULL; s = s->next) {
        if (s->watch_link != NULL) {
            continue; /* those who watch the health wait for nothing else */
        }
        if (use_of_stream(s, now_ns) == TC_USE_BUSY) {
            return TC_USE_BUSY;
        }
        since_ns = s->since_ns < since_ns ? s->since_ns : since_ns;
        calls++;
    }
    *out_since_ns = calls > 0 ? since_ns : h->idle_ns;
    if (calls > 0) {
        return TC_USE_SLOW;
    }
    return h->handshake_ns != 0 || h->request_count == 0 ? TC_USE_BEGUN : TC_USE_IDLE;
}

static void on_close(struct tc_conn *c, void *state)
{
    (void)c;
    struct tc__h2 *h = state;
    h->ended = true;
    tc__h2_orphan(h);
    nghttp2_session_del(h->session);
    h->session = NULL;
    tc__h2_drop_stall(h);
    TC_ASSERT(h->mem.used == 0);
}

const struct tc_proto tc_proto_grpc = {
    .name = "grpc",
    .state_bytes = sizeof(struct tc__h2),
    .open = on_open,
    .input = on_input,
    .drained = on_drained,
    .expired = on_expired,
    .shutdown = on_shutdown,
    .close = on_close,
    .read_most = on_read_most,
    .use = on_use,
    .reclaim = tc__h2_reclaim,
};
