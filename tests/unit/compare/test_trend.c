/* SPDX-License-Identifier: Apache-2.0 */
/* Change points over a history: a step, at which run and with what; a spike is none. */
#include "compare/trend.h"
#include "support/compare_rows.h"
#include "support/warehouse_room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

/* A history: noise of about 1 %, a step at a run, a spike at another. Added in another order. */
static void add_history(const char *case_id, size_t count, size_t step_at, size_t spike_at,
                        int64_t started_s)
{
    for (size_t k = 0; k < count; k++) {
        size_t n = (k * 7) % count;
        char id[32];
        double value = 100 + (double)((n * 37) % 11) / 10;
        (void)snprintf(id, sizeof id, "%s-%02zu", case_id, n);
        value *= n >= step_at ? 1.3 : 1;
        value *= n == spike_at ? 3 : 1;
        cr_add_run(w, &(struct cr_run){.id = id,
                                       .name = "nightly",
                                       .case_id = case_id,
                                       .software = n >= step_at ? "580" : "570",
                                       .started_s = started_s + (int64_t)n * 86400});
        cr_add_serving(w, &(struct cr_serving){id, "in=1", 64, NULL, NULL, value, 1000});
    }
}

static tc_status find(const char *runs, const char *metric, struct tc_trend *t,
                      struct tc_error *err)
{
    static struct tc_slice pattern;
    pattern = tc_slice_cstr(metric);
    struct tc_trend_options options = {.runs = tc_slice_cstr(runs),
                                       .want = {.metrics = &pattern, .metric_count = 1}};
    *err = (struct tc_error){0};
    return tc_trend(w, &options, t, err);
}

static void a_step_is_found_at_its_run_with_what_changed(void **state)
{
    (void)state;
    struct tc_trend t;
    struct tc_error err;
    add_history("case-a", 20, 12, 5, 0);
    assert_int_equal(find("nightly", "ttft_p99_ms", &t, &err), TC_OK);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.changed, 1);
    const struct tc_trend_series *item = &t.items[0];
    assert_int_equal(item->change_count, 1);
    const struct tc_trend_change *c = &item->changes[0];
    assert_int_equal(c->at, 12);
    assert_int_equal(c->verdict, TC_PAIR_WORSE);
    assert_true(c->p <= 0.01);
    assert_true(c->before > 99 && c->before < 102 && c->after > 129 && c->after < 133);
    assert_int_equal(c->fact_count, 1);
    assert_string_equal(tc_answer_name(&t.group.runs, c->facts[0]), "driver_version");
    assert_true(tc_slice_eq(tc_group_text(&t.group, item->series->runs[12], TC_GROUP_RUN_ID),
                            TC_LIT("case-a-12")));
    assert_int_equal(item->spike_count, 1);
    assert_int_equal(item->spikes[0], 5);
    struct tc_grow text = {0};
    tc_trend_answer(&t, &text);
    assert_true(tc_slice_contains(tc_grow_slice(&text), TC_LIT("(worse) with case-a-12 of ")));
    assert_true(tc_slice_contains(tc_grow_slice(&text), TC_LIT("where changed: driver_version.")));
    tc_grow_fini(&text);
    tc_trend_fini(&t);
}

static void a_single_spike_is_no_change(void **state)
{
    (void)state;
    struct tc_trend t;
    struct tc_error err;
    struct tc_grow text = {0};
    add_history("case-a", 20, 100, 10, 0);
    assert_int_equal(find("nightly", "ttft_p99_ms", &t, &err), TC_OK);
    assert_int_equal(t.changed, 0);
    assert_int_equal(t.items[0].spike_count, 1);
    assert_int_equal(t.items[0].spikes[0], 10);
    tc_trend_answer(&t, &text);
    assert_true(tc_slice_eq(tc_grow_slice(&text), TC_LIT("No change in 1 series over 20 runs.")));
    tc_grow_fini(&text);
    tc_trend_fini(&t);
}

static void five_values_are_no_history_and_six_are(void **state)
{
    (void)state;
    struct tc_trend t;
    struct tc_error err;
    add_history("case-a", 5, 100, 100, 0);
    assert_int_equal(find("nightly", "ttft_p99_ms", &t, &err), TC_OK);
    assert_true(t.items[0].is_short);
    struct tc_grow text = {0};
    tc_trend_answer(&t, &text);
    assert_true(tc_slice_starts(tc_grow_slice(&text), TC_LIT("No history: at most 5 runs")));
    assert_false(tc_trend_is_history(&t));
    tc_grow_fini(&text);
    tc_trend_fini(&t);
    add_history("case-b", 6, 100, 100, 1000000);
    assert_int_equal(find("benchmark_case_id = 'case-b'", "ttft_p99_ms", &t, &err), TC_OK);
    assert_false(t.items[0].is_short);
    assert_true(tc_trend_is_history(&t));
    tc_trend_fini(&t);
}

static void one_value_for_ever_is_no_history(void **state)
{
    (void)state;
    struct tc_trend t;
    struct tc_error err;
    struct tc_grow text = {0};
    struct tc_json_out j = tc_json_out_grow(&text);
    add_history("case-a", 8, 100, 100, 0);
    assert_int_equal(find("nightly", "output_token_throughput", &t, &err), TC_OK);
    assert_false(t.items[0].is_short);
    assert_false(tc_trend_is_history(&t));
    tc_trend_json(&j, &t); /* what the API says */
    assert_true(tc_json_done(&j));
    assert_true(tc_slice_contains(tc_grow_slice(&text),
                                  TC_LIT("{\"answer\":\"All values are equal, in each of 1 "
                                         "series: no change can be found in them.\",")));
    tc_grow_fini(&text);
    tc_trend_fini(&t);
}

static void without_runs_the_latest_case_that_has_the_metric(void **state)
{
    (void)state;
    struct tc_trend t;
    struct tc_error err;
    add_history("case-a", 7, 100, 100, 0);
    add_history("it's b", 8, 100, 100, 10000000);
    cr_add_run(w, &(struct cr_run){.id = "other", .case_id = "case-c", .started_s = 90000000});
    cr_add_training(w, "other", 600);
    assert_int_equal(find(NULL, "ttft_p99_ms", &t, &err), TC_OK);
    assert_int_equal(t.group.run_count, 8);
    assert_true(tc_slice_eq(tc_group_text(&t.group, 0, TC_GROUP_CASE_ID), TC_LIT("it's b")));
    tc_trend_fini(&t);
    assert_int_equal(find(NULL, "time_to_train_s", &t, &err), TC_OK);
    assert_int_equal(t.group.run_count, 1);
    tc_trend_fini(&t);
}

static void bad_input_gets_a_sentence(void **state)
{
    (void)state;
    struct tc_trend t;
    struct tc_error err;
    add_history("case-a", 7, 100, 100, 0);
    assert_int_equal(find("nightly", "mfu_pct", &t, &err), TC_E_NOTFOUND);
    assert_string_equal(err.message, "no run of these has a value of \"mfu_pct\"");
    assert_int_equal(find(NULL, "ttft_99_ms", &t, &err), TC_E_NOTFOUND);
    assert_string_equal(err.message,
                        "no run has a value of \"ttft_99_ms\"; did you mean ttft_p99_ms?");
    assert_int_equal(find("nigthly", "ttft_p99_ms", &t, &err), TC_E_NOTFOUND);
    assert_string_equal(err.message,
                        "there is no run, group or name \"nigthly\"; did you mean \"nightly\"?");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_step_is_found_at_its_run_with_what_changed),
        TEST(a_single_spike_is_no_change),
        TEST(five_values_are_no_history_and_six_are),
        TEST(one_value_for_ever_is_no_history),
        TEST(without_runs_the_latest_case_that_has_the_metric),
        TEST(bad_input_gets_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
