/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of time that late events tell of: joined, bounded, taken when it is time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "live/stretches.h"

#include <stdlib.h>

#define NEAR 100

static void add(struct tc_stretches *s, int64_t from, int64_t to, int64_t arrived)
{
    tc_stretches_add(s, &(struct tc_stretch){from, to, arrived, arrived, 1, false});
}

static void those_near_each_other_are_one(void **state)
{
    (void)state;
    struct tc_stretches s = {.near_ns = NEAR};
    add(&s, 1000, 1000, 1);
    add(&s, 1000 + NEAR, 1100 + NEAR, 2);
    assert_int_equal(s.count, 1);
    add(&s, 1200 + NEAR + 1, 1300 + NEAR, 3);
    assert_int_equal(s.count, 2);
    add(&s, 1200, 1250, 4); /* closes the gap */
    assert_int_equal(s.count, 1);
    assert_int_equal(s.items[0].from_ns, 1000);
    assert_int_equal(s.items[0].to_ns, 1300 + NEAR);
    assert_int_equal(s.items[0].arrived_from_ns, 1);
    assert_int_equal(s.items[0].arrived_to_ns, 4);
    assert_int_equal(s.items[0].events, 4);
}

static void too_many_become_fewer_and_nothing_is_forgotten(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 200; seed++) {
        struct tc_stretches s = {.near_ns = NEAR};
        int64_t times[64];
        unsigned chance = seed;
        for (size_t i = 0; i < 64; i++) {
            chance = chance * 1103515245 + 12345;
            times[i] = (int64_t)(chance >> 8) % 100000;
            add(&s, times[i], times[i], (int64_t)i);
        }
        assert_true(s.count <= TC_STRETCHES_MAX);
        uint64_t events = 0;
        for (size_t i = 0; i < s.count; i++) {
            events += s.items[i].events;
            assert_true(s.items[i].from_ns <= s.items[i].to_ns);
            assert_true(i == 0 || s.items[i - 1].to_ns + NEAR < s.items[i].from_ns);
        }
        assert_int_equal(events, 64);
        for (size_t i = 0; i < 64; i++) {
            bool covered = false;
            for (size_t k = 0; k < s.count; k++) {
                covered =
                    covered || (times[i] >= s.items[k].from_ns && times[i] <= s.items[k].to_ns);
            }
            assert_true(covered);
        }
    }
}

static const struct tc_stretch_wait WAIT = {.quiet_ns = 10, .longest_ns = 100, .silence_ns = 1000};

static void one_is_taken_when_it_is_quiet_or_has_waited_long(void **state)
{
    (void)state;
    struct tc_stretches s = {.near_ns = NEAR};
    struct tc_stretch out;
    add(&s, 1000, 1000, 50);
    assert_false(tc_stretches_take(&s, 59, &WAIT, &out));
    assert_true(tc_stretches_take(&s, 60, &WAIT, &out));
    assert_int_equal(out.from_ns, 1000);
    assert_int_equal(s.count, 0);
    for (int64_t now = 0; now < 100; now += 5) { /* never quiet */
        add(&s, 1000, 1000, now);
        assert_false(tc_stretches_take(&s, now, &WAIT, &out));
    }
    add(&s, 1000, 1000, 100);
    assert_true(tc_stretches_take(&s, 100, &WAIT, &out));
    assert_false(tc_stretches_take(&s, 1000, &WAIT, &out));
}

/* Whoever marks an early time again and again keeps nobody else waiting. */
static void the_one_that_has_waited_longest_is_taken(void **state)
{
    (void)state;
    struct tc_stretches s = {.near_ns = NEAR};
    struct tc_stretch out;
    add(&s, 1000, 1000, 50);
    add(&s, 5000, 5000, 40);
    assert_true(tc_stretches_take(&s, 200, &WAIT, &out));
    assert_int_equal(out.from_ns, 5000);
}

static void one_that_was_looked_at_waits_until_nothing_more_comes(void **state)
{
    (void)state;
    struct tc_stretches s = {.near_ns = NEAR};
    struct tc_stretch out;
    tc_stretches_add(&s, &(struct tc_stretch){1000, 1000, 50, 60, 1, true});
    assert_false(tc_stretches_take(&s, 1059, &WAIT, &out));
    assert_true(tc_stretches_take(&s, 1060, &WAIT, &out));
    assert_true(out.looked);
    tc_stretches_add(&s, &out);
    add(&s, 1000, 1000, 1070); /* more of it: it is to be looked at anew */
    assert_true(tc_stretches_take(&s, 1080, &WAIT, &out));
    assert_false(out.looked);
    assert_int_equal(out.arrived_from_ns, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_near_each_other_are_one),
        cmocka_unit_test(too_many_become_fewer_and_nothing_is_forgotten),
        cmocka_unit_test(one_is_taken_when_it_is_quiet_or_has_waited_long),
        cmocka_unit_test(the_one_that_has_waited_longest_is_taken),
        cmocka_unit_test(one_that_was_looked_at_waits_until_nothing_more_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
