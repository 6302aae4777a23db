/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ingest/upload.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/json/out.h"
#include "base/os/spool.h"
#include "net/query.h"
#include "observe/metrics.h"
#include "server/answer.h"
#include "server/auth.h"
#include "server/front.h"
#include "server/ingest/forwarded.h"
#include "server/ingest/piece.h"
#include "server/ingest/sender.h"
#include "stored/upload_file.h"

#include <stdlib.h>
#include <string.h>

#define ANSWER_BYTES_MAX 1024
#define JSON TC_LIT("application/json")
/* A refusal before the body, in the form of those after it. */
#define REFUSAL(words) TC_LIT("{\"error\":\"" words "\"}\n")

struct tc_upload {
    struct tc_ingest_parts parts;
    char *spool_dir;
};

/* One upload until its bytes are stored. */
struct upload_job {
    struct tc_commit_job commit; /* first: the committer gives it back */
    struct tc_upload *u;
    struct tc_request *request;
    struct tc_spool *spool; /* the body, on disk */
    const char *format;
    struct tc_forwarded_batch forwarded; /* where another daemon sends it */
    char name[TC_UPLOAD_NAME_MAX + TC_FORWARDED_NAME_MAX + TC_SENDER_MAX];
};

static void respond(struct tc_request *r, enum tc_answer answer, unsigned retry_after_s,
                    struct tc_slice body)
{
    struct tc_response response = {
        .answer = answer, .content_type = JSON, .body = body, .retry_after_s = retry_after_s};
    tc_answer_count(r, answer);
    tc_request_respond(r, &response);
}

static void refuse(struct tc_request *r, enum tc_answer answer, unsigned retry_after_s,
                   const char *message)
{
    char text[ANSWER_BYTES_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_json_out out = tc_json_object_make(&b);
    tc_json_put_cstr(&out, "error", message);
    (void)tc_json_end_line(&out);
    respond(r, answer, retry_after_s, tc_buf_slice(&b));
}

static void give_job(struct upload_job *j)
{
    tc_forwarded_end(j->u->parts.forwarded, &j->forwarded, false);
    tc_spool_close(j->spool);
    free(j);
}

static void accept(struct upload_job *j)
{
    char text[ANSWER_BYTES_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_json_out out = tc_json_out_make(&b);
    tc_json_add_object(&out);
    tc_json_put_u64(&out, "batch", j->commit.batch.number);
    if (j->commit.has_digest) {
        struct tc_error ignored;
        tc_json_put_digest(&out, "digest", &j->commit.digest);
        (void)!tc_store_cite(j->u->parts.store, j->commit.batch.number, &j->commit.digest,
                             &ignored);
    }
    tc_json_put_u64(&out, "bytes", j->commit.batch.body.len);
    tc_json_put_cstr(&out, "format", j->format);
    (void)tc_json_end_line(&out);
    respond(j->request, TC_ANSWER_OK, 0, tc_buf_slice(&b));
}

static void settled(struct tc_commit_job *commit, tc_status status)
{
    struct upload_job *j = (struct upload_job *)(void *)commit;
    const struct tc_ingest_parts *p = &j->u->parts;
    tc_forwarded_end(p->forwarded, &j->forwarded, status == TC_OK);
    if (status == TC_OK) {
        tc_count(TC_COUNT_UPLOADS, 1);
        if (p->handoff != NULL) {
            tc_handoff_skip(p->handoff, j->commit.batch.number);
            tc_handoff_note_traces(p->handoff, j->commit.batch.number);
        }
        accept(j);
        tc_catch_up_later(p->catch_up);
        tc_catch_up_settled(p->catch_up, &j->commit.batch, true, j->spool);
        j->spool = NULL;
    } else {
        bool full = tc_committer_is_full(p->committer);
        refuse(j->request, TC_ANSWER_BUSY, tc_answer_not_stored(full),
               full ? "the disk is full" : "the file could not be stored");
    }
    give_job(j);
}

/* The label and the hints, a line each, from the query. */
static tc_status read_query(struct tc_slice query, struct tc_buf *out, struct tc_error *err)
{
    char text[TC_UPLOAD_NAME_MAX];
    char hints_text[TC_UPLOAD_NAME_MAX];
    struct tc_buf hints = tc_buf_make(hints_text, sizeof hints_text);
    struct tc_buf decoded = tc_buf_make(text, sizeof text);
    struct tc_slice key;
    struct tc_slice value;
    bool bad = false;
    while (tc_query_next(&query, &decoded, &key, &value, &bad)) {
        if (bad) {
            return tc_fail(err, TC_E_USAGE, 0,
                           "a parameter is too long or holds a control character");
        }
        if (tc_slice_eq(key, TC_LIT("name"))) {
            tc_buf_str(out, value);
            continue;
        }
        if (tc_slice_is_any(key, "sender", "source", "stream", "position")) {
            return tc_fail(err, TC_E_USAGE, 0, "%.*s is for the daemon to say", TC_FMT(key));
        }
        (void)tc_format(&hints, "\n{}={}", key, value);
    }
    tc_buf_str(out, tc_buf_slice(&hints));
    if (out->overflowed || hints.overflowed) {
        return tc_fail(err, TC_E_USAGE, 0, "the parameters are too long");
    }
    return TC_OK;
}

/* A file that another daemon forwards says its name before its bytes. What it holds was looked at
 * there. */
static tc_status prepare_piece(struct upload_job *j, struct tc_buf *name, struct tc_slice *io_body,
                               struct tc_error *err)
{
    struct tc_piece piece;
    TC_TRY(tc_piece_read(*io_body, &piece, err));
    tc_buf_str(name, piece.name);
    tc_forwarded_put(name, &j->forwarded);
    *io_body = piece.bytes;
    j->format = "";
    return TC_OK;
}

/* Reads everything that can be wrong with an upload before it is stored. */
static tc_status prepare(struct upload_job *j, struct tc_error *err)
{
    struct tc_buf name = tc_buf_make(j->name, sizeof j->name);
    bool is_piece = j->forwarded.number != 0;
    struct tc_slice body;
    TC_TRY(tc_spool_map(j->spool, &body, err));
    TC_TRY(is_piece ? prepare_piece(j, &name, &body, err)
                    : read_query(j->request->query, &name, err));
    tc_sender_put(&name, tc_auth_token_name(j->u->parts.auth, j->request), &j->request->peer);
    if (name.overflowed) {
        return tc_fail(err, TC_E_USAGE, 0, "the parameters are too long");
    }
    if (body.len == 0) {
        tc_count(TC_COUNT_REJECTED_EMPTY_UPLOAD, 1);
        return tc_fail(err, TC_E_USAGE, 0, "the file is empty");
    }
    j->commit.batch = (struct tc_batch){
        .arrival_ns = j->request->arrival_ns,
        .kind = TC_BATCH_FILE,
        .name = tc_buf_slice(&name),
        .body = body,
    };
    if (is_piece) {
        return TC_OK;
    }
    tc_status status = tc_upload_file_check(j->commit.batch.name, body, &j->format, err);
    tc_count(TC_COUNT_REJECTED_UNKNOWN_FORMAT, status == TC_E_UNSUPPORTED);
    return status;
}

struct tc_upload *tc_upload_create(const struct tc_ingest_parts *parts, const char *spool_dir)
{
    struct tc_upload *u = calloc(1, sizeof *u);
    if (u != NULL) {
        u->parts = *parts;
        u->spool_dir = strdup(spool_dir);
    }
    if (u == NULL || u->spool_dir == NULL) {
        free(u);
        return NULL;
    }
    return u;
}

void tc_upload_destroy(struct tc_upload *u)
{
    if (u != NULL) {
        free(u->spool_dir);
        free(u);
    }
}

enum tc_answer tc_upload_begin(struct tc_upload *u, struct tc_request *head, size_t *io_body_max,
                               struct tc_response *out_refusal)
{
    struct tc_error err = {0};
    if (head->method != TC_METHOD_POST && head->method != TC_METHOD_PUT) {
        tc_count(TC_COUNT_REJECTED_WRONG_METHOD, 1);
        out_refusal->allow = TC_LIT("POST, PUT");
        out_refusal->content_type = JSON;
        out_refusal->body = REFUSAL("files are sent with POST");
        return TC_ANSWER_WRONG_METHOD;
    }
    enum tc_answer allowed =
        tc_auth_check(u->parts.auth, head, TC_TOKEN_INGEST, tc_mono_ns(), out_refusal);
    if (allowed != TC_ANSWER_OK) {
        return allowed;
    }
    if (tc_front_is_form_type(head->content_type)) {
        tc_count(TC_COUNT_REJECTED_UNSUPPORTED_TYPE, 1);
        out_refusal->content_type = JSON;
        out_refusal->body = REFUSAL("send it with Content-Type: application/octet-stream, or "
                                    "another type that no form of a web page has");
        return TC_ANSWER_UNSUPPORTED;
    }
    if (tc_encoding_parse(head->content_encoding) != TC_ENCODING_NONE) {
        tc_count(TC_COUNT_REJECTED_UNSUPPORTED_ENCODING, 1);
        out_refusal->content_type = JSON;
        out_refusal->body = REFUSAL("files are sent as they are, not compressed");
        return TC_ANSWER_UNSUPPORTED;
    }
    if (tc_committer_is_full(u->parts.committer) ||
        tc_spool_open(u->spool_dir, &head->spool, &err) != TC_OK) {
        out_refusal->retry_after_s = tc_answer_not_stored(true);
        out_refusal->content_type = JSON;
        out_refusal->body = REFUSAL("there is no room for the file");
        return TC_ANSWER_BUSY;
    }
    *io_body_max = (size_t)u->parts.config->limits_upload;
    return TC_ANSWER_OK;
}

void tc_upload_handle(struct tc_upload *u, struct tc_request *r)
{
    struct upload_job *j = calloc(1, sizeof *j);
    struct tc_error err = {0};
    if (j == NULL) {
        refuse(r, TC_ANSWER_BUSY, TC_RETRY_SOON_S, "no memory");
        return;
    }
    j->u = u;
    j->request = r;
    j->spool = r->spool;
    r->spool = NULL;
    j->commit.settled = settled;
    j->commit.is_awaited = true;
    j->commit.wants_digest = true;
    enum tc_forwarded_claim claim = TC_FORWARDED_NEW;
    uint64_t last = 0;
    tc_status status = TC_OK;
    if (tc_piece_route(r) == TC_PIECE_FILE) {
        status = tc_forwarded_read(r->tracecore_batch, &j->forwarded, &err);
        claim = tc_forwarded_claim(u->parts.forwarded, &j->forwarded, &last);
    }
    if (claim != TC_FORWARDED_NEW) {
        tc_piece_answer_known(r, claim, last);
        give_job(j);
        return;
    }
    status = status == TC_OK ? prepare(j, &err) : status;
    if (status == TC_OK) {
        tc_count(TC_COUNT_BYTES_UPLOAD, j->commit.batch.body.len);
        tc_committer_put(u->parts.committer, &j->commit);
        return;
    }
    enum tc_answer answer = status == TC_E_LIMIT         ? TC_ANSWER_TOO_LARGE
                            : status == TC_E_IO          ? TC_ANSWER_BUSY
                            : status == TC_E_NOMEM       ? TC_ANSWER_BUSY
                            : status == TC_E_UNSUPPORTED ? TC_ANSWER_UNSUPPORTED
                                                         : TC_ANSWER_BAD;
    refuse(r, answer, answer == TC_ANSWER_BUSY ? TC_RETRY_DISK_S : 0, err.message);
    give_job(j);
}
