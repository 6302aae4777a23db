/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a query that anybody can run to get the values of a number: run_id and value. */
#include "report/report_priv.h"
#include "warehouse/sql_text.h"

/* As compare/samples_read.c has it: the mean of a slice's windows by the samples that each has. */
#define SLICE_MEAN "COALESCE(mean, p50, last)"
#define SLICE_WEIGHT "(CASE WHEN count > 0 THEN count ELSE 1 END)"

static void put_runs(struct tc_grow *g, const struct tc__side *const *sides, size_t side_count)
{
    const char *before = "";
    for (size_t n = 0; n < side_count; n++) {
        for (size_t i = 0; i < sides[n]->group->run_count; i++) {
            tc_grow_str(g, tc_slice_cstr(before));
            tc_sql_put_text(g, tc_group_text(sides[n]->group, i, TC_GROUP_RUN_ID));
            before = ", ";
        }
    }
}

/* A key that is made of several columns, with a blank behind each that is not empty. */
static void put_joined_key(struct tc_grow *g, const char *const *columns, size_t count,
                           struct tc_slice key)
{
    for (size_t i = 0; i < count; i++) {
        tc_grow_format(g, "{}CASE WHEN {} IS NULL THEN '' ELSE {}CAST({} AS VARCHAR) || ' ' END",
                       i == 0 ? " AND " : " || ", columns[i],
                       tc_slice_eq(tc_slice_cstr(columns[i]), TC_LIT("rank_id")) ? "'rank=' || "
                                                                                 : "",
                       columns[i]);
    }
    tc_grow_lit(g, " = ");
    tc_grow_str(g, key.len == 0 ? TC_LIT("''") : TC_EMPTY);
    if (key.len > 0) {
        tc_sql_put_text(g, key);
        tc_grow_lit(g, " || ' '");
    }
}

static void put_slices(struct tc_grow *g, const struct tc_series *s)
{
    static const char *const KEY[] = {"point", "node_name", "gpu_uuid", "rank_id", "request_class"};
    struct tc_slice metric;
    struct tc_slice family = tc_slice_cut(s->name, ':', &metric);
    tc_grow_lit(g, " AND family = ");
    tc_sql_put_text(g, family);
    tc_grow_lit(g, " AND metric = ");
    tc_sql_put_text(g, metric);
    if (s->unit.len == 0) {
        tc_grow_lit(g, " AND unit IS NULL");
    } else {
        tc_grow_lit(g, " AND unit = ");
        tc_sql_put_text(g, s->unit);
    }
    put_joined_key(g, KEY, TC_COUNT(KEY), s->point->key);
    tc_grow_lit(g, " GROUP BY run_id");
}

/* Whether a set has the metric at the point in another definition or unit too. */
static bool has_others(const struct tc_series_set *set, const struct tc_series *s)
{
    size_t same = 0;
    for (size_t i = 0; i < set->series_count; i++) {
        same += tc_series_compare_metric(&set->series[i], s) == 0;
    }
    return same > 1;
}

static void put_definition(struct tc_grow *g, const struct tc_series *s)
{
    struct tc_slice field;
    struct tc_slice tool = tc_slice_cut(s->definition, ':', &field);
    if (tc_slice_eq(field, s->name)) { /* the tool's own, without a definition of ours */
        tc_grow_lit(g, " AND tool = ");
        tc_sql_put_text(g, tool);
        return;
    }
    struct tc_grow json = {0};
    struct tc_json_out j = tc_json_out_grow(&json);
    tc_json_add_object(&j);
    tc_json_key_str(&j, s->name);
    tc_json_add_str(&j, s->definition);
    tc_json_end_object(&j);
    struct tc_slice text = tc_grow_slice(&json);
    g->failed = g->failed || json.failed;
    if (!g->failed) { /* without the brackets */
        tc_grow_lit(g, " AND definitions LIKE '%' || ");
        tc_sql_put_text(g, tc_slice_make(text.ptr + 1, text.len - 2));
        tc_grow_lit(g, " || '%'");
    }
    tc_grow_fini(&json);
}

static void put_outcome(struct tc_grow *g, const struct tc_series *s)
{
    static const char *const TRAINING_KEY[] = {"phase", "scale_point"};
    if (s->point->table == TC_TABLE_TRAINING) {
        put_joined_key(g, TRAINING_KEY, TC_COUNT(TRAINING_KEY), s->point->key);
    } else {
        tc_grow_lit(g, " AND COALESCE(workload_point, '') = ");
        tc_sql_put_text(g, s->point->key);
        tc_sql_put_and_real(g, "concurrency", s->point->concurrency);
        tc_sql_put_and_real(g, "request_rate", s->point->request_rate);
    }
    tc_grow_format(g, " AND {} IS NOT NULL", s->name);
}

void tc__query_put(struct tc_grow *g, const struct tc_series *series,
                   const struct tc__side *const *sides, size_t side_count)
{
    bool is_slice = series->point->table == TC_TABLE_SLICE;
    bool is_ambiguous = false;
    tc_grow_lit(g, "SELECT run_id, ");
    if (is_slice) {
        tc_grow_lit(g, "sum(" SLICE_MEAN " * " SLICE_WEIGHT " ORDER BY " SLICE_MEAN
                       " * " SLICE_WEIGHT ") / sum(CASE WHEN " SLICE_MEAN
                       " IS NULL THEN NULL ELSE " SLICE_WEIGHT " END)");
    } else {
        tc_grow_str(g, series->name);
    }
    tc_grow_format(g, " AS value FROM {} WHERE run_id IN (",
                   tc_table_info(series->point->table)->name);
    put_runs(g, sides, side_count);
    tc_grow_lit(g, ")");
    if (is_slice) {
        put_slices(g, series);
        return;
    }
    put_outcome(g, series);
    for (size_t n = 0; n < side_count; n++) {
        is_ambiguous = is_ambiguous || has_others(sides[n]->set, series);
    }
    if (is_ambiguous) {
        put_definition(g, series);
    }
}
