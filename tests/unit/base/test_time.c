/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static struct tc_slice time_text(char text[64], int64_t ns)
{
    struct tc_buf b = tc_buf_make(text, 64);
    tc_buf_time(&b, ns);
    assert_false(b.overflowed);
    return tc_buf_slice(&b);
}

static void assert_time_text(int64_t ns, const char *want)
{
    char text[64];
    struct tc_slice s = time_text(text, ns);
    assert_int_equal(s.len, strlen(want));
    assert_memory_equal(s.ptr, want, s.len);
}

static void times_print_with_as_many_digits_as_needed(void **state)
{
    (void)state;
    assert_time_text(0, "1970-01-01T00:00:00Z");
    assert_time_text(1, "1970-01-01T00:00:00.000000001Z");
    assert_time_text(1000, "1970-01-01T00:00:00.000001Z");
    assert_time_text(1000000, "1970-01-01T00:00:00.001Z");
    assert_time_text(120000000, "1970-01-01T00:00:00.120Z");
    assert_time_text(INT64_C(1763175845123456789), "2025-11-15T03:04:05.123456789Z");
    assert_time_text(-1, "1969-12-31T23:59:59.999999999Z");
    assert_time_text(INT64_MAX, "2262-04-11T23:47:16.854775807Z");
    assert_time_text(INT64_MIN, "1677-09-21T00:12:43.145224192Z");
}

static void a_cache_changes_nothing_but_the_time_it_takes(void **state)
{
    (void)state;
    struct tc_time_cache cache = {.known = false};
    uint64_t seed = 8;
    int64_t ns = INT64_MIN;
    for (int i = 0; i < 20000; i++) {
        char want[64];
        char got[64];
        struct tc_buf b = tc_buf_make(got, sizeof got);
        struct tc_slice s = time_text(want, ns);
        tc_buf_time_cached(&b, ns, &cache);
        assert_true(tc_slice_eq(tc_buf_slice(&b), s));
        char put[TC_PUT_TIME_MAX];
        assert_true(
            tc_slice_eq(tc_slice_make(put, (size_t)(tc_put_time(put, ns, &cache) - put)), s));
        if (i % 10 == 0) {
            ns = (int64_t)next_random(&seed); /* elsewhere, before 1970 too */
        } else if (ns < INT64_MAX - TC_SECOND) {
            ns += (int64_t)(next_random(&seed) % (TC_SECOND / 2));
        }
    }
}

static void a_time_fits_exactly_or_overflows(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        size_t len;
    } cases[] = {{0, 20}, {1000000, 24}, {1000, 27}, {1, 30}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t cap = 0; cap <= 32; cap++) {
            char *room = malloc(cap == 0 ? 1 : cap); /* AddressSanitizer sees a byte too many */
            assert_non_null(room);
            struct tc_buf b = tc_buf_make(room, cap);
            tc_buf_time(&b, cases[i].ns);
            assert_int_equal(b.overflowed, cap < cases[i].len);
            assert_true(b.overflowed || b.len == cases[i].len);
            free(room);
        }
    }
}

static void calendar_agrees_with_the_c_library(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        int64_t ns = (int64_t)(next_random(&seed) >> 1);
        if (i % 4 == 0) {
            ns = -ns;
        }
        int64_t floor_s = ns / TC_SECOND - (ns % TC_SECOND < 0);
        time_t seconds = (time_t)floor_s;
        struct tm tm;
        struct tc_civil c;
        assert_non_null(gmtime_r(&seconds, &tm));
        tc_time_to_civil(ns, &c);
        assert_int_equal(c.year, tm.tm_year + 1900);
        assert_int_equal(c.month, tm.tm_mon + 1);
        assert_int_equal(c.day, tm.tm_mday);
        assert_int_equal(c.hour, tm.tm_hour);
        assert_int_equal(c.minute, tm.tm_min);
        assert_int_equal(c.second, tm.tm_sec);
        assert_int_equal(c.nanos, ns - floor_s * TC_SECOND);
    }
}

static void every_time_from_1970_reads_back(void **state)
{
    (void)state;
    static const int64_t some[] = {
        0,
        1,
        TC_SECOND - 1,
        TC_SECOND,
        INT64_MAX,
        INT64_MAX - 1,
        INT64_C(9214646400) * TC_SECOND,
        INT64_C(9214646400) * TC_SECOND - 1,
    };
    uint64_t seed = 2;
    for (size_t i = 0; i < 20000; i++) {
        int64_t ns = (int64_t)(next_random(&seed) >> 1);
        if (i % 3 == 1) {
            ns = ns / TC_SECOND * TC_SECOND;
        } else if (i % 3 == 2) {
            ns = ns / 1000000 * 1000000;
        }
        if (i < sizeof some / sizeof some[0]) {
            ns = some[i];
        }
        char text[64];
        struct tc_slice s = time_text(text, ns);
        int64_t back = -1;
        assert_int_equal(tc_time_parse(s, 3600, &back), s.len);
        assert_true(back == ns);
        struct tc_civil c;
        tc_time_to_civil(ns, &c);
        assert_true(tc_time_from_civil(&c, &back));
        assert_true(back == ns);
    }
}

/* Civil fields in the order of the struct. */
static bool from(int32_t y, int32_t mo, int32_t d, int32_t h, int32_t mi, int32_t s, int32_t n)
{
    struct tc_civil c = {y, mo, d, h, mi, s, n};
    int64_t ns = 77;
    bool ok = tc_time_from_civil(&c, &ns);
    assert_true(ok || ns == 77);
    return ok;
}

static void both_sides_of_every_field(void **state)
{
    (void)state;
    assert_false(from(1969, 12, 31, 23, 59, 59, 0));
    assert_true(from(1970, 1, 1, 0, 0, 0, 0));
    assert_false(from(2026, 0, 1, 0, 0, 0, 0));
    assert_false(from(2026, 13, 1, 0, 0, 0, 0));
    assert_true(from(2026, 12, 31, 23, 59, 60, 999999999));
    assert_false(from(2026, 1, 0, 0, 0, 0, 0));
    assert_false(from(2026, 1, 32, 0, 0, 0, 0));
    assert_false(from(2026, 4, 31, 0, 0, 0, 0));
    assert_false(from(2026, 1, 1, -1, 0, 0, 0));
    assert_false(from(2026, 1, 1, 24, 0, 0, 0));
    assert_false(from(2026, 1, 1, 0, -1, 0, 0));
    assert_false(from(2026, 1, 1, 0, 60, 0, 0));
    assert_false(from(2026, 1, 1, 0, 0, -1, 0));
    assert_false(from(2026, 1, 1, 0, 0, 61, 0));
    assert_false(from(2026, 1, 1, 0, 0, 0, -1));
    assert_false(from(2026, 1, 1, 0, 0, 0, 1000000000));
    assert_true(from(2262, 4, 11, 23, 47, 16, 854775807));
    assert_false(from(2262, 4, 11, 23, 47, 16, 854775808));
    assert_false(from(2262, 4, 11, 23, 47, 17, 0));
    assert_false(from(2263, 1, 1, 0, 0, 0, 0));
}

static void leap_years_have_a_29th_of_february(void **state)
{
    (void)state;
    assert_true(from(2024, 2, 29, 0, 0, 0, 0));
    assert_false(from(2024, 2, 30, 0, 0, 0, 0));
    assert_false(from(2025, 2, 29, 0, 0, 0, 0));
    assert_true(from(2000, 2, 29, 0, 0, 0, 0));
    assert_false(from(2100, 2, 29, 0, 0, 0, 0));
    assert_false(from(2200, 2, 29, 0, 0, 0, 0));
    assert_true(from(2100, 2, 28, 0, 0, 0, 0));
    assert_time_text(INT64_C(951782400) * TC_SECOND, "2000-02-29T00:00:00Z");
    assert_time_text(INT64_C(4107542400) * TC_SECOND, "2100-03-01T00:00:00Z");
}

static void a_leap_second_is_the_second_before_it(void **state)
{
    (void)state;
    struct tc_civil c = {2016, 12, 31, 23, 59, 60, 5};
    int64_t leap = 0;
    int64_t before = 0;
    assert_true(tc_time_from_civil(&c, &leap));
    c.second = 59;
    assert_true(tc_time_from_civil(&c, &before));
    assert_true(leap == before);
}

#define NOON INT64_C(1767268800) /* 2026-01-01T12:00:00Z */

static void the_relatives_of_rfc_3339_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t used;
        int64_t ns;
    } cases[] = {
        {"2026-01-01T12:00:00Z", 20, NOON * TC_SECOND},
        {"2026-01-01t12:00:00z", 20, NOON * TC_SECOND},
        {"2026-01-01 12:00:00Z", 20, NOON * TC_SECOND},
        {"2026-01-01T12:00:00", 19, (NOON - 3600) * TC_SECOND}, /* one hour is assumed */
        {"2026-01-01T12:00:00 x", 19, (NOON - 3600) * TC_SECOND},
        {"2026-01-01T12:00:00+01:30", 25, (NOON - 5400) * TC_SECOND},
        {"2026-01-01T12:00:00-0130", 24, (NOON + 5400) * TC_SECOND},
        {"2026-01-01T12:00:00+23:59", 25, (NOON - 86340) * TC_SECOND},
        {"2026-01-01T12:00:00.5Z", 22, NOON * TC_SECOND + 500000000},
        {"2026-01-01T12:00:00,25Z", 23, NOON * TC_SECOND + 250000000},
        {"2026-01-01T12:00:00.123456789Z", 30, NOON * TC_SECOND + 123456789},
        {"2026-01-01T12:00:00.1234567899999Z", 34, NOON * TC_SECOND + 123456789},
        {"2026-01-01T12:00:00.000000001+00:00", 35, NOON * TC_SECOND + 1},
        {"2026-01-01T12:00:00.Z", 19, (NOON - 3600) * TC_SECOND}, /* no fraction, so no zone */
        {"2026-01-01T12:00:00.", 19, (NOON - 3600) * TC_SECOND},
        {"2026-01-01T12:00:00+24:00", 19, (NOON - 3600) * TC_SECOND}, /* no such zone */
        {"2026-01-01T12:00:00+01:60", 19, (NOON - 3600) * TC_SECOND},
        {"2026-01-01T12:00:00+1:00", 19, (NOON - 3600) * TC_SECOND},
        {"2026-01-01T12:00:00+01", 19, (NOON - 3600) * TC_SECOND},
        {"2026-01-01T12:00:00+01:", 19, (NOON - 3600) * TC_SECOND},
        {"2026-01-01T12:00:00+", 19, (NOON - 3600) * TC_SECOND},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ns = 0;
        assert_int_equal(tc_time_parse(tc_slice_cstr(cases[i].text), 3600, &ns), cases[i].used);
        assert_true(ns == cases[i].ns);
    }
}

static void what_is_no_time_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "2026",
        "2026-01-01",
        "2026-01-01T12:00:0",
        "2026-01-01X12:00:00Z",
        "2026/01/01T12:00:00Z",
        "2026-01/01T12:00:00Z",
        "2026-01-01T12.00:00Z",
        "2026-01-01T12:00.00Z",
        "x026-01-01T12:00:00Z",
        "2026-x1-01T12:00:00Z",
        "2026-01-x1T12:00:00Z",
        "2026-01-01Tx2:00:00Z",
        "2026-01-01T12:x0:00Z",
        "2026-01-01T12:00:x0Z",
        "2026-13-01T12:00:00Z",
        "2026-02-29T12:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T12:60:00Z",
        "2026-01-01T12:00:61Z",
        "1969-12-31T23:59:59Z",
        "2262-04-11T23:47:16.854775808Z",
        "2262-04-11T23:47:16-00:01",
        "9999-01-01T00:00:00Z",
        "+026-01-01T12:00:00Z",
        " 2026-01-01T12:00:00Z",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ns = 77;
        assert_int_equal(tc_time_parse(tc_slice_cstr(cases[i]), 0, &ns), 0);
        assert_int_equal(ns, 77);
    }
}

/* Exact copies, so that AddressSanitizer sees a read behind the end. */
static void every_cut_of_a_time_is_refused_or_shorter(void **state)
{
    (void)state;
    static const char whole[] = "2026-01-01T12:00:00.123456789+01:30";
    for (size_t len = 0; len < sizeof whole; len++) {
        char copy[sizeof whole];
        memcpy(copy, whole, len);
        int64_t ns = 0;
        size_t used = tc_time_parse(tc_slice_make(copy, len), 0, &ns);
        assert_true(len < 19 ? used == 0 : used >= 19 && used <= len);
    }
}

static void an_absurd_offset_is_refused_not_overflowed(void **state)
{
    (void)state;
    int64_t ns = 77;
    assert_int_equal(tc_time_parse(TC_LIT("2262-01-01T00:00:00"), INT32_MIN, &ns), 0);
    assert_int_equal(ns, 77);
    assert_int_equal(tc_time_parse(TC_LIT("1970-01-01T00:00:00"), INT32_MAX, &ns), 19);
    assert_true(ns == -(int64_t)INT32_MAX * TC_SECOND);
}

static void months_have_english_names(void **state)
{
    (void)state;
    static const char *const names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    for (int32_t i = 0; i < 12; i++) {
        assert_int_equal(tc_time_month(tc_slice_cstr(names[i])), i + 1);
    }
    assert_int_equal(tc_time_month(TC_LIT("jan")), 0);
    assert_int_equal(tc_time_month(TC_LIT("anF")), 0);
    assert_int_equal(tc_time_month(TC_LIT("Ja")), 0);
    assert_int_equal(tc_time_month(TC_LIT("Janu")), 0);
    assert_int_equal(tc_time_month(TC_EMPTY), 0);
}

static void durations_show_two_units(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0 ms"},
        {999999, "0 ms"},
        {340 * INT64_C(1000000), "340 ms"},
        {TC_SECOND - 1, "999 ms"},
        {TC_SECOND, "1 s"},
        {41 * TC_SECOND + 999999999, "41 s"},
        {60 * TC_SECOND, "1 min"},
        {303 * TC_SECOND, "5 min 3 s"},
        {3599 * TC_SECOND, "59 min 59 s"},
        {3600 * TC_SECOND, "1 h"},
        {3605 * TC_SECOND, "1 h"}, /* nothing between: the rest is noise */
        {7440 * TC_SECOND, "2 h 4 min"},
        {7441 * TC_SECOND, "2 h 4 min"},
        {(3 * 86400 + 7200) * TC_SECOND, "3 d 2 h"},
        {-303 * TC_SECOND, "-5 min 3 s"},
        {-5 * INT64_C(1000000), "-5 ms"},
        {INT64_MAX, "106751 d 23 h"},
        {INT64_MIN, "-106751 d 23 h"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_duration(&b, cases[i].ns);
        assert_int_equal(b.len, strlen(cases[i].text));
        assert_memory_equal(text, cases[i].text, b.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_print_with_as_many_digits_as_needed),
        cmocka_unit_test(a_cache_changes_nothing_but_the_time_it_takes),
        cmocka_unit_test(a_time_fits_exactly_or_overflows),
        cmocka_unit_test(calendar_agrees_with_the_c_library),
        cmocka_unit_test(every_time_from_1970_reads_back),
        cmocka_unit_test(both_sides_of_every_field),
        cmocka_unit_test(leap_years_have_a_29th_of_february),
        cmocka_unit_test(a_leap_second_is_the_second_before_it),
        cmocka_unit_test(the_relatives_of_rfc_3339_are_read),
        cmocka_unit_test(what_is_no_time_is_refused_and_changes_nothing),
        cmocka_unit_test(every_cut_of_a_time_is_refused_or_shorter),
        cmocka_unit_test(an_absurd_offset_is_refused_not_overflowed),
        cmocka_unit_test(months_have_english_names),
        cmocka_unit_test(durations_show_two_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
