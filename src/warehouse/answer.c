/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/answer.h"

#include "base/json/json.h"
#include "base/number.h"
#include "base/time.h"

#include <math.h>

/* ---- asking ---- */

static tc_status take_rows(void *context, const struct tc_rows *rows)
{
    struct tc_answer *s = context;
    if (s->rows == NULL) {
        s->rows = tc_rows_create_like(rows, TC_ANSWER_ROWS_MAX, TC_GROW_MAX);
    }
    s->failed = s->rows == NULL;
    for (size_t row = 0; row < rows->count && !s->failed; row++) {
        s->failed =
            !tc_rows_add(s->rows) || tc_rows_copy_row(s->rows, rows, row, TC_GROW_MAX) != TC_OK;
    }
    s->column_count = rows->column_count;
    s->row_count += rows->count;
    return s->failed ? TC_E_NOMEM : TC_OK;
}

tc_status tc_answer_ask(struct tc_warehouse *w, const struct tc_query *query, struct tc_answer *out,
                        struct tc_error *err)
{
    struct tc_query bounded = *query;
    if (bounded.rows_max == 0 || bounded.rows_max > TC_ANSWER_ROWS_MAX) {
        bounded.rows_max = TC_ANSWER_ROWS_MAX;
    }
    *out = (struct tc_answer){0};
    tc_status status = tc_warehouse_query(w, &bounded, take_rows, out, &out->cut, err);
    if (out->failed) {
        status = tc_fail(err, TC_E_NOMEM, 0, "no memory for the answer");
    }
    if (status != TC_OK) {
        tc_answer_fini(out);
    }
    return status;
}

tc_status tc_answer_query(struct tc_warehouse *w, const char *sql, const struct tc_bind *binds,
                          size_t bind_count, struct tc_answer *out, struct tc_error *err)
{
    struct tc_query query = {.sql = tc_slice_cstr(sql), .binds = binds, .bind_count = bind_count};
    return tc_answer_ask(w, &query, out, err);
}

void tc_answer_fini(struct tc_answer *s)
{
    tc_rows_destroy(s->rows);
    *s = (struct tc_answer){0};
}

bool tc_answer_known(const struct tc_answer *s, size_t row, size_t column)
{
    /* 1/0 in a query: not known */
    return !tc_rows_is_null(s->rows, column, row) &&
           (tc_answer_type(s, column) != TC_COLUMN_REAL ||
            isfinite(tc_rows_get_real(s->rows, column, row)));
}

int64_t tc_answer_int(const struct tc_answer *s, size_t row, size_t column)
{
    return tc_rows_get_int(s->rows, column, row);
}

double tc_answer_real(const struct tc_answer *s, size_t row, size_t column)
{
    return tc_answer_type(s, column) == TC_COLUMN_REAL ? tc_rows_get_real(s->rows, column, row)
                                                       : (double)tc_answer_int(s, row, column);
}

struct tc_slice tc_answer_text(const struct tc_answer *s, size_t row, size_t column)
{
    return tc_answer_type(s, column) == TC_COLUMN_TEXT && tc_answer_known(s, row, column)
               ? tc_rows_get_text(s->rows, column, row)
               : TC_EMPTY;
}

const char *tc_answer_name(const struct tc_answer *s, size_t column)
{
    return column < s->column_count ? s->rows->columns[column].name : "";
}

enum tc_column_type tc_answer_type(const struct tc_answer *s, size_t column)
{
    return column < s->column_count ? s->rows->columns[column].type : TC_COLUMN_TEXT;
}

bool tc_answer_same(const struct tc_answer *a, size_t row_a, const struct tc_answer *b,
                    size_t row_b, size_t column)
{
    bool known = tc_answer_known(a, row_a, column);
    if (!known || !tc_answer_known(b, row_b, column)) {
        return known == tc_answer_known(b, row_b, column);
    }
    switch (tc_answer_type(a, column)) {
    case TC_COLUMN_TEXT:
        return tc_slice_eq(tc_answer_text(a, row_a, column), tc_answer_text(b, row_b, column));
    case TC_COLUMN_REAL:
        return tc_answer_real(a, row_a, column) == tc_answer_real(b, row_b, column);
    case TC_COLUMN_INT:
    case TC_COLUMN_BOOL:
    case TC_COLUMN_TIME:
        break;
    }
    return tc_answer_int(a, row_a, column) == tc_answer_int(b, row_b, column);
}

/* ---- values ---- */

static bool has_year(int64_t us)
{
    return us >= 0 && us <= INT64_MAX / 1000;
}

static void write_value(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_answer *s = arg->object;
    size_t row = arg->count;
    size_t column = arg->limit;
    if (!tc_answer_known(s, row, column)) {
        tc_buf_char(b, '-');
        return;
    }
    switch (tc_answer_type(s, column)) {
    case TC_COLUMN_TEXT:
        tc_buf_printable(b, tc_answer_text(s, row, column));
        break;
    case TC_COLUMN_REAL:
        tc_buf_number(b, tc_answer_real(s, row, column));
        break;
    case TC_COLUMN_INT:
        tc_buf_grouped(b, tc_answer_int(s, row, column));
        break;
    case TC_COLUMN_BOOL:
        tc_buf_str(b, tc_answer_int(s, row, column) != 0 ? TC_LIT("yes") : TC_LIT("no"));
        break;
    case TC_COLUMN_TIME:
        if (has_year(tc_answer_int(s, row, column))) {
            tc_buf_time(b, tc_answer_int(s, row, column) * 1000);
        } else {
            tc_buf_i64(b, tc_answer_int(s, row, column));
        }
        break;
    }
}

struct tc_arg tc_answer_as_value(const struct tc_answer *s, size_t row, size_t column)
{
    return (struct tc_arg){.write = write_value, .object = s, .count = row, .limit = column};
}

void tc_answer_value(struct tc_grow *g, const struct tc_answer *s, size_t row, size_t column)
{
    tc_grow_format(g, "{}", tc_answer_as_value(s, row, column));
}

/* ---- JSON ---- */

/* Columns whose text is JSON that the import made. */
static bool holds_json(const char *column)
{
    return tc_slice_is_any(tc_slice_cstr(column), "definitions", "warnings", "tools", "raw_uris",
                           "report_packets", "prompt_tokens", "output_tokens", "conditions",
                           "culprits", "evidence");
}

static bool is_json(struct tc_slice text)
{
    struct tc_json root;
    struct tc_error err;
    if (text.len == 0 || (text.ptr[0] != '[' && text.ptr[0] != '{')) {
        return false;
    }
    struct tc_json_parser *parser = tc_json_parser_create();
    bool ok = parser != NULL && tc_json_parse(parser, text, &root, &err) == TC_OK;
    tc_json_parser_destroy(parser);
    return ok;
}

static void add_cell(struct tc_json_out *j, const struct tc_answer *s, size_t row, size_t column)
{
    struct tc_slice text = tc_answer_text(s, row, column);
    if (!tc_answer_known(s, row, column)) {
        tc_json_add_null(j);
        return;
    }
    switch (tc_answer_type(s, column)) {
    case TC_COLUMN_TEXT:
        if (holds_json(tc_answer_name(s, column)) && is_json(text)) {
            tc_json_add_raw(j, text);
        } else {
            tc_json_add_str(j, text);
        }
        break;
    case TC_COLUMN_REAL:
        tc_json_add_f64(j, tc_answer_real(s, row, column));
        break;
    case TC_COLUMN_INT:
        tc_json_add_i64(j, tc_answer_int(s, row, column));
        break;
    case TC_COLUMN_BOOL:
        tc_json_add_bool(j, tc_answer_int(s, row, column) != 0);
        break;
    case TC_COLUMN_TIME:
        if (has_year(tc_answer_int(s, row, column))) {
            tc_json_add_time(j, tc_answer_int(s, row, column) * 1000);
        } else {
            tc_json_add_i64_text(j, tc_answer_int(s, row, column));
        }
        break;
    }
}

void tc_answer_row_json(struct tc_json_out *j, const struct tc_answer *s, size_t row)
{
    tc_json_add_object(j);
    for (size_t c = 0; c < s->column_count; c++) {
        tc_json_key_str(j, tc_slice_cstr(tc_answer_name(s, c)));
        add_cell(j, s, row, c);
    }
    tc_json_end_object(j);
}

void tc_answer_rows_json(struct tc_json_out *j, const struct tc_answer *s)
{
    tc_json_add_array(j);
    for (size_t row = 0; row < s->row_count; row++) {
        tc_answer_row_json(j, s, row);
    }
    tc_json_end_array(j);
}
