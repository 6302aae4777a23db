/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ingest.h"

#include "base/clock.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/answer.h"
#include "server/front.h"
#include "server/otlp_answer.h"
#include "server/sender.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES_MAX 1024
/* Jobs that are kept to be used again. */
#define JOBS_KEPT_MAX 1024

/*
 * One request from its check until its bytes are stored. The tape of its body is the reader's from
 * the check to the end of `store`. A job that waits longer keeps a copy, where the pool has memory
 * to spare: then tape_memory holds it, and the job is in the list `with_tape`.
 */
struct ingest_job {
    struct tc_commit_job commit; /* first: the committer gives it back */
    struct tc_cited_pending cited;
    struct ingest_job *next; /* of the free ones */
    struct tc_ingest *in;
    struct tc_request *request; /* NULL once answered */
    bool is_left;               /* detection reads it from the store */
    bool is_long;               /* the thread checked it: there is no tape */
    struct tc_body_check check;
    struct tc_buffer *body;
    enum tc_otlp_signal signal;
    enum tc_otlp_form form;
    struct tc_otlp_tape tape;
    struct tc_buffer *tape_memory;
    struct ingest_job *next_tape;
    struct ingest_job **at_tape; /* what points to this job in that list */
    char sender[TC_SENDER_MAX];
};

struct tc_ingest {
    struct tc_ingest_parts parts;
    struct tc_service service;
    struct ingest_job *free_jobs;
    struct ingest_job *with_tape; /* the one that has to wait longest first */
    size_t free_count;
    size_t in_flight;
};

/* Which request it is. */
struct route {
    struct tc_slice path;
    enum tc_otlp_signal signal;
};

#define GRPC_PATH(name) "/opentelemetry.proto.collector." name "/Export"

static const struct route HTTP_ROUTES[] = {
    {{"/v1/logs", sizeof "/v1/logs" - 1}, TC_OTLP_LOGS},
    {{"/v1/metrics", sizeof "/v1/metrics" - 1}, TC_OTLP_METRICS},
    {{"/v1/traces", sizeof "/v1/traces" - 1}, TC_OTLP_TRACES},
};

#define GRPC_ROUTE(name, signal)                                \
    {                                                           \
        {GRPC_PATH(name), sizeof GRPC_PATH(name) - 1}, (signal) \
    }

static const struct route GRPC_ROUTES[] = {
    GRPC_ROUTE("logs.v1.LogsService", TC_OTLP_LOGS),
    GRPC_ROUTE("metrics.v1.MetricsService", TC_OTLP_METRICS),
    GRPC_ROUTE("trace.v1.TraceService", TC_OTLP_TRACES),
};

#define ROUTES 3

static bool find_route(const struct tc_request *r, enum tc_otlp_signal *out)
{
    const struct route *routes = r->protocol == TC_PROTOCOL_HTTP ? HTTP_ROUTES : GRPC_ROUTES;
    for (size_t i = 0; i < ROUTES; i++) {
        if (tc_slice_eq(r->path, routes[i].path)) {
            *out = routes[i].signal;
            return true;
        }
    }
    return false;
}

static bool find_form(const struct tc_request *r, enum tc_otlp_form *out)
{
    struct tc_slice parameters;
    struct tc_slice type = tc_slice_trim(tc_slice_cut(r->content_type, ';', &parameters));
    if (r->protocol == TC_PROTOCOL_GRPC ||
        tc_slice_eq_nocase(type, TC_LIT("application/x-protobuf"))) {
        *out = TC_OTLP_PROTOBUF;
        return true;
    }
    *out = TC_OTLP_JSON;
    return tc_slice_eq_nocase(type, TC_LIT("application/json"));
}

/* ---- answers ---- */

static void respond(struct tc_request *r, const struct tc_response *response)
{
    tc_answer_count(r, response->answer);
    tc_request_respond(r, response);
}

/* A failure in the words of OTLP. */
static void refuse(struct tc_request *r, enum tc_answer answer, unsigned retry_after_s,
                   const char *message)
{
    char text[ANSWER_BYTES_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    enum tc_otlp_form form = TC_OTLP_PROTOBUF;
    (void)find_form(r, &form);
    tc_otlp_answer_failure(&b, form, answer, tc_slice_cstr(message));
    struct tc_response response = {
        .answer = answer,
        .content_type = tc_otlp_content_type(form),
        .body = r->protocol == TC_PROTOCOL_HTTP ? tc_buf_slice(&b) : TC_EMPTY,
        .message = tc_slice_cstr(message),
        .retry_after_s = retry_after_s,
    };
    respond(r, &response);
}

static void accept(struct ingest_job *j)
{
    char text[ANSWER_BYTES_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_request *r = j->request;
    const struct tc_otlp_counts *counts = &j->tape.counts;
    tc_otlp_answer_ok(&b, j->signal, j->form, counts->rejected,
                      counts->why == NULL ? TC_EMPTY : tc_slice_cstr(counts->why));
    struct tc_response response = {
        .answer = TC_ANSWER_OK,
        .content_type = tc_otlp_content_type(j->form),
        .body = tc_buf_slice(&b),
    };
    j->request = NULL;
    respond(r, &response);
}

/* ---- jobs ---- */

static struct ingest_job *take_job(struct tc_ingest *in)
{
    struct ingest_job *j = in->free_jobs;
    if (j != NULL) {
        in->free_jobs = j->next;
        in->free_count--;
        memset(j, 0, sizeof *j);
    } else {
        j = calloc(1, sizeof *j);
    }
    if (j != NULL) {
        j->in = in;
        in->in_flight++;
    }
    return j;
}

/* Takes the tape for longer than the reader has it. Traces have none: no pattern reads them. */
static void keep_tape(struct ingest_job *j)
{
    struct tc_ingest *in = j->in;
    if (j->signal == TC_OTLP_TRACES || j->is_long) {
        return;
    }
    j->tape_memory = tc_pool_take_spare(in->parts.pool, tc_otlp_tape_bytes(&j->tape));
    if (j->tape_memory == NULL) {
        return;
    }
    tc_otlp_tape_move(&j->tape, j->tape_memory->data);
    j->next_tape = in->with_tape;
    j->at_tape = &in->with_tape;
    if (j->next_tape != NULL) {
        j->next_tape->at_tape = &j->next_tape;
    }
    in->with_tape = j;
}

/* The job is without it afterwards. NULL: it has none. */
static struct tc_buffer *release_tape(struct ingest_job *j)
{
    struct tc_buffer *memory = j->tape_memory;
    if (memory == NULL) {
        return NULL;
    }
    *j->at_tape = j->next_tape;
    if (j->next_tape != NULL) {
        j->next_tape->at_tape = j->at_tape;
    }
    j->tape_memory = NULL;
    return memory;
}

/* A body needs the memory: one that waits is parsed again. */
static bool give_spare(void *context)
{
    struct tc_ingest *in = context;
    if (in->parts.handoff != NULL && tc_handoff_give_back(in->parts.handoff)) {
        return true;
    }
    if (in->with_tape == NULL) {
        return false;
    }
    tc_buffer_give(release_tape(in->with_tape));
    return true;
}

static bool is_sliced(const struct ingest_job *j)
{
    return j->signal == TC_OTLP_METRICS && j->in->parts.handoff != NULL;
}

/* What is durable goes on to the slices, if they want it; of traces it is only told. */
static void hand_over(struct ingest_job *j)
{
    if (j->signal == TC_OTLP_TRACES) {
        tc_handoff_note_traces(j->in->parts.handoff, j->commit.batch.number);
        return;
    }
    struct tc_handed item = {.number = j->commit.batch.number,
                             .arrival_ns = j->commit.batch.arrival_ns,
                             .tape = j->tape,
                             .body = j->body,
                             .tape_memory = release_tape(j)};
    if (item.tape_memory == NULL) {
        tc_handoff_skip(j->in->parts.handoff, item.number);
        return;
    }
    j->body = NULL;
    tc_handoff_put(j->in->parts.handoff, &item);
}

static void give_job(struct ingest_job *j)
{
    struct tc_ingest *in = j->in;
    tc_buffer_give(release_tape(j));
    tc_buffer_give(j->body);
    in->in_flight--;
    if (in->free_count >= JOBS_KEPT_MAX) {
        free(j);
        return;
    }
    j->next = in->free_jobs;
    in->free_jobs = j;
    in->free_count++;
}

static bool is_stored_first(const struct tc_ingest *in)
{
    return strcmp(in->parts.config->ingest_ack, "stored") == 0;
}

/* Detection reads it, at once or when it gets there. Tape: NULL when the job could not keep its
 * own. False: when it gets there, once it is durable. */
static bool detect(struct ingest_job *j, const struct tc_otlp_tape *tape)
{
    const struct tc_ingest_parts *p = &j->in->parts;
    const struct tc_batch *batch = &j->commit.batch;
    bool is_read = j->signal != TC_OTLP_TRACES;
    bool is_level = tc_catch_up_is_level(p->catch_up, is_read ? batch->body.len : 0,
                                         is_read ? j->tape.counts.records : 0) &&
                    !(is_read && j->is_long);
    tc_count(TC_COUNT_BODIES_PARSED_AGAIN_DETECTION, is_read && (tape == NULL || !is_level));
    if (!is_level) {
        tc_catch_up_later(p->catch_up);
        return false;
    }
    tc_detection_take(p->detection, batch, tape);
    tc_catch_up_took(p->catch_up, batch);
    p->fed(p->context);
    return true;
}

/* The batch is durable, or could not be made so. */
static void settled(struct tc_commit_job *commit, tc_status status)
{
    struct ingest_job *j = (struct ingest_job *)(void *)commit;
    bool waited = j->request != NULL;
    if (!waited) {
        tc_cited_forget(tc_detection_cited(j->in->parts.detection), &j->cited);
        tc_count(TC_COUNT_EVIDENCE_LOST, status != TC_OK);
    } else if (status == TC_OK) {
        j->is_left = !detect(j, j->tape_memory == NULL ? NULL : &j->tape);
        accept(j);
    } else {
        bool full = tc_committer_is_full(j->in->parts.committer);
        refuse(j->request, TC_ANSWER_BUSY, tc_answer_not_stored(full),
               full ? "the disk is full" : "the evidence could not be stored");
    }
    if (j->is_left) {
        tc_catch_up_settled(j->in->parts.catch_up, &j->commit.batch, status == TC_OK, NULL);
    }
    if (status == TC_OK && j->signal != TC_OTLP_LOGS && j->in->parts.handoff != NULL) {
        hand_over(j);
    }
    give_job(j);
}

static struct tc_slice body_of(const struct ingest_job *j)
{
    return j->body == NULL ? TC_EMPTY : tc_slice_make((const char *)j->body->data, j->body->len);
}

static enum tc_batch_kind kind_of(enum tc_otlp_signal signal, enum tc_otlp_form form)
{
    static const enum tc_batch_kind kinds[3][2] = {
        [TC_OTLP_LOGS] = {TC_BATCH_LOGS_PROTOBUF, TC_BATCH_LOGS_JSON},
        [TC_OTLP_METRICS] = {TC_BATCH_METRICS_PROTOBUF, TC_BATCH_METRICS_JSON},
        [TC_OTLP_TRACES] = {TC_BATCH_TRACES_PROTOBUF, TC_BATCH_TRACES_JSON},
    };
    return kinds[signal][form];
}

static void count_records(const struct ingest_job *j, size_t received, size_t decompressed)
{
    static const enum tc_counter taken[] = {TC_COUNT_RECORDS_RECEIVED_LOGS,
                                            TC_COUNT_RECORDS_RECEIVED_METRICS,
                                            TC_COUNT_RECORDS_RECEIVED_TRACES};
    static const enum tc_counter rejected[] = {TC_COUNT_RECORDS_REJECTED_LOGS,
                                               TC_COUNT_RECORDS_REJECTED_METRICS,
                                               TC_COUNT_RECORDS_REJECTED_TRACES};
    bool http = j->request->protocol == TC_PROTOCOL_HTTP;
    tc_count(taken[j->signal], j->tape.counts.records);
    tc_count(rejected[j->signal], j->tape.counts.rejected);
    tc_count(http ? TC_COUNT_BYTES_HTTP : TC_COUNT_BYTES_GRPC, received);
    tc_count(http ? TC_COUNT_BYTES_DECOMPRESSED_HTTP : TC_COUNT_BYTES_DECOMPRESSED_GRPC,
             decompressed);
}

/* Sends a checked job on its way. */
static void store(struct ingest_job *j)
{
    struct tc_ingest *in = j->in;
    struct tc_buf sender = tc_buf_make(j->sender, sizeof j->sender);
    tc_sender_put(&sender, tc_auth_token_name(in->parts.auth, j->request), &j->request->peer);
    j->commit.settled = settled;
    j->commit.batch = (struct tc_batch){
        .arrival_ns = j->request->arrival_ns,
        .kind = kind_of(j->signal, j->form),
        .name = tc_buf_slice(&sender),
        .body = body_of(j),
    };
    /* A store that falls behind makes senders wait for it before it makes them come again. */
    bool behind =
        tc_committer_waiting_bytes(in->parts.committer) > in->parts.config->ingest_queue_bytes / 2;
    j->commit.is_awaited = is_stored_first(in) || behind;
    if (j->commit.is_awaited) {
        keep_tape(j);
    }
    tc_committer_put(in->parts.committer, &j->commit);
    if (j->commit.is_awaited) {
        return;
    }
    j->cited.number = j->commit.batch.number;
    j->cited.body = j->commit.batch.body;
    tc_cited_remember(tc_detection_cited(in->parts.detection), &j->cited);
    j->is_left = !detect(j, &j->tape);
    if (is_sliced(j) && tc_handoff_is_open(in->parts.handoff)) {
        keep_tape(j);
    }
    accept(j); /* the next request may be checked within */
}

/* Takes compression off: j->body is the content afterwards. */
static tc_status uncover(struct ingest_job *j, enum tc_encoding encoding, struct tc_error *err)
{
    const struct tc_ingest_parts *p = &j->in->parts;
    if (encoding == TC_ENCODING_NONE || j->body == NULL) {
        return TC_OK;
    }
    size_t most = (size_t)p->config->limits_body_decompressed;
    most = most < TC_LEVEL_BODY_BYTES ? most : TC_LEVEL_BODY_BYTES;
    struct tc_buffer *content = NULL;
    TC_TRY(tc_inflate(p->inflater, encoding, body_of(j), p->pool, most, &content, err));
    tc_buffer_give(j->body);
    j->body = content;
    return TC_OK;
}

/* Refuses a body that compression or the codec did not like. */
static void refuse_body(struct ingest_job *j, tc_status status, bool compressed,
                        const struct tc_error *err)
{
    if (status == TC_E_NOMEM) {
        tc_count(TC_COUNT_REJECTED_BUSY_MEMORY, 1);
        refuse(j->request, TC_ANSWER_BUSY, TC_RETRY_SOON_S, "too many requests are in memory");
    } else if (status == TC_E_IO) {
        refuse(j->request, TC_ANSWER_BUSY, TC_RETRY_SOON_S, "the daemon ends");
    } else if (status == TC_E_LIMIT && compressed) {
        tc_count(TC_COUNT_REJECTED_TOO_LARGE_DECOMPRESSED, 1);
        refuse(j->request, TC_ANSWER_TOO_LARGE, 0, err->message);
    } else {
        tc_count(compressed ? TC_COUNT_REJECTED_DECOMPRESS : TC_COUNT_REJECTED_MALFORMED, 1);
        refuse(j->request, TC_ANSWER_BAD, 0, err->message);
    }
    give_job(j);
}

/* What the thread inflated becomes the body. */
static tc_status take_content(struct ingest_job *j)
{
    const struct tc_body_check *c = &j->check;
    if (!c->is_inflated) {
        return TC_OK;
    }
    struct tc_buffer *content = tc_pool_take(j->in->parts.pool, c->content.len);
    if (content == NULL) {
        return TC_E_NOMEM;
    }
    memcpy(content->data, c->content.ptr, c->content.len);
    content->len = c->content.len;
    tc_buffer_give(j->body);
    j->body = content;
    return TC_OK;
}

/* The thread has checked a long body. */
static void checked(struct tc_body_check *check, tc_status status)
{
    struct ingest_job *j =
        (struct ingest_job *)(void *)((char *)check - offsetof(struct ingest_job, check));
    size_t received = check->bytes.len;
    status = status == TC_OK ? take_content(j) : status;
    if (status != TC_OK) {
        refuse_body(j, status, check->was_inflating, &check->err);
        return;
    }
    j->tape.counts = check->counts;
    count_records(j, received, check->content.len);
    store(j);
}

/* A long body is checked by a thread. It has no tape: who reads it parses it again. */
static void work_later(struct ingest_job *j, enum tc_encoding encoding)
{
    j->is_long = true;
    j->check = (struct tc_body_check){.bytes = body_of(j),
                                      .encoding = encoding,
                                      .signal = j->signal,
                                      .form = j->form,
                                      .done = checked};
    tc_body_checker_put(j->in->parts.checker, &j->check);
}

static void work(struct ingest_job *j, enum tc_encoding encoding)
{
    const struct tc_ingest_parts *p = &j->in->parts;
    struct tc_error err = {0};
    size_t received = body_of(j).len;
    if (received > TC_LEVEL_BODY_BYTES) {
        work_later(j, encoding);
        return;
    }
    tc_status status = uncover(j, encoding, &err);
    if (status == TC_E_LIMIT && p->config->limits_body_decompressed > TC_LEVEL_BODY_BYTES) {
        work_later(j, encoding);
        return;
    }
    if (status != TC_OK) {
        refuse_body(j, status, true, &err);
        return;
    }
    struct tc_slice body = body_of(j);
    status = j->signal == TC_OTLP_TRACES
                 ? tc_otlp_verify(p->reader, j->signal, j->form, body, &j->tape.counts, &err)
                 : tc_otlp_check(p->reader, j->signal, j->form, body, &j->tape, &err);
    if (status == TC_E_LIMIT) { /* of this reader, which is the loop's */
        work_later(j, TC_ENCODING_NONE);
        return;
    }
    if (status != TC_OK) {
        refuse_body(j, status, false, &err);
        return;
    }
    count_records(j, received, body.len);
    store(j);
}

/* What must be right before a body is read, and again when it is whole. */
static enum tc_answer look(struct tc_ingest *in, const struct tc_request *r,
                           struct tc_response *out)
{
    enum tc_otlp_signal signal;
    enum tc_otlp_form form;
    *out = (struct tc_response){0};
    if (!find_route(r, &signal)) {
        tc_count(TC_COUNT_REJECTED_NOT_FOUND, 1);
        out->message = TC_LIT("there are /v1/logs, /v1/metrics and /v1/traces here");
        return TC_ANSWER_NOT_FOUND;
    }
    if (r->method != TC_METHOD_POST) {
        tc_count(TC_COUNT_REJECTED_WRONG_METHOD, 1);
        out->allow = TC_LIT("POST");
        out->message = TC_LIT("telemetry is sent with POST");
        return TC_ANSWER_WRONG_METHOD;
    }
    enum tc_answer allowed = r->protocol == TC_PROTOCOL_HTTP
                                 ? tc_front_check_page(in->parts.config, r, out)
                                 : TC_ANSWER_OK;
    if (allowed != TC_ANSWER_OK) {
        return allowed;
    }
    allowed = tc_auth_check(in->parts.auth, r, TC_TOKEN_INGEST, tc_mono_ns(), out);
    if (allowed != TC_ANSWER_OK) {
        return allowed;
    }
    if (!find_form(r, &form)) {
        tc_count(TC_COUNT_REJECTED_UNSUPPORTED_TYPE, 1);
        out->message = TC_LIT("Content-Type is application/x-protobuf or application/json");
        return TC_ANSWER_UNSUPPORTED;
    }
    if (tc_encoding_parse(r->content_encoding) == TC_ENCODING_UNKNOWN) {
        tc_count(TC_COUNT_REJECTED_UNSUPPORTED_ENCODING, 1);
        out->message = TC_LIT("Content-Encoding is gzip, zstd or identity");
        return TC_ANSWER_UNSUPPORTED;
    }
    if (tc_committer_is_full(in->parts.committer)) {
        out->retry_after_s = tc_answer_not_stored(true);
        out->message = TC_LIT("the disk is full");
        return TC_ANSWER_BUSY;
    }
    if (tc_committer_waiting_bytes(in->parts.committer) > in->parts.config->ingest_queue_bytes ||
        tc_committer_waiting(in->parts.committer) >
            (size_t)in->parts.config->ingest_queue_batches) {
        tc_count(TC_COUNT_REJECTED_BUSY_QUEUE, 1);
        out->retry_after_s = TC_RETRY_SOON_S;
        out->message = TC_LIT("too many requests wait to be stored");
        return TC_ANSWER_BUSY;
    }
    return TC_ANSWER_OK;
}

static enum tc_answer begin(void *context, struct tc_request *head, size_t *io_body_max,
                            struct tc_response *out_refusal)
{
    (void)io_body_max;
    enum tc_answer answer = look(context, head, out_refusal);
    if (answer != TC_ANSWER_OK) {
        out_refusal->answer = answer;
        tc_answer_count(head, answer);
    }
    return answer;
}

static void handle(void *context, struct tc_request *r)
{
    struct tc_ingest *in = context;
    enum tc_otlp_signal signal = TC_OTLP_LOGS;
    enum tc_otlp_form form = TC_OTLP_PROTOBUF;
    struct ingest_job *j = take_job(in);
    if (j == NULL) {
        tc_count(TC_COUNT_REJECTED_BUSY_MEMORY, 1);
        refuse(r, TC_ANSWER_BUSY, TC_RETRY_SOON_S, "no memory");
        return;
    }
    (void)find_route(r, &signal);
    (void)find_form(r, &form);
    j->request = r;
    j->body = r->body;
    r->body = NULL;
    j->signal = signal;
    j->form = form;
    work(j, tc_encoding_parse(r->content_encoding));
}

struct tc_ingest *tc_ingest_create(const struct tc_ingest_parts *parts)
{
    struct tc_ingest *in = calloc(1, sizeof *in);
    if (in != NULL) {
        in->parts = *parts;
        in->service = (struct tc_service){begin, handle, in};
        tc_pool_set_spare(parts->pool, give_spare, in);
    }
    return in;
}

void tc_ingest_destroy(struct tc_ingest *in)
{
    if (in == NULL) {
        return;
    }
    tc_pool_set_spare(in->parts.pool, NULL, NULL);
    for (struct ingest_job *j = in->free_jobs, *next = NULL; j != NULL; j = next) {
        next = j->next;
        free(j);
    }
    free(in);
}

const struct tc_service *tc_ingest_service(struct tc_ingest *in)
{
    return &in->service;
}

size_t tc_ingest_in_flight(const struct tc_ingest *in)
{
    return in->in_flight;
}
