/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "cli/since.h"

#include <time.h>

static void a_time_or_how_long_ago(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
    } ago[] = {{"90s", 90}, {"15m", 900}, {"2h", 7200}, {"3d", 259200}, {"1h30m", 5400}};
    int64_t ns = 0;
    for (size_t i = 0; i < sizeof ago / sizeof ago[0]; i++) {
        int64_t before = (int64_t)time(NULL);
        assert_true(tc_since_parse(ago[i].text, &ns));
        int64_t then = ns / TC_SECOND + ago[i].seconds;
        assert_true(then >= before && then <= (int64_t)time(NULL));
    }
    assert_true(tc_since_parse("1970-01-02T00:00:00Z", &ns));
    assert_int_equal(ns, 86400 * TC_SECOND);
    assert_true(tc_since_parse("84006d", &ns)); /* as far as times go: 2200 */
    assert_true(tc_since_parse_at("2h", 7201 * TC_SECOND, &ns));
    assert_int_equal(ns, TC_SECOND);
    assert_true(tc_since_parse_at("1970-01-02T00:00:00Z", 5, &ns));
    assert_int_equal(ns, 86400 * TC_SECOND);
}

static void what_is_neither_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",          "2026", "90",     "0.5",
                                        "yesterday", "-1h",  "84007d", "1hZ"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int64_t ns = 0;
        assert_false(tc_since_parse(wrong[i], &ns));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_or_how_long_ago),
        cmocka_unit_test(what_is_neither_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
