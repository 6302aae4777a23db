/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define TC_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TC_TEST_ASAN 1
#endif
#endif

#ifdef TC_TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

static alignas(64) unsigned char block[4096];
static struct tc_arena arena;

static int setup(void **state)
{
    (void)state;
    tc_arena_init(&arena, "test", block, sizeof block);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_arena_fini(&arena);
    return 0;
}

static void memory_is_zeroed_even_when_used_before(void **state)
{
    (void)state;
    unsigned char *p = tc_new(&arena, unsigned char, 100);
    assert_non_null(p);
    memset(p, 0xff, 100);
    tc_arena_reset(&arena);
    p = tc_new(&arena, unsigned char, 100);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(p[i], 0);
    }
}

static void memory_is_zeroed_whatever_the_block_held(void **state)
{
    (void)state;
    static unsigned char used[512];
    struct tc_arena a;
    memset(used, 0xff, sizeof used);
    tc_arena_init(&a, "used", used, sizeof used);
    for (int i = 0; i < 20; i++) {
        unsigned char *p = tc_new(&a, unsigned char, 10);
        assert_non_null(p);
        for (size_t j = 0; j < 10; j++) {
            assert_int_equal(p[j], 0);
        }
    }
    tc_arena_fini(&a);
}

static void a_zeroed_block_is_cleared_again_only_where_it_was_used(void **state)
{
    (void)state;
    static unsigned char zero[512];
    struct tc_arena a;
    tc_arena_init_zeroed(&a, "zeroed", zero, sizeof zero);
    for (int round = 0; round < 3; round++) {
        tc_arena_mark mark = 0;
        for (size_t i = 0; i < 12; i++) {
            unsigned char *p = tc_new(&a, unsigned char, 7 * (i + (size_t)round) % 40);
            assert_non_null(p);
            for (size_t j = 0; j < 7 * (i + (size_t)round) % 40; j++) {
                assert_int_equal(p[j], 0);
                p[j] = 0xff;
            }
            if (i == 4) {
                mark = tc_arena_snapshot(&a);
            } else if (i == 8) {
                tc_arena_rewind(&a, mark);
            }
        }
        tc_arena_reset(&a);
    }
    tc_arena_fini(&a);
}

static void memory_is_aligned_as_asked(void **state)
{
    (void)state;
    for (size_t align = 1; align <= 64; align *= 2) {
        assert_non_null(tc_arena_alloc(&arena, 1, 1, 1)); /* puts the next one off */
        void *p = tc_arena_alloc(&arena, 3, 1, align);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % align, 0);
    }
    assert_true(tc_arena_ok(&arena));
}

static void allocations_do_not_overlap(void **state)
{
    (void)state;
    unsigned char *p[20];
    for (size_t i = 0; i < 20; i++) {
        p[i] = tc_new(&arena, unsigned char, i + 1);
        assert_non_null(p[i]);
        memset(p[i], (int)i + 1, i + 1);
    }
    for (size_t i = 0; i < 20; i++) {
        for (size_t j = 0; j <= i; j++) {
            assert_int_equal(p[i][j], i + 1);
        }
    }
}

/* The most that fits depends on the gap that AddressSanitizer builds leave. */
static size_t largest_fit(void)
{
    size_t size = sizeof block;
    while (tc_arena_alloc(&arena, 1, size, 1) == NULL) {
        tc_arena_reset(&arena);
        size--;
    }
    tc_arena_reset(&arena);
    return size;
}

static void the_last_byte_is_given_and_one_more_is_not(void **state)
{
    (void)state;
    size_t most = largest_fit();
    assert_true(most >= sizeof block - 8);
#ifndef TC_TEST_ASAN
    assert_int_equal(most, sizeof block);
#endif
    unsigned char *p = tc_arena_alloc(&arena, 1, most, 1);
    assert_non_null(p);
    p[most - 1] = 1;
    tc_arena_reset(&arena);
    assert_null(tc_arena_alloc(&arena, 1, most + 1, 1));
}

static void full_arena_stays_overflowed_until_reset(void **state)
{
    (void)state;
    assert_non_null(tc_new(&arena, char, 8));
    uint64_t before = arena.overflow_count;
    assert_null(tc_new(&arena, char, sizeof block));
    assert_false(tc_arena_ok(&arena));
    assert_null(tc_new(&arena, char, 1)); /* it would fit, but the batch is spoilt */
    assert_int_equal(arena.overflow_count, before + 2);
    tc_arena_reset(&arena);
    assert_true(tc_arena_ok(&arena));
    assert_non_null(tc_new(&arena, char, 1));
    assert_int_equal(arena.overflow_count, before + 2);
}

static void a_product_that_overflows_is_a_full_arena(void **state)
{
    (void)state;
    volatile size_t half = SIZE_MAX / 2 + 1;
    assert_null(tc_arena_alloc(&arena, half, 2, 1));
    assert_false(tc_arena_ok(&arena));
    tc_arena_reset(&arena);
    volatile size_t most = SIZE_MAX;
    assert_null(tc_arena_alloc(&arena, most, 1, 1));
    tc_arena_reset(&arena);
    assert_null(tc_arena_alloc(&arena, 1, most - 4, 64));
}

static void nothing_is_a_valid_allocation(void **state)
{
    (void)state;
    assert_non_null(tc_arena_alloc(&arena, 0, 16, 8));
    assert_non_null(tc_arena_alloc(&arena, 16, 0, 8));
    assert_true(tc_arena_ok(&arena));
}

static void an_arena_without_memory_gives_none(void **state)
{
    (void)state;
    struct tc_arena none;
    tc_arena_init(&none, "none", NULL, 0);
    assert_null(tc_arena_alloc(&none, 1, 1, 1));
    assert_false(tc_arena_ok(&none));
    tc_arena_reset(&none);
    assert_true(tc_arena_ok(&none));
    tc_arena_fini(&none);
    tc_arena_fini(NULL);
}

static void alignment_beyond_the_end_is_a_full_arena(void **state)
{
    (void)state;
    struct tc_arena small;
    tc_arena_init(&small, "small", block + 1, 8);
    assert_null(tc_arena_alloc(&small, 1, 1, 64));
    tc_arena_fini(&small);
    tc_arena_init(&arena, "test", block, sizeof block);
}

static void a_copy_is_a_copy(void **state)
{
    (void)state;
    char text[] = "hello";
    struct tc_slice s = tc_arena_copy(&arena, tc_slice_cstr(text));
    text[0] = 'j';
    assert_int_equal(s.len, 5);
    assert_memory_equal(s.ptr, "hello", 5);
    assert_int_equal(tc_arena_copy(&arena, TC_EMPTY).len, 0);
    assert_true(tc_arena_ok(&arena));
}

static void a_copy_that_does_not_fit_is_empty_and_spoils_the_arena(void **state)
{
    (void)state;
    static const char big[sizeof block + 1] = "x";
    struct tc_slice s = tc_arena_copy(&arena, tc_slice_make(big, sizeof big));
    assert_int_equal(s.len, 0);
    assert_false(tc_arena_ok(&arena));
}

static void rewind_gives_back_what_came_after_the_mark(void **state)
{
    (void)state;
    char *kept = tc_new(&arena, char, 10);
    assert_non_null(kept);
    kept[9] = 'k';
    tc_arena_mark mark = tc_arena_snapshot(&arena);
    char *gone = tc_new(&arena, char, 10);
    assert_non_null(gone);
    assert_null(tc_new(&arena, char, sizeof block));
    tc_arena_rewind(&arena, mark);
    assert_true(tc_arena_ok(&arena));
    assert_int_equal(arena.used, mark);
    assert_int_equal(kept[9], 'k');
    assert_ptr_equal(tc_new(&arena, char, 10), gone);
}

static void peak_remembers_the_most_that_was_used(void **state)
{
    (void)state;
    assert_non_null(tc_new(&arena, char, 1000));
    size_t peak = arena.used;
    assert_int_equal(arena.peak, peak);
    tc_arena_reset(&arena);
    assert_non_null(tc_new(&arena, char, 10));
    assert_int_equal(arena.peak, peak);
    assert_true(arena.used < peak);
}

static void free_memory_and_the_gap_are_poisoned(void **state)
{
    (void)state;
#ifdef TC_TEST_ASAN
    char *a = tc_new(&arena, char, 8);
    char *b = tc_new(&arena, char, 8);
    assert_int_equal(__asan_address_is_poisoned(a + 7), 0);
    assert_int_not_equal(__asan_address_is_poisoned(a + 8), 0);
    assert_int_equal(__asan_address_is_poisoned(b), 0);
    assert_int_not_equal(__asan_address_is_poisoned(b + 8), 0);
    char *odd = tc_new(&arena, char, 5);
    assert_int_not_equal(__asan_address_is_poisoned(odd + 5), 0);
    tc_arena_mark mark = tc_arena_snapshot(&arena);
    char *c = tc_arena_alloc(&arena, 1, 8, 8);
    tc_arena_rewind(&arena, mark);
    assert_int_not_equal(__asan_address_is_poisoned(c), 0);
    assert_int_equal(__asan_address_is_poisoned(b), 0);
    tc_arena_reset(&arena);
    assert_int_not_equal(__asan_address_is_poisoned(a), 0);
    tc_arena_fini(&arena);
    assert_int_equal(__asan_address_is_poisoned(a), 0);
    tc_arena_init(&arena, "test", block, sizeof block);
#else
    print_message("built without AddressSanitizer\n");
    skip();
#endif
}

static void a_large_block_is_poisoned_behind_what_was_used(void **state)
{
    (void)state;
#ifdef TC_TEST_ASAN
    const size_t ahead = (size_t)128 << 10;
    const size_t size = (size_t)16 << 20;
    char *large = calloc(1, size);
    assert_non_null(large);
    struct tc_arena a;
    tc_arena_init_zeroed(&a, "large", large, size);
    assert_int_not_equal(__asan_address_is_poisoned(large), 0);
    assert_int_not_equal(__asan_address_is_poisoned(large + ahead), 0);
    /* Sizes on both sides of where the marks end, and of where a mark begins. */
    static const size_t sizes[] = {1,         3 << 20,          5,    (128 << 10) - 16,
                                   128 << 10, (16 << 10) - 8,   4099, 16 << 10,
                                   2 << 20,   (16 << 10) - 4107};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *got = tc_new(&a, char, sizes[i]);
        assert_non_null(got);
        assert_null(__asan_region_is_poisoned(got, sizes[i]));
        for (size_t at = 0; at <= ahead; at += at < 64 ? 1 : 61) {
            assert_int_not_equal(__asan_address_is_poisoned(got + sizes[i] + at), 0);
        }
    }
    tc_arena_reset(&a);
    for (size_t at = 0; at < a.peak + ahead; at += 61) {
        assert_int_not_equal(__asan_address_is_poisoned(large + at), 0);
    }
    assert_null(tc_arena_alloc_raw(&a, size, 1));
    tc_arena_reset(&a);
    assert_non_null(tc_arena_alloc_raw(&a, size - 8, 1));
    assert_null(__asan_region_is_poisoned(large, size - 8));
    assert_int_not_equal(__asan_address_is_poisoned(large + size - 8), 0);
    tc_arena_fini(&a);
    assert_null(__asan_region_is_poisoned(large, size));
    free(large);
#else
    print_message("built without AddressSanitizer\n");
    skip();
#endif
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

static void ask_for_alignment_three(void)
{
    (void)!tc_arena_alloc(&arena, 1, 1, 3);
}

static void ask_for_alignment_zero(void)
{
    (void)!tc_arena_alloc(&arena, 1, 1, 0);
}

static void rewind_forward(void)
{
    tc_arena_rewind(&arena, arena.used + 1);
}

static void init_without_block(void)
{
    struct tc_arena none;
    tc_arena_init(&none, "none", NULL, 1);
}

static void broken_promises_abort(void **state)
{
    (void)state;
    assert_true(aborts(ask_for_alignment_three));
    assert_true(aborts(ask_for_alignment_zero));
    assert_true(aborts(rewind_forward));
    assert_true(aborts(init_without_block));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory_is_zeroed_even_when_used_before),
        TEST(memory_is_zeroed_whatever_the_block_held),
        TEST(a_zeroed_block_is_cleared_again_only_where_it_was_used),
        TEST(memory_is_aligned_as_asked),
        TEST(allocations_do_not_overlap),
        TEST(the_last_byte_is_given_and_one_more_is_not),
        TEST(full_arena_stays_overflowed_until_reset),
        TEST(a_product_that_overflows_is_a_full_arena),
        TEST(nothing_is_a_valid_allocation),
        TEST(an_arena_without_memory_gives_none),
        TEST(alignment_beyond_the_end_is_a_full_arena),
        TEST(a_copy_is_a_copy),
        TEST(a_copy_that_does_not_fit_is_empty_and_spoils_the_arena),
        TEST(rewind_gives_back_what_came_after_the_mark),
        TEST(peak_remembers_the_most_that_was_used),
        TEST(free_memory_and_the_gap_are_poisoned),
        TEST(a_large_block_is_poisoned_behind_what_was_used),
        TEST(broken_promises_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
