/* SPDX-License-Identifier: Apache-2.0 */
/* Single requests: what each tool says of them, what is left out, and what the summary must agree
 * with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "result/requests.h"
#include "result_testing.h"

#define SUMMARY                                                               \
    "\"model_id\":\"m\",\"num_prompts\":4,\"completed\":3,\"duration\":1,"    \
    "\"request_throughput\":1,\"mean_ttft_ms\":291,\"total_input_tokens\":9," \
    "\"total_output_tokens\":9,\"max_concurrency\":2,"
#define LISTS                                                                          \
    "\"input_lens\":[8,8,8,8],\"output_lens\":[4,4,0,1],\"ttfts\":[0.125,0.25,0,0.5]," \
    "\"itls\":[[0.25,0.25],[0.5],[],[]],\"errors\":[\"\",\"\",\"no\",\"\"]"

/* All requests of a file, one batch after the other. */
struct taken {
    struct tc_rows *rows;
    size_t of[8]; /* serving rows, by batch */
    size_t batches;
    size_t fail_at;
};

static tc_status take(void *context, size_t serving, struct tc_rows *rows, struct tc_error *err)
{
    struct taken *t = context;
    if (t->batches < 8) {
        t->of[t->batches] = serving;
    }
    if (++t->batches == t->fail_at) {
        return tc_fail(err, TC_E_IO, 0, "the disk is full");
    }
    for (size_t i = 0; i < rows->count && t->rows->count < TC_ROWS_MAX; i++) {
        assert_true(tc_rows_add(t->rows));
        assert_int_equal(tc_rows_copy_row(t->rows, rows, i, SIZE_MAX), TC_OK);
    }
    return TC_OK;
}

static struct taken read_requests(const char *text)
{
    struct taken t = {.rows = tc_rows_create(TC_TABLE_REQUEST)};
    struct tc_error err = {.message = ""};
    if (tc_result_read_requests(TC_LIT("file"), tc_slice_cstr(text), NULL, take, &t, &err) !=
        TC_OK) {
        fail_msg("%s", err.message);
    }
    return t;
}

static double real(const struct taken *t, size_t column, size_t row)
{
    return tc_rows_is_null(t->rows, column, row) ? -1 : tc_rows_get_real(t->rows, column, row);
}

static void is_text(const struct taken *t, size_t column, size_t row, const char *want)
{
    bool null = tc_rows_is_null(t->rows, column, row);
    if (want == NULL
            ? !null
            : null || !tc_slice_eq(tc_rows_get_text(t->rows, column, row), tc_slice_cstr(want))) {
        fail_msg("row %zu, column %zu is not %s", row, column, want == NULL ? "NULL" : want);
    }
}

static void lists_side_by_side_are_requests(void **state)
{
    (void)state;
    struct taken t = read_requests("{" SUMMARY LISTS "}");
    assert_int_equal(t.rows->count, 4);
    is_text(&t, TC_REQUEST_SOURCE_POINTER, 1, "/ttfts/1");
    is_text(&t, TC_REQUEST_STATUS, 1, "ok");
    is_text(&t, TC_REQUEST_TOOL, 1, "vllm");
    assert_true(real(&t, TC_REQUEST_TTFT, 0) == 125);
    assert_true(real(&t, TC_REQUEST_E2E, 0) == 625);
    assert_true(fabs(real(&t, TC_REQUEST_TPOT, 0) - 500.0 / 3) < 1e-9);
    assert_int_equal(tc_rows_get_int(t.rows, TC_REQUEST_INPUT_TOKENS, 0), 8);
    /* One token has no time per token. */
    assert_true(real(&t, TC_REQUEST_TPOT, 3) == -1);
    is_text(&t, TC_REQUEST_STATUS, 2, "error");
    is_text(&t, TC_REQUEST_ERROR, 2, "no");
    assert_true(real(&t, TC_REQUEST_TTFT, 2) == -1);
    tc_rows_destroy(t.rows);
}

static void clocks_that_count_from_a_start_are_no_times(void **state)
{
    (void)state;
    static const struct {
        const char *start;
        bool known;
    } cases[] = {{"1762000000.5", true}, {"1e9", true},    {"999999999.9", false},
                 {"-1", false},          {"1e300", false}, {"NaN", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "{" SUMMARY LISTS ",\"start_times\":[%s]}",
                       cases[i].start);
        struct taken t = read_requests(text);
        assert_int_equal(!tc_rows_is_null(t.rows, TC_REQUEST_STARTED, 0), cases[i].known);
        assert_true(tc_rows_is_null(t.rows, TC_REQUEST_STARTED, 1));
        tc_rows_destroy(t.rows);
    }
}

static void lists_of_other_lengths_are_noted(void **state)
{
    (void)state;
    struct tc_result *r = read_text("{" SUMMARY "\"ttfts\":[0.5,0.5,0.5],\"itls\":[[]],"
                                    "\"output_lens\":[1,1,1,1],\"errors\":[\"\",\"\",\"\"]}",
                                    "vllm");
    assert_int_equal(tc_result_requests(r), 3);
    assert_true(has_note(r, "has fewer values than ttfts, which has 3", false));
    assert_true(has_note(r, "has more values than ttfts, which has 3", false));
    tc_result_destroy(r);
}

static void what_cannot_be_is_left_out_and_noted(void **state)
{
    (void)state;
    const char *text = "{" SUMMARY "\"ttfts\":[-0.5,1e300,0.5],\"latencies\":[0.5,1,-2],"
                       "\"output_lens\":[1,1e300,2.5],\"errors\":[\"\",\"\",\"\"]}";
    struct tc_result *r = read_text(text, "vllm");
    assert_true(has_note(r, "of 2 requests it is below 0 or absurdly large", false));
    assert_true(has_note(r, "of 1 requests it is below 0 or absurdly large", false));
    tc_result_destroy(r);
    struct taken t = read_requests(text);
    assert_true(real(&t, TC_REQUEST_TTFT, 0) == -1 && real(&t, TC_REQUEST_TTFT, 1) == -1);
    assert_true(real(&t, TC_REQUEST_TTFT, 2) == 500 && real(&t, TC_REQUEST_E2E, 2) == -1);
    for (size_t i = 1; i < 3; i++) {
        assert_true(tc_rows_is_null(t.rows, TC_REQUEST_OUTPUT_TOKENS, i));
    }
    tc_rows_destroy(t.rows);
}

/* Both sides of what rounding explains: 0.01 ms and a thousandth. */
static void percentiles_are_checked_against_the_requests(void **state)
{
    (void)state;
    static const struct {
        const char *told;
        bool odd;
    } cases[] = {{"\"median_ttft_ms\":250", false}, {"\"median_ttft_ms\":124", true},
                 {"\"p99_ttft_ms\":500", false},    {"\"p99_ttft_ms\":490", false},
                 {"\"p99_ttft_ms\":500.5", false},  {"\"p99_ttft_ms\":500.6", true},
                 {"\"p99_ttft_ms\":249.9", false},  {"\"p99_ttft_ms\":249.7", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[640];
        (void)snprintf(text, sizeof text, "{" SUMMARY LISTS ",%s}", cases[i].told);
        struct tc_result *r = read_text(text, "vllm");
        if (has_note(r, "by the tool, its requests give", false) != cases[i].odd) {
            fail_msg("%s: %s", cases[i].told, cases[i].odd ? "no note" : "a note");
        }
        tc_result_destroy(r);
    }
}

static void runs_of_a_file_keep_their_requests_apart(void **state)
{
    (void)state;
    struct taken t = read_requests("{" SUMMARY LISTS "}\n{" SUMMARY LISTS "}\n");
    assert_int_equal(t.rows->count, 8);
    assert_int_equal(t.batches, 2);
    assert_int_equal(t.of[0], 0);
    assert_int_equal(t.of[1], 1);
    is_text(&t, TC_REQUEST_SOURCE_POINTER, 5, "line:2/ttfts/1");
    tc_rows_destroy(t.rows);
}

static void cancelled_requests_are_no_errors(void **state)
{
    (void)state;
    struct taken t = read_requests(
        "{\"metadata\":{\"x_request_id\":\"a\",\"worker_id\":\"w\",\"request_start_ns\":"
        "1762000000000000000},\"metrics\":{\"request_latency\":{\"value\":2,\"unit\":\"sec\"}}}\n"
        "{\"metadata\":{\"x_request_id\":\"a\",\"worker_id\":\"w\"},\"metrics\":{},\"error\":"
        "{\"type\":\"RequestCancellationError\",\"message\":\"late\"}}\n"
        "{\"metadata\":{\"worker_id\":\"w\",\"was_cancelled\":true},\"metrics\":{},\"error\":"
        "{\"code\":500}}\n"
        "{\"metadata\":{\"worker_id\":\"w\",\"was_cancelled\":false},\"metrics\":{},\"error\":"
        "{\"type\":\"Bad\"}}\n");
    assert_int_equal(t.rows->count, 4);
    assert_true(real(&t, TC_REQUEST_E2E, 0) == 2000);
    assert_int_equal(tc_rows_get_int(t.rows, TC_REQUEST_ENDED, 0), INT64_C(1762000002000000));
    is_text(&t, TC_REQUEST_REQUEST_ID, 1, "a"); /* twice: both are there */
    is_text(&t, TC_REQUEST_STATUS, 1, "cancelled");
    is_text(&t, TC_REQUEST_ERROR, 1, "late");
    is_text(&t, TC_REQUEST_STATUS, 2, "cancelled");
    is_text(&t, TC_REQUEST_STATUS, 3, "error");
    is_text(&t, TC_REQUEST_ERROR, 3, "Bad");
    tc_rows_destroy(t.rows);
}

/* More than a batch holds; the sink's failure ends the reading, in its words. */
static void many_come_in_batches(void **state)
{
    (void)state;
    const size_t count = 2 * TC_ROWS_MAX + 1;
    char *text = malloc(count * 4 + 1024);
    size_t len = (size_t)snprintf(text, 1024, "{" SUMMARY "\"errors\":[],\"ttfts\":[1");
    for (size_t i = 1; i < count; i++) {
        len += (size_t)snprintf(text + len, 8, ",1");
    }
    (void)snprintf(text + len, 8, "]}");
    struct taken t = read_requests(text);
    assert_int_equal(t.batches, 3);
    tc_rows_destroy(t.rows);
    struct tc_error err = {.message = ""};
    t = (struct taken){.rows = tc_rows_create(TC_TABLE_REQUEST), .fail_at = 2};
    assert_int_equal(
        tc_result_read_requests(TC_LIT("file"), tc_slice_cstr(text), NULL, take, &t, &err),
        TC_E_IO);
    assert_string_equal(err.message, "the disk is full");
    assert_int_equal(t.batches, 2);
    tc_rows_destroy(t.rows);
    free(text);
}

static void long_words_are_cut_at_a_character(void **state)
{
    (void)state;
    char error[TC_REQUEST_ERROR_MAX + 8];
    char text[2048];
    memset(error, 'x', sizeof error);
    memcpy(error + TC_REQUEST_ERROR_MAX - 1, "\xc3\xbc", 2);
    error[sizeof error - 1] = '\0';
    (void)snprintf(text, sizeof text, "{" SUMMARY "\"ttfts\":[1,0],\"errors\":[\"\",\"%s\"]}",
                   error);
    struct taken t = read_requests(text);
    assert_int_equal(tc_rows_get_text(t.rows, TC_REQUEST_ERROR, 1).len, TC_REQUEST_ERROR_MAX - 1);
    tc_rows_destroy(t.rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_side_by_side_are_requests),
        cmocka_unit_test(clocks_that_count_from_a_start_are_no_times),
        cmocka_unit_test(lists_of_other_lengths_are_noted),
        cmocka_unit_test(what_cannot_be_is_left_out_and_noted),
        cmocka_unit_test(percentiles_are_checked_against_the_requests),
        cmocka_unit_test(runs_of_a_file_keep_their_requests_apart),
        cmocka_unit_test(cancelled_requests_are_no_errors),
        cmocka_unit_test(many_come_in_batches),
        cmocka_unit_test(long_words_are_cut_at_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
