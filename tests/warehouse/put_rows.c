/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For end-to-end tests: rows straight into the warehouse. DIR, then lines of standard input:
 * TABLE, tab, column=value, tab, ... Times in microseconds. A line that begins with "!" is SQL, to
 * do harm with. One transaction.
 */
#include "warehouse/warehouse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "put_rows: %s: %s\n", what, why);
    return 1;
}

static bool put(struct tc_rows *rows, enum tc_table table, struct tc_slice pair)
{
    struct tc_slice value;
    struct tc_slice name = tc_slice_cut(pair, '=', &value);
    const struct tc_table_info *info = tc_table_info(table);
    size_t column = 0;
    int64_t integer = 0;
    while (column < info->column_count &&
           !tc_slice_eq(tc_slice_cstr(info->columns[column].name), name)) {
        column++;
    }
    if (column == info->column_count) {
        return false;
    }
    char text[64];
    switch (info->columns[column].type) {
    case TC_COLUMN_TEXT:
        return tc_rows_text(rows, column, value) == TC_OK;
    case TC_COLUMN_REAL:
        (void)snprintf(text, sizeof text, "%.*s", TC_FMT(value));
        tc_rows_real(rows, column, strtod(text, NULL));
        return true;
    case TC_COLUMN_INT:
    case TC_COLUMN_BOOL:
    case TC_COLUMN_TIME:
        if (!tc_slice_is_i64(value, &integer)) {
            return false;
        }
        tc_rows_int(rows, column, integer);
        return true;
    }
    return false;
}

static int put_line(struct tc_warehouse *w, struct tc_slice line)
{
    struct tc_slice rest;
    enum tc_table table = TC_TABLE_COUNT;
    struct tc_error err = {0};
    if (!tc_table_parse(tc_slice_cut(line, '\t', &rest), &table)) {
        return fail("no table", line.ptr);
    }
    struct tc_rows *rows = tc_rows_create(table);
    if (rows == NULL || !tc_rows_add(rows)) {
        return fail("rows", "no memory");
    }
    while (rest.len > 0) {
        struct tc_slice pair = tc_slice_cut(rest, '\t', &rest);
        if (!put(rows, table, pair)) {
            return fail("no column, or no value of its type", pair.ptr);
        }
    }
    tc_status status = tc_warehouse_append(w, table, rows, &err);
    tc_rows_destroy(rows);
    return status == TC_OK ? 0 : fail("append", err.message);
}

static tc_status ignore(void *context, const struct tc_rows *rows)
{
    (void)context;
    (void)rows;
    return TC_OK;
}

static int run_line(struct tc_warehouse *w, struct tc_slice sql)
{
    struct tc_error err = {0};
    struct tc_query query = {.sql = sql};
    return tc_warehouse_query(w, &query, ignore, NULL, NULL, &err) == TC_OK
               ? 0
               : fail("SQL", err.message);
}

int main(int argc, char **argv)
{
    struct tc_warehouse *w = NULL;
    struct tc_error err = {0};
    struct tc_warehouse_config config = {.data_dir = argc > 1 ? argv[1] : ".",
                                         .url = getenv(TC_WAREHOUSE_URL_VARIABLE),
                                         .mode = TC_WAREHOUSE_WRITE,
                                         .wait_ns = INT64_C(20000000000)};
    char *line = NULL;
    size_t cap = 0;
    int code = 0;
    if (tc_warehouse_open(&config, &w, &err) != TC_OK || tc_warehouse_begin(w, &err) != TC_OK) {
        return fail("open", err.message);
    }
    for (ssize_t len; code == 0 && (len = getline(&line, &cap, stdin)) > 0;) {
        struct tc_slice all = tc_slice_make(line, (size_t)len - (line[len - 1] == '\n'));
        code = line[0] == '!' ? run_line(w, tc_slice_from(all, 1)) : put_line(w, all);
    }
    if (code == 0 && tc_warehouse_commit(w, &err) != TC_OK) {
        code = fail("commit", err.message);
    } else if (code != 0) {
        tc_warehouse_rollback(w);
    }
    free(line);
    tc_warehouse_close(w);
    return code;
}
