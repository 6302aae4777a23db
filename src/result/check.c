/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What cannot be, whatever the tool: told as a contradiction. What is only odd is a note. Rounding
 * of the last digits is neither.
 */
#include "base/buf.h"
#include "result/result_priv.h"

#include <inttypes.h>
#include <math.h>

/* Percentiles are interpolated in doubles: two that are equal may differ in the last bits. */
#define ROUNDING 1e-9
/* Clocks are read one after the other: a difference of two times may be a little below 0. */
#define CLOCK_MS 1e-3
/* Rates are taken over a clock of their own, and files are rounded for people. */
#define RATE_TOLERANCE 0.05
/* What a run may take besides what it measured. */
#define LONGER_S 1800
/* An error rate of a file that rounds it to per cents. */
#define ERROR_RATE_TOLERANCE 0.005

struct check {
    struct tc_result *r;
    const struct tc_result_row *row;
    const struct tc_table_info *table;
};

/* The shortest text that gives the number again: as the file has it. */
struct shortest {
    char text[40];
};
static struct shortest shortest(double value)
{
    struct shortest s = {.text = ""};
    struct tc_buf b = tc_buf_make(s.text, sizeof s.text - 1);
    tc_buf_f64(&b, value);
    return s;
}

static bool above_by(double a, double b, double share)
{
    return a > b && a - b > share * fmax(fabs(a), fabs(b));
}

static bool above(double a, double b)
{
    return above_by(a, b, ROUNDING);
}

static double real_of(const struct check *c, size_t column)
{
    return tc_result_get_real(c->row, column);
}

static int64_t int_of(const struct check *c, size_t column)
{
    return tc_result_get_int(c->row, column);
}

static bool known(const struct check *c, size_t column)
{
    return tc_result_known(c->row, column);
}

/* The field as the tool writes it, or the column. */
static const char *field_of(const struct check *c, size_t column)
{
    const struct tc_definition *d = c->row->definitions[column];
    return d != NULL ? d->field : c->table->columns[column].name;
}

/* Columns of reals that must not fall: of two neighbours that are known. */
static void check_order(const struct check *c, const size_t *columns, size_t count)
{
    size_t last = TC_TABLE_COLUMNS_MAX;
    double share = fmax(ROUNDING, c->r->reader->bucket_share);
    for (size_t i = 0; i < count; i++) {
        if (!known(c, columns[i])) {
            continue;
        }
        if (last < TC_TABLE_COLUMNS_MAX &&
            above_by(real_of(c, last), real_of(c, columns[i]), share)) {
            tc_result_note(c->r, true, c->row->where, field_of(c, last),
                           "%s is %s, above %s with %s", c->table->columns[last].name,
                           shortest(real_of(c, last)).text, c->table->columns[columns[i]].name,
                           shortest(real_of(c, columns[i])).text);
        }
        last = columns[i];
    }
}

static void check_not_negative(const struct check *c, size_t from, size_t to)
{
    for (size_t i = from; i <= to; i++) {
        enum tc_column_type type = c->table->columns[i].type;
        if (!known(c, i) || (type != TC_COLUMN_REAL && type != TC_COLUMN_INT)) {
            continue;
        }
        double value = type == TC_COLUMN_REAL ? real_of(c, i) : (double)int_of(c, i);
        bool is_ms = tc_slice_eq(tc_slice_cstr(c->table->columns[i].unit), TC_LIT("ms"));
        if (value < (is_ms ? -CLOCK_MS : 0)) {
            tc_result_note(c->r, true, c->row->where, field_of(c, i), "%s is negative: %s",
                           c->table->columns[i].name, shortest(value).text);
        }
    }
}

static void check_times(const struct check *c, size_t start, size_t end)
{
    if (known(c, start) && known(c, end) && int_of(c, end) < int_of(c, start)) {
        tc_result_note(c->r, true, c->row->where, field_of(c, end), "%s is %.6f s before %s",
                       c->table->columns[end].name,
                       (double)(int_of(c, start) - int_of(c, end)) / 1e6,
                       c->table->columns[start].name);
    }
}

static void check_requests(const struct check *c)
{
    bool all = known(c, TC_SERVING_REQUESTS);
    int64_t requests = int_of(c, TC_SERVING_REQUESTS);
    int64_t completed = int_of(c, TC_SERVING_COMPLETED);
    int64_t errors = int_of(c, TC_SERVING_ERRORS);
    if (all && known(c, TC_SERVING_COMPLETED) && known(c, TC_SERVING_ERRORS)) {
        if (requests - completed != errors) {
            tc_result_note(c->r, true, c->row->where, field_of(c, TC_SERVING_REQUESTS),
                           "%" PRId64 " requests are not %" PRId64 " completed and %" PRId64
                           " failed",
                           requests, completed, errors);
        }
    } else if (all && known(c, TC_SERVING_COMPLETED) && completed > requests) {
        tc_result_note(c->r, true, c->row->where, field_of(c, TC_SERVING_COMPLETED),
                       "%" PRId64 " completed of %" PRId64 " requests", completed, requests);
    } else if (all && known(c, TC_SERVING_COMPLETED) && completed < requests) {
        tc_result_note(c->r, false, c->row->where, field_of(c, TC_SERVING_COMPLETED),
                       "%" PRId64 " of %" PRId64 " requests completed, and the file does not say "
                       "how many failed",
                       completed, requests);
    }
}

static void check_error_rate(const struct check *c)
{
    if (!known(c, TC_SERVING_ERROR_RATE)) {
        return;
    }
    double rate = real_of(c, TC_SERVING_ERROR_RATE);
    double requests = (double)int_of(c, TC_SERVING_REQUESTS);
    double errors = (double)int_of(c, TC_SERVING_ERRORS);
    if (rate < 0 || above(rate, 1)) {
        tc_result_note(c->r, true, c->row->where, field_of(c, TC_SERVING_ERROR_RATE),
                       "an error rate of %s is not between 0 and 1", shortest(rate).text);
    } else if (known(c, TC_SERVING_REQUESTS) && known(c, TC_SERVING_ERRORS) && requests > 0 &&
               fabs(rate - errors / requests) > ERROR_RATE_TOLERANCE) {
        tc_result_note(c->r, true, c->row->where, field_of(c, TC_SERVING_ERROR_RATE),
                       "an error rate of %s, but %.0f of %.0f requests failed", shortest(rate).text,
                       errors, requests);
    }
}

/* A rate is told apart from what was counted: a note, for tools measure their own time for it. */
static void check_rate(const struct check *c, size_t rate, size_t count)
{
    if (!known(c, rate) || !known(c, count) || !known(c, TC_SERVING_DURATION_S)) {
        return;
    }
    if (real_of(c, rate) < 0 || real_of(c, TC_SERVING_DURATION_S) < 0) {
        return; /* told already */
    }
    double counted = (double)int_of(c, count);
    double made = real_of(c, rate) * real_of(c, TC_SERVING_DURATION_S);
    /* A request more or less at the edges is no matter. */
    if (fabs(made - counted) > RATE_TOLERANCE * counted + 1) {
        tc_result_note(c->r, false, c->row->where, field_of(c, rate),
                       "%s a second for %s s make %.6g, and %s is %.0f",
                       shortest(real_of(c, rate)).text,
                       shortest(real_of(c, TC_SERVING_DURATION_S)).text, made,
                       c->table->columns[count].name, counted);
    }
}

/* Setting up and warming up may be within the times, hours are not. */
static void check_duration(const struct check *c)
{
    if (!known(c, TC_SERVING_STARTED) || !known(c, TC_SERVING_ENDED) ||
        !known(c, TC_SERVING_DURATION_S)) {
        return;
    }
    double window = (double)(int_of(c, TC_SERVING_ENDED) - int_of(c, TC_SERVING_STARTED)) / 1e6;
    double duration = real_of(c, TC_SERVING_DURATION_S);
    if (window >= 0 && duration >= 0 &&
        (window > 2 * duration + LONGER_S || window < (1 - RATE_TOLERANCE) * duration - 1)) {
        tc_result_note(c->r, false, c->row->where, field_of(c, TC_SERVING_DURATION_S),
                       "a duration of %s s, and %.6f s from started_at to ended_at",
                       shortest(duration).text, window);
    }
}

static void check_serving(const struct check *c)
{
    static const size_t FIRST[] = {TC_SERVING_TTFT_P50, TC_SERVING_TPOT_P50, TC_SERVING_ITL_P50,
                                   TC_SERVING_E2E_P50};
    for (size_t i = 0; i < TC_COUNT(FIRST); i++) {
        size_t p50 = FIRST[i];
        check_order(c, (size_t[]){p50, p50 + 1, p50 + 2, p50 + 3}, 4);
    }
    check_order(c, (size_t[]){TC_SERVING_QUEUE_P50, TC_SERVING_QUEUE_P99}, 2);
    check_not_negative(c, TC_SERVING_CONCURRENCY, TC_SERVING_REQUEST_RATE);
    check_not_negative(c, TC_SERVING_DURATION_S, TC_SERVING_ERRORS);
    check_not_negative(c, TC_SERVING_INPUT_TOKENS, TC_SERVING_GOODPUT);
    check_times(c, TC_SERVING_STARTED, TC_SERVING_ENDED);
    check_duration(c);
    check_requests(c);
    check_error_rate(c);
    check_rate(c, TC_SERVING_REQUESTS_PER_S, TC_SERVING_COMPLETED);
    check_rate(c, TC_SERVING_OUTPUT_TOKENS_PER_S, TC_SERVING_OUTPUT_TOKENS);
}

static void check_training(const struct check *c)
{
    static const size_t STEP[] = {TC_TRAINING_STEP_P50, TC_TRAINING_STEP_P95, TC_TRAINING_STEP_P99};
    check_order(c, STEP, TC_COUNT(STEP));
    check_not_negative(c, TC_TRAINING_GPUS, TC_TRAINING_GPUS);
    check_not_negative(c, TC_TRAINING_STEPS, TC_TRAINING_RESTARTS);
    check_times(c, TC_TRAINING_STARTED, TC_TRAINING_ENDED);
}

static void check_slice(const struct check *c)
{
    static const size_t SPREAD[] = {TC_SLICE_MIN, TC_SLICE_P50, TC_SLICE_P95, TC_SLICE_P99,
                                    TC_SLICE_MAX};
    static const size_t MEAN[] = {TC_SLICE_MIN, TC_SLICE_MEAN, TC_SLICE_MAX};
    check_order(c, SPREAD, TC_COUNT(SPREAD));
    check_order(c, MEAN, TC_COUNT(MEAN));
    check_not_negative(c, TC_SLICE_COUNT, TC_SLICE_COUNT);
    check_times(c, TC_SLICE_START, TC_SLICE_END);
}

#define COMPUTED "computed by tracecore from the counts"

/* What follows from the counts that the file has. */
static void fill_counts(struct tc_result_row *row)
{
    static const struct tc_definition ERRORS = {"requests - completed", "errors", "requests",
                                                "requests",
                                                "computed by tracecore, where all completed"};
    static const struct tc_definition ALL_FAILED = {"requests - completed", "errors", "requests",
                                                    "requests",
                                                    "computed by tracecore, where none completed"};
    static const struct tc_definition REQUESTS = {"completed + errors", "requests", "requests",
                                                  "requests", COMPUTED};
    static const struct tc_definition RATE = {"errors / requests", "error_rate", "ratio", "ratio",
                                              COMPUTED};
    int64_t requests = tc_result_get_int(row, TC_SERVING_REQUESTS);
    int64_t completed = tc_result_get_int(row, TC_SERVING_COMPLETED);
    int64_t errors = tc_result_get_int(row, TC_SERVING_ERRORS);
    bool has_requests = tc_result_known(row, TC_SERVING_REQUESTS);
    bool has_completed = tc_result_known(row, TC_SERVING_COMPLETED);
    bool has_errors = tc_result_known(row, TC_SERVING_ERRORS);
    if (has_requests && has_completed && !has_errors && requests == completed) {
        tc_result_int(row, TC_SERVING_ERRORS, 0, &ERRORS);
        has_errors = true;
    } else if (has_requests && has_completed && !has_errors && completed == 0 && requests > 0) {
        errors = requests;
        tc_result_int(row, TC_SERVING_ERRORS, errors, &ALL_FAILED);
        has_errors = true;
    }
    if (!has_requests && has_completed && has_errors && completed >= 0 && errors >= 0 &&
        !__builtin_add_overflow(completed, errors, &requests)) {
        tc_result_int(row, TC_SERVING_REQUESTS, requests, &REQUESTS);
        has_requests = true;
    }
    if (has_requests && has_errors && requests > 0 &&
        !tc_result_known(row, TC_SERVING_ERROR_RATE)) {
        tc_result_real(row, TC_SERVING_ERROR_RATE, (double)errors / (double)requests, &RATE);
    }
}

/* ---- runs without a request that succeeded ---- */

static bool is_failed(const struct tc_result_row *row)
{
    return tc_result_known(row, TC_SERVING_COMPLETED) &&
           tc_result_get_int(row, TC_SERVING_COMPLETED) == 0;
}

/* Latencies over nothing are none; where they are not 0, the file cannot be right. */
static void clear_latencies(const struct check *c, struct tc_result_row *row)
{
    bool told = false;
    tc_result_note(c->r, false, row->where, field_of(c, TC_SERVING_COMPLETED),
                   "is 0: no request succeeded, so nothing was measured");
    for (size_t i = TC_SERVING_TTFT_MEAN; i <= TC_SERVING_JITTER; i++) {
        if (!known(c, i) || !tc_slice_eq(tc_slice_cstr(c->table->columns[i].unit), TC_LIT("ms"))) {
            continue;
        }
        if (!told && fabs(real_of(c, i)) >= CLOCK_MS) {
            tc_result_note(c->r, true, row->where, field_of(c, i),
                           "%s is %s, and no request succeeded", c->table->columns[i].name,
                           shortest(real_of(c, i)).text);
            told = true;
        }
        tc_result_clear(row, i);
    }
}

/* So with the slices of such a row: a 0 is none. */
static void clear_zeros(struct tc_result_row *slice)
{
    if (!tc_slice_eq(tc_result_get_text(slice, TC_SLICE_UNIT), TC_LIT("ms"))) {
        return;
    }
    for (size_t i = TC_SLICE_MIN; i <= TC_SLICE_LAST; i++) {
        if (tc_result_known(slice, i) && fabs(tc_result_get_real(slice, i)) < CLOCK_MS) {
            tc_result_clear(slice, i);
        }
    }
}

/* All points of a run that say how many requests succeeded say none. */
static bool is_failed_run(const struct tc_result *r)
{
    size_t failed = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        if (r->rows[i]->table == TC_TABLE_SERVING) {
            if (!is_failed(r->rows[i])) {
                return false;
            }
            failed++;
        }
    }
    return failed > 0;
}

void tc__result_check(struct tc_result *r)
{
    if (is_failed_run(r)) {
        tc__result_set_failed(r);
    }
    bool in_failed = false;
    for (size_t i = 0; i < r->row_count; i++) {
        struct tc_result_row *row = r->rows[i];
        struct check c = {.r = r, .row = row, .table = tc_table_info(row->table)};
        switch (row->table) {
        case TC_TABLE_SERVING:
            in_failed = is_failed(row);
            if (in_failed) {
                clear_latencies(&c, row);
            }
            fill_counts(row);
            check_serving(&c);
            tc__result_check_bounds(row);
            break;
        case TC_TABLE_TRAINING:
            check_training(&c);
            break;
        case TC_TABLE_SLICE:
            if (in_failed) {
                clear_zeros(row);
            }
            check_slice(&c);
            break;
        default:
            break;
        }
    }
}
