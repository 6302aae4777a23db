/* SPDX-License-Identifier: Apache-2.0 */
#include "answers/evidence.h"
#include "evidence/files/files.h"
#include "evidence/store.h"
#include "object_store/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is wanted ---- */

static bool read_range(struct tc_slice text, struct tc_evidence_want *out)
{
    struct tc_slice length = TC_EMPTY;
    struct tc_slice offset = tc_slice_cut(text, ',', &length);
    return tc_slice_is_u64(offset, &out->offset) && tc_slice_is_u64(length, &out->length) &&
           out->length <= UINT64_MAX - out->offset;
}

tc_status tc_evidence_want_read(const struct tc_asked *asked, struct tc_evidence_want *out,
                                struct tc_error *err)
{
    const struct tc_param_value *batch = tc_asked_value(asked, "batch");
    struct tc_slice digest = tc_asked_text(asked, "digest");
    struct tc_slice range = tc_asked_text(asked, "at");
    struct tc_evidence_want want = {
        .has_batch = batch->is_given, .batch = (uint64_t)batch->count, .has_range = range.len > 0};
    if (!tc_digest_parse(digest, &want.digest)) {
        return tc_fail(err, TC_E_USAGE, 0, "\"digest\" is sha256: and 64 hex digits, not \"%.*s\"",
                       TC_FMT(tc_slice_head(digest, 80)));
    }
    if (range.len > 0 && !read_range(range, &want)) {
        return tc_fail(err, TC_E_USAGE, 0, "\"at\" takes two numbers, OFFSET,LENGTH, not \"%.*s\"",
                       TC_FMT(tc_slice_head(range, 60)));
    }
    *out = want;
    return TC_OK;
}

tc_status tc_evidence_range_check(const struct tc_evidence_want *want, uint64_t total,
                                  struct tc_error *err)
{
    if (want->has_range && want->offset + want->length > total) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "\"at\" %llu,%llu is outside of the evidence, which has %llu bytes",
                       (unsigned long long)want->offset, (unsigned long long)want->length,
                       (unsigned long long)total);
    }
    return TC_OK;
}

/* ---- reading ---- */

static tc_status none(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOTFOUND, 0,
                   "there is no evidence with this digest: no file of a run, and no stored batch "
                   "that a verdict cites (\"batch\" names another)");
}

/* Messages of lower rooms name files: who asks from afar is told what it means. What cannot be
 * fetched from the object store now has a message that names object and cause. */
static tc_status in_words(tc_status status, struct tc_error *err)
{
    switch (status) {
    case TC_E_NOTFOUND:
        return none(err);
    case TC_E_MALFORMED:
        return tc_fail(err, status, 0,
                       "the evidence is damaged: its bytes are not those of its "
                       "digest; `tracecore evidence verify` says where");
    case TC_E_NOMEM:
        return tc_fail(err, status, 0, "no memory for the evidence");
    case TC_OK:
    case TC_E_LIMIT:
    case TC_E_IO:
    case TC_E_UNSUPPORTED:
    case TC_E_USAGE:
        break;
    case TC_E_AGAIN:
        return status;
    }
    return tc_fail(err, status, 0, "the evidence cannot be read");
}

/* The body of a batch, if it has that digest. */
static tc_status find_body(struct tc_evidence *e, const struct tc_evidence_want *want,
                           struct tc_slice *out, struct tc_error *err)
{
    struct tc_digest actual;
    uint64_t number = want->batch;
    if (!want->has_batch) {
        TC_TRY(tc_evidence_find(e, &want->digest, false, &number, err));
    }
    TC_TRY(tc_evidence_body(e, number, out, err));
    TC_TRY(tc_digest_sha256(*out, &actual));
    if (memcmp(&actual, &want->digest, sizeof actual) == 0) {
        return TC_OK;
    }
    return want->has_batch ? TC_E_NOTFOUND : TC_E_MALFORMED;
}

static tc_status read_batch(const char *data_dir, const struct tc_evidence_want *want,
                            uint64_t offset, size_t length, struct tc_evidence_part *out,
                            struct tc_error *err)
{
    char path[4096];
    struct tc_evidence *e = NULL;
    struct tc_slice body = TC_EMPTY;
    int len = snprintf(path, sizeof path, "%s/evidence", data_dir);
    if (len < 0 || (size_t)len >= sizeof path) {
        return TC_E_IO;
    }
    TC_TRY(tc_evidence_open(path, &e, err));
    tc_status status = tc_object_store_attach(e, path, NULL, err);
    status = status == TC_OK ? find_body(e, want, &body, err) : status;
    struct tc_slice part = TC_EMPTY;
    char *bytes = NULL;
    if (status == TC_OK) {
        part = offset < body.len ? tc_slice_head(tc_slice_from(body, (size_t)offset), length)
                                 : TC_EMPTY;
        bytes = malloc(part.len + 1);
        status = bytes == NULL ? TC_E_NOMEM : TC_OK;
    }
    if (status == TC_OK) {
        if (part.len > 0) {
            memcpy(bytes, part.ptr, part.len);
        }
        *out = (struct tc_evidence_part){
            .bytes = bytes, .len = part.len, .offset = offset, .total = body.len};
    }
    tc_evidence_close(e);
    return status;
}

tc_status tc_evidence_part_read(const char *data_dir, const struct tc_evidence_want *want,
                                uint64_t offset, size_t length, struct tc_evidence_part *out,
                                struct tc_error *err)
{
    struct tc_files *files = NULL;
    struct tc_evidence_part part = {.offset = offset};
    tc_status status =
        want->has_batch ? TC_E_NOTFOUND : tc_files_open(data_dir, false, &files, err);
    if (status == TC_OK) {
        status = tc_files_read_part(files, &want->digest, offset, length, &part.bytes, &part.len,
                                    &part.total, err);
    }
    tc_files_close(files);
    if (status == TC_E_NOTFOUND) {
        status = read_batch(data_dir, want, offset, length, &part, err);
    }
    if (status != TC_OK) {
        return in_words(status, err);
    }
    *out = part;
    return TC_OK;
}

/* ---- the question ---- */

static tc_status answer(const struct tc_asked *asked, struct tc_reply *out, struct tc_error *err)
{
    struct tc_evidence_want want;
    struct tc_evidence_part part;
    TC_TRY(tc_evidence_want_read(asked, &want, err));
    if (want.has_range && want.length > TC_REPLY_BYTES_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0, "\"at\": at most %zu bytes at once", TC_REPLY_BYTES_MAX);
    }
    TC_TRY(tc_evidence_part_read(asked->data_dir, &want, want.offset,
                                 want.has_range ? (size_t)want.length : TC_REPLY_BYTES_MAX, &part,
                                 err));
    tc_status status = tc_evidence_range_check(&want, part.total, err);
    if (status == TC_OK && !want.has_range && part.total > TC_REPLY_BYTES_MAX) {
        status = tc_fail(err, TC_E_LIMIT, 0,
                         "the evidence has %llu bytes: ask for parts of up to %zu with \"at\"",
                         (unsigned long long)part.total, TC_REPLY_BYTES_MAX);
    }
    if (status == TC_OK) {
        out->content_type = "application/octet-stream";
        out->range_from = part.offset;
        out->range_total = want.has_range ? part.total : 0;
        tc_grow_str(&out->body, tc_slice_make(part.bytes, part.len));
    }
    free(part.bytes);
    return status;
}

static const struct tc_param PARAMS[] = {TC_EVIDENCE_PARAMS};

const struct tc_question tc_question_evidence = {
    .name = "evidence",
    .path = "/api/v1/evidence/{digest}",
    .summary = "raw bytes of evidence",
    .help = "The raw bytes of evidence, all or a part. The digest of the whole is checked before "
            "anything is given.",
    .place = TC_PLACE_TABLES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .media = "application/octet-stream",
    .answer = answer,
};
