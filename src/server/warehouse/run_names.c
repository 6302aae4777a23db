/* SPDX-License-Identifier: Apache-2.0 */
#include "server/warehouse/run_names.h"

#include "base/json/out.h"
#include "warehouse/ledger.h"

static struct tc_slice text_of(const struct tc_rows *rows, size_t column, size_t row)
{
    return tc_rows_is_null(rows, column, row) ? TC_EMPTY : tc_rows_get_text(rows, column, row);
}

/* ---- the ledger ---- */

static void add_line(const struct tc_rows *rows, size_t row, struct tc_grow *lines)
{
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_object_grow(&g);
    tc_json_put_str(&j, "run_id", text_of(rows, TC_RUN_SCOPE_RUN_ID, row));
    tc_json_put_str(&j, "kind", text_of(rows, TC_RUN_SCOPE_KIND, row));
    tc_json_put_str(&j, "name", text_of(rows, TC_RUN_SCOPE_NAME, row));
    tc_json_put_str(&j, "source", text_of(rows, TC_RUN_SCOPE_SOURCE, row));
    tc_json_put_i64(&j, "from_us", tc_rows_get_int(rows, TC_RUN_SCOPE_START, row));
    tc_json_put_i64(&j, "to_us", tc_rows_get_int(rows, TC_RUN_SCOPE_END, row));
    tc_json_end_object(&j);
    tc_ledger_add(lines, tc_grow_slice(&g));
    lines->failed |= g.failed;
    tc_grow_fini(&g);
}

tc_status tc_run_names_again(struct tc_json_parser *parser, struct tc_slice json,
                             struct tc_rows *rows, struct tc_error *err)
{
    static const struct {
        size_t column;
        struct tc_slice key;
    } TEXTS[] = {
        {TC_RUN_SCOPE_RUN_ID, {"run_id", 6}},
        {TC_RUN_SCOPE_KIND, {"kind", 4}},
        {TC_RUN_SCOPE_NAME, {"name", 4}},
        {TC_RUN_SCOPE_SOURCE, {"source", 6}},
    };
    struct tc_json root;
    TC_TRY(tc_json_parse(parser, json, &root, err));
    if (tc_json_get_string(root, TC_LIT("run_id")).len == 0 || !tc_rows_add(rows)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "a line of the ledger names no run");
    }
    tc_status status = TC_OK;
    for (size_t i = 0; i < TC_COUNT(TEXTS) && status == TC_OK; i++) {
        status = tc_rows_text(rows, TEXTS[i].column, tc_json_get_string(root, TEXTS[i].key));
    }
    tc_rows_int(rows, TC_RUN_SCOPE_START, tc_json_get_int(root, TC_LIT("from_us"), 0));
    tc_rows_int(rows, TC_RUN_SCOPE_END, tc_json_get_int(root, TC_LIT("to_us"), 0));
    return status == TC_OK ? TC_OK : tc_fail(err, status, 0, "no memory for the names of a run");
}

/* ---- writing ---- */

static struct tc_bind bind_cell(const struct tc_rows *rows, size_t column, size_t row)
{
    bool is_text = rows->columns[column].type == TC_COLUMN_TEXT;
    struct tc_bind bind = {.type = rows->columns[column].type};
    if (is_text) {
        bind.as.text = text_of(rows, column, row);
    } else {
        bind.as.integer = tc_rows_get_int(rows, column, row);
    }
    return bind;
}

/* After a start the same telemetry may be read again. */
static tc_status is_there(struct tc_warehouse *w, const struct tc_rows *names, size_t row,
                          bool *out, struct tc_error *err)
{
    const struct tc_bind binds[] = {
        bind_cell(names, TC_RUN_SCOPE_RUN_ID, row), bind_cell(names, TC_RUN_SCOPE_KIND, row),
        bind_cell(names, TC_RUN_SCOPE_NAME, row),   bind_cell(names, TC_RUN_SCOPE_START, row),
        bind_cell(names, TC_RUN_SCOPE_END, row),
    };
    int64_t count = 0;
    TC_TRY(tc_warehouse_int(w,
                            "SELECT count(*) FROM run_scope_fact WHERE run_id = ? AND kind = ? AND "
                            "name = ? AND window_start <= ? AND window_end >= ?",
                            binds, TC_COUNT(binds), 0, &count, err));
    *out = count > 0;
    return TC_OK;
}

static tc_status write_fresh(struct tc_warehouse *w, const char *data_dir,
                             const struct tc_rows *fresh, struct tc_error *err)
{
    struct tc_grow lines = {0};
    if (fresh->count == 0) {
        return TC_OK;
    }
    for (size_t i = 0; i < fresh->count; i++) {
        add_line(fresh, i, &lines);
    }
    tc_status status = lines.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the ledger")
                                    : tc_warehouse_append(w, TC_TABLE_RUN_SCOPE, fresh, err);
    status = status == TC_OK
                 ? tc_ledger_append(data_dir, TC_LEDGER_NAMES, tc_grow_slice(&lines), err)
                 : status;
    tc_grow_fini(&lines);
    return status;
}

static tc_status write_in(struct tc_warehouse *w, const char *data_dir, const struct tc_rows *names,
                          struct tc_rows *fresh, struct tc_error *err)
{
    TC_TRY(tc_warehouse_begin(w, err));
    for (size_t i = 0; i < names->count; i++) {
        bool there = false;
        TC_TRY(is_there(w, names, i, &there, err));
        if (!there &&
            (!tc_rows_add(fresh) || tc_rows_copy_row(fresh, names, i, TC_ROWS_TEXT_MAX) != TC_OK)) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory for the names of a run");
        }
    }
    TC_TRY(write_fresh(w, data_dir, fresh, err));
    return tc_warehouse_commit(w, err);
}

tc_status tc_run_names_write(struct tc_warehouse *w, const char *data_dir,
                             const struct tc_rows *names, struct tc_error *err)
{
    struct tc_rows *fresh = tc_rows_create(TC_TABLE_RUN_SCOPE);
    if (fresh == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the names of a run");
    }
    tc_status status = write_in(w, data_dir, names, fresh, err);
    if (status != TC_OK) {
        tc_warehouse_rollback(w);
    }
    tc_rows_destroy(fresh);
    return status;
}
