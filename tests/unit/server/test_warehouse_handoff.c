/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/warehouse/handoff.h"

#define RING 1024

static struct tc_pool *pool;
static struct tc_handoff *handoff;
static unsigned woken;

static void wake(void *context)
{
    (void)context;
    woken++;
}

static int setup(void **state)
{
    (void)state;
    pool = tc_pool_create((size_t)16 << 20, 8192);
    handoff = tc_handoff_create(5);
    woken = 0;
    return pool == NULL || handoff == NULL;
}

static int teardown(void **state)
{
    (void)state;
    tc_handoff_destroy(handoff);
    tc_handoff_destroy(NULL);
    tc_pool_destroy(pool); /* asserts that all came back */
    return 0;
}

static size_t spare(void)
{
    struct tc_pool_stats stats;
    tc_pool_stats(pool, &stats);
    return stats.spare;
}

static void put(uint64_t number)
{
    struct tc_handed item = {.number = number,
                             .body = number % 2 == 0 ? tc_pool_take(pool, 1) : NULL,
                             .tape_memory = tc_pool_take_spare(pool, 1)};
    tc_handoff_put(handoff, &item);
}

static void expect(uint64_t next, enum tc_handoff_state state, uint64_t number)
{
    struct tc_handed item;
    assert_int_equal(tc_handoff_take(handoff, next, &item), state);
    if (state == TC_HANDOFF_TAKEN) {
        assert_int_equal(item.number, number);
        tc_handoff_done(handoff, &item);
    }
}

static void batches_come_in_order_once_the_slicer_follows(void **state)
{
    (void)state;
    assert_false(tc_handoff_is_open(handoff));
    put(5); /* nobody follows yet */
    assert_int_equal(spare(), 0);
    expect(4, TC_HANDOFF_BEHIND, 0);
    assert_false(tc_handoff_is_open(handoff));
    expect(6, TC_HANDOFF_EMPTY, 0);
    assert_true(tc_handoff_is_open(handoff));
    put(6);
    put(8);
    put(9);
    expect(6, TC_HANDOFF_TAKEN, 6);
    expect(7, TC_HANDOFF_TAKEN, 8);
    /* After a failure it starts over: what it took is in the evidence only. */
    expect(7, TC_HANDOFF_BEHIND, 0);
    /* And reads what waits there too. */
    expect(10, TC_HANDOFF_EMPTY, 0);
    assert_true(spare() > 0);
    put(10); /* what was read goes back to the pool */
    expect(10, TC_HANDOFF_TAKEN, 10);
    assert_true(tc_handoff_give_back(handoff));
    assert_false(tc_handoff_give_back(handoff));
    assert_int_equal(spare(), 0);
    assert_true(tc_handoff_is_open(handoff));
}

static void a_skipped_batch_sends_the_slicer_to_the_evidence(void **state)
{
    (void)state;
    tc_handoff_open(handoff);
    put(5);
    tc_handoff_skip(handoff, 6);
    put(7);
    expect(5, TC_HANDOFF_BEHIND, 0);
    expect(6, TC_HANDOFF_BEHIND, 0);
    expect(7, TC_HANDOFF_TAKEN, 7);
}

static void memory_that_is_needed_is_given_back(void **state)
{
    (void)state;
    struct tc_handed item;
    tc_handoff_open(handoff);
    put(6);
    put(7);
    assert_int_equal(tc_handoff_take(handoff, 5, &item), TC_HANDOFF_TAKEN);
    assert_true(tc_handoff_give_back(handoff)); /* not the one that is being read */
    assert_false(tc_handoff_give_back(handoff));
    assert_true(spare() > 0);
    assert_false(tc_handoff_is_open(handoff));
    tc_handoff_done(handoff, &item);
    expect(7, TC_HANDOFF_BEHIND, 0);
    put(8); /* closed: not kept, and what was read is given back */
    assert_int_equal(spare(), 0);
    expect(8, TC_HANDOFF_BEHIND, 0);
    expect(9, TC_HANDOFF_EMPTY, 0);
}

static void a_full_ring_closes(void **state)
{
    (void)state;
    tc_handoff_open(handoff);
    for (uint64_t i = 0; i < RING; i++) {
        put(5 + 2 * i);
    }
    assert_true(tc_handoff_is_open(handoff));
    put(5 + 2 * RING);
    assert_false(tc_handoff_is_open(handoff));
    assert_int_equal(spare(), 0);
    expect(5, TC_HANDOFF_BEHIND, 0);
    expect(6 + 2 * RING, TC_HANDOFF_EMPTY, 0);
}

static void the_slicer_is_woken_when_much_waits(void **state)
{
    (void)state;
    tc_handoff_on_wake(handoff, 8192, wake, NULL);
    tc_handoff_open(handoff);
    put(5);
    assert_int_equal(woken, 0);
    put(7);
    assert_int_equal(woken, 1);
    expect(5, TC_HANDOFF_TAKEN, 5);
    expect(7, TC_HANDOFF_TAKEN, 7);
    put(9);
    assert_int_equal(woken, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(batches_come_in_order_once_the_slicer_follows),
        TEST(a_skipped_batch_sends_the_slicer_to_the_evidence),
        TEST(memory_that_is_needed_is_given_back),
        TEST(a_full_ring_closes),
        TEST(the_slicer_is_woken_when_much_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
