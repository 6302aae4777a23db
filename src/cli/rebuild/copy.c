/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from the old database into the new one, where nothing else holds them. */
#include "base/format.h"
#include "cli/rebuild/rebuild.h"

#include <string.h>

struct copying {
    struct tc_rebuild *r;
    enum tc_table table;
    const char *only; /* NULL, or the column of keys: those that the new one has are left out */
    struct tc_rows *rows;
    uint64_t count;
    tc_status written; /* what became of writing */
    struct tc_error *err;
};

static tc_status write_rows(struct copying *c, const struct tc_rows *rows)
{
    c->count += rows->count;
    c->written = tc_warehouse_append(c->r->made, c->table, rows, c->err);
    return c->written;
}

/* The text of the first column: of dimensions the key. */
static tc_status is_known(struct copying *c, struct tc_slice key, bool *out)
{
    struct tc_grow sql = {0};
    struct tc_bind bind = {.type = TC_COLUMN_TEXT, .as.text = key};
    int64_t count = 0;
    tc_grow_format(&sql, "SELECT count(*) FROM {} WHERE {} = ?", tc_table_info(c->table)->name,
                   c->only);
    tc_grow_str(&sql, tc_slice_make("", 1)); /* ends it */
    c->written = sql.failed
                     ? tc_rebuild_nomem(c->err)
                     : tc_warehouse_int(c->r->made, sql.buf.data, &bind, 1, 0, &count, c->err);
    tc_grow_fini(&sql);
    *out = count > 0;
    return c->written;
}

static tc_status copy_unknown(struct copying *c, const struct tc_rows *rows)
{
    const struct tc_table_info *info = tc_table_info(c->table);
    size_t column = 0;
    while (strcmp(info->columns[column].name, c->only) != 0) {
        column++;
    }
    tc_rows_reset(c->rows);
    for (size_t row = 0; row < rows->count; row++) {
        bool known = tc_rows_is_null(rows, column, row);
        if (!known) {
            TC_TRY(is_known(c, tc_rows_get_text(rows, column, row), &known));
        }
        if (!known && (!tc_rows_add(c->rows) ||
                       tc_rows_copy_row(c->rows, rows, row, TC_ROWS_TEXT_MAX) != TC_OK)) {
            c->written = tc_rebuild_nomem(c->err);
            return c->written;
        }
    }
    return c->rows->count == 0 ? TC_OK : write_rows(c, c->rows);
}

static tc_status take(void *context, const struct tc_rows *rows)
{
    struct copying *c = context;
    if (rows->count == 0) {
        return TC_OK;
    }
    if (!tc_rows_are_of(rows, c->table)) {
        return TC_E_MALFORMED;
    }
    return c->only != NULL ? copy_unknown(c, rows) : write_rows(c, rows);
}

static tc_status query(struct copying *c, const char *where, const struct tc_bind *binds,
                       size_t bind_count, struct tc_error *err)
{
    struct tc_grow sql = {0};
    tc_table_select(&sql, c->table);
    /* A run that was found is found again. */
    if (c->table == TC_TABLE_SLICE || c->table == TC_TABLE_REQUEST ||
        c->table == TC_TABLE_VERDICT) {
        tc_grow_lit(&sql, TC_TABLE_SAID);
    }
    if (where != NULL) {
        tc_grow_format(&sql, " WHERE {}", where);
    }
    struct tc_query q = {.sql = tc_grow_slice(&sql), .binds = binds, .bind_count = bind_count};
    tc_status status =
        sql.failed ? tc_rebuild_nomem(err) : tc_warehouse_query(c->r->old, &q, take, c, NULL, err);
    tc_grow_fini(&sql);
    return status;
}

/* Reading that fails is the old one's damage, which is why we are here. */
static tc_status settle(struct copying *c, tc_status status, const struct tc_error *why,
                        struct tc_error *err)
{
    struct tc_rebuild *r = c->r;
    if (status == TC_OK) {
        TC_TRY(tc_warehouse_commit(r->made, err));
        r->tables[c->table].copied += c->count;
        return TC_OK;
    }
    tc_warehouse_rollback(r->made);
    c->count = 0;
    if (c->written != TC_OK || status == TC_E_NOMEM) {
        *err = c->written != TC_OK ? *c->err : *why;
        return c->written != TC_OK ? c->written : status;
    }
    tc_rebuild_note(r, "%s of the old database cannot be read, and nothing is copied from it: %s",
                    tc_table_info(c->table)->name, why->message);
    tc_rebuild_open_old(r);
    return TC_OK;
}

static tc_status copy(struct copying *c, const char *where, const struct tc_bind *binds,
                      size_t bind_count, struct tc_error *err)
{
    struct tc_error why = {0};
    struct tc_error of_writing = {0};
    if (c->r->old == NULL) {
        return TC_OK;
    }
    c->err = &of_writing;
    TC_TRY(tc_warehouse_begin(c->r->made, err));
    return settle(c, query(c, where, binds, bind_count, &why), &why, err);
}

tc_status tc_rebuild_copy(struct tc_rebuild *r, enum tc_table table, const char *where,
                          const struct tc_bind *binds, size_t bind_count, uint64_t *out_rows,
                          struct tc_error *err)
{
    struct copying c = {.r = r, .table = table};
    tc_status status = copy(&c, where, binds, bind_count, err);
    if (out_rows != NULL) {
        *out_rows += c.count;
    }
    return status;
}

tc_status tc_rebuild_copy_unknown(struct tc_rebuild *r, enum tc_table table, const char *column,
                                  const char *where, struct tc_error *err)
{
    struct copying c = {.r = r, .table = table, .only = column, .rows = tc_rows_create(table)};
    if (c.rows == NULL) {
        return tc_rebuild_nomem(err);
    }
    tc_status status = copy(&c, where, NULL, 0, err);
    tc_rows_destroy(c.rows);
    return status;
}

tc_status tc_rebuild_copy_run(struct tc_rebuild *r, struct tc_slice run, uint64_t *out_rows,
                              struct tc_error *err)
{
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = run};
    *out_rows = 0;
    TC_TRY(tc_rebuild_copy(r, TC_TABLE_RUN, "run_id = ?", &id, 1, out_rows, err));
    TC_TRY(tc_rebuild_copy(r, TC_TABLE_LINEAGE, "run_id = ?", &id, 1, out_rows, err));
    TC_TRY(tc_rebuild_copy(r, TC_TABLE_RUN_SCOPE, "run_id = ? AND source <> 'daemon'", &id, 1,
                           out_rows, err));
    TC_TRY(tc_rebuild_copy(r, TC_TABLE_SERVING, "run_id = ?", &id, 1, out_rows, err));
    TC_TRY(tc_rebuild_copy(r, TC_TABLE_TRAINING, "run_id = ?", &id, 1, out_rows, err));
    TC_TRY(tc_rebuild_copy(r, TC_TABLE_VERDICT, "run_id = ? AND run_join = 'given'", &id, 1,
                           out_rows, err));
    /* Those that came to the daemon are made from its evidence. */
    TC_TRY(tc_rebuild_copy(r, TC_TABLE_REQUEST, "run_id = ? AND evidence_batch IS NULL", &id, 1,
                           out_rows, err));
    return tc_rebuild_copy(r, TC_TABLE_SLICE, "run_id = ? AND run_join = 'given'", &id, 1, out_rows,
                           err);
}
