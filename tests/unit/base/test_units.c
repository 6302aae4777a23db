/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "base/units.h"

#define S TC_SECOND

static void durations_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ns;
    } right[] = {
        {"0", 0},
        {"5", 5 * S},
        {"0.5", S / 2},
        {"1.25s", S * 5 / 4},
        {"20ms", S / 50},
        {"7us", 7000},
        {"9ns", 9},
        {"10m", 600 * S},
        {"1h", 3600 * S},
        {"1.5h", 5400 * S},
        {"2d", 172800 * S},
        {"1h30m15s", 5415 * S},
        {"1.5ms", 1500000},
        {"0.000000001", 1},
        {"0.5ns", 0},
        {"106751d", INT64_C(106751) * 86400 * S},
        {"1h1h1h1h1h1h", 21600 * S},
        {"9223372036854775807ns", INT64_MAX},
    };
    static const char *const wrong[] = {
        "",
        "s",
        "5x",
        "5 s",
        "-1s",
        "+1s",
        "1.s",
        ".5s",
        "1h30",
        "1e3",
        "5S",
        "5sec",
        "0x10",
        "1.5.5s",
        "1h1h1h1h1h1h1h",
        "106752d",
        "106751d23h47m16s855ms",
        "9223372036854775808ns",
        "0.0000000001",
        "5s ",
        "1,5s",
    };
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        int64_t ns = -1;
        assert_true(tc_duration_parse(tc_slice_cstr(right[i].text), &ns));
        assert_int_equal(ns, right[i].ns);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int64_t ns = -1;
        assert_false(tc_duration_parse(tc_slice_cstr(wrong[i]), &ns));
        assert_int_equal(ns, -1);
    }
}

static void strict_sizes_have_one_meaning(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } right[] = {
        {"0", 0},
        {"1048576", 1 << 20},
        {"64B", 64},
        {"1KiB", 1024},
        {"1kB", 1000},
        {"1KB", 1000},
        {"64MiB", 64 << 20},
        {"64MB", 64000000},
        {"2GiB", (uint64_t)2 << 30},
        {"3TB", UINT64_C(3000000000000)},
        {"16777215TiB", UINT64_C(16777215) << 40},
    };
    static const char *const wrong[] = {
        "",   "M",  "64M",    "64K",         "64mib", "64 MiB",
        "-1", "+1", "1.5MiB", "16777216TiB", "1e6",   "64MiBs",
    };
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        uint64_t bytes = 1;
        assert_true(tc_size_parse(tc_slice_cstr(right[i].text), TC_SIZE_STRICT, &bytes));
        assert_int_equal(bytes, right[i].bytes);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint64_t bytes = 1;
        assert_false(tc_size_parse(tc_slice_cstr(wrong[i]), TC_SIZE_STRICT, &bytes));
    }
}

static void values_are_shown_as_they_are_written(void **state)
{
    (void)state;
    static const char *const durations[] = {"0", "1ns", "1500us", "20ms", "90s", "1h", "3d"};
    static const char *const sizes[] = {"0", "1023", "1KiB", "1000", "20GiB", "1025KiB"};
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        char text[32];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        int64_t ns = 0;
        assert_true(tc_duration_parse(tc_slice_cstr(durations[i]), &ns));
        tc_buf_duration_exact(&b, ns);
        assert_true(tc_slice_eq(tc_buf_slice(&b), tc_slice_cstr(durations[i])));
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char text[32];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        uint64_t bytes = 0;
        assert_true(tc_size_parse(tc_slice_cstr(sizes[i]), TC_SIZE_STRICT, &bytes));
        tc_buf_size_exact(&b, bytes);
        assert_true(tc_slice_eq(tc_buf_slice(&b), tc_slice_cstr(sizes[i])));
    }
}

static void loose_sizes_may_be_short_and_in_any_case(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } right[] = {
        {"4096", 4096},
        {"2k", 2048},
        {"2K", 2048},
        {"512M", (uint64_t)512 << 20},
        {"4GiB", (uint64_t)4 << 30},
        {"4gib", (uint64_t)4 << 30},
        {"16777215T", UINT64_C(16777215) << 40},
        {"3mb", 3000000},
    };
    static const char *const wrong[] = {
        "", "G", "1X", "-1", "1.5G", "1 G", "99999999999999999999", "99999999T", "16777216T",
    };
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        uint64_t bytes = 7;
        assert_true(tc_size_parse(tc_slice_cstr(right[i].text), TC_SIZE_LOOSE, &bytes));
        assert_int_equal(bytes, right[i].bytes);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint64_t bytes = 7;
        assert_false(tc_size_parse(tc_slice_cstr(wrong[i]), TC_SIZE_LOOSE, &bytes));
        assert_int_equal(bytes, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read),
        cmocka_unit_test(strict_sizes_have_one_meaning),
        cmocka_unit_test(loose_sizes_may_be_short_and_in_any_case),
        cmocka_unit_test(values_are_shown_as_they_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
