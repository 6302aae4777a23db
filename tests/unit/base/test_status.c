/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"

#include <string.h>

static void every_status_has_its_own_text(void **state)
{
    (void)state;
#define CHECK(name, value, text)                          \
    assert_string_equal(tc_status_text(TC_##name), text); \
    assert_int_equal(TC_##name, value);
    TC_STATUS_MAP(CHECK)
#undef CHECK
    static const char *const texts[] = {
#define TEXT(name, value, text) text,
        TC_STATUS_MAP(TEXT)
#undef TEXT
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(texts[i], texts[j]);
        }
    }
}

static void a_number_that_is_not_ours_has_a_text_too(void **state)
{
    (void)state;
    assert_string_equal(tc_status_text((tc_status)-77), "unknown status");
    assert_string_equal(tc_status_text((tc_status)1), "unknown status");
}

static void only_success_is_zero_and_only_fatal_ones_are_below_minus_100(void **state)
{
    (void)state;
    assert_int_equal(TC_OK, 0);
#define CHECK(name, value, text) \
    assert_true((value) <= 0 && ((value) < -100) == (TC_##name == TC_E_NOMEM));
    TC_STATUS_MAP(CHECK)
#undef CHECK
}

static void fail_fills_the_error_and_gives_the_status_back(void **state)
{
    (void)state;
    struct tc_error err = {0};
    assert_int_equal(tc_fail(&err, TC_E_IO, 17, "%s: %d", "disk", 5), TC_E_IO);
    assert_int_equal(err.status, TC_E_IO);
    assert_int_equal(err.offset, 17);
    assert_string_equal(err.message, "disk: 5");
}

static void fail_without_an_error_only_gives_the_status_back(void **state)
{
    (void)state;
    assert_int_equal(tc_fail(NULL, TC_E_LIMIT, 3, "%d", 1), TC_E_LIMIT);
}

static void a_long_message_is_cut_not_overrun(void **state)
{
    (void)state;
    struct {
        struct tc_error err;
        char guard[8];
    } both;
    char text[TC_ERROR_MESSAGE_MAX + 1];
    memset(text, 'x', sizeof text);
    text[TC_ERROR_MESSAGE_MAX] = '\0';
    memset(&both, 'g', sizeof both);

    text[TC_ERROR_MESSAGE_MAX - 1] = '\0';
    (void)tc_fail(&both.err, TC_E_IO, 0, "%s", text);
    assert_int_equal(strlen(both.err.message), TC_ERROR_MESSAGE_MAX - 1);
    text[TC_ERROR_MESSAGE_MAX - 1] = 'x';
    (void)tc_fail(&both.err, TC_E_IO, 0, "%s", text);
    assert_int_equal(strlen(both.err.message), TC_ERROR_MESSAGE_MAX - 1);
    assert_memory_equal(both.guard, "gggggggg", 8);
}

static tc_status try_it(tc_status status, int *steps)
{
    ++*steps;
    TC_TRY(status);
    ++*steps;
    return TC_OK;
}

static void try_forwards_failures_and_goes_on_after_success(void **state)
{
    (void)state;
    int steps = 0;
    assert_int_equal(try_it(TC_OK, &steps), TC_OK);
    assert_int_equal(steps, 2);
    assert_int_equal(try_it(TC_E_NOTFOUND, &steps), TC_E_NOTFOUND);
    assert_int_equal(steps, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_own_text),
        cmocka_unit_test(a_number_that_is_not_ours_has_a_text_too),
        cmocka_unit_test(only_success_is_zero_and_only_fatal_ones_are_below_minus_100),
        cmocka_unit_test(fail_fills_the_error_and_gives_the_status_back),
        cmocka_unit_test(fail_without_an_error_only_gives_the_status_back),
        cmocka_unit_test(a_long_message_is_cut_not_overrun),
        cmocka_unit_test(try_forwards_failures_and_goes_on_after_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
