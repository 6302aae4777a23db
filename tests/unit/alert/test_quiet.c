/* SPDX-License-Identifier: Apache-2.0 */
/* Quiet hours and the time zones that they are in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alert/quiet.h"
#include "base/time.h"

#include <stdio.h>
#include <string.h>

static int64_t at(const char *text)
{
    int64_t ns = 0;
    assert_true(tc_time_parse(tc_slice_cstr(text), 0, &ns) > 0);
    return ns;
}

static bool is_quiet(const char *hours, const char *zone_text, const char *time)
{
    struct tc_quiet quiet;
    struct tc_zone zone;
    struct tc_error err = {0};
    assert_int_equal(tc_quiet_read(tc_slice_cstr(hours), &quiet, &err), TC_OK);
    assert_true(tc_zone_fixed(tc_slice_cstr(zone_text), &zone));
    return tc_quiet_is(&quiet, &zone, at(time));
}

/* 2026-03-04 is a Wednesday. */
static void windows_hold_on_their_days(void **state)
{
    (void)state;
    assert_false(is_quiet("", "UTC", "2026-03-04T12:00:00Z"));
    assert_true(is_quiet("09:00-17:00", "UTC", "2026-03-04T09:00:00Z"));
    assert_true(is_quiet("09:00-17:00", "UTC", "2026-03-04T16:59:59Z"));
    assert_false(is_quiet("09:00-17:00", "UTC", "2026-03-04T17:00:00Z"));
    assert_true(is_quiet("22:00-06:00", "", "2026-03-04T23:00:00Z"));
    assert_true(is_quiet("22:00-06:00", "", "2026-03-05T05:59:00Z"));
    assert_false(is_quiet("22:00-06:00", "", "2026-03-05T06:00:00Z"));
    /* A window belongs to the day on which it begins. */
    assert_true(is_quiet("Wed 22:00-06:00", "UTC", "2026-03-05T01:00:00Z"));
    assert_false(is_quiet("Wed 22:00-06:00", "UTC", "2026-03-04T01:00:00Z"));
    assert_true(
        is_quiet("mon-fri 00:00-24:00; Sat,Sun 10:00-11:00", "UTC", "2026-03-04T00:00:00Z"));
    assert_false(is_quiet("Mon-Fri 00:00-24:00", "UTC", "2026-03-07T12:00:00Z"));
    assert_true(is_quiet("Fri-Mon 00:00-24:00", "UTC", "2026-03-08T12:00:00Z"));
    assert_true(is_quiet("09:00-10:00", "+02:00", "2026-03-04T07:30:00Z"));
    assert_true(is_quiet("09:00-10:00", "-05:30", "2026-03-04T14:45:00Z"));
}

static void what_is_no_window_is_refused(void **state)
{
    (void)state;
    static const char *const BAD[] = {"9:00-17:00",       "09:00",       "09:00-25:00",
                                      "09:60-10:00",      "09:00-09:00", "Foo 09:00-10:00",
                                      "Mon- 09:00-10:00", "24:00-01:00", "; 09:00-10:00",
                                      "09:00-10:00 Mon"};
    struct tc_quiet quiet;
    struct tc_error err;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        assert_int_equal(tc_quiet_read(tc_slice_cstr(BAD[i]), &quiet, &err), TC_E_MALFORMED);
    }
    char many[512] = "";
    for (int i = 0; i <= TC_QUIET_WINDOWS_MAX; i++) {
        (void)strncat(many, "01:00-02:00;", sizeof many - strlen(many) - 1);
    }
    assert_int_equal(tc_quiet_read(tc_slice_cstr(many), &quiet, &err), TC_E_MALFORMED);
    struct tc_zone zone;
    static const char *const ZONES[] = {"+2:00", "+15:00", "+02-00", "Europe/Berlin"};
    for (size_t i = 0; i < sizeof ZONES / sizeof *ZONES; i++) {
        assert_false(tc_zone_fixed(tc_slice_cstr(ZONES[i]), &zone));
    }
    assert_true(tc_zone_is_name(TC_LIT("Europe/Berlin")));
    assert_false(tc_zone_is_name(TC_LIT("../../etc/passwd")));
    assert_false(tc_zone_is_name(TC_LIT("/etc/localtime")));
    assert_false(tc_zone_is_name(TC_LIT("a b")));
}

static size_t put_head(char *to, char version, const unsigned *counts)
{
    memset(to, 0, 44);
    memcpy(to, "TZif", 4);
    to[4] = version;
    for (size_t i = 0; i < 6; i++) {
        to[20 + 4 * i + 2] = (char)(counts[i] >> 8);
        to[20 + 4 * i + 3] = (char)counts[i];
    }
    return 44;
}

static size_t put_number(char *to, int64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (char)((uint64_t)value >> 8 * (bytes - 1 - i));
    }
    return bytes;
}

/* A file as slim ones are: a change in 2000, and a rule for what comes after it. */
static size_t make_zone(char *to, const char *rule)
{
    static const unsigned NONE[] = {0, 0, 0, 0, 1, 0};
    static const unsigned ONE[] = {0, 0, 0, 1, 2, 4};
    size_t len = put_head(to, '2', NONE);
    len += put_number(to + len, 0, 6);
    len += put_head(to + len, '2', ONE);
    len += put_number(to + len, at("2000-01-01T00:00:00Z") / TC_SECOND, 8);
    to[len++] = 1;
    len += put_number(to + len, 1800, 4);
    len += put_number(to + len, 0, 2);
    len += put_number(to + len, 3600, 4);
    len += put_number(to + len, 0, 2);
    memcpy(to + len, "CET", 4);
    len += 4;
    return len + (size_t)snprintf(to + len, 128, "\n%s\n", rule);
}

static int32_t offset_of(const char *rule, const char *time)
{
    char bytes[512];
    struct tc_zone zone;
    struct tc_error err = {0};
    if (tc_zone_read(tc_slice_make(bytes, make_zone(bytes, rule)), &zone, &err) != TC_OK) {
        fail_msg("%s: %s", rule, err.message);
    }
    return tc_zone_offset(&zone, at(time));
}

static void named_zones_change_with_the_year(void **state)
{
    (void)state;
    static const char BERLIN[] = "CET-1CEST,M3.5.0,M10.5.0/3";
    assert_int_equal(offset_of(BERLIN, "1999-01-01T00:00:00Z"), 1800);
    assert_int_equal(offset_of(BERLIN, "2026-03-29T00:59:59Z"), 3600);
    assert_int_equal(offset_of(BERLIN, "2026-03-29T01:00:00Z"), 7200);
    assert_int_equal(offset_of(BERLIN, "2026-10-25T00:59:59Z"), 7200);
    assert_int_equal(offset_of(BERLIN, "2026-10-25T01:00:00Z"), 3600);
    /* South of the equator summer goes over the new year. */
    static const char SYDNEY[] = "AEST-10AEDT,M10.1.0,M4.1.0/3";
    assert_int_equal(offset_of(SYDNEY, "2026-01-15T00:00:00Z"), 11 * 3600);
    assert_int_equal(offset_of(SYDNEY, "2026-07-15T00:00:00Z"), 10 * 3600);
    assert_int_equal(offset_of("<+0530>-5:30", "2026-07-15T00:00:00Z"), 19800);
    assert_int_equal(offset_of("EST5EDT,M3.2.0,M11.1.0", "2026-07-15T00:00:00Z"), -4 * 3600);
    assert_int_equal(offset_of("", "2026-07-15T00:00:00Z"), 3600);
}

static void the_systems_zones_are_read(void **state)
{
    (void)state;
    static char bytes[TC_ZONE_BYTES_MAX];
    struct tc_zone zone;
    struct tc_error err = {0};
    FILE *f = fopen("/usr/share/zoneinfo/Europe/Berlin", "r");
    if (f == NULL) {
        skip();
    }
    size_t n = fread(bytes, 1, sizeof bytes, f);
    (void)fclose(f);
    assert_int_equal(tc_zone_read(tc_slice_make(bytes, n), &zone, &err), TC_OK);
    assert_int_equal(tc_zone_offset(&zone, at("2026-07-15T00:00:00Z")), 7200);
    assert_int_equal(tc_zone_offset(&zone, at("2026-12-15T00:00:00Z")), 3600);
    assert_int_equal(tc_zone_offset(&zone, at("2045-07-15T00:00:00Z")), 7200);
}

static void damaged_zones_are_refused(void **state)
{
    (void)state;
    char bytes[512];
    struct tc_zone zone;
    struct tc_error err = {0};
    size_t len = make_zone(bytes, "CET-1CEST,M3.5.0,M10.5.0/3");
    size_t body = len - strlen("\nCET-1CEST,M3.5.0,M10.5.0/3\n");
    for (size_t i = 0; i < body; i++) {
        assert_int_equal(tc_zone_read(tc_slice_make(bytes, i), &zone, &err), TC_E_MALFORMED);
    }
    static const char *const RULES[] = {"CET",
                                        "CET-1CEST",
                                        "CET-1CEST,J60,J300",
                                        "1",
                                        "<x",
                                        "CET-1CEST,M13.5.0,M10.5.0",
                                        "CET-1CEST,M3.5.0,M10.5.0x"};
    for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++) {
        len = make_zone(bytes, RULES[i]);
        assert_int_equal(tc_zone_read(tc_slice_make(bytes, len), &zone, &err), TC_E_MALFORMED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_hold_on_their_days),
        cmocka_unit_test(what_is_no_window_is_refused),
        cmocka_unit_test(named_zones_change_with_the_year),
        cmocka_unit_test(the_systems_zones_are_read),
        cmocka_unit_test(damaged_zones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
