/* SPDX-License-Identifier: Apache-2.0 */
/* Series that come faster than their samples can be kept. All values here are made up. */
#include "base/time.h"
#include "telemetry/slices.h"
#include "telemetry/slices_priv.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define T0 (INT64_C(1772600760) * TC_SECOND) /* 2026-03-04T05:06:00Z, the start of a window */
#define MINUTE (60 * TC_SECOND)
#define ROWS_KEPT 4096
#define EXACT 256

struct row {
    int64_t count;
    int64_t start_us;
    double min, max, mean, p50, p95, p99, last; /* NaN: NULL */
};

static struct row got[ROWS_KEPT];
static size_t got_count;
static struct tc_slices *slices;

static double real_of(const struct tc_rows *rows, size_t column, size_t row)
{
    return tc_rows_is_null(rows, column, row) ? (double)NAN : rows->columns[column].cells[row].real;
}

static tc_status take(void *context, const struct tc_rows *rows)
{
    (void)context;
    for (size_t r = 0; r < rows->count; r++) {
        assert_true(got_count < ROWS_KEPT);
        got[got_count++] = (struct row){
            .count = rows->columns[TC_SLICE_COUNT].cells[r].integer,
            .start_us = rows->columns[TC_SLICE_START].cells[r].integer,
            .min = real_of(rows, TC_SLICE_MIN, r),
            .max = real_of(rows, TC_SLICE_MAX, r),
            .mean = real_of(rows, TC_SLICE_MEAN, r),
            .p50 = real_of(rows, TC_SLICE_P50, r),
            .p95 = real_of(rows, TC_SLICE_P95, r),
            .p99 = real_of(rows, TC_SLICE_P99, r),
            .last = real_of(rows, TC_SLICE_LAST, r),
        };
    }
    return TC_OK;
}

static void begin_with(size_t series_max, size_t memory_bytes, size_t exact_max)
{
    struct tc_slices_config config = TC_SLICES_CONFIG_DEFAULT;
    config.series_max = series_max;
    config.memory_bytes = memory_bytes;
    config.exact_max = exact_max;
    tc_slices_destroy(slices);
    slices = NULL;
    assert_int_equal(tc_slices_create(&config, &slices, NULL), TC_OK);
}

static int begin(void **state)
{
    (void)state;
    begin_with(16, (size_t)1 << 20, EXACT);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tc_slices_destroy(slices);
    slices = NULL;
    return 0;
}

static void flush_until(int64_t until_ns)
{
    got_count = 0;
    assert_int_equal(tc_slices_flush(slices, until_ns, take, NULL, NULL), TC_OK);
}

static void flush(void)
{
    flush_until(INT64_MAX);
}

static struct tc_slices_counts counts(void)
{
    struct tc_slices_counts c;
    tc_slices_counts(slices, &c);
    return c;
}

static void add_typed(const char *name, enum tc_sample_type type, int64_t time_ns, double value)
{
    struct tc_series_scope nothing_known = TC_SERIES_SCOPE_NONE;
    struct tc_sample sample = {.name = tc_slice_cstr(name),
                               .type = type,
                               .time_ns = time_ns,
                               .start_ns = time_ns - TC_SECOND,
                               .value = value};
    tc_slices_add(slices, &sample, time_ns, &nothing_known);
}

static void add(int64_t time_ns, double value)
{
    add_typed("a", TC_SAMPLE_GAUGE, time_ns, value);
}

static uint64_t random_state;

static double random_unit(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(random_state >> 11) / (double)(UINT64_C(1) << 53);
}

/* Spread over so many powers of two, of both signs when it says so. */
static double random_value(double octaves, bool both)
{
    double value = exp2(random_unit() * octaves);
    return both && random_unit() < 0.5 ? -value : value;
}

static int double_cmp(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double exact_rank(const double *sorted, size_t count, size_t percent)
{
    return sorted[(count * percent + 99) / 100 - 1];
}

static void expect_near(double value, double exact, double relative)
{
    if (!(fabs(value - exact) <= fabs(exact) * relative && fabs(value) <= fabs(exact))) {
        fail_msg("%.17g is not within %g of %.17g", value, relative, exact);
    }
}

static void up_to_the_bound_percentiles_are_exact(void **state)
{
    (void)state;
    for (size_t count = EXACT; count <= EXACT + 80; count += 80) {
        double values[EXACT + 80];
        begin_with(16, (size_t)1 << 20, EXACT);
        random_state = 1;
        for (size_t i = 0; i < count; i++) {
            values[i] = random_value(40, true);
            add(T0 + (int64_t)i, values[i]);
        }
        flush();
        qsort(values, count, sizeof values[0], double_cmp);
        assert_int_equal(got_count, 1);
        assert_int_equal(got[0].count, count);
        assert_int_equal(counts().folded, count > EXACT);
        /* 336 values are fewer than there are bins: still what they were. */
        assert_true(got[0].p50 == exact_rank(values, count, 50));
        assert_true(got[0].p99 == exact_rank(values, count, 99));
    }
}

static void percentiles_of_many_are_as_near_as_is_said(void **state)
{
    (void)state;
    /* What docs/telemetry.md says: the powers of two that values lie in, and how far off. */
    static const struct {
        double octaves;
        double relative;
        bool both;
    } cases[] = {{1, 1.0 / 1024, false},
                 {8, 1.0 / 128, false},
                 {16, 1.0 / 64, false},
                 {32, 1.0 / 32, false},
                 {4, 1.0 / 128, true}};
    enum { MANY = 30000 };
    double *values = calloc(MANY, sizeof *values);
    assert_non_null(values);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        double sum = 0;
        begin_with(16, (size_t)1 << 20, EXACT);
        random_state = k;
        for (size_t i = 0; i < MANY; i++) {
            values[i] = random_value(cases[k].octaves, cases[k].both);
            add(T0 + (int64_t)i, values[i]);
        }
        double last = values[MANY - 1];
        qsort(values, MANY, sizeof values[0], double_cmp);
        for (size_t i = 0; i < MANY; i++) {
            sum += values[i];
        }
        flush();
        assert_int_equal(got_count, 1);
        assert_int_equal(got[0].count, MANY);
        assert_true(got[0].min == values[0] && got[0].max == values[MANY - 1]);
        assert_true(got[0].last == last);
        assert_true(fabs(got[0].mean - sum / MANY) <= 1e-9 * fabs(values[MANY - 1]));
        expect_near(got[0].p50, exact_rank(values, MANY, 50), cases[k].relative);
        expect_near(got[0].p95, exact_rank(values, MANY, 95), cases[k].relative);
        expect_near(got[0].p99, exact_rank(values, MANY, 99), cases[k].relative);
    }
    free(values);
}

static void the_order_of_many_gauges_does_not_show(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    struct row first = {0};
    for (int turn = 0; turn < 2; turn++) {
        begin_with(16, (size_t)1 << 20, EXACT);
        for (int i = 0; i < MANY; i++) {
            int at = turn == 0 ? i : (i * 1237) % MANY;
            random_state = (uint64_t)at;
            (void)random_unit();
            add(T0 + at, random_value(20, true));
        }
        flush();
        assert_int_equal(got_count, 1);
        first = turn == 0 ? got[0] : first;
    }
    assert_memory_equal(&first, &got[0], sizeof first);
}

static void a_fast_counter_is_its_rise_per_second(void **state)
{
    (void)state;
    /* Ten a second for two windows, always 5 more; and a restart in the second. */
    enum { EACH = 600 };
    for (int i = 0; i < 2 * EACH; i++) {
        int64_t time_ns = T0 + i * (TC_SECOND / 10);
        add_typed("bytes_total", TC_SAMPLE_COUNTER, time_ns,
                  i < EACH + 300 ? 5 * i : 5 * (i - 890));
    }
    flush();
    assert_int_equal(got_count, 2);
    assert_int_equal(got[0].count, EACH);
    assert_true(got[0].min == 50 && got[0].max == 50 && got[0].p50 == 50);
    assert_true(got[0].last == 5 * (EACH - 1));
    assert_int_equal(got[1].count, EACH);
    assert_true(got[1].mean == 50 && got[1].p99 == 50);
    assert_true(got[1].last == 5 * (2 * EACH - 1 - 890));
    assert_int_equal(counts().folded, 2);
}

static void the_rise_into_a_fast_window_counts(void **state)
{
    (void)state;
    enum { EACH = 1000 };
    add_typed("bytes_total", TC_SAMPLE_COUNTER, T0 - TC_SECOND, 0);
    for (int i = 0; i < EACH; i++) {
        add_typed("bytes_total", TC_SAMPLE_COUNTER, T0 + i * (TC_SECOND / 50), 7000 + i);
    }
    flush();
    assert_int_equal(got_count, 2);
    assert_true(isnan(got[0].max));
    assert_int_equal(got[1].count, EACH);
    assert_true(got[1].max == 7000);
    assert_true(got[1].min == 50);
}

static void a_difference_has_no_last_however_many_there_are(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        add_typed("d", TC_SAMPLE_DELTA, T0 + i, 3);
    }
    flush();
    assert_int_equal(got_count, 1);
    assert_int_equal(got[0].count, 1000);
    assert_true(got[0].mean == 3);
    assert_true(isnan(got[0].last));
}

static void a_repeated_sample_counts_once_while_it_is_kept(void **state)
{
    (void)state;
    for (int i = 0; i < 2000; i++) {
        add(T0 + i / 4, i / 4);
    }
    flush();
    assert_int_equal(got_count, 1);
    assert_int_equal(got[0].count, 500);
    assert_int_equal(counts().duplicates, 1500);
}

static void without_room_percentiles_are_not_known_and_the_rest_is(void **state)
{
    (void)state;
    enum { SERIES = 256, EACH = 400 };
    begin_with(SERIES, (size_t)1 << 20, EXACT);
    for (int i = 0; i < EACH; i++) {
        for (int k = 0; k < SERIES; k++) {
            char name[16];
            (void)snprintf(name, sizeof name, "s%03d", k);
            random_state = (uint64_t)(i * SERIES + k);
            (void)random_unit();
            add_typed(name, k % 2 == 0 ? TC_SAMPLE_GAUGE : TC_SAMPLE_COUNTER,
                      T0 + i * TC_SECOND / 10, k % 2 == 0 ? random_value(40, true) : i);
        }
    }
    assert_int_equal(counts().samples_full, 0);
    assert_int_equal(counts().waiting, SERIES * EACH);
    flush_until(T0 + MINUTE);
    assert_int_equal(got_count, SERIES);
    size_t unranked = 0;
    for (int k = 0; k < SERIES; k++) {
        assert_int_equal(got[k].count, EACH);
        assert_false(isnan(got[k].min) || isnan(got[k].max) || isnan(got[k].mean));
        assert_true(k % 2 == 0 ||
                    (got[k].min == 10 && got[k].max == 10 && got[k].last == EACH - 1));
        assert_int_equal(isnan(got[k].p50), isnan(got[k].p99));
        unranked += isnan(got[k].p50) ? 1 : 0;
    }
    assert_true(unranked > 0 && unranked < SERIES);
    assert_int_equal(counts().unranked, unranked);
    /* What they held is free again. */
    for (int i = 0; i < EACH; i++) {
        add_typed("s000", TC_SAMPLE_GAUGE, T0 + 10 * MINUTE + i, i);
    }
    flush();
    assert_int_equal(got_count, 1);
    assert_true(got[0].p50 == EACH / 2 - 1);
}

static void a_sum_beyond_doubles_has_a_mean(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        add(T0 + i, i % 2 == 0 ? 1.5e308 : 1.0e308);
    }
    flush();
    assert_true(got[0].mean > 1.2e308 && got[0].mean < 1.3e308);
}

static void windows_without_end_leave_room_for_others(void **state)
{
    (void)state;
    begin_with(64, (size_t)1 << 20, EXACT);
    uint64_t sent = 0;
    while (counts().samples_full == 0) {
        add(T0 + (int64_t)sent++ * MINUTE, 1);
    }
    assert_true(sent > 64);
    for (int k = 0; k < 63; k++) {
        char name[16];
        (void)snprintf(name, sizeof name, "s%03d", k);
        add_typed(name, TC_SAMPLE_GAUGE, T0, 1);
        add_typed(name, TC_SAMPLE_GAUGE, T0 + MINUTE, 1);
    }
    assert_int_equal(counts().samples_full, 1);
    assert_int_equal(counts().waiting, sent - 1 + 126);
    flush();
    assert_int_equal(got_count, sent - 1 + 126);
    assert_int_equal(counts().cells, 0);
}

static void a_sample_for_an_older_window_finds_it_again(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        add(T0 + (i % 3) * MINUTE + i, i);
    }
    assert_int_equal(counts().cells, 3);
    flush();
    assert_int_equal(got_count, 3);
    assert_int_equal(got[2].count, 100);
}

static void settings_of_cells_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct tc_slices_config config = TC_SLICES_CONFIG_DEFAULT;
    struct tc_slices *none = NULL;
    config.series_max = 16;
    config.cells_max = 31;
    assert_int_equal(tc_slices_create(&config, &none, NULL), TC_E_USAGE);
    config.cells_max = 32;
    config.exact_max = 7;
    assert_int_equal(tc_slices_create(&config, &none, NULL), TC_E_USAGE);
    config.exact_max = 8;
    assert_int_equal(tc_slices_create(&config, &none, NULL), TC_OK);
    tc_slices_destroy(none);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(up_to_the_bound_percentiles_are_exact),
        TEST(percentiles_of_many_are_as_near_as_is_said),
        TEST(the_order_of_many_gauges_does_not_show),
        TEST(a_fast_counter_is_its_rise_per_second),
        TEST(the_rise_into_a_fast_window_counts),
        TEST(a_difference_has_no_last_however_many_there_are),
        TEST(a_repeated_sample_counts_once_while_it_is_kept),
        TEST(without_room_percentiles_are_not_known_and_the_rest_is),
        TEST(a_sum_beyond_doubles_has_a_mean),
        TEST(windows_without_end_leave_room_for_others),
        TEST(a_sample_for_an_older_window_finds_it_again),
        TEST(settings_of_cells_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests_name("cells", tests, NULL, NULL);
}
