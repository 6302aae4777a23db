/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/run_claims.h"

#include "base/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S INT64_C(1000000)
#define T (INT64_C(1780000000) * S)
#define UID "0a1b2c3d-4e5f-6789-abcd-ef0123456789"

static struct tc_run_claim *claims;
static size_t count;

static int clear(void **state)
{
    (void)state;
    free(claims);
    claims = NULL;
    return 0;
}

static struct tc_run_window win(size_t run, int64_t from_us, int64_t to_us)
{
    return (struct tc_run_window){run, from_us, to_us, true};
}

static void settle(enum tc_run_name name, const char *text, struct tc_run_window *windows,
                   size_t window_count)
{
    free(claims);
    assert_int_equal(
        tc_run_claims(name, tc_slice_cstr(text), windows, window_count, &claims, &count), TC_OK);
    for (size_t i = 0; i < count; i++) {
        assert_true(claims[i].from_us <= claims[i].to_us);
        assert_true(i == 0 || claims[i].from_us > claims[i - 1].to_us);
    }
}

/* The run at a moment, as of a verdict; -1: none. */
static int at(int64_t us)
{
    int run = -1;
    for (size_t i = 0; i < count; i++) {
        if (us >= claims[i].from_us && us <= claims[i].to_us) {
            assert_int_equal(run, -1);
            run = (int)claims[i].run;
        }
    }
    return run;
}

/* The run of a measurement from .. to; -1: none. */
static int over(int64_t from_us, int64_t to_us)
{
    int run = -1;
    for (size_t i = 0; i < count; i++) {
        const struct tc_run_claim *c = &claims[i];
        if (c->in_window && from_us <= c->to_us && to_us > c->from_us && from_us > c->after_us &&
            to_us <= c->before_us) {
            assert_true(run == -1 || run == (int)c->run); /* twice the same, around a gap */
            run = (int)c->run;
        }
    }
    return run;
}

static void a_window_has_edges_and_reaches_ten_minutes(void **state)
{
    (void)state;
    struct tc_run_window w[] = {win(7, T, T + 60 * S)};
    settle(TC_RUN_NAME_NODE, "n1", w, 1);
    assert_int_equal(at(T), 7);
    assert_int_equal(at(T + 60 * S), 7);
    assert_int_equal(at(T - TC_RUN_NEAR_US), 7);
    assert_int_equal(at(T - TC_RUN_NEAR_US - 1), -1);
    assert_int_equal(at(T + 60 * S + TC_RUN_NEAR_US), 7);
    assert_int_equal(at(T + 60 * S + TC_RUN_NEAR_US + 1), -1);
    /* A measurement has to touch the window itself. */
    assert_int_equal(over(T - 60 * S, T), -1);
    assert_int_equal(over(T - 60 * S, T + 1), 7);
    assert_int_equal(over(T + 60 * S, T + 120 * S), 7);
    assert_int_equal(over(T + 60 * S + 1, T + 120 * S), -1);
}

static void runs_one_after_another_share_a_node(void **state)
{
    (void)state;
    struct tc_run_window w[] = {win(2, T + 100 * S, T + 160 * S), win(1, T, T + 60 * S)};
    settle(TC_RUN_NAME_NODE, "n1", w, 2);
    assert_int_equal(at(T + 60 * S), 1);
    assert_int_equal(at(T + 60 * S + 1), -1); /* near both */
    assert_int_equal(at(T + 100 * S - 1), -1);
    assert_int_equal(at(T + 100 * S), 2);
    assert_int_equal(at(T - 1), -1); /* also near both, if not equally far */
    assert_int_equal(at(T + 160 * S + TC_RUN_NEAR_US), 2);
    assert_int_equal(at(T - TC_RUN_NEAR_US), 1);
    assert_int_equal(over(T + 30 * S, T + 90 * S), 1);
    assert_int_equal(over(T + 60 * S, T + 100 * S), 1);      /* ends where the next begins */
    assert_int_equal(over(T + 60 * S, T + 100 * S + 1), -1); /* touches both */
    assert_int_equal(over(T + 60 * S + 1, T + 100 * S + 1), 2);
}

static void runs_at_the_same_time_have_what_is_theirs_alone(void **state)
{
    (void)state;
    struct tc_run_window w[] = {win(1, T, T + 100 * S), win(2, T + 40 * S, T + 60 * S)};
    settle(TC_RUN_NAME_JOB, "nightly", w, 2);
    assert_int_equal(at(T + 40 * S - 1), 1);
    assert_int_equal(at(T + 40 * S), -1);
    assert_int_equal(at(T + 60 * S), -1);
    assert_int_equal(at(T + 60 * S + 1), 1);
    assert_int_equal(over(T + 30 * S, T + 40 * S), 1);
    assert_int_equal(over(T + 30 * S, T + 41 * S), -1);
    assert_int_equal(over(T + 60 * S, T + 70 * S), -1);
    assert_int_equal(over(T + 61 * S, T + 70 * S), 1);
    struct tc_run_window same[] = {win(1, T, T + 100 * S), win(2, T, T + 100 * S)};
    settle(TC_RUN_NAME_JOB, "nightly", same, 2);
    assert_int_equal(count, 0);
}

static void a_uid_is_one_runs_at_any_time(void **state)
{
    (void)state;
    struct tc_run_window one[] = {win(1, T, T + S)};
    settle(TC_RUN_NAME_JOB, UID, one, 1);
    assert_int_equal(at(T - 1000000 * S), 1);
    assert_int_equal(at(TC_RUN_LAST_US), 1);
    assert_int_equal(over(T - 60 * S, T - 30 * S), -1);
    settle(TC_RUN_NAME_JOB, "0a1b2c3d-4e5f-6789-abcd-ef012345678", one, 1); /* too short */
    assert_int_equal(at(T - 1000000 * S), -1);
    /* A server's pod is the pod of several runs: each has its own time, the rest is nobody's. */
    struct tc_run_window two[] = {win(1, T, T + S), win(2, T + 5 * S, T + 6 * S)};
    settle(TC_RUN_NAME_POD_UID, "abc", two, 2);
    assert_int_equal(at(T), 1);
    assert_int_equal(at(T + 5 * S), 2);
    assert_int_equal(at(T + 3 * S), -1);
    assert_int_equal(at(T - 1000000 * S), -1);
}

static void a_run_without_times_has_its_names_but_no_node(void **state)
{
    (void)state;
    struct tc_run_window w[] = {{1, 0, 0, false}};
    settle(TC_RUN_NAME_JOB, "nightly", w, 1);
    assert_int_equal(at(T), 1);
    assert_int_equal(over(T, T + S), -1);
    settle(TC_RUN_NAME_NODE, "n1", w, 1);
    assert_int_equal(count, 0);
    struct tc_run_window other[] = {{1, 0, 0, false}, win(2, T, T + S)};
    settle(TC_RUN_NAME_JOB, "nightly", other, 2);
    assert_int_equal(at(T), 2);
    assert_int_equal(at(T + 2 * S), -1);
    assert_int_equal(at(T + 601 * S + 1), 1);
    struct tc_run_window wrong[] = {win(1, T, T - 1)};
    settle(TC_RUN_NAME_JOB, "nightly", wrong, 1);
    assert_int_equal(count, 0);
}

static void windows_of_one_run_are_one(void **state)
{
    (void)state;
    struct tc_run_window w[] = {win(1, T + 50 * S, T + 90 * S), win(1, T, T + 50 * S - 1),
                                win(1, T + 10 * S, T + 20 * S)};
    settle(TC_RUN_NAME_NODE, "n1", w, 3);
    assert_int_equal(count, 3); /* near, in the window, near */
    assert_true(claims[1].in_window);
    assert_int_equal(claims[1].from_us, T);
    assert_int_equal(claims[1].to_us, T + 90 * S);
    struct tc_run_window apart[] = {win(1, T, T + S), win(1, T + 100 * S, T + 101 * S)};
    settle(TC_RUN_NAME_NODE, "n1", apart, 2);
    assert_int_equal(at(T + 50 * S), 1);
    assert_int_equal(over(T + S, T + 100 * S + 1), 1);
    settle(TC_RUN_NAME_NODE, "n1", NULL, 0);
    assert_int_equal(count, 0);
}

/* Every moment by hand, over random windows of few runs. */
static void claims_are_as_counted_by_hand(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252U;
    for (int round = 0; round < 500; round++) {
        struct tc_run_window w[6];
        struct tc_run_window given[6];
        size_t n = 1 + (size_t)round % 6;
        for (size_t i = 0; i < n; i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            int64_t from = (int64_t)(seed % 30);
            w[i] = win((seed >> 32) % 3, from, from + (int64_t)((seed >> 20) % 8));
        }
        memcpy(given, w, sizeof given);
        settle(TC_RUN_NAME_NODE, "n1", w, n);
        for (int64_t from = 0; from < 40; from++) {
            for (int64_t to = from + 1; to < 42; to++) {
                int expected = -1;
                for (size_t i = 0; i < n; i++) {
                    bool touches = from <= given[i].to_us && to > given[i].from_us;
                    int run = (int)given[i].run;
                    expected = !touches ? expected : expected == -1 || expected == run ? run : -2;
                }
                assert_int_equal(over(from, to), expected == -2 ? -1 : expected);
            }
        }
    }
}

static void nodes_are_compared_by_host_name(void **state)
{
    (void)state;
    char out[64];
    struct tc_run_node n = tc_run_node_of(TC_LIT("GPU-07.Rack1.example.com"), out);
    assert_true(tc_slice_eq(n.host, TC_LIT("gpu-07")));
    assert_true(tc_slice_eq(n.domain, TC_LIT("rack1.example.com")));
    n = tc_run_node_of(TC_LIT("gpu-07"), out);
    assert_true(tc_slice_eq(n.host, TC_LIT("gpu-07")) && n.domain.len == 0);
    n = tc_run_node_of(TC_LIT("10.0.0.7"), out);
    assert_true(tc_slice_eq(n.host, TC_LIT("10.0.0.7")) && n.domain.len == 0);
    n = tc_run_node_of(TC_LIT("fe80::1"), out);
    assert_true(tc_slice_eq(n.host, TC_LIT("fe80::1")) && n.domain.len == 0);
}

static void kinds_have_names(void **state)
{
    (void)state;
    enum tc_run_name name;
    for (size_t i = 0; i < TC_RUN_NAME_COUNT; i++) {
        assert_true(tc_run_name_parse(tc_run_name_kind((enum tc_run_name)i), &name));
        assert_int_equal(name, i);
    }
    assert_false(tc_run_name_parse(TC_LIT("rack"), &name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_window_has_edges_and_reaches_ten_minutes, clear),
        cmocka_unit_test_teardown(runs_one_after_another_share_a_node, clear),
        cmocka_unit_test_teardown(runs_at_the_same_time_have_what_is_theirs_alone, clear),
        cmocka_unit_test_teardown(a_uid_is_one_runs_at_any_time, clear),
        cmocka_unit_test_teardown(a_run_without_times_has_its_names_but_no_node, clear),
        cmocka_unit_test_teardown(windows_of_one_run_are_one, clear),
        cmocka_unit_test_teardown(claims_are_as_counted_by_hand, clear),
        cmocka_unit_test_teardown(nodes_are_compared_by_host_name, clear),
        cmocka_unit_test_teardown(kinds_have_names, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
