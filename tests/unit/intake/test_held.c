/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/copy.h"
#include "intake/held.h"

#include <string.h>

/* More than a few of the largest chunks. */
#define MANY 4000

static struct tc_held held;

static int tear_down(void **state)
{
    (void)state;
    tc_held_fini(&held);
    return 0;
}

/* Kinds of two sizes take turns. */
static struct tc_event make(size_t i)
{
    struct tc_event ev;
    tc_event_init(&ev, i % 3 == 0 ? TC_EVENT_NCCL_RECORD : TC_EVENT_METRIC);
    ev.time_ns = (int64_t)i;
    if (ev.kind == TC_EVENT_METRIC) {
        ev.metric.value = (double)i;
    } else {
        ev.nccl.seq = (int64_t)i;
    }
    return ev;
}

static void add(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        struct tc_event ev = make(i);
        struct tc_event *own = NULL;
        size_t before = tc_held_bytes(&held);
        size_t growth = tc_held_growth(&held);
        assert_int_equal(tc_held_add(&held, &ev, &own), TC_OK);
        assert_ptr_equal(own, tc_held_event(&held, i));
        assert_int_equal(tc_held_bytes(&held) - before, growth);
    }
}

static void assert_holds(size_t count)
{
    assert_int_equal(held.count, count);
    for (size_t i = 0; i < count; i++) {
        struct tc_event expected = make(i);
        struct tc_event whole = *tc_held_event(&held, i); /* all of it may be read */
        assert_memory_equal(&whole, &expected, tc_event_kind_bytes(expected.kind));
    }
}

static void events_stay_where_they_are_and_take_what_their_kind_has(void **state)
{
    (void)state;
    add(0, 1);
    const struct tc_event *first = tc_held_event(&held, 0);
    add(1, MANY);
    assert_ptr_equal(tc_held_event(&held, 0), first);
    assert_holds(MANY);
    size_t each =
        (tc_event_kind_bytes(TC_EVENT_NCCL_RECORD) + 2 * tc_event_kind_bytes(TC_EVENT_METRIC)) / 3;
    assert_true(each < sizeof(struct tc_event));
    assert_true(tc_held_bytes(&held) < MANY * (each + 2 * sizeof(void *)) + ((size_t)128 << 10));
}

static void what_is_cut_off_is_gone_at_any_place(void **state)
{
    (void)state;
    add(0, MANY);
    for (size_t left = MANY; left > 0; left -= left < 7 ? left : 7) {
        tc_held_cut(&held, left);
        assert_int_equal(held.count, left);
        size_t bytes = tc_held_bytes(&held);
        tc_held_cut(&held, left); /* nothing more to forget */
        assert_int_equal(tc_held_bytes(&held), bytes);
        add(left, left + 1); /* in the place of what went */
        tc_held_cut(&held, left);
    }
    tc_held_cut(&held, 0);
    add(0, MANY);
    assert_holds(MANY);
}

static void cutting_to_the_first_of_a_chunk_leaves_the_one_before_whole(void **state)
{
    (void)state;
    add(0, MANY);
    for (size_t i = 1; i < MANY; i++) {
        const char *before = held.order[i - 1];
        const char *at = held.order[i];
        size_t bytes = tc_event_kind_bytes(tc_held_event(&held, i - 1)->kind);
        if (at == before + bytes) {
            continue;
        }
        tc_held_cut(&held, i);
        assert_holds(i);
        add(i, MANY);
        assert_holds(MANY);
    }
}

static void trimming_gives_back_what_no_event_will_take(void **state)
{
    (void)state;
    tc_held_trim(&held);
    assert_int_equal(tc_held_bytes(&held), 0);
    add(0, MANY);
    size_t before = tc_held_bytes(&held);
    assert_true(held.cap > held.count);
    tc_held_trim(&held);
    assert_int_equal(held.cap, MANY);
    assert_true(tc_held_bytes(&held) < before);
    assert_holds(MANY);
    add(MANY, MANY + 2);
    assert_holds(MANY + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(events_stay_where_they_are_and_take_what_their_kind_has,
                                  tear_down),
        cmocka_unit_test_teardown(what_is_cut_off_is_gone_at_any_place, tear_down),
        cmocka_unit_test_teardown(cutting_to_the_first_of_a_chunk_leaves_the_one_before_whole,
                                  tear_down),
        cmocka_unit_test_teardown(trimming_gives_back_what_no_event_will_take, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
