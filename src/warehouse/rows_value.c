/* SPDX-License-Identifier: Apache-2.0 */
/* One value of rows as text and as JSON, the same for `tracecore sql` and the HTTP API. */
#include "base/json/canonical.h"
#include "base/time.h"
#include "warehouse/rows.h"

#include <math.h>

/* As JavaScript and PostgreSQL write them: none of them is NULL. */
static void put_real(struct tc_buf *b, double value)
{
    if (isfinite(value)) {
        tc_buf_ecma(b, value);
    } else if (isnan(value)) {
        tc_buf_lit(b, "NaN");
    } else {
        tc_buf_str(b, value > 0 ? TC_LIT("Infinity") : TC_LIT("-Infinity"));
    }
}

void tc_rows_value(struct tc_buf *b, const struct tc_rows *rows, size_t column, size_t row)
{
    const union tc_cell *cell = &rows->columns[column].cells[row];
    if (tc_rows_is_null(rows, column, row)) {
        return;
    }
    switch (rows->columns[column].type) {
    case TC_COLUMN_TEXT:
        tc_buf_str(b, tc_rows_get_text(rows, column, row));
        break;
    case TC_COLUMN_INT:
        tc_buf_i64(b, cell->integer);
        break;
    case TC_COLUMN_REAL:
        put_real(b, cell->real);
        break;
    case TC_COLUMN_BOOL:
        tc_buf_str(b, cell->integer != 0 ? TC_LIT("true") : TC_LIT("false"));
        break;
    case TC_COLUMN_TIME:
        if (cell->integer > INT64_MAX / 1000 || cell->integer < INT64_MIN / 1000) {
            tc_buf_i64(b, cell->integer); /* no year that a clock has */
        } else {
            tc_buf_time(b, cell->integer * 1000);
        }
        break;
    }
}

/* The engine writes NaN and infinities in a list as no JSON does: that stays a text. */
static bool is_json(struct tc_json_parser *parser, struct tc_slice text)
{
    struct tc_json root;
    struct tc_error err;
    return parser != NULL && tc_json_parse(parser, text, &root, &err) == TC_OK;
}

void tc_rows_value_json(struct tc_json_out *j, const struct tc_rows *rows, size_t column,
                        size_t row, struct tc_json_parser *parser)
{
    char text[64];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    enum tc_column_type type = rows->columns[column].type;
    if (tc_rows_is_null(rows, column, row) ||
        (type == TC_COLUMN_REAL && !isfinite(rows->columns[column].cells[row].real))) {
        tc_json_add_null(j); /* JSON has no other number for them */
    } else if (type == TC_COLUMN_TEXT && rows->columns[column].is_json &&
               is_json(parser, tc_rows_get_text(rows, column, row))) {
        tc_json_add_raw(j, tc_rows_get_text(rows, column, row));
    } else if (type == TC_COLUMN_TEXT) {
        tc_json_add_str(j, tc_rows_get_text(rows, column, row));
    } else {
        tc_rows_value(&b, rows, column, row);
        if (type == TC_COLUMN_TIME) {
            tc_json_add_plain(j, tc_buf_slice(&b));
        } else {
            tc_json_add_raw(j, tc_buf_slice(&b));
        }
    }
}
