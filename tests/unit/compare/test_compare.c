/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of a comparison, both sides of each threshold; what is not compared; words and JSON. */
#include "compare/compare.h"
#include "support/assert_text.h"
#include "support/compare_rows.h"
#include "support/warehouse_room.h"

#include "base/json/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- series by hand ---- */

#define VALUES_MAX 32

static struct tc_point point = {.text = {"p", 1}, .concurrency = 1, .request_rate = 1};
static uint32_t runs[VALUES_MAX];

static struct tc_series series(const double *values, size_t count, enum tc_better better)
{
    for (size_t n = 0; n < VALUES_MAX; n++) {
        runs[n] = (uint32_t)n;
    }
    return (struct tc_series){.name = TC_LIT("m"),
                              .definition = TC_LIT("tool:m"),
                              .point = &point,
                              .better = better,
                              .is_main = true,
                              .count = count,
                              .values = values,
                              .runs = runs};
}

/* The comparison of one series; its pair stays in *out. */
static enum tc_pair_verdict judge(struct tc_series base, struct tc_series candidate,
                                  double confidence, int64_t min_replicates, struct tc_pair *out)
{
    struct tc_comparison c = {0};
    struct tc_error err = {0};
    struct tc_compare_options options = {.confidence = confidence};
    c.sets[0].series = &base;
    c.sets[1].series = &candidate;
    c.sets[0].series_count = c.sets[1].series_count = 1;
    c.groups[0].run_count = base.count;
    c.groups[1].run_count = candidate.count;
    c.groups[1].min_replicates = min_replicates;
    assert_int_equal(tc_compare_sets(&c, &options, &err), TC_OK);
    assert_int_equal(c.pair_count, 1);
    enum tc_pair_verdict verdict = c.pairs[0].verdict;
    assert_int_equal(tc_comparison_verdict(&c), verdict);
    assert_int_equal(c.counts[verdict], 1);
    if (out != NULL) {
        *out = c.pairs[0];
    }
    free(c.pairs);
    free(c.unpaired);
    return verdict;
}

static const double LOW[] = {100, 101, 102, 103, 104, 105, 106, 107, 108, 109};
static const double HIGH[] = {120, 121, 122, 123, 124, 125, 126, 127, 128, 129};

static void three_runs_cannot_decide_and_four_can(void **state)
{
    (void)state;
    struct tc_pair p;
    struct tc_series low = series(LOW, 3, TC_BETTER_LOWER);
    struct tc_series high = series(HIGH, 3, TC_BETTER_LOWER);
    assert_int_equal(judge(low, high, 0, 0, &p), TC_PAIR_INSUFFICIENT);
    assert_int_equal(p.needed, 4);
    assert_true(isnan(p.p_adjusted));
    low.count = high.count = 4;
    assert_int_equal(judge(low, high, 0, 0, &p), TC_PAIR_WORSE);
    assert_true(p.p_adjusted <= 0.05);
    /* 4 against 4 gives 0.029 at best: not at 99 % */
    assert_int_equal(judge(low, high, 0.99, 0, &p), TC_PAIR_INSUFFICIENT);
    assert_int_equal(p.needed, 5);
    low.count = high.count = 5;
    assert_int_equal(judge(low, high, 0.99, 0, &p), TC_PAIR_WORSE);
}

static void the_minimum_of_a_contract_holds(void **state)
{
    (void)state;
    struct tc_pair p;
    assert_int_equal(
        judge(series(LOW, 5, TC_BETTER_LOWER), series(HIGH, 5, TC_BETTER_LOWER), 0, 6, &p),
        TC_PAIR_INSUFFICIENT);
    assert_int_equal(p.needed, 6);
    assert_int_equal(
        judge(series(LOW, 6, TC_BETTER_LOWER), series(HIGH, 6, TC_BETTER_LOWER), 0, 6, &p),
        TC_PAIR_WORSE);
}

static void the_direction_of_the_metric_decides(void **state)
{
    (void)state;
    static const struct {
        enum tc_better better;
        enum tc_pair_verdict up;
        enum tc_pair_verdict down;
    } cases[] = {
        {TC_BETTER_LOWER, TC_PAIR_WORSE, TC_PAIR_BETTER},
        {TC_BETTER_HIGHER, TC_PAIR_BETTER, TC_PAIR_WORSE},
        {TC_BETTER_NEITHER, TC_PAIR_DIFFERENT, TC_PAIR_DIFFERENT},
    };
    for (size_t n = 0; n < TC_COUNT(cases); n++) {
        struct tc_series low = series(LOW, 6, cases[n].better);
        struct tc_series high = series(HIGH, 6, cases[n].better);
        assert_int_equal(judge(low, high, 0, 0, NULL), cases[n].up);
        assert_int_equal(judge(high, low, 0, 0, NULL), cases[n].down);
    }
}

static void a_group_against_itself_shows_no_difference(void **state)
{
    (void)state;
    struct tc_pair p;
    struct tc_series s = series(LOW, 10, TC_BETTER_LOWER);
    assert_int_equal(judge(s, s, 0, 0, &p), TC_PAIR_SAME);
    assert_true(p.test.p == 1);
    assert_true(p.ratio.ratio == 1);
}

static void equal_values_are_not_tested(void **state)
{
    (void)state;
    static const double zeros[10] = {0};
    struct tc_pair p;
    struct tc_series s = series(zeros, 10, TC_BETTER_LOWER);
    assert_int_equal(judge(s, s, 0, 0, &p), TC_PAIR_SAME);
    assert_true(p.is_equal);
    assert_true(isnan(p.p_adjusted));
}

static void a_difference_within_the_spread_is_unstable(void **state)
{
    (void)state;
    double wide[30];
    double moved[30];
    struct tc_pair p;
    for (size_t n = 0; n < 30; n++) {
        wide[n] = 100 + 3 * (double)n; /* MAD 22.5 */
        moved[n] = wide[n] + 20;
    }
    struct tc_series a = series(wide, 30, TC_BETTER_LOWER);
    struct tc_series b = series(moved, 30, TC_BETTER_LOWER);
    assert_int_equal(judge(a, b, 0, 0, &p), TC_PAIR_UNSTABLE);
    assert_true(p.p_adjusted <= 0.05);
    assert_true(p.sides[0].spread.mad == 22.5);
    for (size_t n = 0; n < 30; n++) {
        moved[n] = wide[n] + 23;
    }
    assert_int_equal(judge(a, b, 0, 0, &p), TC_PAIR_WORSE);
}

/* time_to_train_s of ten MLPerf runs of one system */
static const double TWO_MODES[] = {928.786, 942.337, 937.374, 699.847, 932.635,
                                   699.511, 928.204, 699.148, 698.103, 931.182};

static void two_modes_have_no_median(void **state)
{
    (void)state;
    struct tc_pair p;
    struct tc_series s = series(TWO_MODES, 10, TC_BETTER_LOWER);
    assert_int_equal(judge(s, s, 0, 0, &p), TC_PAIR_MULTIMODAL);
    assert_int_equal(p.sides[0].mode_count, 2);
    assert_int_equal(p.sides[0].modes[0].count, 4);
    assert_true(p.sides[0].modes[0].high == 699.847);
    assert_int_equal(p.sides[0].modes[1].count, 6);
    assert_true(p.sides[0].modes[1].low == 928.204);
    assert_int_equal(p.sides[0].outliers, 0);
    /* also against another side that has one */
    assert_int_equal(judge(series(LOW, 10, TC_BETTER_LOWER), s, 0, 0, &p), TC_PAIR_MULTIMODAL);
}

static void an_outlier_is_flagged_and_kept(void **state)
{
    (void)state;
    double values[10];
    struct tc_pair p;
    memcpy(values, LOW, sizeof values);
    values[3] = 900;
    assert_int_equal(
        judge(series(values, 10, TC_BETTER_LOWER), series(HIGH, 10, TC_BETTER_LOWER), 0, 0, &p),
        TC_PAIR_WORSE);
    assert_int_equal(p.sides[0].outliers, 1);
    assert_int_equal(p.sides[0].n, 10);
    assert_true(p.sides[0].high == 900);
    assert_int_equal(
        judge(series(values, 7, TC_BETTER_LOWER), series(HIGH, 7, TC_BETTER_LOWER), 0, 0, &p),
        TC_PAIR_WORSE);
    assert_int_equal(p.sides[0].outliers, 0);
}

/* ---- families ---- */

#define MANY 20

static void many_tests_are_corrected(void **state)
{
    (void)state;
    /* above all of the others, but by less than they differ among themselves */
    static const double near[] = {107, 108, 109, 110, 111};
    static double quiet[MANY][5];
    struct tc_series sides[2][MANY];
    struct tc_comparison c = {0};
    struct tc_error err = {0};
    struct tc_compare_options options = {0};
    for (size_t n = 0; n < MANY; n++) {
        for (size_t k = 0; k < 5; k++) {
            quiet[n][k] = 100 + (double)((k * 7 + n) % 5);
        }
        sides[0][n] = series(n == 0 ? LOW : quiet[n], 5, TC_BETTER_LOWER);
        sides[1][n] = series(n == 0 ? near : quiet[n], 5, TC_BETTER_LOWER);
        sides[0][n].order = sides[1][n].order = n;
    }
    c.sets[0].series = sides[0];
    c.sets[1].series = sides[1];
    c.sets[0].series_count = c.sets[1].series_count = MANY;
    c.groups[0].run_count = c.groups[1].run_count = 5;
    assert_int_equal(tc_compare_sets(&c, &options, &err), TC_OK);
    /* 0.0079 is the least that 5 against 5 give: of 20 tests that is not enough */
    assert_true(c.pairs[0].test.p < 0.008);
    assert_true(fabs(c.pairs[0].p_adjusted - MANY * c.pairs[0].test.p) < 1e-12);
    assert_int_equal(c.pairs[0].verdict, TC_PAIR_SAME);
    struct tc_grow doubts = {0};
    tc_comparison_doubts(&c, &doubts);
    assert_true(tc_slice_contains(tc_grow_slice(&doubts),
                                  TC_LIT("With 5 and 5 runs a difference in one of 20 tests alone "
                                         "passes only if the sides lie farther apart than their "
                                         "runs do: 6 runs a side could")));
    tc_grow_fini(&doubts);
    free(c.pairs);
    free(c.unpaired);
    /* apart by as much as the runs of a side differ: the test's own p counts */
    static const double far[] = {108, 109, 110, 111, 112};
    memset(&c, 0, sizeof c);
    sides[1][0].values = far;
    c.sets[0].series = sides[0];
    c.sets[1].series = sides[1];
    c.sets[0].series_count = c.sets[1].series_count = MANY;
    c.groups[0].run_count = c.groups[1].run_count = 5;
    assert_int_equal(tc_compare_sets(&c, &options, &err), TC_OK);
    assert_true(c.pairs[0].is_apart);
    assert_true(c.pairs[0].p_adjusted == c.pairs[0].test.p);
    assert_int_equal(c.pairs[0].verdict, TC_PAIR_WORSE);
    free(c.pairs);
    free(c.unpaired);
    sides[1][0].values = near;
    /* of others than the main metrics, the main ones keep most of alpha */
    memset(&c, 0, sizeof c);
    for (size_t n = 1; n < MANY; n++) {
        sides[0][n].is_main = sides[1][n].is_main = false;
    }
    c.sets[0].series = sides[0];
    c.sets[1].series = sides[1];
    c.sets[0].series_count = c.sets[1].series_count = MANY;
    c.groups[0].run_count = c.groups[1].run_count = 5;
    assert_int_equal(tc_compare_sets(&c, &options, &err), TC_OK);
    assert_true(fabs(c.pairs[0].p_adjusted - c.pairs[0].test.p / 0.8) < 1e-12);
    assert_int_equal(c.pairs[0].verdict, TC_PAIR_WORSE);
    assert_int_equal(c.main_tested, 1);
    assert_int_equal(c.other_tested, MANY - 1);
    free(c.pairs);
    free(c.unpaired);
}

/* ---- from the warehouse ---- */

static struct tc_warehouse *w;

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

/* Runs of both sides with a value each. */
static void add_sides(size_t count, const char *definition, double step)
{
    for (size_t n = 0; n < 2 * count; n++) {
        char id[32];
        bool base = n < count;
        (void)snprintf(id, sizeof id, "run-%zu", n);
        cr_add_run(w, &(struct cr_run){.id = id,
                                       .name = "all",
                                       .group = base ? "base" : "candidate",
                                       .started_s = (int64_t)n,
                                       .software = base ? "570" : "580"});
        cr_add_serving(w,
                       &(struct cr_serving){id, "in=1", 64, NULL, base ? NULL : definition,
                                            100 + (double)(n % count) + (base ? 0 : step), 1000});
    }
}

static const char *refused(const char *base, const char *candidate, const char *metric)
{
    static struct tc_error err;
    struct tc_slice pattern = tc_slice_cstr(metric);
    struct tc_compare_options options = {
        .want = {.metrics = &pattern, .metric_count = metric != NULL ? 1 : 0}};
    struct tc_comparison c;
    err = (struct tc_error){0};
    assert_true(tc_compare(w, tc_slice_cstr(base), tc_slice_cstr(candidate), &options, &c, &err) !=
                TC_OK);
    return err.message;
}

static void the_answer_says_what_and_how_sure(void **state)
{
    (void)state;
    static const struct tc_compare_options options = {0};
    struct tc_comparison c;
    struct tc_error err = {0};
    struct tc_grow text = {0};
    add_sides(5, NULL, 50);
    assert_int_equal(tc_compare(w, TC_LIT("base"), TC_LIT("candidate"), &options, &c, &err), TC_OK);
    tc_comparison_answer(&c, &text);
    assert_text(tc_grow_slice(&text),
                "Worse: ttft_p99_ms is 1.49x [1.46, 1.52] (n 5+5, p 0.0079).");
    assert_ptr_equal(tc_comparison_foremost(&c), &c.pairs[0]);
    tc_grow_fini(&text);
    /* the driver is the one thing that differs; throughput is equal on both sides */
    assert_int_equal(c.differs.count, 1);
    assert_false(c.differs.is_confounded);
    assert_false(c.differs.is_interleaved);
    assert_int_equal(c.pair_count, 2);
    assert_true(c.pairs[1].is_equal);
    struct tc_json_out j = tc_json_out_grow(&text);
    tc_comparison_json(&j, &c);
    assert_true(tc_json_done(&j));
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json root;
    assert_int_equal(tc_json_parse(parser, tc_grow_slice(&text), &root, &err), TC_OK);
    assert_text(tc_json_get_string(root, TC_LIT("verdict")), "worse");
    tc_json_parser_destroy(parser);
    tc_grow_fini(&text);
    tc_comparison_fini(&c);
}

static void two_definitions_are_refused(void **state)
{
    (void)state;
    add_sides(4, "aiperf:ttft", 50);
    assert_string_equal(refused("base", "candidate", "ttft"),
                        "ttft_p99_ms is not comparable: the definitions differ, vllm:p99_ttft_ms "
                        "and aiperf:ttft; 1 series in all");
}

static void two_units_are_refused(void **state)
{
    (void)state;
    add_sides(4, NULL, 50);
    for (size_t n = 0; n < 8; n++) {
        char id[32];
        (void)snprintf(id, sizeof id, "run-%zu", n);
        cr_add_slice(w, id, "busbw", n < 4 ? "GB/s" : "MB/s", "size=8", 1, 10);
    }
    assert_string_equal(refused("base", "candidate", "busbw"),
                        "vllm:busbw is not comparable: the units differ, GB/s and MB/s; 1 series "
                        "in all");
}

static void bad_input_gets_a_sentence(void **state)
{
    (void)state;
    add_sides(4, NULL, 50);
    assert_string_equal(refused("run-0", "candidate", NULL),
                        "the base is one run (run-0), and one run says nothing of chance; name a "
                        "group of runs, or see `tracecore run diff`");
    assert_string_equal(refused("base", "run-7", NULL),
                        "the candidate is one run (run-7), and one run says nothing of chance; "
                        "name a group of runs, or see `tracecore run diff`");
    assert_string_equal(refused("base", "candidate", "mfu_pct"),
                        "no run of either side has a value of \"mfu_pct\"");
    assert_string_equal(refused("base", "candidate", "ttft_99_ms"),
                        "no run has a metric \"ttft_99_ms\"; did you mean ttft_p99_ms?");
    cr_add_training(w, "run-0", 5);
    cr_add_training(w, "run-1", 5);
    assert_string_equal(refused("base", "candidate", "time_to_train_s"),
                        "no run of the candidate has a value of \"time_to_train_s\"");
    assert_string_equal(refused("nothing", "candidate", NULL),
                        "there is no run, group or name \"nothing\"; `tracecore run list` shows "
                        "those there are");
}

static void the_same_runs_on_both_sides_are_told(void **state)
{
    (void)state;
    static const struct tc_compare_options options = {0};
    struct tc_comparison c;
    struct tc_error err = {0};
    struct tc_grow text = {0};
    add_sides(5, NULL, 50);
    assert_int_equal(tc_compare(w, TC_LIT("base"), TC_LIT("base"), &options, &c, &err), TC_OK);
    assert_int_equal(c.differs.shared, 5);
    tc_comparison_answer(&c, &text);
    assert_text(tc_grow_slice(&text),
                "No difference shown in 2 series at 1 point; in 1 of them all values are equal.");
    tc_grow_fini(&text);
    tc_comparison_doubts(&c, &text);
    assert_true(tc_slice_contains(tc_grow_slice(&text), TC_LIT("5 runs are on both sides")));
    tc_grow_fini(&text);
    tc_comparison_fini(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_runs_cannot_decide_and_four_can),
        cmocka_unit_test(the_minimum_of_a_contract_holds),
        cmocka_unit_test(the_direction_of_the_metric_decides),
        cmocka_unit_test(a_group_against_itself_shows_no_difference),
        cmocka_unit_test(equal_values_are_not_tested),
        cmocka_unit_test(a_difference_within_the_spread_is_unstable),
        cmocka_unit_test(two_modes_have_no_median),
        cmocka_unit_test(an_outlier_is_flagged_and_kept),
        cmocka_unit_test(many_tests_are_corrected),
        TEST(the_answer_says_what_and_how_sure),
        TEST(two_definitions_are_refused),
        TEST(two_units_are_refused),
        TEST(bad_input_gets_a_sentence),
        TEST(the_same_runs_on_both_sides_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
