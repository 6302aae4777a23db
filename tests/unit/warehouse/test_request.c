/* SPDX-License-Identifier: Apache-2.0 */
/* Requests are kept as numbers and scopes; every value comes back as it was given, latencies to the
 * microsecond. */
#include "support/warehouse_room.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define HEX "0af7651916cd43dd8448eb211c80319c"
#define UUID "c087da26-5552-4785-958a-cad75c7b22de"

static const char *const IDS[] = {
    NULL,
    "",
    "0",
    "7",
    "007",
    "-1",
    "1e5",
    "999999999999999999",
    "1000000000000000000",
    "18446744073709551615",
    "req-12",
    "req-00012",
    "req-0",
    "a1b2",
    HEX,
    UUID,
    "00000000000000000000000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "0AF7651916CD43DD8448EB211C80319C",
    "C087DA26-5552-4785-958A-CAD75C7B22DE",
    "chatcmpl-" HEX,
    "cmpl-" UUID,
    "cmpl-" UUID "-0",
    "cmpl-" UUID "-123",
    "cmpl-" UUID "-1234",
    "cmpl-" UUID "x",
    "cmpl-" UUID "-ab",
    "a" HEX,
    "f" HEX "f",
    "c087da26-5552-4785-958a-cad75c7b22d",
    "c087da265552-4785-958a-cad75c7b22de-",
    "abcdefabcdefabcdefabcdefabcdefab-" UUID,
    "pre.fix:of_letters-12345",
    "abcdefghijklmnopqrstuvwxyzabcdefg1",
    "\xc3\xbc-" HEX,
    "line\n1",
    "'); DROP TABLE serving_request; --1",
};
static const char *const POINTERS[] = {NULL,
                                       "",
                                       "/",
                                       "/ttfts/0",
                                       "line:12",
                                       "line:0012",
                                       "/00",
                                       "1",
                                       "/a/b",
                                       "/benchmarks/3/requests/successful/123456",
                                       "/123456789012345678901234567890",
                                       "at:0,1",
                                       "at:1042,117",
                                       "at:012,5",
                                       "at:5,012",
                                       "at:,5",
                                       "at:5,",
                                       "4,5",
                                       "cat:4,5",
                                       "at:1234567890123456789,5"};
static const double LATENCIES[] = {0,        0.001,       0.0004, 12.3456789, 1234.567,
                                   86400000, 999999999.9, 1e11,   8.9e12,     9.1e12,
                                   1e300,    -5,          -0.0006};
static const int64_t TIMES[] = {
    INT64_C(1762000000000000), 0, -1, INT64_C(-62135596800000000), INT64_C(253402300799999999),
    INT64_C(1762000000000001)};

static void put(struct tc_rows *rows, size_t column, const char *text)
{
    if (text != NULL) {
        assert_int_equal(tc_rows_text(rows, column, tc_slice_cstr(text)), TC_OK);
    }
}

/* Numbers whose NULLs fall on all combinations. */
static void put_numbers(struct tc_rows *rows, size_t n)
{
    for (size_t c = TC_REQUEST_QUEUE; c <= TC_REQUEST_E2E; c++) {
        if ((n >> (c - TC_REQUEST_QUEUE) & 3) != 3) {
            tc_rows_real(rows, c, LATENCIES[(n + c) % COUNT(LATENCIES)]);
        }
    }
    for (size_t c = TC_REQUEST_STARTED; c <= TC_REQUEST_ENDED; c++) {
        if ((n / 3 >> (c - TC_REQUEST_STARTED) & 1) == 0) {
            tc_rows_int(rows, c, TIMES[(n / 7 + c * (n % 5)) % COUNT(TIMES)]);
        }
    }
    if (n % 4 != 0) {
        tc_rows_int(rows, TC_REQUEST_INPUT_TOKENS, (int64_t)n * 3 - 5);
    }
    if (n % 3 == 0) {
        tc_rows_real(rows, TC_REQUEST_CONCURRENCY, (double)(n % 8) / 3);
    }
    tc_rows_int(rows, TC_REQUEST_OUTPUT_TOKENS, (int64_t)n); /* tells rows apart */
    if (n % 6 == 5) {
        tc_rows_real(rows, TC_REQUEST_TTFT, 100.125);
        tc_rows_real(rows, TC_REQUEST_E2E, 100.125 + 7.0015 * (double)(n - 1));
        tc_rows_real(rows, TC_REQUEST_TPOT, 7.0015);
    }
}

static void put_row(struct tc_rows *rows, size_t n)
{
    assert_true(tc_rows_add(rows));
    put(rows, TC_REQUEST_RUN_ID, n % 5 == 0 ? NULL : n % 2 == 0 ? "run-a" : "run-b");
    put(rows, TC_REQUEST_JOIN, n % 5 == 0 ? NULL : "given");
    put(rows, TC_REQUEST_REQUEST_ID, IDS[n % COUNT(IDS)]);
    put(rows, TC_REQUEST_TRACE_ID, IDS[n / 2 % COUNT(IDS)]);
    put(rows, TC_REQUEST_WORKLOAD_POINT, n % 7 == 0 ? NULL : "in=1 out=2");
    put(rows, TC_REQUEST_STATUS, n % 11 == 0 ? "error" : "ok");
    put(rows, TC_REQUEST_ERROR, n % 11 == 0 ? "it broke" : NULL);
    put(rows, TC_REQUEST_NODE, n % 13 == 0 ? NULL : "node-1");
    put(rows, TC_REQUEST_SOURCE_POINTER, POINTERS[n % COUNT(POINTERS)]);
    if (n % 17 < 3) {
        tc_rows_int(rows, TC_REQUEST_BATCH, (int64_t)n / 17);
    }
    put_numbers(rows, n);
}

struct seen {
    const struct tc_rows *want;
    size_t count;
};

static void same_cell(const struct tc_rows *a, size_t row, const struct tc_rows *b, size_t other,
                      size_t c)
{
    bool null = tc_rows_is_null(a, c, row);
    if (tc_rows_is_null(b, c, other) != null) {
        fail_msg("row %zu: %s is %s", row, a->columns[c].name, null ? "not NULL" : "NULL");
    }
    if (null) {
        return;
    }
    if (a->columns[c].type == TC_COLUMN_TEXT) {
        struct tc_slice x = tc_rows_get_text(a, c, row);
        struct tc_slice y = tc_rows_get_text(b, c, other);
        if (!tc_slice_eq(x, y)) {
            fail_msg("%s: \"%.*s\" became \"%.*s\"", a->columns[c].name, TC_FMT(x), TC_FMT(y));
        }
    } else if (a->columns[c].type == TC_COLUMN_REAL && c >= TC_REQUEST_QUEUE) {
        double x = tc_rows_get_real(a, c, row);
        double y = tc_rows_get_real(b, c, other);
        assert_true(fabs(x) < 1e9 ? fabs(x - y) <= 0.0005000001 : x == y);
    } else if (a->columns[c].cells[row].integer != b->columns[c].cells[other].integer) {
        fail_msg("row %zu: %s: %lld became %lld", row, a->columns[c].name,
                 (long long)a->columns[c].cells[row].integer,
                 (long long)b->columns[c].cells[other].integer);
    }
}

static tc_status compare(void *context, const struct tc_rows *rows)
{
    struct seen *s = context;
    for (size_t i = 0; i < rows->count; i++, s->count++) {
        for (size_t c = 0; c < TC_REQUEST_COLUMNS; c++) {
            same_cell(s->want, s->count % TC_ROWS_MAX, rows, i, c);
        }
    }
    return TC_OK;
}

static void append(struct tc_warehouse *w, const struct tc_rows *rows, size_t times)
{
    struct tc_error err = {0};
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    for (size_t i = 0; i < times; i++) {
        assert_int_equal(tc_warehouse_append(w, TC_TABLE_REQUEST, rows, &err), TC_OK);
    }
    if (tc_warehouse_commit(w, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
}

static struct tc_rows *make_rows(void)
{
    struct tc_rows *rows = tc_rows_create(TC_TABLE_REQUEST);
    for (size_t n = 0; n < TC_ROWS_MAX; n++) {
        put_row(rows, n);
    }
    return rows;
}

/* Written and read again. */
static void comes_back(struct wh_room *room, const struct tc_rows *rows)
{
    struct tc_error err = {0};
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    append(w, rows, 1);
    struct seen seen = {.want = rows};
    struct tc_query query = {
        .sql = TC_LIT("SELECT * FROM serving_request_fact ORDER BY output_tokens")};
    if (tc_warehouse_query(w, &query, compare, &seen, NULL, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(seen.count, rows->count);
    tc_warehouse_close(w);
}

static void every_value_comes_back(void **state)
{
    struct tc_rows *rows = make_rows();
    comes_back(*state, rows);
    tc_rows_destroy(rows);
}

static uint64_t scatter(size_t n)
{
    return (uint64_t)(n + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* As many as DuckDB hands over at once, all different, some of them NULL. */
static void ids_of_whole_vectors_come_back(void **state)
{
    struct tc_rows *rows = tc_rows_create(TC_TABLE_REQUEST);
    for (size_t n = 0; n < TC_ROWS_MAX; n++) {
        char text[40];
        uint64_t a = scatter(n);
        uint64_t b = scatter(n + TC_ROWS_MAX);
        assert_true(tc_rows_add(rows));
        (void)snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(a >> 32),
                       (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xffff), (unsigned)(b >> 48),
                       (unsigned long long)(b & 0xffffffffffff));
        put(rows, TC_REQUEST_REQUEST_ID, text);
        (void)snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)b,
                       (unsigned long long)a);
        put(rows, TC_REQUEST_TRACE_ID, n % 1000 == 999 ? NULL : text);
        tc_rows_int(rows, TC_REQUEST_OUTPUT_TOKENS, (int64_t)n);
    }
    comes_back(*state, rows);
    tc_rows_destroy(rows);
}

/* More than a buffer holds: they go in by the table function, in order of scope and time. */
static void many_are_in_order(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    struct tc_rows *rows = make_rows();
    append(w, rows, 130);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM serving_request_fact"), 130 * TC_ROWS_MAX);
    assert_int_equal(
        wh_count(w, "SELECT count(DISTINCT (scope_id, output_tokens)) FROM serving_request"),
        TC_ROWS_MAX);
    /* Each value of each row as often as it was given. */
    assert_int_equal(wh_count(w, "SELECT count(*) FROM (SELECT output_tokens, count(*) AS n, "
                                 "count(DISTINCT (request_id, trace_id, ended_at, e2e_ms)) AS m "
                                 "FROM serving_request_fact GROUP BY output_tokens) WHERE n = 130 "
                                 "AND m = 1"),
                     TC_ROWS_MAX);
    tc_rows_destroy(rows);
    tc_warehouse_close(w);
}

static void a_run_is_forgotten_with_its_scopes(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err = {0};
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    struct tc_rows *rows = make_rows();
    append(w, rows, 1);
    tc_rows_destroy(rows);
    const struct tc_slice runs[] = {TC_LIT("run-a"), TC_LIT("run-b")};
    const struct tc_forget by_run = {.table = TC_TABLE_REQUEST,
                                     .key_column = TC_REQUEST_RUN_ID,
                                     .keys = runs,
                                     .key_count = 2,
                                     .before_us = INT64_MIN};
    const struct tc_forget by_end = {.table = TC_TABLE_REQUEST,
                                     .time_column = TC_REQUEST_ENDED,
                                     .before_us = INT64_C(1762000000000000)};
    uint64_t gone = 0;
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    assert_int_equal(tc_warehouse_forget(w, &by_end, &gone, &err), TC_E_UNSUPPORTED);
    tc_warehouse_rollback(w);
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    assert_int_equal(tc_warehouse_forget(w, &by_run, &gone, &err), TC_OK);
    assert_int_equal(tc_warehouse_commit(w, &err), TC_OK);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM serving_request_fact"),
                     TC_ROWS_MAX - (int64_t)gone);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM serving_request_fact WHERE run_id IS NOT "
                                 "NULL"),
                     0);
    tc_warehouse_close(w);
    w = wh_open(room, TC_WAREHOUSE_WRITE);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM serving_request_scope WHERE scope_id NOT IN "
                                 "(SELECT scope_id FROM serving_request)"),
                     0);
    tc_warehouse_close(w);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, wh_setup, wh_teardown)
    const struct CMUnitTest tests[] = {
        T(every_value_comes_back),
        T(ids_of_whole_vectors_come_back),
        T(many_are_in_order),
        T(a_run_is_forgotten_with_its_scopes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
