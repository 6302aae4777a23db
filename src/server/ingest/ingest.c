/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ingest/ingest.h"

#include "base/clock.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/answer.h"
#include "server/ingest/look.h"
#include "server/ingest/otlp_answer.h"
#include "server/ingest/otlp_route.h"
#include "server/ingest/sender.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES_MAX 1024
/* Jobs that are kept to be used again. */
#define JOBS_KEPT_MAX 1024

/*
 * One request from its check until its bytes are stored and detection has read them or will read
 * them from the store. The tape of its body is the reader's from the check to the end of `store`. A
 * job that waits longer keeps a copy, where the pool has memory to spare: then tape_memory holds
 * it, and the job is in the list `with_tape`.
 */
struct ingest_job {
    struct tc_commit_job commit; /* first: the committer gives it back */
    struct tc_cited_pending cited;
    struct ingest_job *next; /* of the free ones */
    struct tc_ingest *in;
    struct tc_request *request; /* NULL once answered */
    bool is_settled;            /* durable, or could not be made so: `stored` */
    bool is_waiting;            /* for detection */
    bool is_left;               /* detection reads it from the store */
    tc_status stored;
    struct tc_waiting waiting;
    struct tc_pool_claim claim; /* memory for what a compressed body holds */
    int64_t claim_until_ns;
    enum tc_encoding encoding;
    bool is_long; /* the thread checked it: there is no tape */
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

static bool is_read(const struct ingest_job *j)
{
    return j->signal != TC_OTLP_TRACES;
}

/* Tape: NULL when the job could not keep its own. */
static void detect(struct ingest_job *j, const struct tc_otlp_tape *tape)
{
    const struct tc_ingest_parts *p = &j->in->parts;
    const struct tc_batch *batch = &j->commit.batch;
    tc_count(TC_COUNT_BODIES_PARSED_AGAIN_DETECTION, is_read(j) && tape == NULL);
    tc_detection_take(p->detection, batch, tape);
    tc_catch_up_took(p->catch_up, batch);
    p->fed(p->context);
}

/* Nobody needs it in memory any more, but the slices. */
static void finish(struct ingest_job *j)
{
    if (j->is_left) {
        tc_catch_up_settled(j->in->parts.catch_up, &j->commit.batch, j->stored == TC_OK, NULL);
    }
    if (j->stored == TC_OK && j->signal != TC_OTLP_LOGS && j->in->parts.handoff != NULL) {
        hand_over(j);
    }
    give_job(j);
}

/* It has waited for detection. */
static void take_turn(struct tc_waiting *waiting)
{
    struct ingest_job *j =
        (struct ingest_job *)(void *)((char *)waiting - offsetof(struct ingest_job, waiting));
    j->is_waiting = false;
    detect(j, j->tape_memory == NULL ? NULL : &j->tape);
    if (j->request != NULL) {
        accept(j);
    }
    if (j->is_settled) {
        finish(j);
    }
}

static void wait_for_detection(struct ingest_job *j, bool is_answered)
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
static void pass_on(struct ingest_job *j, bool is_fresh)
{
    const struct tc_ingest_parts *p = &j->in->parts;
    enum tc_catch_up_when when =
        is_read(j) && j->is_long
            ? TC_CATCH_UP_LATER
            : tc_catch_up_when(p->catch_up, is_read(j) ? j->commit.batch.body.len : 0,
                               is_read(j) ? j->tape.counts.records : 0);
    if (is_fresh &&
        (when != TC_CATCH_UP_LATER || (is_sliced(j) && tc_handoff_is_open(j->in->parts.handoff)))) {
        keep_tape(j);
    }
    switch (when) {
    case TC_CATCH_UP_PROMPTLY:
        wait_for_detection(j, true);
        break;
    case TC_CATCH_UP_SOON:
        wait_for_detection(j, false);
        return;
    case TC_CATCH_UP_LATER:
        tc_count(TC_COUNT_BODIES_PARSED_AGAIN_DETECTION, is_read(j));
        tc_catch_up_later(p->catch_up);
        j->is_left = true;
        break;
    }
    accept(j); /* the next request may be checked within */
}

/* The batch is durable, or could not be made so. */
static void settled(struct tc_commit_job *commit, tc_status status)
{
    struct ingest_job *j = (struct ingest_job *)(void *)commit;
    j->is_settled = true;
    j->stored = status;
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

static struct tc_slice body_of(const struct ingest_job *j)
{
    return j->body == NULL ? TC_EMPTY : tc_slice_make((const char *)j->body->data, j->body->len);
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
        .kind = tc_otlp_batch_kind(j->signal, j->form),
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
    pass_on(j, true);
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

static void work(struct ingest_job *j, enum tc_encoding encoding);

/* Its turn has come, or the end of its wait. */
static void memory_came(struct tc_pool_claim *claim, struct tc_buffer *b)
{
    struct ingest_job *j =
        (struct ingest_job *)(void *)((char *)claim - offsetof(struct ingest_job, claim));
    struct tc_error err = {0};
    if (b == NULL) {
        refuse_body(j, TC_E_NOMEM, true, &err);
        return;
    }
    tc_buffer_give(b); /* for the inflater, which takes as much at once */
    work(j, j->encoding);
}

/* A compressed body waits until there is room for `bytes` of content. False: it has waited. */
static bool wait_for_memory(struct ingest_job *j, enum tc_encoding encoding, size_t bytes)
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
    if (status == TC_E_NOMEM && wait_for_memory(j, encoding, err.offset)) {
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

/* A store that has fallen behind by that much takes no more bodies: senders wait, as for memory. */
static bool is_store_open(void *context)
{
    const struct tc_ingest *in = context;
    return tc_committer_waiting_bytes(in->parts.committer) <= in->parts.config->ingest_queue_bytes;
}

static enum tc_answer begin(void *context, struct tc_request *head, size_t *io_body_max,
                            struct tc_response *out_refusal)
{
    (void)io_body_max;
    const struct tc_ingest *in = context;
    enum tc_answer answer = tc_ingest_look(&in->parts, head, out_refusal);
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
    (void)tc_otlp_route(r, &signal);
    (void)tc_otlp_form_of(r, &form);
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
