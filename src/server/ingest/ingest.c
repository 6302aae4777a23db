/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/answer.h"
#include "server/ingest/look.h"
#include "server/ingest/otlp_answer.h"
#include "server/ingest/otlp_route.h"
#include "server/ingest/piece.h"
#include "server/ingest/priv.h"
#include "server/ingest/upload.h"
#include "stored/batch_name.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES_MAX 1024

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
    (void)tc_otlp_form_of(r, &form);
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

static void accept(struct tc__ingest_job *j)
{
    char text[ANSWER_BYTES_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_request *r = j->request;
    const struct tc_otlp_counts *counts = &j->tape.counts;
    if (j->is_source) {
        struct tc_response stored = {.answer = TC_ANSWER_OK};
        j->request = NULL;
        respond(r, &stored);
        return;
    }
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

static bool is_sliced(const struct tc__ingest_job *j)
{
    return !j->is_source && j->signal == TC_OTLP_METRICS && j->in->parts.handoff != NULL;
}

/* What is durable goes on to the slices, if they want it; of traces it is only told. */
static void hand_over(struct tc__ingest_job *j)
{
    if (j->is_source) {
        if (tc_batch_is_scrape(j->commit.batch.name)) {
            tc_handoff_skip(j->in->parts.handoff, j->commit.batch.number);
        }
        return;
    }
    if (j->signal == TC_OTLP_TRACES) {
        tc_handoff_note_traces(j->in->parts.handoff, j->commit.batch.number);
        return;
    }
    struct tc_handed item = {.number = j->commit.batch.number,
                             .arrival_ns = j->commit.batch.arrival_ns,
                             .tape = j->tape,
                             .body = j->body,
                             .tape_memory = tc__ingest_tape_release(j)};
    if (item.tape_memory == NULL) {
        tc_handoff_skip(j->in->parts.handoff, item.number);
        return;
    }
    j->body = NULL;
    tc_handoff_put(j->in->parts.handoff, &item);
}

static bool is_stored_first(const struct tc_ingest *in)
{
    return strcmp(in->parts.config->ingest_ack, "stored") == 0;
}

static bool is_read(const struct tc__ingest_job *j)
{
    return j->is_source || j->signal != TC_OTLP_TRACES;
}

/* Whether a tape was made of it, once. */
static bool was_parsed(const struct tc__ingest_job *j)
{
    return !j->is_source && j->signal != TC_OTLP_TRACES;
}

/* Tape: NULL when the job could not keep its own. */
static void detect(struct tc__ingest_job *j, const struct tc_otlp_tape *tape)
{
    const struct tc_ingest_parts *p = &j->in->parts;
    const struct tc_batch *batch = &j->commit.batch;
    tc_count(TC_COUNT_BODIES_PARSED_AGAIN_DETECTION, was_parsed(j) && tape == NULL);
    tc_detection_take(p->detection, batch, tape);
    tc_catch_up_took(p->catch_up, batch);
    p->fed(p->context);
}

/* Nobody needs it in memory any more, but the slices. */
static void finish(struct tc__ingest_job *j)
{
    if (j->is_left) {
        tc_catch_up_settled(j->in->parts.catch_up, &j->commit.batch, j->stored == TC_OK, NULL);
    }
    if (j->stored == TC_OK && (j->is_source || j->signal != TC_OTLP_LOGS) &&
        j->in->parts.handoff != NULL) {
        hand_over(j);
    }
    tc__ingest_job_give(j);
}

/* It has waited for detection. */
static void take_turn(struct tc_waiting *waiting)
{
    struct tc__ingest_job *j =
        (struct tc__ingest_job *)(void *)((char *)waiting -
                                          offsetof(struct tc__ingest_job, waiting));
    j->is_waiting = false;
    detect(j, j->tape_memory == NULL ? NULL : &j->tape);
    if (j->request != NULL) {
        accept(j);
    }
    if (j->is_settled) {
        finish(j);
    }
}

static void wait_for_detection(struct tc__ingest_job *j, bool is_answered)
{
    j->is_waiting = true;
    j->waiting = (struct tc_waiting){.bytes = is_read(j) ? j->commit.batch.body.len : 0,
                                     .records = is_read(j) ? j->tape.counts.records : 0,
                                     .is_answered = is_answered,
                                     .turn = take_turn};
    tc_catch_up_wait(j->in->parts.catch_up, &j->waiting);
}

/* Detection reads it promptly, soon or later, and it is answered: soon, when detection has read it,
 * so that senders do not outrun it. is_fresh: the reader's tape is still that of this job. */
static void pass_on(struct tc__ingest_job *j, bool is_fresh)
{
    const struct tc_ingest_parts *p = &j->in->parts;
    enum tc_catch_up_when when =
        is_read(j) && j->is_long
            ? TC_CATCH_UP_LATER
            : tc_catch_up_when(p->catch_up, is_read(j) ? j->commit.batch.body.len : 0,
                               is_read(j) ? j->tape.counts.records : 0);
    if (is_fresh &&
        (when != TC_CATCH_UP_LATER || (is_sliced(j) && tc_handoff_is_open(j->in->parts.handoff)))) {
        tc__ingest_tape_keep(j);
    }
    switch (when) {
    case TC_CATCH_UP_PROMPTLY:
        wait_for_detection(j, true);
        break;
    case TC_CATCH_UP_SOON:
        wait_for_detection(j, false);
        return;
    case TC_CATCH_UP_LATER:
        tc_count(TC_COUNT_BODIES_PARSED_AGAIN_DETECTION,
                 was_parsed(j) && !tc_catch_up_is_off(p->catch_up));
        tc_catch_up_later(p->catch_up);
        j->is_left = true;
        break;
    }
    accept(j); /* the next request may be checked within */
}

/* The batch is durable, or could not be made so. */
static void settled(struct tc_commit_job *commit, tc_status status)
{
    struct tc__ingest_job *j = (struct tc__ingest_job *)(void *)commit;
    j->is_settled = true;
    j->stored = status;
    tc_forwarded_end(j->in->parts.forwarded, &j->forwarded, status == TC_OK);
    if (!commit->is_awaited) {
        tc_cited_forget(tc_detection_cited(j->in->parts.detection), &j->cited);
        tc_count(TC_COUNT_EVIDENCE_LOST, status != TC_OK);
    } else if (status == TC_OK) {
        pass_on(j, false);
    } else {
        bool full = tc_committer_is_full(j->in->parts.committer);
        refuse(j->request, TC_ANSWER_BUSY, tc_answer_not_stored(full),
               full ? "the disk is full" : "the evidence could not be stored");
    }
    if (!j->is_waiting) {
        finish(j);
    }
}

static struct tc_slice body_of(const struct tc__ingest_job *j)
{
    return j->body == NULL ? TC_EMPTY
                           : tc_slice_from(tc_slice_make((const char *)j->body->data, j->body->len),
                                           j->body_at);
}

static void count_records(const struct tc__ingest_job *j, size_t received, size_t decompressed)
{
    static const enum tc_counter taken[] = {TC_COUNT_RECORDS_RECEIVED_LOGS,
                                            TC_COUNT_RECORDS_RECEIVED_METRICS,
                                            TC_COUNT_RECORDS_RECEIVED_TRACES};
    static const enum tc_counter rejected[] = {TC_COUNT_RECORDS_REJECTED_LOGS,
                                               TC_COUNT_RECORDS_REJECTED_METRICS,
                                               TC_COUNT_RECORDS_REJECTED_TRACES};
    bool http = j->request->protocol == TC_PROTOCOL_HTTP;
    tc_count(taken[j->signal], j->is_source ? 0 : j->tape.counts.records);
    tc_count(rejected[j->signal], j->tape.counts.rejected);
    tc_count(http ? TC_COUNT_BYTES_HTTP : TC_COUNT_BYTES_GRPC, received);
    tc_count(http ? TC_COUNT_BYTES_DECOMPRESSED_HTTP : TC_COUNT_BYTES_DECOMPRESSED_GRPC,
             decompressed);
}

/* Where its name is written; that of a piece of a source has begun. */
static struct tc_buf name_room(struct tc__ingest_job *j)
{
    if (j->long_name == NULL) {
        return tc_buf_make(j->name, sizeof j->name);
    }
    struct tc_buf b = tc_buf_make((char *)j->long_name->data, j->long_name->cap);
    b.len = j->long_name->len;
    return b;
}

/* A piece of a source says its name before its bytes. */
static tc_status take_piece(struct tc__ingest_job *j, struct tc_error *err)
{
    struct tc_piece piece;
    TC_TRY(tc_piece_read(body_of(j), &piece, err));
    j->long_name = tc_pool_take(j->in->parts.pool, piece.name.len + sizeof j->name);
    if (j->long_name == NULL) {
        return TC_E_NOMEM;
    }
    memcpy(j->long_name->data, piece.name.ptr, piece.name.len);
    j->long_name->len = piece.name.len;
    j->body_at = piece.name.len + TC_PIECE_GAP;
    j->tape.counts.records = piece.lines;
    return TC_OK;
}

/* Sends a checked job on its way. */
static void store(struct tc__ingest_job *j)
{
    struct tc_ingest *in = j->in;
    struct tc_buf name = name_room(j);
    tc_forwarded_put(&name, &j->forwarded);
    tc_sender_put(&name, tc_auth_token_name(in->parts.auth, j->request), &j->request->peer);
    j->commit.settled = settled;
    j->commit.batch = (struct tc_batch){
        .arrival_ns = j->request->arrival_ns,
        .kind = j->is_source ? TC_BATCH_SOURCE : tc_otlp_batch_kind(j->signal, j->form),
        .name = tc_buf_slice(&name),
        .body = body_of(j),
    };
    /* A store that falls behind makes senders wait for it before it makes them come again. */
    bool behind =
        tc_committer_waiting_bytes(in->parts.committer) > in->parts.config->ingest_queue_bytes / 2;
    j->commit.is_awaited = is_stored_first(in) || behind || j->forwarded.number != 0;
    if (j->commit.is_awaited) {
        tc__ingest_tape_keep(j);
    }
    tc_committer_put(in->parts.committer, &j->commit);
    if (j->commit.is_awaited) {
        return;
    }
    j->cited.number = j->commit.batch.number;
    j->cited.body = j->commit.batch.body;
    tc_cited_remember(tc_detection_cited(in->parts.detection), &j->cited);
    pass_on(j, true);
}

/* Takes compression off: j->body is the content afterwards. */
static tc_status uncover(struct tc__ingest_job *j, enum tc_encoding encoding, struct tc_error *err)
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
static void refuse_body(struct tc__ingest_job *j, tc_status status, bool compressed,
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
    tc__ingest_job_give(j);
}

/* What the thread inflated becomes the body. */
static tc_status take_content(struct tc__ingest_job *j)
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
    struct tc__ingest_job *j =
        (struct tc__ingest_job *)(void *)((char *)check - offsetof(struct tc__ingest_job, check));
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
static void work_later(struct tc__ingest_job *j, enum tc_encoding encoding)
{
    j->is_long = true;
    j->check = (struct tc_body_check){.bytes = body_of(j),
                                      .encoding = encoding,
                                      .signal = j->signal,
                                      .form = j->form,
                                      .done = checked};
    tc_body_checker_put(j->in->parts.checker, &j->check);
}

static void work(struct tc__ingest_job *j, enum tc_encoding encoding);

/* Its turn has come, or the end of its wait. */
static void memory_came(struct tc_pool_claim *claim, struct tc_buffer *b)
{
    struct tc__ingest_job *j =
        (struct tc__ingest_job *)(void *)((char *)claim - offsetof(struct tc__ingest_job, claim));
    struct tc_error err = {0};
    if (b == NULL) {
        refuse_body(j, TC_E_NOMEM, true, &err);
        return;
    }
    tc_buffer_give(b); /* for the inflater, which takes as much at once */
    work(j, j->encoding);
}

/* A compressed body waits until there is room for `bytes` of content. False: it has waited. */
static bool wait_for_memory(struct tc__ingest_job *j, enum tc_encoding encoding, size_t bytes)
{
    const struct tc_ingest_parts *p = &j->in->parts;
    int64_t now_ns = tc_mono_ns();
    if (j->claim.done == NULL) {
        j->claim_until_ns = now_ns + p->config->limits_memory_wait;
    }
    j->claim.done = memory_came;
    j->claim.kind = TC_CLAIM_FINISHING;
    j->encoding = encoding;
    struct tc_buffer *b =
        tc_pool_claim(p->pool, &j->claim, bytes, now_ns, j->claim_until_ns - now_ns);
    tc_buffer_give(b); /* nothing has come back since it was refused: no second attempt */
    return j->claim.pool != NULL;
}

static void work(struct tc__ingest_job *j, enum tc_encoding encoding)
{
    const struct tc_ingest_parts *p = &j->in->parts;
    struct tc_error err = {0};
    size_t received = body_of(j).len;
    if (received > TC_LEVEL_BODY_BYTES && !j->is_source) {
        work_later(j, encoding);
        return;
    }
    tc_status status = uncover(j, encoding, &err);
    if (status == TC_E_LIMIT && !j->is_source &&
        p->config->limits_body_decompressed > TC_LEVEL_BODY_BYTES) {
        work_later(j, encoding);
        return;
    }
    if (status == TC_E_NOMEM && wait_for_memory(j, encoding, err.offset)) {
        return;
    }
    if (status != TC_OK) {
        refuse_body(j, status, true, &err);
        return;
    }
    struct tc_slice body = body_of(j);
    status = j->is_source ? take_piece(j, &err)
             : j->signal == TC_OTLP_TRACES
                 ? tc_otlp_verify(p->reader, j->signal, j->form, body, &j->tape.counts, &err)
                 : tc_otlp_check(p->reader, j->signal, j->form, body, &j->tape, &err);
    if (status == TC_E_LIMIT && !j->is_source) { /* of this reader, which is the loop's */
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

/* A store that has fallen behind by that much takes no more bodies: senders wait, as for memory. */
static bool is_store_open(void *context)
{
    const struct tc_ingest *in = context;
    return tc_committer_waiting_bytes(in->parts.committer) <= in->parts.config->ingest_queue_bytes;
}

static enum tc_answer begin(void *context, struct tc_request *head, size_t *io_body_max,
                            struct tc_response *out_refusal)
{
    const struct tc_ingest *in = context;
    enum tc_answer answer = tc_ingest_look(&in->parts, head, out_refusal);
    if (answer == TC_ANSWER_OK && tc_piece_route(head) == TC_PIECE_FILE) {
        answer = tc_upload_begin(in->parts.upload, head, io_body_max, out_refusal);
    }
    if (answer != TC_ANSWER_OK) {
        out_refusal->answer = answer;
        tc_answer_count(head, answer);
    }
    return answer;
}

/* Of a batch that another daemon forwards: false when it is not to be stored, and was answered. */
static bool claim_batch(struct tc__ingest_job *j, struct tc_request *r)
{
    struct tc_error err = {0};
    uint64_t last = 0;
    if (tc_forwarded_read(r->tracecore_batch, &j->forwarded, &err) != TC_OK) {
        tc_count(TC_COUNT_REJECTED_MALFORMED, 1);
        refuse(r, TC_ANSWER_BAD, 0, err.message);
        return false;
    }
    enum tc_forwarded_claim claim =
        tc_forwarded_claim(j->in->parts.forwarded, &j->forwarded, &last);
    if (claim != TC_FORWARDED_NEW) {
        tc_piece_answer_known(r, claim, last);
    }
    return claim == TC_FORWARDED_NEW;
}

static void handle(void *context, struct tc_request *r)
{
    struct tc_ingest *in = context;
    enum tc_piece_route route = tc_piece_route(r);
    if (route == TC_PIECE_FILE) {
        tc_upload_handle(in->parts.upload, r);
        return;
    }
    enum tc_otlp_signal signal = TC_OTLP_LOGS;
    enum tc_otlp_form form = TC_OTLP_PROTOBUF;
    struct tc__ingest_job *j = tc__ingest_job_take(in);
    if (j == NULL) {
        tc_count(TC_COUNT_REJECTED_BUSY_MEMORY, 1);
        refuse(r, TC_ANSWER_BUSY, TC_RETRY_SOON_S, "no memory");
        return;
    }
    if (!claim_batch(j, r)) {
        tc__ingest_job_give(j);
        return;
    }
    (void)tc_otlp_route(r, &signal);
    (void)tc_otlp_form_of(r, &form);
    j->is_source = route == TC_PIECE_SOURCE;
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
        tc_pool_set_spare(parts->pool, tc__ingest_give_spare, in);
        tc_pool_set_gate(parts->pool, is_store_open, in);
    }
    return in;
}

void tc_ingest_destroy(struct tc_ingest *in)
{
    if (in == NULL) {
        return;
    }
    tc_pool_set_spare(in->parts.pool, NULL, NULL);
    tc_pool_set_gate(in->parts.pool, NULL, NULL);
    for (struct tc__ingest_job *j = in->free_jobs, *next = NULL; j != NULL; j = next) {
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
