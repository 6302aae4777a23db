/* SPDX-License-Identifier: Apache-2.0 */
/* What waits comes out whole and in its order, however its rings begin anew, unfold and grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "live/reorder_priv.h"

#include <stdio.h>
#include <string.h>

#define BYTES ((size_t)16 << 20)
#define TEXT_MAX 200

static struct tc__reorder hold;

static struct {
    int64_t next;      /* the time that comes next */
    size_t near_most;  /* of the block, the farthest that was used */
    uint64_t unfolded; /* how often what lay in front moved behind the rest */
} seen;

static int set_up(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    return tc__reorder_init(&hold, BYTES) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    tc__reorder_fini(&hold);
    return 0;
}

/* The strings of event number i: how long they are, and what they say, follows from it. */
static struct tc_slice text_of(int64_t i, char *text)
{
    int len = snprintf(text, TEXT_MAX, "%lld ", (long long)i);
    size_t more = (size_t)i * 7919 % 150;
    memset(text + len, 'a' + (int)(i % 26), more);
    return tc_slice_make(text, (size_t)len + more);
}

static bool add(int64_t i, bool ahead)
{
    char text[TEXT_MAX];
    struct tc_event ev;
    tc_event_init(&ev, i % 2 == 0 ? TC_EVENT_XID : TC_EVENT_METRIC);
    ev.time_ns = i;
    ev.scope.node = text_of(i, text);
    if (ev.kind == TC_EVENT_XID) {
        ev.xid.message = ev.scope.node;
    }
    size_t before = hold.near.head;
    bool was_wrapped = hold.near.wrapped;
    bool added =
        ahead ? tc__reorder_add_ahead(&hold, &ev, false) : tc__reorder_add(&hold, &ev, i, false);
    seen.unfolded += was_wrapped && !hold.near.wrapped && hold.near.head > before;
    seen.near_most = hold.near.head > seen.near_most ? hold.near.head : seen.near_most;
    return added;
}

static tc_status take(void *context, const struct tc_event *ev, bool past)
{
    char text[TEXT_MAX];
    struct tc_slice expected = text_of(seen.next, text);
    (void)context;
    assert_false(past);
    assert_int_equal(ev->time_ns, seen.next);
    assert_true(tc_slice_eq(ev->scope.node, expected));
    assert_int_equal(ev->kind, seen.next % 2 == 0 ? TC_EVENT_XID : TC_EVENT_METRIC);
    if (ev->kind == TC_EVENT_XID) {
        assert_true(tc_slice_eq(ev->xid.message, expected));
    }
    seen.next++;
    return TC_OK;
}

/* All up to event `to` leave. */
static void release(int64_t to)
{
    assert_int_equal(tc__reorder_release(&hold, to, to, take, NULL), TC_OK);
    assert_int_equal(seen.next, to + 1);
}

static void a_ring_that_is_never_empty_uses_little_of_its_block(void **state)
{
    (void)state;
    int64_t last = 0;
    for (; last < 500; last++) {
        assert_true(add(last, false));
    }
    for (; last < 60000; last++) {
        assert_true(add(last, false));
        release(last - 500);
    }
    assert_true(seen.near_most < (size_t)1 << 20);
    assert_int_equal(hold.near.slot_mask, 1023);
    release(last - 1);
}

/* What waits goes up and down, between nothing and most of the block. */
static void bursts_come_out_whole(void **state)
{
    (void)state;
    uint64_t random = 7;
    int64_t last = 0;
    for (int turn = 0; turn < 400; turn++) {
        int64_t burst = (int64_t)tc_random_below(&random, turn % 10 == 0 ? 9000 : 900);
        for (int64_t i = 0; i < burst && add(last, false); i++) {
            last++;
        }
        int64_t waits = last - seen.next;
        if (waits > 0) {
            int64_t leave = (int64_t)tc_random_below(&random, (uint32_t)waits + 1);
            leave = waits > 25000 ? waits - 500 : leave;
            if (leave > 0) {
                release(seen.next + leave - 1);
            }
        }
    }
    assert_true(seen.unfolded > 10);
    assert_true(hold.near.slot_mask > 8191);
    release(last - 1);
    assert_int_equal(tc__reorder_count(&hold), 0);
}

static void all_of_the_block_can_be_used(void **state)
{
    (void)state;
    int64_t last = 0;
    for (; last < 4000; last++) { /* until it has begun at the front again */
        assert_true(add(last, false));
        if (last > 100) {
            release(last - 100);
        }
    }
    while (add(last, false)) {
        last++;
    }
    assert_in_range(tc__reorder_near_bytes(&hold), hold.near.size - 4096, hold.near.size);
    release(last - 1);
}

static void what_is_ahead_keeps_its_order_while_its_slots_grow(void **state)
{
    (void)state;
    int64_t last = 0;
    for (; last < 900; last++) {
        assert_true(add(last, true));
    }
    release(600); /* the slots go round before they are doubled */
    for (; last < 5000; last++) {
        assert_true(add(last, true));
    }
    assert_true(hold.ahead.slot_mask > 1023);
    release(last - 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_ring_that_is_never_empty_uses_little_of_its_block),
        TEST(bursts_come_out_whole),
        TEST(all_of_the_block_can_be_used),
        TEST(what_is_ahead_keeps_its_order_while_its_slots_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
