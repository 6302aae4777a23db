/* SPDX-License-Identifier: Apache-2.0 */
/* Names, directions and patterns of metrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compare/metrics.h"

#include <string.h>

static void a_metric_is_a_column_of_its_table(void **state)
{
    (void)state;
    size_t count = 0;
    const struct tc_run_metric *metrics = tc_run_metric_columns(&count);
    assert_true(count > 40);
    for (size_t n = 0; n < count; n++) {
        const struct tc_table_info *t = tc_table_info(metrics[n].table);
        assert_true(metrics[n].column < t->column_count);
        assert_string_equal(metrics[n].name, t->columns[metrics[n].column].name);
        assert_string_equal(metrics[n].unit, t->columns[metrics[n].column].unit);
        assert_ptr_equal(tc_run_metric_find(tc_slice_cstr(metrics[n].name)), &metrics[n]);
    }
}

static enum tc_better way(const char *name)
{
    const struct tc_run_metric *m = tc_run_metric_find(tc_slice_cstr(name));
    assert_non_null(m);
    return m->better;
}

static void latencies_are_lower_and_throughputs_higher(void **state)
{
    (void)state;
    assert_int_equal(way("ttft_p99_ms"), TC_BETTER_LOWER);
    assert_int_equal(way("error_rate"), TC_BETTER_LOWER);
    assert_int_equal(way("cost_per_token_usd"), TC_BETTER_LOWER);
    assert_int_equal(way("time_to_train_s"), TC_BETTER_LOWER);
    assert_int_equal(way("output_token_throughput"), TC_BETTER_HIGHER);
    assert_int_equal(way("mfu_pct"), TC_BETTER_HIGHER);
    assert_int_equal(way("nccl-tests:busbw"), TC_BETTER_HIGHER);
    assert_int_equal(way("final_quality"), TC_BETTER_NEITHER);
    assert_int_equal(way("requests"), TC_BETTER_NEITHER);
    assert_null(tc_run_metric_find(TC_LIT("ttft")));
    assert_null(tc_run_metric_find(TC_EMPTY));
    assert_string_equal(tc_better_name(TC_BETTER_LOWER), "lower");
    assert_string_equal(tc_better_name(TC_BETTER_HIGHER), "higher");
    assert_string_equal(tc_better_name(TC_BETTER_NEITHER), "neither");
}

static bool glob(const char *pattern, const char *name)
{
    return tc_glob_matches(tc_slice_cstr(pattern), tc_slice_cstr(name));
}

static void globs_match_the_whole_name(void **state)
{
    (void)state;
    assert_true(glob("", ""));
    assert_true(glob("*", ""));
    assert_true(glob("ttft_*", "ttft_"));
    assert_true(glob("*_p99_*", "ttft_p99_ms"));
    assert_true(glob("t?ft*ms", "ttft_p99_ms"));
    assert_true(glob("*a*b", "aab_ab"));
    assert_false(glob("ttft", "ttft_p99_ms"));
    assert_false(glob("?", ""));
    assert_false(glob("*x", "ttft_p99_ms"));
    assert_false(glob("ttft_*?ms", "ttft_ms"));
}

static void a_glob_takes_no_more_than_the_product(void **state)
{
    (void)state;
    char pattern[2001];
    char name[20001];
    for (size_t n = 0; n < 2000; n++) {
        pattern[n] = n % 2 == 0 ? '*' : 'a';
    }
    pattern[1999] = 'b';
    pattern[2000] = '\0';
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_false(glob(pattern, name));
}

static bool matches(const char *pattern, const char *name)
{
    return tc_run_metric_matches(tc_slice_cstr(pattern), tc_slice_cstr(name));
}

static void a_pattern_is_a_name_its_start_or_a_glob(void **state)
{
    (void)state;
    assert_true(matches("ttft_p99_ms", "ttft_p99_ms"));
    assert_true(matches("ttft", "ttft_p99_ms"));
    assert_true(matches("*_p99_ms", "ttft_p99_ms"));
    assert_true(matches("busbw", "nccl-tests:busbw"));
    assert_true(matches("nccl", "nccl-tests:busbw"));
    assert_true(matches("*bw", "nccl-tests:busbw"));
    assert_false(matches("p99", "ttft_p99_ms"));
    assert_false(matches("", "ttft_p99_ms"));
    assert_false(matches("algbw", "nccl-tests:busbw"));
}

static void a_wrong_name_gets_the_nearest(void **state)
{
    (void)state;
    const struct tc_run_metric *m = tc_run_metric_nearest(TC_LIT("ttft_p99"));
    assert_non_null(m);
    assert_string_equal(m->name, "ttft_p99_ms");
    m = tc_run_metric_nearest(TC_LIT("fio:read_bv"));
    assert_non_null(m);
    assert_string_equal(m->name, "fio:read_bw");
    assert_null(tc_run_metric_nearest(TC_LIT("zzzzzzzzzzzz")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_metric_is_a_column_of_its_table),
        cmocka_unit_test(latencies_are_lower_and_throughputs_higher),
        cmocka_unit_test(globs_match_the_whole_name),
        cmocka_unit_test(a_glob_takes_no_more_than_the_product),
        cmocka_unit_test(a_pattern_is_a_name_its_start_or_a_glob),
        cmocka_unit_test(a_wrong_name_gets_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
