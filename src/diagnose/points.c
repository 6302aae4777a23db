/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/points.h"

#include "base/format.h"
#include "base/table/grow.h"
#include "base/table/sort.h"
#include "warehouse/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What slowness is judged by; the rest of a point's metrics is `tracecore compare`'s. */
static const char *const METRICS[] = {
    "e2e_mean_ms",
    "e2e_p50_ms",
    "e2e_p99_ms",
    "ttft_mean_ms",
    "ttft_p50_ms",
    "ttft_p99_ms",
    "tpot_mean_ms",
    "tpot_p50_ms",
    "tpot_p99_ms",
    "itl_mean_ms",
    "itl_p50_ms",
    "itl_p99_ms",
    "queue_mean_ms",
    "queue_p99_ms",
    "output_token_throughput",
    "request_throughput",
    "error_rate",
    "step_time_mean_ms",
    "step_time_p50_ms",
    "step_time_p95_ms",
    "step_time_p99_ms",
    "tokens_per_second",
    "tokens_per_second_per_gpu",
    "samples_per_second",
    "mfu_pct",
    "time_to_train_s",
    "training_reliability_pct",
    "restarts",
};

/* ---- one metric ---- */

static double median_of(const struct tc_series *s, double *low, double *high)
{
    double sorted[TC_DIAGNOSE_MEDIAN_MAX];
    size_t n = s->count < TC_DIAGNOSE_MEDIAN_MAX ? s->count : TC_DIAGNOSE_MEDIAN_MAX;
    const double *latest = s->values + (s->count - n);
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && sorted[at - 1] > latest[i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = latest[i];
    }
    if (n == 0) {
        *low = *high = (double)NAN;
        return (double)NAN;
    }
    *low = sorted[0];
    *high = sorted[n - 1];
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* How many times worse the run is; 1: not worse, or it cannot be said. */
static double times_worse(const struct tc_outcome *o)
{
    if (isnan(o->ratio) || o->ratio <= 0 || o->series->better == TC_BETTER_NEITHER) {
        return 1;
    }
    double times = o->series->better == TC_BETTER_LOWER ? o->ratio : 1 / o->ratio;
    return times > 1 ? times : 1;
}

static void judge(struct tc_outcome *o)
{
    bool lower = o->series->better == TC_BETTER_LOWER;
    bool outside = lower ? o->run > o->high : o->run < o->low;
    o->ratio = o->base != 0 ? o->run / o->base : (double)NAN;
    o->is_worse = outside && times_worse(o) >= 1 + TC_WORSE_RATIO;
    /* Errors where there were none have no ratio. */
    o->is_worse |= lower && o->base == 0 && o->run > 0;
}

static void fill_outcome(struct tc_outcome *o, const struct tc_series *run,
                         const struct tc_series *base)
{
    double low;
    double high;
    *o = (struct tc_outcome){.series = run,
                             .run = median_of(run, &low, &high),
                             .base = (double)NAN,
                             .low = (double)NAN,
                             .high = (double)NAN,
                             .ratio = (double)NAN};
    if (base != NULL) {
        o->base = median_of(base, &o->low, &o->high);
        o->base_count = base->count;
        judge(o);
    }
}

/* ---- points ---- */

static size_t place_of(struct tc_points *p, const struct tc_point *point)
{
    for (size_t i = p->point_count; i > 0; i--) { /* series of one point stand together */
        if (p->points[i - 1].point == point) {
            return i - 1;
        }
    }
    p->points[p->point_count] = (struct tc_slow_point){.point = point,
                                                       .worst = 1,
                                                       .worst_outcome = SIZE_MAX,
                                                       .started_us = INT64_MIN,
                                                       .ended_us = INT64_MIN};
    return p->point_count++;
}

static void match_series(struct tc_points *p)
{
    size_t at = 0;
    for (size_t i = 0; i < p->run.series_count; i++) {
        const struct tc_series *s = &p->run.series[i];
        if (s->point->table != TC_TABLE_SERVING && s->point->table != TC_TABLE_TRAINING) {
            continue;
        }
        while (at < p->base.series_count && tc_series_compare(&p->base.series[at], s) < 0) {
            at++;
        }
        bool same = at < p->base.series_count && tc_series_compare(&p->base.series[at], s) == 0;
        struct tc_outcome *o = &p->outcomes[p->outcome_count];
        fill_outcome(o, s, same ? &p->base.series[at] : NULL);
        o->point = place_of(p, s->point);
        struct tc_slow_point *point = &p->points[o->point];
        point->in_base |= same;
        double worse = o->is_worse ? times_worse(o) : 1;
        if (worse > point->worst) {
            point->worst = worse;
            point->worst_outcome = p->outcome_count;
        }
        p->outcome_count++;
    }
}

static int compare_points(const void *a, const void *b)
{
    const struct tc_slow_point *x = a;
    const struct tc_slow_point *y = b;
    int order = TC_ORDER(y->worst, x->worst);
    return order != 0 ? order : tc_slice_cmp(x->point->text, y->point->text);
}

/* The worst first; outcomes follow them. */
static void sort_points(struct tc_points *p)
{
    qsort(p->points, p->point_count, sizeof *p->points, compare_points);
    for (size_t i = 0; i < p->outcome_count; i++) {
        for (size_t n = 0; n < p->point_count; n++) {
            if (p->points[n].point == p->outcomes[i].series->point) {
                p->outcomes[i].point = n;
            }
        }
    }
}

/* ---- when ---- */

static bool same_number(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static void widen(struct tc_slow_point *p, const struct tc_answer *a, size_t row, size_t started)
{
    if (tc_answer_known(a, row, started) && tc_answer_known(a, row, started + 1)) {
        int64_t from = tc_answer_int(a, row, started);
        int64_t to = tc_answer_int(a, row, started + 1);
        p->started_us = p->started_us == INT64_MIN || from < p->started_us ? from : p->started_us;
        p->ended_us = p->ended_us == INT64_MIN || to > p->ended_us ? to : p->ended_us;
    }
}

static double real_at(const struct tc_answer *a, size_t row, size_t column)
{
    return tc_answer_known(a, row, column) ? tc_answer_real(a, row, column) : (double)NAN;
}

/* Rows have key, second key, concurrency, rate, begin and end. */
static bool is_of_point(const struct tc_point *point, const struct tc_answer *a, size_t row)
{
    struct tc_slice key = tc_answer_text(a, row, 0);
    struct tc_slice more = tc_answer_text(a, row, 1);
    struct tc_slice rest = point->key;
    if (!tc_slice_starts(rest, key)) {
        return false;
    }
    rest = tc_slice_from(rest, key.len);
    rest = tc_slice_from(rest, key.len > 0 && more.len > 0 && rest.len > 0 ? 1 : 0);
    return tc_slice_eq(rest, more) && same_number(point->concurrency, real_at(a, row, 2)) &&
           same_number(point->request_rate, real_at(a, row, 3));
}

static tc_status read_times(struct tc_points *p, struct tc_warehouse *w, struct tc_slice run_id,
                            enum tc_table table, const char *sql, struct tc_error *err)
{
    struct tc_bind run = {.type = TC_COLUMN_TEXT, .as.text = run_id};
    struct tc_answer times;
    TC_TRY(tc_answer_query(w, sql, &run, 1, &times, err));
    for (size_t row = 0; row < times.row_count; row++) {
        for (size_t i = 0; i < p->point_count; i++) {
            if (p->points[i].point->table == table &&
                is_of_point(p->points[i].point, &times, row)) {
                widen(&p->points[i], &times, row, 4);
            }
        }
    }
    tc_answer_fini(&times);
    return TC_OK;
}

tc_status tc_points_read(struct tc_warehouse *w, const struct tc_group *run,
                         const struct tc_group *base, struct tc_points *out, struct tc_error *err)
{
    struct tc_slice metrics[TC_COUNT(METRICS)];
    struct tc_series_want want = {
        .metrics = metrics, .metric_count = TC_COUNT(METRICS), .outcomes_only = true};
    *out = (struct tc_points){0};
    for (size_t i = 0; i < TC_COUNT(METRICS); i++) {
        metrics[i] = tc_slice_cstr(METRICS[i]);
    }
    TC_TRY(tc_series_set_read(w, run, &want, &out->run, err));
    if (base != NULL) {
        TC_TRY(tc_series_set_read(w, base, &want, &out->base, err));
    }
    out->outcomes = calloc(out->run.series_count + 1, sizeof *out->outcomes);
    out->points = calloc(out->run.point_count + 1, sizeof *out->points);
    if (out->outcomes == NULL || out->points == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the points of the run");
    }
    match_series(out);
    sort_points(out);
    struct tc_slice id = tc_group_text(run, 0, TC_GROUP_RUN_ID);
    TC_TRY(read_times(out, w, id, TC_TABLE_SERVING,
                      "SELECT workload_point, NULL, concurrency, request_rate, started_at, "
                      "ended_at FROM serving_outcome_fact WHERE run_id = ?",
                      err));
    return read_times(out, w, id, TC_TABLE_TRAINING,
                      "SELECT phase, scale_point, NULL, NULL, started_at, ended_at "
                      "FROM training_outcome_fact WHERE run_id = ?",
                      err);
}

void tc_points_fini(struct tc_points *p)
{
    tc_series_set_fini(&p->run);
    tc_series_set_fini(&p->base);
    free(p->outcomes);
    free(p->points);
    *p = (struct tc_points){0};
}

const struct tc_outcome *tc_points_outcome(const struct tc_points *p, size_t point,
                                           const char *metric)
{
    for (size_t i = 0; i < p->outcome_count; i++) {
        if (p->outcomes[i].point == point &&
            tc_slice_eq(p->outcomes[i].series->name, tc_slice_cstr(metric))) {
            return &p->outcomes[i];
        }
    }
    return NULL;
}

const struct tc_slow_point *tc_points_find(const struct tc_points *p, struct tc_slice word,
                                           size_t *out_hits)
{
    const struct tc_slow_point *found = NULL;
    uint64_t number = 0;
    *out_hits = 1;
    if (tc_slice_is_u64(word, &number) && number >= 1 && number <= p->point_count) {
        return &p->points[number - 1];
    }
    *out_hits = 0;
    for (size_t i = 0; word.len > 0 && i < p->point_count; i++) {
        struct tc_slice text = p->points[i].point->text;
        if (tc_slice_eq(text, word)) {
            *out_hits = 1;
            return &p->points[i];
        }
        if (tc_point_matches(word, text)) {
            found = &p->points[i];
            (*out_hits)++;
        }
    }
    return *out_hits == 1 ? found : NULL;
}
