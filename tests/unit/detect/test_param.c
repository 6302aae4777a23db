/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "detect/detector.h"

static const struct tc_knob DURATION = {
    .name = "window", .type = TC_KNOB_DURATION, .min = TC_SECOND, .max = 3600 * TC_SECOND};
static const struct tc_knob COUNT = {.name = "count", .type = TC_KNOB_COUNT, .min = 1, .max = 9};

static void knobs_are_read_within_their_range(void **state)
{
    (void)state;
    static const struct {
        const struct tc_knob *param;
        const char *text;
        int64_t value;
    } right[] = {
        {&DURATION, "1", TC_SECOND},
        {&DURATION, "1000ms", TC_SECOND},
        {&DURATION, "60m", 3600 * TC_SECOND},
        {&DURATION, "1h", 3600 * TC_SECOND},
        {&DURATION, "1m30s", 90 * TC_SECOND},
        {&COUNT, "1", 1},
        {&COUNT, "9", 9},
    };
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        struct tc_error err = {0};
        int64_t value = 0;
        assert_int_equal(
            tc_param_parse(right[i].param, "x.y", tc_slice_cstr(right[i].text), &value, &err),
            TC_OK);
        assert_int_equal(value, right[i].value);
    }
}

static void what_is_wrong_with_a_knob_is_said(void **state)
{
    (void)state;
    static const struct {
        const struct tc_knob *param;
        const char *text;
        const char *message;
    } wrong[] = {
        {&DURATION, "999ms", "x.y: 999ms is outside 1 s..3600 s"},
        {&DURATION, "3601", "x.y: 3601 is outside 1 s..3600 s"},
        {&DURATION, "-5m", "x.y: -5m is outside 1 s..3600 s"},
        {&DURATION, "--5m", "x.y: \"--5m\" is not a duration (300, 300s, 5m, 2h)"},
        {&DURATION, "", "x.y: \"\" is not a duration (300, 300s, 5m, 2h)"},
        {&DURATION, "5w", "x.y: \"5w\" is not a duration (300, 300s, 5m, 2h)"},
        {&DURATION, "106752d", "x.y: \"106752d\" is not a duration (300, 300s, 5m, 2h)"},
        {&COUNT, "0", "x.y: 0 is outside 1..9"},
        {&COUNT, "10", "x.y: 10 is outside 1..9"},
        {&COUNT, "-1", "x.y: -1 is outside 1..9"},
        {&COUNT, "5s", "x.y: \"5s\" is not a whole number"},
        {&COUNT, "", "x.y: \"\" is not a whole number"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct tc_error err = {0};
        int64_t value = 77;
        assert_int_equal(
            tc_param_parse(wrong[i].param, "x.y", tc_slice_cstr(wrong[i].text), &value, &err),
            TC_E_USAGE);
        assert_string_equal(err.message, wrong[i].message);
        assert_int_equal(value, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knobs_are_read_within_their_range),
        cmocka_unit_test(what_is_wrong_with_a_knob_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
