/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a message over the warehouse's socket, from either side. The first byte says which
 * kind. Reading never crashes and looks at nothing outside; what was taken keeps the promises that
 * engines rely on, and written again and read again it is the same.
 */
#include "base/assert.h"
#include "warehouse/daemon/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tc_slice body_of(struct tc_wire_out *o)
{
    TC_ASSERT(tc_wire_end(o, NULL) == TC_OK);
    return tc_slice_make(o->data + TC_WIRE_HEAD_BYTES, o->len - TC_WIRE_HEAD_BYTES);
}

static void check_rows(const struct tc_rows *rows)
{
    TC_ASSERT(rows->count <= TC_ROWS_MAX && rows->column_count <= TC_WIRE_COLUMNS_MAX);
    for (size_t c = 0; c < rows->column_count; c++) {
        const struct tc_rows_column *column = &rows->columns[c];
        TC_ASSERT(memchr(column->name, '\0', sizeof column->name) != NULL);
        for (size_t i = 0; i < rows->count; i++) {
            if (tc_rows_is_null(rows, c, i)) {
                continue;
            }
            if (column->type == TC_COLUMN_TEXT) {
                struct tc_slice text = tc_rows_get_text(rows, c, i);
                TC_ASSERT(text.len <= rows->text_len);
                volatile char last = text.len > 0 ? text.ptr[text.len - 1] : '\0';
                (void)last;
            }
            TC_ASSERT(column->type != TC_COLUMN_BOOL || (uint64_t)column->cells[i].integer <= 1);
        }
    }
}

static void fuzz_rows(struct tc_slice body)
{
    struct tc_rows *rows = NULL;
    struct tc_rows *again = NULL;
    struct tc_wire_out o = {0};
    if (tc_wire_get_rows(body, &rows, NULL) == TC_OK) {
        check_rows(rows);
        tc_wire_begin(&o, TC_WIRE_ROWS);
        tc_wire_put_rows(&o, rows);
        struct tc_slice first = body_of(&o);
        TC_ASSERT(tc_wire_get_rows(first, &again, NULL) == TC_OK);
        struct tc_wire_out second = {0};
        tc_wire_begin(&second, TC_WIRE_ROWS);
        tc_wire_put_rows(&second, again);
        TC_ASSERT(tc_slice_eq(first, body_of(&second)));
        /* Into rows that are there already. */
        TC_ASSERT(tc_wire_get_rows(body, &again, NULL) == TC_OK);
        check_rows(again);
        tc_wire_out_fini(&second);
    }
    tc_rows_destroy(rows);
    tc_rows_destroy(again);
    tc_wire_out_fini(&o);
}

static void fuzz_append(struct tc_slice body)
{
    struct tc_rows *rows = NULL;
    enum tc_table table;
    if (tc_wire_get_append(body, &table, &rows, NULL) == TC_OK) {
        TC_ASSERT(rows->column_count == tc_table_info(table)->column_count);
        check_rows(rows);
    }
    tc_rows_destroy(rows);
}

static void fuzz_query(struct tc_slice body)
{
    struct tc_query query;
    struct tc_bind *binds = NULL;
    struct tc_wire_out o = {0};
    if (tc_wire_get_query(body, &query, &binds, NULL) == TC_OK) {
        struct tc_query again;
        struct tc_bind *more = NULL;
        tc_wire_begin(&o, TC_WIRE_QUERY);
        tc_wire_put_query(&o, &query);
        TC_ASSERT(tc_wire_get_query(body_of(&o), &again, &more, NULL) == TC_OK);
        TC_ASSERT(tc_slice_eq(query.sql, again.sql) && query.bind_count == again.bind_count);
        free(more);
    }
    free(binds);
    tc_wire_out_fini(&o);
}

static void fuzz_forget(struct tc_slice body)
{
    struct tc_forget what;
    struct tc_slice *keys = NULL;
    if (tc_wire_get_forget(body, &what, &keys, NULL) == TC_OK) {
        const struct tc_table_info *info = tc_table_info(what.table);
        TC_ASSERT(what.key_count == 0 || info->columns[what.key_column].type == TC_COLUMN_TEXT);
    }
    free(keys);
}

static void fuzz_small(struct tc_slice body)
{
    struct tc_wire_hello hello;
    struct tc_error err = {0};
    static struct tc_wire_parquet parquet;
    uint64_t value = 0;
    if (tc_wire_get_hello(body, &hello, &err) == TC_OK) {
        TC_ASSERT(hello.engine.len <= TC_WIRE_ENGINE_MAX);
    }
    TC_ASSERT(tc_wire_get_error(body, &err) != TC_OK);
    (void)!tc_wire_get_done(body, &value, &err);
    if (tc_wire_get_parquet(body, &parquet, &err) == TC_OK) {
        TC_ASSERT(parquet.path[0] == '/' && strlen(parquet.path) < sizeof parquet.path);
    }
    (void)tc_wire_is_bare(body, TC_WIRE_CANCEL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    /* A copy of its own length: a look behind it is seen. */
    char *bytes = malloc(size);
    TC_ASSERT(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    struct tc_slice body = tc_slice_make(bytes, size - 1);
    switch (data[0] % 5) {
    case 0:
        fuzz_rows(body);
        break;
    case 1:
        fuzz_append(body);
        break;
    case 2:
        fuzz_query(body);
        break;
    case 3:
        fuzz_forget(body);
        break;
    default:
        fuzz_small(body);
        break;
    }
    free(bytes);
    return 0;
}
