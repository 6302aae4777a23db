/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of result readers: forms, bounds, notes, definitions, checks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "result/map.h"
#include "result/result.h"
#include "result/result_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tc_result *result;

static int setup(void **state)
{
    (void)state;
    result = tc__result_create(&tc_reader_vllm);
    return result == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_result_destroy(result);
    result = NULL;
    return 0;
}

static tc_status read_text(const char *text, struct tc_result **out, struct tc_error *err)
{
    return tc_result_read(TC_LIT("a file"), tc_slice_cstr(text), NULL, out, err);
}

static void assert_refused(const char *text, tc_status status, const char *word)
{
    struct tc_result *r = NULL;
    struct tc_error err = {.message = ""};
    assert_int_equal(read_text(text, &r, &err), status);
    assert_null(r);
    if (strstr(err.message, word) == NULL) {
        fail_msg("'%s' is not in: %s", word, err.message);
    }
}

/* ---- rows ---- */

static void test_rows_are_bounded(void **state)
{
    (void)state;
    struct tc_error err;
    for (size_t i = 0; i < TC_RESULT_ROWS_MAX; i++) {
        assert_non_null(tc_result_add(result, TC_TABLE_SLICE, "line:%zu", i));
    }
    assert_int_equal(tc_result_status(result, &err), TC_OK);
    assert_null(tc_result_add(result, TC_TABLE_SLICE, "one more"));
    assert_int_equal(tc_result_status(result, &err), TC_E_LIMIT);
    assert_int_equal(tc_result_rows(result), TC_RESULT_ROWS_MAX);
    char last[32];
    (void)snprintf(last, sizeof last, "line:%zu", TC_RESULT_ROWS_MAX - 1);
    struct tc_slice where = tc_result_row_at(result, TC_RESULT_ROWS_MAX - 1)->where;
    assert_int_equal(where.len, strlen(last));
    assert_memory_equal(where.ptr, last, where.len);
}

static void test_a_row_stays_where_it_is(void **state)
{
    (void)state;
    struct tc_result_row *first = tc_result_add(result, TC_TABLE_SERVING, "/0");
    for (int i = 0; i < 100; i++) {
        (void)tc_result_add(result, TC_TABLE_SLICE, "/0");
    }
    tc_result_real(first, TC_SERVING_TTFT_MEAN, 1.5, NULL);
    assert_ptr_equal(first, tc_result_row_at(result, 0));
    assert_true(tc_result_get_real(tc_result_row_at(result, 0), TC_SERVING_TTFT_MEAN) == 1.5);
    assert_true(tc_result_known(first, TC_SERVING_TOOL));
    assert_true(tc_result_known(first, TC_SERVING_SOURCE_POINTER));
    assert_true(tc_result_known(tc_result_row_at(result, 1), TC_SLICE_FAMILY));
}

static void test_what_is_unknown_stays_null(void **state)
{
    (void)state;
    struct tc_result_row *row = tc_result_add(result, TC_TABLE_SERVING, "%s", "");
    tc_result_real(row, TC_SERVING_TTFT_MEAN, NAN, NULL);
    tc_result_real(row, TC_SERVING_TTFT_P50, INFINITY, NULL);
    tc_result_text(row, TC_SERVING_WORKLOAD_POINT, TC_EMPTY);
    tc_result_time(row, TC_SERVING_STARTED, INT64_MIN);
    assert_false(tc_result_known(row, TC_SERVING_TTFT_MEAN));
    assert_false(tc_result_known(row, TC_SERVING_TTFT_P50));
    assert_false(tc_result_known(row, TC_SERVING_WORKLOAD_POINT));
    assert_false(tc_result_known(row, TC_SERVING_STARTED));
    /* No row, no harm. */
    tc_result_real(NULL, TC_SERVING_TTFT_MEAN, 1, NULL);
    tc_result_int(NULL, TC_SERVING_REQUESTS, 1, NULL);
    tc_result_textf(NULL, TC_SERVING_WORKLOAD_POINT, "%d", 1);
}

static void test_text_is_bounded(void **state)
{
    (void)state;
    struct tc_error err;
    size_t len = TC_RESULT_TEXT_MAX / 4;
    char *text = calloc(1, len);
    assert_non_null(text);
    memset(text, 'x', len);
    struct tc_result_row *row = tc_result_add(result, TC_TABLE_SERVING, "%s", "");
    for (int i = 0; i < 3; i++) {
        tc_result_text(row, TC_SERVING_WORKLOAD_POINT, tc_slice_make(text, len));
        assert_int_equal(tc_result_status(result, &err), TC_OK);
    }
    tc_result_text(row, TC_SERVING_WORKLOAD_POINT, tc_slice_make(text, len));
    tc_result_text(row, TC_SERVING_WORKLOAD_POINT, tc_slice_make(text, len));
    assert_int_equal(tc_result_status(result, &err), TC_E_LIMIT);
    free(text);
}

/* ---- definitions, facts, notes ---- */

static void test_definitions_are_one_a_field(void **state)
{
    (void)state;
    const struct tc_definition *a = tc_result_define(result, "x.p50", "ttft", "s", "ms", NULL);
    const struct tc_definition *b = tc_result_define(result, "x.p50", "ttft", "s", "ms", NULL);
    const struct tc_definition *c = tc_result_define(result, "x.p50", "ttft", "s", "ms", "other");
    assert_non_null(a);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_string_equal(a->unit, "ms");
}

static void test_definitions_are_bounded(void **state)
{
    (void)state;
    struct tc_error err;
    char field[32];
    for (int i = 0; i < TC_RESULT_DEFINITIONS_MAX; i++) {
        (void)snprintf(field, sizeof field, "f%d", i);
        assert_non_null(tc_result_define(result, field, "m", "s", "s", NULL));
    }
    assert_non_null(tc_result_define(result, "f0", "m", "s", "s", NULL));
    assert_int_equal(tc_result_status(result, &err), TC_OK);
    assert_null(tc_result_define(result, "one more", "m", "s", "s", NULL));
    assert_int_equal(tc_result_status(result, &err), TC_E_LIMIT);
}

static void test_the_first_fact_wins(void **state)
{
    (void)state;
    tc_result_fact_text(result, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, TC_EMPTY);
    tc_result_fact_text(result, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, TC_LIT("a"));
    tc_result_fact_text(result, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, TC_LIT("a"));
    assert_int_equal(tc_result_notes(result, NULL), 0);
    tc_result_fact_text(result, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, TC_LIT("b"));
    tc_result_fact_text(result, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, TC_LIT("c"));
    assert_int_equal(tc_result_notes(result, NULL), 1);
    assert_false(tc_result_note_at(result, 0)->contradiction);
    const struct tc_rows *workload = tc_result_facts(result, TC_TABLE_WORKLOAD);
    assert_true(tc_slice_eq(tc_rows_get_text(workload, TC_WORKLOAD_MODEL, 0), TC_LIT("a")));
    tc_result_fact_int(result, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, 8);
    tc_result_fact_int(result, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, 4);
    assert_int_equal(tc_result_notes(result, NULL), 2);
}

static void test_times_of_the_run_span_all(void **state)
{
    (void)state;
    const int64_t times[] = {5000, 3000, 9000};
    for (size_t i = 0; i < 3; i++) {
        tc_result_fact_time(result, TC_TABLE_RUN, TC_RUN_STARTED, times[i]);
        tc_result_fact_time(result, TC_TABLE_RUN, TC_RUN_ENDED, times[i]);
    }
    const struct tc_rows *run = tc_result_facts(result, TC_TABLE_RUN);
    assert_int_equal(tc_rows_get_int(run, TC_RUN_STARTED, 0), 3);
    assert_int_equal(tc_rows_get_int(run, TC_RUN_ENDED, 0), 9);
}

static void test_contradictions_are_not_left_out(void **state)
{
    (void)state;
    uint64_t left_out = 0;
    for (int i = 0; i < TC_RESULT_NOTES_MAX; i++) {
        tc_result_note(result, false, "", "field", "note %d", i);
    }
    assert_int_equal(tc_result_notes(result, &left_out), TC_RESULT_NOTES_MAX);
    assert_int_equal(left_out, 0);
    tc_result_note(result, false, "", "field", "one more");
    tc_result_note(result, true, "/x", "field", "cannot be");
    assert_int_equal(tc_result_notes(result, &left_out), TC_RESULT_NOTES_MAX);
    assert_int_equal(left_out, 2);
    bool found = false;
    for (size_t i = 0; i < TC_RESULT_NOTES_MAX; i++) {
        found = found || tc_result_note_at(result, i)->contradiction;
    }
    assert_true(found);
    for (int i = 0; i < 2 * TC_RESULT_NOTES_MAX; i++) {
        tc_result_note(result, true, "", "field", "again");
    }
    assert_int_equal(tc_result_notes(result, &left_out), TC_RESULT_NOTES_MAX);
}

/* ---- forms ---- */

static void test_what_is_no_result(void **state)
{
    (void)state;
    assert_refused("", TC_E_MALFORMED, "empty");
    assert_refused(" \n\t", TC_E_MALFORMED, "blanks");
    assert_refused("\x1f\x8b\x08", TC_E_UNSUPPORTED, "gzip");
    assert_refused("\x28\xb5\x2f\xfd", TC_E_UNSUPPORTED, "zstd");
    assert_refused("{}", TC_E_UNSUPPORTED, "sglang");
    assert_refused("[]", TC_E_UNSUPPORTED, "sglang");
    assert_refused("hello", TC_E_UNSUPPORTED, "text that no reader knows");
    assert_refused("a: 1\n", TC_E_UNSUPPORTED, "no reader knows");
    assert_refused("{\"a\":1}\n{\"b\":2}\n", TC_E_UNSUPPORTED, "JSON lines");
}

static void test_a_broken_document_says_where(void **state)
{
    (void)state;
    assert_refused("{\"a\": [1, 2", TC_E_MALFORMED, "cut off: it ends at byte 11 (line 1)");
    assert_refused("{\"a\": 1,\n \"b\": \"x", TC_E_MALFORMED, "byte 17 (line 2)");
    assert_refused("{\"a\": 1,\n\"b\": {\"c\": [1, tru]}}", TC_E_MALFORMED, "in /b/c/1");
    assert_refused("{\"a\": 1,\n\"b\": {\"c\": [1, tru]}}", TC_E_MALFORMED, "line 2");
    assert_refused("{\"a\": 1} tail", TC_E_MALFORMED, "byte 9");
}

#define RUN                                                                        \
    "{\"model_id\":\"m\",\"completed\":2,\"duration\":1,\"request_throughput\":2," \
    "\"mean_ttft_ms\":1,"

static void test_nan_and_infinity_are_read(void **state)
{
    (void)state;
    struct tc_result *r = NULL;
    struct tc_error err;
    assert_int_equal(read_text(RUN "\"request_rate\":Infinity,\"p99_ttft_ms\":NaN,"
                                   "\"label\":\"NaN -Infinity\",\"x\":-Infinity}",
                               &r, &err),
                     TC_OK);
    const struct tc_result_row *row = tc_result_row_at(r, 0);
    assert_false(tc_result_known(row, TC_SERVING_REQUEST_RATE));
    assert_false(tc_result_known(row, TC_SERVING_TTFT_P99));
    assert_true(tc_result_known(row, TC_SERVING_TTFT_MEAN));
    assert_int_equal(tc_result_notes(r, NULL), 1);
    assert_non_null(strstr(tc_result_note_at(r, 0)->text.ptr, "is written as NaN"));
    assert_true(tc_slice_eq(tc_result_note_at(r, 0)->field, TC_LIT("p99_ttft_ms")));
    assert_true(tc_slice_eq(tc_result_note_at(r, 0)->where, TC_LIT("line:1")));
    tc_result_destroy(r);
}

static void test_documents_have_their_lines(void **state)
{
    (void)state;
    struct tc_result *r = NULL;
    struct tc_error err;
    assert_int_equal(read_text("\n" RUN "\"x\":1}\n\n" RUN "\n\"x\":2}\n" RUN "\"x\":3}", &r, &err),
                     TC_OK);
    assert_int_equal(tc_result_rows(r), 3);
    assert_true(tc_slice_eq(tc_result_row_at(r, 0)->where, TC_LIT("line:2")));
    assert_true(tc_slice_eq(tc_result_row_at(r, 1)->where, TC_LIT("line:4")));
    assert_true(tc_slice_eq(tc_result_row_at(r, 2)->where, TC_LIT("line:6")));
    tc_result_destroy(r);
    assert_int_equal(read_text("[" RUN "\"x\":1}," RUN "\"x\":2}]", &r, &err), TC_OK);
    assert_true(tc_slice_eq(tc_result_row_at(r, 1)->where, TC_LIT("/1")));
    tc_result_destroy(r);
    assert_refused(RUN "\"x\":1}\n" RUN "\"x\":tru}\n", TC_E_MALFORMED, "line 2");
    assert_refused(RUN "\"x\":1}\n" RUN, TC_E_MALFORMED, "cut off");
}

/* The n-th slice of the file. */
static const struct tc_result_row *slice_at(const struct tc_result *r, size_t n)
{
    for (size_t i = 0; i < tc_result_rows(r); i++) {
        const struct tc_result_row *row = tc_result_row_at(r, i);
        if (row->table == TC_TABLE_SLICE && n-- == 0) {
            return row;
        }
    }
    return NULL;
}

static void test_slices_have_the_load_of_their_row(void **state)
{
    (void)state;
    struct tc_result *r = NULL;
    struct tc_error err;
#define LOADED(n) \
    RUN "\"date\":\"20260304-020000\",\"max_concurrency\":" n ",\"std_ttft_ms\":" n "}\n"
    assert_int_equal(read_text(LOADED("8") LOADED("16"), &r, &err), TC_OK);
    assert_true(
        tc_slice_eq(tc_result_get_text(slice_at(r, 0), TC_SLICE_POINT), TC_LIT("concurrency=8")));
    assert_true(
        tc_slice_eq(tc_result_get_text(slice_at(r, 1), TC_SLICE_POINT), TC_LIT("concurrency=16")));
    assert_true(tc_result_known(slice_at(r, 0), TC_SLICE_START));
    assert_int_equal(tc_result_get_int(slice_at(r, 1), TC_SLICE_END), 1772589600000000);
    tc_result_destroy(r);
    /* The same load twice: the place tells them apart. */
    assert_int_equal(read_text(LOADED("8") LOADED("8"), &r, &err), TC_OK);
    assert_true(tc_slice_eq(tc_result_get_text(slice_at(r, 1), TC_SLICE_POINT),
                            TC_LIT("concurrency=8 at=line:2")));
    tc_result_destroy(r);
#undef LOADED
}

static void test_a_date_with_a_zone(void **state)
{
    (void)state;
    struct tc_result *r = NULL;
    struct tc_error err;
    assert_int_equal(read_text(RUN "\"date\":\"2026-03-04T02:00:00+02:00\"}", &r, &err), TC_OK);
    assert_int_equal(tc_result_get_int(tc_result_row_at(r, 0), TC_SERVING_ENDED), 1772582400000000);
    assert_int_equal(tc_result_notes(r, NULL), 0);
    tc_result_destroy(r);
    assert_int_equal(read_text(RUN "\"date\":\"rubbish\"}", &r, &err), TC_OK);
    assert_false(tc_result_known(tc_result_row_at(r, 0), TC_SERVING_ENDED));
    assert_int_equal(tc_result_notes(r, NULL), 1);
    assert_true(tc_slice_eq(tc_result_note_at(r, 0)->field, TC_LIT("date")));
    tc_result_destroy(r);
}

static void test_a_key_that_stands_twice(void **state)
{
    (void)state;
    struct tc_result *r = NULL;
    struct tc_error err;
    assert_int_equal(read_text(RUN "\"x\":1, \"mean_ttft_ms\": 2}", &r, &err), TC_OK);
    assert_int_equal(tc_result_notes(r, NULL), 1);
    assert_true(tc_slice_eq(tc_result_note_at(r, 0)->field, TC_LIT("mean_ttft_ms")));
    assert_true(tc_result_note_at(r, 0)->contradiction);
    tc_result_destroy(r);
    assert_int_equal(read_text(RUN "\"x\":1}\n" RUN "\"x\":1,\"x\":1}", &r, &err), TC_OK);
    assert_int_equal(tc_result_notes(r, NULL), 1);
    assert_true(tc_slice_eq(tc_result_note_at(r, 0)->where, TC_LIT("line:2")));
    assert_false(tc_result_note_at(r, 0)->contradiction);
    tc_result_destroy(r);
}

static void test_a_reader_that_is_asked_for(void **state)
{
    (void)state;
    struct tc_result *r = NULL;
    struct tc_error err;
    struct tc_slice text = tc_slice_cstr(RUN "\"x\":1}");
    assert_int_equal(tc_result_read(TC_LIT("f"), text, &tc_reader_vllm, &r, &err), TC_OK);
    tc_result_destroy(r);
    r = NULL;
    assert_int_equal(tc_result_read(TC_LIT("f"), text, &tc_reader_guidellm, &r, &err),
                     TC_E_MALFORMED);
    assert_int_equal(tc_result_read(TC_LIT("f"), TC_LIT("text"), &tc_reader_vllm, &r, NULL),
                     TC_E_MALFORMED);
    assert_null(r);
    assert_ptr_equal(tc_reader_by_name(TC_LIT("vllm")), &tc_reader_vllm);
    assert_null(tc_reader_by_name(TC_LIT("vlm")));
}

/* ---- mapping ---- */

static void test_numbers_and_units(void **state)
{
    (void)state;
    double value = 0;
    const char *unit = NULL;
    assert_true(tc_map_parse_number(TC_LIT("-1.5e3"), &value) && value == -1500);
    assert_false(tc_map_parse_number(TC_LIT("1e999"), &value));
    assert_false(tc_map_parse_number(TC_LIT("0x10"), &value));
    assert_false(tc_map_parse_number(TC_LIT("1 2"), &value));
    assert_false(tc_map_parse_number(TC_LIT("inf"), &value));
    assert_false(tc_map_parse_number(TC_EMPTY, &value));
    assert_true(tc_map_unit(TC_LIT("sec"), &unit, &value) && value == 1000);
    assert_string_equal(unit, "ms");
    assert_false(tc_map_unit(TC_LIT("furlong"), &unit, &value));
}

static void test_a_unit_that_does_not_fit(void **state)
{
    (void)state;
    struct tc_result_row *row = tc_result_add(result, TC_TABLE_SERVING, "%s", "/r");
    tc_map_put(result, row, TC_SERVING_TTFT_MEAN, 2.5, "s", "ttft", "ttft", NULL);
    tc_map_put(result, row, TC_SERVING_DURATION_S, 1500, "ms", "took", "duration", NULL);
    tc_map_put(result, row, TC_SERVING_COMPLETED, 12, "count", "n", "completed", NULL);
    assert_true(tc_result_get_real(row, TC_SERVING_TTFT_MEAN) == 2500);
    assert_true(tc_result_get_real(row, TC_SERVING_DURATION_S) == 1.5);
    assert_int_equal(tc_result_get_int(row, TC_SERVING_COMPLETED), 12);
    assert_int_equal(tc_result_notes(result, NULL), 0);
    tc_map_put(result, row, TC_SERVING_E2E_MEAN, 2.5, "tokens", "e2e", "e2e", NULL);
    tc_map_put(result, row, TC_SERVING_REQUESTS, 2.5, "count", "n", "requests", NULL);
    assert_false(tc_result_known(row, TC_SERVING_E2E_MEAN));
    assert_false(tc_result_known(row, TC_SERVING_REQUESTS));
    assert_int_equal(tc_result_notes(result, NULL), 2);
}

/* ---- checks ---- */

static struct tc_result_row *row_of(int64_t requests, int64_t completed, int64_t errors)
{
    struct tc_result_row *row = tc_result_add(result, TC_TABLE_SERVING, "%s", "/r");
    tc_result_int(row, TC_SERVING_REQUESTS, requests, NULL);
    tc_result_int(row, TC_SERVING_COMPLETED, completed, NULL);
    if (errors >= 0) {
        tc_result_int(row, TC_SERVING_ERRORS, errors, NULL);
    }
    return row;
}

/* How many notes there are, and how many of them are contradictions. */
static void assert_notes(size_t notes, size_t contradictions)
{
    size_t found = 0;
    tc__result_check(result);
    for (size_t i = 0; i < tc_result_notes(result, NULL); i++) {
        found += tc_result_note_at(result, i)->contradiction;
    }
    assert_int_equal(tc_result_notes(result, NULL), notes);
    assert_int_equal(found, contradictions);
}

static void test_requests_add_up(void **state)
{
    (void)state;
    struct tc_result_row *row = row_of(10, 8, 2);
    assert_notes(0, 0);
    assert_true(tc_result_get_real(row, TC_SERVING_ERROR_RATE) == 0.2);
}

static void test_all_completed_means_no_errors(void **state)
{
    (void)state;
    struct tc_result_row *row = row_of(10, 10, -1);
    assert_notes(0, 0);
    assert_true(tc_result_known(row, TC_SERVING_ERRORS));
    assert_true(tc_result_get_real(row, TC_SERVING_ERROR_RATE) == 0);
}

static void test_requests_do_not_add_up(void **state)
{
    (void)state;
    (void)row_of(10, 8, 1);
    assert_notes(1, 1);
}

static void test_some_did_not_complete(void **state)
{
    (void)state;
    (void)row_of(10, 8, -1);
    assert_notes(1, 0);
}

static void test_more_completed_than_there_were(void **state)
{
    (void)state;
    (void)row_of(10, 11, -1);
    assert_notes(1, 1);
}

static void test_percentiles_in_order(void **state)
{
    (void)state;
    struct tc_result_row *row = tc_result_add(result, TC_TABLE_SERVING, "%s", "/r");
    tc_result_real(row, TC_SERVING_ITL_P50, 5, NULL);
    tc_result_real(row, TC_SERVING_ITL_P99, 5 - 1e-12, NULL); /* rounding */
    tc_result_real(row, TC_SERVING_ITL_MEAN, 50, NULL);       /* one long gap: that can be */
    tc_result_real(row, TC_SERVING_E2E_P90, 7, NULL);
    tc_result_real(row, TC_SERVING_E2E_P99, 6.9, NULL);
    assert_notes(1, 1);
    assert_true(tc_slice_eq(tc_result_note_at(result, 0)->where, TC_LIT("/r")));
    assert_true(tc_slice_eq(tc_result_note_at(result, 0)->field, TC_LIT("e2e_p90_ms")));
}

static void test_a_slice_is_within_its_bounds(void **state)
{
    (void)state;
    struct tc_result_row *row = tc_result_add(result, TC_TABLE_SLICE, "%s", "/s");
    tc_result_real(row, TC_SLICE_MIN, 1, NULL);
    tc_result_real(row, TC_SLICE_P50, 2, NULL);
    tc_result_real(row, TC_SLICE_MAX, 3, NULL);
    tc_result_real(row, TC_SLICE_MEAN, 3.5, NULL);
    assert_notes(1, 1);
}

static void test_rates_fit_the_counts(void **state)
{
    (void)state;
    struct tc_result_row *row = row_of(1000, 1000, 0);
    tc_result_real(row, TC_SERVING_DURATION_S, 100, NULL);
    tc_result_real(row, TC_SERVING_REQUESTS_PER_S, 10.5, NULL);
    assert_notes(0, 0);
    tc_result_real(row, TC_SERVING_REQUESTS_PER_S, 10.6, NULL);
    assert_notes(1, 0);
}

static void test_what_is_below_zero(void **state)
{
    (void)state;
    struct tc_result_row *row = tc_result_add(result, TC_TABLE_SERVING, "%s", "/r");
    tc_result_real(row, TC_SERVING_DURATION_S, -1, NULL);
    tc_result_real(row, TC_SERVING_OUTPUT_TOKENS_PER_S, -1, NULL);
    tc_result_int(row, TC_SERVING_INPUT_TOKENS, -1, NULL);
    assert_notes(3, 3);
}

static void test_an_end_before_the_start(void **state)
{
    (void)state;
    struct tc_result_row *row = tc_result_add(result, TC_TABLE_SERVING, "%s", "/r");
    tc_result_time(row, TC_SERVING_STARTED, 2000000);
    tc_result_time(row, TC_SERVING_ENDED, 2000000);
    assert_notes(0, 0);
    tc_result_time(row, TC_SERVING_ENDED, 1000000);
    assert_notes(1, 1);
}

static void test_an_error_rate_that_cannot_be(void **state)
{
    (void)state;
    struct tc_result_row *row = row_of(100, 90, 10);
    tc_result_real(row, TC_SERVING_ERROR_RATE, 0.104, NULL); /* rounded by its writer */
    assert_notes(0, 0);
    tc_result_real(row, TC_SERVING_ERROR_RATE, 0.2, NULL);
    assert_notes(1, 1);
    tc_result_real(row, TC_SERVING_ERROR_RATE, 10, NULL);
    assert_notes(2, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_rows_are_bounded),
        TEST(test_a_row_stays_where_it_is),
        TEST(test_what_is_unknown_stays_null),
        TEST(test_text_is_bounded),
        TEST(test_definitions_are_one_a_field),
        TEST(test_definitions_are_bounded),
        TEST(test_the_first_fact_wins),
        TEST(test_times_of_the_run_span_all),
        TEST(test_contradictions_are_not_left_out),
        TEST(test_what_is_no_result),
        TEST(test_a_broken_document_says_where),
        TEST(test_nan_and_infinity_are_read),
        TEST(test_documents_have_their_lines),
        TEST(test_slices_have_the_load_of_their_row),
        TEST(test_a_date_with_a_zone),
        TEST(test_a_key_that_stands_twice),
        TEST(test_a_reader_that_is_asked_for),
        TEST(test_numbers_and_units),
        TEST(test_a_unit_that_does_not_fit),
        TEST(test_requests_add_up),
        TEST(test_all_completed_means_no_errors),
        TEST(test_requests_do_not_add_up),
        TEST(test_some_did_not_complete),
        TEST(test_more_completed_than_there_were),
        TEST(test_percentiles_in_order),
        TEST(test_a_slice_is_within_its_bounds),
        TEST(test_rates_fit_the_counts),
        TEST(test_what_is_below_zero),
        TEST(test_an_end_before_the_start),
        TEST(test_an_error_rate_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
