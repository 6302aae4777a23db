/* SPDX-License-Identifier: Apache-2.0 */
/* One value per run: points, definitions, units, several rows, what is no number. */
#include "compare/samples.h"
#include "support/compare_rows.h"
#include "support/warehouse_room.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct tc_warehouse *w;
static struct tc_group group;
static struct tc_series_set samples;

static int setup(void **state)
{
    int result = wh_setup(state);
    w = wh_open(*state, TC_WAREHOUSE_WRITE);
    return result;
}

static int teardown(void **state)
{
    tc_warehouse_close(w);
    return wh_teardown(state);
}

static void add_runs(size_t count)
{
    for (size_t n = 0; n < count; n++) {
        char id[32];
        (void)snprintf(id, sizeof id, "run-%04zu", n);
        cr_add_run(w, &(struct cr_run){.id = id, .name = "all", .started_s = (int64_t)n});
    }
}

static void read_group(const char *word, const struct tc_series_want *want)
{
    struct tc_error err = {0};
    static const struct tc_series_want everything = {0};
    assert_int_equal(tc_group_find(w, tc_slice_cstr(word), 0, &group, &err), TC_OK);
    assert_int_equal(
        tc_series_set_read(w, &group, want != NULL ? want : &everything, &samples, &err), TC_OK);
}

static void read_all(const struct tc_series_want *want)
{
    read_group("all", want);
}

static void forget(void)
{
    tc_series_set_fini(&samples);
    tc_group_fini(&group);
}

static const struct tc_series *series_of(const char *name, const char *point,
                                         const char *definition)
{
    for (size_t n = 0; n < samples.series_count; n++) {
        const struct tc_series *s = &samples.series[n];
        if (tc_slice_eq(s->name, tc_slice_cstr(name)) &&
            tc_slice_eq(s->point->text, tc_slice_cstr(point)) &&
            (definition == NULL || tc_slice_eq(s->definition, tc_slice_cstr(definition)))) {
            return s;
        }
    }
    return NULL;
}

static void a_run_is_one_value_of_a_point(void **state)
{
    (void)state;
    add_runs(3);
    cr_add_serving(w, &(struct cr_serving){"run-0002", "in=1", 64, NULL, NULL, 30, 3});
    cr_add_serving(w, &(struct cr_serving){"run-0000", "in=1", 64, NULL, NULL, 10, 1});
    cr_add_serving(w, &(struct cr_serving){"run-0000", "in=1", 16, NULL, NULL, 5, (double)NAN});
    read_all(NULL);
    const struct tc_series *s = series_of("ttft_p99_ms", "in=1 concurrency=64", NULL);
    assert_non_null(s);
    assert_int_equal(s->count, 2);
    assert_true(s->values[0] == 10 && s->values[1] == 30);
    assert_true(s->runs[0] == 0 && s->runs[1] == 2);
    assert_true(tc_slice_eq(s->definition, TC_LIT("vllm:p99_ttft_ms")));
    assert_true(tc_slice_eq(s->unit, TC_LIT("ms")));
    assert_int_equal(s->better, TC_BETTER_LOWER);
    assert_true(s->is_main);
    assert_int_equal(s->merged, 0);
    assert_true(s->point->concurrency == 64 && isnan(s->point->request_rate));
    assert_null(series_of("output_token_throughput", "in=1 concurrency=16", NULL));
    /* 16 before 64, as numbers; ttft before throughput */
    assert_int_equal(samples.series_count, 3);
    assert_true(samples.series[0].point->concurrency == 16);
    assert_true(tc_slice_eq(samples.series[1].name, TC_LIT("ttft_p99_ms")));
    forget();
}

static void the_median_of_several_rows_counts(void **state)
{
    (void)state;
    add_runs(2);
    static const double odd[] = {30, 10, 11};
    static const double even[] = {4, 1, 3, 2};
    for (size_t n = 0; n < TC_COUNT(odd); n++) {
        cr_add_serving(w, &(struct cr_serving){"run-0000", "p", 0, NULL, NULL, odd[n], 7});
    }
    for (size_t n = 0; n < TC_COUNT(even); n++) {
        cr_add_serving(w, &(struct cr_serving){"run-0001", "p", 0, NULL, NULL, even[n], 7});
    }
    read_all(NULL);
    const struct tc_series *s = series_of("ttft_p99_ms", "p", NULL);
    assert_non_null(s);
    assert_int_equal(s->count, 2);
    assert_int_equal(s->merged, 2);
    assert_true(s->values[0] == 11);
    assert_true(s->values[1] == 2.5);
    forget();
}

static void two_definitions_are_two_series(void **state)
{
    (void)state;
    add_runs(2);
    cr_add_serving(w, &(struct cr_serving){"run-0000", "p", 0, "vllm", "vllm:p99_ttft_ms", 1, 7});
    cr_add_serving(w, &(struct cr_serving){"run-0001", "p", 0, "aiperf", "aiperf:ttft.p99", 2, 7});
    read_all(NULL);
    assert_non_null(series_of("ttft_p99_ms", "p", "vllm:p99_ttft_ms"));
    assert_non_null(series_of("ttft_p99_ms", "p", "aiperf:ttft.p99"));
    /* without a definition that of the tool */
    assert_non_null(series_of("output_token_throughput", "p", "vllm:output_token_throughput"));
    assert_non_null(series_of("output_token_throughput", "p", "aiperf:output_token_throughput"));
    assert_int_equal(tc_series_compare_metric(&samples.series[0], &samples.series[1]), 0);
    assert_true(tc_series_compare(&samples.series[0], &samples.series[1]) < 0);
    forget();
}

static void slices_of_tools_are_metrics_and_weighted(void **state)
{
    (void)state;
    add_runs(1);
    cr_add_slice(w, "run-0000", "busbw", "GB/s", "size=16", 0, 5);
    cr_add_slice(w, "run-0000", "busbw", "GB/s", "size=8", 1, 10);
    cr_add_slice(w, "run-0000", "busbw", "GB/s", "size=8", 3, 20);
    cr_add_slice(w, "run-0000", "busbw", "MB/s", "size=8", 3, 20);
    read_all(NULL);
    assert_int_equal(samples.series_count, 3);
    assert_true(tc_slice_eq(samples.series[0].unit, TC_LIT("GB/s")));
    assert_true(tc_slice_eq(samples.series[1].unit, TC_LIT("MB/s")));
    assert_true(tc_slice_eq(samples.series[0].name, TC_LIT("vllm:busbw")));
    assert_true(samples.series[0].values[0] == 17.5);
    assert_int_equal(samples.series[0].better, TC_BETTER_NEITHER);
    assert_true(tc_slice_eq(samples.series[2].point->text, TC_LIT("size=16")));
    forget();
}

static void training_has_points_too(void **state)
{
    (void)state;
    add_runs(1);
    cr_add_training(w, "run-0000", 600);
    read_all(NULL);
    assert_non_null(series_of("time_to_train_s", "train", NULL));
    forget();
}

static void metrics_and_points_can_be_chosen(void **state)
{
    (void)state;
    static const struct tc_slice metrics[] = {{"ttft*", 5}, {"busbw", 5}};
    static const struct tc_slice points[] = {{"concurrency=64", 14}, {"size=*", 6}};
    struct tc_series_want want = {metrics, 2, points, 2, false};
    add_runs(1);
    cr_add_serving(w, &(struct cr_serving){"run-0000", "in=1", 64, NULL, NULL, 1, 2});
    cr_add_serving(w, &(struct cr_serving){"run-0000", "in=1", 16, NULL, NULL, 1, 2});
    cr_add_slice(w, "run-0000", "busbw", "GB/s", "size=8", 1, 10);
    cr_add_slice(w, "run-0000", "algbw", "GB/s", "size=8", 1, 10);
    read_all(&want);
    assert_int_equal(samples.series_count, 2);
    assert_non_null(series_of("ttft_p99_ms", "in=1 concurrency=64", NULL));
    assert_non_null(series_of("vllm:busbw", "size=8", NULL));
    forget();
    want.metric_count = 1;
    want.point_count = 0;
    read_all(&want);
    assert_int_equal(samples.series_count, 2);
    forget();
}

static void words_of_a_point_match_whole(void **state)
{
    (void)state;
    struct tc_slice text = TC_LIT("in=1024 out=128 concurrency=64");
    assert_true(tc_point_matches(TC_LIT("concurrency=64"), text));
    assert_true(tc_point_matches(TC_LIT("concurrency=64  in=*"), text));
    assert_true(tc_point_matches(TC_LIT("in=1024 out=128 concurrency=64"), text));
    assert_false(tc_point_matches(TC_LIT("concurrency=6"), text));
    assert_false(tc_point_matches(TC_LIT("in=1024 out=256"), text));
}

static void a_group_larger_than_a_query_is_read_in_parts(void **state)
{
    (void)state;
    struct tc_rows *runs = tc_rows_create(TC_TABLE_RUN);
    struct tc_rows *rows = tc_rows_create(TC_TABLE_SERVING);
    struct tc_error err = {0};
    for (size_t n = 0; n < 2001; n++) {
        char id[32];
        (void)snprintf(id, sizeof id, "run-%04zu", n);
        assert_true(tc_rows_add(runs));
        assert_int_equal(tc_rows_text(runs, TC_RUN_RUN_ID, tc_slice_cstr(id)), TC_OK);
        assert_int_equal(tc_rows_text(runs, TC_RUN_NAME, TC_LIT("all")), TC_OK);
        tc_rows_int(runs, TC_RUN_STARTED, (int64_t)(2001 - n));
        assert_true(tc_rows_add(rows));
        assert_int_equal(tc_rows_text(rows, TC_SERVING_RUN_ID, tc_slice_cstr(id)), TC_OK);
        tc_rows_real(rows, TC_SERVING_TTFT_P99, (double)n);
    }
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    assert_int_equal(tc_warehouse_append(w, TC_TABLE_RUN, runs, &err), TC_OK);
    assert_int_equal(tc_warehouse_append(w, TC_TABLE_SERVING, rows, &err), TC_OK);
    assert_int_equal(tc_warehouse_commit(w, &err), TC_OK);
    tc_rows_destroy(runs);
    tc_rows_destroy(rows);
    read_group("name = 'all'", NULL);
    assert_int_equal(samples.series_count, 1);
    assert_int_equal(samples.series[0].count, 2001);
    for (size_t n = 0; n < 2001; n++) {
        assert_int_equal(samples.series[0].runs[n], n);
        assert_true(samples.series[0].values[n] == (double)(2000 - n));
    }
    assert_true(tc_slice_eq(samples.series[0].point->text, TC_LIT("the whole")));
    forget();
}

/* Tables hold none, but a file may be from elsewhere. */
static void what_is_no_number_is_counted_and_left_out(void **state)
{
    (void)state;
    struct tc_rows *rows = tc_rows_create(TC_TABLE_SERVING);
    struct tc_error err = {0};
    static const double values[] = {(double)NAN, 5, (double)INFINITY};
    add_runs(3);
    for (size_t n = 0; n < TC_COUNT(values); n++) {
        char id[32];
        (void)snprintf(id, sizeof id, "run-%04zu", n);
        assert_true(tc_rows_add(rows));
        assert_int_equal(tc_rows_text(rows, TC_SERVING_RUN_ID, tc_slice_cstr(id)), TC_OK);
        tc_rows_any_real(rows, TC_SERVING_TTFT_P99, values[n]);
    }
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    assert_int_equal(tc_warehouse_append(w, TC_TABLE_SERVING, rows, &err), TC_OK);
    assert_int_equal(tc_warehouse_commit(w, &err), TC_OK);
    tc_rows_destroy(rows);
    read_all(NULL);
    assert_int_equal(samples.series_count, 1);
    assert_int_equal(samples.series[0].count, 1);
    assert_int_equal(samples.series[0].not_finite, 2);
    assert_int_equal(samples.series[0].runs[0], 1);
    forget();
}

static void no_rows_are_no_series(void **state)
{
    (void)state;
    add_runs(1);
    read_all(NULL);
    assert_int_equal(samples.series_count, 0);
    forget();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_run_is_one_value_of_a_point),
        TEST(the_median_of_several_rows_counts),
        TEST(two_definitions_are_two_series),
        TEST(slices_of_tools_are_metrics_and_weighted),
        TEST(training_has_points_too),
        TEST(metrics_and_points_can_be_chosen),
        cmocka_unit_test(words_of_a_point_match_whole),
        TEST(a_group_larger_than_a_query_is_read_in_parts),
        TEST(what_is_no_number_is_counted_and_left_out),
        TEST(no_rows_are_no_series),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
