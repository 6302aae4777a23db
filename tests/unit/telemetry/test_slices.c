/* SPDX-License-Identifier: Apache-2.0 */
/* Samples into slices. All series and values here are made up. */
#include "base/time.h"
#include "event/event.h"
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
#define TEXT_KEPT 512

struct row {
    char text[TC_SLICE_COLUMNS][TEXT_KEPT];
    int64_t integer[TC_SLICE_COLUMNS];
    double real[TC_SLICE_COLUMNS];
    bool known[TC_SLICE_COLUMNS];
};

static struct row *got;
static size_t got_count;
static struct tc_slices *slices;
static const struct tc_series_scope nothing_known = {.rank = -1};

static tc_status take(void *context, const struct tc_rows *rows)
{
    (void)context;
    for (size_t r = 0; r < rows->count; r++) {
        assert_true(got_count < ROWS_KEPT);
        struct row *row = &got[got_count++];
        *row = (struct row){0};
        for (size_t c = 0; c < rows->column_count; c++) {
            row->known[c] = !tc_rows_is_null(rows, c, r);
            if (!row->known[c]) {
                continue;
            }
            if (rows->columns[c].type == TC_COLUMN_TEXT) {
                struct tc_slice text = tc_rows_get_text(rows, c, r);
                assert_true(text.len < TEXT_KEPT);
                memcpy(row->text[c], text.ptr, text.len);
            } else {
                row->integer[c] = rows->columns[c].cells[r].integer;
                row->real[c] = rows->columns[c].cells[r].real;
            }
        }
    }
    return TC_OK;
}

static void begin_with(size_t series_max, size_t memory_bytes)
{
    struct tc_slices_config config = TC_SLICES_CONFIG_DEFAULT;
    struct tc_error err = {0};
    config.series_max = series_max;
    config.memory_bytes = memory_bytes;
    if (got == NULL) {
        got = calloc(ROWS_KEPT, sizeof *got);
        assert_non_null(got);
    }
    got_count = 0;
    assert_int_equal(tc_slices_create(&config, &slices, &err), TC_OK);
}

static int begin(void **state)
{
    (void)state;
    begin_with(256, (size_t)2 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tc_slices_destroy(slices);
    slices = NULL;
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    free(got);
    got = NULL;
    return 0;
}

static void flush(int64_t until_ns)
{
    struct tc_error err = {0};
    got_count = 0;
    assert_int_equal(tc_slices_flush(slices, until_ns, take, NULL, &err), TC_OK);
}

static struct tc_slices_counts counts(void)
{
    struct tc_slices_counts c;
    tc_slices_counts(slices, &c);
    return c;
}

/* One sample with up to two labels. */
static void add_typed(const char *name, enum tc_sample_type type, const char *key,
                      const char *value_text, int64_t time_ns, double value)
{
    struct tc_sample_label label = {tc_slice_cstr(key), tc_slice_cstr(value_text)};
    struct tc_sample sample = {.name = tc_slice_cstr(name),
                               .type = type,
                               .time_ns = time_ns,
                               .start_ns = TC_TIME_NONE,
                               .value = value,
                               .labels = &label,
                               .label_count = key != NULL};
    tc_slices_add(slices, &sample, time_ns, &nothing_known);
}

static void add(const char *name, int64_t time_ns, double value)
{
    add_typed(name, TC_SAMPLE_GAUGE, NULL, NULL, time_ns, value);
}

static void add_counter(const char *name, int64_t time_ns, double value)
{
    add_typed(name, TC_SAMPLE_COUNTER, NULL, NULL, time_ns, value);
}

static void expect_real(const struct row *row, size_t column, double value)
{
    assert_true(row->known[column]);
    if (row->real[column] != value) {
        fail_msg("column %zu is %.17g, expected %.17g", column, row->real[column], value);
    }
}

/* ---- windows ---- */

static void a_window_has_its_start_and_not_its_end(void **state)
{
    (void)state;
    add("a", T0 - 1, 1);
    add("a", T0, 2);
    add("a", T0 + MINUTE - 1, 3);
    add("a", T0 + MINUTE, 4);
    flush(INT64_MAX);
    assert_int_equal(got_count, 3);
    assert_int_equal(got[0].integer[TC_SLICE_START], (T0 - MINUTE) / 1000);
    assert_int_equal(got[0].integer[TC_SLICE_END], T0 / 1000);
    assert_int_equal(got[1].integer[TC_SLICE_START], T0 / 1000);
    assert_int_equal(got[1].integer[TC_SLICE_COUNT], 2);
    expect_real(&got[1], TC_SLICE_MIN, 2);
    expect_real(&got[1], TC_SLICE_LAST, 3);
    expect_real(&got[2], TC_SLICE_LAST, 4);
}

static void a_window_is_given_out_when_it_has_ended(void **state)
{
    (void)state;
    add("a", T0, 1);
    flush(T0 + MINUTE - 1);
    assert_int_equal(got_count, 0);
    assert_int_equal(counts().waiting, 1);
    flush(T0 + MINUTE);
    assert_int_equal(got_count, 1);
    assert_int_equal(counts().waiting, 0);
    flush(T0 + 2 * MINUTE);
    assert_int_equal(got_count, 0);
}

static void late_samples_are_counted(void **state)
{
    (void)state;
    add("a", T0, 1);
    flush(T0 + MINUTE);
    add("a", T0 + MINUTE - 1, 2);
    assert_int_equal(counts().late, 1);
    add("a", T0 + MINUTE, 3);
    assert_int_equal(counts().late, 1);
    flush(INT64_MAX);
    assert_int_equal(got_count, 1);
}

static void times_that_cannot_be_are_counted(void **state)
{
    (void)state;
    add("a", TC_TIME_NONE, 1);
    add("a", -1, 1);
    add("a", TC_TIME_MAX + 1, 1);
    assert_int_equal(counts().undated, 3);
    add("a", TC_TIME_MAX, 1);
    assert_int_equal(counts().undated, 3);
    tc_slices_now(slices, T0);
    add("a", T0 + 24 * 60 * MINUTE, 1);
    assert_int_equal(counts().ahead, 0);
    add("a", T0 + 24 * 60 * MINUTE + 1, 1);
    assert_int_equal(counts().ahead, 1);
    tc_slices_now(slices, INT64_MAX);
    add("a", TC_TIME_MAX, 1);
    assert_int_equal(counts().ahead, 1);
}

static void percentiles_are_nearest_ranks(void **state)
{
    (void)state;
    for (int i = 100; i >= 1; i--) {
        add("a", T0 + i, i);
    }
    add("b", T0, 7);
    flush(INT64_MAX);
    assert_int_equal(got_count, 2);
    assert_int_equal(got[0].integer[TC_SLICE_COUNT], 100);
    expect_real(&got[0], TC_SLICE_P50, 50);
    expect_real(&got[0], TC_SLICE_P95, 95);
    expect_real(&got[0], TC_SLICE_P99, 99);
    expect_real(&got[0], TC_SLICE_MEAN, 50.5);
    expect_real(&got[0], TC_SLICE_LAST, 100);
    expect_real(&got[1], TC_SLICE_P50, 7);
    expect_real(&got[1], TC_SLICE_P99, 7);
}

static void a_mean_of_huge_values_is_still_one(void **state)
{
    (void)state;
    add("a", T0, 1.7e308);
    add("a", T0 + 1, 1.7e308);
    add("b", T0, -0.0);
    flush(INT64_MAX);
    assert_true(isfinite(got[0].real[TC_SLICE_MEAN]));
    assert_true(got[0].real[TC_SLICE_MEAN] > 1.6e308);
    expect_real(&got[1], TC_SLICE_MIN, 0);
    assert_false(signbit(got[1].real[TC_SLICE_MIN]));
}

/* ---- counters ---- */

static void a_counter_is_its_rise_per_second(void **state)
{
    (void)state;
    add_counter("c", T0, 100);
    add_counter("c", T0 + 10 * TC_SECOND, 150);
    add_counter("c", T0 + 30 * TC_SECOND, 150);
    add_counter("c", T0 + 70 * TC_SECOND, 350);
    flush(INT64_MAX);
    assert_int_equal(got_count, 2);
    assert_int_equal(got[0].integer[TC_SLICE_COUNT], 3);
    expect_real(&got[0], TC_SLICE_MIN, 0);
    expect_real(&got[0], TC_SLICE_MAX, 5);
    expect_real(&got[0], TC_SLICE_MEAN, 2.5);
    expect_real(&got[0], TC_SLICE_LAST, 150);
    expect_real(&got[1], TC_SLICE_MEAN, 5); /* 200 in 40 s, from the window before */
}

static void the_first_sample_of_a_counter_has_no_rise(void **state)
{
    (void)state;
    add_counter("c", T0, 100);
    flush(INT64_MAX);
    assert_int_equal(got[0].integer[TC_SLICE_COUNT], 1);
    assert_false(got[0].known[TC_SLICE_MIN]);
    assert_false(got[0].known[TC_SLICE_MEAN]);
    assert_false(got[0].known[TC_SLICE_P99]);
    expect_real(&got[0], TC_SLICE_LAST, 100);
}

static void a_restart_is_no_rise(void **state)
{
    (void)state;
    add_counter("c", T0, 100);
    add_counter("c", T0 + 10 * TC_SECOND, 3);
    add_counter("c", T0 + 20 * TC_SECOND, 13);
    flush(INT64_MAX);
    expect_real(&got[0], TC_SLICE_MIN, 1);
    expect_real(&got[0], TC_SLICE_MAX, 1);
    expect_real(&got[0], TC_SLICE_LAST, 13);
}

static void the_rise_goes_on_over_a_flush(void **state)
{
    (void)state;
    add_counter("c", T0, 100);
    flush(T0 + MINUTE);
    add_counter("c", T0 + MINUTE, 160);
    flush(T0 + 2 * MINUTE);
    assert_int_equal(got_count, 1);
    expect_real(&got[0], TC_SLICE_MEAN, 1);
}

static void two_values_of_one_time_have_no_rise_between_them(void **state)
{
    (void)state;
    add_counter("c", T0, 100);
    add_counter("c", T0 + TC_SECOND, 120);
    add_counter("c", T0 + TC_SECOND, 110);
    flush(INT64_MAX);
    assert_int_equal(got[0].integer[TC_SLICE_COUNT], 3);
    expect_real(&got[0], TC_SLICE_MAX, 10);
    expect_real(&got[0], TC_SLICE_LAST, 120);
}

static void add_delta(int64_t start_ns, int64_t time_ns, double value)
{
    struct tc_sample sample = {.name = TC_LIT("d"),
                               .type = TC_SAMPLE_DELTA,
                               .time_ns = time_ns,
                               .start_ns = start_ns,
                               .value = value};
    tc_slices_add(slices, &sample, time_ns, &nothing_known);
}

static void a_difference_is_divided_by_its_time(void **state)
{
    (void)state;
    add_delta(T0, T0 + 10 * TC_SECOND, 50);
    add_delta(TC_TIME_NONE, T0 + 11 * TC_SECOND, 50);
    add_delta(T0 + 12 * TC_SECOND, T0 + 12 * TC_SECOND, 50);
    flush(INT64_MAX);
    assert_int_equal(got_count, 1);
    assert_int_equal(got[0].integer[TC_SLICE_COUNT], 1);
    expect_real(&got[0], TC_SLICE_MEAN, 5);
    assert_false(got[0].known[TC_SLICE_LAST]);
    assert_int_equal(counts().not_finite, 2);
}

/* ---- values ---- */

static void the_same_sample_twice_counts_once(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        add("a", T0, 1);
        add("a", T0 + 1, 2);
    }
    add("a", T0, 3);
    flush(INT64_MAX);
    assert_int_equal(got[0].integer[TC_SLICE_COUNT], 3);
    assert_int_equal(counts().duplicates, 4);
}

static void what_is_no_number_is_counted(void **state)
{
    (void)state;
    add("a", T0, (double)NAN);
    add("a", T0, HUGE_VAL);
    add("a", T0, -HUGE_VAL);
    add("DCGM_FI_DEV_FB_USED", T0, 9223372036854775794.0);
    add("DCGM_FI_DEV_GPU_TEMP", T0, 2147483632.0);
    add("DCGM_FI_DEV_GPU_TEMP", T0, 2147483631.0);
    assert_int_equal(counts().not_finite, 5);
    flush(INT64_MAX);
    assert_int_equal(got_count, 1);
    assert_string_equal(got[0].text[TC_SLICE_METRIC], "gpu_temperature");
}

static void the_order_in_which_samples_come_does_not_show(void **state)
{
    (void)state;
    static struct row first[64];
    size_t first_count = 0;
    unsigned seed = 1;
    for (int round = 0; round < 20; round++) {
        int order[120];
        for (int i = 0; i < 120; i++) {
            order[i] = i;
        }
        for (int i = 119; round > 0 && i > 0; i--) {
            seed = seed * 1103515245u + 12345u;
            int k = (int)((seed >> 8) % (unsigned)(i + 1));
            int swap = order[i];
            order[i] = order[k];
            order[k] = swap;
        }
        for (int i = 0; i < 120; i++) {
            int n = order[i];
            char name[16];
            (void)snprintf(name, sizeof name, "s%d", n % 5);
            int64_t time_ns = T0 + (n / 10) * 15 * TC_SECOND;
            add_typed(name, n % 2 ? TC_SAMPLE_COUNTER : TC_SAMPLE_GAUGE, "k", "v", time_ns,
                      (n * 37) % 11 + n / 7);
        }
        flush(INT64_MAX);
        if (round == 0) {
            first_count = got_count;
            assert_true(first_count > 10 && first_count <= 64);
            memcpy(first, got, first_count * sizeof *first);
        }
        assert_int_equal(got_count, first_count);
        assert_memory_equal(first, got, first_count * sizeof *first);
        tc_slices_destroy(slices);
        begin_with(256, (size_t)2 << 20);
    }
}

static void rows_come_by_time_then_series(void **state)
{
    (void)state;
    add("b", T0 + MINUTE, 1);
    add("vllm:c", T0, 1);
    add("b", T0, 1);
    add_typed("b", TC_SAMPLE_GAUGE, "k", "2", T0, 1);
    add_typed("b", TC_SAMPLE_GAUGE, "k", "1", T0, 1);
    add("a", T0, 1);
    flush(INT64_MAX);
    assert_int_equal(got_count, 6);
    const char *metrics[] = {"a", "b", "b", "b", "vllm:c", "b"};
    const char *points[] = {"", "", "k=1", "k=2", "", ""};
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(got[i].text[TC_SLICE_METRIC], metrics[i]);
        assert_string_equal(got[i].text[TC_SLICE_POINT], points[i]);
    }
}

/* ---- bounds ---- */

static void series_beyond_the_bound_are_counted_and_others_go_on(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < 256; i++) {
        (void)snprintf(name, sizeof name, "s%d", i);
        add(name, T0, i);
    }
    assert_int_equal(counts().series, 256);
    assert_int_equal(counts().series_full, 0);
    add("one_more", T0, 1);
    add("one_more", T0 + 1, 1);
    add("s255", T0 + 1, 1);
    assert_int_equal(counts().series_full, 2);
    flush(INT64_MAX);
    assert_int_equal(got_count, 256);
}

static void idle_series_make_room(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < 256; i++) {
        (void)snprintf(name, sizeof name, "s%d", i);
        add(name, T0 + (i < 128 ? 0 : 10 * MINUTE), i);
    }
    add("one_more", T0 + 10 * MINUTE, 1);
    flush(T0 + 11 * MINUTE);
    assert_int_equal(counts().series_gone, 128);
    assert_int_equal(counts().series, 128);
    add("one_more", T0 + 11 * MINUTE, 1);
    add("s200", T0 + 11 * MINUTE, 5);
    add("s3", T0 + 11 * MINUTE, 6);
    flush(T0 + 12 * MINUTE);
    assert_int_equal(got_count, 3);
    assert_string_equal(got[0].text[TC_SLICE_METRIC], "one_more");
    assert_string_equal(got[1].text[TC_SLICE_METRIC], "s200");
    assert_string_equal(got[2].text[TC_SLICE_METRIC], "s3");
    assert_int_equal(counts().series_full, 1);
}

static void what_is_kept_of_a_sweep_stays_what_it_was(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < 230; i++) {
        (void)snprintf(name, sizeof name, "s%03d", i);
        add(name, T0 + (i % 2 == 0 ? 0 : 10 * MINUTE), i);
    }
    flush(T0 + 11 * MINUTE);
    assert_int_equal(counts().series_gone, 115);
    for (int i = 0; i < 40; i++) { /* gone and kept ones, by the bytes that were known */
        (void)snprintf(name, sizeof name, "s%03d", i);
        add(name, T0 + 11 * MINUTE, i);
    }
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "n%03d", i);
        add(name, T0 + 11 * MINUTE, 1000 + i);
    }
    assert_int_equal(counts().series, 115 + 20 + 20);
    flush(T0 + 12 * MINUTE);
    assert_int_equal(got_count, 60);
    for (int i = 0; i < 60; i++) {
        int n = i < 20 ? i : i - 20;
        (void)snprintf(name, sizeof name, "%c%03d", i < 20 ? 'n' : 's', n);
        assert_string_equal(got[i].text[TC_SLICE_METRIC], name);
        expect_real(&got[i], TC_SLICE_LAST, i < 20 ? 1000 + n : n);
    }
}

static void what_is_not_due_waits(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        add("a", T0 + i * 30 * TC_SECOND, i);
    }
    flush(T0 + MINUTE);
    assert_int_equal(got_count, 1);
    assert_int_equal(counts().waiting, 8);
    flush(INT64_MAX);
    assert_int_equal(got_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(got[i].integer[TC_SLICE_COUNT], 2);
        expect_real(&got[i], TC_SLICE_LAST, (double)(2 * i + 3));
    }
}

static void series_come_and_go_for_ever(void **state)
{
    (void)state;
    char name[32];
    for (int minute = 0; minute < 400; minute++) {
        for (int i = 0; i < 20; i++) {
            (void)snprintf(name, sizeof name, "pod_%d_%d", minute, i);
            add(name, T0 + minute * MINUTE, i);
        }
        flush(T0 + (minute + 1) * MINUTE);
        assert_int_equal(got_count, 20);
        (void)snprintf(name, sizeof name, "pod_%d_7", minute);
        bool found = false;
        for (size_t i = 0; i < got_count; i++) {
            found = found || (strcmp(got[i].text[TC_SLICE_METRIC], name) == 0 &&
                              got[i].real[TC_SLICE_LAST] == 7);
        }
        assert_true(found);
    }
    assert_int_equal(counts().series_full, 0);
    assert_int_equal(counts().windows, 8000);
}

static void no_rate_leaves_a_sample_out(void **state)
{
    (void)state;
    tc_slices_destroy(slices);
    begin_with(16, (size_t)512 << 10);
    for (int i = 0; i < 8; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "s%d", i);
        add(name, T0, i);
    }
    for (int i = 0; i < 100000; i++) {
        add("flood", T0 + i, i % 1000);
    }
    add("s3", T0 + 1, 5);
    assert_int_equal(counts().samples_full, 0);
    assert_int_equal(counts().waiting, 100009);
    flush(INT64_MAX);
    assert_int_equal(got_count, 9);
    assert_string_equal(got[0].text[TC_SLICE_METRIC], "flood");
    assert_int_equal(got[0].integer[TC_SLICE_COUNT], 100000);
    expect_real(&got[0], TC_SLICE_MIN, 0);
    expect_real(&got[0], TC_SLICE_MAX, 999);
    expect_real(&got[0], TC_SLICE_MEAN, 499.5);
    expect_real(&got[0], TC_SLICE_LAST, 999);
    /* No more different values than bins: exact at any rate. */
    expect_real(&got[0], TC_SLICE_P50, 499);
    expect_real(&got[0], TC_SLICE_P95, 949);
    expect_real(&got[0], TC_SLICE_P99, 989);
    assert_int_equal(got[4].integer[TC_SLICE_COUNT], 2);
    assert_int_equal(counts().folded, 1);
    assert_int_equal(counts().unranked, 0);
    assert_int_equal(counts().waiting, 0);
}

static void settings_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct tc_slices *none = NULL;
    struct tc_error err;
    struct tc_slices_config config = TC_SLICES_CONFIG_DEFAULT;
    config.window_ns = TC_SECOND - 1;
    assert_int_equal(tc_slices_create(&config, &none, &err), TC_E_USAGE);
    config.window_ns = 31 * 24 * 60 * MINUTE + 1;
    assert_int_equal(tc_slices_create(&config, &none, &err), TC_E_USAGE);
    config.window_ns = 31 * 24 * 60 * MINUTE;
    assert_int_equal(tc_slices_create(&config, &none, &err), TC_OK);
    tc_slices_destroy(none);
    none = NULL;
    config.window_ns = TC_SECOND;
    config.series_max = 0;
    assert_int_equal(tc_slices_create(&config, &none, &err), TC_E_USAGE);
    config.series_max = ((size_t)1 << 24) + 1;
    assert_int_equal(tc_slices_create(&config, &none, &err), TC_E_USAGE);
    config.series_max = 65536;
    config.memory_bytes = (size_t)1 << 20;
    assert_int_equal(tc_slices_create(&config, &none, &err), TC_E_USAGE);
    assert_null(none);
    tc_slices_destroy(NULL);
}

static tc_status refuse(void *context, const struct tc_rows *rows)
{
    (void)rows;
    ++*(int *)context;
    return TC_E_IO;
}

static void rows_that_are_not_taken_are_an_error_and_gone(void **state)
{
    (void)state;
    struct tc_error err = {0};
    int calls = 0;
    add("a", T0, 1);
    assert_int_equal(tc_slices_flush(slices, T0 + MINUTE, refuse, &calls, &err), TC_E_IO);
    assert_int_equal(calls, 1);
    flush(T0 + MINUTE);
    assert_int_equal(got_count, 0);
    add("a", T0 + MINUTE, 1);
    flush(INT64_MAX);
    assert_int_equal(got_count, 1);
}

static void more_rows_than_a_batch_come_in_several(void **state)
{
    (void)state;
    for (int i = 0; i < 2049; i++) {
        add("a", T0 + i * MINUTE, i);
    }
    flush(INT64_MAX);
    assert_int_equal(got_count, 2049);
    for (int i = 0; i < 2049; i++) {
        assert_int_equal(got[i].integer[TC_SLICE_START], (T0 + i * MINUTE) / 1000);
    }
}

/* ---- who a series belongs to ---- */

static void add_labels(const char *name, const struct tc_sample_label *labels, size_t count,
                       const struct tc_series_scope *known)
{
    struct tc_sample sample = {.name = tc_slice_cstr(name),
                               .type = TC_SAMPLE_GAUGE,
                               .time_ns = T0,
                               .start_ns = TC_TIME_NONE,
                               .value = 1,
                               .labels = labels,
                               .label_count = count};
    tc_slices_add(slices, &sample, T0, known);
}

#define L(k, v)              \
    {                        \
        {k, sizeof(k) - 1},  \
        {                    \
            v, sizeof(v) - 1 \
        }                    \
    }

static void labels_become_columns_and_the_rest_a_point(void **state)
{
    (void)state;
    static const struct tc_sample_label labels[] = {
        L("zone", "z,1"),         L("rank", "3"),          L("k8s.pod.uid", "uid-1"),
        L("instance", "h1:8000"), L("run_id", "run-9"),    L("request_class", "chat"),
        L("job_uid", "job-1"),    L("empty", ""),          L("scheduler_run_id", "sr-1"),
        L("device", "mlx5_0"),    L("UUID", "GPU-abcdef"),
    };
    add_labels("vllm:num_requests_running", labels, sizeof labels / sizeof labels[0],
               &nothing_known);
    flush(INT64_MAX);
    assert_int_equal(got_count, 1);
    assert_string_equal(got[0].text[TC_SLICE_FAMILY], "service");
    assert_string_equal(got[0].text[TC_SLICE_NODE], "h1");
    assert_string_equal(got[0].text[TC_SLICE_GPU], "GPU-abcdef");
    assert_int_equal(got[0].integer[TC_SLICE_RANK], 3);
    assert_string_equal(got[0].text[TC_SLICE_POD_UID], "uid-1");
    assert_string_equal(got[0].text[TC_SLICE_RUN_ID], "run-9");
    assert_string_equal(got[0].text[TC_SLICE_JOIN], "identity");
    assert_string_equal(got[0].text[TC_SLICE_REQUEST_CLASS], "chat");
    assert_string_equal(got[0].text[TC_SLICE_JOB_UID], "job-1");
    assert_string_equal(got[0].text[TC_SLICE_SCHEDULER_RUN_ID], "sr-1");
    assert_string_equal(got[0].text[TC_SLICE_POINT], "device=mlx5_0,instance=h1:8000,zone=z\\,1");
}

static void the_order_of_labels_does_not_make_a_series(void **state)
{
    (void)state;
    static const struct tc_sample_label ab[] = {L("a", "1"), L("b", "2")};
    static const struct tc_sample_label ba[] = {L("b", "2"), L("a", "1")};
    static const struct tc_sample_label glued[] = {L("a", "1,b=2")};
    add_labels("m", ab, 2, &nothing_known);
    add_labels("m", ba, 2, &nothing_known);
    assert_int_equal(counts().series, 1);
    add_labels("m", glued, 1, &nothing_known);
    assert_int_equal(counts().series, 2);
}

static void runs_are_joined_by_identity_or_as_given(void **state)
{
    (void)state;
    static const struct tc_sample_label mine[] = {L("run_id", "run-1")};
    static const struct tc_sample_label other[] = {L("tracecore.run.id", "run-2")};
    struct tc_series_scope given = TC_SERIES_SCOPE_NONE;
    given.run_id = TC_LIT("run-1");
    given.run_join = TC_LIT("given");
    add_labels("m", mine, 1, &given);
    add_labels("m", NULL, 0, &given);
    add_labels("m", other, 1, &given);
    assert_int_equal(counts().other_run, 1);
    assert_int_equal(tc_slices_other_run(slices).len, 5);
    assert_memory_equal(tc_slices_other_run(slices).ptr, "run-2", 5);
    given.run_join = TC_LIT("time"); /* what a label says is more than a guess */
    add_labels("m", other, 1, &given);
    flush(INT64_MAX);
    assert_int_equal(got_count, 3);
    assert_string_equal(got[0].text[TC_SLICE_RUN_ID], "run-1");
    assert_string_equal(got[0].text[TC_SLICE_JOIN], "given");
    assert_string_equal(got[1].text[TC_SLICE_JOIN], "identity");
    assert_string_equal(got[2].text[TC_SLICE_RUN_ID], "run-2");
    assert_string_equal(got[2].text[TC_SLICE_JOIN], "identity");
}

static void labels_of_one_request_are_not_kept(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "%d", i);
        add_typed("latency", TC_SAMPLE_GAUGE, "request_id", id, T0 + i, i);
        add_typed("tokens_total", TC_SAMPLE_COUNTER, "trace.id", id, T0 + i, i);
    }
    add_typed("latency", TC_SAMPLE_GAUGE, "request_id", "7", T0 + 7, 7);
    add_typed("latency", TC_SAMPLE_GAUGE, "request_id", "7", T0 + 7, 7);
    assert_int_equal(counts().series, 1);
    assert_int_equal(counts().labels_left, 402);
    assert_int_equal(counts().counters_left, 200);
    flush(INT64_MAX);
    assert_int_equal(got_count, 1);
    assert_int_equal(got[0].integer[TC_SLICE_COUNT], 200);
    assert_false(got[0].known[TC_SLICE_POINT]);
}

static void long_and_odd_texts_are_kept_as_what_a_row_may_have(void **state)
{
    (void)state;
    static char text[4096];
    memset(text, 'x', sizeof text - 1);
    text[256] = '\0';
    add_typed("m", TC_SAMPLE_GAUGE, "node", text, T0, 1);
    text[256] = 'x';
    text[257] = '\0';
    add_typed("m", TC_SAMPLE_GAUGE, "node", text, T0 + MINUTE, 1);
    add_typed("m", TC_SAMPLE_GAUGE, "node", "a\xff\n", T0 + 2 * MINUTE, 1);
    text[257] = 'x';
    add_typed("m", TC_SAMPLE_GAUGE, "k", text, T0 + 3 * MINUTE, 1);
    static char letters[257];
    for (size_t i = 0; i < 128; i++) {
        memcpy(letters + 2 * i, "\xc3\xa9", 2);
    }
    add_typed("m", TC_SAMPLE_GAUGE, "node", letters, T0 + 4 * MINUTE, 1);
    flush(INT64_MAX);
    assert_int_equal(got_count, 5);
    assert_string_equal(got[4].text[TC_SLICE_NODE], letters);
    assert_int_equal(strlen(got[0].text[TC_SLICE_NODE]), 256);
    assert_int_equal(strncmp(got[1].text[TC_SLICE_NODE], "sha256:", 7), 0);
    assert_int_equal(strlen(got[1].text[TC_SLICE_NODE]), 7 + 16);
    assert_string_equal(got[2].text[TC_SLICE_NODE], "a\\xff\\x0a");
    assert_int_equal(strncmp(got[3].text[TC_SLICE_POINT], "k=sha256:", 9), 0);
}

static void more_labels_than_a_key_holds_still_make_one_series(void **state)
{
    (void)state;
    static char values[TC_SAMPLE_LABELS_MAX][256];
    static struct tc_sample_label labels[TC_SAMPLE_LABELS_MAX];
    static char keys[TC_SAMPLE_LABELS_MAX][8];
    for (size_t i = 0; i < TC_SAMPLE_LABELS_MAX; i++) {
        memset(values[i], 'v', sizeof values[i]);
        int len = snprintf(keys[i], sizeof keys[i], "k%02zu", i);
        labels[i] = (struct tc_sample_label){tc_slice_make(keys[i], (size_t)len),
                                             tc_slice_make(values[i], sizeof values[i])};
    }
    add_labels("m", labels, TC_SAMPLE_LABELS_MAX, &nothing_known);
    add_labels("m", labels, TC_SAMPLE_LABELS_MAX, &nothing_known);
    assert_int_equal(counts().series, 1);
    assert_int_equal(counts().waiting, 2);
    memset(values, ',', sizeof values); /* the last byte of many tells them apart */
    add_labels("m", labels, TC_SAMPLE_LABELS_MAX, &nothing_known);
    values[TC_SAMPLE_LABELS_MAX - 1][255] = 'x';
    add_labels("m", labels, TC_SAMPLE_LABELS_MAX, &nothing_known);
    assert_int_equal(counts().series, 3);
    flush(INT64_MAX);
    assert_int_equal(strncmp(got[0].text[TC_SLICE_POINT], "sha256:", 7), 0);
}

/* ---- events ---- */

static void events_and_samples_of_one_thing_are_one_series(void **state)
{
    (void)state;
    static const struct tc_sample_label labels[] = {L("gpu", "0"), L("UUID", "GPU-1"),
                                                    L("Hostname", "n1"), L("pod", "p"),
                                                    L("namespace", "ns")};
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = T0 + TC_SECOND;
    ev.scope.node = TC_LIT("n1");
    ev.scope.gpu_uuid = TC_LIT("GPU-1");
    ev.scope.gpu_index = 0;
    ev.scope.pod = TC_LIT("p");
    ev.scope.ns = TC_LIT("ns");
    ev.metric.metric = TC_METRIC_GPU_TEMP;
    ev.metric.value = 60;
    add_labels("DCGM_FI_DEV_GPU_TEMP", labels, sizeof labels / sizeof labels[0], &nothing_known);
    tc_slices_add_event(slices, &ev, &nothing_known);
    tc_slices_add_event(slices, &ev, &nothing_known);
    assert_int_equal(counts().series, 1);
    flush(INT64_MAX);
    assert_int_equal(got_count, 1);
    assert_string_equal(got[0].text[TC_SLICE_METRIC], "gpu_temperature");
    assert_string_equal(got[0].text[TC_SLICE_UNIT], "C");
    assert_string_equal(got[0].text[TC_SLICE_POINT], "namespace=ns,pod=p");
    assert_int_equal(got[0].integer[TC_SLICE_COUNT], 2);
    expect_real(&got[0], TC_SLICE_MAX, 60);
}

static void other_events_do_nothing(void **state)
{
    (void)state;
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_XID);
    ev.time_ns = T0;
    tc_slices_add_event(slices, &ev, &nothing_known);
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = T0;
    tc_slices_add_event(slices, &ev, &nothing_known);
    ev.metric.metric = TC_METRIC_COUNT;
    tc_slices_add_event(slices, &ev, &nothing_known);
    assert_int_equal(counts().samples, 0);
    ev.metric.metric = TC_METRIC_GPU_TEMP;
    ev.metric.value = (double)NAN;
    tc_slices_add_event(slices, &ev, &nothing_known);
    assert_int_equal(counts().not_finite, 1);
}

/* ---- families ---- */

/* The family of a metric name; "other" when it is of none that we know. */
static struct tc_slice family_of(struct tc_slice metric)
{
    enum tc_metric ours = TC_METRIC_NONE;
    struct tc__naming naming;
    if (tc_metric_parse(metric, &ours)) {
        return tc__family_name(tc__family_of_metric(ours));
    }
    tc__naming_of(metric, &naming);
    return tc__family_name(naming.family);
}

static void families_are_told_by_name(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"DCGM_FI_DEV_GPU_TEMP", "dcgm"},
        {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "nvlink"},
        {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "node-pci"},
        {"node_pcidevice_current_link_width", "node-pci"},
        {"nvlink_crc_flit_errors", "nvlink"},
        {"gpu_temperature", "dcgm"},
        {"ping_rtt_mean_seconds", "ping"},
        {"problem_counter", "node-problem-detector"},
        {"hpc_verification_result", "hpc-verification"},
        {"kueue_pending_workloads", "kueue"},
        {"slurm_partition_jobs_pending_total", "slinky"},
        {"kube_pod_status_phase", "kubernetes"},
        {"container_cpu_cfs_throttled_seconds_total", "kubernetes"},
        {"k8s.pod.cpu.usage", "kubernetes"},
        {"vllm:num_requests_waiting", "service"},
        {"sglang:num_queue_reqs", "service"},
        {"nv_inference_queue_duration_us", "service"},
        {"node_load1", "node"},
        {"go_goroutines", "other"},
        {"", "other"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tc_slice family = family_of(tc_slice_cstr(rows[i][0]));
        if (!tc_slice_eq(family, tc_slice_cstr(rows[i][1]))) {
            fail_msg("%s is of %.*s", rows[i][0], TC_FMT(family));
        }
    }
}

static void units_are_converted_once(void **state)
{
    (void)state;
    add("ping_rtt_mean_seconds", T0, 0.25);
    add("ping_rtt_worst_ms", T0, 7);
    add("DCGM_FI_PROF_GR_ENGINE_ACTIVE", T0, 0.5);
    add("x_seconds", T0, 3);
    flush(INT64_MAX);
    assert_int_equal(got_count, 4);
    assert_string_equal(got[0].text[TC_SLICE_METRIC], "gpu_utilization");
    expect_real(&got[0], TC_SLICE_LAST, 50);
    assert_string_equal(got[1].text[TC_SLICE_METRIC], "x_seconds");
    assert_string_equal(got[1].text[TC_SLICE_UNIT], "s");
    assert_string_equal(got[2].text[TC_SLICE_METRIC], "ping_rtt_mean");
    assert_string_equal(got[2].text[TC_SLICE_UNIT], "ms");
    expect_real(&got[2], TC_SLICE_LAST, 250);
    expect_real(&got[3], TC_SLICE_LAST, 7);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_window_has_its_start_and_not_its_end),
        TEST(a_window_is_given_out_when_it_has_ended),
        TEST(late_samples_are_counted),
        TEST(times_that_cannot_be_are_counted),
        TEST(percentiles_are_nearest_ranks),
        TEST(a_mean_of_huge_values_is_still_one),
        TEST(a_counter_is_its_rise_per_second),
        TEST(the_first_sample_of_a_counter_has_no_rise),
        TEST(a_restart_is_no_rise),
        TEST(the_rise_goes_on_over_a_flush),
        TEST(two_values_of_one_time_have_no_rise_between_them),
        TEST(a_difference_is_divided_by_its_time),
        TEST(the_same_sample_twice_counts_once),
        TEST(what_is_no_number_is_counted),
        TEST(the_order_in_which_samples_come_does_not_show),
        TEST(rows_come_by_time_then_series),
        TEST(series_beyond_the_bound_are_counted_and_others_go_on),
        TEST(idle_series_make_room),
        TEST(what_is_kept_of_a_sweep_stays_what_it_was),
        TEST(what_is_not_due_waits),
        TEST(series_come_and_go_for_ever),
        TEST(no_rate_leaves_a_sample_out),
        TEST(settings_that_cannot_be_are_refused),
        TEST(rows_that_are_not_taken_are_an_error_and_gone),
        TEST(more_rows_than_a_batch_come_in_several),
        TEST(labels_become_columns_and_the_rest_a_point),
        TEST(the_order_of_labels_does_not_make_a_series),
        TEST(runs_are_joined_by_identity_or_as_given),
        TEST(labels_of_one_request_are_not_kept),
        TEST(long_and_odd_texts_are_kept_as_what_a_row_may_have),
        TEST(more_labels_than_a_key_holds_still_make_one_series),
        TEST(events_and_samples_of_one_thing_are_one_series),
        TEST(other_events_do_nothing),
        TEST(families_are_told_by_name),
        TEST(units_are_converted_once),
    };
    return cmocka_run_group_tests(tests, NULL, end_all);
}
