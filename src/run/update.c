/* SPDX-License-Identifier: Apache-2.0 */
#include "run/update.h"

#include "base/table/grow.h"

#include <stdlib.h>

/* Batches of one run in one table: more rows than an import may write. */
#define BATCHES_MAX 4096

struct copied {
    struct tc_rows **items;
    size_t count;
    size_t cap;
    enum tc_table table;
    bool failed;
};

static tc_status copy_rows(void *context, const struct tc_rows *from)
{
    struct copied *c = context;
    if (from->count == 0) {
        return TC_OK;
    }
    struct tc_rows *rows = tc_rows_create(c->table);
    c->failed = rows == NULL || tc_grow_items(c->items, c->cap, c->count + 1, BATCHES_MAX) != TC_OK;
    for (size_t row = 0; row < from->count && !c->failed; row++) {
        c->failed =
            !tc_rows_add(rows) || tc_rows_copy_row(rows, from, row, TC_ROWS_TEXT_MAX) != TC_OK;
    }
    if (c->failed) {
        tc_rows_destroy(rows);
        return TC_E_NOMEM;
    }
    c->items[c->count++] = rows;
    return TC_OK;
}

static tc_status copy_all(struct tc_warehouse *w, size_t column, struct tc_slice run_id,
                          struct copied *c, struct tc_error *err)
{
    struct tc_grow sql = {0};
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = run_id};
    tc_table_select(&sql, c->table);
    tc_grow_lit(&sql, " WHERE ");
    tc_grow_str(&sql, tc_slice_cstr(tc_table_info(c->table)->columns[column].name));
    tc_grow_lit(&sql, " = ?");
    struct tc_query query = {.sql = tc_grow_slice(&sql), .binds = &id, .bind_count = 1};
    c->failed = sql.failed;
    tc_status status =
        c->failed ? TC_E_NOMEM : tc_warehouse_query(w, &query, copy_rows, c, NULL, err);
    tc_grow_fini(&sql);
    return c->failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the rows of a run") : status;
}

static tc_status replace(struct tc_warehouse *w, size_t column, struct tc_slice run_id,
                         const struct copied *c, tc_run_edit_fn edit, void *context,
                         struct tc_error *err)
{
    struct tc_forget old = {.table = c->table,
                            .key_column = column,
                            .keys = &run_id,
                            .key_count = 1,
                            .before_us = INT64_MIN};
    uint64_t gone = 0;
    for (size_t n = 0; n < c->count; n++) {
        tc_status status = edit(context, c->items[n]);
        if (status != TC_OK) {
            return tc_fail(err, status, 0, "the rows of a run cannot be changed: %s",
                           tc_status_text(status));
        }
    }
    TC_TRY(tc_warehouse_forget(w, &old, &gone, err));
    for (size_t n = 0; n < c->count; n++) {
        TC_TRY(tc_warehouse_append(w, c->table, c->items[n], err));
    }
    return TC_OK;
}

tc_status tc_run_update(struct tc_warehouse *w, enum tc_table table, size_t column,
                        struct tc_slice run_id, tc_run_edit_fn edit, void *context,
                        struct tc_error *err)
{
    struct copied c = {.table = table};
    tc_status status = copy_all(w, column, run_id, &c, err);
    if (status == TC_OK && c.count > 0) {
        status = replace(w, column, run_id, &c, edit, context, err);
    }
    for (size_t n = 0; n < c.count; n++) {
        tc_rows_destroy(c.items[n]);
    }
    free(c.items);
    return status;
}
