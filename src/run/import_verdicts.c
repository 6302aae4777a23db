/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts that are given with a run: what `tracecore detect --json` printed, a line each. */
#include "run/import_priv.h"

#include "warehouse/verdicts.h"

#include <stdio.h>

/* ---- reading ---- */

static struct tc_slice text_at(const struct tc_rows *rows, size_t column, size_t row)
{
    return tc_rows_is_null(rows, column, row) ? TC_EMPTY : tc_rows_get_text(rows, column, row);
}

/* What a verdict of the run is about is the run's. */
static tc_status take_names(struct tc__import *i, const struct tc_rows *rows, struct tc_error *err)
{
    static const char source[] = "verdict";
    size_t row = rows->count - 1;
    char pod[2 * TC_RUN_NAME_BYTES];
    struct tc_buf b = tc_buf_make(pod, sizeof pod);
    struct tc_slice ns = text_at(rows, TC_VERDICT_POD_NAMESPACE, row);
    struct tc_slice name = text_at(rows, TC_VERDICT_POD_NAME, row);
    if (name.len > 0) {
        tc_buf_str(&b, ns);
        tc_buf_str(&b, ns.len > 0 ? TC_LIT("/") : TC_EMPTY);
        tc_buf_str(&b, name);
    }
    TC_TRY(
        tc__name_add(i, TC_RUN_NAME_POD_UID, text_at(rows, TC_VERDICT_POD_UID, row), source, err));
    TC_TRY(
        tc__name_add(i, TC_RUN_NAME_POD, b.overflowed ? TC_EMPTY : tc_buf_slice(&b), source, err));
    TC_TRY(tc__name_add(i, TC_RUN_NAME_JOB, text_at(rows, TC_VERDICT_JOB_UID, row), source, err));
    return tc__name_add(i, TC_RUN_NAME_NODE, text_at(rows, TC_VERDICT_NODE, row), source, err);
}

static tc_status read_line(struct tc__import *i, struct tc_json_parser *parser,
                           struct tc_slice line, size_t number, struct tc_error *err)
{
    struct tc_error why = {0};
    struct tc_rows *rows = tc__batches_room(&i->batches[TC_TABLE_VERDICT], TC_TABLE_VERDICT);
    if (rows == NULL) {
        return tc__import_nomem(err);
    }
    tc_status status = tc_warehouse_verdict_row(parser, line, i->want->now_us * 1000, rows, &why);
    if (status == TC_E_NOMEM) {
        return tc__import_nomem(err);
    }
    if (status != TC_OK) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "line %zu is no verdict (%s); give what `tracecore detect --json` printed",
                       number, why.message);
    }
    i->batches[TC_TABLE_VERDICT].rows++;
    return take_names(i, rows, err);
}

tc_status tc__import_verdicts(struct tc__import *i, size_t source, struct tc_slice bytes,
                              struct tc_error *err)
{
    struct tc__source *s = &i->sources[source];
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_slice rest = bytes;
    tc_status status = parser == NULL ? tc__import_nomem(err) : TC_OK;
    for (size_t number = 1; status == TC_OK && rest.len > 0; number++) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        if (tc_slice_trim(line).len == 0) {
            continue;
        }
        if (i->rows++ >= TC__IMPORT_ROWS_MAX) {
            status = tc_fail(err, TC_E_LIMIT, 0, "more than %llu rows in all files",
                             (unsigned long long)TC__IMPORT_ROWS_MAX);
        } else {
            status = read_line(i, parser, line, number, err);
            s->rows++;
        }
    }
    tc_json_parser_destroy(parser);
    s->form = "verdicts";
    return status;
}

/* ---- writing ---- */

/* Those from .. to that the warehouse does not have, and each once. */
static tc_status write_some(struct tc__import *i, const struct tc_rows *rows, size_t from,
                            size_t to, struct tc_rows *part, uint64_t *io_rows,
                            struct tc_error *err)
{
    bool known[TC_WAREHOUSE_VERDICTS_MAX] = {0};
    tc_rows_reset(part);
    for (size_t row = from; row < to; row++) {
        if (!tc_rows_add(part) || tc_rows_copy_row(part, rows, row, TC_ROWS_TEXT_MAX) != TC_OK ||
            tc_rows_text(part, TC_VERDICT_RUN_ID, tc_slice_cstr(i->run_id)) != TC_OK ||
            tc_rows_text(part, TC_VERDICT_RUN_JOIN, TC_LIT("given")) != TC_OK) {
            return tc__import_nomem(err);
        }
    }
    if (i->w != NULL) { /* a dry run may have none */
        TC_TRY(tc_warehouse_verdicts_known(i->w, part, known, err));
    }
    struct tc_rows *fresh = tc_rows_create(TC_TABLE_VERDICT);
    tc_status status = fresh == NULL ? tc__import_nomem(err) : TC_OK;
    for (size_t row = 0; status == TC_OK && row < part->count; row++) {
        if (!known[row] && (!tc_rows_add(fresh) ||
                            tc_rows_copy_row(fresh, part, row, TC_ROWS_TEXT_MAX) != TC_OK)) {
            status = tc__import_nomem(err);
        }
    }
    status = status == TC_OK ? tc__import_append(i, TC_TABLE_VERDICT, fresh, err) : status;
    *io_rows += status == TC_OK ? fresh->count : 0;
    tc_rows_destroy(fresh);
    return status;
}

tc_status tc__import_verdicts_write(struct tc__import *i, uint64_t *io_rows, struct tc_error *err)
{
    const struct tc__batches *b = &i->batches[TC_TABLE_VERDICT];
    struct tc_rows *part = tc_rows_create(TC_TABLE_VERDICT);
    tc_status status = part == NULL ? tc__import_nomem(err) : TC_OK;
    for (size_t n = 0; status == TC_OK && n < b->count; n++) {
        const struct tc_rows *rows = b->items[n];
        for (size_t at = 0; status == TC_OK && at < rows->count; at += TC_WAREHOUSE_VERDICTS_MAX) {
            size_t end = at + TC_WAREHOUSE_VERDICTS_MAX;
            status =
                write_some(i, rows, at, end < rows->count ? end : rows->count, part, io_rows, err);
        }
    }
    tc_rows_destroy(part);
    return status;
}
