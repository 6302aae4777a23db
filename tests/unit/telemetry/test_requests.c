/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in telemetry files of a run, and what becomes of the texts of a span. */
#include "base/time.h"
#include "telemetry/files.h"
#include "telemetry/requests.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPAN(id, run)                                                                             \
    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[" run "]},\"scopeSpans\":[{\"spans\":["   \
    "{\"name\":\"llm_request\",\"startTimeUnixNano\":\"1772600760000000000\","                    \
    "\"endTimeUnixNano\":\"1772600761000000000\",\"attributes\":[{\"key\":\"gen_ai.request.id\"," \
    "\"value\":{\"stringValue\":\"" id "\"}}]}]}]}]}\n"
#define RUN(name) "{\"key\":\"run_id\",\"value\":{\"stringValue\":\"" name "\"}}"
#define OTHER_SPAN "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"name\":\"GET\"}]}]}]}\n"
#define METRIC                                                                               \
    "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"name\":\"queue\",\"gauge\":{" \
    "\"dataPoints\":[{\"timeUnixNano\":\"1772600760000000000\",\"asInt\":\"3\"}]}}]}]}]}\n"

static struct tc_rows *got; /* requests */
static uint64_t slices;
static char notes[1024];
static struct tc_telemetry_counts counts;
static struct tc_error err;

static tc_status take(void *context, const struct tc_rows *rows)
{
    (void)context;
    slices += rows->count;
    return TC_OK;
}

static tc_status take_requests(void *context, const struct tc_rows *rows)
{
    (void)context;
    for (size_t i = 0; i < rows->count; i++) {
        assert_true(tc_rows_add(got));
        assert_int_equal(tc_rows_copy_row(got, rows, i, SIZE_MAX), TC_OK);
    }
    return TC_OK;
}

static void note(void *context, struct tc_slice where, struct tc_slice field, struct tc_slice text)
{
    (void)context;
    (void)where;
    size_t at = strlen(notes);
    (void)snprintf(notes + at, sizeof notes - at, "%.*s: %.*s;", TC_FMT(field), TC_FMT(text));
}

static tc_status read_text(const char *text)
{
    struct tc_telemetry_input in = {.name = TC_LIT("spans.jsonl"),
                                    .bytes = tc_slice_cstr(text),
                                    .run_id = TC_LIT("run-1"),
                                    .job_uid = TC_LIT("job-1"),
                                    .source_digest = TC_LIT("sha256:0123")};
    struct tc_telemetry_out out = {.take = take, .take_requests = take_requests, .note = note};
    tc_rows_reset(got);
    slices = 0;
    notes[0] = '\0';
    counts = (struct tc_telemetry_counts){0};
    err = (struct tc_error){0};
    return tc_telemetry_read(&in, &out, &counts, &err);
}

static void assert_text(size_t column, size_t row, const char *want)
{
    if (want == NULL) {
        assert_true(tc_rows_is_null(got, column, row));
        return;
    }
    assert_false(tc_rows_is_null(got, column, row));
    struct tc_slice text = tc_rows_get_text(got, column, row);
    if (!tc_slice_eq(text, tc_slice_cstr(want))) {
        fail_msg("%.*s instead of %s", TC_FMT(text), want);
    }
}

static void spans_become_requests_of_the_run(void **state)
{
    (void)state;
    assert_int_equal(read_text(SPAN("a", "") SPAN("b", RUN("run-1")) OTHER_SPAN), TC_OK);
    assert_string_equal(counts.form, "otlp-json");
    assert_int_equal(counts.requests, 2);
    assert_int_equal(counts.rows, 2);
    assert_int_equal(counts.samples, 0);
    assert_int_equal(got->count, 2);
    assert_text(TC_REQUEST_REQUEST_ID, 0, "a");
    assert_text(TC_REQUEST_RUN_ID, 0, "run-1");
    assert_text(TC_REQUEST_JOIN, 0, "given");
    assert_text(TC_REQUEST_JOB_UID, 0, "job-1");
    assert_text(TC_REQUEST_SOURCE_DIGEST, 0, "sha256:0123");
    assert_text(TC_REQUEST_TOOL, 0, "otlp:vllm");
    assert_text(TC_REQUEST_WORKLOAD_POINT, 0, NULL);
    assert_text(TC_REQUEST_JOIN, 1, "identity");
    assert_true(tc_rows_is_null(got, TC_REQUEST_BATCH, 0));
    assert_int_equal(tc_rows_get_int(got, TC_REQUEST_STARTED, 0), INT64_C(1772600760000000));
    assert_string_equal(notes, "");
}

static void metrics_of_the_same_file_become_slices(void **state)
{
    (void)state;
    static const char *const files[] = {SPAN("a", "") METRIC, METRIC SPAN("a", "")};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(read_text(files[i]), TC_OK);
        assert_int_equal(got->count, 1);
        assert_int_equal(slices, 1);
        assert_int_equal(counts.rows, 2);
    }
}

static void requests_of_another_run_are_left_out(void **state)
{
    (void)state;
    assert_int_equal(read_text(SPAN("a", RUN("run-2")) SPAN("b", "")), TC_OK);
    assert_int_equal(got->count, 1);
    assert_int_equal(counts.other_run, 1);
    assert_string_equal(notes, "run_id: 1 requests belong to run run-2 by their attributes and are "
                               "left out;");
    assert_int_equal(read_text(SPAN("a", RUN("run-2"))), TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "all of its requests belong to run run-2"));
    assert_int_equal(read_text(SPAN("a", RUN("run-2")) METRIC), TC_OK);
    assert_int_equal(got->count, 0);
    assert_int_equal(slices, 1);
}

static void a_file_without_requests_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(read_text(OTHER_SPAN OTHER_SPAN), TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "none of its 2 spans is a request"));
    assert_int_equal(read_text("{\"resourceSpans\":[{\"torn\n"), TC_E_MALFORMED);
    assert_int_equal(read_text(SPAN("a", "") "{\"resourceSpans\":[{\"torn\n" SPAN("b", "")), TC_OK);
    assert_int_equal(got->count, 2);
    assert_string_equal(notes, "spans: 1 requests of OTLP traces could not be read;");
}

static void texts_are_plain_and_short(void **state)
{
    (void)state;
    char words[2000] = "";
    struct tc_request_span span = {.tool = "otlp:vllm",
                                   .status = "error",
                                   .request_id = tc_slice_make(words, 300),
                                   .run_id = TC_LIT("a\nb"),
                                   .started_ns = TC_TIME_NONE,
                                   .first_token_ns = TC_TIME_NONE,
                                   .ended_ns = TC_TIME_NONE,
                                   .queue_ms = (double)NAN,
                                   .ttft_ms = (double)NAN,
                                   .tpot_ms = (double)NAN,
                                   .e2e_ms = (double)NAN,
                                   .input_tokens = -1,
                                   .output_tokens = 0,
                                   .offset = 7,
                                   .length = 9};
    const struct tc_request_source source = {.digest = TC_LIT("sha256:00"), .batch = 5};
    size_t column = 0;
    size_t row = 0;
    /* One byte before a character of two, so that the cut is within one. */
    memset(words, 'x', sizeof words);
    for (size_t i = 1; i + 1 < sizeof words; i += 2) {
        memcpy(words + i, "\u00e9", 2);
    }
    tc_rows_reset(got);
    span.error = tc_slice_make(words, sizeof words);
    assert_int_equal(tc_request_row(got, &span, &source), TC_OK);
    span.error = TC_LIT("first\nsecond\x1b[31m\xff");
    assert_int_equal(tc_request_row(got, &span, &source), TC_OK);
    assert_true(tc_rows_are_sound(got, &column, &row));
    assert_int_equal(tc_rows_get_text(got, TC_REQUEST_ERROR, 0).len, 511);
    assert_text(TC_REQUEST_ERROR, 1, "first\\x0asecond\\x1b[31m\\xff");
    assert_text(TC_REQUEST_RUN_ID, 0, "a\\x0ab");
    assert_true(
        tc_slice_starts(tc_rows_get_text(got, TC_REQUEST_REQUEST_ID, 0), TC_LIT("sha256:")));
    assert_text(TC_REQUEST_SOURCE_POINTER, 0, "at:7,9");
    assert_int_equal(tc_rows_get_int(got, TC_REQUEST_BATCH, 0), 5);
    assert_int_equal(tc_rows_get_int(got, TC_REQUEST_OUTPUT_TOKENS, 0), 0);
    static const size_t unknown[] = {
        TC_REQUEST_STARTED, TC_REQUEST_FIRST_TOKEN,  TC_REQUEST_ENDED,   TC_REQUEST_QUEUE,
        TC_REQUEST_E2E,     TC_REQUEST_INPUT_TOKENS, TC_REQUEST_POD_UID, TC_REQUEST_TRACE_ID};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_true(tc_rows_is_null(got, unknown[i], 0));
    }
    while (got->count < TC_ROWS_MAX) {
        assert_int_equal(tc_request_row(got, &span, &source), TC_OK);
    }
    assert_int_equal(tc_request_row(got, &span, &source), TC_E_LIMIT);
    assert_int_equal(got->count, TC_ROWS_MAX);
}

static int setup(void **state)
{
    (void)state;
    got = tc_rows_create(TC_TABLE_REQUEST);
    return got == NULL;
}

static int teardown(void **state)
{
    (void)state;
    tc_rows_destroy(got);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_become_requests_of_the_run),
        cmocka_unit_test(metrics_of_the_same_file_become_slices),
        cmocka_unit_test(requests_of_another_run_are_left_out),
        cmocka_unit_test(a_file_without_requests_is_an_error),
        cmocka_unit_test(texts_are_plain_and_short),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
