/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as metrics: every sample, then slices of them, then the whole file as an import reads
 * it, with the requests of traces. The first byte chooses memory and what is known from outside.
 * Besides not crashing: times are in range, numbers of a row are in order, rows come by time, texts
 * are printable and counts add up.
 */
#include "base/assert.h"
#include "base/time.h"
#include "codec/samples.h"
#include "telemetry/files.h"
#include "telemetry/slices.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ARENA_BYTES ((size_t)2 << 20)
#define ARENA_SMALL ((size_t)256)
#define INPUT_MAX ((size_t)64 << 10)
#define TAKEN_NS (INT64_C(1772600760) * TC_SECOND)

struct run {
    struct tc_slices *slices;
    uint64_t taken;
    uint64_t rows;
    int64_t last_start;
    uint64_t digest;
    unsigned sum; /* keeps the reads of the strings */
    bool small;
};

static tc_status take_rows(void *context, const struct tc_rows *rows)
{
    struct run *run = context;
    TC_ASSERT(rows->count > 0 && rows->count <= TC_ROWS_MAX);
    for (size_t r = 0; r < rows->count; r++) {
        const struct tc_rows_column *c = rows->columns;
        int64_t start = c[TC_SLICE_START].cells[r].integer;
        TC_ASSERT(start >= run->last_start);
        TC_ASSERT(c[TC_SLICE_END].cells[r].integer > start);
        TC_ASSERT(c[TC_SLICE_COUNT].cells[r].integer > 0);
        TC_ASSERT(!tc_rows_is_null(rows, TC_SLICE_METRIC, r));
        TC_ASSERT(!tc_rows_is_null(rows, TC_SLICE_FAMILY, r));
        run->last_start = start;
        if (!tc_rows_is_null(rows, TC_SLICE_MIN, r)) {
            double min = c[TC_SLICE_MIN].cells[r].real;
            double max = c[TC_SLICE_MAX].cells[r].real;
            double p50 = c[TC_SLICE_P50].cells[r].real;
            double p95 = c[TC_SLICE_P95].cells[r].real;
            double p99 = c[TC_SLICE_P99].cells[r].real;
            double mean = c[TC_SLICE_MEAN].cells[r].real;
            double slack = fmax(fabs(min), fabs(max)) * 1e-9;
            TC_ASSERT(min <= p50 && p50 <= p95 && p95 <= p99 && p99 <= max);
            TC_ASSERT(tc_rows_is_null(rows, TC_SLICE_MEAN, r) ||
                      (mean >= min - slack && mean <= max + slack));
        }
        for (size_t i = 0; i < rows->column_count; i++) {
            if (!tc_rows_is_null(rows, i, r) && c[i].type == TC_COLUMN_TEXT) {
                struct tc_slice text = tc_rows_get_text(rows, i, r);
                TC_ASSERT(text.len > 0 && text.len <= 256);
                for (size_t k = 0; k < text.len; k++) {
                    TC_ASSERT((unsigned char)text.ptr[k] >= ' ');
                }
                run->digest = tc_slice_hash(text, run->digest);
            } else if (!tc_rows_is_null(rows, i, r)) {
                run->digest = tc_hash_mix(run->digest, (uint64_t)c[i].cells[r].integer);
            }
        }
        run->rows++;
    }
    return TC_OK;
}

static tc_status take_requests(void *context, const struct tc_rows *rows)
{
    struct run *run = context;
    size_t column = 0;
    size_t row = 0;
    TC_ASSERT(rows->count > 0 && rows->count <= TC_ROWS_MAX);
    TC_ASSERT(tc_rows_are_sound(rows, &column, &row));
    for (size_t r = 0; r < rows->count; r++) {
        TC_ASSERT(!tc_rows_is_null(rows, TC_REQUEST_TOOL, r));
        TC_ASSERT(!tc_rows_is_null(rows, TC_REQUEST_STATUS, r));
        TC_ASSERT(!tc_rows_is_null(rows, TC_REQUEST_SOURCE_POINTER, r));
        TC_ASSERT(tc_rows_is_null(rows, TC_REQUEST_BATCH, r));
        run->rows++;
    }
    return TC_OK;
}

static tc_status take_sample(void *context, const struct tc_sample *sample)
{
    static const struct tc_series_scope known = {.rank = -1};
    struct run *run = context;
    TC_ASSERT(sample->label_count <= TC_SAMPLE_LABELS_MAX);
    TC_ASSERT(sample->time_ns == TC_TIME_NONE ||
              (sample->time_ns >= 0 && sample->time_ns <= TC_TIME_MAX));
    for (size_t i = 0; i < sample->name.len; i++) {
        run->sum += (unsigned char)sample->name.ptr[i];
    }
    for (size_t i = 0; i < sample->label_count; i++) {
        for (size_t k = 0; k < sample->labels[i].value.len; k++) {
            run->sum += (unsigned char)sample->labels[i].value.ptr[k];
        }
    }
    tc_slices_add(run->slices, sample, sample->time_ns, &known);
    if (run->small && ++run->taken % 64 == 0) {
        TC_ASSERT(tc_slices_flush(run->slices, sample->time_ns, take_rows, run, NULL) == TC_OK);
    }
    return TC_OK;
}

static void read_slices(struct tc_slice bytes, uint8_t mode, char *block)
{
    struct tc_slices_config config = {.window_ns = (mode & 4) != 0 ? TC_SECOND : 60 * TC_SECOND,
                                      .series_max = (mode & 8) != 0 ? 4 : 64,
                                      .memory_bytes = (size_t)((mode & 8) != 0 ? 384 : 640) << 10,
                                      .exact_max = (mode & 32) != 0 ? 8 : 64};
    struct run run = {.last_start = INT64_MIN, .small = (mode & 16) != 0};
    TC_ASSERT(tc_slices_create(&config, &run.slices, NULL) == TC_OK);
    struct tc_samples_input in = {.bytes = bytes, .taken_ns = (mode & 2) != 0 ? TAKEN_NS : 0};
    struct tc_samples_out out = {.take = take_sample, .context = &run};
    struct tc_samples_counts counts = {0};
    struct tc_error err = {0};
    struct tc_arena arena;
    tc_arena_init(&arena, "fuzz", block, (mode & 1) != 0 ? ARENA_SMALL : ARENA_BYTES);
    tc_status status = tc_samples_read(&in, &arena, &out, &counts, &err);
    TC_ASSERT(arena.used == 0);
    TC_ASSERT(status == TC_OK || err.message[0] != '\0');
    TC_ASSERT(status == TC_OK || err.offset <= bytes.len);
    tc_arena_fini(&arena);
    TC_ASSERT(tc_slices_flush(run.slices, INT64_MAX, take_rows, &run, NULL) == TC_OK);
    struct tc_slices_counts c;
    tc_slices_counts(run.slices, &c);
    TC_ASSERT(c.waiting == 0 && c.windows == run.rows);
    TC_ASSERT(status != TC_OK || c.samples == counts.samples);
    TC_ASSERT(c.series <= config.series_max);
    tc_slices_destroy(run.slices);
}

static void note(void *context, struct tc_slice where, struct tc_slice field, struct tc_slice text)
{
    struct run *run = context;
    (void)where;
    TC_ASSERT(field.len > 0 && text.len > 0);
    run->sum += (unsigned char)text.ptr[text.len - 1];
}

static void read_file(struct tc_slice bytes, uint8_t mode)
{
    struct run run = {.last_start = INT64_MIN};
    struct tc_telemetry_input in = {.name = TC_LIT("fuzz"),
                                    .bytes = bytes,
                                    .taken_ns = (mode & 2) != 0 ? TAKEN_NS : TC_TIME_NONE,
                                    .run_id = (mode & 32) != 0 ? TC_LIT("run-1") : TC_EMPTY};
    struct tc_telemetry_out out = {
        .take = take_rows, .take_requests = take_requests, .note = note, .context = &run};
    struct tc_telemetry_counts counts = {0};
    struct tc_error err = {0};
    tc_status status = tc_telemetry_read(&in, &out, &counts, &err);
    TC_ASSERT(status == TC_OK || (run.rows == 0 && err.message[0] != '\0'));
    TC_ASSERT(status != TC_OK || (counts.rows == run.rows && counts.form != NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *block = NULL;
    uint8_t mode = size == 0 ? 0 : data[0];
    if (block == NULL) {
        block = malloc(ARENA_BYTES);
        TC_ASSERT(block != NULL);
    }
    if (size > INPUT_MAX) {
        return 0;
    }
    struct tc_slice bytes = size < 2 ? TC_EMPTY : tc_slice_make((const char *)data + 1, size - 1);
    read_slices(bytes, mode, block);
    if ((mode & 64) != 0) {
        read_file(bytes, mode);
    }
    return 0;
}
