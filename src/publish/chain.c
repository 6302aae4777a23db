/* SPDX-License-Identifier: Apache-2.0 */
#include "publish/chain.h"

#include "base/json/json.h"
#include "publish/made.h"
#include "publish/values.h"
#include "run/manifest.h"
#include "run/record.h"
#include "warehouse/answer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const STEPS[][2] = {
    [TC_STEP_AUDIT] = {"audit_log", "audit log"},
    [TC_STEP_ROW] = {"report_row", "report row"},
    [TC_STEP_QUERY] = {"query", "query"},
    [TC_STEP_TABLES] = {"tables", "tables"},
    [TC_STEP_RUNS] = {"runs", "runs"},
    [TC_STEP_MANIFESTS] = {"manifests", "manifests"},
    [TC_STEP_SIGNATURES] = {"signatures", "signatures"},
    [TC_STEP_FILES] = {"raw_files", "raw files"},
    [TC_STEP_NUMBER] = {"number", "number"},
};

static const char *const STATES[][2] = {
    [TC_STEP_UNCHECKED] = {"not_checked", "not checked"},
    [TC_STEP_HOLDS] = {"holds", "holds"},
    [TC_STEP_BROKEN] = {"broken", "BROKEN"},
};

const char *tc_step_name(enum tc_step step, bool for_people)
{
    return STEPS[step][for_people ? 1 : 0];
}

const char *tc_step_state_name(enum tc_step_state state, bool for_people)
{
    return STATES[state][for_people ? 1 : 0];
}

void tc_chain_set(struct tc_chain *c, enum tc_step step, enum tc_step_state state,
                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    c->steps[step].state = state;
    (void)vsnprintf(c->steps[step].what, sizeof c->steps[step].what, format, args);
    va_end(args);
}

enum tc_step tc_chain_broken(const struct tc_chain *c)
{
    enum tc_step step = TC_STEP_AUDIT;
    while (step < TC_STEP_COUNT && c->steps[step].state != TC_STEP_BROKEN) {
        step++;
    }
    return step;
}

tc_status tc_chain_judge(struct tc_chain *c, enum tc_step step, tc_status status,
                         const struct tc_error *why, struct tc_error *err)
{
    bool is_told = status == TC_E_NOTFOUND || status == TC_E_MALFORMED || status == TC_E_LIMIT ||
                   status == TC_E_USAGE || status == TC_E_UNSUPPORTED;
    if (is_told) {
        tc_chain_set(c, step, TC_STEP_BROKEN, "%s", why->message);
        return TC_OK;
    }
    if (status != TC_OK) {
        *err = *why;
    }
    return status;
}

void tc_chain_json(const struct tc_chain *c, enum tc_step first, struct tc_json_out *j)
{
    tc_json_add_array(j);
    for (enum tc_step step = first; step < TC_STEP_COUNT; step++) {
        tc_json_add_object(j);
        tc_json_put_cstr(j, "step", tc_step_name(step, false));
        tc_json_put_cstr(j, "state", tc_step_state_name(c->steps[step].state, false));
        tc_json_put_some(j, "what", tc_slice_cstr(c->steps[step].what));
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

static bool holds(const struct tc_chain *c, enum tc_step step)
{
    return c->steps[step].state == TC_STEP_HOLDS;
}

static void leave(struct tc_chain *c, enum tc_step step, enum tc_step because)
{
    tc_chain_set(c, step, TC_STEP_UNCHECKED, "needs the %s", tc_step_name(because, true));
}

tc_status tc_chain_query(struct tc_chain *c, const struct tc_claim *claim, struct tc_error *err)
{
    struct tc_digest digest;
    char text[TC_DIGEST_TEXT];
    if (tc_digest_sha256(claim->query, &digest) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "SHA-256 cannot be set up");
    }
    tc_digest_text(&digest, text);
    if (tc_slice_eq(claim->query_digest, tc_slice_cstr(text))) {
        tc_chain_set(c, TC_STEP_QUERY, TC_STEP_HOLDS, "%s", text);
    } else {
        tc_chain_set(c, TC_STEP_QUERY, TC_STEP_BROKEN,
                     "the text of the query has the digest %s, not %.*s", text,
                     TC_FMT(claim->query_digest));
    }
    return TC_OK;
}

/* ---- one run ---- */

struct run {
    const struct tc_claim_run *said;
    const struct tc_run_proof *proof;
    struct tc_json_parser *parser; /* its texts are the record's */
    struct tc_run_record record;
    bool has_record;
    struct tc_digest digest; /* of the manifest */
    char *text;
    struct tc_manifest manifest; /* when text is there */
    void *memory;
};

struct raw {
    struct tc_chain *c;
    const struct tc_claim *claim;
    const struct tc_source *source;
    const struct tc_sign_key *key;
    struct run *runs;
    size_t count;
    uint64_t files;
    uint64_t bytes;
};

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for what a claim stands on");
}

/* What the ledger says of it: its digest is the claim's. */
static tc_status read_record(struct raw *r, struct run *run, struct tc_error *err)
{
    struct tc_slice text = tc_slice_make(run->proof->record, run->proof->record_len);
    struct tc_digest digest;
    char name[TC_DIGEST_TEXT];
    struct tc_json root;
    struct tc_error why = {0};
    if (run->proof->record == NULL) {
        tc_chain_set(r->c, TC_STEP_RUNS, TC_STEP_BROKEN,
                     "run %.*s: the ledger has no record of how it was added",
                     TC_FMT(run->said->run_id));
        return TC_OK;
    }
    run->parser = tc_json_parser_create();
    if (run->parser == NULL || tc_digest_sha256(text, &digest) != TC_OK) {
        return no_memory(err);
    }
    tc_digest_text(&digest, name);
    if (!tc_slice_eq(run->said->record, tc_slice_cstr(name))) {
        tc_chain_set(r->c, TC_STEP_RUNS, TC_STEP_BROKEN,
                     "run %.*s: the ledger says something else of how it was added (%s, not %.*s)",
                     TC_FMT(run->said->run_id), name, TC_FMT(run->said->record));
        return TC_OK;
    }
    tc_status status = tc_json_parse(run->parser, text, &root, &why);
    status = status == TC_OK ? tc_run_record_read(root, &run->record, &why) : status;
    run->has_record = status == TC_OK;
    return tc_chain_judge(r->c, TC_STEP_RUNS, status, &why, err);
}

/* The manifest lists the very files that the record does. */
static bool lists(const struct tc_manifest *m, const struct tc_record_file *file)
{
    for (size_t i = 0; i < m->file_count; i++) {
        if (m->files[i].role == file->role &&
            memcmp(&m->files[i].digest, &file->digest, sizeof file->digest) == 0) {
            return true;
        }
    }
    return false;
}

static bool agrees(const struct run *run)
{
    bool same = run->record.file_count == run->manifest.file_count;
    for (size_t i = 0; same && i < run->record.file_count; i++) {
        same = lists(&run->manifest, &run->record.files[i]);
    }
    return same;
}

static tc_status read_manifest(struct raw *r, struct run *run, struct tc_error *err)
{
    size_t len = 0;
    struct tc_error why = {0};
    struct tc_error said = {0};
    if (!tc_digest_parse_exact(run->said->manifest, &run->digest)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "a manifest of the claim has no digest");
    }
    tc_status status = r->source->read(r->source->context, &run->digest, TC_MANIFEST_BYTES_MAX,
                                       &run->text, &len, &why);
    status = status == TC_OK ? tc_manifest_read(tc_slice_make(run->text, len), &run->manifest,
                                                &run->memory, &why)
                             : status;
    if (status == TC_OK && run->has_record && !agrees(run)) {
        status = tc_fail(&why, TC_E_MALFORMED, 0, "it lists other files than the ledger does");
    }
    (void)tc_fail(&said, status, 0, "run %.*s: %s", TC_FMT(run->said->run_id), why.message);
    return tc_chain_judge(r->c, TC_STEP_MANIFESTS, status, &said, err);
}

static tc_status check_signature(struct raw *r, struct run *run, struct tc_error *err)
{
    struct tc_error why = {0};
    struct tc_error said = {0};
    char *text = NULL;
    size_t len = 0;
    size_t count = 0;
    tc_status status = TC_OK;
    if (!run->proof->is_signed) {
        if (run->said->is_signed || r->key != NULL) {
            tc_chain_set(r->c, TC_STEP_SIGNATURES, TC_STEP_BROKEN, "run %.*s is %s",
                         TC_FMT(run->said->run_id),
                         run->said->is_signed ? "no longer signed" : "not signed");
        }
        return TC_OK;
    }
    struct tc_subject *subjects = tc_manifest_subjects(&run->manifest, &run->digest, &count);
    if (subjects == NULL) {
        return no_memory(err);
    }
    status = r->source->read(r->source->context, &run->proof->signature, TC_SIGN_ENVELOPE_MAX,
                             &text, &len, &why);
    if (status == TC_OK) {
        status = tc_sign_verify(r->key, tc_slice_make(text, len), subjects, count, &why);
    }
    free(text);
    free(subjects);
    (void)tc_fail(&said, status, 0, "run %.*s: %s", TC_FMT(run->said->run_id), why.message);
    return tc_chain_judge(r->c, TC_STEP_SIGNATURES, status, &said, err);
}

static tc_status check_files(struct raw *r, const struct run *run, struct tc_error *err)
{
    for (size_t i = 0; i < run->manifest.file_count; i++) {
        const struct tc_manifest_file *f = &run->manifest.files[i];
        struct tc_error why = {0};
        struct tc_error said = {0};
        uint64_t size = 0;
        tc_status status = r->source->check(r->source->context, &f->digest, &size, &why);
        if (status == TC_OK && size != f->size) {
            status = tc_fail(&why, TC_E_MALFORMED, 0, "it has another size than the manifest says");
        }
        if (status != TC_OK) {
            (void)tc_fail(&said, status, 0, "run %.*s: %s %.*s: %s", TC_FMT(run->said->run_id),
                          tc_role_name(f->role), TC_FMT(f->name), why.message);
            return tc_chain_judge(r->c, TC_STEP_FILES, status, &said, err);
        }
        r->files++;
        r->bytes += size;
    }
    return TC_OK;
}

/* ---- the number ---- */

/* The run as its files make it: the workload and the manifest of the claim. */
static tc_status check_made_run(struct raw *r, struct tc_warehouse *w,
                                const struct tc_claim_run *said, struct tc_error *err)
{
    struct tc_answer set;
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = said->run_id};
    TC_TRY(tc_answer_query(w,
                           "SELECT workload_spec_digest, artifact_manifest_digest FROM "
                           "benchmark_run_fact WHERE run_id = ?",
                           &id, 1, &set, err));
    bool same = set.row_count == 1 && tc_slice_eq(tc_answer_text(&set, 0, 0), said->workload) &&
                tc_slice_eq(tc_answer_text(&set, 0, 1), said->manifest);
    if (!same) {
        tc_chain_set(r->c, TC_STEP_NUMBER, TC_STEP_BROKEN,
                     "the files of run %.*s make another run: of workload %.*s, manifest %.*s",
                     TC_FMT(said->run_id),
                     TC_FMT(set.row_count > 0 ? tc_answer_text(&set, 0, 0) : TC_EMPTY),
                     TC_FMT(set.row_count > 0 ? tc_answer_text(&set, 0, 1) : TC_EMPTY));
    }
    tc_answer_fini(&set);
    return TC_OK;
}

static void compare_statistic(struct tc_chain *c, const struct tc_claim *claim,
                              const struct tc_statistic *s)
{
    const struct {
        const char *what;
        double made;
        double said;
    } parts[] = {{TC_STATISTIC_MEDIAN, s->value, claim->value},
                 {"lower end of the interval", s->low, claim->low},
                 {"upper end of the interval", s->high, claim->high},
                 {"level of the interval", s->level, claim->level},
                 {"spread", s->spread, claim->spread}};
    for (size_t i = 0; i < TC_COUNT(parts); i++) {
        if (!tc_values_are_same(parts[i].made, parts[i].said)) {
            tc_chain_set(c, TC_STEP_NUMBER, TC_STEP_BROKEN,
                         "the %s of the values is %.17g, the claim says %.17g", parts[i].what,
                         parts[i].made, parts[i].said);
            return;
        }
    }
    tc_chain_set(c, TC_STEP_NUMBER, TC_STEP_HOLDS, "%.10g, made again from the raw files",
                 s->value);
}

/* The statistic of the values that the claim lists, which were compared with the made ones. */
static tc_status check_statistic(struct raw *r, struct tc_error *err)
{
    const struct tc_claim *claim = r->claim;
    struct tc_statistic s;
    size_t count = 0;
    double *values = calloc(claim->run_count, sizeof *values);
    if (values == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < claim->run_count; i++) {
        if (!claim->runs[i].is_basis) {
            values[count++] = claim->runs[i].value;
        }
    }
    tc_status status = tc_statistic_make(values, count, claim->level_asked, &s, NULL, err);
    free(values);
    if (status == TC_OK) {
        compare_statistic(r->c, claim, &s);
    }
    return status;
}

/* What the tables of these runs depend on. */
static void key_of(const struct tc_claim *claim, struct tc_digest *out)
{
    struct tc_sha256 h;
    tc_sha256_init(&h);
    for (size_t i = 0; i < claim->run_count; i++) {
        tc_sha256_update(&h, claim->runs[i].record);
    }
    tc_sha256_final(&h, out);
}

static tc_status fill(struct raw *r, struct tc_made *made, struct tc_error *err)
{
    struct tc_digest key;
    const struct tc_run_record **records = calloc(r->count, sizeof(const struct tc_run_record *));
    if (records == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < r->count; i++) {
        records[i] = &r->runs[i].record;
    }
    key_of(r->claim, &key);
    tc_status status = tc_made_fill(made, records, r->count, &key, &r->source->bytes, err);
    free(records);
    return status;
}

static tc_status compare_made(struct raw *r, struct tc_warehouse *w, struct tc_error *err)
{
    struct tc_error why = {0};
    struct tc_values values = {0};
    tc_status status = tc_values_query(w, r->claim->query, &values, &why);
    status = tc_chain_judge(r->c, TC_STEP_NUMBER, status, &why, err);
    if (status == TC_OK && r->c->steps[TC_STEP_NUMBER].state != TC_STEP_BROKEN) {
        char what[TC_ERROR_MESSAGE_MAX];
        if (tc_values_are_of(&values, r->claim, TC_VALUES_SAME, what)) {
            status = check_statistic(r, err);
        } else {
            tc_chain_set(r->c, TC_STEP_NUMBER, TC_STEP_BROKEN, "from the raw files: %s", what);
        }
    }
    tc_values_fini(&values);
    return status;
}

static tc_status check_made(struct raw *r, struct tc_made *made, struct tc_error *err)
{
    struct tc_error why = {0};
    tc_status status = fill(r, made, &why);
    TC_TRY(tc_chain_judge(r->c, TC_STEP_NUMBER, status, &why, err));
    for (size_t i = 0; i < r->count && r->c->steps[TC_STEP_NUMBER].state != TC_STEP_BROKEN; i++) {
        TC_TRY(check_made_run(r, made->w, r->runs[i].said, err));
    }
    return r->c->steps[TC_STEP_NUMBER].state == TC_STEP_BROKEN ? TC_OK
                                                               : compare_made(r, made->w, err);
}

static tc_status check_number(struct raw *r, struct tc_error *err)
{
    struct tc_made own = {0};
    if (!tc_slice_eq(r->claim->statistic, TC_LIT(TC_STATISTIC_MEDIAN))) {
        tc_chain_set(r->c, TC_STEP_NUMBER, TC_STEP_BROKEN, "this program knows no \"%.*s\"",
                     TC_FMT(r->claim->statistic));
        return TC_OK;
    }
    tc_status status = check_made(r, r->source->made != NULL ? r->source->made : &own, err);
    tc_made_close(&own);
    return status;
}

/* ---- all of them ---- */

static void close_runs(struct raw *r)
{
    for (size_t i = 0; r->runs != NULL && i < r->count; i++) {
        tc_run_record_fini(&r->runs[i].record);
        tc_json_parser_destroy(r->runs[i].parser);
        free(r->runs[i].text);
        free(r->runs[i].memory);
    }
    free(r->runs);
}

static tc_status each(struct raw *r, enum tc_step step,
                      tc_status (*check)(struct raw *r, struct run *run, struct tc_error *err),
                      struct tc_error *err)
{
    for (size_t i = 0; i < r->count && r->c->steps[step].state != TC_STEP_BROKEN; i++) {
        TC_TRY(check(r, &r->runs[i], err));
    }
    return TC_OK;
}

static tc_status each_files(struct raw *r, struct tc_error *err)
{
    for (size_t i = 0; i < r->count && r->c->steps[TC_STEP_FILES].state != TC_STEP_BROKEN; i++) {
        TC_TRY(check_files(r, &r->runs[i], err));
    }
    return TC_OK;
}

static void conclude(struct raw *r, enum tc_step step, const char *what)
{
    if (r->c->steps[step].state != TC_STEP_BROKEN) {
        tc_chain_set(r->c, step, TC_STEP_HOLDS, "%s", what);
    }
}

static const char *signature_words(const struct raw *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++) {
        count += r->runs[i].proof->is_signed ? 1 : 0;
    }
    return count == 0         ? "none, and none was asked for"
           : r->key != NULL   ? "all by this key (local key, no transparency log)"
           : count < r->count ? "of some runs, not checked against a key: give --pub FILE"
                              : "there, not checked against a key: give --pub FILE";
}

static tc_status check_all(struct raw *r, struct tc_error *err)
{
    struct tc_chain *c = r->c;
    char words[96];
    bool has_records = true;
    for (size_t i = 0; i < r->count; i++) {
        TC_TRY(read_record(r, &r->runs[i], err));
        has_records = has_records && r->runs[i].has_record;
    }
    if (c->steps[TC_STEP_RUNS].state == TC_STEP_UNCHECKED) {
        tc_chain_set(c, TC_STEP_RUNS, TC_STEP_HOLDS, "%zu, each as it was added", r->count);
    }
    TC_TRY(each(r, TC_STEP_MANIFESTS, read_manifest, err));
    (void)snprintf(words, sizeof words, "%zu, each with its digest", r->count);
    conclude(r, TC_STEP_MANIFESTS, words);
    if (!holds(c, TC_STEP_MANIFESTS)) {
        leave(c, TC_STEP_SIGNATURES, TC_STEP_MANIFESTS);
        leave(c, TC_STEP_FILES, TC_STEP_MANIFESTS);
        leave(c, TC_STEP_NUMBER, TC_STEP_MANIFESTS);
        return TC_OK;
    }
    TC_TRY(each(r, TC_STEP_SIGNATURES, check_signature, err));
    conclude(r, TC_STEP_SIGNATURES, signature_words(r));
    TC_TRY(each_files(r, err));
    (void)snprintf(words, sizeof words, "%llu files, %llu bytes, hashed again",
                   (unsigned long long)r->files, (unsigned long long)r->bytes);
    conclude(r, TC_STEP_FILES, words);
    if (!has_records || !holds(c, TC_STEP_FILES)) {
        leave(c, TC_STEP_NUMBER, has_records ? TC_STEP_FILES : TC_STEP_RUNS);
        return TC_OK;
    }
    return check_number(r, err);
}

tc_status tc_chain_raw(struct tc_chain *c, const struct tc_claim *claim,
                       const struct tc_source *source, const struct tc_sign_key *key,
                       struct tc_error *err)
{
    struct raw r = {.c = c,
                    .claim = claim,
                    .source = source,
                    .key = key,
                    .runs = calloc(claim->run_count, sizeof *r.runs),
                    .count = claim->run_count};
    if (r.runs == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < r.count; i++) {
        r.runs[i].said = &claim->runs[i];
        r.runs[i].proof = &source->proofs[i];
    }
    tc_status status = check_all(&r, err);
    close_runs(&r);
    return status;
}
