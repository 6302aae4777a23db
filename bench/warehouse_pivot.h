/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the pivot and a diagnosis, on the fleet: two runs of 256 GPUs that lie among the
 * others. */
#ifndef TC_BENCH_WAREHOUSE_PIVOT_H
#define TC_BENCH_WAREHOUSE_PIVOT_H

#include "diagnose/base.h"
#include "diagnose/diagnose.h"
#include "diagnose/pivot.h"
#include "warehouse_fleet.h"
#include "warehouse_load.h"

static void put_cell(struct tc_rows *rows, size_t column, const char *value)
{
    if (tc_rows_text(rows, column, tc_slice_cstr(value)) != TC_OK) {
        die("rows", "no room for text");
    }
}

/* A run and its only point: all of its job's time. */
static void add_run(struct tc_warehouse *w, const char *id, uint32_t epoch, double step_ms)
{
    struct tc_rows *runs = tc_rows_create(TC_TABLE_RUN);
    struct tc_rows *points = tc_rows_create(TC_TABLE_TRAINING);
    struct tc_error err;
    int64_t start = FLEET_START_US + (int64_t)epoch * FLEET_EPOCH * FLEET_WINDOW_US;
    if (runs == NULL || points == NULL) {
        die("rows", "no memory");
    }
    (void)tc_rows_add(runs);
    put_cell(runs, TC_RUN_RUN_ID, id);
    put_cell(runs, TC_RUN_NAME, "fleet");
    put_cell(runs, TC_RUN_CASE_ID, "case");
    put_cell(runs, TC_RUN_STATUS, "succeeded");
    put_cell(runs, TC_RUN_TOOLS, "[\"torchtitan\"]");
    tc_rows_int(runs, TC_RUN_STARTED, start);
    (void)tc_rows_add(points);
    put_cell(points, TC_TRAINING_RUN_ID, id);
    put_cell(points, TC_TRAINING_TOOL, "torchtitan");
    put_cell(points, TC_TRAINING_DEFINITIONS, "{}");
    put_cell(points, TC_TRAINING_PHASE, "train");
    tc_rows_int(points, TC_TRAINING_STARTED, start);
    tc_rows_int(points, TC_TRAINING_ENDED, start + FLEET_EPOCH * FLEET_WINDOW_US);
    tc_rows_real(points, TC_TRAINING_STEP_MEAN, step_ms);
    tc_rows_real(points, TC_TRAINING_STEP_P50, step_ms);
    tc_rows_real(points, TC_TRAINING_STEP_P99, 1.5 * step_ms);
    must(tc_warehouse_begin(w, &err), "begin", &err);
    must(tc_warehouse_append(w, TC_TABLE_RUN, runs, &err), "append", &err);
    must(tc_warehouse_append(w, TC_TABLE_TRAINING, points, &err), "append", &err);
    must(tc_warehouse_commit(w, &err), "commit", &err);
    tc_rows_destroy(runs);
    tc_rows_destroy(points);
}

/* Whether an earlier benchmark has added them (--keep). */
static bool has_runs(struct tc_warehouse *w)
{
    struct tc_query query = {.sql = TC_LIT("SELECT run_id FROM benchmark_run_fact")};
    struct tc_error err;
    size_t rows = 0;
    must(tc_warehouse_query(w, &query, count_rows, &rows, NULL, &err), "runs", &err);
    return rows > 0;
}

enum pivot_step { STEP_POINTS, STEP_SCOPES, STEP_NODE, STEP_DIAGNOSE, STEPS };

/* All that the command does of this step: the run and its base are found each time. */
static size_t take_step(struct tc_warehouse *w, enum pivot_step step, const char *run,
                        const char *base, const char *node)
{
    struct tc_error err;
    struct tc_group one;
    struct tc_group other;
    struct tc_points points;
    struct tc_pivot pivot;
    struct tc_diagnosis *d = NULL;
    size_t rows = 0;
    must(tc_one_run_find(w, tc_slice_cstr(run), &one, &err), "run", &err);
    must(tc_base_find(w, &one, tc_slice_cstr(base), &other, &err), "base", &err);
    if (step == STEP_DIAGNOSE) {
        must(tc_diagnose(w, tc_slice_cstr(run), &other, &d, &err), "diagnose", &err);
        rows = d->slices;
        tc_diagnosis_destroy(d);
    } else {
        must(tc_points_read(w, &one, &other, &points, &err), "points", &err);
        rows = points.outcome_count;
        struct tc_pivot_want want = {.run_id = tc_slice_cstr(run),
                                     .base = &other,
                                     .point = points.points,
                                     .node = tc_slice_cstr(step == STEP_NODE ? node : NULL)};
        if (step != STEP_POINTS) {
            must(tc_pivot_read(w, &want, &pivot, &err), "pivot", &err);
            rows = pivot.series_count;
            tc_pivot_fini(&pivot);
        }
        tc_points_fini(&points);
    }
    tc_group_fini(&one);
    tc_group_fini(&other);
    return rows;
}

static void pivot_all(const char *dir, const struct fleet *f, size_t count, bool gate)
{
    static const char *const names[STEPS] = {"step 1: points that are slower",
                                             "step 2: series that stand out",
                                             "step 3: all of a node", "diagnose"};
    char base[24];
    char run[24];
    uint32_t epoch = count / FLEET_SERIES > FLEET_EPOCH ? 1 : 0;
    fleet_run_id(base, sizeof base, 0);
    fleet_run_id(run, sizeof run, epoch * FLEET_JOBS);
    struct tc_warehouse *w = open_in(dir, TC_WAREHOUSE_WRITE);
    if (epoch > 0 && !has_runs(w)) {
        add_run(w, base, 0, 1000);
        add_run(w, run, epoch, 1300);
    }
    for (enum pivot_step step = 0; epoch > 0 && step < STEPS; step++) {
        int64_t took_ns[REPEATS];
        struct spent spent = {0, 0};
        size_t rows = 0;
        for (int i = 0; i < REPEATS; i++) {
            struct spent begin = spent_now();
            rows = take_step(w, step, run, base, f->nodes[68 / FLEET_NODE_GPUS]);
            took_ns[i] = tc_mono_ns() - begin.wall_ns;
            add_since(&spent, begin);
        }
        /* A diagnosis asks more than a step does, and has no limit. */
        say_times(names[step], rows, took_ns, spent, gate && step != STEP_DIAGNOSE);
    }
    tc_warehouse_close(w);
}

#endif
