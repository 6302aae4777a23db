/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns for lines of logs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/match_priv.h"

static void assert_slice(struct tc_slice s, const char *expected)
{
    assert_int_equal(s.len, strlen(expected));
    assert_memory_equal(s.len == 0 ? "" : s.ptr, expected, s.len);
}

static bool fits(const char *text, const char *pattern)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    return tc__text_match(tc_slice_cstr(text), pattern, got);
}

static struct tc_slice part(const char *text, const char *pattern, unsigned slot)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    assert_true(tc__text_match(tc_slice_cstr(text), pattern, got));
    return got[slot];
}

static void text_is_compared_from_its_start(void **state)
{
    (void)state;
    assert_true(fits("nfs: server", "nfs: "));
    assert_true(fits("", ""));
    assert_false(fits("an nfs: server", "nfs: "));
    assert_false(fits("nfs", "nfs: "));
    assert_true(fits("nfs", "nfs$"));
    assert_false(fits("nfs: ", "nfs$"));
    assert_true(fits("3% | {", "3%% %| %{"));
}

static void a_star_goes_to_the_first_place_of_what_is_behind_it(void **state)
{
    (void)state;
    assert_slice(part("a b: c: d", "a {0*}: {1*}", 0), "b");
    assert_slice(part("a b: c: d", "a {0*}: {1*}", 1), "c: d");
    assert_slice(part("a", "a{0*}", 0), "");
    assert_false(fits("a b", "a*: "));
    assert_true(fits("a b: end", "*end$"));
}

static void classes_take_what_they_can(void **state)
{
    (void)state;
    assert_slice(part("dev sda1, sector", "dev {0%w}", 0), "sda1");
    assert_slice(part("on sda1-8.", "on {0%w}", 0), "sda1-8");
    assert_slice(part("on ", "on {0%w}", 0), "");
    assert_slice(part("mds0: x", "{0%n}: ", 0), "mds0");
    assert_false(fits(": x", "%n: "));
    assert_slice(part("0x1fz", "0x{0%x}z", 0), "1f");
    assert_slice(part("1.5e-3 s", "{0%f} s", 0), "1.5e-3");
    assert_slice(part("x 0000:b3:00.0: y", "x {0%b}: y", 0), "0000:b3:00.0");
    assert_false(fits("x", "%d"));
    assert_slice(part(" \t\x1b[32m 7", "%s{0%d}", 0), "7");
}

static void alternatives_are_tried_in_order_and_leave_nothing_behind(void **state)
{
    (void)state;
    assert_true(fits("EXT4-fs: x", "<EXT3|EXT4>-fs<: |>x"));
    assert_true(fits("EXT3-fsx", "<EXT3|EXT4>-fs<: |>x"));
    assert_false(fits("EXT2-fsx", "<EXT3|EXT4>-fs<: |>x"));
    assert_slice(part("60 hours", "<{0%d} seconds|>{1*}", 0), "");
    assert_slice(part("60 hours", "<{0%d} seconds|>{1*}", 1), "60 hours");
    assert_slice(part("a: 1-2: b", "<a: <%d-%n: |>|c: >{0*}", 0), "b");
    assert_slice(part("a: b", "<a: <%d-%n: |>|c: >{0*}", 0), "b");
    assert_slice(part("c: b", "<a: <%d-%n: |>|c: >{0*}", 0), "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_compared_from_its_start),
        cmocka_unit_test(a_star_goes_to_the_first_place_of_what_is_behind_it),
        cmocka_unit_test(classes_take_what_they_can),
        cmocka_unit_test(alternatives_are_tried_in_order_and_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
