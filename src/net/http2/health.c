/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.health.v1.Health: Check says whether we serve, Watch says it again whenever it changes.
 * https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 */
#include "base/pb.h"
#include "net/http2/http2.h"
#include "net/http2/priv.h"
#include "net/inflate.h"

#include <string.h>

enum { SERVING = 1, NOT_SERVING = 2, SERVICE_UNKNOWN = 3 };

#define REQUEST_BYTES_MAX 4096
#define MESSAGE_BYTES 2 /* HealthCheckResponse{status}: tag and value */

/* Process-wide, as what is asked about is the process. `watchers` are all streams that watch. */
static struct {
    bool serving;
    struct tc__h2_stream *watchers;
} health;

bool tc__h2_health_is(struct tc_slice path)
{
    return tc_slice_starts(path, TC_LIT("/grpc.health.v1.Health/"));
}

static bool known(struct tc_slice service)
{
    return tc_slice_is_any(service, "", "opentelemetry.proto.collector.logs.v1.LogsService",
                           "opentelemetry.proto.collector.metrics.v1.MetricsService",
                           "opentelemetry.proto.collector.trace.v1.TraceService");
}

/* HealthCheckRequest: string service = 1. Other fields are passed over. */
static bool read_service(struct tc_slice bytes, struct tc_slice *out_service)
{
    struct tc_pb p = tc_pb_make(bytes);
    while (p.at < p.end) {
        uint32_t number = 0;
        unsigned wire = 0;
        size_t len = 0;
        if (!tc_pb_tag(&p, &number, &wire)) {
            return false;
        }
        if (number != 1 || wire != TC_PB_LENGTH) {
            if (!tc_pb_skip(&p, wire)) {
                return false;
            }
            continue;
        }
        if (!tc_pb_length(&p, &len)) {
            return false;
        }
        *out_service = tc_slice_make((const char *)p.at, len);
        p.at += len;
    }
    return true;
}

static unsigned state_of(bool is_known)
{
    if (!is_known) {
        return SERVICE_UNKNOWN;
    }
    return health.serving ? SERVING : NOT_SERVING;
}

/* The present state, once; then nothing until it is another or the watch is over. */
static ssize_t read_watch(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
                          uint32_t *data_flags, nghttp2_data_source *source, void *user_data)
{
    (void)session;
    (void)id;
    (void)user_data;
    struct tc__h2_stream *s = source->ptr;
    unsigned now = state_of(s->watch_known);
    if (s->watch_over) {
        *data_flags |= NGHTTP2_DATA_FLAG_EOF;
        return tc__h2_end_reply(s, false, data_flags) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (s->watch_told == now || length < TC_H2_FRAME_BYTES + MESSAGE_BYTES) {
        s->due_ns = 0;
        return NGHTTP2_ERR_DEFERRED;
    }
    const unsigned char message[] = {0, 0, 0, 0, MESSAGE_BYTES, 1 << 3, (unsigned char)now};
    memcpy(buf, message, sizeof message);
    s->watch_told = now;
    return (ssize_t)sizeof message;
}

static void push_watcher(struct tc__h2_stream *s, struct tc__h2_stream **list)
{
    s->watch_next = *list;
    s->watch_link = list;
    if (s->watch_next != NULL) {
        s->watch_next->watch_link = &s->watch_next;
    }
    *list = s;
}

void tc__h2_health_forget(struct tc__h2_stream *s)
{
    if (s->watch_link == NULL) {
        return;
    }
    *s->watch_link = s->watch_next;
    if (s->watch_next != NULL) {
        s->watch_next->watch_link = s->watch_link;
    }
    s->watch_link = NULL;
}

static struct tc_slice body_of(const struct tc__h2_stream *s)
{
    const struct tc_buffer *body = s->req.body;
    return body == NULL ? TC_EMPTY : tc_slice_make((const char *)body->data, body->len);
}

/* A channel that compresses does so for these calls too. False: answered. They are few, so what it
 * takes is made for each. */
static bool unpack(struct tc__h2_stream *s)
{
    if (s->req.content_encoding.len == 0) {
        return true;
    }
    struct tc_buffer *content = NULL;
    struct tc_error err;
    enum tc_encoding encoding = tc_encoding_parse(s->req.content_encoding);
    if (encoding == TC_ENCODING_UNKNOWN) {
        tc__h2_fail(s, TC_GRPC_UNIMPLEMENTED, TC_LIT("this grpc-encoding is not supported"), 0);
        return false;
    }
    struct tc_inflater *f = tc_inflater_create();
    tc_status status = f == NULL ? tc_fail(&err, TC_E_NOMEM, 0, "no memory to decompress")
                                 : tc_inflate(f, encoding, body_of(s), tc_conn_pool(s->h->conn),
                                              REQUEST_BYTES_MAX, &content, &err);
    tc_inflater_destroy(f);
    if (status != TC_OK) {
        int code = status == TC_E_LIMIT ? TC_GRPC_RESOURCE_EXHAUSTED : TC_GRPC_INTERNAL;
        tc__h2_fail(s, status == TC_E_NOMEM ? TC_GRPC_UNAVAILABLE : code,
                    tc_slice_cstr(err.message), 0);
        return false;
    }
    tc_buffer_give(s->req.body);
    s->req.body = content;
    return true;
}

void tc__h2_health_call(struct tc__h2_stream *s)
{
    struct tc_slice service = TC_EMPTY;
    struct tc_slice method = tc_slice_from(s->req.path, strlen("/grpc.health.v1.Health/"));
    bool watch = tc_slice_eq(method, TC_LIT("Watch"));
    if (!watch && !tc_slice_eq(method, TC_LIT("Check"))) {
        tc__h2_fail(s, TC_GRPC_UNIMPLEMENTED, TC_LIT("Health has Check and Watch"), 0);
    } else if (!unpack(s)) {
        return;
    } else if (!read_service(body_of(s), &service)) {
        tc__h2_fail(s, TC_GRPC_INVALID_ARGUMENT, TC_LIT("malformed HealthCheckRequest"), 0);
    } else if (watch) {
        s->watch_known = known(service);
        push_watcher(s, &health.watchers);
        tc__h2_begin_reply(s, read_watch);
    } else if (!known(service)) {
        tc__h2_fail(s, TC_GRPC_NOT_FOUND, TC_LIT("unknown service"), 0);
    } else {
        const char message[] = {1 << 3, (char)state_of(true)};
        tc__h2_reply(s, tc_slice_make(message, sizeof message));
    }
}

/* Has the read callback asked again. */
static void wake(struct tc__h2_stream *s)
{
    s->due_ns = tc__h2_now(s->h) + tc_conn_limits(s->h->conn)->write_timeout_ns;
    tc__h2_due(s->h, s->due_ns);
    /* Refused while the last state is still on its way: then this one follows it. */
    (void)nghttp2_session_resume_data(s->h->session, s->id);
}

void tc__h2_health_end(struct tc__h2_stream *s)
{
    if (s->watch_link != NULL && s->open) {
        s->watch_over = true;
        wake(s);
    }
}

void tc_grpc_health_set(bool serving)
{
    struct tc__h2_stream *waiting = health.watchers;
    if (health.serving == serving) {
        return;
    }
    health.serving = serving;
    health.watchers = NULL;
    if (waiting != NULL) {
        waiting->watch_link = &waiting;
    }
    /* One after the other changes lists, so that it is right whatever sending leads to. */
    while (waiting != NULL) {
        struct tc__h2_stream *s = waiting;
        tc__h2_health_forget(s);
        push_watcher(s, &health.watchers);
        if (!s->h->ended) {
            wake(s);
            tc__h2_pump(s->h);
        }
    }
}
