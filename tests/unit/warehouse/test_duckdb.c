/* SPDX-License-Identifier: Apache-2.0 */
/* The DuckDB engine through warehouse.h: what goes in comes out, all or nothing. */
#include "support/warehouse_room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SLICES "SELECT count(*) FROM telemetry_slice_fact"

static void what_was_committed_is_there_after_reopening(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    assert_true(strncmp(tc_warehouse_engine(w), "duckdb 1.", 9) == 0);
    wh_add_slices(w, 0, 5000);
    assert_int_equal(wh_count(w, SLICES), 5000);
    tc_warehouse_close(w);
    w = wh_open(room, TC_WAREHOUSE_READ);
    assert_int_equal(wh_count(w, SLICES), 5000);
    assert_int_equal(wh_count(w, "SELECT sum(\"count\") FROM telemetry_slice_fact"), 5000 * 60);
    tc_warehouse_close(w);
}

static void rolled_back_rows_are_gone(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    wh_append_slices(w, 0, 300000); /* more than DuckDB's appender keeps to itself */
    assert_int_equal(wh_count(w, SLICES), 300000);
    wh_append_slices(w, 0, 10);
    tc_warehouse_rollback(w);
    tc_warehouse_rollback(w); /* of nothing: nothing */
    assert_int_equal(wh_count(w, SLICES), 0);
    /* One that is only closed is rolled back as well. */
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    wh_append_slices(w, 0, 10);
    tc_warehouse_close(w);
    w = wh_open(room, TC_WAREHOUSE_READ);
    assert_int_equal(wh_count(w, SLICES), 0);
    tc_warehouse_close(w);
}

/* A row of every table, every column filled; read back cell by cell. */
static void fill_row(struct tc_rows *rows, size_t n)
{
    char text[64];
    assert_true(tc_rows_add(rows));
    for (size_t c = 0; c < rows->column_count; c++) {
        switch (rows->columns[c].type) {
        case TC_COLUMN_TEXT:
            (void)snprintf(text, sizeof text,
                           n % 2 == 0 ? "t%zu.%zu" : "longer text \xc3\xbc %zu.%zu", n, c);
            assert_int_equal(tc_rows_text(rows, c, tc_slice_cstr(text)), TC_OK);
            break;
        case TC_COLUMN_REAL:
            tc_rows_real(rows, c, (double)n + (double)c / 7);
            break;
        case TC_COLUMN_BOOL:
            tc_rows_int(rows, c, n % 2 == 0);
            break;
        case TC_COLUMN_INT:
        case TC_COLUMN_TIME:
            tc_rows_int(rows, c, (int64_t)(n * 1000000 + c));
            break;
        }
    }
}

struct compare {
    const struct tc_rows *want;
    size_t at;
};

static tc_status compare_rows(void *context, const struct tc_rows *rows)
{
    struct compare *c = context;
    assert_int_equal(rows->column_count, c->want->column_count);
    for (size_t i = 0; i < rows->count; i++, c->at++) {
        for (size_t k = 0; k < rows->column_count; k++) {
            assert_string_equal(rows->columns[k].name, c->want->columns[k].name);
            assert_int_equal(rows->columns[k].type, c->want->columns[k].type);
            bool null = tc_rows_is_null(c->want, k, c->at);
            assert_int_equal(tc_rows_is_null(rows, k, i), null);
            if (null) {
                continue;
            }
            if (rows->columns[k].type == TC_COLUMN_TEXT) {
                assert_true(
                    tc_slice_eq(tc_rows_get_text(rows, k, i), tc_rows_get_text(c->want, k, c->at)));
            } else {
                assert_memory_equal(&rows->columns[k].cells[i], &c->want->columns[k].cells[c->at],
                                    sizeof(union tc_cell));
            }
        }
    }
    return TC_OK;
}

static void every_table_takes_every_type(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    for (size_t t = 0; t < TC_TABLE_COUNT; t++) {
        struct tc_rows *rows = tc_rows_create((enum tc_table)t);
        char sql[128];
        for (size_t n = 0; n < 130; n++) {
            fill_row(rows, n);
            if (n % 3 == 0) { /* and rows of NULLs between them */
                assert_true(tc_rows_add(rows));
            }
        }
        assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
        assert_int_equal(tc_warehouse_append(w, (enum tc_table)t, rows, &err), TC_OK);
        assert_int_equal(tc_warehouse_commit(w, &err), TC_OK);
        (void)snprintf(sql, sizeof sql, "SELECT * FROM %s", tc_table_info((enum tc_table)t)->name);
        /* Slices and requests may come in another order: they have tests of their own. */
        struct compare compare = {rows, 0};
        struct tc_query query = {.sql = tc_slice_cstr(sql)};
        if (t != TC_TABLE_SLICE && t != TC_TABLE_REQUEST) {
            assert_int_equal(tc_warehouse_query(w, &query, compare_rows, &compare, NULL, &err),
                             TC_OK);
            assert_int_equal(compare.at, rows->count);
        }
        tc_rows_destroy(rows);
    }
    tc_warehouse_close(w);
}

static void slices_are_the_same_in_another_order(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    struct tc_rows *rows = tc_rows_create(TC_TABLE_SLICE);
    for (size_t n = 0; n < TC_ROWS_MAX; n++) {
        fill_row(rows, n);
    }
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    assert_int_equal(tc_warehouse_append(w, TC_TABLE_SLICE, rows, &err), TC_OK);
    assert_int_equal(tc_warehouse_commit(w, &err), TC_OK);
    struct compare compare = {rows, 0};
    struct tc_query query = {.sql =
                                 TC_LIT("SELECT * FROM telemetry_slice_fact ORDER BY \"count\"")};
    assert_int_equal(tc_warehouse_query(w, &query, compare_rows, &compare, NULL, &err), TC_OK);
    assert_int_equal(compare.at, rows->count);
    tc_rows_destroy(rows);
    tc_warehouse_close(w);
}

static void bytes_that_are_no_text_are_refused(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err = {0};
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    struct tc_rows *rows = tc_rows_create(TC_TABLE_RUN);
    assert_true(tc_rows_add(rows));
    assert_int_equal(tc_rows_text(rows, TC_RUN_NAME, TC_LIT("name")), TC_OK);
    rows->text[1] = '\xff';
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    assert_int_equal(tc_warehouse_append(w, TC_TABLE_RUN, rows, &err), TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "benchmark_run_fact: name"));
    /* And the transaction with them. */
    rows->text[1] = 'a';
    assert_int_equal(tc_warehouse_append(w, TC_TABLE_RUN, rows, &err), TC_OK);
    assert_int_equal(tc_warehouse_commit(w, &err), TC_E_USAGE);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM benchmark_run_fact"), 0);
    tc_rows_destroy(rows);
    tc_warehouse_close(w);
}

static uint64_t forget(struct tc_warehouse *w, const struct tc_forget *what)
{
    struct tc_error err = {0};
    uint64_t count = UINT64_MAX;
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    if (tc_warehouse_forget(w, what, &count, &err) != TC_OK) {
        fail_msg("forget: %s", err.message);
    }
    assert_int_equal(tc_warehouse_commit(w, &err), TC_OK);
    return count;
}

static void forgets_what_fulfils_all_that_is_set(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err = {0};
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    uint64_t count = 0;
    struct tc_slice keys[600];
    wh_add_slices(w, 0, 5120); /* ten windows of 512 */
    struct tc_forget what = {.table = TC_TABLE_SLICE, .before_us = INT64_MIN};
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    assert_int_equal(tc_warehouse_forget(w, &what, &count, &err), TC_E_USAGE);
    tc_warehouse_rollback(w);

    what.time_column = TC_SLICE_START;
    what.before_us = INT64_C(1762000000000000) + 60000000; /* the second is not before itself */
    keys[0] = TC_LIT("run-odd");
    what.key_column = TC_SLICE_RUN_ID;
    what.keys = keys;
    what.key_count = 1;
    assert_int_equal(forget(w, &what), 256);
    what.key_count = 0;
    assert_int_equal(forget(w, &what), 256);
    what.want_null = true;
    what.null_column = TC_SLICE_RUN_ID;
    what.before_us = INT64_MAX - 1;
    assert_int_equal(forget(w, &what), 0);
    what.null_column = TC_SLICE_POINT; /* NULL everywhere */
    what.before_us = INT64_C(1762000000000000) + 2 * 60000000;
    assert_int_equal(forget(w, &what), 512);

    /* More keys than one statement takes, one of them twice. */
    for (size_t i = 0; i < 600; i++) {
        keys[i] = i == 599 ? TC_LIT("run-odd") : i == 3 ? TC_LIT("run-odd") : TC_LIT("x'); --");
    }
    what = (struct tc_forget){.table = TC_TABLE_SLICE,
                              .key_column = TC_SLICE_RUN_ID,
                              .keys = keys,
                              .key_count = 600,
                              .before_us = INT64_MIN};
    assert_int_equal(forget(w, &what), 8 * 256);
    assert_int_equal(wh_count(w, SLICES), 8 * 256);
    tc_warehouse_close(w);
}

static void a_table_as_parquet_reads_back(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err = {0};
    char path[256];
    char missing[256];
    char folder[256];
    struct stat st;
    uint64_t rows = 0;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    wh_add_slices(w, 0, 5120);
    (void)snprintf(path, sizeof path, "%s/it's.parquet", room->dir);
    (void)snprintf(folder, sizeof folder, "%s/warehouse.out", room->dir);
    assert_int_equal(
        tc_warehouse_parquet(w, TC_TABLE_SLICE, TC_SLICE_START, INT64_MIN, path, &rows, &err),
        TC_OK);
    assert_int_equal(rows, 5120);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(stat(folder, &st), -1);
    /* Over an older one. */
    assert_int_equal(tc_warehouse_parquet(w, TC_TABLE_SLICE, TC_SLICE_START,
                                          INT64_C(1762000000000000) + 60000000, path, &rows, &err),
                     TC_OK);
    assert_int_equal(rows, 512);
    /* Where SQL may read, it is read back. */
    char sql[512];
    char moved[300];
    assert_int_equal(mkdir(folder, 0700), 0);
    (void)snprintf(moved, sizeof moved, "%s/back.parquet", folder);
    assert_int_equal(rename(path, moved), 0);
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM read_parquet('%s') p JOIN telemetry_slice_fact t "
                   "ON p.gpu_uuid = t.gpu_uuid AND p.window_start = t.window_start "
                   "AND p.mean = t.mean",
                   moved);
    assert_int_equal(wh_count(w, sql), 512);
    /* An empty table, and a place that is not there. */
    assert_int_equal(tc_warehouse_parquet(w, TC_TABLE_RUN, 0, INT64_MIN, path, &rows, &err), TC_OK);
    assert_int_equal(rows, 0);
    (void)snprintf(missing, sizeof missing, "%s/none/x.parquet", room->dir);
    assert_int_equal(tc_warehouse_parquet(w, TC_TABLE_RUN, 0, INT64_MIN, missing, &rows, &err),
                     TC_E_IO);
    assert_non_null(strstr(err.message, missing));
    assert_int_equal(tc_warehouse_parquet(w, TC_TABLE_RUN, 0, INT64_MIN, path, NULL, &err), TC_OK);
    tc_warehouse_close(w);
}

/* To another file system, where there is one to write to. */
static void parquet_goes_to_another_file_system(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err = {0};
    struct stat here;
    struct stat there;
    char path[64];
    uint64_t rows = 0;
    if (stat("/dev/shm", &there) != 0 || access("/dev/shm", W_OK) != 0 ||
        stat(room->dir, &here) != 0 || here.st_dev == there.st_dev) {
        skip();
    }
    (void)snprintf(path, sizeof path, "/dev/shm/tc_test_%ld.parquet", (long)getpid());
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    wh_add_slices(w, 0, 1000);
    assert_int_equal(tc_warehouse_parquet(w, TC_TABLE_SLICE, 0, INT64_MIN, path, &rows, &err),
                     TC_OK);
    assert_int_equal(rows, 1000);
    assert_int_equal(stat(path, &there), 0);
    assert_true(there.st_size > 1000);
    (void)unlink(path);
    tc_warehouse_close(w);
}

static void one_integer_or_the_fallback(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err = {0};
    int64_t value = 0;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    struct tc_bind bind = {.type = TC_COLUMN_INT, .as.integer = 41};
    assert_int_equal(tc_warehouse_int(w, "SELECT ? + 1", &bind, 1, 7, &value, &err), TC_OK);
    assert_int_equal(value, 42);
    assert_int_equal(tc_warehouse_int(w, "SELECT NULL::BIGINT", NULL, 0, 7, &value, &err), TC_OK);
    assert_int_equal(value, 7);
    assert_int_equal(tc_warehouse_int(w, "SELECT 1 WHERE false", NULL, 0, 8, &value, &err), TC_OK);
    assert_int_equal(value, 8);
    assert_int_equal(tc_warehouse_int(w, "SELECT 'x'", NULL, 0, 9, &value, &err), TC_E_USAGE);
    assert_int_equal(value, 8);
    tc_warehouse_close(w);
}

#define T(f) cmocka_unit_test_setup_teardown(f, wh_setup_parallel, wh_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_was_committed_is_there_after_reopening),
        T(rolled_back_rows_are_gone),
        T(every_table_takes_every_type),
        T(slices_are_the_same_in_another_order),
        T(bytes_that_are_no_text_are_refused),
        T(forgets_what_fulfils_all_that_is_set),
        T(a_table_as_parquet_reads_back),
        T(parquet_goes_to_another_file_system),
        T(one_integer_or_the_fallback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
