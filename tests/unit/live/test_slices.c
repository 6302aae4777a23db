/* SPDX-License-Identifier: Apache-2.0 */
/* Work that is put off and gone on with: what is told, and in which order, is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "live_testing.h"

#define PODS 400
#define NODES 7

static bool is_always_spent(void *context)
{
    size_t *asked = context;
    (*asked)++;
    return true;
}

/* Calls it until it is done; the number of calls is added up. */
#define AGAIN(calls, expr)               \
    do {                                 \
        tc_status status = TC_OK;        \
        do {                             \
            status = (expr);             \
            (calls)++;                   \
        } while (status == TC_E_AGAIN);  \
        assert_int_equal(status, TC_OK); \
    } while (0)

/* Evictions and their causes, disordered; a hold that is too small; a replay at the beginning. */
static size_t play(struct live_test *t, bool replay)
{
    static char pods[PODS][16];
    static char nodes[NODES][16];
    size_t calls = 0;
    AGAIN(calls, tc_live_replaying(t->live, replay));
    for (int i = 0; i < PODS; i++) {
        int64_t now_ns = T0 + i * 3 * MS;
        (void)snprintf(pods[i], sizeof pods[i], "pod-%d", i);
        (void)snprintf(nodes[i % NODES], sizeof nodes[0], "gpu-%d", i % NODES);
        struct tc_event ev = evicted(nodes[i % NODES], pods[i], now_ns - (i * 37 % 50) * MS);
        struct tc_event low = pressure(nodes[i % NODES], i % 3 == 0 ? "True" : "False", now_ns);
        t->now_ns = now_ns;
        AGAIN(calls, tc_live_feed(t->live, &ev, now_ns, i % 5 == 0));
        AGAIN(calls, tc_live_feed(t->live, &low, now_ns, false));
        if (i % 11 == 0) {
            AGAIN(calls, tc_live_advance(t->live, now_ns));
        }
        if (i % 90 == 0) {
            AGAIN(calls, tc_live_end_of_file(t->live, now_ns));
        }
        if (i == PODS / 2) {
            AGAIN(calls, tc_live_replaying(t->live, false));
        }
    }
    for (int64_t now_ns = t->now_ns; now_ns < T0 + 20 * TC_SECOND; now_ns += TC_SECOND / 2) {
        t->now_ns = now_ns;
        AGAIN(calls, tc_live_advance(t->live, now_ns));
    }
    return calls;
}

static void assert_same(struct tc_live_config config, bool replay)
{
    struct live_test *whole = test_create(&config);
    struct live_test *sliced = test_create(&config);
    size_t asked = 0;
    tc_live_slice(sliced->live, is_always_spent, &asked);
    size_t whole_calls = play(whole, replay);
    size_t sliced_calls = play(sliced, replay);
    assert_true(asked > 2 * PODS);
    assert_true(sliced_calls > whole_calls + 2 * PODS); /* an event or a verdict for each call */
    assert_true(whole->count > 50);
    assert_int_equal(sliced->count, whole->count);
    for (size_t i = 0; i < whole->count; i++) {
        assert_memory_equal(sliced->told[i].id, whole->told[i].id, TC_INCIDENT_ID_LEN);
        assert_int_equal(sliced->told[i].status, whole->told[i].status);
        assert_int_equal(sliced->told[i].cause_count, whole->told[i].cause_count);
        assert_int_equal(sliced->told[i].at_ns, whole->told[i].at_ns);
        assert_int_equal(sliced->told[i].mark.content, whole->told[i].mark.content);
        assert_int_equal(sliced->told[i].mark.told, whole->told[i].mark.told);
    }
    struct tc_live_counts a = counts_of(whole);
    struct tc_live_counts b = counts_of(sliced);
    assert_memory_equal(&a, &b, sizeof a);
    test_destroy(whole);
    test_destroy(sliced);
}

static void what_is_put_off_is_told_the_same(void **state)
{
    (void)state;
    assert_same(TC_LIVE_CONFIG_DEFAULT, false);
}

static void so_it_is_when_the_hold_is_cut_short(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.hold_ns = TC_SECOND;
    config.hold_bytes = 32 << 10;
    assert_same(config, false);
}

static void so_it_is_at_the_end_of_a_replay(void **state)
{
    (void)state;
    assert_same(TC_LIVE_CONFIG_DEFAULT, true);
}

static void so_it_is_when_incidents_make_room(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.incidents_max = 64;
    assert_same(config, false);
    assert_same(config, true);
}

static void room_is_what_the_hold_has_left(void **state)
{
    (void)state;
    struct live_test *t = test_create(NULL);
    size_t before = tc_live_room(t->live);
    struct tc_event ev = evicted("gpu-1", "pod-1", T0);
    feed_at(t, &ev, T0);
    assert_true(tc_live_room(t->live) < before);
    size_t asked = 0;
    struct tc_event other = evicted("gpu-1", "pod-2", T0);
    feed_at(t, &other, T0);
    tc_live_slice(t->live, is_always_spent, &asked);
    assert_int_equal(tc_live_advance(t->live, T0 + TC_SECOND), TC_E_AGAIN);
    assert_int_equal(tc_live_room(t->live), 0);
    assert_true(tc_live_due(t->live) <= T0 + TC_SECOND);
    test_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_off_is_told_the_same),
        cmocka_unit_test(so_it_is_when_the_hold_is_cut_short),
        cmocka_unit_test(so_it_is_at_the_end_of_a_replay),
        cmocka_unit_test(so_it_is_when_incidents_make_room),
        cmocka_unit_test(room_is_what_the_hold_has_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
