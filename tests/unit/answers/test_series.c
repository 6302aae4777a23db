/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to be plotted; trend, pivot and diagnose on a small warehouse. */
#include "support/asking.h"
#include "support/compare_rows.h"
#include "support/warehouse_room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define RUNS 16
#define SLICES 100

static struct tc_warehouse *w;
static struct asking a;

/* A slice of a GPU's clock every minute. */
static void add_slices(const char *run, const char *node, double low)
{
    struct tc_rows *rows = tc_rows_create(TC_TABLE_SLICE);
    struct tc_error err = {0};
    char gpu[32];
    (void)snprintf(gpu, sizeof gpu, "GPU-%s", node);
    assert_non_null(rows);
    for (int64_t n = 0; n < SLICES; n++) {
        int64_t start = INT64_C(1762000000000000) + n * 60000000;
        assert_true(tc_rows_add(rows));
        assert_int_equal(tc_rows_text(rows, TC_SLICE_RUN_ID, tc_slice_cstr(run)), TC_OK);
        assert_int_equal(tc_rows_text(rows, TC_SLICE_FAMILY, TC_LIT("dcgm")), TC_OK);
        assert_int_equal(tc_rows_text(rows, TC_SLICE_METRIC, TC_LIT("sm_clock")), TC_OK);
        assert_int_equal(tc_rows_text(rows, TC_SLICE_UNIT, TC_LIT("MHz")), TC_OK);
        assert_int_equal(tc_rows_text(rows, TC_SLICE_NODE, tc_slice_cstr(node)), TC_OK);
        assert_int_equal(tc_rows_text(rows, TC_SLICE_GPU, tc_slice_cstr(gpu)), TC_OK);
        assert_int_equal(tc_rows_text(rows, TC_SLICE_JOIN, TC_LIT("given")), TC_OK);
        tc_rows_int(rows, TC_SLICE_START, start);
        tc_rows_int(rows, TC_SLICE_END, start + 60000000);
        tc_rows_int(rows, TC_SLICE_COUNT, 60);
        tc_rows_real(rows, TC_SLICE_MIN, low);
        tc_rows_real(rows, TC_SLICE_MAX, low + 2 * (double)n);
        tc_rows_real(rows, TC_SLICE_MEAN, low + (double)n);
    }
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    assert_int_equal(tc_warehouse_append(w, TC_TABLE_SLICE, rows, &err), TC_OK);
    assert_int_equal(tc_warehouse_commit(w, &err), TC_OK);
    tc_rows_destroy(rows);
}

static int setup(void **state)
{
    int result = wh_setup(state);
    struct wh_room *room = *state;
    w = wh_open(room, TC_WAREHOUSE_WRITE);
    for (size_t n = 0; n < RUNS; n++) {
        char id[32];
        (void)snprintf(id, sizeof id, "run-%02zu", n);
        cr_add_run(w, &(struct cr_run){.id = id,
                                       .name = "nightly",
                                       .group = n < 8 ? "before" : "after",
                                       .case_id = "case",
                                       .software = n < 8 ? "570" : "580",
                                       .started_s = (int64_t)n * 3600});
        for (int c = 16; c <= 64; c *= 2) {
            cr_add_serving(w, &(struct cr_serving){.run = id,
                                                   .point = "1k/1k",
                                                   .concurrency = c,
                                                   .ttft_p99 = (n < 8 ? 100 : 200) + (double)n / 8,
                                                   .throughput = c * 10});
        }
    }
    for (size_t n = 0; n < 6; n++) {
        char node[16];
        (void)snprintf(node, sizeof node, "n%zu", n);
        add_slices("run-15", node, n == 5 ? 900 : 1900 + (double)n);
    }
    asking_init(&a, w, room->dir);
    return result;
}

static int teardown(void **state)
{
    asking_fini(&a);
    tc_warehouse_close(w);
    return wh_teardown(state);
}

static void points_are_those_of_a_run_or_a_group(void **state)
{
    (void)state;
    struct tc_json p = ask_object(&a, "points", "run", "run-03");
    assert_int_equal(asking_count(p, "runs"), 1);
    assert_int_equal(asking_count(p, "serving"), 3);
    assert_int_equal(asking_count(p, "training"), 0);
    asking_is(p, "serving.0.concurrency", "16");
    asking_is(p, "serving.2.output_token_throughput", "640");
    asking_is(p, "truncated", "false");
    p = ask_object(&a, "points", "run", "before");
    assert_int_equal(asking_count(p, "serving"), 24);
    p = ask_object(&a, "points", "run", "before", "limit", "24");
    asking_is(p, "truncated", "false");
    p = ask_object(&a, "points", "run", "before", "limit", "23");
    assert_int_equal(asking_count(p, "serving"), 23);
    asking_is(p, "truncated", "true");
    ask_refused(&a, TC_E_NOTFOUND, "nothing", "points", "run", "nothing");
    ask_refused(&a, TC_E_USAGE, "", "points", "run", "1 = 1; DROP TABLE x");
}

static void slices_are_put_together(void **state)
{
    (void)state;
    struct tc_json s = ask_object(&a, "slices", "run", "run-15", "metric", "sm_clock", "node", "n5",
                                  "points", "10");
    assert_int_equal(asking_count(s, "series"), 1);
    asking_is(s, "series.0.node", "n5");
    asking_is(s, "series.0.unit", "MHz");
    asking_is(s, "series.0.rank", "null");
    asking_is(s, "series.0.slices", "100");
    assert_int_equal(asking_count(s, "series.0.points"), 10);
    asking_is(s, "series.0.points.0.0", "1762000000000");
    asking_is(s, "series.0.points.1.0", "1762000600000");
    asking_is(s, "series.0.points.0.1", "904.5");
    asking_is(s, "series.0.points.0.2", "900");
    asking_is(s, "series.0.points.0.3", "918");
    s = ask_object(&a, "slices", "run", "run-15", "metric", "sm_clock", "limit", "4");
    assert_int_equal(asking_count(s, "series"), 4);
    assert_int_equal(asking_count(s, "series.0.points"), 100);
    asking_is(s, "truncated", "true");
    s = ask_object(&a, "slices", "run", "run-15", "metric", "sm_clock", "gpu", "GPU-n2", "family",
                   "dcgm");
    assert_int_equal(asking_count(s, "series"), 1);
    asking_is(s, "series.0.node", "n2");
    asking_is(s, "truncated", "false");
    s = ask_object(&a, "slices", "run", "run-15", "metric", "' OR 1 = 1 --");
    assert_int_equal(asking_count(s, "series"), 0);
    ask_refused(&a, TC_E_USAGE, "\"metric\" is missing", "slices", "run", "run-15");
    ask_refused(&a, TC_E_USAGE, "from 1 to 5000", "slices", "run", "run-15", "metric", "sm_clock",
                "points", "5001");
}

static void a_change_is_found_in_the_history(void **state)
{
    (void)state;
    struct tc_json t =
        ask_object(&a, "trend", "metric", "ttft_p99", "runs", "nightly", "point", "concurrency=64");
    asking_is(t, "changed", "1");
    asking_is(t, "series.0.changes.0.run_id", "run-08");
    asking_is(t, "alpha", "0.01");
    t = ask_object(&a, "trend", "metric", "ttft_p99", "confidence", "0.9");
    asking_is(t, "alpha", "0.1");
    ask_refused(&a, TC_E_NOTFOUND, "no_such", "trend", "metric", "no_such_metric");
    ask_refused(&a, TC_E_USAGE, "\"metric\" is missing", "trend", NULL);
}

static void the_pivot_goes_step_by_step(void **state)
{
    (void)state;
    struct tc_json p = ask_object(&a, "pivot", "run", "run-15", "base", "before");
    asking_is(p, "run_id", "run-15");
    asking_is(p, "base_runs", "8");
    assert_int_equal(asking_count(p, "points"), 3);
    p = ask_object(&a, "pivot", "run", "run-15", "base", "before", "point", "1");
    asking_is(p, "series_read", "6");
    asking_is(p, "series.0.node", "n5");
    p = ask_object(&a, "pivot", "run", "run-15", "base", "before", "point", "concurrency=64",
                   "node", "n0");
    asking_is(p, "node", "n0");
    assert_int_equal(asking_count(p, "series"), 1);
    /* Earlier runs of its case. */
    p = ask_object(&a, "pivot", "run", "run-15");
    asking_is(p, "base_runs", "15");
    ask_refused(&a, TC_E_NOTFOUND, "there is no point \"zzz\"; the run has 3", "pivot", "run",
                "run-15", "base", "before", "point", "zzz");
    ask_refused(&a, TC_E_NOTFOUND, "more than one point", "pivot", "run", "run-15", "base",
                "before", "point", "1k/1k");
    ask_refused(&a, TC_E_NOTFOUND, "", "pivot", "run", "run-15", "base", "nothing");
}

static void a_run_is_diagnosed(void **state)
{
    (void)state;
    struct tc_json d = ask_object(&a, "diagnose", "run", "run-15", "against", "before");
    asking_is(d, "run_id", "run-15");
    asking_is(d, "against", "before");
    assert_int_equal(asking_count(d, "playbooks"), 4);
    d = ask_object(&a, "diagnose", "run", "run-00");
    asking_is(d, "base_runs", "0");
    asking_is(d, "against", "null");
    ask_refused(&a, TC_E_NOTFOUND, "", "diagnose", "run", "run-15", "against", "nothing");
    ask_refused(&a, TC_E_NOTFOUND, "", "diagnose", "run", "nightly");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_those_of_a_run_or_a_group),
        cmocka_unit_test(slices_are_put_together),
        cmocka_unit_test(a_change_is_found_in_the_history),
        cmocka_unit_test(the_pivot_goes_step_by_step),
        cmocka_unit_test(a_run_is_diagnosed),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
