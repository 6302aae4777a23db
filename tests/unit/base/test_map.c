/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table/map.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static alignas(16) unsigned char block[4 << 20];
static struct tc_arena arena;

static int setup(void **state)
{
    (void)state;
    tc_arena_init(&arena, "map", block, sizeof block);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_arena_fini(&arena);
    return 0;
}

static bool has(const struct tc_map *m, uint64_t hash, uint64_t value)
{
    struct tc_map_iter it = tc_map_find(m, hash);
    for (uint64_t v = tc_map_next(m, &it); v != 0; v = tc_map_next(m, &it)) {
        if (v == value) {
            return true;
        }
    }
    return false;
}

static void init_holds_the_count_it_was_asked_for(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 8, 9, 11, 12, 13, 100, 1000, 4096};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        struct tc_map m;
        tc_arena_reset(&arena);
        assert_true(tc_map_init(&m, &arena, counts[c]));
        assert_int_equal((m.mask + 1) & m.mask, 0);
        for (uint64_t v = 1; v <= counts[c]; v++) {
            assert_true(tc_map_add(&m, v * 31, v, 1));
        }
        for (uint64_t v = 1; v <= counts[c]; v++) {
            assert_true(has(&m, v * 31, v));
        }
    }
}

static void init_fails_when_the_arena_is_full(void **state)
{
    (void)state;
    struct tc_map m;
    struct tc_arena small;
    static alignas(16) unsigned char little[16 * 16 * 2 + 64];
    tc_arena_init(&small, "small", little, 16 * 16 * 2 - 1);
    assert_false(tc_map_init(&m, &small, 1)); /* the spare half does not fit */
    tc_arena_fini(&small);
    tc_arena_init(&small, "small", little, sizeof little);
    assert_true(tc_map_init(&m, &small, 1));
    tc_arena_fini(&small);
}

static void every_value_of_a_hash_is_given_and_no_other(void **state)
{
    (void)state;
    struct tc_map m;
    assert_true(tc_map_init(&m, &arena, 8));
    /* 5 and 21 share their place in 16 slots; 5 is there twice. */
    assert_true(tc_map_add(&m, 5, 100, 1));
    assert_true(tc_map_add(&m, 21, 200, 1));
    assert_true(tc_map_add(&m, 5, 101, 1));
    struct tc_map_iter it = tc_map_find(&m, 5);
    assert_int_equal(tc_map_next(&m, &it), 100);
    assert_int_equal(tc_map_next(&m, &it), 101);
    assert_int_equal(tc_map_next(&m, &it), 0);
    it = tc_map_find(&m, 21);
    assert_int_equal(tc_map_next(&m, &it), 200);
    assert_int_equal(tc_map_next(&m, &it), 0);
    it = tc_map_find(&m, 6);
    assert_int_equal(tc_map_next(&m, &it), 0);
}

static void probing_goes_round_the_end(void **state)
{
    (void)state;
    struct tc_map m;
    assert_true(tc_map_init(&m, &arena, 4));
    for (uint64_t v = 1; v <= 4; v++) {
        assert_true(tc_map_add(&m, m.mask, v, 1)); /* the last slot, then the first ones */
    }
    struct tc_map_iter it = tc_map_find(&m, m.mask);
    for (uint64_t v = 1; v <= 4; v++) {
        assert_int_equal(tc_map_next(&m, &it), v);
    }
    assert_int_equal(tc_map_next(&m, &it), 0);
}

static void replace_points_the_entry_elsewhere(void **state)
{
    (void)state;
    struct tc_map m;
    assert_true(tc_map_init(&m, &arena, 8));
    assert_true(tc_map_add(&m, 5, 100, 1));
    assert_true(tc_map_add(&m, 5, 101, 1));
    struct tc_map_iter it = tc_map_find(&m, 5);
    assert_int_equal(tc_map_next(&m, &it), 100);
    tc_map_replace(&it, 102);
    assert_int_equal(tc_map_next(&m, &it), 101);
    assert_true(has(&m, 5, 102));
    assert_false(has(&m, 5, 100));
    assert_int_equal(m.used, 2);
}

static void a_search_that_ran_to_the_end_adds_where_it_stands(void **state)
{
    (void)state;
    struct tc_map a;
    struct tc_map b;
    assert_true(tc_map_init(&a, &arena, 8));
    assert_true(tc_map_init(&b, &arena, 8));
    /* Beside plain adds, through the limit and the stale entries behind it. */
    for (uint64_t v = 1; v <= 200; v++) {
        uint64_t floor = v > 6 ? v - 6 : 1;
        uint64_t hash = v * 7 % 16;
        struct tc_map_iter it = tc_map_find(&a, hash);
        while (tc_map_next(&a, &it) != 0) {
        }
        assert_true(tc_map_add_found(&a, &it, v, floor));
        assert_true(tc_map_add(&b, hash, v, floor));
        assert_int_equal(a.used, b.used);
        for (uint64_t live = floor; live <= v; live++) {
            assert_true(has(&a, live * 7 % 16, live));
        }
        assert_memory_equal(a.slots, b.slots, (a.mask + 1) * sizeof a.slots[0]);
    }
    for (uint64_t v = 201; tc_map_add(&a, v, v, 1); v++) {
    }
    struct tc_map_iter it = tc_map_find(&a, 3);
    while (tc_map_next(&a, &it) != 0) {
    }
    assert_false(tc_map_add_found(&a, &it, 1000, 1));
}

static void full_of_live_entries_nothing_is_added(void **state)
{
    (void)state;
    struct tc_map m;
    assert_true(tc_map_init(&m, &arena, 1));
    size_t limit = (m.mask + 1) / 4 * 3;
    for (uint64_t v = 1; v <= limit; v++) {
        assert_true(tc_map_add(&m, v, v, 1));
    }
    assert_false(tc_map_add(&m, 1000, 1000, 1));
    assert_int_equal(m.used, limit);
    assert_false(has(&m, 1000, 1000));
    for (uint64_t v = 1; v <= limit; v++) {
        assert_true(has(&m, v, v));
    }
    assert_true(tc_map_add(&m, 1000, 1000, 2)); /* 1 is stale now */
    assert_false(has(&m, 1, 1));
    assert_true(has(&m, 2, 2));
    assert_true(has(&m, 1000, 1000));
    assert_int_equal(m.used, limit);
}

static void stale_entries_are_seen_until_the_room_is_needed(void **state)
{
    (void)state;
    struct tc_map m;
    assert_true(tc_map_init(&m, &arena, 8));
    assert_true(tc_map_add(&m, 7, 10, 1));
    assert_true(tc_map_add(&m, 7, 20, 15));
    assert_true(has(&m, 7, 10));
    size_t limit = (m.mask + 1) / 4 * 3;
    for (uint64_t v = 30; m.used < limit; v++) {
        assert_true(tc_map_add(&m, v, v, 15));
    }
    assert_true(has(&m, 7, 10));
    assert_true(tc_map_add(&m, 7, 90, 15));
    assert_false(has(&m, 7, 10));
    assert_true(has(&m, 7, 20));
    assert_true(has(&m, 7, 90));
}

static void the_map_grows_to_its_room_and_shrinks_to_its_content(void **state)
{
    (void)state;
    struct tc_map m;
    assert_true(tc_map_init(&m, &arena, 4096));
    size_t small = m.mask;
    assert_true(small < m.mask_max);
    uint64_t added = 0;
    while (tc_map_add(&m, (added + 1) * 31, added + 1, 1)) {
        added++;
    }
    assert_true(m.mask == m.mask_max);
    assert_int_equal(added, (m.mask_max + 1) / 4 * 3);
    for (uint64_t v = 1; v <= added; v++) {
        assert_true(has(&m, v * 31, v));
    }
    assert_true(tc_map_add(&m, 31, added + 1, added - 9));
    assert_int_equal(m.mask, small);
    assert_int_equal(m.used, 11);
    for (uint64_t v = added - 9; v <= added; v++) {
        assert_true(has(&m, v * 31, v));
    }
    assert_false(has(&m, (added - 10) * 31, added - 10));
    assert_true(has(&m, 31, added + 1));
}

static void reset_forgets_everything(void **state)
{
    (void)state;
    struct tc_map m;
    assert_true(tc_map_init(&m, &arena, 8));
    assert_true(tc_map_add(&m, 7, 10, 1));
    tc_map_reset(&m);
    assert_int_equal(m.used, 0);
    assert_false(has(&m, 7, 10));
}

/* A window of the size asked for moves on by one record a time. A power of two, so that half as
 * many stale entries fit beside it. */
static void a_full_moving_window_seldom_rebuilds(void **state)
{
    (void)state;
    static const size_t windows[] = {16, 128, 1024, 4096, 8192, 16384};
    for (size_t w = 0; w < sizeof windows / sizeof windows[0]; w++) {
        struct tc_map m;
        tc_arena_reset(&arena);
        assert_true(tc_map_init(&m, &arena, windows[w]));
        uint64_t rebuilds = 0;
        uint64_t steps = 4 * windows[w];
        for (uint64_t v = 1; v <= steps; v++) {
            struct tc_map_slot *before = m.slots;
            uint64_t floor = v > windows[w] ? v - windows[w] + 1 : 1;
            assert_true(tc_map_add(&m, v * 0x9e3779b97f4a7c15ULL >> 20, v, floor));
            rebuilds += m.slots != before;
        }
        assert_true(rebuilds <= 16); /* 4 windows, each at most a few times */
        for (uint64_t v = steps - windows[w] + 1; v <= steps; v++) {
            assert_true(has(&m, v * 0x9e3779b97f4a7c15ULL >> 20, v));
        }
    }
}

/* True when the call ended its process by abort(). */
static bool aborts(void (*call)(void))
{
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)fclose(stderr);
        call();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void add_zero(void)
{
    struct tc_map m;
    if (tc_map_init(&m, &arena, 8)) {
        (void)tc_map_add(&m, 1, 0, 1);
    }
}

static void the_value_zero_aborts(void **state)
{
    (void)state;
    assert_true(aborts(add_zero));
}

/* Of both halves, as much as ever was in use; a small map that lives on keeps the memory. */
static void what_was_touched_is_counted(void **state)
{
    (void)state;
    struct tc_map m;
    assert_true(tc_map_init(&m, &arena, 20000));
    size_t least = tc_map_touched(&m);
    assert_int_equal(least, (m.mask + 1) * sizeof *m.slots);
    size_t most = m.mask;
    for (uint64_t i = 1; i <= 100000; i++) {
        uint64_t live = i < 50000 ? 2000 : 20; /* entries */
        assert_true(tc_map_add(&m, tc_hash_mix(i, 3), i, i < live ? 0 : i - live));
        most = m.mask > most ? m.mask : most;
    }
    assert_true(m.mask < most && most < m.mask_max);
    assert_in_range(tc_map_touched(&m), (most + 1) * sizeof *m.slots,
                    2 * (most + 1) * sizeof *m.slots);
    size_t touched = tc_map_touched(&m);
    tc_map_reset(&m);
    assert_int_equal(tc_map_touched(&m), touched);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(init_holds_the_count_it_was_asked_for),
        TEST(init_fails_when_the_arena_is_full),
        TEST(every_value_of_a_hash_is_given_and_no_other),
        TEST(probing_goes_round_the_end),
        TEST(replace_points_the_entry_elsewhere),
        TEST(a_search_that_ran_to_the_end_adds_where_it_stands),
        TEST(full_of_live_entries_nothing_is_added),
        TEST(stale_entries_are_seen_until_the_room_is_needed),
        TEST(the_map_grows_to_its_room_and_shrinks_to_its_content),
        TEST(reset_forgets_everything),
        TEST(what_was_touched_is_counted),
        TEST(a_full_moving_window_seldom_rebuilds),
        TEST(the_value_zero_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
