/* SPDX-License-Identifier: Apache-2.0 */
#include "publish/lineage.h"

#include "base/format.h"
#include "base/time.h"
#include "publish/values.h"
#include "warehouse/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the audit log ---- */

static const char *day_of(int64_t ns, char out[TC_PUT_TIME_MAX + 1])
{
    struct tc_buf b = tc_buf_make(out, TC_PUT_TIME_MAX);
    tc_buf_time(&b, ns);
    out[b.len < 19 ? b.len : 19] = '\0';
    return out;
}

/* False when nothing else can be told. */
static bool check_entry(const struct tc_lineage_want *want, const struct tc_number *number,
                        struct tc_chain *c, struct tc_claim *claim)
{
    const struct tc_audit_chain *log = &want->numbers->chain;
    char name[TC_NUMBER_ID_BYTES];
    char when[TC_PUT_TIME_MAX + 1];
    struct tc_error why = {0};
    if (number->claim.len == 0 || tc_claim_name(number->claim, name, &why) != TC_OK ||
        strcmp(name, number->id) != 0) {
        tc_chain_set(c, TC_STEP_AUDIT, TC_STEP_BROKEN, "the claim in its entry is not that of %s%s",
                     number->id, log->broken_at > 0 ? ", and the log is broken" : "");
        return false;
    }
    if (tc_claim_read(number->claim, claim, &why) != TC_OK) {
        tc_chain_set(c, TC_STEP_AUDIT, TC_STEP_BROKEN, "%s", why.message);
        return false;
    }
    if (log->broken_at > 0) {
        tc_chain_set(c, TC_STEP_AUDIT, TC_STEP_BROKEN, "%s", log->why);
    } else if (number->is_retracted) {
        tc_chain_set(c, TC_STEP_AUDIT, TC_STEP_BROKEN, "it was retracted at %s UTC: %.*s",
                     day_of(number->retracted_ns, when), TC_FMT(number->reason));
    } else {
        tc_chain_set(c, TC_STEP_AUDIT, TC_STEP_HOLDS, "entry %llu of %llu, at %s UTC by %.*s",
                     (unsigned long long)number->seq, (unsigned long long)log->entries,
                     day_of(number->at_ns, when),
                     TC_FMT(tc_slice_or(number->by, TC_LIT("somebody"))));
    }
    return true;
}

/* ---- its rows ---- */

struct comparing {
    struct tc_chain *c;
    const struct tc_rows *want;
    size_t count; /* of rows that came */
};

static bool is_same_cell(const struct tc_rows *a, const struct tc_rows *b, size_t column,
                         size_t row_a, size_t row_b)
{
    if (tc_rows_is_null(a, column, row_a) || tc_rows_is_null(b, column, row_b)) {
        return tc_rows_is_null(a, column, row_a) == tc_rows_is_null(b, column, row_b);
    }
    switch (a->columns[column].type) {
    case TC_COLUMN_TEXT:
        return tc_slice_eq(tc_rows_get_text(a, column, row_a), tc_rows_get_text(b, column, row_b));
    case TC_COLUMN_REAL:
        return tc_rows_get_real(a, column, row_a) == tc_rows_get_real(b, column, row_b);
    case TC_COLUMN_INT:
    case TC_COLUMN_BOOL:
    case TC_COLUMN_TIME:
        break;
    }
    return tc_rows_get_int(a, column, row_a) == tc_rows_get_int(b, column, row_b);
}

/* The step that a column belongs to. */
static enum tc_step step_of(size_t column)
{
    return column == TC_PUBLISHED_QUERY || column == TC_PUBLISHED_QUERY_DIGEST ? TC_STEP_QUERY
           : column == TC_PUBLISHED_ENTRY                                      ? TC_STEP_AUDIT
                                                                               : TC_STEP_ROW;
}

static void compare_row(struct comparing *x, const struct tc_rows *rows, size_t row)
{
    for (size_t c = 0; c < rows->column_count; c++) {
        enum tc_step step = step_of(c);
        if (x->c->steps[step].state != TC_STEP_BROKEN &&
            !is_same_cell(rows, x->want, c, row, x->count)) {
            tc_chain_set(x->c, step, TC_STEP_BROKEN,
                         "%s of published_number is not what the audit log says (row of run %.*s)",
                         rows->columns[c].name,
                         TC_FMT(tc_rows_get_text(x->want, TC_PUBLISHED_RUN_ID, x->count)));
        }
    }
}

static tc_status take_rows(void *context, const struct tc_rows *rows)
{
    struct comparing *x = context;
    if (rows->count > 0 && !tc_rows_are_of(rows, TC_TABLE_PUBLISHED)) {
        return TC_E_MALFORMED;
    }
    for (size_t row = 0; row < rows->count; row++) {
        if (x->count < x->want->count) {
            compare_row(x, rows, row);
        }
        x->count++;
    }
    return TC_OK;
}

static tc_status compare_rows(const struct tc_lineage_want *want, const struct tc_number *number,
                              struct comparing *x, struct tc_error *err)
{
    struct tc_grow sql = {0};
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(number->id)};
    tc_table_select(&sql, TC_TABLE_PUBLISHED);
    tc_grow_lit(&sql, " WHERE number_id = ? ORDER BY run_id");
    struct tc_query query = {.sql = tc_grow_slice(&sql), .binds = &id, .bind_count = 1};
    tc_status status = sql.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a query")
                                  : tc_warehouse_query(want->w, &query, take_rows, x, NULL, err);
    tc_grow_fini(&sql);
    return status;
}

static tc_status check_rows(const struct tc_lineage_want *want, const struct tc_number *number,
                            const struct tc_claim *claim, struct tc_chain *c, struct tc_error *err)
{
    struct comparing x = {.c = c};
    TC_TRY(tc_chain_query(c, claim, err));
    struct tc_rows *rows =
        tc_claim_rows(claim, number->id, number->at_ns / 1000, &number->entry_digest);
    if (rows == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the rows of a number");
    }
    x.want = rows;
    tc_status status = compare_rows(want, number, &x, err);
    if (status == TC_OK && x.count != rows->count &&
        c->steps[TC_STEP_ROW].state != TC_STEP_BROKEN) {
        tc_chain_set(c, TC_STEP_ROW, TC_STEP_BROKEN,
                     "published_number has %zu rows of it, not %zu; `tracecore rebuild` makes them "
                     "anew",
                     x.count, rows->count);
    } else if (status == TC_OK && c->steps[TC_STEP_ROW].state != TC_STEP_BROKEN) {
        tc_chain_set(c, TC_STEP_ROW, TC_STEP_HOLDS, "%.*s: %.10g %.*s", TC_FMT(claim->report_row),
                     claim->value, TC_FMT(claim->unit));
    }
    tc_rows_destroy(rows);
    return status;
}

/* ---- the tables ---- */

static tc_status check_values(const struct tc_lineage_want *want, const struct tc_claim *claim,
                              struct tc_chain *c, struct tc_error *err)
{
    struct tc_values values = {0};
    struct tc_error why = {0};
    char what[TC_ERROR_MESSAGE_MAX];
    tc_status status = tc_values_query(want->w, claim->query, &values, &why);
    tc_status judged = tc_chain_judge(c, TC_STEP_TABLES, status, &why, err);
    if (status == TC_OK) {
        bool same = tc_values_are_of(&values, claim, 0, what);
        tc_chain_set(
            c, TC_STEP_TABLES, same ? TC_STEP_HOLDS : TC_STEP_BROKEN, "%s%s",
            same ? "the query gives the same values of all runs" : "the query: ", same ? "" : what);
    }
    tc_values_fini(&values);
    return judged;
}

static tc_status check_run(const struct tc_lineage_want *want, const struct tc_claim_run *run,
                           struct tc_chain *c, struct tc_error *err)
{
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = run->run_id};
    struct tc_answer set;
    TC_TRY(tc_answer_query(
        want->w,
        "SELECT r.workload_spec_digest, r.artifact_manifest_digest, l.artifact_manifest_digest "
        "FROM benchmark_run_fact r LEFT JOIN artifact_lineage_dim l ON l.run_id = r.run_id WHERE "
        "r.run_id = ?",
        &id, 1, &set, err));
    const char *wrong =
        set.row_count != 1                                        ? "is not in the tables"
        : !tc_slice_eq(tc_answer_text(&set, 0, 0), run->workload) ? "has another workload"
        : !tc_slice_eq(tc_answer_text(&set, 0, 1), run->manifest) ? "has another manifest"
        : !tc_slice_eq(tc_answer_text(&set, 0, 2), run->manifest) ? "has another lineage"
                                                                  : NULL;
    if (wrong != NULL) {
        tc_chain_set(c, TC_STEP_RUNS, TC_STEP_BROKEN, "run %.*s %s", TC_FMT(run->run_id), wrong);
    }
    tc_answer_fini(&set);
    return TC_OK;
}

static tc_status check_runs(const struct tc_lineage_want *want, const struct tc_claim *claim,
                            struct tc_chain *c, struct tc_error *err)
{
    for (size_t i = 0; i < claim->run_count && c->steps[TC_STEP_RUNS].state != TC_STEP_BROKEN;
         i++) {
        TC_TRY(check_run(want, &claim->runs[i], c, err));
    }
    return TC_OK;
}

static tc_status check_raw(const struct tc_lineage_want *want, const struct tc_claim *claim,
                           struct tc_chain *c, struct tc_error *err)
{
    struct tc_source source;
    tc_status status = tc_source_stored(want->data_dir, want->files, want->w, claim, &source, err);
    source.made = want->made;
    status = status == TC_OK ? tc_chain_raw(c, claim, &source, want->key, err) : status;
    tc_source_fini(&source);
    return status;
}

tc_status tc_lineage_candidate(const struct tc_lineage_want *want, const struct tc_claim *claim,
                               struct tc_chain *out, struct tc_error *err)
{
    *out = (struct tc_chain){0};
    TC_TRY(check_values(want, claim, out, err));
    TC_TRY(check_runs(want, claim, out, err));
    return check_raw(want, claim, out, err);
}

tc_status tc_lineage_check(const struct tc_lineage_want *want, const struct tc_number *number,
                           struct tc_chain *out, struct tc_claim *out_claim, struct tc_error *err)
{
    *out = (struct tc_chain){0};
    *out_claim = (struct tc_claim){0};
    if (!check_entry(want, number, out, out_claim)) {
        for (enum tc_step step = TC_STEP_ROW; step < TC_STEP_COUNT; step++) {
            tc_chain_set(out, step, TC_STEP_UNCHECKED, "needs the %s",
                         tc_step_name(TC_STEP_AUDIT, true));
        }
        return TC_OK;
    }
    if (number->is_retracted) {
        return TC_OK;
    }
    TC_TRY(check_rows(want, number, out_claim, out, err));
    TC_TRY(check_values(want, out_claim, out, err));
    TC_TRY(check_runs(want, out_claim, out, err));
    return check_raw(want, out_claim, out, err);
}

void tc_lineage_json(struct tc_json_out *j, const char *id, const struct tc_claim *claim,
                     const struct tc_chain *chain)
{
    enum tc_step broken = tc_chain_broken(chain);
    tc_json_add_object(j);
    tc_json_put_cstr(j, "number_id", id);
    tc_json_put_bool(j, "publication_safe", broken == TC_STEP_COUNT);
    tc_json_put_str_or_null(j, "broken_step",
                            broken == TC_STEP_COUNT ? TC_EMPTY
                                                    : tc_slice_cstr(tc_step_name(broken, false)));
    tc_json_key(j, "steps");
    tc_chain_json(chain, TC_STEP_AUDIT, j);
    tc_json_key(j, "claim");
    if (claim->run_count > 0) {
        tc_claim_json(claim, j);
    } else {
        tc_json_add_null(j);
    }
    tc_json_end_object(j);
}
