/* SPDX-License-Identifier: Apache-2.0 */
/* Rows into tables: whole columns at once, as DuckDB's data chunks. */
#include "base/assert.h"
#include "warehouse/duckdb/scan_priv.h"

#include <string.h>

/* A text of at most that is kept within its cell. */
#define INLINED_MAX 12
/* As many rows as DuckDB packs at once: below that one thread does. */
#define SCAN_ROWS_MIN 122880

_Static_assert(sizeof(union tc_cell) == sizeof(int64_t), "cells are copied as they are");

static tc_status make_chunk(struct tc__duckdb *d, const struct tc_table_info *info,
                            duckdb_data_chunk *out, struct tc_error *err)
{
    duckdb_logical_type types[TC_TABLE_COLUMNS_MAX];
    for (size_t i = 0; i < info->column_count; i++) {
        types[i] = d->api->create_logical_type(tc__duckdb_types[info->columns[i].type].type);
    }
    *out = d->api->create_data_chunk(types, info->column_count);
    for (size_t i = 0; i < info->column_count; i++) {
        d->api->destroy_logical_type(&types[i]);
    }
    return *out != NULL ? TC_OK : tc_fail(err, TC_E_NOMEM, 0, "no memory for rows");
}

/* The appender of a table; columns of it that info has not (run_found) stay NULL. */
static bool make_appender(struct tc__duckdb *d, struct tc__duckdb_lane *lane,
                          const struct tc_table_info *info)
{
    bool ok =
        d->api->appender_create(d->connection, NULL, info->name, &lane->appender) == DuckDBSuccess;
    for (size_t i = 0; ok && i < info->column_count; i++) {
        ok = d->api->appender_add_column(lane->appender, info->columns[i].name) == DuckDBSuccess;
    }
    return ok;
}

static tc_status open_lane(struct tc__duckdb *d, struct tc__duckdb_lane *lane,
                           const struct tc_table_info *info, struct tc_error *err)
{
    if (lane->chunk == NULL) {
        TC_TRY(make_chunk(d, info, &lane->chunk, err));
    }
    if (lane->appender == NULL && !make_appender(d, lane, info)) {
        tc_status status =
            tc__duckdb_fail(err, TC_E_IO, info->name, d->api->appender_error(lane->appender));
        (void)d->api->appender_destroy(&lane->appender);
        return status;
    }
    return TC_OK;
}

static bool is_value(const struct tc_rows_column *c, size_t row)
{
    return (c->valid[row / 64] >> (row % 64) & 1) != 0;
}

/* Points into the rows' text: the appender copies it before it returns. */
static duckdb_string_t text_at(const struct tc_rows *rows, const union tc_cell *cell)
{
    duckdb_string_t out = {.value.inlined = {.length = cell->text.len}};
    if (cell->text.len <= INLINED_MAX) {
        if (cell->text.len > 0) {
            memcpy(out.value.inlined.inlined, rows->text + cell->text.at, cell->text.len);
        }
    } else {
        char *text = rows->text + cell->text.at;
        memcpy(out.value.pointer.prefix, text, sizeof out.value.pointer.prefix);
        out.value.pointer.ptr = text;
    }
    return out;
}

/* The bit of a row that is NULL; the mask is made for the first: most columns have none. */
static void set_null(const struct tc__duckdb_api *api, duckdb_vector vector, uint64_t **io_validity,
                     size_t row)
{
    if (*io_validity == NULL) {
        api->vector_ensure_validity_writable(vector);
        *io_validity = api->vector_get_validity(vector);
    }
    (*io_validity)[row / 64] &= ~(UINT64_C(1) << (row % 64));
}

/* The loop of tc__duckdb_copy_column for one type, which is most of what it does. */
#define COPY(T, VALUE)                                                    \
    for (size_t i = 0; i < count; i++) {                                  \
        const struct tc_rows_column *c = &picks[i].rows->columns[column]; \
        const union tc_cell *cell = &c->cells[picks[i].row];              \
        if (is_value(c, picks[i].row)) {                                  \
            ((T *)data)[i] = (VALUE);                                     \
        } else {                                                          \
            set_null(api, vector, &validity, i);                          \
        }                                                                 \
    }

/* Where rows have the second half of a UUID. */
static size_t half_of(const struct tc_rows *rows, size_t column)
{
    size_t before = 0;
    size_t all = 0;
    for (size_t i = 0; i < rows->column_count; i++) {
        bool is_uuid = rows->columns[i].type == TC__COLUMN_UUID;
        before += is_uuid && i < column;
        all += is_uuid;
    }
    return rows->column_count - all + before;
}

/* DuckDB keeps a UUID as a number of 128 bits with the other sign. */
static duckdb_hugeint uuid_at(const struct tc__pick *pick, size_t high, size_t low)
{
    const struct tc_rows_column *columns = pick->rows->columns;
    uint64_t word = (uint64_t)columns[high].cells[pick->row].integer ^ UINT64_C(1) << 63;
    return (duckdb_hugeint){.lower = (uint64_t)columns[low].cells[pick->row].integer,
                            .upper = (int64_t)word};
}

void tc__duckdb_copy_column(const struct tc__duckdb_api *api, duckdb_vector vector, size_t column,
                            const struct tc__pick *picks, size_t count)
{
    void *data = api->vector_get_data(vector);
    uint64_t *validity = NULL;
    enum tc_column_type type = picks[0].rows->columns[column].type;
    if (type == TC__COLUMN_UUID) {
        size_t low = half_of(picks[0].rows, column);
        COPY(duckdb_hugeint, ((void)cell, uuid_at(&picks[i], column, low)))
        return;
    }
    switch (type) {
    case TC_COLUMN_TEXT:
        COPY(duckdb_string_t, text_at(picks[i].rows, cell))
        break;
    case TC_COLUMN_BOOL:
        COPY(bool, cell->integer != 0)
        break;
    case TC_COLUMN_INT:
    case TC_COLUMN_REAL:
    case TC_COLUMN_TIME:
        COPY(union tc_cell, *cell)
        break;
    }
}

/* Where picked rows go. */
struct target {
    struct tc__duckdb *d;
    struct tc__duckdb_lane *lane;
    const struct tc_table_info *info;
};

static tc_status append_picks(void *context, const struct tc__pick *picks, size_t count,
                              struct tc_error *err)
{
    const struct target *t = context;
    const struct tc__duckdb_api *api = t->d->api;
    api->data_chunk_reset(t->lane->chunk);
    for (size_t i = 0; i < t->info->column_count; i++) {
        tc__duckdb_copy_column(api, api->data_chunk_get_vector(t->lane->chunk, i), i, picks, count);
    }
    api->data_chunk_set_size(t->lane->chunk, count);
    if (api->append_data_chunk(t->lane->appender, t->lane->chunk) != DuckDBSuccess) {
        return tc__duckdb_fail(err, TC_E_IO, t->info->name, api->appender_error(t->lane->appender));
    }
    return TC_OK;
}

size_t tc__duckdb_split_of(const struct tc__duckdb *d, enum tc_table table)
{
    size_t i = 0;
    while (i < TC__SPLITS &&
           !(d->base->splits[i].there && d->base->splits[i].kind->table == table)) {
        i++;
    }
    return i;
}

static const struct tc_table_info *lane_info(const struct tc__duckdb *d, size_t lane)
{
    if (lane == TC__LANE_CLAIMS || lane == TC__LANE_PENDING) {
        return lane == TC__LANE_CLAIMS ? &tc__join_claims : &tc__join_pending;
    }
    if (lane >= TC__LANE_SCOPES) {
        return &d->base->splits[lane - TC__LANE_SCOPES].scopes.info;
    }
    size_t split = tc__duckdb_split_of(d, (enum tc_table)lane);
    if (lane == TC_TABLE_VERDICT && d->base->has_runs) {
        return &d->base->verdicts;
    }
    return split < TC__SPLITS ? &d->base->splits[split].facts.info : &d->base->schema->tables[lane];
}

static struct target target_of(struct tc__duckdb *d, size_t lane)
{
    return (struct target){d, &d->lanes[lane], lane_info(d, lane)};
}

static tc_status empty_buffer(struct tc__duckdb *d, size_t split, struct tc_error *err)
{
    const struct tc__split *s = &d->base->splits[split];
    struct tc__sort_buffer *buffer = &d->writers[split].buffer;
    if (buffer->row_count == 0) {
        return TC_OK;
    }
    struct target t = target_of(d, s->kind->table);
    if (buffer->row_count < SCAN_ROWS_MIN) {
        return tc__sort_buffer_take(buffer, &s->order, append_picks, &t, err);
    }
    tc_status status = tc__sort_buffer_order(buffer, &s->order, err);
    status = status == TC_OK ? tc__scan_insert(d, t.info, buffer, err) : status;
    tc__sort_buffer_reset(buffer);
    return status;
}

/* An empty batch, made when it is first needed; its text will be another's. */
static tc_status make_batch(struct tc_rows **io, const struct tc_column *columns, size_t count,
                            struct tc_error *err)
{
    if (*io == NULL) {
        *io = tc_rows_create_for(columns, count);
    }
    return *io != NULL ? TC_OK : tc_fail(err, TC_E_NOMEM, 0, "no memory for rows");
}

/* NULL takes it back. */
static void lend_text(struct tc_rows *to, const struct tc_rows *from)
{
    to->text = from == NULL ? NULL : from->text;
    to->text_len = from == NULL ? 0 : from->text_len;
}

/* What a row does not share with its scope, and the scope. The text stays that of rows. */
static tc_status narrow(struct tc__duckdb *d, size_t split, const struct tc_rows *rows,
                        struct tc_error *err)
{
    const struct tc__split_part *part = &d->base->splits[split].facts;
    struct tc__split_writer *w = &d->writers[split];
    int64_t scopes[TC_ROWS_MAX];
    TC_TRY(make_batch(&w->narrow, part->columns, part->row_columns, err));
    TC_TRY(tc__scopes_of(d, split, rows, scopes, err));
    size_t valid_bytes = (rows->count + 63) / 64 * sizeof(uint64_t);
    for (size_t i = 0; i < part->row_columns; i++) {
        struct tc_rows_column *to = &w->narrow->columns[i];
        if (part->from[i] == TC__SPLIT_OWN) {
            memset(to->valid, 0xff, valid_bytes);
            memcpy(to->cells, scopes, rows->count * sizeof scopes[0]);
        } else {
            const struct tc_rows_column *from = &rows->columns[part->from[i]];
            memcpy(to->valid, from->valid, valid_bytes);
            memcpy(to->cells, from->cells, rows->count * sizeof from->cells[0]);
        }
    }
    w->narrow->count = rows->count;
    return TC_OK;
}

/* Into the sort buffer, which is emptied first when it is full. */
static tc_status pile_up(struct tc__duckdb *d, size_t split, struct tc_error *err)
{
    struct tc__split_writer *w = &d->writers[split];
    bool full = false;
    tc_status status = tc__sort_buffer_add(&w->buffer, w->narrow, &full);
    if (full) {
        TC_TRY(empty_buffer(d, split, err));
        status = tc__sort_buffer_add(&w->buffer, w->narrow, &full);
    }
    if (full) {
        return tc_fail(err, TC_E_LIMIT, 0, "the texts of a batch are longer than it has text");
    }
    return status == TC_OK ? TC_OK : tc_fail(err, status, 0, "no memory for rows");
}

static tc_status append_wide(struct tc__duckdb *d, size_t split, const struct tc_rows *rows,
                             struct tc_error *err)
{
    struct tc__split_writer *w = &d->writers[split];
    TC_TRY(narrow(d, split, rows, err));
    /* Lent: what is in the sort buffer has its own. */
    lend_text(w->narrow, rows);
    tc_status status = pile_up(d, split, err);
    lend_text(w->narrow, NULL);
    return status;
}

static tc_status append_split(struct tc__duckdb *d, size_t split, const struct tc_rows *rows,
                              struct tc_error *err)
{
    const struct tc__split *s = &d->base->splits[split];
    struct tc__split_writer *w = &d->writers[split];
    struct target t = target_of(d, s->kind->table);
    TC_TRY(open_lane(d, t.lane, t.info, err));
    if (s->kind->widen == NULL) {
        return append_wide(d, split, rows, err);
    }
    TC_TRY(make_batch(&w->wide, s->wide.columns, s->wide.column_count, err));
    lend_text(w->wide, rows);
    s->kind->widen(rows, w->wide);
    tc_status status = append_wide(d, split, w->wide, err);
    lend_text(w->wide, NULL);
    return status;
}

tc_status tc__duckdb_append_to(struct tc__duckdb *d, size_t lane, const struct tc_rows *rows,
                               struct tc_error *err)
{
    struct target t = target_of(d, lane);
    struct tc__pick picks[TC_ROWS_MAX];
    TC_TRY(open_lane(d, t.lane, t.info, err));
    for (size_t i = 0; i < rows->count; i++) {
        picks[i] = (struct tc__pick){rows, i};
    }
    return append_picks(&t, picks, rows->count, err);
}

tc_status tc__duckdb_fill(struct tc__duckdb *d, const char *table, const struct tc_rows *rows,
                          struct tc_error *err)
{
    struct tc_column columns[TC_TABLE_COLUMNS_MAX];
    struct tc_table_info info = {
        .name = table, .columns = columns, .column_count = rows->column_count};
    struct tc__duckdb_lane lane = {0};
    struct target t = {d, &lane, &info};
    struct tc__pick picks[TC_ROWS_MAX];
    TC_ASSERT(rows->column_count <= TC_TABLE_COLUMNS_MAX && rows->count <= TC_ROWS_MAX);
    for (size_t i = 0; i < rows->column_count; i++) {
        columns[i] =
            (struct tc_column){.name = rows->columns[i].name, .type = rows->columns[i].type};
    }
    for (size_t i = 0; i < rows->count; i++) {
        picks[i] = (struct tc__pick){rows, i};
    }
    tc_status status = open_lane(d, &lane, &info, err);
    status = status == TC_OK ? append_picks(&t, picks, rows->count, err) : status;
    if (lane.appender != NULL && d->api->appender_destroy(&lane.appender) != DuckDBSuccess &&
        status == TC_OK) {
        status = tc_fail(err, TC_E_IO, 0, "DuckDB does not take rows of %s", table);
    }
    if (lane.chunk != NULL) {
        d->api->destroy_data_chunk(&lane.chunk);
    }
    return status;
}

tc_status tc__duckdb_append(void *engine, enum tc_table table, const struct tc_rows *rows,
                            struct tc_error *err)
{
    struct tc__duckdb *d = engine;
    size_t split = tc__duckdb_split_of(d, table);
    TC_TRY(split < TC__SPLITS ? append_split(d, split, rows, err)
                              : tc__duckdb_append_to(d, table, rows, err));
    return tc__join_note(d, table, rows, err);
}

tc_status tc__duckdb_flush(struct tc__duckdb *d, struct tc_error *err)
{
    for (size_t i = 0; i < TC__SPLITS; i++) {
        TC_TRY(empty_buffer(d, i, err));
    }
    for (size_t i = 0; i < TC__LANES; i++) {
        duckdb_appender appender = d->lanes[i].appender;
        if (appender != NULL && d->api->appender_flush(appender) != DuckDBSuccess) {
            return tc__duckdb_fail(err, TC_E_IO, lane_info(d, i)->name,
                                   d->api->appender_error(appender));
        }
    }
    return TC_OK;
}

tc_status tc__duckdb_end_appends(struct tc__duckdb *d, struct tc_error *err)
{
    tc_status status = tc__duckdb_flush(d, err);
    for (size_t i = 0; i < TC__SPLITS; i++) {
        tc__sort_buffer_reset(&d->writers[i].buffer);
    }
    for (size_t i = 0; i < TC__LANES; i++) {
        if (d->lanes[i].appender != NULL) {
            (void)d->api->appender_destroy(&d->lanes[i].appender);
        }
    }
    return status;
}

void tc__duckdb_free_lanes(struct tc__duckdb *d)
{
    for (size_t i = 0; i < TC__LANES; i++) {
        if (d->lanes[i].chunk != NULL) {
            d->api->destroy_data_chunk(&d->lanes[i].chunk);
        }
    }
    for (size_t i = 0; i < TC__SPLITS; i++) {
        struct tc__split_writer *w = &d->writers[i];
        tc__sort_buffer_fini(&w->buffer);
        tc_rows_destroy(w->narrow);
        tc_rows_destroy(w->wide);
        tc__scopes_fini(&w->scopes);
    }
    tc__join_fini(&d->join);
}
