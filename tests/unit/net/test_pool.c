/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/pool.h"

#include <string.h>

#define HEADER 64 /* bytes that a buffer costs besides its own */

static struct tc_pool_stats stats_of(const struct tc_pool *p)
{
    struct tc_pool_stats s;
    tc_pool_stats(p, &s);
    return s;
}

static void a_buffer_holds_what_was_asked_for(void **state)
{
    (void)state;
    static const struct {
        size_t asked;
        size_t cap;
    } cases[] = {{0, 4096},         {1, 4096},        {4096, 4096},     {4097, 8192},
                 {65536, 65536},    {65537, 81920},   {131072, 131072}, {500000, 524288},
                 {524289, 655360},  {655361, 786432}, {786433, 917504}, {917505, 1000000},
                 {1000000, 1000000}};
    struct tc_pool *p = tc_pool_create(64 << 20, 1000000);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_buffer *b = tc_pool_take(p, cases[i].asked);
        assert_non_null(b);
        assert_int_equal(b->cap, cases[i].cap);
        assert_int_equal(b->len, 0);
        assert_int_equal((uintptr_t)b->data % 64, 0);
        memset(b->data, 0xa5, b->cap);
        tc_buffer_give(b);
    }
    assert_null(tc_pool_take(p, 1000001));
    assert_int_equal(stats_of(p).refused, 1);
    assert_int_equal(stats_of(p).used, 0);
    tc_pool_destroy(p);
}

static void a_buffer_given_back_is_the_next_one(void **state)
{
    (void)state;
    struct tc_pool *p = tc_pool_create(1 << 20, 1 << 18);
    struct tc_buffer *a = tc_pool_take(p, 5000);
    struct tc_buffer *b = tc_pool_take(p, 5000);
    tc_buffer_give(a);
    tc_buffer_give(b);
    size_t held = stats_of(p).held;
    assert_ptr_equal(tc_pool_take(p, 8192), b);
    assert_ptr_equal(tc_pool_take(p, 4097), a);
    assert_int_equal(stats_of(p).held, held);
    assert_int_equal(stats_of(p).used, 2 * (8192 + HEADER));
    tc_buffer_give(a);
    tc_buffer_give(b);
    tc_buffer_give(NULL);
    tc_pool_destroy(p);
}

static void the_budget_is_the_end(void **state)
{
    (void)state;
    struct tc_pool *p = tc_pool_create(3 * (4096 + HEADER), 1 << 16);
    struct tc_buffer *all[3];
    for (size_t i = 0; i < 3; i++) {
        all[i] = tc_pool_take(p, 1);
        assert_non_null(all[i]);
    }
    assert_null(tc_pool_take(p, 1));
    assert_int_equal(stats_of(p).used, stats_of(p).limit);
    assert_int_equal(stats_of(p).refused, 1);
    tc_buffer_give(all[0]);
    all[0] = tc_pool_take(p, 1);
    assert_non_null(all[0]);
    for (size_t i = 0; i < 3; i++) {
        tc_buffer_give(all[i]);
    }
    tc_pool_destroy(p);
}

static void buffers_that_wait_make_room_for_other_sizes(void **state)
{
    (void)state;
    struct tc_pool *p = tc_pool_create(64 << 10, 48 << 10);
    struct tc_buffer *small[15];
    for (size_t i = 0; i < 15; i++) {
        small[i] = tc_pool_take(p, 4096);
        assert_non_null(small[i]);
    }
    assert_null(tc_pool_take(p, 32 << 10));
    for (size_t i = 0; i < 15; i++) {
        tc_buffer_give(small[i]);
    }
    struct tc_buffer *large = tc_pool_take(p, 48 << 10);
    assert_non_null(large);
    assert_true(stats_of(p).held <= stats_of(p).limit);
    assert_null(tc_pool_take(p, 16 << 10));
    tc_buffer_give(large);
    small[0] = tc_pool_take(p, 4096);
    assert_non_null(small[0]);
    tc_buffer_give(small[0]);
    assert_true(stats_of(p).held <= stats_of(p).limit);
    tc_pool_destroy(p);
}

static void no_more_is_given_up_than_needed(void **state)
{
    (void)state;
    struct tc_pool *p = tc_pool_create(64 << 10, 64 << 10);
    struct tc_buffer *small[15];
    for (size_t i = 0; i < 15; i++) {
        small[i] = tc_pool_take(p, 4096);
    }
    for (size_t i = 1; i < 15; i++) {
        tc_buffer_give(small[i]);
    }
    size_t held = stats_of(p).held;
    /* What cannot be had in any case costs nothing. */
    assert_null(tc_pool_take(p, 64 << 10));
    assert_int_equal(stats_of(p).held, held);
    struct tc_buffer *larger = tc_pool_take(p, 8192);
    assert_non_null(larger);
    assert_int_equal(stats_of(p).held, held - 2 * (4096 + HEADER) + 8192 + HEADER);
    tc_buffer_give(larger);
    tc_buffer_give(small[0]);
    tc_pool_destroy(p);
}

static void growing_keeps_the_content(void **state)
{
    (void)state;
    struct tc_pool *p = tc_pool_create(1 << 20, 1 << 18);
    struct tc_buffer *b = tc_pool_take(p, 4096);
    for (size_t i = 0; i < 4096; i++) {
        b->data[i] = (unsigned char)(i * 31);
    }
    b->len = 4096;
    assert_ptr_equal(tc_buffer_grow(b, 4096), b);
    b = tc_buffer_grow(b, 200000);
    assert_non_null(b);
    assert_true(b->cap >= 200000);
    assert_int_equal(b->len, 4096);
    for (size_t i = 0; i < 4096; i++) {
        assert_int_equal(b->data[i], (unsigned char)(i * 31));
    }
    /* No room: as it was. */
    assert_null(tc_buffer_grow(b, (1 << 18) + 1));
    assert_int_equal(b->len, 4096);
    tc_buffer_give(b);
    assert_int_equal(stats_of(p).used, 0);
    tc_pool_destroy(p);
}

static struct tc_buffer *spare[4];
static size_t spare_count;

static bool give_back(void *context)
{
    (void)context;
    if (spare_count == 0) {
        return false;
    }
    tc_buffer_give(spare[--spare_count]);
    return true;
}

static void spare_buffers_never_take_room_from_others(void **state)
{
    (void)state;
    struct tc_pool *p = tc_pool_create(4 * (4096 + HEADER), 8192);
    tc_pool_set_spare(p, give_back, NULL);
    struct tc_buffer *own = tc_pool_take(p, 1);
    for (spare_count = 0; spare_count < 3; spare_count++) {
        spare[spare_count] = tc_pool_take_spare(p, 1);
        assert_non_null(spare[spare_count]);
    }
    /* One more takes nothing from anybody, and is no refusal. */
    assert_null(tc_pool_take_spare(p, 1));
    assert_int_equal(spare_count, 3);
    assert_int_equal(stats_of(p).refused, 0);
    /* Whoever looks how much is in use does not see them. */
    assert_int_equal(stats_of(p).used, 4096 + HEADER);
    assert_int_equal(stats_of(p).spare, 3 * (4096 + HEADER));
    /* A request gets as many of them as it needs, and no more. */
    struct tc_buffer *large = tc_pool_take(p, 8192);
    assert_non_null(large);
    assert_int_equal(spare_count, 1);
    tc_buffer_give(large);
    spare[spare_count++] = tc_pool_take_spare(p, 1);
    /* What no pool has room for costs nobody anything. */
    assert_null(tc_pool_take(p, 8193));
    assert_int_equal(spare_count, 2);
    struct tc_buffer *more[2] = {tc_pool_take(p, 1), tc_pool_take(p, 1)};
    assert_non_null(more[1]);
    assert_int_equal(spare_count, 1);
    assert_int_equal(stats_of(p).refused, 1);
    /* And what they have no room for together is a refusal. */
    assert_null(tc_pool_take(p, 8192));
    assert_int_equal(spare_count, 0);
    assert_int_equal(stats_of(p).refused, 2);
    tc_buffer_make_spare(own);
    tc_buffer_make_spare(own);
    assert_int_equal(stats_of(p).spare, 4096 + HEADER);
    assert_int_equal(stats_of(p).used, 2 * (4096 + HEADER));
    tc_buffer_give(own);
    tc_buffer_give(more[0]);
    tc_buffer_give(more[1]);
    assert_int_equal(stats_of(p).spare, 0);
    assert_int_equal(stats_of(p).used, 0);
    tc_pool_destroy(p);
}

static void a_pool_of_nothing_gives_nothing(void **state)
{
    (void)state;
    struct tc_pool *p = tc_pool_create(0, 0);
    assert_non_null(p);
    assert_null(tc_pool_take(p, 0));
    tc_pool_destroy(p);
    tc_pool_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_holds_what_was_asked_for),
        cmocka_unit_test(a_buffer_given_back_is_the_next_one),
        cmocka_unit_test(the_budget_is_the_end),
        cmocka_unit_test(buffers_that_wait_make_room_for_other_sizes),
        cmocka_unit_test(no_more_is_given_up_than_needed),
        cmocka_unit_test(growing_keeps_the_content),
        cmocka_unit_test(spare_buffers_never_take_room_from_others),
        cmocka_unit_test(a_pool_of_nothing_gives_nothing),
    };
    return cmocka_run_group_tests_name("server_pool", tests, NULL, NULL);
}
