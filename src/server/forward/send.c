/* SPDX-License-Identifier: Apache-2.0 */
/* One batch to one receiver. */
#include "base/clock.h"
#include "base/format.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "config/config.h"
#include "observe/log.h"
#include "server/committer.h"
#include "server/forward/priv.h"
#include "server/ingest/piece.h"
#include "stored/batch_name.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define HTTP_KNOWN 409
/* Shorter bodies are sent as they are. */
#define PACK_BYTES 512
/* A longer file is not sent: it would be in memory twice. */
#define FILE_BYTES_MAX ((size_t)256 << 20)
/* A body that is longer has more time: a second for each so many bytes. */
#define LONG_BYTES ((size_t)4 << 20)
#define SECOND_BYTES ((size_t)128 << 10)
/* After an answer that only a person can change. */
#define REFUSED_NS (5 * TC_SECOND)
#define HEADERS_MAX 192

/* How a kind travels: as the OTLP request that it was, or with its name before it. */
static const struct {
    const char *path;
    const char *type;
    bool is_piece;
} KINDS[TC_BATCH_KIND_LAST + 1] = {
    [TC_BATCH_LOGS_PROTOBUF] = {"/v1/logs", "application/x-protobuf", false},
    [TC_BATCH_LOGS_JSON] = {"/v1/logs", "application/json", false},
    [TC_BATCH_METRICS_PROTOBUF] = {"/v1/metrics", "application/x-protobuf", false},
    [TC_BATCH_METRICS_JSON] = {"/v1/metrics", "application/json", false},
    [TC_BATCH_TRACES_PROTOBUF] = {"/v1/traces", "application/x-protobuf", false},
    [TC_BATCH_TRACES_JSON] = {"/v1/traces", "application/json", false},
    [TC_BATCH_FILE] = {TC_PIECE_FILE_PATH, TC_PIECE_TYPE, true},
    [TC_BATCH_SOURCE] = {TC_PIECE_SOURCE_PATH, TC_PIECE_TYPE, true},
};

bool tc__forward_sleep(const struct tc__endpoint *e, int64_t ns, bool until_news)
{
    struct pollfd fds[] = {{.fd = e->of->stop_fd, .events = POLLIN},
                           {.fd = e->wake_fd, .events = POLLIN}};
    int64_t ms = ns <= 0 ? 0 : ns / 1000000 + 1;
    int rc = 0;
    do {
        rc = poll(fds, until_news ? 2 : 1, ms > INT32_MAX ? INT32_MAX : (int)ms);
    } while (rc < 0 && errno == EINTR);
    eventfd_t count = 0;
    if (rc > 0 && until_news && fds[1].revents != 0) {
        (void)eventfd_read(e->wake_fd, &count);
    }
    return fds[0].revents == 0;
}

/* ---- what is sent ---- */

/* Its name without what only this daemon can say of it. */
static void put_name(struct tc_buf *out, struct tc_slice name)
{
    struct tc_slice rest;
    tc_buf_str(out, tc_slice_cut(name, '\n', &rest));
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        struct tc_slice value;
        if (!tc_slice_is_any(tc_slice_cut(line, '=', &value), "source", "stream", "position",
                             "taken", "sender")) {
            (void)tc_format(out, "\n{}", line);
        }
    }
    tc_buf_lit(out, "\n\n");
}

static tc_status make_plain(struct tc__endpoint *e, const struct tc_batch *batch,
                            struct tc_slice *out, struct tc_error *err)
{
    size_t need = batch->name.len + TC_PIECE_GAP + batch->body.len;
    if (need > e->plain_cap &&
        tc_grow_items(e->plain, e->plain_cap, need, FILE_BYTES_MAX + TC_STORE_NAME_MAX) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a batch of %zu bytes", need);
    }
    struct tc_buf b = tc_buf_make(e->plain, e->plain_cap);
    put_name(&b, batch->name);
    tc_buf_str(&b, batch->body);
    *out = tc_buf_slice(&b);
    return TC_OK;
}

/* The body as it is sent, packed where that is worth it. */
static tc_status make_body(struct tc__endpoint *e, const struct tc_batch *batch,
                           struct tc_slice *out, bool *out_packed, struct tc_error *err)
{
    *out = batch->body;
    *out_packed = false;
    if (KINDS[batch->kind].is_piece) {
        TC_TRY(make_plain(e, batch, out, err));
    }
    if (batch->kind == TC_BATCH_FILE || out->len < PACK_BYTES) {
        return TC_OK;
    }
    size_t len = 0;
    if (tc_http_gzip(*out, &e->packed, &e->packed_cap, &len) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to compress a batch of %zu bytes", out->len);
    }
    *out = tc_slice_make(e->packed, len);
    *out_packed = true;
    return TC_OK;
}

static void put_headers(struct tc__endpoint *e, const struct tc_batch *batch, bool is_packed,
                        uint64_t out_agent[2], struct tc_buf *b)
{
    struct tc_forward *f = e->of;
    (void)pthread_mutex_lock(&f->lock);
    out_agent[0] = f->place.agent[0];
    out_agent[1] = f->place.agent[1];
    (void)pthread_mutex_unlock(&f->lock);
    (void)tc_format(b, "Tracecore-Batch: {}{} {} {}\r\n{}", tc_as_hex(out_agent[0], 16),
                    tc_as_hex(out_agent[1], 16), batch->number, tc_batch_taken(batch),
                    tc_when(is_packed, "Content-Encoding: gzip\r\n"));
}

/* ---- the receiver ---- */

/* The client, made anew after a refusal, because a certificate may be another by now; and with more
 * time for what is long. */
static tc_status open_post(struct tc__endpoint *e, size_t bytes, struct tc_error *err)
{
    const struct tc_config *c = e->of->parts.config;
    bool is_long = bytes > LONG_BYTES;
    if (e->post.client != NULL && e->is_long == is_long && !is_long) {
        return TC_OK;
    }
    struct tc_post_config config = {
        .url = e->url,
        .headers = "",
        .token_file = c->forward_token_file,
        .tls = {.ca_file = c->forward_tls_ca,
                .cert_file = c->forward_tls_cert,
                .key_file = c->forward_tls_key},
        .timeout_ns =
            c->forward_timeout + (is_long ? (int64_t)(bytes / SECOND_BYTES) * TC_SECOND : 0),
        .backoff_min_ns = c->forward_backoff_min,
        .backoff_max_ns = c->forward_backoff_max,
        .is_patient = true,
        .stop_fd = e->of->stop_fd,
    };
    e->is_long = is_long;
    return tc_post_open(&e->post, &config, err);
}

/* In words that say what to do. Who answered so is said where it is told. */
static void explain(int status, struct tc_error *err)
{
    static const struct {
        int status;
        const char *words;
    } known[] = {
        {401, "it does not know the token: see forward.token_file, and auth.tokens there"},
        {403, "the token lacks the scope ingest there, or forward.endpoints is a name that it does "
              "not answer to"},
        {404, "no tracecore that takes what others forward: forward.endpoints is the address of "
              "receivers.otlp.http.listen there"},
    };
    for (size_t i = 0; i < TC_COUNT(known); i++) {
        if (known[i].status == status) {
            (void)tc_fail(err, TC_E_IO, 0, "HTTP status %d: %s", status, known[i].words);
            return;
        }
    }
}

/* It is the batch that is not wanted, and not its sender. */
static bool is_about_batch(int status)
{
    return status == 400 || status == 413 || status == 415 || status == 422;
}

static void leave_out(struct tc__endpoint *e, const struct tc_batch *batch, const char *why)
{
    struct tc_forward *f = e->of;
    (void)pthread_mutex_lock(&f->lock);
    e->stats.refused++;
    (void)pthread_mutex_unlock(&f->lock);
    tc_log_fields(TC_LOG_ERROR, "a batch is not forwarded: it is refused for good",
                  TC_LOG_CSTR("endpoint", e->url), TC_LOG_NUMBER("batch", (int64_t)batch->number),
                  TC_LOG_CSTR("kind", tc_batch_kind_name(batch->kind)), TC_LOG_CSTR("error", why));
}

/*
 * It says that it has this batch, and the number of the last one that it has of this agent. One
 * that was never stored here is of a store that this one replaced, under the same id: those numbers
 * are given again, and would be taken for known. True: there is a new id, and it is sent again.
 */
static bool is_of_another_store(struct tc__endpoint *e, struct tc_slice reply,
                                const uint64_t agent[2])
{
    struct tc_forward *f = e->of;
    uint64_t last = 0;
    struct tc_error err = {0};
    if (!tc_slice_is_u64(tc_slice_trim(reply), &last) ||
        last <= tc_committer_settled(f->parts.committer)) {
        return false;
    }
    (void)pthread_mutex_lock(&f->lock);
    bool is_same = memcmp(f->place.agent, agent, sizeof f->place.agent) == 0;
    tc_status status = is_same ? tc_forward_place_renew(&f->place, &err) : TC_OK;
    f->is_changed = true;
    (void)pthread_mutex_unlock(&f->lock);
    if (status == TC_OK && is_same) {
        tc_log_fields(TC_LOG_WARN,
                      "a receiver has more of this data_dir than there is: it is another one by "
                      "now, and has a new id",
                      TC_LOG_CSTR("endpoint", e->url), TC_LOG_NUMBER("batch", (int64_t)last));
        tc__forward_save(f, true);
    }
    return status == TC_OK;
}

/* One attempt. How long to wait before the next; 0 with *out_done: no more is needed. */
static int64_t try_once(struct tc__endpoint *e, const struct tc_batch *batch, struct tc_slice body,
                        bool is_packed, bool *out_done)
{
    char text[HEADERS_MAX];
    struct tc_buf headers = tc_buf_make(text, sizeof text);
    struct tc_http_reply reply = {0};
    struct tc_error err = {0};
    uint64_t agent[2];
    if (open_post(e, body.len, &err) != TC_OK) {
        tc__forward_failing(e, &err);
        return REFUSED_NS;
    }
    put_headers(e, batch, is_packed, agent, &headers);
    struct tc_post_request request = {.path = KINDS[batch->kind].path,
                                      .content_type = KINDS[batch->kind].type,
                                      .headers = tc_buf_slice(&headers),
                                      .body = body,
                                      .also_taken = HTTP_KNOWN};
    enum tc_post_result result = tc_post_send(&e->post, &request, &reply, &err);
    if (result == TC_POST_TAKEN) {
        *out_done = reply.status != HTTP_KNOWN || !is_of_another_store(e, reply.body, agent);
        tc__forward_works(e);
        return 0;
    }
    explain(reply.status, &err);
    if (result == TC_POST_REFUSED && is_about_batch(reply.status)) {
        leave_out(e, batch, err.message);
        *out_done = true;
        return 0;
    }
    bool is_later = result == TC_POST_LATER && reply.status != 401;
    int64_t pause_ns = is_later ? e->post.pause_ns : REFUSED_NS;
    if (result == TC_POST_REFUSED) {
        tc_post_close(&e->post);
    }
    tc__forward_failing(e, &err);
    return pause_ns;
}

tc_status tc__forward_batch(struct tc__endpoint *e, const struct tc_batch *batch)
{
    struct tc_error err = {0};
    struct tc_slice body;
    bool is_packed = false;
    if (batch->body.len > FILE_BYTES_MAX || batch->kind > TC_BATCH_KIND_LAST ||
        KINDS[batch->kind].path == NULL) {
        leave_out(e, batch, "longer than 256 MiB, or of a kind that this program does not know");
        return TC_OK;
    }
    while (make_body(e, batch, &body, &is_packed, &err) != TC_OK) {
        tc__forward_failing(e, &err);
        if (!tc__forward_sleep(e, REFUSED_NS, false)) {
            return TC_E_AGAIN;
        }
    }
    for (bool is_done = false;;) {
        int64_t pause_ns = try_once(e, batch, body, is_packed, &is_done);
        if (is_done) {
            return TC_OK;
        }
        if (!tc__forward_sleep(e, pause_ns, false)) {
            return TC_E_AGAIN;
        }
    }
}
