/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sender whose clock is wrong among others: what is told of the others, and when, is as without
 * it, and nothing is told of it that is not so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/live/live_testing.h"

#define RANKS 4
#define BAD 3 /* the rank whose node has the wrong clock */
#define STEPS 700
#define HOUR (3600 * TC_SECOND)

typedef int64_t (*clock_fn)(int64_t now_ns);

static int64_t right(int64_t now_ns)
{
    return now_ns;
}

static int64_t ahead(int64_t now_ns)
{
    return now_ns + HOUR;
}

static int64_t behind(int64_t now_ns)
{
    return now_ns - HOUR;
}

/* Right, an hour behind, right, an hour ahead: half a minute each. */
static int64_t jumping(int64_t now_ns)
{
    int64_t part = (now_ns - T0) / (30 * TC_SECOND) % 4;
    return now_ns + (part == 1 ? -HOUR : part == 3 ? HOUR : 0);
}

static int64_t of_1970(int64_t now_ns)
{
    return now_ns - T0 + TC_SECOND;
}

static int64_t of_2190(int64_t now_ns)
{
    return now_ns - T0 + INT64_C(6942672000) * TC_SECOND;
}

static struct tc_event record(int rank, int64_t step, int64_t created_ns, int64_t completed_ns)
{
    static const char *const nodes[RANKS] = {"gpu-00", "gpu-01", "gpu-02", "gpu-66"};
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NCCL_RECORD);
    ev.time_ns = created_ns;
    ev.scope.node = tc_slice_cstr(nodes[rank]);
    ev.scope.job = TC_LIT("pretrain");
    ev.scope.rank = rank;
    ev.nccl.group = TC_LIT("0");
    ev.nccl.group_key = 7;
    ev.nccl.op = TC_LIT("all_reduce");
    ev.nccl.seq = step;
    ev.nccl.record_id = step;
    ev.nccl.state = completed_ns == TC_TIME_NONE ? TC_NCCL_SCHEDULED : TC_NCCL_COMPLETED;
    ev.nccl.started_ns = completed_ns == TC_TIME_NONE ? TC_TIME_NONE : created_ns;
    ev.nccl.completed_ns = completed_ns;
    return ev;
}

/* A step of all ranks a second; a pod of a good node is evicted now and then. */
static struct live_test *run(clock_fn clock, bool with_bad)
{
    struct live_test *t = test_create(NULL);
    static char pods[STEPS][32];
    for (int64_t step = 0; step < STEPS; step++) {
        int64_t now_ns = T0 + step * TC_SECOND;
        for (int part = 0; part < 2; part++) {
            /* The one with the wrong clock comes first. */
            for (int rank = RANKS - 1; rank >= 0; rank--) {
                if (rank == BAD && !with_bad) {
                    continue;
                }
                int64_t own_ns = rank == BAD ? clock(now_ns) : now_ns;
                int64_t at_ns = now_ns + part * 500 * MS;
                int64_t end_ns = rank == BAD ? clock(at_ns) : at_ns;
                struct tc_event ev = record(rank, step, own_ns, part == 0 ? TC_TIME_NONE : end_ns);
                feed_at(t, &ev, at_ns + 5 * MS);
            }
        }
        if (step % 100 == 50) {
            (void)snprintf(pods[step], sizeof pods[step], "loader-%d", (int)step);
            struct tc_event ev = evicted("gpu-01", pods[step], now_ns + 600 * MS);
            feed_at(t, &ev, now_ns + 610 * MS);
        }
        run_to(t, now_ns + 900 * MS);
    }
    run_to(t, T0 + STEPS * TC_SECOND + 20 * TC_SECOND);
    return t;
}

static void assert_as_without_it(clock_fn clock)
{
    struct live_test *without = run(right, false);
    struct live_test *with = run(clock, true);
    assert_int_equal(without->count, STEPS / 100);
    for (size_t i = 0; i < with->count; i++) {
        if (i >= without->count || strcmp(with->told[i].key, without->told[i].key) != 0) {
            print_error("told of pattern %s: %s\n", with->told[i].pattern_id, with->told[i].key);
        }
    }
    assert_int_equal(with->count, without->count);
    for (size_t i = 0; i < with->count; i++) {
        assert_memory_equal(with->told[i].id, without->told[i].id, TC_INCIDENT_ID_LEN);
        assert_true(with->told[i].at_ns - without->told[i].at_ns <= 50 * MS);
    }
    struct tc_live_counts c = counts_of(with);
    struct tc_live_counts w = counts_of(without);
    assert_true(clock == right || c.too_late + c.ahead + c.misdated > 0);
    assert_int_equal(w.too_late + w.ahead + w.misdated, 0);
    assert_true(c.engine_ns - w.engine_ns < TC_SECOND && w.engine_ns - c.engine_ns < TC_SECOND);
    test_destroy(with);
    test_destroy(without);
}

static void a_right_clock_tells_nothing_more(void **state)
{
    (void)state;
    assert_as_without_it(right);
}

static void a_clock_that_is_ahead_moves_nobody(void **state)
{
    (void)state;
    assert_as_without_it(ahead);
}

static void a_clock_that_is_behind_moves_nobody(void **state)
{
    (void)state;
    assert_as_without_it(behind);
}

static void a_clock_that_jumps_moves_nobody(void **state)
{
    (void)state;
    assert_as_without_it(jumping);
}

static void a_clock_of_1970_moves_nobody(void **state)
{
    (void)state;
    assert_as_without_it(of_1970);
}

static void a_clock_of_2190_moves_nobody(void **state)
{
    (void)state;
    assert_as_without_it(of_2190);
}

/* What has no time is dated by our clock: that its source's is fast has no part in it. */
static void an_event_without_a_time_is_not_moved_with_its_source(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    struct tc_event ev = evicted("gpu-07", "loader-1", T0 + 600 * TC_SECOND);
    feed_at(t, &ev, T0);
    assert_int_equal(counts_of(t).ahead, 1);
    ev = evicted("gpu-07", "loader-2", TC_TIME_NONE);
    assert_int_equal(tc_live_feed_undated(t->live, &ev, T0 + TC_SECOND, T0 + TC_SECOND), TC_OK);
    assert_int_equal(counts_of(t).ahead, 1);
    run_to(t, T0 + 3 * TC_SECOND);
    assert_int_equal(t->count, 2);
    assert_int_equal(t->told[1].mark.first_ns, T0 + TC_SECOND);
    assert_int_equal(counts_of(t).too_late, 0);
    test_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_clock_tells_nothing_more),
        cmocka_unit_test(a_clock_that_is_ahead_moves_nobody),
        cmocka_unit_test(an_event_without_a_time_is_not_moved_with_its_source),
        cmocka_unit_test(a_clock_that_is_behind_moves_nobody),
        cmocka_unit_test(a_clock_that_jumps_moves_nobody),
        cmocka_unit_test(a_clock_of_1970_moves_nobody),
        cmocka_unit_test(a_clock_of_2190_moves_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
