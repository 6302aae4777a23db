/* SPDX-License-Identifier: Apache-2.0 */
/* Rows into tables: whole columns at once, as DuckDB's data chunks. */
#include "warehouse/duckdb_priv.h"

#include <string.h>

/* A text of at most that is kept within its cell. */
#define INLINED_MAX 12

_Static_assert(sizeof(union tc_cell) == sizeof(int64_t), "cells are copied as they are");

static duckdb_type type_of(enum tc_column_type type)
{
    switch (type) {
    case TC_COLUMN_TEXT:
        return DUCKDB_TYPE_VARCHAR;
    case TC_COLUMN_INT:
        return DUCKDB_TYPE_BIGINT;
    case TC_COLUMN_REAL:
        return DUCKDB_TYPE_DOUBLE;
    case TC_COLUMN_BOOL:
        return DUCKDB_TYPE_BOOLEAN;
    case TC_COLUMN_TIME:
        return DUCKDB_TYPE_TIMESTAMP;
    }
    return DUCKDB_TYPE_INVALID;
}

static tc_status make_chunk(struct tc__duckdb *d, const struct tc_table_info *info,
                            duckdb_data_chunk *out, struct tc_error *err)
{
    duckdb_logical_type types[TC_TABLE_COLUMNS_MAX];
    for (size_t i = 0; i < info->column_count; i++) {
        types[i] = d->api->create_logical_type(type_of(info->columns[i].type));
    }
    *out = d->api->create_data_chunk(types, info->column_count);
    for (size_t i = 0; i < info->column_count; i++) {
        d->api->destroy_logical_type(&types[i]);
    }
    return *out != NULL ? TC_OK : tc_fail(err, TC_E_NOMEM, 0, "no memory for rows");
}

static tc_status open_lane(struct tc__duckdb *d, struct tc__duckdb_lane *lane,
                           const struct tc_table_info *info, struct tc_error *err)
{
    if (lane->chunk == NULL) {
        TC_TRY(make_chunk(d, info, &lane->chunk, err));
    }
    if (lane->appender == NULL && d->api->appender_create(d->connection, NULL, info->name,
                                                          &lane->appender) != DuckDBSuccess) {
        tc_status status =
            tc__duckdb_fail(err, TC_E_IO, info->name, d->api->appender_error(lane->appender));
        (void)d->api->appender_destroy(&lane->appender);
        return status;
    }
    return TC_OK;
}

/* Texts point into rows: the appender copies them before it returns. */
static void copy_text(duckdb_string_t *out, const struct tc_rows *rows,
                      const struct tc_rows_column *c)
{
    for (size_t i = 0; i < rows->count; i++) {
        uint32_t len = c->cells[i].text.len;
        bool valid = (c->valid[i / 64] >> (i % 64) & 1) != 0;
        out[i] = (duckdb_string_t){.value.inlined = {.length = 0}};
        if (!valid || len == 0) {
            continue;
        }
        char *text = rows->text + c->cells[i].text.at;
        out[i].value.inlined.length = len;
        if (len <= INLINED_MAX) {
            memcpy(out[i].value.inlined.inlined, text, len);
        } else {
            memcpy(out[i].value.pointer.prefix, text, sizeof out[i].value.pointer.prefix);
            out[i].value.pointer.ptr = text;
        }
    }
}

static void copy_bool(bool *out, const struct tc_rows *rows, const struct tc_rows_column *c)
{
    for (size_t i = 0; i < rows->count; i++) {
        bool valid = (c->valid[i / 64] >> (i % 64) & 1) != 0;
        out[i] = valid && c->cells[i].integer != 0;
    }
}

static void copy_column(const struct tc__duckdb_api *api, duckdb_vector vector,
                        const struct tc_rows *rows, const struct tc_rows_column *c)
{
    void *data = api->vector_get_data(vector);
    switch (c->type) {
    case TC_COLUMN_TEXT:
        copy_text(data, rows, c);
        break;
    case TC_COLUMN_BOOL:
        copy_bool(data, rows, c);
        break;
    case TC_COLUMN_INT:
    case TC_COLUMN_REAL:
    case TC_COLUMN_TIME:
        memcpy(data, c->cells, rows->count * sizeof c->cells[0]);
        break;
    }
    /* The same bits as ours. Not asked for where nothing is NULL: that is what most columns are. */
    size_t words = (rows->count + 63) / 64;
    uint64_t rest = rows->count % 64 == 0 ? UINT64_MAX : (UINT64_C(1) << (rows->count % 64)) - 1;
    bool full = (c->valid[words - 1] & rest) == rest;
    for (size_t i = 0; full && i + 1 < words; i++) {
        full = c->valid[i] == UINT64_MAX;
    }
    if (!full) {
        api->vector_ensure_validity_writable(vector);
        memcpy(api->vector_get_validity(vector), c->valid, words * sizeof c->valid[0]);
    }
}

tc_status tc__duckdb_append(void *engine, enum tc_table table, const struct tc_rows *rows,
                            struct tc_error *err)
{
    struct tc__duckdb *d = engine;
    struct tc__duckdb_lane *lane = &d->lanes[table];
    const struct tc_table_info *info = &d->base->schema->tables[table];
    TC_TRY(open_lane(d, lane, info, err));
    d->api->data_chunk_reset(lane->chunk);
    for (size_t i = 0; i < rows->column_count; i++) {
        copy_column(d->api, d->api->data_chunk_get_vector(lane->chunk, i), rows, &rows->columns[i]);
    }
    d->api->data_chunk_set_size(lane->chunk, rows->count);
    if (d->api->append_data_chunk(lane->appender, lane->chunk) != DuckDBSuccess) {
        return tc__duckdb_fail(err, TC_E_IO, info->name, d->api->appender_error(lane->appender));
    }
    return TC_OK;
}

tc_status tc__duckdb_flush(struct tc__duckdb *d, struct tc_error *err)
{
    for (size_t i = 0; i < d->base->schema->table_count; i++) {
        duckdb_appender appender = d->lanes[i].appender;
        if (appender != NULL && d->api->appender_flush(appender) != DuckDBSuccess) {
            return tc__duckdb_fail(err, TC_E_IO, d->base->schema->tables[i].name,
                                   d->api->appender_error(appender));
        }
    }
    return TC_OK;
}

tc_status tc__duckdb_end_appends(struct tc__duckdb *d, struct tc_error *err)
{
    tc_status status = tc__duckdb_flush(d, err);
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        if (d->lanes[i].appender != NULL) {
            (void)d->api->appender_destroy(&d->lanes[i].appender);
        }
    }
    return status;
}

void tc__duckdb_free_lanes(struct tc__duckdb *d)
{
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        if (d->lanes[i].chunk != NULL) {
            d->api->destroy_data_chunk(&d->lanes[i].chunk);
        }
    }
}
