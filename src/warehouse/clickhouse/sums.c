/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queries of telemetry_sql.h add up slices by series before anything else. Here ClickHouse does
 * that part: a row per series comes back instead of one per slice. The rest of the query runs on
 * those rows, in the local database.
 *
 * Of the slices that say themselves which run they belong to. Those that name none, in the time of
 * a run that has names, the local database has to tell apart first: it gets them, and adds up those
 * that it finds to be of the run.
 */
#include "base/format.h"
#include "warehouse/clickhouse/clickhouse_priv.h"
#include "warehouse/telemetry_sql.h"

#include <stdio.h>
#include <string.h>

#define SUMS_TABLE "tracecore_sums"
#define NUMBERS_MAX 16

struct parts {
    struct tc_slice numbers;
    struct tc_slice condition;
    struct tc_slice columns;
    struct tc_slice rest;
};

/* Up to a mark; false when it is not there. */
static bool cut_at(struct tc_slice *io, struct tc_slice mark, struct tc_slice *out)
{
    size_t at = tc_slice_find(*io, mark);
    if (at == TC_NPOS) {
        return false;
    }
    *out = tc_slice_head(*io, at);
    *io = tc_slice_from(*io, at + mark.len);
    return true;
}

static bool take_apart(struct tc_slice sql, struct parts *out)
{
    if (!tc_slice_starts(sql, TC_LIT(TC_TELEMETRY_HEAD))) {
        return false;
    }
    sql = tc_slice_from(sql, sizeof TC_TELEMETRY_HEAD - 1);
    bool ok = cut_at(&sql, TC_LIT(TC_TELEMETRY_FROM), &out->numbers) &&
              cut_at(&sql, TC_LIT(TC_TELEMETRY_GROUP), &out->condition) &&
              cut_at(&sql, TC_LIT(TC_TELEMETRY_JOIN), &out->columns);
    out->rest = sql;
    return ok;
}

/* The names behind AS. */
static size_t take_names(struct tc_slice numbers, struct tc_slice names[NUMBERS_MAX])
{
    size_t count = 0;
    struct tc_slice before;
    while (count < NUMBERS_MAX && cut_at(&numbers, TC_LIT(" AS "), &before)) {
        size_t len = 0;
        while (len < numbers.len && tc_is_word(numbers.ptr[len])) {
            len++;
        }
        names[count++] = tc_slice_head(numbers, len);
        numbers = tc_slice_from(numbers, len);
    }
    return count;
}

static void put_bind(struct tc_grow *g, const struct tc_bind *b)
{
    if (b->is_null) {
        tc_grow_lit(g, "NULL");
        return;
    }
    switch (b->type) {
    case TC_COLUMN_TEXT:
        tc__ch_put_text(g, b->as.text);
        break;
    case TC_COLUMN_REAL:
        tc_grow_format(g, "{}", b->as.real);
        break;
    case TC_COLUMN_INT:
    case TC_COLUMN_BOOL:
    case TC_COLUMN_TIME: /* microseconds, as the table has them */
        tc_grow_i64(g, b->as.integer);
        break;
    }
}

/* The condition with its values; how many there were. Texts in it are names of metrics. */
static size_t put_condition(struct tc_grow *g, struct tc_slice condition,
                            const struct tc_query *query)
{
    size_t used = 0;
    for (size_t i = 0; i < condition.len; i++) {
        if (condition.ptr[i] == '?' && used < query->bind_count) {
            put_bind(g, &query->binds[used++]);
        } else {
            tc_grow_str(g, tc_slice_make(condition.ptr + i, 1));
        }
    }
    return used;
}

/* The columns of the answer, in the order of put_sums. */
struct answer {
    struct tc_column columns[TC_TABLE_COLUMNS_MAX];
    struct tc__ch_field fields[TC_TABLE_COLUMNS_MAX];
    char names[NUMBERS_MAX][64];
    size_t count;
};

static void add_column(struct answer *a, const char *name, enum tc_column_type type,
                       enum tc__ch_type from)
{
    a->fields[a->count] = (struct tc__ch_field){from, a->count};
    a->columns[a->count++] = (struct tc_column){.name = name, .type = type, .unit = "", .help = ""};
}

static void name_columns(const struct tc__ch *ch, const struct tc_slice *names, size_t name_count,
                         struct answer *a)
{
    const struct tc_table_info *info = tc_table_info(TC_TABLE_SLICE);
    a->count = 0;
    add_column(a, "metric", TC_COLUMN_TEXT, TC__CH_WORD);
    for (size_t i = 1; i < ch->series.column_count; i++) {
        const struct tc__ch_column *c = &ch->series.columns[i];
        add_column(a, c->name, info->columns[c->from].type, c->type);
    }
    for (size_t i = 0; i < name_count; i++) {
        (void)snprintf(a->names[i], sizeof a->names[i], "%.*s",
                       TC_FMT(tc_slice_head(names[i], 63)));
        add_column(a, a->names[i], TC_COLUMN_REAL, TC__CH_REAL);
    }
}

/* A series has a few metrics: to group by 64 bits of their names costs a fifth less than by the
 * names. */
static void put_sums(const struct tc__ch *ch, struct tc_grow *g, const struct parts *parts,
                     const struct tc_slice *names, size_t name_count, struct tc_slice condition)
{
    struct tc_grow texts = {0};
    for (size_t i = 1; i < ch->series.column_count; i++) {
        tc_grow_format(&texts, "{}`{}`", i == 1 ? "" : ", ", ch->series.columns[i].name);
    }
    tc_grow_format(g, "SELECT name, {}", tc_grow_slice(&texts));
    for (size_t i = 0; i < name_count; i++) {
        tc_grow_format(g, ", CAST({} AS Nullable(Float64))", names[i]);
    }
    tc_grow_format(g, " FROM (SELECT any(metric) AS name, " TC__CH_SERIES ", {} FROM {} WHERE ",
                   parts->numbers, ch->layouts[TC_TABLE_SLICE].name);
    tc__ch_put_visible(ch, g, TC_TABLE_SLICE);
    tc_grow_format(g,
                   " AND ({}) GROUP BY cityHash64(metric), " TC__CH_SERIES
                   ") AS f GLOBAL ANY LEFT JOIN (SELECT " TC__CH_SERIES
                   ", {} FROM {}) AS s USING " TC__CH_SERIES " FORMAT RowBinary",
                   condition, tc_grow_slice(&texts), ch->series.name);
    g->failed |= texts.failed;
    tc_grow_fini(&texts);
}

static tc_status take(void *context, struct tc_rows *rows, struct tc_error *err)
{
    struct tc__duckdb *local = context;
    return tc__duckdb_fill(local, SUMS_TABLE, rows, err);
}

static tc_status make_table(struct tc__ch *ch, const struct answer *a, struct tc_error *err)
{
    struct tc_grow sql = {0};
    tc_grow_lit(&sql, "CREATE OR REPLACE TABLE " SUMS_TABLE " (");
    for (size_t i = 0; i < a->count; i++) {
        tc_grow_format(&sql, "{}\"{}\" {}", i == 0 ? "" : ", ", a->columns[i].name,
                       tc__duckdb_types[a->columns[i].type].sql);
    }
    tc_grow_str(&sql, tc_slice_make(")", 2)); /* with its end */
    tc_status status = sql.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a query")
                                  : tc__duckdb_run(ch->local, sql.buf.data, SUMS_TABLE, err);
    tc_grow_fini(&sql);
    return status;
}

static tc_status fetch_sums(struct tc__ch *ch, const struct answer *a, struct tc_slice sql,
                            struct tc_error *err)
{
    struct tc__ch_reader reader = {.fields = a->fields,
                                   .field_count = a->count,
                                   .rows = tc_rows_create_for(a->columns, a->count),
                                   .take = take,
                                   .context = ch->local,
                                   .err = err};
    tc_status status = reader.rows == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for rows")
                                           : make_table(ch, a, err);
    status = status == TC_OK ? tc__ch_select(&ch->client, sql, tc__ch_reader_take, &reader, err)
                             : status;
    tc_status end = tc__ch_reader_end(&reader);
    tc_rows_destroy(reader.rows);
    return status == TC_OK ? end : status;
}

/* What is in the local table, in the columns of SUMS_TABLE and run_found; with the condition's `?`.
 */
static void put_local(const struct tc__ch *ch, struct tc_grow *g, const struct parts *parts,
                      const struct tc_slice *names, size_t name_count)
{
    tc_grow_lit(g, " UNION ALL SELECT metric");
    for (size_t i = 1; i < ch->series.column_count; i++) {
        tc_grow_format(g, ", scope.\"{}\"", ch->series.columns[i].name);
    }
    for (size_t i = 0; i < name_count; i++) {
        tc_grow_format(g, ", CAST({} AS DOUBLE)", names[i]);
    }
    tc_grow_format(g,
                   ", run_found FROM (SELECT metric, scope_id, run_found, {}" TC_TELEMETRY_FROM
                   "{} GROUP BY metric, scope_id, run_found) AS l JOIN telemetry_scope scope USING "
                   "(scope_id)",
                   parts->numbers, parts->condition);
}

tc_status tc__ch_sums(struct tc__ch *ch, const struct tc_query *query, bool all,
                      struct tc_grow *out_sql, size_t *out_binds_used, struct tc_error *err)
{
    struct parts parts;
    struct tc_slice names[NUMBERS_MAX];
    struct answer answer;
    struct tc_grow condition = {0};
    struct tc_grow sql = {0};
    if (query->untrusted || !take_apart(query->sql, &parts)) {
        return TC_OK;
    }
    size_t name_count = take_names(parts.numbers, names);
    name_columns(ch, names, name_count, &answer);
    size_t binds = put_condition(&condition, parts.condition, query);
    put_sums(ch, &sql, &parts, names, name_count, tc_grow_slice(&condition));
    tc_status status = condition.failed || sql.failed
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a query")
                           : fetch_sums(ch, &answer, tc_grow_slice(&sql), err);
    tc_grow_fini(&condition);
    tc_grow_fini(&sql);
    TC_TRY(status);
    tc_grow_lit(out_sql, "WITH sums AS (SELECT *, NULL AS run_found FROM " SUMS_TABLE);
    if (!all) {
        put_local(ch, out_sql, &parts, names, name_count);
    }
    tc_grow_format(out_sql, ") SELECT {} FROM sums WHERE true {}", parts.columns, parts.rest);
    *out_binds_used = all ? binds : 0; /* put_local has them too */
    return out_sql->failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for a query") : TC_OK;
}
