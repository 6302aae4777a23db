/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1: from bytes to requests, one at a time on a connection, and their answers. */
#include "base/assert.h"
#include "net/http1/priv.h"

#include <string.h>

void tc__http_enter(struct tc__http *h, enum tc__http_phase phase)
{
    h->phase = phase;
    h->phase_is_new = true;
}

/* The deadline of the phase, from the moment that it began. Phases that a look at the bytes went
 * through cost nothing. */
void tc__http_set_deadline(struct tc__http *h)
{
    if (!h->phase_is_new) {
        return;
    }
    h->phase_is_new = false;
    const struct tc_net_limits *limits = tc_conn_limits(h->conn);
    int64_t time = 0;
    switch (h->phase) {
    case TC__HTTP_IDLE:
        time = limits->idle_timeout_ns;
        break;
    case TC__HTTP_HEAD:
        time = limits->header_timeout_ns;
        break;
    case TC__HTTP_BODY:
    case TC__HTTP_CHUNKED:
    case TC__HTTP_DISCARD:
    case TC__HTTP_DISCARD_CHUNKED:
        time = limits->body_timeout_ns;
        break;
    case TC__HTTP_DELAYED:
        time = h->delayed.delay_ns;
        break;
    case TC__HTTP_QUEUED:   /* the claim's */
    case TC__HTTP_HANDLING: /* the handler's */
    case TC__HTTP_STREAMING:
    case TC__HTTP_WAITING: /* writing has a deadline of its own */
    case TC__HTTP_OVER:
        break;
    }
    h->phase_since_ns = time > 0 ? tc_net_mono_ns(tc_conn_net(h->conn)) : 0;
    tc_conn_deadline(h->conn, time > 0 ? h->phase_since_ns + time : 0);
}

void tc__http_drop_slot(struct tc__http *h)
{
    if (h->slot != NULL) {
        tc__request_give(h->slot);
        h->slot = NULL;
    }
}

/* Between two requests, or at the end. */
void tc__http_next(struct tc__http *h)
{
    if (!h->keep_alive) {
        tc__http_enter(h, TC__HTTP_OVER);
        tc_conn_finish(h->conn);
    } else if (tc_conn_pending(h->conn) > TC_HTTP_OUTPUT_WAIT_BYTES) {
        tc__http_enter(h, TC__HTTP_WAITING);
        tc_conn_pause(h->conn, true);
    } else {
        tc__http_enter(h, TC__HTTP_IDLE);
        tc_conn_pause(h->conn, false);
    }
}

void tc__http_refuse(struct tc__http *h)
{
    bool head_only = h->slot != NULL && h->slot->request.method == TC_METHOD_HEAD;
    h->keep_alive = false;
    tc__http_write_refusal(h, &h->refusal, head_only);
    tc__http_drop_slot(h);
    tc__conn_why(h->conn, TC_COUNT_CONN_CLOSED_REFUSAL);
    tc__http_next(h);
}

/*
 * An answer before the body: may the connection be kept? A large body costs more than a new
 * connection, and one that expects 100-continue may leave its body out, so that what follows is
 * unclear. To be asked before the answer is written, as it says so.
 */
static bool may_discard(const struct tc__http *h, bool chunked, uint64_t length)
{
    return (!chunked && length == 0) ||
           (length <= TC_HTTP_DISCARD_BYTES && !h->fields[TC__HTTP_EXPECT].there);
}

/* After such an answer: the body is read and dropped, or the connection ends. */
static void discard_body(struct tc__http *h, bool chunked, uint64_t length)
{
    if (!h->keep_alive || (!chunked && length == 0)) {
        tc__http_next(h);
    } else if (chunked) {
        tc__http_enter(h, TC__HTTP_DISCARD_CHUNKED);
    } else {
        h->body_left = length;
        tc__http_enter(h, TC__HTTP_DISCARD);
    }
}

void tc__http_refuse_busy(struct tc__http *h, bool chunked, uint64_t length)
{
    static const struct tc__http_refusal busy = {503, TC_COUNT_HTTP_NO_MEMORY,
                                                 "no room for the body now; send it again"};
    bool head_only = h->slot->request.method == TC_METHOD_HEAD;
    h->keep_alive = h->keep_alive && may_discard(h, chunked, length);
    tc__http_write_refusal(h, &busy, head_only);
    tc__http_drop_slot(h);
    discard_body(h, chunked, length);
}

static void respond(struct tc_request *r, const struct tc_response *response);

/* The request is whole: it is the handler's until it is answered, which may be before handle
 * returns. */
static void hand_over(struct tc__http *h)
{
    const struct tc_service *service = tc_conn_service(h->conn);
    struct tc_request *r = &h->slot->request;
    r->arrival_ns = tc_net_wall_ns(tc_conn_net(h->conn));
    h->is_known = true;
    if (r->body != NULL) {
        tc_buffer_set_new(r->body, false);
    }
    tc__http_enter(h, TC__HTTP_HANDLING);
    tc_conn_pause(h->conn, true);
    service->handle(service->context, r);
}

static void respond(struct tc_request *r, const struct tc_response *response)
{
    struct tc__http *h = r->of;
    if (h == NULL) {
        tc_count(TC_COUNT_HTTP_GONE, 1);
        if (response->release != NULL) {
            response->release(response->release_context);
        }
        tc__request_give(tc__request_slot_of(r));
        return;
    }
    TC_ASSERT(h->slot == tc__request_slot_of(r) && h->phase == TC__HTTP_HANDLING);
    tc__http_write_answer(h, response, r->method == TC_METHOD_HEAD);
    tc__http_drop_slot(h);
    tc__http_next(h);
    if (!h->running) {
        tc__http_pump(h);
    }
}

/* Asks the service; false when it has refused, and that is answered. */
static bool service_begins(struct tc__http *h, bool chunked, uint64_t length, size_t *io_body_max)
{
    const struct tc_service *service = tc_conn_service(h->conn);
    struct tc_request *r = &h->slot->request;
    struct tc_response refusal = {.answer = TC_ANSWER_OK};
    if (service->begin == NULL) {
        return true;
    }
    enum tc_answer answer = service->begin(service->context, r, io_body_max, &refusal);
    if (answer == TC_ANSWER_OK) {
        return true;
    }
    refusal.answer = answer;
    tc_count(TC_COUNT_HTTP_BY_SERVICE, 1);
    if (refusal.delay_ns > 0) {
        h->delayed = refusal;
        h->keep_alive = false;
        tc__http_enter(h, TC__HTTP_DELAYED);
        tc_conn_pause(h->conn, true);
        return false;
    }
    h->keep_alive = h->keep_alive && may_discard(h, chunked, length);
    tc__http_write_answer(h, &refusal, r->method == TC_METHOD_HEAD);
    tc__http_drop_slot(h);
    discard_body(h, chunked, length);
    return false;
}

static void head_done(struct tc__http *h, size_t in_hand)
{
    const struct tc_net_limits *limits = tc_conn_limits(h->conn);
    struct tc_request *r = &h->slot->request;
    bool chunked = false;
    uint64_t length = 0;
    h->requests++;
    h->keep_alive =
        http_should_keep_alive(&h->parser) != 0 && !h->ending &&
        (limits->requests_per_conn_max == 0 || h->requests < limits->requests_per_conn_max);
    r->respond = respond;
    r->stream_ops = &tc__http_stream_ops;
    r->of = h;
    r->peer = tc_conn_peer(h->conn);
    if (!tc__http_head_request(h, &chunked, &length)) {
        tc__http_refuse(h);
        return;
    }
    size_t body_max = limits->body_bytes_max;
    tc__chunks_init(&h->chunks, TC_HTTP_DISCARD_BYTES, limits->header_bytes_max);
    if (!service_begins(h, chunked, length, &body_max)) {
        return;
    }
    h->chunks.left = body_max;
    if (length > body_max) {
        tc__http_refuse_with(h, 413, TC_COUNT_HTTP_BODY_TOO_LARGE, "the body is too large");
        tc__http_refuse(h);
    } else if (chunked || length > 0) {
        tc__http_begin_body(h, chunked, length, in_hand);
    } else {
        hand_over(h);
    }
}

/* Each of these looks at bytes in one phase and says how many it used. */

static size_t step_head(struct tc__http *h, struct tc_slice bytes)
{
    size_t used = tc__http_head_read(h, bytes);
    if (h->refusal.status != 0) {
        tc__http_refuse(h);
    } else if (h->head_done) {
        head_done(h, bytes.len - used);
    }
    return used;
}

static size_t step_idle(struct tc__http *h, struct tc_slice bytes)
{
    if (!tc__http_head_begin(h)) {
        tc__http_refuse_with(h, 503, TC_COUNT_HTTP_NO_MEMORY, "no memory for a request now");
        tc__http_refuse(h);
        return bytes.len;
    }
    tc__http_enter(h, TC__HTTP_HEAD);
    return step_head(h, bytes);
}

/* A large upload has its time again for each piece of it. */
static void renew_deadline(struct tc__http *h, size_t len)
{
    h->body_fresh += len;
    if (h->body_fresh >= TC_HTTP_RENEW_BYTES) {
        h->body_fresh = 0;
        h->phase_is_new = true;
    }
}

static void body_came(struct tc__http *h, size_t len)
{
    renew_deadline(h, len);
    tc__http_body_moves(h, len);
    h->body_left -= len;
    if (h->body_left == 0) {
        hand_over(h);
    }
}

static size_t step_body(struct tc__http *h, struct tc_slice bytes)
{
    size_t len = bytes.len < h->body_left ? bytes.len : (size_t)h->body_left;
    size_t kept = tc__http_body_keep(h, tc_slice_head(bytes, len), h->body_left - len);
    if (kept > 0) {
        body_came(h, kept);
    }
    if (kept < len) {
        tc__http_wait_for_more(h, h->body_left);
    }
    return kept;
}

static size_t step_chunked(struct tc__http *h, struct tc_slice bytes)
{
    size_t used = 0;
    size_t kept = 0;
    struct tc_slice data = TC_EMPTY;
    switch (tc__chunks_next(&h->chunks, bytes, &used, &data)) {
    case TC__CHUNK_MORE:
        break;
    case TC__CHUNK_DATA:
        renew_deadline(h, data.len);
        kept = tc__http_body_keep(h, data, h->chunks.left);
        tc__http_body_moves(h, kept);
        if (kept < data.len) {
            tc__chunks_unread(&h->chunks, data.len - kept);
            used -= data.len - kept;
            tc__http_wait_for_more(h, h->chunks.left);
        }
        break;
    case TC__CHUNK_END:
        hand_over(h);
        break;
    case TC__CHUNK_BAD:
        tc__http_refuse_with(h, 400, TC_COUNT_HTTP_BAD_CHUNK, "bad framing of a chunked body");
        tc__http_refuse(h);
        break;
    case TC__CHUNK_TOO_LARGE:
        tc__http_refuse_with(h, 413, TC_COUNT_HTTP_BODY_TOO_LARGE, "the body is too large");
        tc__http_refuse(h);
        break;
    }
    return used;
}

static size_t step_discard(struct tc__http *h, struct tc_slice bytes)
{
    size_t len = bytes.len < h->body_left ? bytes.len : (size_t)h->body_left;
    h->body_left -= len;
    if (h->body_left == 0) {
        tc__http_next(h);
    }
    return len;
}

static size_t step_discard_chunked(struct tc__http *h, struct tc_slice bytes)
{
    size_t used = 0;
    struct tc_slice data = TC_EMPTY;
    enum tc__chunk result = tc__chunks_next(&h->chunks, bytes, &used, &data);
    if (result == TC__CHUNK_BAD || result == TC__CHUNK_TOO_LARGE) {
        h->keep_alive = false; /* it was answered already */
    }
    if (result != TC__CHUNK_MORE && result != TC__CHUNK_DATA) {
        tc__http_next(h);
    }
    return used;
}

static size_t step(struct tc__http *h, struct tc_slice bytes)
{
    switch (h->phase) {
    case TC__HTTP_IDLE:
        return step_idle(h, bytes);
    case TC__HTTP_HEAD:
        return step_head(h, bytes);
    case TC__HTTP_BODY:
        return step_body(h, bytes);
    case TC__HTTP_CHUNKED:
        return step_chunked(h, bytes);
    case TC__HTTP_DISCARD:
        return step_discard(h, bytes);
    case TC__HTTP_DISCARD_CHUNKED:
        return step_discard_chunked(h, bytes);
    case TC__HTTP_STREAMING: /* nothing is to be said meanwhile */
        return bytes.len;
    case TC__HTTP_QUEUED:
    case TC__HTTP_HANDLING:
    case TC__HTTP_WAITING:
    case TC__HTTP_DELAYED:
    case TC__HTTP_OVER:
        break;
    }
    return 0;
}

static bool stalled(const struct tc__http *h)
{
    return h->phase == TC__HTTP_QUEUED || h->phase == TC__HTTP_HANDLING ||
           h->phase == TC__HTTP_WAITING || h->phase == TC__HTTP_DELAYED ||
           h->phase == TC__HTTP_OVER;
}

/* Looks at bytes until they are used up or a request has to be answered first. */
static struct tc_slice run(struct tc__http *h, struct tc_slice bytes)
{
    h->running = true;
    while (bytes.len > 0 && !stalled(h)) {
        bytes = tc_slice_from(bytes, step(h, bytes));
    }
    h->running = false;
    tc__http_set_deadline(h);
    return bytes;
}

static void drop_rest(struct tc__http *h)
{
    tc_buffer_give(h->rest);
    h->rest = NULL;
    h->rest_start = 0;
}

void tc__http_pump(struct tc__http *h)
{
    struct tc_slice bytes = TC_EMPTY;
    if (h->rest != NULL) {
        bytes = tc_slice_make((const char *)h->rest->data + h->rest_start,
                              h->rest->len - h->rest_start);
    }
    size_t left = run(h, bytes).len;
    if (h->rest != NULL) {
        h->rest_start = h->rest->len - left;
        if (left == 0 || h->phase == TC__HTTP_DELAYED || h->phase == TC__HTTP_OVER) {
            drop_rest(h);
        }
    }
}

static tc_status http_open(struct tc_conn *c, void *state)
{
    struct tc__http *h = state;
    h->conn = c;
    /* header_bytes_max is counted here; http_parser's own bound is the process's. */
    http_parser_set_max_header_size(UINT32_MAX / 2);
    tc__http_enter(h, TC__HTTP_IDLE);
    tc__http_set_deadline(h);
    return TC_OK;
}

static tc_status http_input(struct tc_conn *c, void *state, struct tc_slice bytes)
{
    struct tc__http *h = state;
    TC_ASSERT(h->rest == NULL); /* reading is paused while there is a rest */
    bytes = run(h, bytes);
    if (bytes.len == 0 || h->phase == TC__HTTP_DELAYED || h->phase == TC__HTTP_OVER) {
        return TC_OK; /* nothing behind it is looked at */
    }
    h->rest = tc_pool_take(tc_conn_pool(c), bytes.len);
    if (h->rest == NULL && h->phase == TC__HTTP_QUEUED) {
        h->keep_alive = false; /* a part of the body is lost */
        tc__http_refuse_queued(h);
        return TC_OK;
    }
    if (h->rest == NULL) {
        h->keep_alive = false; /* the answer ends it; what came behind it is sent again */
        return TC_OK;
    }
    memcpy(h->rest->data, bytes.ptr, bytes.len);
    h->rest->len = bytes.len;
    return TC_OK;
}

static void *http_room(struct tc_conn *c, void *state, size_t *out_len)
{
    struct tc__http *h = state;
    (void)c;
    if (h->phase != TC__HTTP_BODY || h->slot->request.spool != NULL) {
        return NULL;
    }
    struct tc_request *r = &h->slot->request;
    if (!tc__http_body_room(h, h->body_left)) {
        return NULL; /* the bytes come to http_input, which refuses them */
    }
    size_t room = r->body->cap - r->body->len;
    *out_len = room < h->body_left ? room : (size_t)h->body_left;
    return r->body->data + r->body->len;
}

static tc_status http_filled(struct tc_conn *c, void *state, size_t len)
{
    struct tc__http *h = state;
    (void)c;
    h->running = true;
    h->slot->request.body->len += len;
    body_came(h, len);
    h->running = false;
    tc__http_set_deadline(h);
    return TC_OK;
}

static tc_status http_drained(struct tc_conn *c, void *state)
{
    struct tc__http *h = state;
    (void)c;
    if (h->phase == TC__HTTP_WAITING) {
        tc__http_next(h);
        tc__http_pump(h);
    }
    return TC_OK;
}

static void http_expired(struct tc_conn *c, void *state)
{
    struct tc__http *h = state;
    switch (h->phase) {
    case TC__HTTP_IDLE:
        tc__conn_why(c, TC_COUNT_CONN_CLOSED_TIMEOUT_IDLE);
        tc_conn_close(c);
        break;
    case TC__HTTP_HEAD:
        tc__conn_why(c, TC_COUNT_CONN_CLOSED_TIMEOUT_HEADER);
        tc__http_refuse_with(h, 408, TC_COUNT_HTTP_TIMEOUT, "the head took too long");
        tc__http_refuse(h);
        break;
    case TC__HTTP_BODY:
    case TC__HTTP_CHUNKED:
        tc__conn_why(c, TC_COUNT_CONN_CLOSED_TIMEOUT_BODY);
        tc__http_refuse_with(h, 408, TC_COUNT_HTTP_TIMEOUT, "the body took too long");
        tc__http_refuse(h);
        break;
    case TC__HTTP_DISCARD:
    case TC__HTTP_DISCARD_CHUNKED:
        tc__conn_why(c, TC_COUNT_CONN_CLOSED_TIMEOUT_BODY);
        tc_conn_close(c);
        break;
    case TC__HTTP_DELAYED:
        tc__http_write_answer(h, &h->delayed, h->slot->request.method == TC_METHOD_HEAD);
        tc__http_drop_slot(h);
        tc__http_next(h);
        break;
    case TC__HTTP_QUEUED:
    case TC__HTTP_HANDLING:
    case TC__HTTP_STREAMING:
    case TC__HTTP_WAITING:
    case TC__HTTP_OVER:
        break;
    }
}

static void http_shutdown(struct tc_conn *c, void *state)
{
    struct tc__http *h = state;
    h->ending = true;
    h->keep_alive = false;
    if (h->phase == TC__HTTP_STREAMING) {
        tc__http_stream_shutdown(h);
    } else if (h->phase == TC__HTTP_QUEUED) {
        tc__http_refuse_queued(h);
    } else if (h->phase == TC__HTTP_IDLE || h->phase == TC__HTTP_WAITING ||
               h->phase == TC__HTTP_DELAYED) {
        tc__conn_why(c, TC_COUNT_CONN_CLOSED_SHUTDOWN);
        if (tc_conn_pending(c) == 0) {
            tc_conn_close(c);
        } else {
            tc__http_next(h);
        }
    }
}

static void http_close(struct tc_conn *c, void *state)
{
    struct tc__http *h = state;
    (void)c;
    drop_rest(h);
    tc_pool_cancel(&h->claim);
    tc__http_peer_gone(h);
    tc__http_drop_slot(h);
}

static enum tc_use http_use(const struct tc_conn *c, const void *state, int64_t *out_since_ns)
{
    const struct tc__http *h = state;
    int64_t age_ns = tc_net_mono_ns(tc_conn_net(c)) - h->phase_since_ns;
    enum tc_use use = TC_USE_BUSY;
    switch (h->phase) {
    case TC__HTTP_IDLE:
        use = h->requests == 0 ? TC_USE_BEGUN : TC_USE_IDLE;
        break;
    case TC__HTTP_HEAD:
        use = h->requests == 0 ? TC_USE_BEGUN : TC_USE_SLOW;
        break;
    case TC__HTTP_BODY:
    case TC__HTTP_CHUNKED:
        use = tc_is_slow(h->body_fresh, age_ns) ? TC_USE_SLOW : TC_USE_BUSY;
        break;
    case TC__HTTP_DISCARD:
    case TC__HTTP_DISCARD_CHUNKED:
        use = TC_USE_SLOW;
        break;
    case TC__HTTP_DELAYED:
        use = TC_USE_BEGUN;
        break;
    case TC__HTTP_QUEUED:
    case TC__HTTP_HANDLING:
    case TC__HTTP_STREAMING:
    case TC__HTTP_WAITING:
    case TC__HTTP_OVER:
        return TC_USE_BUSY;
    }
    *out_since_ns = h->phase_since_ns;
    return use;
}

#define TOO_MANY                                                                   \
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 21\r\nRetry-After: 1\r\n" \
    "Content-Type: text/plain\r\nConnection: close\r\n\r\ntoo many connections\n"

const struct tc_proto tc_proto_http = {
    .name = "http",
    .state_bytes = sizeof(struct tc__http),
    .open = http_open,
    .input = http_input,
    .drained = http_drained,
    .expired = http_expired,
    .shutdown = http_shutdown,
    .close = http_close,
    .room = http_room,
    .filled = http_filled,
    .read_bytes = TC_HTTP_READ_BYTES,
    .read_most = tc__http_read_most,
    .use = http_use,
    .peer_closed = tc__http_peer_closed,
    .reclaim = tc__http_reclaim,
    .refusal = {TOO_MANY, sizeof(TOO_MANY) - 1},
};
