/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of outcomes into series. Rows are read as they stream; what is the same in many of them,
 * point, tool and the JSON of definitions, is looked up once and gives the series of each column.
 */
#include "base/format.h"
#include "base/json/json.h"
#include "compare/samples_priv.h"

#include <math.h>
#include <stdlib.h>

/* Runs of one query, if their ids are its parameters. */
#define RUNS_AT_ONCE 1000

enum { COL_RUN, COL_TOOL, COL_VERSION, COL_DEFINITIONS, COL_KEY };
enum { SERVING_CONCURRENCY = COL_KEY + 1, SERVING_RATE, SERVING_METRICS };
enum { TRAINING_SCALE = COL_KEY + 1, TRAINING_METRICS };
enum {
    SLICE_FAMILY = COL_RUN + 1,
    SLICE_METRIC,
    SLICE_UNIT,
    SLICE_POINT,
    SLICE_NODE,
    SLICE_GPU,
    SLICE_RANK,
    SLICE_CLASS,
    SLICE_VALUE,
};

/* Rows that are alike: the series of their columns are series[0 .. column_count). */
struct shape {
    uint32_t place;
    uint32_t definitions;
    uint32_t tool;
    size_t at;
};

struct reader {
    struct tc__series_memory *m;
    const struct tc_group *group;
    const struct tc_series_want *want;
    struct tc_hash_index runs;
    struct tc_json_parser *parser;
    struct tc_grow text;
    /* of the table that is read */
    enum tc_table table;
    const struct tc_run_metric *columns[TC_TABLE_COLUMNS_MAX];
    size_t column_count;
    struct tc_hash_index shapes_index;
    struct shape *shapes;
    size_t shape_cap;
    uint32_t *series;
    size_t series_count;
    size_t series_cap;
    tc_status status; /* why it stopped */
};

/* ---- runs ---- */

static tc_status index_runs(struct reader *r)
{
    for (size_t run = 0; run < r->group->run_count; run++) {
        TC_TRY(tc_hash_index_add(&r->runs,
                                 tc_slice_hash(tc_group_text(r->group, run, TC_GROUP_RUN_ID), 0),
                                 TC_GROUP_RUNS_MAX));
    }
    return TC_OK;
}

static uint32_t run_of(const struct reader *r, struct tc_slice id)
{
    uint64_t hash = tc_slice_hash(id, 0);
    size_t at = 0;
    uint32_t run = tc_hash_index_next(&r->runs, hash, &at);
    while (run != TC_HASH_INDEX_NONE &&
           !tc_slice_eq(tc_group_text(r->group, run, TC_GROUP_RUN_ID), id)) {
        run = tc_hash_index_next(&r->runs, hash, &at);
    }
    return run;
}

/* ---- points ---- */

static struct tc_slice text_at(const struct tc_rows *rows, size_t column, size_t row)
{
    return tc_rows_is_null(rows, column, row) ? TC_EMPTY : tc_rows_get_text(rows, column, row);
}

static double real_at(const struct tc_rows *rows, size_t column, size_t row)
{
    if (tc_rows_is_null(rows, column, row)) {
        return (double)NAN;
    }
    return rows->columns[column].type == TC_COLUMN_REAL
               ? tc_rows_get_real(rows, column, row)
               : (double)tc_rows_get_int(rows, column, row);
}

static void put_word(struct tc_grow *g, const char *name, struct tc_slice value)
{
    if (value.len > 0) {
        tc_grow_format(g, "{}{}{}", g->buf.len > 0 ? " " : "", name, value);
    }
}

static void put_number(struct tc_grow *g, const char *name, double value)
{
    if (!isnan(value)) {
        tc_grow_format(g, "{}{}{}", g->buf.len > 0 ? " " : "", name, value);
    }
}

static void put_key(struct reader *r, const struct tc_rows *rows, size_t row)
{
    struct tc_grow *g = &r->text;
    tc_buf_reset(&g->buf);
    if (r->table == TC_TABLE_SLICE) {
        put_word(g, "", text_at(rows, SLICE_POINT, row));
        put_word(g, "", text_at(rows, SLICE_NODE, row));
        put_word(g, "", text_at(rows, SLICE_GPU, row));
        put_number(g, "rank=", real_at(rows, SLICE_RANK, row));
        put_word(g, "", text_at(rows, SLICE_CLASS, row));
        return;
    }
    put_word(g, "", text_at(rows, COL_KEY, row));
    if (r->table == TC_TABLE_TRAINING) {
        put_word(g, "", text_at(rows, TRAINING_SCALE, row));
    }
}

bool tc_point_matches(struct tc_slice pattern, struct tc_slice text)
{
    while (pattern.len > 0) {
        struct tc_slice word = tc_slice_cut(pattern, ' ', &pattern);
        struct tc_slice rest = text;
        bool found = word.len == 0;
        while (!found && rest.len > 0) {
            found = tc_glob_matches(word, tc_slice_cut(rest, ' ', &rest));
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

static bool is_wanted_point(const struct tc_series_want *want, struct tc_slice text)
{
    for (size_t n = 0; n < want->point_count; n++) {
        if (tc_point_matches(want->points[n], text)) {
            return true;
        }
    }
    return want->point_count == 0;
}

static tc_status place_of(struct reader *r, const struct tc_rows *rows, size_t row, uint32_t *out)
{
    struct tc__series_point place = {
        .table = r->table, .concurrency = (double)NAN, .request_rate = (double)NAN};
    put_key(r, rows, row);
    TC_TRY(tc__texts_id(&r->m->names, tc_grow_slice(&r->text), &place.key));
    if (r->table == TC_TABLE_SERVING) {
        place.concurrency = real_at(rows, SERVING_CONCURRENCY, row);
        place.request_rate = real_at(rows, SERVING_RATE, row);
        put_number(&r->text, "concurrency=", place.concurrency);
        put_number(&r->text, "rate=", place.request_rate);
    }
    if (r->text.buf.len == 0) {
        tc_grow_lit(&r->text, "the whole");
    }
    if (r->text.failed) {
        return TC_E_NOMEM;
    }
    TC_TRY(tc__texts_id(&r->m->names, tc_grow_slice(&r->text), &place.text));
    size_t before = r->m->places_index.count;
    TC_TRY(tc__series_place(r->m, &place, out));
    if (r->m->places_index.count > before) {
        r->m->places[*out].wanted = is_wanted_point(r->want, tc_grow_slice(&r->text));
    }
    return TC_OK;
}

/* ---- the outcome tables ---- */

static bool is_wanted_metric(const struct tc_series_want *want, struct tc_slice name)
{
    for (size_t n = 0; n < want->metric_count; n++) {
        if (tc_run_metric_matches(want->metrics[n], name)) {
            return true;
        }
    }
    return want->metric_count == 0;
}

/* The series of all columns of rows that are alike. */
static tc_status make_shape(struct reader *r, struct tc_slice tool, struct tc_slice definitions,
                            struct shape *shape)
{
    struct tc_json root = {0};
    struct tc_error err;
    bool parsed =
        definitions.len > 0 && tc_json_parse(r->parser, definitions, &root, &err) == TC_OK;
    shape->at = r->series_count;
    TC_TRY(tc_grow_items(r->series, r->series_cap, r->series_count + r->column_count,
                         (size_t)TC_SERIES_MAX * 4));
    for (size_t n = 0; n < r->column_count; n++) {
        const struct tc_run_metric *metric = r->columns[n];
        struct tc_slice name = tc_slice_cstr(metric->name);
        struct tc_slice definition = parsed ? tc_json_get_string(root, name) : TC_EMPTY;
        struct tc__series_growing g = {.point = shape->place, .order = metric->column};
        if (definition.len == 0) {
            tc_buf_reset(&r->text.buf);
            tc_grow_format(&r->text, "{}:{}", tool, name);
            definition = tc_grow_slice(&r->text);
        }
        TC_TRY(r->text.failed ? TC_E_NOMEM : TC_OK);
        TC_TRY(tc__texts_id(&r->m->names, name, &g.name));
        TC_TRY(tc__texts_id(&r->m->names, definition, &g.definition));
        TC_TRY(tc__texts_id(&r->m->names, tc_slice_cstr(metric->unit), &g.unit));
        TC_TRY(tc__series_one(r->m, &g, &r->series[shape->at + n]));
    }
    r->series_count += r->column_count;
    return TC_OK;
}

static tc_status shape_of(struct reader *r, const struct tc_rows *rows, size_t row, uint32_t place,
                          const struct shape **out)
{
    struct shape shape = {.place = place};
    struct tc_slice tool = text_at(rows, COL_TOOL, row);
    struct tc_slice definitions = text_at(rows, COL_DEFINITIONS, row);
    TC_TRY(tc__texts_id(&r->m->names, definitions, &shape.definitions));
    TC_TRY(tc__texts_id(&r->m->names, tool, &shape.tool));
    uint64_t hash = tc_hash_mix(tc_hash_mix(place, shape.definitions), shape.tool);
    size_t at = 0;
    for (;;) {
        uint32_t n = tc_hash_index_next(&r->shapes_index, hash, &at);
        if (n == TC_HASH_INDEX_NONE) {
            break;
        }
        if (r->shapes[n].place == place && r->shapes[n].definitions == shape.definitions &&
            r->shapes[n].tool == shape.tool) {
            *out = &r->shapes[n];
            return TC_OK;
        }
    }
    TC_TRY(make_shape(r, tool, definitions, &shape));
    TC_TRY(tc_grow_items(r->shapes, r->shape_cap, r->shapes_index.count + 1, TC_SERIES_MAX));
    TC_TRY(tc_hash_index_add(&r->shapes_index, hash, TC_SERIES_MAX));
    r->shapes[r->shapes_index.count - 1] = shape;
    *out = &r->shapes[r->shapes_index.count - 1];
    return TC_OK;
}

static tc_status count_tool(struct reader *r, const struct tc_rows *rows, size_t row)
{
    struct tc__series_memory *m = r->m;
    uint32_t id = 0;
    size_t n = 0;
    tc_buf_reset(&r->text.buf);
    put_word(&r->text, "", text_at(rows, COL_TOOL, row));
    put_word(&r->text, "", text_at(rows, COL_VERSION, row));
    TC_TRY(r->text.failed ? TC_E_NOMEM : TC_OK);
    TC_TRY(tc__texts_id(&m->names, tc_grow_slice(&r->text), &id));
    while (n < m->tool_count && m->tools[n] != id) {
        n++;
    }
    if (n == m->tool_count && n < TC_SERIES_TOOLS_MAX) {
        m->tools[m->tool_count++] = id;
    }
    if (n < m->tool_count) {
        m->tool_rows[n]++;
    }
    return TC_OK;
}

static tc_status take_outcome(struct reader *r, const struct tc_rows *rows, size_t row)
{
    size_t first = r->table == TC_TABLE_SERVING ? SERVING_METRICS : TRAINING_METRICS;
    uint32_t run = run_of(r, text_at(rows, COL_RUN, row));
    uint32_t place = 0;
    const struct shape *shape = NULL;
    if (run == TC_HASH_INDEX_NONE) {
        return TC_OK;
    }
    TC_TRY(place_of(r, rows, row, &place));
    if (!r->m->places[place].wanted) {
        return TC_OK;
    }
    TC_TRY(count_tool(r, rows, row));
    TC_TRY(shape_of(r, rows, row, place, &shape));
    for (size_t n = 0; n < r->column_count; n++) {
        if (!tc_rows_is_null(rows, first + n, row)) {
            TC_TRY(
                tc__series_add(r->m, r->series[shape->at + n], run, real_at(rows, first + n, row)));
        }
    }
    return TC_OK;
}

/* ---- slices of tools ---- */

static tc_status take_slice(struct reader *r, const struct tc_rows *rows, size_t row)
{
    uint32_t run = run_of(r, text_at(rows, COL_RUN, row));
    uint32_t place = 0;
    uint32_t series = 0;
    struct tc__series_growing g = {0};
    if (run == TC_HASH_INDEX_NONE || tc_rows_is_null(rows, SLICE_VALUE, row)) {
        return TC_OK;
    }
    TC_TRY(place_of(r, rows, row, &place));
    tc_buf_reset(&r->text.buf);
    tc_grow_format(&r->text, "{}:{}", text_at(rows, SLICE_FAMILY, row),
                   text_at(rows, SLICE_METRIC, row));
    TC_TRY(r->text.failed ? TC_E_NOMEM : TC_OK);
    struct tc_slice name = tc_grow_slice(&r->text);
    if (!r->m->places[place].wanted || !is_wanted_metric(r->want, name)) {
        return TC_OK;
    }
    g.point = place;
    TC_TRY(tc__texts_id(&r->m->names, name, &g.name));
    TC_TRY(tc__texts_id(&r->m->names, text_at(rows, SLICE_UNIT, row), &g.unit));
    g.definition = g.name;
    TC_TRY(tc__series_one(r->m, &g, &series));
    return tc__series_add(r->m, series, run, real_at(rows, SLICE_VALUE, row));
}

static tc_status take_rows(void *context, const struct tc_rows *rows)
{
    struct reader *r = context;
    for (size_t row = 0; r->status == TC_OK && row < rows->count; row++) {
        r->status =
            r->table == TC_TABLE_SLICE ? take_slice(r, rows, row) : take_outcome(r, rows, row);
    }
    return r->status;
}

/* ---- queries ---- */

/* A slice's value over the whole run: the mean of its windows by the samples that each has. */
#define SLICE_MEAN "COALESCE(s.mean, s.p50, s.last)"
#define SLICE_WEIGHT "(CASE WHEN s.count > 0 THEN s.count ELSE 1 END)"
#define SLICES                                                                                   \
    "SELECT s.run_id, s.family, s.metric, s.unit, s.point, s.node_name, s.gpu_uuid, s.rank_id, " \
    "s.request_class, sum(" SLICE_MEAN " * " SLICE_WEIGHT " ORDER BY " SLICE_MEAN                \
    " * " SLICE_WEIGHT ") / sum(CASE WHEN " SLICE_MEAN " IS NULL THEN NULL ELSE " SLICE_WEIGHT   \
    " END) FROM telemetry_slice_fact s JOIN "                                                    \
    "benchmark_run_fact r ON r.run_id = s.run_id WHERE r.tools LIKE '%\"' || s.family || '\"%' " \
    "AND s.run_id IN ("
#define SLICES_END                                                                        \
    ") GROUP BY s.run_id, s.family, s.metric, s.unit, s.point, s.node_name, s.gpu_uuid, " \
    "s.rank_id, s.request_class"

static void choose_columns(struct reader *r, enum tc_table table)
{
    size_t count = 0;
    const struct tc_run_metric *metrics = tc_run_metric_columns(&count);
    r->table = table;
    r->column_count = 0;
    for (size_t n = 0; n < count; n++) {
        if (metrics[n].table == table &&
            is_wanted_metric(r->want, tc_slice_cstr(metrics[n].name))) {
            r->columns[r->column_count++] = &metrics[n];
        }
    }
}

static void put_query(const struct reader *r, struct tc_grow *sql, size_t run_count)
{
    if (r->table == TC_TABLE_SLICE) {
        tc_grow_lit(sql, SLICES);
    } else {
        tc_grow_format(sql, "SELECT run_id, tool, tool_version, definitions, {}",
                       r->table == TC_TABLE_SERVING ? "workload_point, concurrency, request_rate"
                                                    : "phase, scale_point");
        for (size_t n = 0; n < r->column_count; n++) {
            tc_grow_format(sql, ", {}", r->columns[n]->name);
        }
        tc_grow_format(sql, " FROM {} WHERE run_id IN (", tc_table_info(r->table)->name);
    }
    if (tc_group_key(r->group) != TC_GROUP_FACTS) {
        tc_grow_format(sql, "SELECT run_id FROM benchmark_run_fact WHERE {} = ?",
                       tc_answer_name(&r->group->runs, tc_group_key(r->group)));
    } else {
        for (size_t n = 0; n < run_count; n++) {
            tc_grow_str(sql, n == 0 ? TC_LIT("?") : TC_LIT(",?"));
        }
    }
    tc_grow_str(sql, r->table == TC_TABLE_SLICE ? TC_LIT(SLICES_END) : TC_LIT(")"));
}

static tc_status fail_read(tc_status status, struct tc_error *err)
{
    return status == TC_E_LIMIT
               ? tc_fail(err, status, 0,
                         "more than %d series or %zu values; --metric and --point choose some",
                         TC_SERIES_MAX, TC_SERIES_VALUES_MAX)
               : tc_fail(err, status, 0, "no memory for the values of runs");
}

/* The rows of some runs of one table, or of all that share the key of the group. */
static tc_status read_some(struct tc_warehouse *w, struct reader *r, size_t first, size_t count,
                           struct tc_error *err)
{
    struct tc_grow sql = {0};
    struct tc_bind *binds = calloc(count, sizeof *binds);
    enum tc_group_column key = tc_group_key(r->group);
    for (size_t n = 0; binds != NULL && n < count; n++) {
        binds[n].type = TC_COLUMN_TEXT;
        binds[n].as.text =
            tc_group_text(r->group, first + n, key != TC_GROUP_FACTS ? key : TC_GROUP_RUN_ID);
    }
    put_query(r, &sql, count);
    struct tc_query query = {.sql = tc_grow_slice(&sql), .binds = binds, .bind_count = count};
    tc_status status = binds == NULL || sql.failed
                           ? fail_read(TC_E_NOMEM, err)
                           : tc_warehouse_query(w, &query, take_rows, r, NULL, err);
    if (r->status != TC_OK) {
        status = fail_read(r->status, err);
    }
    tc_grow_fini(&sql);
    free(binds);
    return status;
}

static void end_table(struct reader *r)
{
    tc_hash_index_fini(&r->shapes_index);
    free(r->shapes);
    free(r->series);
    r->shapes = NULL;
    r->shape_cap = 0;
    r->series = NULL;
    r->series_count = 0;
    r->series_cap = 0;
}

static tc_status read_tables(struct tc_warehouse *w, struct reader *r, struct tc_error *err)
{
    static const enum tc_table tables[] = {TC_TABLE_SERVING, TC_TABLE_TRAINING, TC_TABLE_SLICE};
    tc_status status = TC_OK;
    for (size_t t = 0; status == TC_OK && t < TC_COUNT(tables); t++) {
        bool by_key = tc_group_key(r->group) != TC_GROUP_FACTS;
        size_t left = by_key ? 1 : r->group->run_count;
        choose_columns(r, tables[t]);
        if (tables[t] == TC_TABLE_SLICE ? r->want->outcomes_only : r->column_count == 0) {
            continue;
        }
        while (status == TC_OK && left > 0) {
            size_t some = left < RUNS_AT_ONCE ? left : RUNS_AT_ONCE;
            status = read_some(w, r, by_key ? 0 : r->group->run_count - left, some, err);
            left -= some;
        }
        end_table(r);
    }
    return status;
}

tc_status tc__series_fill(struct tc_warehouse *w, const struct tc_group *group,
                          const struct tc_series_want *want, struct tc__series_memory *m,
                          struct tc_error *err)
{
    struct reader r = {.m = m, .group = group, .want = want, .parser = tc_json_parser_create()};
    tc_status status = r.parser == NULL ? TC_E_NOMEM : index_runs(&r);
    status = status == TC_OK ? read_tables(w, &r, err) : fail_read(status, err);
    tc_json_parser_destroy(r.parser);
    tc_hash_index_fini(&r.runs);
    tc_grow_fini(&r.text);
    return status;
}
