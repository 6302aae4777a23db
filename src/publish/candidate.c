/* SPDX-License-Identifier: Apache-2.0 */
/* A claim that is to be: what the tables and the ledger say of its runs. */
#include "publish/publish_priv.h"
#include "publish/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* This one is measured against other runs of the case, which the claim has to name too. */
#define AGAINST_OTHERS "scaling_efficiency_pct"

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for the claim");
}

/* ---- its runs ---- */

static int by_id(const void *a, const void *b)
{
    return tc_slice_cmp(((const struct tc_claim_run *)a)->run_id,
                        ((const struct tc_claim_run *)b)->run_id);
}

static bool has_run(const struct tc_values *v, struct tc_slice id)
{
    for (size_t i = 0; i < v->count; i++) {
        if (tc_slice_eq(tc_slice_cstr(v->items[i].run_id), id)) {
            return true;
        }
    }
    return false;
}

static tc_status find_others(struct tc__candidate *c, struct tc_error *err)
{
    struct tc_bind id = {.type = TC_COLUMN_TEXT,
                         .as.text = tc_slice_cstr(c->values.items[0].run_id)};
    return !tc_slice_eq(c->want->metric, TC_LIT(AGAINST_OTHERS))
               ? TC_OK
               : tc_answer_query(
                     c->want->w,
                     "SELECT run_id FROM benchmark_run_fact WHERE benchmark_case_id IN (SELECT "
                     "benchmark_case_id FROM benchmark_run_fact WHERE run_id = ?) ORDER BY run_id",
                     &id, 1, &c->others, err);
}

/* Those with a value, and those without that these are measured against. */
static tc_status list_runs(struct tc__candidate *c, struct tc_error *err)
{
    size_t max = c->values.count + c->others.row_count;
    c->claim.runs = calloc(max, sizeof *c->claim.runs);
    c->rows = calloc(max, sizeof *c->rows);
    c->records = calloc(max, sizeof *c->records);
    if (c->claim.runs == NULL || c->rows == NULL || c->records == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < c->values.count; i++) {
        const struct tc_run_value *v = &c->values.items[i];
        c->claim.runs[c->claim.run_count++] = (struct tc_claim_run){
            .run_id = tc_slice_cstr(v->run_id), .value = v->value, .rows = v->rows};
    }
    for (size_t i = 0; i < c->others.row_count; i++) {
        struct tc_slice id = tc_answer_text(&c->others, i, 0);
        if (!has_run(&c->values, id)) {
            c->claim.runs[c->claim.run_count++] = (struct tc_claim_run){
                .run_id = id, .value = (double)NAN, .rows = 1, .is_basis = true};
        }
    }
    qsort(c->claim.runs, c->claim.run_count, sizeof *c->claim.runs, by_id);
    return TC_OK;
}

/* The columns TC__RUN_... of one run. */
static tc_status ask_run(struct tc_warehouse *w, struct tc_slice run_id, struct tc_answer *out,
                         struct tc_error *err)
{
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = run_id};
    return tc_answer_query(
        w,
        "SELECT r.workload_spec_digest, r.artifact_manifest_digest, r.contract_digest, "
        "r.conditions, r.min_replicates, r.confidence_level, l.signature_digest FROM "
        "benchmark_run_fact r LEFT JOIN artifact_lineage_dim l ON l.run_id = r.run_id WHERE "
        "r.run_id = ?",
        &id, 1, out, err);
}

static tc_status read_run(struct tc__candidate *c, size_t at, struct tc_error *err)
{
    struct tc_claim_run *run = &c->claim.runs[at];
    struct tc_answer *row = &c->rows[at];
    TC_TRY(ask_run(c->want->w, run->run_id, row, err));
    if (row->row_count != 1 || tc_answer_text(row, 0, TC__RUN_MANIFEST).len == 0) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "the query has a value of %.*s, which is no run in benchmark_run_fact",
                       TC_FMT(run->run_id));
    }
    run->workload = tc_answer_text(row, 0, TC__RUN_WORKLOAD);
    run->manifest = tc_answer_text(row, 0, TC__RUN_MANIFEST);
    run->is_signed = tc_answer_text(row, 0, TC__RUN_SIGNATURE).len > 0;
    if (tc_answer_known(row, 0, TC__RUN_LEVEL)) {
        double level = tc_answer_real(row, 0, TC__RUN_LEVEL);
        c->claim.level_asked = fmax(isnan(c->claim.level_asked) ? 0 : c->claim.level_asked, level);
    }
    return TC_OK;
}

/* The digests of their records; that of nothing for a run that has none, which is told later. */
static tc_status read_records(struct tc__candidate *c, struct tc_error *err)
{
    struct tc_source source;
    tc_status status =
        tc_source_stored(c->want->data_dir, c->want->files, c->want->w, &c->claim, &source, err);
    for (size_t i = 0; status == TC_OK && i < c->claim.run_count; i++) {
        struct tc_digest digest;
        struct tc_slice text = tc_slice_make(source.proofs[i].record, source.proofs[i].record_len);
        status = tc_digest_sha256(text, &digest);
        tc_digest_text(&digest, c->records[i]);
        c->claim.runs[i].record = tc_slice_cstr(c->records[i]);
    }
    tc_source_fini(&source);
    return status;
}

/* ---- are the tables honest? ---- */

/* Those that depend on other runs, or on a signature, are asked of the number itself. */
static bool is_of_files(struct tc_slice name)
{
    return !tc_slice_eq(name, TC_LIT("replicates")) && !tc_slice_eq(name, TC_LIT("signed")) &&
           !tc_slice_eq(name, TC_LIT("scaling"));
}

static bool is_unmet(const struct tc_condition *list, size_t count, struct tc_slice name)
{
    for (size_t i = 0; i < count; i++) {
        if (tc_slice_eq(list[i].name, name)) {
            return list[i].state != TC_CONDITION_MET;
        }
    }
    return false;
}

/* The first condition that the files do not meet and the tables do not say so of; empty: none. */
static struct tc_slice embellished(struct tc_json_parser *const parsers[2], struct tc_slice said,
                                   struct tc_slice made)
{
    struct tc_condition tables[TC_CONDITIONS_MAX];
    struct tc_condition files[TC_CONDITIONS_MAX];
    size_t table_count = tc_conditions_read(parsers[0], said, tables);
    size_t file_count = tc_conditions_read(parsers[1], made, files);
    for (size_t i = 0; i < file_count; i++) {
        if (files[i].state != TC_CONDITION_MET && is_of_files(files[i].name) &&
            !is_unmet(tables, table_count, files[i].name)) {
            return files[i].name;
        }
    }
    return TC_EMPTY;
}

static void compare_run(struct tc__candidate *c, size_t at, const struct tc_answer *made,
                        struct tc_json_parser *const parsers[2])
{
    const struct tc_answer *said = &c->rows[at];
    struct tc_slice name = made->row_count != 1 ? TC_LIT("run")
                           : !tc_slice_eq(tc_answer_text(made, 0, TC__RUN_CONTRACT),
                                          tc_answer_text(said, 0, TC__RUN_CONTRACT)) ||
                                   tc_answer_int(made, 0, TC__RUN_MIN_REPLICATES) !=
                                       tc_answer_int(said, 0, TC__RUN_MIN_REPLICATES)
                               ? TC_LIT("contract")
                               : embellished(parsers, tc_answer_text(said, 0, TC__RUN_CONDITIONS),
                                             tc_answer_text(made, 0, TC__RUN_CONDITIONS));
    if (name.len > 0) {
        tc_chain_set(&c->chain, TC_STEP_NUMBER, TC_STEP_BROKEN,
                     "benchmark_run_fact says of run %.*s what its files do not give: %.*s; "
                     "`tracecore rebuild` makes it anew",
                     TC_FMT(c->claim.runs[at].run_id), TC_FMT(name));
    }
}

tc_status tc__candidate_recheck(struct tc__candidate *c, struct tc_warehouse *made,
                                struct tc_error *err)
{
    struct tc_json_parser *const parsers[2] = {tc_json_parser_create(), tc_json_parser_create()};
    tc_status status = parsers[0] == NULL || parsers[1] == NULL ? no_memory(err) : TC_OK;
    for (size_t i = 0; status == TC_OK && i < c->claim.run_count &&
                       c->chain.steps[TC_STEP_NUMBER].state == TC_STEP_HOLDS;
         i++) {
        struct tc_answer row = {0};
        status = ask_run(made, c->claim.runs[i].run_id, &row, err);
        if (status == TC_OK) {
            compare_run(c, i, &row, parsers);
        }
        tc_answer_fini(&row);
    }
    tc_json_parser_destroy(parsers[0]);
    tc_json_parser_destroy(parsers[1]);
    return status;
}

/* ---- the number ---- */

static tc_status make_number(struct tc__candidate *c, struct tc_error *err)
{
    struct tc_claim *claim = &c->claim;
    double *values = calloc(c->values.count, sizeof *values);
    bool *outliers = calloc(c->values.count, sizeof *outliers);
    tc_status status = values == NULL || outliers == NULL ? no_memory(err) : TC_OK;
    for (size_t i = 0, at = 0; status == TC_OK && i < claim->run_count; i++) {
        if (!claim->runs[i].is_basis) {
            values[at++] = claim->runs[i].value;
        }
    }
    if (status == TC_OK) {
        status = tc_statistic_make(values, c->values.count, claim->level_asked, &c->statistic,
                                   outliers, err);
    }
    for (size_t i = 0, at = 0; status == TC_OK && i < claim->run_count; i++) {
        if (!claim->runs[i].is_basis) {
            claim->runs[i].is_outlier = outliers[at++];
        }
    }
    free(values);
    free(outliers);
    claim->value = c->statistic.value;
    claim->low = c->statistic.low;
    claim->high = c->statistic.high;
    claim->level = c->statistic.level;
    claim->spread = c->statistic.spread;
    claim->is_multimodal = c->statistic.is_multimodal;
    return status;
}

static tc_status take_words(struct tc__candidate *c, struct tc_error *err)
{
    const struct tc_publish_want *want = c->want;
    struct tc_digest digest;
    if (want->report_row.len > TC_CLAIM_WORDS_MAX || want->unstable.len > TC_CLAIM_WORDS_MAX ||
        want->query.len > TC_CLAIM_QUERY_MAX) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "a report row and a reason have at most %d bytes, a query %zu",
                       TC_CLAIM_WORDS_MAX, TC_CLAIM_QUERY_MAX);
    }
    TC_TRY(tc_digest_sha256(want->query, &digest));
    tc_digest_text(&digest, c->query_digest);
    c->claim = (struct tc_claim){
        .metric = want->metric,
        .definition_id = want->definition_id,
        .unit = want->unit,
        .point = want->point,
        .report_row = want->report_row,
        .statistic = TC_LIT(TC_STATISTIC_MEDIAN),
        .interval_method = TC_LIT("order statistics"),
        .query = want->query,
        .query_digest = tc_slice_cstr(c->query_digest),
        .level_asked = (double)NAN,
    };
    return TC_OK;
}

tc_status tc__candidate_make(struct tc__candidate *c, struct tc_error *err)
{
    TC_TRY(take_words(c, err));
    TC_TRY(tc_values_query(c->want->w, c->want->query, &c->values, err));
    if (c->values.count == 0) {
        return tc_fail(err, TC_E_USAGE, 0, "the query gives no rows: there is nothing to publish");
    }
    TC_TRY(find_others(c, err));
    TC_TRY(list_runs(c, err));
    for (size_t i = 0; i < c->claim.run_count; i++) {
        TC_TRY(read_run(c, i, err));
    }
    if (isnan(c->claim.level_asked)) {
        c->claim.level_asked = TC_CLAIM_LEVEL;
    }
    TC_TRY(read_records(c, err));
    return make_number(c, err);
}

void tc__candidate_fini(struct tc__candidate *c)
{
    for (size_t i = 0; c->rows != NULL && i < c->claim.run_count; i++) {
        tc_answer_fini(&c->rows[i]);
    }
    free(c->rows);
    free(c->records);
    free(c->claim.runs);
    tc_answer_fini(&c->others);
    tc_values_fini(&c->values);
    tc_grow_fini(&c->statement);
}
