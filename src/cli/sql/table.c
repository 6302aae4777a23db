/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in columns. Widths are made from the first rows of an answer (up to TC_ROWS_MAX) and stay;
 * what is longer is cut, and columns that have no room are left out and told.
 */
#include "cli/sql/sql.h"

#include <stdlib.h>
#include <string.h>

#define NONE "\xe2\x88\x85" /* the empty set: NULL */
#define ELLIPSIS "\xe2\x80\xa6"
#define GAP 2
/* Text wider than this gives way when the screen is too narrow. */
#define NARROW 24
/* Characters of a line of a cell that are looked at, and lines of a cell. */
#define CELL_MAX 400
#define LINES_MAX 200
_Static_assert(CELL_MAX * 4 <= TC_SQL_CELL_BYTES, "what is shown of a cell is kept of it");

/* Characters, each of which takes one column: no terminal agrees on more. */
static size_t columns_of(struct tc_slice s)
{
    size_t count = 0;
    for (size_t i = 0; i < s.len; i++) {
        count += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    }
    return count;
}

/* The first `count` characters. */
static struct tc_slice take_columns(struct tc_slice s, size_t count)
{
    size_t i = 0;
    for (size_t seen = 0; i < s.len; i++) {
        seen += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
        if (seen > count) {
            break;
        }
    }
    return tc_slice_head(s, i);
}

static bool is_text(const struct tc_rows *rows, size_t column, size_t row)
{
    return rows->columns[column].type == TC_COLUMN_TEXT && !tc_rows_is_null(rows, column, row);
}

/* Plans and stack traces have lines; they are shown below each other. Where they are escaped, only
 * plans, which the engine writes. */
static size_t lines_of(const struct tc_sql_layout *l, const struct tc_rows *rows, size_t column,
                       size_t row)
{
    size_t count = 1;
    bool is_split = !l->is_escaped || strcmp(rows->columns[column].name, "explain_value") == 0;
    if (is_split && is_text(rows, column, row)) {
        struct tc_slice text = tc_rows_get_text(rows, column, row);
        for (size_t i = 0; i + 1 < text.len && count < LINES_MAX; i++) {
            count += text.ptr[i] == '\n';
        }
    }
    return count;
}

static struct tc_slice line_of(struct tc_slice text, size_t line)
{
    struct tc_slice rest = text;
    struct tc_slice one = TC_EMPTY;
    for (size_t i = 0; i <= line; i++) {
        one = tc_slice_cut(rest, '\n', &rest);
    }
    return one;
}

/* What is shown of a line of a cell before it is cut to its column. */
static struct tc_slice shown(const struct tc_sql_layout *l, const struct tc_rows *rows,
                             size_t column, size_t row, size_t line, char *memory, size_t size)
{
    char raw[CELL_MAX * 4];
    struct tc_buf b = tc_buf_make(memory, size);
    size_t lines = lines_of(l, rows, column, row);
    if (line > 0 && line >= lines) {
        return TC_EMPTY;
    }
    if (tc_rows_is_null(rows, column, row)) {
        return TC_LIT(NONE);
    }
    struct tc_slice text;
    if (rows->columns[column].type == TC_COLUMN_TEXT) {
        text = tc_rows_get_text(rows, column, row);
        text = l->is_escaped && lines == 1 ? text : line_of(text, line);
        text = take_columns(tc_slice_head(text, sizeof raw), CELL_MAX);
    } else {
        struct tc_buf r = tc_buf_make(raw, sizeof raw);
        tc_rows_value(&r, rows, column, row);
        text = tc_buf_slice(&r);
    }
    tc_buf_printable(&b, text);
    return tc_buf_slice(&b);
}

static bool is_right(const struct tc_rows *rows, size_t column)
{
    return rows->columns[column].type == TC_COLUMN_INT ||
           rows->columns[column].type == TC_COLUMN_REAL;
}

static size_t sum_of(const struct tc_sql_layout *l, size_t columns)
{
    size_t sum = 0;
    for (size_t c = 0; c < columns; c++) {
        sum += l->widths[c] + (c == 0 ? 0 : GAP);
    }
    return sum;
}

bool tc_sql_layout_make(struct tc_sql_layout *l, const struct tc_rows *rows, size_t width)
{
    char memory[CELL_MAX * 16];
    l->width = width;
    l->columns = rows->column_count;
    l->widths = calloc(rows->column_count + 1, sizeof *l->widths);
    if (l->widths == NULL) {
        return false;
    }
    for (size_t c = 0; c < rows->column_count; c++) {
        l->widths[c] = columns_of(tc_slice_cstr(rows->columns[c].name));
        for (size_t row = 0; row < rows->count; row++) {
            size_t lines = lines_of(l, rows, c, row);
            for (size_t line = 0; line < lines; line++) {
                size_t need = columns_of(shown(l, rows, c, row, line, memory, sizeof memory));
                l->widths[c] = need > l->widths[c] ? need : l->widths[c];
            }
        }
    }
    /* Wide text gives way first, the last column of it first. */
    for (size_t c = rows->column_count; c > 0 && sum_of(l, l->columns) > width; c--) {
        size_t over = sum_of(l, l->columns) - width;
        size_t *w = &l->widths[c - 1];
        if (rows->columns[c - 1].type == TC_COLUMN_TEXT && *w > NARROW) {
            *w = *w - NARROW > over ? *w - over : NARROW;
        }
    }
    while (l->columns > 1 && sum_of(l, l->columns) > width) {
        l->columns--;
    }
    if (l->columns == 1 && l->widths[0] > width) {
        l->widths[0] = width;
    }
    return true;
}

static void pad(struct tc_output *out, size_t count, char with)
{
    char text[64];
    memset(text, with, sizeof text);
    while (count > 0) {
        size_t step = count < sizeof text ? count : sizeof text;
        (void)tc_output_put(out, tc_slice_make(text, step));
        count -= step;
    }
}

/* One cell, and the gap before it. The last one is not filled up. */
static void put_cell(const struct tc_sql_layout *l, struct tc_output *out, size_t column,
                     struct tc_slice text, bool right)
{
    size_t width = l->widths[column];
    size_t len = columns_of(text);
    bool cut = len > width && !right; /* a number is whole, or it is another one */
    pad(out, column == 0 ? 0 : GAP, ' ');
    width = len > width && right ? len : width;
    if (cut) {
        text = take_columns(text, width - 1);
        len = width;
    }
    pad(out, right ? width - len : 0, ' ');
    (void)tc_output_put(out, text);
    (void)tc_output_put(out, cut ? TC_LIT(ELLIPSIS) : TC_EMPTY);
    pad(out, right || column + 1 == l->columns ? 0 : width - len, ' ');
}

bool tc_sql_layout_head(const struct tc_sql_layout *l, const struct tc_rows *rows,
                        struct tc_output *out)
{
    char memory[4 * sizeof rows->columns[0].name];
    for (size_t c = 0; c < l->columns; c++) {
        struct tc_buf b = tc_buf_make(memory, sizeof memory);
        tc_buf_printable(&b, tc_slice_cstr(rows->columns[c].name));
        put_cell(l, out, c, tc_buf_slice(&b), is_right(rows, c));
    }
    (void)tc_output_put(out, TC_LIT("\n"));
    for (size_t c = 0; c < l->columns; c++) {
        pad(out, c == 0 ? 0 : GAP, ' ');
        pad(out, l->widths[c], '-');
    }
    return tc_output_put(out, TC_LIT("\n"));
}

bool tc_sql_layout_rows(const struct tc_sql_layout *l, const struct tc_rows *rows,
                        struct tc_output *out)
{
    char memory[CELL_MAX * 16];
    bool good = true;
    for (size_t row = 0; row < rows->count && good; row++) {
        size_t lines = 1;
        for (size_t c = 0; c < l->columns; c++) {
            size_t own = lines_of(l, rows, c, row);
            lines = own > lines ? own : lines;
        }
        for (size_t line = 0; line < lines && good; line++) {
            for (size_t c = 0; c < l->columns; c++) {
                put_cell(l, out, c, shown(l, rows, c, row, line, memory, sizeof memory),
                         is_right(rows, c));
            }
            good = tc_output_put(out, TC_LIT("\n"));
        }
    }
    return good;
}
