/* SPDX-License-Identifier: Apache-2.0 */
#include "result/requests.h"

#include "base/time.h"
#include "result/result_priv.h"
#include "result/stats_priv.h"

#include <math.h>
#include <stdalign.h>

/* Of a pointer: more than any has. */
#define WHERE_MAX 192
/* A clock that counts seconds since 1970 is past this; one that counts since the machine started
 * never gets there. */
#define EPOCH_SECONDS_MIN 1e9
/* What a tool may have rounded away. */
#define ROUNDED_MS 0.01
#define ROUNDED_SHARE 1e-3

struct tc_request tc_request_at(const char *where, size_t index)
{
    return (struct tc_request){
        .where = where,
        .index = index,
        .started_ns = TC_TIME_NONE,
        .first_token_ns = TC_TIME_NONE,
        .ended_ns = TC_TIME_NONE,
        .queue_ms = TC_UNKNOWN,
        .ttft_ms = TC_UNKNOWN,
        .tpot_ms = TC_UNKNOWN,
        .e2e_ms = TC_UNKNOWN,
        .input_tokens = TC_UNKNOWN,
        .output_tokens = TC_UNKNOWN,
    };
}

int64_t tc_request_moment(double seconds)
{
    bool good = seconds >= EPOCH_SECONDS_MIN && seconds < (double)TC_TIME_MAX / (double)TC_SECOND;
    /* A double of such seconds is exact to a quarter of a microsecond. */
    return good ? (int64_t)nearbyint(seconds * 1e6) * 1000 : TC_TIME_NONE;
}

/* ---- a row ---- */

static void put_text(struct tc_result *r, size_t column, struct tc_slice text)
{
    tc_status status = text.len == 0 ? TC_OK : tc_rows_text(r->requests, column, text);
    r->status = r->status == TC_OK ? status : r->status;
}

static void put_time(struct tc_result *r, size_t column, int64_t ns)
{
    if (ns != TC_TIME_NONE) {
        tc_rows_int(r->requests, column, ns / 1000);
    }
}

/* The number, or NaN for one that cannot be, which is counted. */
static double believable(struct tc_result *r, size_t column, double value, double most)
{
    if (value < 0 || value > most) {
        r->odd_requests[column]++;
        return TC_UNKNOWN;
    }
    return value;
}

/* Up to the last whole character that fits. */
static struct tc_slice cut_text(struct tc_slice s, size_t most)
{
    size_t len = s.len < most ? s.len : most;
    while (len < s.len && len > 0 && ((unsigned char)s.ptr[len] & 0xc0) == 0x80) {
        len--;
    }
    return tc_slice_head(s, len);
}

static void put_place(struct tc_result *r, const struct tc_request *q)
{
    char text[WHERE_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_str(&b, tc_slice_cstr(q->where));
    if (q->index != SIZE_MAX) {
        tc_buf_char(&b, '/');
        tc_buf_u64(&b, q->index);
    }
    put_text(r, TC_REQUEST_SOURCE_POINTER, tc_buf_slice(&b));
}

static void put_row(struct tc_result *r, const struct tc_request *q, const double *numbers)
{
    static const char *const STATUS[] = {[TC_REQUEST_SUCCEEDED] = "ok",
                                         [TC_REQUEST_FAILED] = "error",
                                         [TC_REQUEST_CANCELLED] = "cancelled"};
    put_place(r, q);
    put_text(r, TC_REQUEST_REQUEST_ID, q->id.len <= TC_REQUEST_ID_MAX ? q->id : TC_EMPTY);
    put_text(r, TC_REQUEST_TRACE_ID, q->trace.len <= TC_REQUEST_ID_MAX ? q->trace : TC_EMPTY);
    put_text(r, TC_REQUEST_STATUS, tc_slice_cstr(STATUS[q->status]));
    put_text(r, TC_REQUEST_ERROR, cut_text(q->error, TC_REQUEST_ERROR_MAX));
    put_text(r, TC_REQUEST_TOOL, tc_slice_cstr(r->reader->name));
    put_time(r, TC_REQUEST_STARTED, q->started_ns);
    put_time(r, TC_REQUEST_FIRST_TOKEN, q->first_token_ns);
    put_time(r, TC_REQUEST_ENDED, q->ended_ns);
    for (size_t c = TC_REQUEST_QUEUE; c <= TC_REQUEST_OUTPUT_TOKENS; c++) {
        double value = numbers[c - TC_REQUEST_QUEUE];
        bool is_int = c >= TC_REQUEST_INPUT_TOKENS;
        if (is_int && value == trunc(value)) {
            tc_rows_int(r->requests, c, (int64_t)value);
        } else if (!is_int) {
            tc_rows_real(r->requests, c, value);
        }
    }
}

/* What is in the batch, to the sink. */
static void hand_over(struct tc_result *r)
{
    if (r->requests == NULL || r->requests->count == 0) {
        return;
    }
    if (r->status == TC_OK) {
        r->status = r->take(r->take_context, r->requests_of, r->requests, r->take_err);
    }
    tc_rows_reset(r->requests);
}

/* Room for one more row of that point; false: there is no sink, or something failed. */
static bool make_room(struct tc_result *r, size_t serving)
{
    if (r->take == NULL || r->status != TC_OK) {
        return false;
    }
    if (r->requests == NULL) {
        r->requests = tc_rows_create(TC_TABLE_REQUEST);
    }
    if (r->requests == NULL) {
        r->status = TC_E_NOMEM;
        return false;
    }
    if (r->requests->count == TC_ROWS_MAX || r->requests_of != serving) {
        hand_over(r);
    }
    r->requests_of = serving;
    return r->status == TC_OK && tc_rows_add(r->requests);
}

void tc_result_request(struct tc_result *r, size_t serving, const struct tc_request *q)
{
    const double given[] = {q->queue_ms, q->ttft_ms,      q->tpot_ms,
                            q->e2e_ms,   q->input_tokens, q->output_tokens};
    double numbers[TC_COUNT(given)];
    r->request_count++;
    for (size_t i = 0; i < TC_COUNT(given); i++) {
        size_t column = TC_REQUEST_QUEUE + i;
        bool is_tokens = column >= TC_REQUEST_INPUT_TOKENS;
        numbers[i] =
            believable(r, column, given[i], is_tokens ? TC_REQUEST_TOKENS_MAX : TC_REQUEST_MS_MAX);
    }
    if (make_room(r, serving)) {
        put_row(r, q, numbers);
    }
}

void tc__result_end_requests(struct tc_result *r)
{
    hand_over(r);
    for (size_t c = 0; c < TC_REQUEST_COLUMNS; c++) {
        if (r->odd_requests[c] > 0) {
            tc_result_note(r, false, "", tc_table_info(TC_TABLE_REQUEST)->columns[c].name,
                           "of %llu requests it is below 0 or absurdly large: left out there",
                           (unsigned long long)r->odd_requests[c]);
        }
    }
}

uint64_t tc_result_requests(const struct tc_result *r)
{
    return r->request_count;
}

/* ---- bounds ---- */

static const size_t GROUPS[TC_BOUNDS_GROUPS] = {TC_SERVING_TTFT_P50, TC_SERVING_TPOT_P50,
                                                TC_SERVING_ITL_P50, TC_SERVING_E2E_P50};
static const double PARTS[TC_BOUNDS_PARTS] = {0.5, 0.9, 0.95, 0.99};

static struct tc_result_bounds *bounds_of(struct tc_result_row *row)
{
    if (row->bounds == NULL) {
        row->bounds =
            tc__result_take(row->result, sizeof *row->bounds, alignof(struct tc_result_bounds));
        for (size_t g = 0; row->bounds != NULL && g < TC_BOUNDS_GROUPS; g++) {
            for (size_t p = 0; p < TC_BOUNDS_PARTS; p++) {
                row->bounds->low[g][p] = TC_UNKNOWN;
                row->bounds->high[g][p] = TC_UNKNOWN;
            }
        }
    }
    return row->bounds;
}

/* Definitions differ in the rank: p (n - 1) with what is beside it, ceil(p n), floor(p n) + 1. */
void tc__result_bound(struct tc_result_row *row, size_t mean_column, struct tc__stats *s,
                      double factor)
{
    struct tc_result_bounds *b = row == NULL || s->count == 0 ? NULL : bounds_of(row);
    for (size_t g = 0; b != NULL && g < TC_BOUNDS_GROUPS; g++) {
        for (size_t p = 0; GROUPS[g] == mean_column + 1 && p < TC_BOUNDS_PARTS; p++) {
            double n = (double)s->count;
            double low = fmin(floor(PARTS[p] * (n - 1)), fmax(ceil(PARTS[p] * n) - 1, 0));
            double high = fmin(fmax(floor(PARTS[p] * (n - 1)) + 1, floor(PARTS[p] * n)), n - 1);
            b->low[g][p] = tc__stats_rank(s, (size_t)low) * factor;
            b->high[g][p] = tc__stats_rank(s, (size_t)high) * factor;
        }
    }
}

size_t tc_result_bounds_check(const struct tc_result_bounds *b, const struct tc_rows *serving,
                              size_t at, struct tc_bounds_miss *out)
{
    size_t count = 0;
    for (size_t g = 0; g < TC_BOUNDS_GROUPS; g++) {
        for (size_t p = 0; p < TC_BOUNDS_PARTS; p++) {
            size_t column = GROUPS[g] + p;
            double low = b->low[g][p];
            double high = b->high[g][p];
            if (tc_rows_is_null(serving, column, at) || isnan(low)) {
                continue;
            }
            double told = tc_rows_get_real(serving, column, at);
            double rounded = ROUNDED_MS + ROUNDED_SHARE * fabs(told);
            if (told < low - rounded || told > high + rounded) {
                out[count++] = (struct tc_bounds_miss){column, told, low, high};
            }
        }
    }
    return count;
}

void tc__result_check_bounds(const struct tc_result_row *row)
{
    struct tc_bounds_miss misses[TC_BOUNDS_MISSES_MAX];
    size_t count =
        row->bounds == NULL ? 0 : tc_result_bounds_check(row->bounds, row->rows, row->at, misses);
    for (size_t i = 0; i < count; i++) {
        tc_result_note(row->result, false, row->where, row->rows->columns[misses[i].column].name,
                       "is %.6g by the tool, its requests give %.6g to %.6g", misses[i].told,
                       misses[i].low, misses[i].high);
    }
}
