/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The export thread: what the log holds for the downstream goes there in batches, and is tried
 * again until it is taken or refused for good. Everything comes from the log, so that a restart
 * goes on where it was.
 */
#include "verdict/export.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "observe/log.h"
#include "outbox/outbox_priv.h"
#include "outbox/post.h"

#include <stdlib.h>
#include <string.h>

#define BATCH_RECORDS 512
/* Of one request. OTLP's JSON is about three times a verdict's: the largest one fits alone. */
#define REQUEST_FIRST ((size_t)256 << 10)
#define REQUEST_MAX ((size_t)8 << 20)
#define TEXT_MAX 160 /* of a reply, in our log */

struct exporter {
    struct tc_outbox *o;
    struct tc_post post;
    struct tc_json_parser *parser;
    struct tc__outbox_scan scan;
    char *request;
    size_t request_cap;
    char instance_id[TC__INSTANCE_MAX];
};

/* What one request holds. */
struct batch {
    size_t len;
    uint64_t count; /* records in it */
    uint64_t unfit; /* that could not be put into it, and never will */
    uint64_t bytes; /* of both, in the log */
    uint64_t next;
    uint64_t at;
    uint64_t turn; /* of the log */
    uint64_t end;
    bool empty;
};

/* ---- configuration ------------------------------------------------------------------------- */

/* Makes the client as the configuration has it now; without one nothing is sent. */
static void connect_again(struct exporter *x)
{
    char endpoint[TC__ENDPOINT_MAX];
    char headers[TC__HEADERS_MAX];
    struct tc_outbox *o = x->o;
    (void)pthread_mutex_lock(&o->lock);
    o->reconnect = false;
    memcpy(endpoint, o->endpoint, sizeof endpoint);
    memcpy(x->instance_id, o->instance_id, sizeof x->instance_id);
    memcpy(headers, o->headers, sizeof headers);
    struct tc_post_config config = {.url = endpoint,
                                    .headers = headers,
                                    .timeout_ns = o->timeout_ns,
                                    .backoff_min_ns = o->backoff_min_ns,
                                    .backoff_max_ns = o->backoff_max_ns,
                                    .stop_fd = o->stop_fd};
    (void)pthread_mutex_unlock(&o->lock);
    tc_post_close(&x->post);
    if (endpoint[0] == '\0') {
        return;
    }
    struct tc_error err = {0};
    if (tc_post_open(&x->post, &config, &err) != TC_OK) {
        tc_log_fields(TC_LOG_ERROR, "verdicts cannot be sent: their address is wrong",
                      TC_LOG_CSTR("error", err.message));
    }
}

/* ---- a batch ------------------------------------------------------------------------------- */

static bool grow(struct exporter *x)
{
    size_t cap = x->request_cap == 0 ? REQUEST_FIRST : x->request_cap * 2;
    return tc_grow_items(x->request, x->request_cap, cap, REQUEST_MAX) == TC_OK;
}

static void begin_request(struct exporter *x, struct tc_buf *b, struct tc_json_out *j)
{
    struct tc_export_origin origin = {.instance_id = tc_slice_cstr(x->instance_id)};
    *b = tc_buf_make(x->request, x->request_cap);
    *j = tc_json_out_make(b);
    tc_export_begin(j, &origin);
}

/* Puts one verdict into the request. False: it is full, and the verdict comes next time. */
static bool add(struct exporter *x, struct tc_json_out *j, struct batch *batch,
                const struct tc__record *r)
{
    for (;;) {
        struct tc_error err = {0};
        tc_status status = tc_export_add(j, x->parser, r->json, r->taken_ns, &err);
        if (status == TC_OK) {
            batch->count++;
            return true;
        }
        if (status == TC_E_LIMIT && batch->count > 0) {
            return false;
        }
        if (status != TC_E_LIMIT || !grow(x)) {
            batch->unfit++;
            tc_log_fields(TC_LOG_ERROR, "a verdict cannot be sent as OTLP and is left out",
                          TC_LOG_CSTR("error", err.message));
            return true;
        }
        begin_request(x, j->b, j);
    }
}

/* Reads the next verdicts from the log into one request. */
static struct batch make_batch(struct exporter *x)
{
    struct tc_outbox *o = x->o;
    (void)pthread_mutex_lock(&o->swap);
    (void)tc__outbox_drop(o, TC__OUTPUT_OTLP, &x->scan);
    (void)pthread_mutex_lock(&o->lock);
    struct tc__out out = o->out[TC__OUTPUT_OTLP];
    struct batch batch = {
        .next = out.next, .at = out.at, .turn = o->log_turn, .end = o->log_end, .empty = true};
    (void)pthread_mutex_unlock(&o->lock);
    struct tc_buf b;
    struct tc_json_out j;
    begin_request(x, &b, &j);
    struct tc__record r;
    tc_status status = TC_OK;
    tc__outbox_scan_begin(&x->scan, o->log.fd, out.at, batch.end);
    while (batch.count < BATCH_RECORDS && tc__outbox_scan_next(&x->scan, &r, &status)) {
        if (r.kind != TC__RECORD_VERDICT || r.number < out.next) {
            continue;
        }
        if (!add(x, &j, &batch, &r)) {
            break;
        }
        batch.empty = false;
        batch.bytes += r.len;
        batch.next = r.number + 1;
        batch.at = r.at + r.len;
    }
    (void)pthread_mutex_unlock(&o->swap);
    tc_export_end(&j);
    batch.len = b.len;
    return batch;
}

/* The batch is done with: `rejected` of it were refused for good. */
static void finish(struct exporter *x, const struct batch *batch, uint64_t rejected)
{
    struct tc_outbox *o = x->o;
    (void)pthread_mutex_lock(&o->lock);
    /* After a compaction the offset means nothing; the one of that is before the batch. */
    uint64_t at = o->log_turn == batch->turn ? batch->at : o->out[TC__OUTPUT_OTLP].at;
    tc__outbox_advance(o, TC__OUTPUT_OTLP, batch->next, at, batch->count + batch->unfit,
                       batch->bytes);
    o->stats.rejected += rejected + batch->unfit;
    o->stats.exported += batch->count - rejected;
    (void)pthread_cond_signal(&o->work);
    (void)pthread_mutex_unlock(&o->lock);
}

/* ---- sending ------------------------------------------------------------------------------- */

static void say_later(struct exporter *x, const char *why)
{
    struct tc_outbox *o = x->o;
    (void)pthread_mutex_lock(&o->lock);
    o->stats.retries++;
    (void)pthread_mutex_unlock(&o->lock);
    tc_log_fields(TC_LOG_WARN, "verdicts wait: their receiver did not take them",
                  TC_LOG_CSTR("error", why),
                  TC_LOG_NUMBER("again_in_ms", x->post.pause_ns / (TC_SECOND / 1000)));
}

/* How many a partial success refused, of at most `count`. */
static uint64_t count_rejected(struct exporter *x, struct tc_slice body, uint64_t count)
{
    struct tc_json root;
    struct tc_json partial;
    if (body.len == 0 || tc_json_parse(x->parser, body, &root, NULL) != TC_OK ||
        !tc_json_get(root, TC_LIT("partialSuccess"), &partial)) {
        return 0;
    }
    int64_t rejected = tc_json_get_int(partial, TC_LIT("rejectedLogRecords"), 0);
    struct tc_slice why = tc_json_get_string(partial, TC_LIT("errorMessage"));
    if (rejected <= 0) {
        return 0;
    }
    rejected = (uint64_t)rejected > count ? (int64_t)count : rejected;
    tc_log_fields(TC_LOG_WARN, "verdicts were rejected by their receiver",
                  TC_LOG_NUMBER("count", rejected),
                  TC_LOG_TEXT("reason", tc_slice_head(why, TEXT_MAX)));
    return (uint64_t)rejected;
}

static void send_batch(struct exporter *x)
{
    struct batch batch = make_batch(x);
    if (batch.empty) {
        tc__outbox_give_up(x->o, TC__OUTPUT_OTLP, batch.end);
        return;
    }
    if (batch.count == 0) {
        finish(x, &batch, 0);
        return;
    }
    struct tc_http_reply reply;
    struct tc_error err = {0};
    struct tc_post_request request = {.body = tc_slice_make(x->request, batch.len)};
    switch (tc_post_send(&x->post, &request, &reply, &err)) {
    case TC_POST_TAKEN:
        finish(x, &batch, count_rejected(x, reply.body, batch.count));
        break;
    case TC_POST_LATER:
        say_later(x, err.message);
        break;
    case TC_POST_REFUSED:
        tc_log_fields(
            TC_LOG_ERROR, "verdicts were refused by their receiver and are not sent again",
            TC_LOG_NUMBER("status", reply.status), TC_LOG_NUMBER("count", (int64_t)batch.count),
            TC_LOG_TEXT("reply", tc_slice_head(reply.body, TEXT_MAX)));
        finish(x, &batch, batch.count);
        break;
    }
}

/* ---- the thread ---------------------------------------------------------------------------- */

/* Whether all is said and done. Holds the lock. */
static bool is_over(const struct exporter *x)
{
    const struct tc_outbox *o = x->o;
    const struct tc__out *out = &o->out[TC__OUTPUT_OTLP];
    bool idle = x->post.client == NULL || x->post.retry_ns != 0 || !out->on ||
                (out->pending == 0 && o->first == NULL);
    return o->aborting || (o->stopping && !o->reconnect && idle);
}

static tc_status prepare(struct exporter *x)
{
    x->parser = tc_json_parser_create();
    return x->parser != NULL && grow(x) ? tc__outbox_scan_init(&x->scan) : TC_E_NOMEM;
}

static void run(struct exporter *x)
{
    struct tc_outbox *o = x->o;
    (void)pthread_mutex_lock(&o->lock);
    while (!is_over(x)) {
        if (o->reconnect) {
            (void)pthread_mutex_unlock(&o->lock);
            connect_again(x);
            (void)pthread_mutex_lock(&o->lock);
            continue;
        }
        const struct tc__out *out = &o->out[TC__OUTPUT_OTLP];
        bool has_work = x->post.client != NULL && out->on && out->pending > 0;
        if (!has_work) {
            tc__outbox_wait(o, &o->export, 0);
            continue;
        }
        if (x->post.retry_ns > tc_mono_ns()) {
            tc__outbox_wait(o, &o->export, x->post.retry_ns);
            bool over = o->queue_bytes_max > 0 && out->pending_bytes > o->queue_bytes_max;
            if (over) {
                (void)pthread_mutex_unlock(&o->lock);
                (void)pthread_mutex_lock(&o->swap);
                (void)tc__outbox_drop(o, TC__OUTPUT_OTLP, &x->scan);
                (void)pthread_mutex_unlock(&o->swap);
                (void)pthread_mutex_lock(&o->lock);
            }
            continue;
        }
        (void)pthread_mutex_unlock(&o->lock);
        send_batch(x);
        (void)pthread_mutex_lock(&o->lock);
    }
    (void)pthread_mutex_unlock(&o->lock);
}

void *tc__outbox_export_main(void *outbox)
{
    struct tc_outbox *o = outbox;
    struct exporter x = {.o = o};
    if (prepare(&x) == TC_OK) {
        run(&x);
    } else {
        tc_log_fields(TC_LOG_ERROR, "verdicts are not sent by this process",
                      TC_LOG_CSTR("error", "out of memory"));
    }
    (void)pthread_mutex_lock(&o->lock);
    o->export_over = true;
    (void)pthread_cond_broadcast(&o->work);
    (void)pthread_mutex_unlock(&o->lock);
    tc_post_close(&x.post);
    tc_json_parser_destroy(x.parser);
    tc__outbox_scan_fini(&x.scan);
    free(x.request);
    return NULL;
}
