/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t sizes[] = {1, 63, 64, 4095, 4096, 4097, 1 << 20, (256 << 20) + 5};

static void a_block_is_zero_and_all_of_it_can_be_used(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct tc_block *b = tc_block_new(sizes[i]);
        assert_non_null(b);
        assert_int_equal(b->size, sizes[i]);
        assert_int_equal((uintptr_t)b->bytes % 16, 0);
        for (size_t at = 0; at < sizes[i]; at += 4093) {
            assert_int_equal(b->bytes[at], 0);
        }
        b->bytes[0] = 1;
        b->bytes[sizes[i] - 1] = 2;
        tc_block_free(b);
    }
    tc_block_free(NULL);
}

static void a_cleared_block_is_zero_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct tc_block *b = tc_block_new(sizes[i]);
        assert_non_null(b);
        size_t used = sizes[i] < 3 << 20 ? sizes[i] : 3 << 20;
        memset(b->bytes, 0xff, used);
        memset(b->bytes + sizes[i] - used, 0xff, used);
        tc_block_clear(b);
        for (size_t at = 0; at < used; at++) {
            assert_int_equal(b->bytes[at] | b->bytes[sizes[i] - 1 - at], 0);
        }
        tc_block_free(b);
    }
}

/* Whole pages of a block that are resident. */
static size_t resident(const struct tc_block *b)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *from = b->bytes + (page - (uintptr_t)b->bytes % page) % page;
    size_t pages = (size_t)(b->bytes + b->size - from) / page;
    unsigned char *is = calloc(pages, 1);
    size_t count = 0;
    assert_non_null(is);
    assert_int_equal(mincore(from, pages * page, is), 0);
    for (size_t i = 0; i < pages; i++) {
        count += is[i] & 1;
    }
    free(is);
    return count;
}

/* One after the other, as for each of many files: malloc would keep the memory of the first for the
 * next one, and zero it. */
static void what_is_not_used_costs_nothing_the_next_time_either(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct tc_block *b = tc_block_new(8 << 20);
        assert_non_null(b);
        memset(b->bytes, 1, 64 << 10);
        assert_in_range(resident(b), 1, 32);
        tc_block_free(b);
    }
}

static void a_block_that_cannot_be_is_null(void **state)
{
    (void)state;
    /* Not constants: the compiler would warn of them. */
    volatile size_t too_large[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4};
    for (size_t i = 0; i < sizeof too_large / sizeof *too_large; i++) {
        assert_null(tc_block_new(too_large[i]));
    }
}

static void bytes_behind_a_block_and_of_a_block_that_is_gone_cannot_be_written(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        pid_t child = fork();
        if (child == 0) {
            (void)signal(SIGSEGV, SIG_DFL); /* cmocka has its own */
            (void)close(STDERR_FILENO);
            struct tc_block *b = tc_block_new(sizes[i / 2]);
            volatile unsigned char *bytes = b->bytes;
            if (i % 2 == 0) {
                bytes[(sizes[i / 2] + 63) / 64 * 64] = 1;
            } else {
                tc_block_free(b);
                bytes[0] = 1;
            }
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
#else
    print_message("built without AddressSanitizer\n");
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_zero_and_all_of_it_can_be_used),
        cmocka_unit_test(a_cleared_block_is_zero_again),
        cmocka_unit_test(what_is_not_used_costs_nothing_the_next_time_either),
        cmocka_unit_test(a_block_that_cannot_be_is_null),
        cmocka_unit_test(bytes_behind_a_block_and_of_a_block_that_is_gone_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
