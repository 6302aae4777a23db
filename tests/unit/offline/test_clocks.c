/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "offline/clocks.h"
#include "support/assert_text.h"

#include <stdio.h>

#define T0 (INT64_C(1780000000) * TC_SECOND)

static int set_up(void **state)
{
    *state = tc_clocks_create();
    return *state == NULL;
}

static int tear_down(void **state)
{
    tc_clocks_destroy(*state);
    return 0;
}

static struct tc_event step_of(const char *job, const char *node, int32_t rank, int64_t step,
                               int64_t time_ns)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_TRAIN_STEP);
    ev.scope.job = tc_slice_cstr(job);
    ev.scope.node = tc_slice_cstr(node);
    ev.scope.rank = rank;
    ev.train.step = step;
    ev.time_ns = time_ns;
    return ev;
}

/* Steps of ten seconds, by a clock that is so many seconds ahead. */
static void log_steps(struct tc_clocks *c, const char *job, const char *node, int32_t rank,
                      int64_t ahead_s, int64_t first, int64_t count)
{
    for (int64_t step = first; step < first + count; step++) {
        struct tc_event ev = step_of(job, node, rank, step, T0 + (10 * step + ahead_s) * TC_SECOND);
        tc_clocks_note(c, &ev);
    }
}

static int64_t corrected(const struct tc_clocks *c, enum tc_event_kind kind, const char *node)
{
    struct tc_event ev;
    tc_event_init(&ev, kind);
    ev.scope.node = tc_slice_cstr(node);
    ev.time_ns = T0;
    tc_clocks_correct(c, &ev);
    return (ev.time_ns - T0) / TC_SECOND;
}

static void most_nodes_of_a_job_are_right(void **state)
{
    struct tc_clocks *c = *state;
    log_steps(c, "j", "n1", 0, 90, 0, 20);
    log_steps(c, "j", "n2", 8, 0, 0, 20);
    log_steps(c, "j", "n3", 16, 1, 0, 20);
    log_steps(c, "j", "n4", 24, -60, 0, 20);
    assert_int_equal(tc_clocks_compare(c), 2);
    assert_text(tc_clocks_get(c, 0)->node, "n1");
    assert_true(tc_clocks_get(c, 0)->sure && tc_clocks_get(c, 1)->sure);
    assert_text(tc_clocks_get(c, 1)->node, "n4");
    assert_null(tc_clocks_get(c, 2));
    assert_in_range(-corrected(c, TC_EVENT_XID, "n1"), 89, 90);
    assert_int_equal(corrected(c, TC_EVENT_XID, "n2"), 0);
    assert_int_equal(corrected(c, TC_EVENT_XID, "n3"), 0);
    assert_in_range(corrected(c, TC_EVENT_OOM_KILL, "n4"), 60, 61);
    assert_int_equal(corrected(c, TC_EVENT_XID, "n5"), 0);
}

static void where_no_two_agree_the_slowest_counts(void **state)
{
    struct tc_clocks *c = *state;
    log_steps(c, "j", "n1", 0, 30, 0, 20);
    log_steps(c, "j", "n2", 8, 130, 0, 20);
    assert_int_equal(tc_clocks_compare(c), 1);
    assert_false(tc_clocks_get(c, 0)->sure);
    assert_int_equal(corrected(c, TC_EVENT_XID, "n1"), 0);
    assert_int_equal(corrected(c, TC_EVENT_XID, "n2"), -100);
}

static void two_groups_of_the_same_size_prove_nothing(void **state)
{
    struct tc_clocks *c = *state;
    log_steps(c, "j", "n1", 0, 0, 0, 20);
    log_steps(c, "j", "n2", 8, 0, 0, 20);
    log_steps(c, "j", "n3", 16, 40, 0, 20);
    log_steps(c, "j", "n4", 24, 40, 0, 20);
    assert_int_equal(tc_clocks_compare(c), 2);
    assert_false(tc_clocks_get(c, 0)->sure);
}

static void clocks_that_nearly_agree_are_left_alone(void **state)
{
    struct tc_clocks *c = *state;
    log_steps(c, "j", "n1", 0, 0, 0, 20);
    log_steps(c, "j", "n2", 8, 0, 0, 20);
    log_steps(c, "j", "n3", 16, 4, 0, 20);
    assert_int_equal(tc_clocks_compare(c), 0);
    assert_int_equal(corrected(c, TC_EVENT_XID, "n3"), 0);
}

static void five_seconds_are_enough(void **state)
{
    struct tc_clocks *c = *state;
    log_steps(c, "j", "n1", 0, 0, 0, 20);
    log_steps(c, "j", "n2", 8, 0, 0, 20);
    log_steps(c, "j", "n3", 16, 5, 0, 20);
    assert_int_equal(tc_clocks_compare(c), 1);
}

static void two_steps_in_common_are_too_few(void **state)
{
    struct tc_clocks *c = *state;
    log_steps(c, "j", "n1", 0, 0, 0, 20);
    log_steps(c, "j", "n2", 8, 60, 18, 20);
    log_steps(c, "other", "n3", 0, 99, 0, 20); /* steps of two jobs have nothing in common */
    assert_int_equal(tc_clocks_compare(c), 0);
}

static void three_steps_in_common_are_enough(void **state)
{
    struct tc_clocks *c = *state;
    log_steps(c, "j", "n1", 0, 0, 0, 20);
    log_steps(c, "j", "n2", 8, 60, 17, 20);
    assert_int_equal(tc_clocks_compare(c), 1);
}

static void steps_that_do_not_end_together_say_nothing(void **state)
{
    struct tc_clocks *c = *state;
    log_steps(c, "j", "n1", 0, 0, 0, 20);
    for (int64_t step = 0; step < 20; step++) {
        /* A node that does its steps at a pace of its own. */
        struct tc_event ev = step_of("j", "n2", 8, step, T0 + 17 * step * TC_SECOND);
        tc_clocks_note(*state, &ev);
    }
    assert_int_equal(tc_clocks_compare(c), 0);
}

static void long_runs_are_thinned_out_alike(void **state)
{
    struct tc_clocks *c = *state;
    log_steps(c, "j", "n1", 0, 0, 0, 30000);
    log_steps(c, "j", "n2", 8, 0, 7001, 30000);
    log_steps(c, "j", "n3", 16, -75, 3, 20000);
    assert_int_equal(tc_clocks_compare(c), 1);
    assert_int_equal(corrected(c, TC_EVENT_XID, "n3"), 75);
}

static void the_first_rank_of_a_node_counts(void **state)
{
    struct tc_clocks *c = *state;
    log_steps(c, "j", "n1", 0, 0, 0, 5);
    log_steps(c, "j", "n2", 8, 7, 0, 5); /* a rank that logs late */
    log_steps(c, "j", "n2", 9, 0, 0, 5);
    assert_int_equal(tc_clocks_compare(c), 0);
}

static void every_name_of_a_node_is_its_own(void **state)
{
    struct tc_clocks *c = *state;
    log_steps(c, "j", "n1", 0, 0, 0, 20);
    log_steps(c, "j", "n2", 8, 0, 0, 20);
    log_steps(c, "j", "n3", 16, 50, 0, 20);
    assert_int_equal(tc_clocks_compare(c), 1);
    assert_int_equal(corrected(c, TC_EVENT_XID, "n3.cluster.example"), -50);
    assert_int_equal(corrected(c, TC_EVENT_XID, "n33"), 0);
    /* A dump knows only its job and rank. */
    struct tc_event ev = step_of("j", "", 16, 3, T0);
    ev.kind = TC_EVENT_NCCL_RECORD;
    tc_clocks_correct(c, &ev);
    assert_int_equal((T0 - ev.time_ns) / TC_SECOND, 50);
}

static void what_others_date_is_left_alone(void **state)
{
    struct tc_clocks *c = *state;
    log_steps(c, "j", "n1", 0, 0, 0, 20);
    log_steps(c, "j", "n2", 8, 50, 0, 20);
    assert_int_equal(tc_clocks_compare(c), 1);
    assert_int_equal(corrected(c, TC_EVENT_K8S_EVENT, "n2"), 0);
    assert_int_equal(corrected(c, TC_EVENT_POD_STATE, "n2"), 0);
    assert_int_equal(corrected(c, TC_EVENT_NODE_CONDITION, "n2"), 0);
    assert_int_equal(corrected(c, TC_EVENT_METRIC, "n2"), 0);
    struct tc_event ev = step_of("j", "n2", 8, 3, TC_TIME_NONE);
    tc_clocks_correct(c, &ev);
    assert_int_equal(ev.time_ns, TC_TIME_NONE);
}

/* More nodes than there is room for, all with one label: bounded work, and it ends. */
static void a_flood_of_names_is_survived(void **state)
{
    struct tc_clocks *c = *state;
    for (int64_t i = 0; i < (int64_t)TC_CLOCK_SEATS + 1000; i++) {
        char node[32];
        (void)snprintf(node, sizeof node, "n.%lld", (long long)i);
        log_steps(c, "j", node, (int32_t)i, i % 2 == 0 ? 0 : 60, 0, 3);
    }
    assert_true(tc_clocks_compare(c) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(most_nodes_of_a_job_are_right),
        TEST(where_no_two_agree_the_slowest_counts),
        TEST(two_groups_of_the_same_size_prove_nothing),
        TEST(clocks_that_nearly_agree_are_left_alone),
        TEST(five_seconds_are_enough),
        TEST(two_steps_in_common_are_too_few),
        TEST(three_steps_in_common_are_enough),
        TEST(steps_that_do_not_end_together_say_nothing),
        TEST(long_runs_are_thinned_out_alike),
        TEST(the_first_rank_of_a_node_counts),
        TEST(every_name_of_a_node_is_its_own),
        TEST(what_others_date_is_left_alone),
        TEST(a_flood_of_names_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
