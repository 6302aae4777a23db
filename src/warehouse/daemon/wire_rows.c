/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows on the wire: whole columns as they are in memory. A frame has
 *   u32 columns, u32 rows, u32 bytes of text
 *   for each column: u8 type (and WIRE_JSON), u8 length of the name, the name
 *   for each column: the bitmap in 64-bit words, the cells of all rows, 8 bytes each
 *   the text
 */
#include "base/table/grow.h"
#include "warehouse/daemon/wire.h"
#include "warehouse/daemon/wire_priv.h"

#include <stdlib.h>
#include <string.h>

/* Beside the type: struct tc_rows_column's is_json. */
#define WIRE_JSON 0x80
#define NAME_MAX_BYTES (sizeof(((struct tc_rows_column *)0)->name) - 1)

static size_t words_of(size_t count)
{
    return (count + 63) / 64;
}

void tc_wire_put_rows(struct tc_wire_out *o, const struct tc_rows *rows)
{
    if (rows->column_count > TC_WIRE_COLUMNS_MAX) {
        o->status = o->status == TC_OK ? TC_E_LIMIT : o->status;
        return;
    }
    tc__wire_put_u32(o, (uint32_t)rows->column_count);
    tc__wire_put_u32(o, (uint32_t)rows->count);
    tc__wire_put_u32(o, (uint32_t)rows->text_len);
    for (size_t i = 0; i < rows->column_count; i++) {
        const struct tc_rows_column *c = &rows->columns[i];
        uint8_t head[2] = {(uint8_t)((unsigned)c->type | (c->is_json ? WIRE_JSON : 0)),
                           (uint8_t)strnlen(c->name, NAME_MAX_BYTES)};
        tc__wire_put(o, head, sizeof head);
        tc__wire_put(o, c->name, head[1]);
    }
    for (size_t i = 0; i < rows->column_count; i++) {
        const struct tc_rows_column *c = &rows->columns[i];
        tc__wire_put(o, c->valid, words_of(rows->count) * sizeof c->valid[0]);
        tc__wire_put(o, c->cells, rows->count * sizeof c->cells[0]);
    }
    tc__wire_put(o, rows->text, rows->text_len);
}

void tc_wire_put_append(struct tc_wire_out *o, enum tc_table table, const struct tc_rows *rows)
{
    tc__wire_put_u32(o, (uint32_t)table);
    tc_wire_put_rows(o, rows);
}

/* ---- reading ---- */

struct shape {
    uint32_t columns;
    uint32_t count;
    uint32_t text_len;
    struct tc_slice heads; /* types and names */
};

/* What the frame says of itself, and whether it is as long as that. */
static tc_status read_shape(struct tc_slice *rest, struct shape *out, struct tc_error *err)
{
    if (!tc__wire_take(rest, &out->columns, sizeof out->columns) ||
        !tc__wire_take(rest, &out->count, sizeof out->count) ||
        !tc__wire_take(rest, &out->text_len, sizeof out->text_len) || out->columns == 0 ||
        out->columns > TC_WIRE_COLUMNS_MAX || out->count > TC_ROWS_MAX ||
        out->text_len > TC_ROWS_TEXT_MAX) {
        return tc__wire_bad(err, "rows of a size that cannot be");
    }
    out->heads = *rest;
    for (size_t i = 0; i < out->columns; i++) {
        uint8_t head[2];
        if (!tc__wire_take(rest, head, sizeof head) || (head[0] & ~WIRE_JSON) > TC_COLUMN_TIME ||
            head[1] > NAME_MAX_BYTES || head[1] > rest->len) {
            return tc__wire_bad(err, "a column that cannot be read");
        }
        *rest = tc_slice_from(*rest, head[1]);
    }
    size_t column_bytes =
        words_of(out->count) * sizeof(uint64_t) + out->count * sizeof(union tc_cell);
    if (rest->len != out->columns * column_bytes + out->text_len) {
        return tc__wire_bad(err, "rows that end too early or too late");
    }
    return TC_OK;
}

static bool same_columns(const struct tc_rows *rows, const struct shape *shape)
{
    struct tc_slice rest = shape->heads;
    if (rows == NULL || rows->column_count != shape->columns) {
        return false;
    }
    for (size_t i = 0; i < shape->columns; i++) {
        uint8_t head[2] = {0, 0};
        (void)tc__wire_take(&rest, head, sizeof head);
        struct tc_slice name = tc_slice_head(rest, head[1]);
        rest = tc_slice_from(rest, head[1]);
        if (rows->columns[i].type != (enum tc_column_type)(head[0] & ~WIRE_JSON) ||
            rows->columns[i].is_json != ((head[0] & WIRE_JSON) != 0) ||
            !tc_slice_eq(name, tc_slice_cstr(rows->columns[i].name))) {
            return false;
        }
    }
    return true;
}

/* Rows with these columns. */
static struct tc_rows *make_rows(const struct shape *shape)
{
    struct tc_slice rest = shape->heads;
    struct tc_column *columns = calloc(shape->columns, sizeof *columns);
    char(*names)[NAME_MAX_BYTES + 1] = calloc(shape->columns, sizeof *names);
    bool *is_json = calloc(shape->columns, sizeof *is_json);
    struct tc_rows *rows = NULL;
    if (columns != NULL && names != NULL && is_json != NULL) {
        for (size_t i = 0; i < shape->columns; i++) {
            uint8_t head[2] = {0, 0};
            (void)tc__wire_take(&rest, head, sizeof head);
            memcpy(names[i], rest.ptr, head[1]);
            rest = tc_slice_from(rest, head[1]);
            columns[i].name = names[i];
            columns[i].type = (enum tc_column_type)(head[0] & ~WIRE_JSON);
            is_json[i] = (head[0] & WIRE_JSON) != 0;
        }
        rows = tc_rows_create_for(columns, shape->columns);
    }
    for (size_t i = 0; rows != NULL && i < shape->columns; i++) {
        rows->columns[i].is_json = is_json[i];
    }
    free(is_json);
    free(columns);
    free(names);
    return rows;
}

static bool is_valid(const struct tc_rows_column *c, size_t row)
{
    return (c->valid[row / 64] >> (row % 64) & 1) != 0;
}

/* What cannot be checked by sizes: texts are inside of the text, BOOL is 0 or 1. */
static bool check_cells(struct tc_rows_column *c, size_t count, size_t text_len)
{
    for (size_t i = 0; i < count; i++) {
        if (!is_valid(c, i)) {
            c->cells[i] = (union tc_cell){0};
        } else if (c->type == TC_COLUMN_TEXT) {
            if (c->cells[i].text.at > text_len ||
                c->cells[i].text.len > text_len - c->cells[i].text.at) {
                return false;
            }
        } else if (c->type == TC_COLUMN_BOOL && (uint64_t)c->cells[i].integer > 1) {
            return false;
        }
    }
    if (count % 64 != 0) {
        c->valid[count / 64] &= (UINT64_C(1) << (count % 64)) - 1;
    }
    return true;
}

static tc_status fill(struct tc_rows *rows, const struct shape *shape, struct tc_slice rest,
                      struct tc_error *err)
{
    tc_rows_reset(rows);
    if (tc_grow_items(rows->text, rows->text_cap, shape->text_len, TC_ROWS_TEXT_MAX) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for %u bytes of text", shape->text_len);
    }
    for (size_t i = 0; i < shape->columns; i++) {
        struct tc_rows_column *c = &rows->columns[i];
        (void)tc__wire_take(&rest, c->valid, words_of(shape->count) * sizeof c->valid[0]);
        (void)tc__wire_take(&rest, c->cells, shape->count * sizeof c->cells[0]);
        if (!check_cells(c, shape->count, shape->text_len)) {
            tc_rows_reset(rows);
            return tc__wire_bad(err, "a cell that cannot be");
        }
    }
    if (shape->text_len > 0) {
        memcpy(rows->text, rest.ptr, shape->text_len);
    }
    rows->text_len = shape->text_len;
    rows->count = shape->count;
    return TC_OK;
}

tc_status tc_wire_get_rows(struct tc_slice body, struct tc_rows **io_rows, struct tc_error *err)
{
    struct shape shape;
    TC_TRY(read_shape(&body, &shape, err));
    if (!same_columns(*io_rows, &shape)) {
        tc_rows_destroy(*io_rows);
        *io_rows = make_rows(&shape);
        if (*io_rows == NULL) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory for %u columns", shape.columns);
        }
    }
    return fill(*io_rows, &shape, body, err);
}

tc_status tc_wire_get_append(struct tc_slice body, enum tc_table *out_table,
                             struct tc_rows **io_rows, struct tc_error *err)
{
    if (!tc__wire_take_table(&body, out_table)) {
        return tc__wire_bad(err, "rows of no table");
    }
    TC_TRY(tc_wire_get_rows(body, io_rows, err));
    const struct tc_table_info *info = tc_table_info(*out_table);
    const struct tc_rows *rows = *io_rows;
    bool fits = rows->column_count == info->column_count;
    for (size_t i = 0; i < info->column_count && fits; i++) {
        fits = rows->columns[i].type == info->columns[i].type &&
               strcmp(rows->columns[i].name, info->columns[i].name) == 0;
    }
    return fits ? TC_OK : tc__wire_bad(err, "rows with other columns than their table has");
}
