/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader found in one file: rows, notes, facts and definitions become the import's own. */
#include "run/import_priv.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

struct tc_rows *tc__batches_room(struct tc__batches *b, enum tc_table table)
{
    struct tc_rows *last = b->count > 0 ? b->items[b->count - 1] : NULL;
    if (last != NULL && last->count < TC_ROWS_MAX && last->text_len < TC_ROWS_TEXT_MAX / 2) {
        return last;
    }
    bool ok = tc_grow_items(b->items, b->cap, b->count + 1, TC__IMPORT_ROWS_MAX) == TC_OK;
    struct tc_rows *rows = ok ? tc_rows_create(table) : NULL;
    if (rows != NULL) {
        b->items[b->count++] = rows;
    }
    return rows;
}

void tc__batches_fini(struct tc__batches *b)
{
    for (size_t n = 0; n < b->count; n++) {
        tc_rows_destroy(b->items[n]);
    }
    free(b->items);
    *b = (struct tc__batches){0};
}

tc_status tc__rows_fill(struct tc_rows *rows, size_t column, struct tc_slice text,
                        struct tc_error *err)
{
    struct tc_rows_column *c = &rows->columns[column];
    if (rows->count == 0 || text.len == 0) {
        return TC_OK;
    }
    /* Once in the batch's text; every row's cell points there. */
    tc_rows_seek(rows, rows->count - 1);
    if (tc_rows_text(rows, column, text) != TC_OK) {
        return tc__import_nomem(err);
    }
    for (size_t row = 0; row < rows->count; row++) {
        c->cells[row] = c->cells[rows->count - 1];
        c->valid[row / 64] |= UINT64_C(1) << (row % 64);
    }
    return TC_OK;
}

tc_status tc__batches_fill(struct tc__batches *b, size_t column, struct tc_slice text,
                           struct tc_error *err)
{
    for (size_t n = 0; n < b->count; n++) {
        TC_TRY(tc__rows_fill(b->items[n], column, text, err));
    }
    return TC_OK;
}

/* ---- definitions ---- */

static tc_status copy_definition(struct tc__import *i, const struct tc__definition *from,
                                 struct tc__definition *out, struct tc_error *err)
{
    struct tc_grow id = {0};
    tc_grow_str(&id, from->tool);
    tc_grow_lit(&id, ":");
    tc_grow_str(&id, from->field);
    bool ok = !id.failed && tc__import_pool_copy(&i->pool, tc_grow_slice(&id), &out->id) &&
              tc__import_pool_copy(&i->pool, from->tool, &out->tool) &&
              tc__import_pool_copy(&i->pool, from->field, &out->field) &&
              tc__import_pool_copy(&i->pool, from->measures, &out->measures) &&
              tc__import_pool_copy(&i->pool, from->source_unit, &out->source_unit) &&
              tc__import_pool_copy(&i->pool, from->unit, &out->unit) &&
              tc__import_pool_copy(&i->pool, from->note, &out->note);
    tc_grow_fini(&id);
    return ok ? TC_OK : tc__import_nomem(err);
}

tc_status tc__definition_keep(struct tc__import *i, const struct tc__definition *d, size_t *out,
                              struct tc_error *err)
{
    for (size_t n = i->definition_count; n > 0; n--) {
        const struct tc__definition *o = &i->definitions[n - 1];
        if (tc_slice_eq(o->field, d->field) && tc_slice_eq(o->tool, d->tool)) {
            *out = n - 1;
            return TC_OK;
        }
    }
    if (tc_grow_items(i->definitions, i->definition_cap, i->definition_count + 1, SIZE_MAX) !=
        TC_OK) {
        return tc__import_nomem(err);
    }
    struct tc__definition *to = &i->definitions[i->definition_count];
    *to = (struct tc__definition){0};
    TC_TRY(copy_definition(i, d, to, err));
    *out = i->definition_count++;
    return TC_OK;
}

static tc_status find_definition(struct tc__import *i, const char *tool,
                                 const struct tc_definition *d, size_t *out, struct tc_error *err)
{
    const struct tc__definition wanted = {
        .tool = tc_slice_cstr(tool),
        .field = tc_slice_cstr(d->field),
        .measures = tc_slice_cstr(d->measures),
        .source_unit = tc_slice_cstr(d->source_unit),
        .unit = tc_slice_cstr(d->unit),
        .note = tc_slice_cstr(d->note),
    };
    return tc__definition_keep(i, &wanted, out, err);
}

/*
 * Columns with their definitions as a JSON object, for the row. Rows of one file mostly have the
 * same ones: then the text of the last row is taken again.
 */
struct described {
    const struct tc_definition *last[TC_TABLE_COLUMNS_MAX];
    enum tc_table table;
    struct tc_grow text;
};

static int by_column_name(const void *a, const void *b)
{
    const struct tc_column *const *x = a;
    const struct tc_column *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static tc_status describe(struct tc__import *i, const char *tool, const struct tc_result_row *row,
                          struct described *d, struct tc_error *err)
{
    const struct tc_table_info *info = tc_table_info(row->table);
    const struct tc_column *used[TC_TABLE_COLUMNS_MAX];
    size_t count = 0;
    bool same = d->text.buf.len > 0 && d->table == row->table;
    for (size_t c = 0; c < info->column_count; c++) {
        const struct tc_definition *of = tc_result_known(row, c) ? row->definitions[c] : NULL;
        same = same && d->last[c] == of;
        d->last[c] = of;
        if (of != NULL) {
            used[count++] = &info->columns[c];
        }
    }
    if (same) {
        return TC_OK;
    }
    d->table = row->table;
    d->text.buf.len = 0;
    if (count > 0) {
        qsort(used, count, sizeof(const struct tc_column *), by_column_name);
    }
    struct tc_json_out j = tc_json_object_grow(&d->text);
    for (size_t n = 0; n < count; n++) {
        size_t at = 0;
        TC_TRY(find_definition(i, tool, d->last[used[n] - info->columns], &at, err));
        tc_json_key_plain(&j, tc_slice_cstr(used[n]->name));
        tc_json_add_str(&j, i->definitions[at].id);
    }
    tc_json_end_object(&j);
    return d->text.failed ? tc__import_nomem(err) : TC_OK;
}

/* ---- rows ---- */

static void widen(struct tc__import *i, const struct tc_rows *rows, size_t row, size_t started,
                  size_t ended)
{
    if (!tc_rows_is_null(rows, started, row)) {
        int64_t us = tc_rows_get_int(rows, started, row);
        i->started_us = us < i->started_us ? us : i->started_us;
        i->ended_us = us > i->ended_us ? us : i->ended_us;
    }
    if (!tc_rows_is_null(rows, ended, row)) {
        int64_t us = tc_rows_get_int(rows, ended, row);
        i->ended_us = us > i->ended_us ? us : i->ended_us;
    }
}

static tc_status take_row(struct tc__import *i, size_t source, const struct tc_result_row *row,
                          struct described *d, struct tc_error *err)
{
    struct tc__source *s = &i->sources[source];
    struct tc__batches *b = &i->batches[row->table];
    const struct tc_result_columns *columns = tc_result_columns(row->table);
    struct tc_rows *rows = tc__batches_room(b, row->table);
    if (rows == NULL) {
        return tc__import_nomem(err);
    }
    TC_TRY(describe(i, s->reader->name, row, d, err));
    TC_ASSERT(tc_rows_add(rows));
    struct tc_slice digest = tc_slice_cstr(s->digest_text);
    if (tc_rows_copy_row(rows, row->rows, row->at, TC_ROWS_TEXT_MAX) != TC_OK ||
        tc_rows_text(rows, columns->digest, digest) != TC_OK ||
        (!tc_result_known(row, columns->tool) &&
         tc_rows_text(rows, columns->tool, tc_slice_cstr(s->reader->name)) != TC_OK) ||
        (columns->definitions != 0 &&
         tc_rows_text(rows, columns->definitions, tc_grow_slice(&d->text)) != TC_OK)) {
        return tc__import_nomem(err);
    }
    widen(i, row->rows, row->at, columns->started, columns->ended);
    b->rows++;
    s->rows++;
    return TC_OK;
}

static tc_status take_rows(struct tc__import *i, size_t source, const struct tc_result *result,
                           struct tc_error *err)
{
    struct described d = {0};
    tc_status status = TC_OK;
    size_t count = tc_result_rows(result);
    for (size_t n = 0; status == TC_OK && n < count; n++) {
        status = take_row(i, source, tc_result_row_at(result, n), &d, err);
    }
    tc_grow_fini(&d.text);
    return status;
}

/* ---- notes and facts ---- */

static tc_status take_notes(struct tc__import *i, size_t source, const struct tc_result *result,
                            struct tc_error *err)
{
    uint64_t left_out = 0;
    size_t count = tc_result_notes(result, &left_out);
    for (size_t n = 0; n < count; n++) {
        const struct tc_result_note *note = tc_result_note_at(result, n);
        if (note->contradiction && !i->want->force) {
            i->contradictions++;
            tc__import_error(i, source, note->where, note->field, note->text);
            continue;
        }
        i->forced |= note->contradiction;
        TC_TRY(tc__import_warn(i, source, note->where, note->field, note->text, err));
    }
    return left_out == 0 ? TC_OK
                         : tc__import_warnf(i, source, err, "", "%llu more of the kind",
                                            (unsigned long long)left_out);
}

static tc_status take_facts(struct tc__import *i, size_t source, const struct tc_result *result,
                            struct tc_error *err)
{
    static const enum tc_table tables[] = {TC_TABLE_RUN, TC_TABLE_SOFTWARE, TC_TABLE_HARDWARE,
                                           TC_TABLE_CLUSTER, TC_TABLE_WORKLOAD};
    for (size_t t = 0; t < TC_COUNT(tables); t++) {
        const struct tc_rows *facts = tc_result_facts(result, tables[t]);
        for (size_t c = 0; facts != NULL && c < facts->column_count; c++) {
            bool is_text = facts->columns[c].type == TC_COLUMN_TEXT;
            if (tc_rows_is_null(facts, c, 0)) {
                continue;
            }
            struct tc__fact fact = {
                .table = tables[t],
                .column = c,
                .is_text = is_text,
                .integer = is_text ? 0 : tc_rows_get_int(facts, c, 0),
                .text = is_text ? tc_rows_get_text(facts, c, 0) : TC_EMPTY,
                .source = source,
            };
            i->results_name_model |= tables[t] == TC_TABLE_WORKLOAD && c == TC_WORKLOAD_MODEL;
            TC_TRY(tc__fact_add(i, &fact, err));
        }
        if (facts != NULL && tables[t] == TC_TABLE_RUN) {
            widen(i, facts, 0, TC_RUN_STARTED, TC_RUN_ENDED);
        }
    }
    return TC_OK;
}

/* Of the one serving row of a file. */
static tc_status keep_bounds(struct tc__source *s, const struct tc_result *result,
                             struct tc_error *err)
{
    size_t count = tc_result_rows(result);
    for (size_t n = 0; n < count && s->bounds == NULL; n++) {
        const struct tc_result_bounds *bounds = tc_result_row_at(result, n)->bounds;
        if (bounds != NULL) {
            s->bounds = malloc(sizeof *s->bounds);
            if (s->bounds == NULL) {
                return tc__import_nomem(err);
            }
            *s->bounds = *bounds;
        }
    }
    return TC_OK;
}

tc_status tc__import_take(struct tc__import *i, size_t source, const struct tc_result *result,
                          struct tc_error *err)
{
    struct tc__source *s = &i->sources[source];
    s->reader = tc_result_reader(result);
    i->rows += tc_result_rows(result);
    if (i->rows > TC__IMPORT_ROWS_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "with it the import has %llu rows, more than %llu; split it into runs",
                       (unsigned long long)i->rows, (unsigned long long)TC__IMPORT_ROWS_MAX);
    }
    TC_TRY(take_notes(i, source, result, err));
    TC_TRY(take_facts(i, source, result, err));
    s->first_serving = i->batches[TC_TABLE_SERVING].rows;
    TC_TRY(take_rows(i, source, result, err));
    s->servings = i->batches[TC_TABLE_SERVING].rows - s->first_serving;
    s->requests = tc_result_requests(result);
    s->rows += s->requests;
    return s->servings == 1 ? keep_bounds(s, result, err) : TC_OK;
}
