/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"

#include <math.h>

static void check(struct tc_arg arg, const char *want)
{
    char text[512];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    (void)tc_format(&b, "{}", arg);
    tc_buf_char(&b, '\0');
    assert_string_equal(text, want);
}

static void four_digits_are_kept(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {4, "4"},
        {4.0004, "4"},
        {1.2346, "1.235"},
        {12.345, "12.35"},
        {123.45, "123.5"},
        {1234.5, "1,234"},
        {-1234567, "-1,234,567"},
        {0.12345, "0.1235"},
        {0.012346, "0.01235"},
        {0.000346789, "0.0003468"},
        {1e-4, "0.0001"},
        {9e-5, "9.000e-05"},
        {1e15, "1.000e+15"},
        {-0.5, "-0.5"},
        {(double)NAN, "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check(tc_as_number(cases[i].value), cases[i].text);
    }
}

static void whole_numbers_are_grouped(void **state)
{
    (void)state;
    char text[64];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_grouped(&b, INT64_MIN);
    tc_buf_char(&b, '\0');
    assert_string_equal(text, "-9,223,372,036,854,775,808");
}

static void a_ratio_needs_a_base(void **state)
{
    (void)state;
    check(tc_as_ratio(2, 3), "1.5");
    check(tc_as_ratio(0, 3), "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_digits_are_kept),
        cmocka_unit_test(whole_numbers_are_grouped),
        cmocka_unit_test(a_ratio_needs_a_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
