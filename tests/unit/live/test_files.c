/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are given whole, one after the other: what dumps tell is judged once they are there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/live/live_testing.h"

#define RANKS 4
#define HOLD_NS (10 * TC_SECOND)

/* The dump of a rank of a job: rank 1 has not begun what the others wait in. */
static void feed_dated(struct live_test *t, const char *job, int32_t rank, int64_t now_ns,
                       int64_t time_ns, bool found)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NCCL_RECORD);
    ev.time_ns = time_ns;
    ev.scope.job = tc_slice_cstr(job);
    ev.scope.rank = rank;
    ev.nccl.group = TC_LIT("0");
    ev.nccl.group_key = tc_nccl_group_key(ev.scope.job, ev.nccl.group, TC_EMPTY);
    ev.nccl.op = TC_LIT("all_reduce");
    ev.nccl.seq = 7;
    ev.nccl.state = rank == 1 ? TC_NCCL_SCHEDULED : TC_NCCL_STARTED;
    ev.nccl.from_dump = true;
    t->now_ns = now_ns;
    assert_int_equal(tc_live_feed(t->live, &ev, now_ns, true), TC_OK);
    assert_int_equal(tc_live_end_of_file(t->live, now_ns, found), TC_OK);
}

static void feed_file(struct live_test *t, const char *job, int32_t rank, int64_t now_ns,
                      bool found)
{
    /* What is dated long before goes sooner, with what is due. */
    feed_dated(t, job, rank, now_ns, now_ns - MS, found);
}

static void feed_dump(struct live_test *t, const char *job, int32_t rank, int64_t now_ns)
{
    feed_file(t, job, rank, now_ns, false);
}

/* Others send all the while, up to then. */
static void go_on_to(struct live_test *t, int64_t now_ns)
{
    while (t->now_ns + TC_SECOND / 2 <= now_ns) {
        struct tc_event ev = quiet_event("gpu-07", t->now_ns);
        feed_at(t, &ev, t->now_ns);
        run_to(t, t->now_ns + TC_SECOND / 2);
    }
    run_to(t, now_ns);
}

static struct live_test *start(void)
{
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    config.hold_ns = HOLD_NS;
    struct live_test *t = test_create(&config);
    go_on_to(t, T0 + 5 * TC_SECOND);
    return t;
}

static size_t incidents(const struct live_test *t)
{
    return counts_of(t).incidents;
}

/* Dumps that end one second apart are one hang: nothing is told of the first alone. */
static void dumps_are_judged_when_no_more_come(void **state)
{
    (void)state;
    struct live_test *t = start();
    int64_t begin_ns = t->now_ns;
    for (int32_t rank = 0; rank < RANKS; rank++) {
        go_on_to(t, begin_ns + rank * TC_SECOND / 2);
        feed_dump(t, "job-a", rank, t->now_ns);
    }
    int64_t last_ns = t->now_ns;
    go_on_to(t, last_ns + HOLD_NS + TC_SECOND - MS);
    assert_int_equal(incidents(t), 0);
    go_on_to(t, last_ns + HOLD_NS + TC_SECOND);
    assert_int_equal(incidents(t), 1);
    test_destroy(t);
}

/* The dumps of one job are waited for five seconds. Those of another that come meanwhile, and are
 * held longer than that, are judged as well. */
static void dumps_that_are_held_while_others_are_judged_are_judged_too(void **state)
{
    (void)state;
    for (int64_t apart_ns = TC_SECOND; apart_ns < 20 * TC_SECOND; apart_ns += TC_SECOND / 2) {
        struct live_test *t = start();
        int64_t begin_ns = t->now_ns;
        for (int32_t rank = 0; rank < RANKS; rank++) {
            feed_dump(t, "job-a", rank, begin_ns);
        }
        go_on_to(t, begin_ns + apart_ns);
        for (int32_t rank = 0; rank < RANKS; rank++) {
            feed_dump(t, "job-b", rank, begin_ns + apart_ns);
        }
        go_on_to(t, begin_ns + apart_ns + HOLD_NS + TC_SECOND);
        assert_int_equal(incidents(t), 2);
        test_destroy(t);
    }
}

/* Ranks that are slow to write: the verdict knows the last of them, and it comes soon. */
static void dumps_that_never_pause_are_judged_every_few_seconds(void **state)
{
    (void)state;
    struct live_test *t = start();
    int64_t begin_ns = t->now_ns;
    uint64_t content = 0;
    size_t changes = 0;
    for (int32_t rank = 0; rank < 80; rank++) {
        go_on_to(t, begin_ns + rank * TC_SECOND / 2);
        feed_dump(t, "job-a", rank, t->now_ns);
        if (t->count > 0 && t->told[t->count - 1].mark.content != content) {
            content = t->told[t->count - 1].mark.content;
            changes++;
        }
    }
    /* 40 s, of which the first 15 say nothing, and five at most from one to the next. */
    assert_in_range(changes, 5, 6);
    go_on_to(t, t->now_ns + HOLD_NS + TC_SECOND);
    assert_int_equal(incidents(t), 1);
    assert_int_not_equal(t->told[t->count - 1].mark.content, content);
    test_destroy(t);
}

/* Agents of other nodes find theirs up to four seconds later, and forward them later still. */
static void dumps_that_daemons_found_are_waited_for_longer(void **state)
{
    (void)state;
    struct live_test *t = start();
    int64_t begin_ns = t->now_ns;
    for (int32_t rank = 0; rank < RANKS; rank++) {
        go_on_to(t, begin_ns + rank * 4 * TC_SECOND);
        feed_file(t, "job-a", rank, t->now_ns, rank != 1); /* somebody sends one meanwhile */
    }
    int64_t last_ns = t->now_ns;
    go_on_to(t, last_ns + HOLD_NS + 6 * TC_SECOND - MS);
    assert_int_equal(incidents(t), 0);
    go_on_to(t, last_ns + HOLD_NS + 6 * TC_SECOND);
    assert_int_equal(incidents(t), 1);
    /* What is sent after that is judged as soon as ever. */
    int64_t sent_ns = t->now_ns;
    for (int32_t rank = 0; rank < RANKS; rank++) {
        feed_dump(t, "job-b", rank, sent_ns);
    }
    go_on_to(t, sent_ns + HOLD_NS + TC_SECOND);
    assert_int_equal(incidents(t), 2);
    test_destroy(t);
}

/* They are not waited for without end. */
static void dumps_that_daemons_find_on_and_on_are_judged_every_twenty_seconds(void **state)
{
    (void)state;
    struct live_test *t = start();
    int64_t begin_ns = t->now_ns;
    for (int32_t rank = 0; rank < 8; rank++) {
        go_on_to(t, begin_ns + rank * 4 * TC_SECOND);
        feed_file(t, "job-a", rank, t->now_ns, true);
        assert_int_equal(incidents(t), t->now_ns >= begin_ns + HOLD_NS + 20 * TC_SECOND);
    }
    go_on_to(t, begin_ns + HOLD_NS + 20 * TC_SECOND);
    assert_int_equal(incidents(t), 1);
    test_destroy(t);
}

/* Files of long ago are the first that comes, and then somebody tells of now: what the files say is
 * not too old by that. */
static void dumps_of_long_ago_are_judged_before_time_moves_on(void **state)
{
    (void)state;
    struct tc_live_config config = TC_LIVE_CONFIG_DEFAULT;
    struct live_test *t = test_create(&config);
    t->now_ns = T0;
    for (int32_t rank = 0; rank < RANKS; rank++) {
        feed_dated(t, "job-a", rank, T0 + rank * MS, T0 - 90 * 86400 * TC_SECOND, rank == 2);
    }
    run_to(t, T0 + 20 * MS);
    struct tc_event ev = quiet_event("gpu-07", T0 + 20 * MS);
    feed_at(t, &ev, T0 + 20 * MS);
    for (int32_t rank = 0; rank < RANKS; rank++) {
        feed_dump(t, "job-b", rank, T0 + 20 * MS);
    }
    go_on_to(t, T0 + 60 * TC_SECOND);
    assert_int_equal(incidents(t), 2);
    test_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dumps_are_judged_when_no_more_come),
        cmocka_unit_test(dumps_that_are_held_while_others_are_judged_are_judged_too),
        cmocka_unit_test(dumps_that_never_pause_are_judged_every_few_seconds),
        cmocka_unit_test(dumps_of_long_ago_are_judged_before_time_moves_on),
        cmocka_unit_test(dumps_that_daemons_found_are_waited_for_longer),
        cmocka_unit_test(dumps_that_daemons_find_on_and_on_are_judged_every_twenty_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
