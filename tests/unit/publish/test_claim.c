/* SPDX-License-Identifier: Apache-2.0 */
/* The form of a claim, which names it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "publish/claim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST(digit) "sha256:" DIGITS(digit) DIGITS(digit) DIGITS(digit) DIGITS(digit)
#define DIGITS(digit) \
    digit digit digit digit digit digit digit digit digit digit digit digit digit digit digit digit

static struct tc_claim_run runs[] = {
    {.run_id = {"a", 1},
     .workload = {DIGEST("1"), 71},
     .manifest = {DIGEST("2"), 71},
     .record = {DIGEST("3"), 71},
     .value = 151.7,
     .rows = 1,
     .is_signed = true},
    {.run_id = {"b", 1},
     .manifest = {DIGEST("4"), 71},
     .record = {DIGEST("5"), 71},
     .value = 2e-7,
     .rows = 2,
     .is_outlier = true},
};
static struct tc_condition conditions[] = {
    {.name = {"contract", 8}, .state = TC_CONDITION_NOT_MET, .why = {"none", 4}},
};

static struct tc_claim example(void)
{
    return (struct tc_claim){
        .metric = TC_LIT("ttft_p99_ms"),
        .definition_id = TC_LIT("vllm:p99_ttft_ms"),
        .unit = TC_LIT("ms"),
        .point = TC_LIT("in=1"),
        .report_row = TC_LIT("night \"7\""),
        .statistic = TC_LIT("median"),
        .interval_method = TC_LIT("order statistics"),
        .query = TC_LIT("SELECT 1"),
        .query_digest = TC_LIT(DIGEST("6")),
        .statement = TC_LIT("unstable: so"),
        .value = 75.85,
        .low = 2e-7,
        .high = 151.7,
        .level = 0.5,
        .level_asked = 0.95,
        .spread = 112.4,
        .conditions = conditions,
        .condition_count = 1,
        .runs = runs,
        .run_count = 2,
    };
}

static char *text_of(const struct tc_claim *claim, size_t *out_len)
{
    char *text = NULL;
    struct tc_error err = {0};
    assert_int_equal(tc_claim_write(claim, &text, out_len, &err), TC_OK);
    return text;
}

static void what_is_written_is_read_back_and_has_one_name(void **state)
{
    (void)state;
    struct tc_claim claim = example();
    struct tc_claim back;
    struct tc_error err = {0};
    size_t len = 0;
    size_t again_len = 0;
    char id[TC_NUMBER_ID_BYTES];
    char *text = text_of(&claim, &len);
    assert_int_equal(tc_claim_read(tc_slice_make(text, len), &back, &err), TC_OK);
    assert_int_equal(back.run_count, 2);
    assert_true(back.runs[0].is_signed && !back.runs[1].is_signed && back.runs[1].is_outlier);
    assert_true(back.runs[0].value == 151.7 && back.runs[1].value == 2e-7);
    assert_int_equal(back.runs[1].rows, 2);
    assert_int_equal(back.runs[1].workload.len, 0);
    assert_true(back.level == 0.5 && back.level_asked == 0.95 && back.spread == 112.4);
    assert_int_equal(back.conditions[0].state, TC_CONDITION_NOT_MET);
    assert_true(tc_slice_eq(back.statement, claim.statement));
    char *again = text_of(&back, &again_len);
    assert_int_equal(again_len, len);
    assert_memory_equal(again, text, len);
    assert_int_equal(tc_claim_name(tc_slice_make(text, len), id, &err), TC_OK);
    assert_true(tc_claim_is_name(tc_slice_cstr(id)));
    /* Of old claims too: a name never changes. */
    assert_string_equal(id, "num-9c5331d1f4bca9be");
    assert_false(tc_claim_is_name(TC_LIT("num-0123")));
    assert_false(tc_claim_is_name(TC_LIT("run-0123456789abcdef")));
    assert_false(tc_claim_is_name(TC_LIT("num-0123456789abcdeg")));
    free(again);
    free(text);
    tc_claim_fini(&back);
}

static void one_value_has_no_interval(void **state)
{
    (void)state;
    struct tc_claim claim = example();
    struct tc_claim back;
    struct tc_error err = {0};
    size_t len = 0;
    claim.run_count = 1;
    claim.low = claim.high = claim.level = claim.spread = (double)NAN;
    char *text = text_of(&claim, &len);
    assert_non_null(memmem(text, len, "\"low\":null", 10));
    assert_int_equal(tc_claim_read(tc_slice_make(text, len), &back, &err), TC_OK);
    assert_true(isnan(back.low) && isnan(back.spread));
    free(text);
    tc_claim_fini(&back);
}

static void a_run_that_others_are_measured_against_has_no_value(void **state)
{
    (void)state;
    struct tc_claim claim = example();
    struct tc_claim_run both[] = {runs[0], runs[1]};
    struct tc_claim back;
    struct tc_error err = {0};
    size_t len = 0;
    both[1].is_basis = true;
    both[1].value = (double)NAN;
    claim.runs = both;
    assert_int_equal(tc_claim_replicates(&claim), 1);
    char *text = text_of(&claim, &len);
    assert_int_equal(tc_claim_read(tc_slice_make(text, len), &back, &err), TC_OK);
    assert_true(back.runs[1].is_basis);
    free(text);
    tc_claim_fini(&back);
    both[0] = both[1];
    text = text_of(&claim, &len);
    assert_int_equal(tc_claim_read(tc_slice_make(text, len), &back, &err), TC_E_MALFORMED);
    free(text);
    tc_claim_fini(&back);
}

static void what_is_no_claim_is_refused(void **state)
{
    (void)state;
    static const char *const others[] = {
        "",
        "[]",
        "{}",
        "{\"claim_version\":2}",
        "{\"claim_version\":1,\"runs\":[]}",
        "{\"claim_version\":1,\"runs\":[{}]}",
    };
    struct tc_error err;
    struct tc_claim back;
    for (size_t i = 0; i < TC_COUNT(others); i++) {
        assert_int_equal(tc_claim_read(tc_slice_cstr(others[i]), &back, &err), TC_E_MALFORMED);
        tc_claim_fini(&back);
    }
    /* The same members with other blanks, or with one that this program does not know. */
    struct tc_claim claim = example();
    size_t len = 0;
    char *text = text_of(&claim, &len);
    char *other = malloc(len + 32);
    other[0] = '{';
    other[1] = ' ';
    memcpy(other + 2, text + 1, len - 1);
    assert_int_equal(tc_claim_read(tc_slice_make(other, len + 1), &back, &err), TC_E_MALFORMED);
    tc_claim_fini(&back);
    int head = snprintf(other, 32, "{\"also\":1,");
    memcpy(other + head, text + 1, len - 1);
    assert_int_equal(tc_claim_read(tc_slice_make(other, len - 1 + (size_t)head), &back, &err),
                     TC_E_MALFORMED);
    tc_claim_fini(&back);
    free(other);
    free(text);
}

static void too_many_runs_or_a_long_query_are_refused(void **state)
{
    (void)state;
    struct tc_claim claim = example();
    char *text = NULL;
    size_t len = 0;
    struct tc_error err;
    char *query = calloc(1, TC_CLAIM_QUERY_MAX + 1);
    assert_non_null(query);
    memset(query, 'x', TC_CLAIM_QUERY_MAX + 1);
    claim.query = tc_slice_make(query, TC_CLAIM_QUERY_MAX);
    assert_int_equal(tc_claim_write(&claim, &text, &len, &err), TC_OK);
    free(text);
    claim.query.len++;
    assert_int_equal(tc_claim_write(&claim, &text, &len, &err), TC_E_LIMIT);
    claim.query.len = 1;
    claim.run_count = TC_CLAIM_RUNS_MAX + 1;
    assert_int_equal(tc_claim_write(&claim, &text, &len, &err), TC_E_LIMIT);
    free(query);
}

static void there_is_a_row_for_each_run(void **state)
{
    (void)state;
    struct tc_claim claim = example();
    struct tc_digest entry = {{7}};
    struct tc_rows *rows = tc_claim_rows(&claim, "num-0123456789abcdef", 1000, &entry);
    assert_non_null(rows);
    assert_int_equal(rows->count, 2);
    assert_true(tc_rows_get_real(rows, TC_PUBLISHED_VALUE, 1) == 75.85);
    assert_int_equal(tc_rows_get_int(rows, TC_PUBLISHED_REPLICATES, 1), 2);
    assert_int_equal(tc_rows_get_int(rows, TC_PUBLISHED_UNSTABLE, 0), 1);
    assert_true(tc_rows_is_null(rows, TC_PUBLISHED_SPEC_DIGEST, 1));
    assert_true(
        tc_slice_starts(tc_rows_get_text(rows, TC_PUBLISHED_ENTRY, 0), TC_LIT("sha256:07")));
    tc_rows_destroy(rows);
    claim.statement = TC_EMPTY;
    rows = tc_claim_rows(&claim, "num-0123456789abcdef", 1000, &entry);
    assert_int_equal(tc_rows_get_int(rows, TC_PUBLISHED_UNSTABLE, 0), 0);
    assert_true(tc_rows_is_null(rows, TC_PUBLISHED_STATEMENT, 0));
    tc_rows_destroy(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back_and_has_one_name),
        cmocka_unit_test(one_value_has_no_interval),
        cmocka_unit_test(a_run_that_others_are_measured_against_has_no_value),
        cmocka_unit_test(what_is_no_claim_is_refused),
        cmocka_unit_test(too_many_runs_or_a_long_query_are_refused),
        cmocka_unit_test(there_is_a_row_for_each_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
