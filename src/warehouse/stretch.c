/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/stretch.h"

#include "base/format.h"
#include "warehouse/engine_priv.h"

size_t tc_stretch_column(enum tc_table table)
{
    return table == TC_TABLE_SLICE     ? (size_t)TC_SLICE_START
           : table == TC_TABLE_REQUEST ? (size_t)TC_REQUEST_STARTED
                                       : SIZE_MAX;
}

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for a query");
}

/* ---- minutes ---- */

tc_status tc__stretch_take(void *context, const struct tc_rows *rows)
{
    const struct tc__minutes *c = context;
    for (size_t i = 0; i < rows->count; i++) {
        struct tc_minute minute = {tc_rows_is_null(rows, 0, i) ? TC_NO_TIME
                                                               : tc_rows_get_int(rows, 0, i),
                                   (uint64_t)tc_rows_get_int(rows, 1, i)};
        if (minute.rows > 0) {
            tc_status status = c->take(c->context, &minute);
            if (status != TC_OK) {
                return status;
            }
        }
    }
    return TC_OK;
}

tc_status tc__stretch_minutes(const struct tc__engine *engine, void *object, enum tc_table table,
                              tc_minute_fn take, void *context, struct tc_error *err)
{
    const struct tc_table_info *info = tc_table_info(table);
    size_t column = tc_stretch_column(table);
    struct tc__minutes counting = {take, context};
    struct tc_grow sql = {0};
    bool cut = false;
    if (column == SIZE_MAX) {
        tc_grow_format(&sql, "SELECT CAST(NULL AS TIMESTAMP), count(*) FROM {}", info->name);
    } else {
        tc_grow_format(&sql,
                       "SELECT date_trunc('minute', {}) AS minute, count(*) FROM {} GROUP BY 1 "
                       "ORDER BY 1 NULLS FIRST",
                       info->columns[column].name, info->name);
    }
    struct tc_query query = {.sql = tc_grow_slice(&sql)};
    tc_status status = sql.failed
                           ? no_memory(err)
                           : engine->query(object, &query, tc__stretch_take, &counting, &cut, err);
    tc_grow_fini(&sql);
    return status;
}

/* ---- rows ---- */

/* A run that was found is found again wherever the rows go. */
static bool has_said(enum tc_table table)
{
    return table == TC_TABLE_SLICE || table == TC_TABLE_REQUEST || table == TC_TABLE_VERDICT;
}

tc_status tc__stretch_read(const struct tc__engine *engine, void *object, enum tc_table table,
                           int64_t from_us, int64_t to_us, tc_rows_fn take, void *context,
                           struct tc_error *err)
{
    size_t column = tc_stretch_column(table);
    struct tc_grow sql = {0};
    struct tc_bind binds[] = {{.type = TC_COLUMN_TIME, .as.integer = from_us},
                              {.type = TC_COLUMN_TIME, .as.integer = to_us}};
    bool cut = false;
    bool timed = column != SIZE_MAX && from_us != TC_NO_TIME;
    tc_table_select(&sql, table);
    tc_grow_str(&sql, has_said(table) ? TC_LIT(TC_TABLE_SAID) : TC_EMPTY);
    if (column != SIZE_MAX) {
        const char *name = tc_table_info(table)->columns[column].name;
        if (timed) {
            tc_grow_format(&sql, " WHERE {} >= ? AND {} < ?", name, name);
        } else {
            tc_grow_format(&sql, " WHERE {} IS NULL", name);
        }
    }
    struct tc_query query = {
        .sql = tc_grow_slice(&sql), .binds = binds, .bind_count = timed ? TC_COUNT(binds) : 0};
    tc_status status =
        sql.failed ? no_memory(err) : engine->query(object, &query, take, context, &cut, err);
    tc_grow_fini(&sql);
    return status;
}
