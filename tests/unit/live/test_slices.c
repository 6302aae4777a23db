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

/* What is put off is due at once, and there is no room until it is done. */
static void assert_behind(const struct live_test *t)
{
    assert_true(tc_live_is_behind(t->live));
    assert_int_equal(tc_live_room(t->live), 0);
    assert_true(tc_live_due(t->live) <= t->now_ns);
}

/* Calls it, for the test t, until it is done; the number of calls is added up. */
#define AGAIN(calls, expr)               \
    do {                                 \
        tc_status status = TC_OK;        \
        for (;;) {                       \
            status = (expr);             \
            (calls)++;                   \
            if (status != TC_E_AGAIN) {  \
                break;                   \
            }                            \
            assert_behind(t);            \
        }                                \
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
            AGAIN(calls, tc_live_end_of_file(t->live, now_ns, false));
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

#define STORM 100

/* Faults that are all due with the same second: one step of the engine finds them all, more than
 * there is room for. They are told one by one all the same. */
static void a_storm_within_one_step_is_told_by_turns(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.incidents_max = 64;
    struct live_test *t = test_create(&config);
    static char nodes[STORM][16];
    size_t asked = 0;
    size_t most = 0;
    tc_live_slice(t->live, is_always_spent, &asked);
    for (int i = 0; i < STORM; i++) {
        (void)snprintf(nodes[i], sizeof nodes[i], "gpu-%d", i);
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_XID);
        ev.time_ns = T0;
        ev.scope.node = tc_slice_cstr(nodes[i]);
        ev.scope.pci = (struct tc_bdf){.bus = 0x3b, .known = true};
        ev.xid.code = 48;
        size_t calls = 0;
        AGAIN(calls, tc_live_feed(t->live, &ev, T0, false));
    }
    for (t->now_ns = T0; t->now_ns < T0 + 600 * TC_SECOND; t->now_ns += TC_SECOND / 2) {
        tc_status status = TC_OK;
        do {
            size_t before = t->count;
            status = tc_live_advance(t->live, t->now_ns);
            most = t->count - before > most ? t->count - before : most;
        } while (status == TC_E_AGAIN);
        assert_int_equal(status, TC_OK);
    }
    assert_true(t->count >= STORM);
    assert_int_equal(most, 1);
    assert_true(counts_of(t).incidents <= 64 && counts_of(t).forgotten >= STORM - 64);
    test_destroy(t);
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

#define HELD 10

/* A hold of a minute in which HELD events wait, and two that are ahead of our clock. */
static struct live_test *hold_some(void)
{
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.hold_ns = 60 * TC_SECOND;
    config.ahead_ns = 3600 * TC_SECOND;
    struct live_test *t = test_create(&config);
    for (int i = 0; i < HELD + 2; i++) {
        struct tc_event ev = quiet_event("gpu-1", T0 - HELD + i + (i < HELD ? 0 : 600 * TC_SECOND));
        feed_at(t, &ev, T0);
    }
    assert_int_equal(counts_of(t).held, HELD + 2);
    return t;
}

/* The older half leaves before its time; what is ahead is not what takes the room. */
static void a_hold_that_is_cut_short_keeps_its_younger_half(void **state)
{
    (void)state;
    struct live_test *t = hold_some();
    size_t before = tc_live_room(t->live);
    size_t most = tc_live_room_max(t->live);
    assert_true(before < most);
    assert_int_equal(tc_live_cut_short(t->live), TC_OK);
    assert_int_equal(counts_of(t).held, HELD / 2 + 2);
    assert_int_equal(counts_of(t).cut_short, HELD / 2);
    assert_true(counts_of(t).engine_ns == T0 - HELD / 2 - 1);
    assert_int_equal(tc_live_room(t->live), before + (most - before) / 2);
    assert_int_equal(tc_live_room_max(t->live), most);
    assert_false(tc_live_is_behind(t->live));
    test_destroy(t);
}

static void so_it_is_when_it_is_put_off(void **state)
{
    (void)state;
    struct live_test *t = hold_some();
    size_t asked = 0;
    size_t calls = 0;
    tc_live_slice(t->live, is_always_spent, &asked);
    assert_int_equal(tc_live_cut_short(t->live), TC_E_AGAIN);
    assert_behind(t);
    AGAIN(calls, tc_live_advance(t->live, T0));
    assert_true(calls >= HELD / 2);
    assert_false(tc_live_is_behind(t->live));
    assert_int_equal(counts_of(t).held, HELD / 2 + 2);
    assert_int_equal(counts_of(t).cut_short, HELD / 2);
    test_destroy(t);
}

/* Each event, each step of a linking, each hash and each verdict is a piece of its own. */
static void no_piece_is_longer_than_one_verdict(void **state)
{
    (void)state;
    static char pods[PODS][16];
    struct live_test *t = test_create(NULL);
    size_t asked = 0;
    size_t calls = 0;
    for (int i = 0; i < PODS; i++) {
        (void)snprintf(pods[i], sizeof pods[i], "pod-%d", i);
        struct tc_event ev = evicted("gpu-1", pods[i], T0 + i);
        feed_at(t, &ev, T0);
    }
    tc_live_slice(t->live, is_always_spent, &asked);
    t->now_ns = T0 + TC_SECOND;
    AGAIN(calls, tc_live_advance(t->live, t->now_ns));
    assert_int_equal(t->count, PODS);
    /* One for the event, the hash and the verdict, and seven for the links: where it may be a cause
     * and an effect, one for each of its names, and what is made of that. */
    assert_true(calls >= (size_t)10 * PODS);
    test_destroy(t);
}

#define NODES_MANY 33000 /* more than the directory knows */

static size_t feed_many(struct live_test *t)
{
    size_t calls = 0;
    char node[16];
    for (int i = 0; i < NODES_MANY; i++) {
        (void)snprintf(node, sizeof node, "gpu-%d", i);
        struct tc_event ev = quiet_event(node, T0 + i);
        t->now_ns = T0 + i;
        AGAIN(calls, tc_live_feed(t->live, &ev, T0 + i, false));
        if (tc_live_is_behind(t->live)) { /* the event has gone, and led to something */
            assert_behind(t);
        }
    }
    return calls - NODES_MANY;
}

/* Making room in the directory is put off, too, and gone on with before the next event. */
static void room_in_the_directory_is_made_in_turns(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.hold_ns = 0;
    struct live_test *whole = test_create(&config);
    struct live_test *sliced = test_create(&config);
    size_t asked = 0;
    tc_live_slice(sliced->live, is_always_spent, &asked);
    assert_int_equal(feed_many(whole), 0);
    assert_true(feed_many(sliced) > NODES_MANY / 256);
    struct tc_directory_counts a;
    struct tc_directory_counts b;
    tc_directory_counts(tc_engine_directory(tc_live_engine(whole->live)), &a);
    tc_directory_counts(tc_engine_directory(tc_live_engine(sliced->live)), &b);
    assert_true(a.nodes_forgotten > 0 || a.gpus_forgotten > 0);
    assert_memory_equal(&a, &b, sizeof a);
    test_destroy(whole);
    test_destroy(sliced);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_off_is_told_the_same),
        cmocka_unit_test(so_it_is_when_the_hold_is_cut_short),
        cmocka_unit_test(so_it_is_at_the_end_of_a_replay),
        cmocka_unit_test(so_it_is_when_incidents_make_room),
        cmocka_unit_test(a_storm_within_one_step_is_told_by_turns),
        cmocka_unit_test(room_is_what_the_hold_has_left),
        cmocka_unit_test(a_hold_that_is_cut_short_keeps_its_younger_half),
        cmocka_unit_test(so_it_is_when_it_is_put_off),
        cmocka_unit_test(no_piece_is_longer_than_one_verdict),
        cmocka_unit_test(room_in_the_directory_is_made_in_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
