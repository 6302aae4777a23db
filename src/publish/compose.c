/* SPDX-License-Identifier: Apache-2.0 */
#include "publish/compose.h"

#include "base/format.h"
#include "compare/metrics.h"
#include "publish/values.h"
#include "warehouse/sql_text.h"

#include <stdlib.h>

/* ---- SQL ---- */

static void put_is(struct tc_grow *g, const char *column, struct tc_slice text)
{
    tc_grow_format(g, " AND {} ", column);
    if (text.len == 0) {
        tc_grow_lit(g, "IS NULL");
    } else {
        tc_grow_lit(g, "= ");
        tc_sql_put_text(g, text);
    }
}

/* Phase and scale of a point, which its key has one after the other. */
static tc_status put_phase(struct tc_warehouse *w, const struct tc_composed *c, struct tc_grow *g,
                           struct tc_error *err)
{
    struct tc_answer set;
    const struct tc_point *point = c->series->point;
    struct tc_bind run = {.type = TC_COLUMN_TEXT,
                          .as.text = tc_group_text(&c->group, c->series->runs[0], TC_GROUP_RUN_ID)};
    bool found = false;
    TC_TRY(tc_answer_query(w,
                           "SELECT DISTINCT phase, scale_point FROM training_outcome_fact WHERE "
                           "run_id = ? ORDER BY phase, scale_point",
                           &run, 1, &set, err));
    for (size_t row = 0; row < set.row_count && !found; row++) {
        struct tc_slice phase = tc_answer_text(&set, row, 0);
        struct tc_slice scale = tc_answer_text(&set, row, 1);
        struct tc_grow key = {0};
        tc_grow_format(&key, "{}{}{}", phase, phase.len > 0 && scale.len > 0 ? " " : "", scale);
        found = !key.failed && tc_slice_eq(tc_grow_slice(&key), point->key);
        tc_grow_fini(&key);
        if (found) {
            put_is(g, "phase", phase);
            put_is(g, "scale_point", scale);
        }
    }
    tc_answer_fini(&set);
    return found ? TC_OK : tc_fail(err, TC_E_NOTFOUND, 0, "the point's rows cannot be found again");
}

static int by_text(const void *a, const void *b)
{
    return tc_slice_cmp(*(const struct tc_slice *)a, *(const struct tc_slice *)b);
}

/* In the order of their ids: the same runs give the same query. */
static void put_runs(struct tc_grow *g, const struct tc_composed *c)
{
    struct tc_slice *ids = calloc(c->series->count, sizeof *ids);
    if (ids == NULL) {
        g->failed = true;
        return;
    }
    for (size_t i = 0; i < c->series->count; i++) {
        ids[i] = tc_group_text(&c->group, c->series->runs[i], TC_GROUP_RUN_ID);
    }
    qsort(ids, c->series->count, sizeof *ids, by_text);
    tc_grow_lit(g, " WHERE run_id IN (");
    for (size_t i = 0; i < c->series->count; i++) {
        tc_grow_str(g, i == 0 ? TC_EMPTY : TC_LIT(", "));
        tc_sql_put_text(g, ids[i]);
    }
    tc_grow_lit(g, ")");
    free(ids);
}

static tc_status put_query(struct tc_warehouse *w, struct tc_composed *c, bool with_definition,
                           struct tc_error *err)
{
    struct tc_grow *g = &c->query;
    const struct tc_series *s = c->series;
    tc_grow_fini(g);
    tc_grow_format(g, "SELECT run_id, {} AS value FROM {}", s->name,
                   tc_table_info(s->point->table)->name);
    put_runs(g, c);
    if (s->point->table == TC_TABLE_SERVING) {
        put_is(g, "workload_point", s->point->key);
        tc_sql_put_and_real(g, "concurrency", s->point->concurrency);
        tc_sql_put_and_real(g, "request_rate", s->point->request_rate);
    } else {
        TC_TRY(put_phase(w, c, g, err));
    }
    if (with_definition) {
        tc_grow_format(g, " AND definitions LIKE '%\"{}\":\"{}\"%'", s->name, s->definition);
    }
    tc_grow_format(g, " AND {} IS NOT NULL ORDER BY run_id, value", s->name);
    return g->failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the query") : TC_OK;
}

/* Whether the query gives the values of the series. */
static tc_status is_right(struct tc_warehouse *w, const struct tc_composed *c, bool *out,
                          struct tc_error *err)
{
    struct tc_values values = {0};
    tc_status status = tc_values_query(w, tc_grow_slice(&c->query), &values, err);
    *out = status == TC_OK && values.count == c->series->count;
    for (size_t i = 0; *out && i < values.count; i++) {
        bool found = false;
        for (size_t n = 0; n < c->series->count && !found; n++) {
            found = tc_slice_eq(tc_group_text(&c->group, c->series->runs[n], TC_GROUP_RUN_ID),
                                tc_slice_cstr(values.items[i].run_id)) &&
                    tc_values_are_same(values.items[i].value, c->series->values[n]);
        }
        *out = found;
    }
    tc_values_fini(&values);
    return status;
}

/* ---- which series ---- */

/* Some of the series that are meant, as far as they differ in this. */
static void put_choices(const struct tc_composed *c, const bool *is_meant,
                        struct tc_slice (*word)(const struct tc_series *s), struct tc_buf *out)
{
    struct tc_slice last = TC_EMPTY;
    size_t told = 0;
    for (size_t i = 0; i < c->set.series_count; i++) {
        struct tc_slice text = word(&c->set.series[i]);
        if (is_meant[i] && !tc_slice_eq(text, last) && told < 4) {
            (void)tc_format(out, "{}\"{}\"", told++ > 0 ? ", " : "", text);
            last = text;
        }
    }
}

static struct tc_slice point_of(const struct tc_series *s)
{
    return s->point->text;
}

static struct tc_slice definition_of(const struct tc_series *s)
{
    return s->definition;
}

static tc_status refuse_several(const struct tc_composed *c, const bool *is_meant, size_t first,
                                struct tc_error *err)
{
    char text[TC_ERROR_MESSAGE_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    bool points = false;
    for (size_t i = first + 1; i < c->set.series_count; i++) {
        points |= is_meant[i] && c->set.series[i].point != c->set.series[first].point;
    }
    put_choices(c, is_meant, points ? point_of : definition_of, &b);
    return tc_fail(err, TC_E_USAGE, 0, "%s: --%s %.*s",
                   points ? "it was measured at several points; one is a number"
                          : "its values have several definitions, which are not one number",
                   points ? "point" : "definition", TC_FMT(tc_buf_slice(&b)));
}

static tc_status choose(const struct tc_compose_want *want, struct tc_composed *c, bool *is_meant,
                        struct tc_error *err)
{
    size_t hits = 0;
    size_t first = 0;
    for (size_t i = 0; i < c->set.series_count; i++) {
        const struct tc_series *s = &c->set.series[i];
        is_meant[i] = tc_slice_eq(s->name, want->metric) && s->count > 0 &&
                      (want->definition.len == 0 || tc_slice_eq(want->definition, s->definition));
        first = is_meant[i] && hits == 0 ? i : first;
        hits += is_meant[i] ? 1 : 0;
    }
    if (hits > 1) {
        return refuse_several(c, is_meant, first, err);
    }
    if (hits == 0) {
        const struct tc_run_metric *near = tc_run_metric_nearest(want->metric);
        return tc_fail(err, TC_E_NOTFOUND, 0, "the runs have no %.*s%s%.*s%s%s%s",
                       TC_FMT(want->metric), want->point.len > 0 ? " at " : "", TC_FMT(want->point),
                       near != NULL ? "; did you mean " : "", near != NULL ? near->name : "",
                       near != NULL ? "?" : "");
    }
    c->series = &c->set.series[first];
    return TC_OK;
}

static tc_status find_series(const struct tc_compose_want *want, struct tc_composed *c,
                             struct tc_error *err)
{
    bool *is_meant = calloc(c->set.series_count + 1, sizeof *is_meant);
    tc_status status = is_meant == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the series")
                                        : choose(want, c, is_meant, err);
    free(is_meant);
    if (status == TC_OK && c->series->point->table == TC_TABLE_SLICE) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "%.*s is a tool's own measurement: publish it with --query SQL, which says "
                       "what of telemetry_slice_fact is meant",
                       TC_FMT(c->series->name));
    }
    return status;
}

/* ---- all of it ---- */

tc_status tc_compose(struct tc_warehouse *w, const struct tc_compose_want *want,
                     struct tc_composed *out, struct tc_error *err)
{
    const struct tc_series_want series = {.metrics = &want->metric,
                                          .metric_count = 1,
                                          .points = &want->point,
                                          .point_count = want->point.len > 0 ? 1 : 0};
    bool right = false;
    *out = (struct tc_composed){0};
    TC_TRY(tc_group_find(w, want->group, 0, &out->group, err));
    TC_TRY(tc_series_set_read(w, &out->group, &series, &out->set, err));
    TC_TRY(find_series(want, out, err));
    /* A file that does not say what its field means has no definition in its row. */
    for (int with_definition = 1; with_definition >= 0 && !right; with_definition--) {
        TC_TRY(put_query(w, out, with_definition > 0, err));
        TC_TRY(is_right(w, out, &right, err));
    }
    if (!right) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "no query gives these values alone; say with --query SQL which are meant");
    }
    tc_grow_format(&out->report_row, "{}: {} at {}", want->group, out->series->name,
                   out->series->point->text);
    return out->report_row.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the report row")
                                  : TC_OK;
}

void tc_compose_fini(struct tc_composed *c)
{
    tc_grow_fini(&c->query);
    tc_grow_fini(&c->report_row);
    tc_series_set_fini(&c->set);
    tc_group_fini(&c->group);
}

/* ---- publishing ---- */

static tc_status publish_group(struct tc_publish_want *want, struct tc_slice group,
                               struct tc_publish_outcome *out, struct tc_error *err)
{
    const struct tc_compose_want compose = {.group = group,
                                            .metric = want->metric,
                                            .point = want->point,
                                            .definition = want->definition_id};
    struct tc_composed c;
    tc_status status = tc_compose(want->w, &compose, &c, err);
    if (status == TC_OK) {
        want->definition_id = c.series->definition;
        want->unit = c.series->unit;
        want->point = c.series->point->text;
        want->query = tc_grow_slice(&c.query);
        want->report_row = tc_slice_or(want->report_row, tc_grow_slice(&c.report_row));
        status = tc_publish(want, out, err);
    }
    tc_compose_fini(&c);
    return status;
}

tc_status tc_publish_of(const struct tc_publish_want *want, struct tc_slice group,
                        struct tc_publish_outcome *out, struct tc_error *err)
{
    struct tc_publish_want full = *want;
    const struct tc_run_metric *metric = tc_run_metric_find(want->metric);
    if (group.len > 0) {
        return publish_group(&full, group, out, err);
    }
    if (full.unit.len == 0 && metric != NULL) {
        full.unit = tc_slice_cstr(metric->unit);
    }
    full.report_row = tc_slice_or(full.report_row, full.metric);
    return tc_publish(&full, out, err);
}
