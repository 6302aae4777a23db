/* SPDX-License-Identifier: Apache-2.0 */
#include "server/warehouse/requests.h"

#include "base/digest.h"
#include "codec/requests.h"
#include "codec/samples.h"
#include "evidence/store.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "telemetry/requests.h"

#include <stdlib.h>
#include <string.h>

/* What one step takes, so that verdicts and slices get their turn. */
#define READ_BYTES_MAX ((uint64_t)64 << 20)
#define READ_ROWS_MAX 16384
/* Strings that had to be made, for one span. */
#define STRINGS_BYTES ((size_t)1 << 20)
/* A batch that comes again, as after a lost answer, is known among so many that had requests ... */
#define KNOWN_MAX 4096
/* ... and among so many of any kind, so that the engine need not look further. */
#define KNOWN_NUMBERS INT64_C(262144)
#define KINDS (1U << TC_BATCH_TRACES_PROTOBUF | 1U << TC_BATCH_TRACES_JSON | 1U << TC_BATCH_FILE)

struct known {
    struct tc_digest digest;
    int64_t number;
};

/* One step: what becomes durable together. */
struct step {
    struct tc_warehouse *w; /* NULL: nothing to write yet */
    bool is_begun;          /* a transaction */
    uint64_t bytes;         /* of bodies that were read */
    uint64_t rows;
    uint64_t others; /* spans */
    uint64_t again;  /* batches */
    struct tc_error *err;
};

/* The batch that is being read. */
struct reading {
    const struct tc_batch *batch;
    bool is_asked; /* whether it is in the warehouse */
    bool is_there;
    tc_status failed; /* of the warehouse, while it was read */
    struct tc_digest digest;
    char digest_text[TC_DIGEST_TEXT];
};

/* Invariant: known[] holds known_count entries, the oldest at known_next when it is full. */
struct tc_warehouse_requests {
    struct tc_warehouse_requests_config config;
    struct tc_evidence *evidence;  /* NULL: to be opened, and the place found */
    struct tc_otlp_reader *reader; /* NULL: no traces yet */
    struct tc_rows *rows;          /* the same */
    void *strings_block;
    struct tc_arena strings;
    uint64_t next;   /* batch */
    bool is_level;   /* all there was is read */
    bool is_settled; /* the following are what the warehouse says */
    int64_t written; /* the newest batch that it had */
    struct known known[KNOWN_MAX];
    size_t known_count;
    size_t known_next;
    struct step step;
    struct reading reading;
};

struct tc_warehouse_requests *
tc_warehouse_requests_create(const struct tc_warehouse_requests_config *config)
{
    struct tc_warehouse_requests *r = calloc(1, sizeof *r);
    if (r != NULL) {
        r->config = *config;
    }
    return r;
}

void tc_warehouse_requests_destroy(struct tc_warehouse_requests *r)
{
    if (r == NULL) {
        return;
    }
    if (r->strings_block != NULL) {
        tc_arena_fini(&r->strings);
    }
    tc_evidence_close(r->evidence);
    tc_otlp_reader_destroy(r->reader);
    tc_rows_destroy(r->rows);
    free(r->strings_block);
    free(r);
}

/* Memory for traces, when the first come. */
static tc_status make_memory(struct tc_warehouse_requests *r, struct tc_error *err)
{
    if (r->strings_block == NULL) {
        r->strings_block = malloc(STRINGS_BYTES);
        if (r->strings_block != NULL) {
            tc_arena_init(&r->strings, "spans", r->strings_block, STRINGS_BYTES);
        }
    }
    if (r->reader == NULL) {
        r->reader = tc_otlp_reader_create(&r->config.otlp, r->config.body_max);
    }
    if (r->rows == NULL) {
        r->rows = tc_rows_create(TC_TABLE_REQUEST);
    }
    return r->strings_block != NULL && r->reader != NULL && r->rows != NULL
               ? TC_OK
               : tc_fail(err, TC_E_NOMEM, 0, "no memory to read traces");
}

/* ---- what the warehouse has ---- */

static void learn(struct tc_warehouse_requests *r, const struct tc_digest *digest, int64_t number)
{
    r->known[r->known_next] = (struct known){*digest, number};
    r->known_next = (r->known_next + 1) % KNOWN_MAX;
    r->known_count += r->known_count < KNOWN_MAX;
}

static tc_status take_known(void *context, const struct tc_rows *rows)
{
    struct tc_warehouse_requests *r = context;
    struct tc_digest digest;
    for (size_t i = 0; i < rows->count; i++) {
        if (tc_digest_parse(tc_rows_get_text(rows, 0, i), &digest)) {
            learn(r, &digest, tc_rows_get_int(rows, 1, i));
        }
    }
    return TC_OK;
}

/* In the order in which they came: the newest are kept longest. */
static tc_status settle(struct tc_warehouse_requests *r, struct tc_error *err)
{
    r->known_count = 0;
    r->known_next = 0;
    TC_TRY(tc_warehouse_int(r->step.w, "SELECT max(evidence_batch) FROM serving_request_fact", NULL,
                            0, 0, &r->written, err));
    const struct tc_bind from = {.type = TC_COLUMN_INT, .as.integer = r->written - KNOWN_NUMBERS};
    const struct tc_query query = {
        .sql = TC_LIT("SELECT source_digest, max(evidence_batch) AS number FROM "
                      "serving_request_fact WHERE evidence_batch > ? GROUP BY source_digest "
                      "ORDER BY number"),
        .binds = &from,
        .bind_count = 1};
    TC_TRY(tc_warehouse_query(r->step.w, &query, take_known, r, NULL, err));
    r->is_settled = true;
    return TC_OK;
}

static bool came_before(const struct tc_warehouse_requests *r)
{
    const struct reading *b = &r->reading;
    for (size_t i = 0; i < r->known_count; i++) {
        if (r->known[i].number > (int64_t)b->batch->number - KNOWN_NUMBERS &&
            memcmp(&r->known[i].digest, &b->digest, sizeof b->digest) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * Whether the batch is in the warehouse. Those up to what it had may all be; each is asked for,
 * since the evidence may be another than the one it was made from.
 */
static tc_status ask(struct tc_warehouse_requests *r)
{
    struct reading *b = &r->reading;
    struct tc_error *err = r->step.err;
    int64_t count = 0;
    b->is_asked = true;
    if (r->step.w == NULL) {
        TC_TRY(r->config.open(r->config.context, &r->step.w, err));
    }
    if (!r->is_settled) {
        TC_TRY(settle(r, err));
    }
    if (tc_digest_sha256(b->batch->body, &b->digest) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the digest of a batch");
    }
    tc_digest_text(&b->digest, b->digest_text);
    b->is_there = came_before(r);
    if (!b->is_there && (int64_t)b->batch->number <= r->written) {
        const struct tc_bind binds[] = {
            {.type = TC_COLUMN_INT, .as.integer = (int64_t)b->batch->number},
            {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(b->digest_text)}};
        TC_TRY(tc_warehouse_int(r->step.w,
                                "SELECT count(*) FROM serving_request_fact WHERE evidence_batch = "
                                "? AND source_digest = ?",
                                binds, TC_COUNT(binds), 0, &count, err));
        b->is_there = count > 0;
    }
    if (!b->is_there && !r->step.is_begun) {
        TC_TRY(tc_warehouse_begin(r->step.w, err));
        r->step.is_begun = true;
    }
    r->step.again += b->is_there;
    return TC_OK;
}

static tc_status append(struct tc_warehouse_requests *r)
{
    if (r->rows->count == 0) {
        return TC_OK;
    }
    TC_TRY(tc_warehouse_append(r->step.w, TC_TABLE_REQUEST, r->rows, r->step.err));
    r->step.rows += r->rows->count;
    tc_rows_reset(r->rows);
    return TC_OK;
}

/* ---- reading ---- */

static tc_status add_row(struct tc_warehouse_requests *r, const struct tc_request_span *span)
{
    if (!r->reading.is_asked) {
        TC_TRY(ask(r));
    }
    if (r->reading.is_there) {
        return TC_OK;
    }
    const struct tc_request_source source = {.digest = tc_slice_cstr(r->reading.digest_text),
                                             .batch = (int64_t)r->reading.batch->number};
    tc_status status = tc_request_row(r->rows, span, &source);
    if (status == TC_E_LIMIT) {
        TC_TRY(append(r));
        status = tc_request_row(r->rows, span, &source);
    }
    return status == TC_OK ? TC_OK
                           : tc_fail(r->step.err, status, 0, "no memory for the rows of requests");
}

static tc_status take_span(void *context, const struct tc_request_span *span)
{
    struct tc_warehouse_requests *r = context;
    r->reading.failed = add_row(r, span);
    return r->reading.failed;
}

static tc_status read_body(struct tc_warehouse_requests *r, const struct tc_batch *batch,
                           struct tc_requests_counts *counts, struct tc_error *err)
{
    const struct tc_requests_out out = {.take = take_span, .context = r};
    struct tc_otlp_tape tape;
    tc_arena_reset(&r->strings);
    if (batch->kind == TC_BATCH_FILE) {
        return tc_requests_read(batch->body, NULL, &r->strings, &out, counts, err);
    }
    enum tc_otlp_form form = batch->kind == TC_BATCH_TRACES_JSON ? TC_OTLP_JSON : TC_OTLP_PROTOBUF;
    TC_TRY(tc_otlp_check(r->reader, TC_OTLP_TRACES, form, batch->body, &tape, err));
    return tc_otlp_requests(r->reader, &tape, &r->strings, &out, counts, err);
}

static tc_status take_batch(void *context, const struct tc_batch *batch,
                            const struct tc_batch_info *info)
{
    struct tc_warehouse_requests *r = context;
    struct tc_requests_counts counts = {0};
    struct tc_error why = {0};
    (void)info;
    if (r->step.bytes >= READ_BYTES_MAX || r->step.rows >= READ_ROWS_MAX) {
        return TC_E_LIMIT; /* it comes again */
    }
    r->step.bytes += batch->body.len;
    if (batch->kind == TC_BATCH_FILE && !tc_requests_sniff(batch->body)) {
        return TC_OK;
    }
    TC_TRY(make_memory(r, r->step.err));
    r->reading = (struct reading){.batch = batch};
    tc_status status = read_body(r, batch, &counts, &why);
    if (r->reading.failed != TC_OK) {
        return r->reading.failed;
    }
    r->step.others += counts.others;
    if (status != TC_OK) {
        tc_count(TC_COUNT_WAREHOUSE_BATCHES_SKIPPED, 1);
        tc_log_fields(TC_LOG_WARN, "a batch of traces could not be read to its end",
                      TC_LOG_NUMBER("batch", (int64_t)batch->number),
                      TC_LOG_CSTR("error", why.message));
    }
    if (r->reading.is_asked && !r->reading.is_there) {
        learn(r, &r->reading.digest, (int64_t)batch->number);
    }
    return TC_OK;
}

/* Asked of the beginning of what is long: a kernel log is not read into memory. What has zero bytes
 * may be protobuf, which can be told when it is whole. */
static bool wants(void *context, const struct tc_batch *batch)
{
    (void)context;
    return batch->kind != TC_BATCH_FILE || tc_samples_sniff(batch->body) ||
           tc_slice_contains(batch->body, TC_LIT("\"resourceSpans\"")) ||
           tc_slice_find_byte(batch->body, '\0') != TC_NPOS;
}

static void bad_batch(void *context, const char *line)
{
    (void)context;
    (void)line; /* the store tells of it when it is opened, and `evidence verify` does */
    tc_count(TC_COUNT_WAREHOUSE_BATCHES_SKIPPED, 1);
}

static tc_status find_place(struct tc_warehouse_requests *r, int64_t now_ns, struct tc_error *err)
{
    struct tc_evidence *evidence = NULL;
    TC_TRY(tc_evidence_open(r->config.evidence_dir, &evidence, err));
    tc_status status =
        tc_evidence_replay_from(evidence, now_ns - r->config.catch_up_ns, 0, &r->next, err);
    if (status != TC_OK) {
        tc_evidence_close(evidence);
        return status;
    }
    r->evidence = evidence;
    return TC_OK;
}

static tc_status finish(struct tc_warehouse_requests *r)
{
    if (!r->step.is_begun) {
        return TC_OK;
    }
    TC_TRY(append(r));
    return tc_warehouse_commit(r->step.w, r->step.err);
}

static tc_status read_some(struct tc_warehouse_requests *r, struct tc_error *err)
{
    const struct tc_evidence_choice choice = {
        .kinds = KINDS, .wants = wants, .take = take_batch, .bad = bad_batch, .context = r};
    uint64_t from = r->next;
    r->step = (struct step){.err = err};
    tc_status status = tc_evidence_walk_some(r->evidence, &r->next, &choice, err);
    bool is_cut = status == TC_E_LIMIT;
    status = status == TC_OK || is_cut ? finish(r) : status;
    if (status == TC_OK) {
        r->is_level = !is_cut;
        return TC_OK;
    }
    if (r->step.is_begun) {
        tc_warehouse_rollback(r->step.w);
    }
    if (r->rows != NULL) {
        tc_rows_reset(r->rows);
    }
    /* What was learned since is not so; whether the commit was done is not known. */
    r->is_settled = false;
    r->is_level = false;
    r->next = from;
    return status;
}

tc_status tc_warehouse_requests_step(struct tc_warehouse_requests *r, int64_t now_ns,
                                     bool *out_more, struct tc_error *err)
{
    *out_more = false;
    if (r->evidence == NULL) {
        TC_TRY(find_place(r, now_ns, err));
    }
    if (r->is_level && r->config.handoff != NULL &&
        !tc_handoff_has_traces(r->config.handoff, r->next)) {
        return TC_OK;
    }
    TC_TRY(read_some(r, err));
    tc_count(TC_COUNT_WAREHOUSE_REQUESTS, r->step.rows);
    tc_count(TC_COUNT_WAREHOUSE_SPANS_OTHER, r->step.others);
    tc_count(TC_COUNT_WAREHOUSE_TRACES_AGAIN, r->step.again);
    *out_more = !r->is_level;
    return TC_OK;
}
