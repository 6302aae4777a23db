/* SPDX-License-Identifier: Apache-2.0 */
#include "publish/claim.h"

#include "base/json/canonical.h"
#include "base/json/out.h"
#include "base/table/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1
#define NAME_BEGINS "num-"
#define NAME_DIGITS 16

/* ---- writing ---- */

static void put_run(struct tc_json_out *j, const struct tc_claim_run *r)
{
    tc_json_add_object(j);
    tc_json_put_str(j, "artifact_manifest_digest", r->manifest);
    if (r->is_outlier) {
        tc_json_put_bool(j, "outlier", true);
    }
    if (r->is_basis) {
        tc_json_put_bool(j, "basis", true);
    }
    tc_json_put_str(j, "record_digest", r->record);
    if (r->rows != 1) {
        tc_json_put_i64(j, "rows", r->rows);
    }
    tc_json_put_str(j, "run_id", r->run_id);
    tc_json_put_bool(j, "signed", r->is_signed);
    tc_json_put_f64(j, "value", r->value);
    tc_json_put_some(j, "workload_spec_digest", r->workload);
    tc_json_end_object(j);
}

static void put_interval(struct tc_json_out *j, const struct tc_claim *c)
{
    tc_json_put_object(j, "confidence");
    tc_json_put_f64(j, "asked", c->level_asked);
    tc_json_put_f64(j, "high", c->high);
    tc_json_put_f64(j, "level", c->level);
    tc_json_put_f64(j, "low", c->low);
    tc_json_put_some(j, "method", c->interval_method);
    tc_json_end_object(j);
}

void tc_claim_json(const struct tc_claim *c, struct tc_json_out *j)
{
    tc_json_add_object(j);
    tc_json_put_i64(j, "claim_version", VERSION);
    tc_json_key(j, "conditions");
    tc_conditions_write(j, c->conditions, c->condition_count);
    put_interval(j, c);
    tc_json_put_some(j, "definition_id", c->definition_id);
    tc_json_put_object(j, "distribution");
    tc_json_put_bool(j, "multimodal", c->is_multimodal);
    tc_json_put_f64(j, "spread", c->spread);
    tc_json_end_object(j);
    tc_json_put_str(j, "metric", c->metric);
    tc_json_put_some(j, "point", c->point);
    tc_json_put_str(j, "query", c->query);
    tc_json_put_str(j, "query_spec_digest", c->query_digest);
    tc_json_put_str(j, "report_row", c->report_row);
    tc_json_put_array(j, "runs");
    for (size_t i = 0; i < c->run_count; i++) {
        put_run(j, &c->runs[i]);
    }
    tc_json_end_array(j);
    tc_json_put_some(j, "statement", c->statement);
    tc_json_put_str(j, "statistic", c->statistic);
    tc_json_put_some(j, "unit", c->unit);
    tc_json_put_f64(j, "value", c->value);
    tc_json_end_object(j);
}

tc_status tc_claim_write(const struct tc_claim *claim, char **out_text, size_t *out_len,
                         struct tc_error *err)
{
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_out_grow(&g);
    if (claim->query.len > TC_CLAIM_QUERY_MAX || claim->run_count > TC_CLAIM_RUNS_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "a published number stands on at most %d runs, and its query has at most "
                       "%zu bytes",
                       TC_CLAIM_RUNS_MAX, TC_CLAIM_QUERY_MAX);
    }
    tc_claim_json(claim, &j);
    tc_status status = g.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the claim")
                                : tc_canonical_text(tc_grow_slice(&g), out_text, out_len, err);
    tc_grow_fini(&g);
    return status;
}

/* ---- reading ---- */

/* NaN where there is none. */
static double real_of(struct tc_json object, struct tc_slice key)
{
    struct tc_json v;
    double value = (double)NAN;
    return tc_json_get(object, key, &v) && tc_json_double(v, &value) ? value : (double)NAN;
}

static bool bool_of(struct tc_json object, struct tc_slice key)
{
    struct tc_json v;
    bool value = false;
    return tc_json_get(object, key, &v) && tc_json_bool(v, &value) && value;
}

static bool is_digest(struct tc_slice text)
{
    struct tc_digest ignored;
    return tc_digest_parse_exact(text, &ignored);
}

static bool read_run(struct tc_json v, struct tc_claim_run *out)
{
    *out = (struct tc_claim_run){
        .run_id = tc_json_get_string(v, TC_LIT("run_id")),
        .workload = tc_json_get_string(v, TC_LIT("workload_spec_digest")),
        .manifest = tc_json_get_string(v, TC_LIT("artifact_manifest_digest")),
        .record = tc_json_get_string(v, TC_LIT("record_digest")),
        .value = real_of(v, TC_LIT("value")),
        .rows = tc_json_get_int(v, TC_LIT("rows"), 1),
        .is_signed = bool_of(v, TC_LIT("signed")),
        .is_outlier = bool_of(v, TC_LIT("outlier")),
        .is_basis = bool_of(v, TC_LIT("basis")),
    };
    return out->run_id.len > 0 && is_digest(out->manifest) && is_digest(out->record) &&
           (out->workload.len == 0 || is_digest(out->workload)) &&
           isfinite(out->value) == !out->is_basis;
}

static tc_status read_runs(struct tc_json root, struct tc_claim *c, struct tc_error *err)
{
    struct tc_json list;
    struct tc_json v;
    size_t cap = 0;
    if (!tc_json_get(root, TC_LIT("runs"), &list)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "the claim names no runs");
    }
    for (struct tc_json_iter it = tc_json_iter_make(list); tc_json_iter_next(&it, NULL, &v);) {
        tc_status status = tc_grow_items(c->runs, cap, c->run_count + 1, TC_CLAIM_RUNS_MAX);
        if (status != TC_OK) {
            return tc_fail(err, status, 0, "the claim has too many runs");
        }
        if (!read_run(v, &c->runs[c->run_count])) {
            return tc_fail(err, TC_E_MALFORMED, 0, "run %zu of the claim lacks an id or a digest",
                           c->run_count + 1);
        }
        c->run_count++;
    }
    return tc_claim_replicates(c) > 0
               ? TC_OK
               : tc_fail(err, TC_E_MALFORMED, 0, "the claim names no runs with a value");
}

static tc_status read_conditions(struct tc_json root, struct tc_claim *c, struct tc_error *err)
{
    struct tc_json list;
    c->conditions = calloc(TC_CONDITIONS_MAX, sizeof *c->conditions);
    if (c->conditions == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the claim");
    }
    if (tc_json_get(root, TC_LIT("conditions"), &list)) {
        c->condition_count = tc_conditions_of(list, c->conditions);
    }
    return TC_OK;
}

static void read_members(struct tc_json root, struct tc_claim *c)
{
    struct tc_json part;
    c->metric = tc_json_get_string(root, TC_LIT("metric"));
    c->definition_id = tc_json_get_string(root, TC_LIT("definition_id"));
    c->unit = tc_json_get_string(root, TC_LIT("unit"));
    c->point = tc_json_get_string(root, TC_LIT("point"));
    c->report_row = tc_json_get_string(root, TC_LIT("report_row"));
    c->statistic = tc_json_get_string(root, TC_LIT("statistic"));
    c->query = tc_json_get_string(root, TC_LIT("query"));
    c->query_digest = tc_json_get_string(root, TC_LIT("query_spec_digest"));
    c->statement = tc_json_get_string(root, TC_LIT("statement"));
    c->value = real_of(root, TC_LIT("value"));
    c->low = c->high = c->level = c->level_asked = c->spread = (double)NAN;
    if (tc_json_get(root, TC_LIT("confidence"), &part)) {
        c->low = real_of(part, TC_LIT("low"));
        c->high = real_of(part, TC_LIT("high"));
        c->level = real_of(part, TC_LIT("level"));
        c->level_asked = real_of(part, TC_LIT("asked"));
        c->interval_method = tc_json_get_string(part, TC_LIT("method"));
    }
    if (tc_json_get(root, TC_LIT("distribution"), &part)) {
        c->is_multimodal = bool_of(part, TC_LIT("multimodal"));
        c->spread = real_of(part, TC_LIT("spread"));
    }
}

/* One claim has one name: what is read is what would be written. */
static tc_status need_canonical(const struct tc_claim *c, struct tc_slice json,
                                struct tc_error *err)
{
    char *text = NULL;
    size_t len = 0;
    TC_TRY(tc_claim_write(c, &text, &len, err));
    bool same = tc_slice_eq(tc_slice_make(text, len), json);
    free(text);
    return same ? TC_OK
                : tc_fail(err, TC_E_MALFORMED, 0,
                          "the claim is not in the form in which this program writes it");
}

tc_status tc_claim_read(struct tc_slice json, struct tc_claim *out, struct tc_error *err)
{
    struct tc_json root;
    *out = (struct tc_claim){.parser = tc_json_parser_create()};
    if (out->parser == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the claim");
    }
    TC_TRY(tc_json_parse(out->parser, json, &root, err));
    if (tc_json_get_int(root, TC_LIT("claim_version"), 0) != VERSION) {
        return tc_fail(err, TC_E_MALFORMED, 0, "the claim is of another version of tracecore");
    }
    read_members(root, out);
    TC_TRY(read_runs(root, out, err));
    TC_TRY(read_conditions(root, out, err));
    if (out->metric.len == 0 || out->query.len == 0 || out->statistic.len == 0 ||
        !is_digest(out->query_digest) || !isfinite(out->value)) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "the claim lacks its metric, query, statistic or value");
    }
    return need_canonical(out, json, err);
}

void tc_claim_fini(struct tc_claim *claim)
{
    free(claim->runs);
    free(claim->conditions);
    tc_json_parser_destroy(claim->parser);
    *claim = (struct tc_claim){0};
}

/* ---- its name ---- */

tc_status tc_claim_name(struct tc_slice canonical, char out_id[TC_NUMBER_ID_BYTES],
                        struct tc_error *err)
{
    struct tc_digest digest;
    struct tc_buf b = tc_buf_make(out_id, TC_NUMBER_ID_BYTES);
    if (tc_digest_sha256(canonical, &digest) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "SHA-256 cannot be set up");
    }
    tc_buf_lit(&b, NAME_BEGINS);
    for (size_t i = 0; i < NAME_DIGITS / 2; i++) {
        tc_buf_hex(&b, digest.bytes[i], 2);
    }
    tc_buf_char(&b, '\0');
    return TC_OK;
}

size_t tc_claim_replicates(const struct tc_claim *claim)
{
    size_t count = 0;
    for (size_t i = 0; i < claim->run_count; i++) {
        count += claim->runs[i].is_basis ? 0 : 1;
    }
    return count;
}

bool tc_claim_is_name(struct tc_slice text)
{
    uint64_t ignored;
    return text.len == TC_NUMBER_ID_BYTES - 1 && tc_slice_starts(text, TC_LIT(NAME_BEGINS)) &&
           tc_slice_hex(tc_slice_from(text, sizeof NAME_BEGINS - 1), &ignored) == NAME_DIGITS;
}

/* ---- its rows ---- */

/* NULL stays where the text is empty. */
static bool put(struct tc_rows *rows, size_t column, struct tc_slice text)
{
    return text.len == 0 || tc_rows_text(rows, column, text) == TC_OK;
}

static bool put_row(struct tc_rows *rows, const struct tc_claim *c, const struct tc_claim_run *r,
                    const char *number_id, struct tc_slice entry)
{
    tc_rows_real(rows, TC_PUBLISHED_VALUE, c->value);
    tc_rows_real(rows, TC_PUBLISHED_LOW, c->low);
    tc_rows_real(rows, TC_PUBLISHED_HIGH, c->high);
    tc_rows_real(rows, TC_PUBLISHED_LEVEL, c->level);
    tc_rows_int(rows, TC_PUBLISHED_REPLICATES, (int64_t)tc_claim_replicates(c));
    tc_rows_int(rows, TC_PUBLISHED_UNSTABLE, c->statement.len > 0 ? 1 : 0);
    return put(rows, TC_PUBLISHED_ID, tc_slice_cstr(number_id)) &&
           put(rows, TC_PUBLISHED_REPORT_ROW, c->report_row) &&
           put(rows, TC_PUBLISHED_METRIC, c->metric) &&
           put(rows, TC_PUBLISHED_DEFINITION_ID, c->definition_id) &&
           put(rows, TC_PUBLISHED_STATISTIC, c->statistic) &&
           put(rows, TC_PUBLISHED_UNIT, c->unit) && put(rows, TC_PUBLISHED_QUERY, c->query) &&
           put(rows, TC_PUBLISHED_QUERY_DIGEST, c->query_digest) &&
           put(rows, TC_PUBLISHED_RUN_ID, r->run_id) &&
           put(rows, TC_PUBLISHED_SPEC_DIGEST, r->workload) &&
           put(rows, TC_PUBLISHED_MANIFEST_DIGEST, r->manifest) &&
           put(rows, TC_PUBLISHED_POINT, c->point) &&
           put(rows, TC_PUBLISHED_STATEMENT, c->statement) && put(rows, TC_PUBLISHED_ENTRY, entry);
}

struct tc_rows *tc_claim_rows(const struct tc_claim *claim, const char *number_id,
                              int64_t published_us, const struct tc_digest *entry)
{
    char text[TC_DIGEST_TEXT];
    struct tc_rows *rows = tc_rows_create(TC_TABLE_PUBLISHED);
    bool good = rows != NULL;
    tc_digest_text(entry, text);
    for (size_t i = 0; good && i < claim->run_count; i++) {
        good = tc_rows_add(rows);
        if (good) {
            tc_rows_int(rows, TC_PUBLISHED_PUBLISHED, published_us);
            good = put_row(rows, claim, &claim->runs[i], number_id, tc_slice_cstr(text));
        }
    }
    if (!good) {
        tc_rows_destroy(rows);
        return NULL;
    }
    return rows;
}
