/* SPDX-License-Identifier: Apache-2.0 */
/* Dimensions: the same bundle is one row, named by the digest of what it says. */
#include "run/import_priv.h"

#include "base/assert.h"
#include "base/json/canonical.h"

#include <stdio.h>

/* The columns that are known, as canonical JSON, are the key. Column 0 is the key itself. */
static tc_status key_of(const struct tc_rows *rows, enum tc_table table, char *out_key,
                        struct tc_error *err)
{
    const struct tc_table_info *info = tc_table_info(table);
    struct tc_grow g = {0};
    struct tc_digest digest;
    struct tc_json_out j = tc_json_out_grow(&g);
    bool known = false;
    out_key[0] = '\0';
    tc_json_add_object(&j);
    for (size_t c = 1; c < info->column_count; c++) {
        if (tc_rows_is_null(rows, c, 0)) {
            continue;
        }
        known = true;
        tc_json_key_plain(&j, tc_slice_cstr(info->columns[c].name));
        if (info->columns[c].type == TC_COLUMN_TEXT) {
            tc_json_add_str(&j, tc_rows_get_text(rows, c, 0));
        } else {
            tc_json_add_i64(&j, rows->columns[c].cells[0].integer);
        }
    }
    tc_json_end_object(&j);
    tc_status status = g.failed ? tc__import_nomem(err)
                       : known  ? tc_canonical_digest(tc_grow_slice(&g), &digest, err)
                                : TC_OK;
    tc_grow_fini(&g);
    if (status == TC_OK && known) {
        tc_digest_text(&digest, out_key);
    }
    return status;
}

tc_status tc__dim_append(struct tc__import *i, enum tc_table table, struct tc_rows *rows,
                         char *out_key, uint64_t *io_rows, struct tc_error *err)
{
    const struct tc_table_info *info = tc_table_info(table);
    int64_t there = 0;
    char sql[160];
    TC_TRY(key_of(rows, table, out_key, err));
    if (out_key[0] == '\0') {
        return TC_OK;
    }
    struct tc_bind key = tc__bind_text(tc_slice_cstr(out_key));
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE %s = ?", info->name,
                   info->columns[0].name);
    TC_TRY(tc__import_count(i, sql, &key, &there, err));
    if (there > 0) {
        return TC_OK;
    }
    if (tc_rows_text(rows, 0, key.as.text) != TC_OK) {
        return tc__import_nomem(err);
    }
    TC_TRY(tc__import_append(i, table, rows, err));
    (*io_rows)++;
    return TC_OK;
}

static tc_status put_facts(const struct tc__import *i, enum tc_table table, struct tc_rows *rows,
                           struct tc_error *err)
{
    const struct tc_table_info *info = tc_table_info(table);
    TC_ASSERT(tc_rows_add(rows));
    for (size_t n = 0; n < i->fact_count; n++) {
        const struct tc__fact *f = &i->facts[n];
        if (f->table != table || f->column == 0) {
            continue;
        }
        if (info->columns[f->column].type != TC_COLUMN_TEXT) {
            tc_rows_int(rows, f->column, f->integer);
        } else if (tc_rows_text(rows, f->column, f->text) != TC_OK) {
            return tc__import_nomem(err);
        }
    }
    struct tc_slice spec = tc_slice_cstr(i->workload_text);
    if (table == TC_TABLE_WORKLOAD && spec.len > 0 &&
        tc_rows_text(rows, TC_WORKLOAD_SPEC_DIGEST, spec) != TC_OK) {
        return tc__import_nomem(err);
    }
    return TC_OK;
}

tc_status tc__dim_write(struct tc__import *i, enum tc_table table, char *out_key, uint64_t *io_rows,
                        struct tc_error *err)
{
    struct tc_rows *rows = tc_rows_create(table);
    if (rows == NULL) {
        return tc__import_nomem(err);
    }
    tc_status status = put_facts(i, table, rows, err);
    if (status == TC_OK) {
        status = tc__dim_append(i, table, rows, out_key, io_rows, err);
    }
    tc_rows_destroy(rows);
    return status;
}

/* ---- definitions ---- */

static tc_status put_definition(struct tc_rows *rows, const struct tc__definition *d,
                                struct tc_error *err)
{
    const struct {
        size_t column;
        struct tc_slice text;
    } cells[] = {
        {TC_DEFINITION_ID, d->id},
        {TC_DEFINITION_TOOL, d->tool},
        {TC_DEFINITION_FIELD, d->field},
        {TC_DEFINITION_MEASURES, d->measures},
        {TC_DEFINITION_SOURCE_UNIT, d->source_unit},
        {TC_DEFINITION_UNIT, d->unit},
        {TC_DEFINITION_NOTE, d->note},
    };
    TC_ASSERT(tc_rows_add(rows));
    for (size_t n = 0; n < TC_COUNT(cells); n++) {
        if (cells[n].text.len > 0 && tc_rows_text(rows, cells[n].column, cells[n].text) != TC_OK) {
            return tc__import_nomem(err);
        }
    }
    return TC_OK;
}

static tc_status flush(struct tc__import *i, struct tc_rows *rows, uint64_t *io_rows,
                       struct tc_error *err)
{
    if (rows->count == 0) {
        return TC_OK;
    }
    TC_TRY(tc__import_append(i, TC_TABLE_DEFINITION, rows, err));
    *io_rows += rows->count;
    tc_rows_reset(rows);
    return TC_OK;
}

static tc_status mark_there(void *context, const struct tc_rows *rows)
{
    struct tc__import *i = context;
    for (size_t row = 0; row < rows->count; row++) {
        struct tc_slice id = tc_rows_get_text(rows, 0, row);
        for (size_t n = 0; n < i->definition_count; n++) {
            i->definitions[n].there |= tc_slice_eq(i->definitions[n].id, id);
        }
    }
    return TC_OK;
}

static bool is_first_of_tool(const struct tc__import *i, size_t at)
{
    for (size_t n = 0; n < at; n++) {
        if (tc_slice_eq(i->definitions[n].tool, i->definitions[at].tool)) {
            return false;
        }
    }
    return true;
}

/* One question a tool. */
static tc_status ask_there(struct tc__import *i, struct tc_error *err)
{
    for (size_t n = 0; n < i->definition_count; n++) {
        struct tc_bind tool = tc__bind_text(i->definitions[n].tool);
        struct tc_query query = {
            .sql = TC_LIT("SELECT definition_id FROM metric_definition_dim WHERE tool = ? AND "
                          "definition_id IS NOT NULL"),
            .binds = &tool,
            .bind_count = 1};
        if (i->w != NULL && is_first_of_tool(i, n)) {
            TC_TRY(tc_warehouse_query(i->w, &query, mark_there, i, NULL, err));
        }
    }
    return TC_OK;
}

static tc_status write_new(struct tc__import *i, struct tc_rows *rows, uint64_t *io_rows,
                           struct tc_error *err)
{
    TC_TRY(ask_there(i, err));
    for (size_t n = 0; n < i->definition_count; n++) {
        if (i->definitions[n].there) {
            continue;
        }
        if (rows->count == TC_ROWS_MAX) {
            TC_TRY(flush(i, rows, io_rows, err));
        }
        TC_TRY(put_definition(rows, &i->definitions[n], err));
    }
    return flush(i, rows, io_rows, err);
}

tc_status tc__definitions_write(struct tc__import *i, uint64_t *io_rows, struct tc_error *err)
{
    struct tc_rows *rows = tc_rows_create(TC_TABLE_DEFINITION);
    if (rows == NULL) {
        return tc__import_nomem(err);
    }
    tc_status status = write_new(i, rows, io_rows, err);
    tc_rows_destroy(rows);
    return status;
}
