/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as CSV (RFC 4180) and JSON; tables are in table.c. */
#include "base/json/json.h"
#include "base/table/grow.h"
#include "cli/sql/sql.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 80
#define VALUE_MAX (TC_ROWS_TEXT_MAX + 80)
/* Text that waits for the widths of a table. */
#define HELD_TEXT_MAX (TC_ROWS_TEXT_MAX / 2)

struct tc_sql_printer {
    struct tc_output *out;
    enum tc_sql_mode mode;
    size_t column_count;
    char (*names)[NAME_MAX_BYTES]; /* JSON: no two are the same */
    struct tc_sql_layout layout;
    struct tc_rows *held; /* tables: rows that wait, so that widths are made from many */
    char *text;           /* one value */
    size_t cap;
    struct tc_json_parser *parser; /* JSON: of columns that are it */
    uint64_t rows;
    bool begun;
};

struct tc_sql_printer *tc_sql_printer_create(struct tc_output *out, enum tc_sql_mode mode,
                                             size_t width)
{
    struct tc_sql_printer *p = calloc(1, sizeof *p);
    if (p != NULL) {
        p->out = out;
        p->mode = mode;
        p->layout.width = width;
        tc_output_escape_on_terminal(out, mode == TC_SQL_JSON ? TC_ESCAPE_JSON : TC_ESCAPE_TEXT);
        p->layout.is_escaped = out->escape != TC_ESCAPE_NOTHING;
    }
    return p;
}

void tc_sql_printer_destroy(struct tc_sql_printer *p)
{
    if (p != NULL) {
        free(p->names);
        free(p->layout.widths);
        tc_rows_destroy(p->held);
        free(p->text);
        tc_json_parser_destroy(p->parser);
        free(p);
    }
}

/* Room that tc_rows_value needs for it. */
static size_t sql_value_max(const struct tc_rows *rows, size_t column, size_t row)
{
    bool is_text = rows->columns[column].type == TC_COLUMN_TEXT;
    return is_text && !tc_rows_is_null(rows, column, row) ? tc_rows_get_text(rows, column, row).len
                                                          : 64;
}

/* Room for a value. */
static bool room(struct tc_sql_printer *p, size_t bytes)
{
    return tc_grow_items(p->text, p->cap, bytes + 16, VALUE_MAX) == TC_OK;
}

/* ---- CSV ---- */

/* On a terminal a line end in a text could look like the next row. */
static void put_csv_text(struct tc_output *out, struct tc_slice s)
{
    while (out->escape != TC_ESCAPE_NOTHING && tc_slice_find_byte(s, '\n') != TC_NPOS) {
        size_t at = tc_slice_find_byte(s, '\n');
        (void)tc_output_put(out, tc_slice_head(s, at));
        (void)tc_output_put(out, TC_LIT("\\x0a"));
        s = tc_slice_from(s, at + 1);
    }
    (void)tc_output_put(out, s);
}

/* An empty text is "" and NULL nothing: they are not the same. */
static void put_csv(struct tc_output *out, struct tc_slice s, bool is_text)
{
    bool quote = is_text && s.len == 0;
    for (size_t i = 0; i < s.len && !quote; i++) {
        char c = s.ptr[i];
        quote = c == '"' || c == ',' || c == '\r' || c == '\n';
    }
    if (!quote) {
        put_csv_text(out, s);
        return;
    }
    (void)tc_output_put(out, TC_LIT("\""));
    while (s.len > 0) {
        size_t at = tc_slice_find_byte(s, '"');
        size_t len = at == TC_NPOS ? s.len : at + 1;
        put_csv_text(out, tc_slice_head(s, len));
        if (at != TC_NPOS) {
            (void)tc_output_put(out, TC_LIT("\""));
        }
        s = tc_slice_from(s, len);
    }
    (void)tc_output_put(out, TC_LIT("\""));
}

static bool put_csv_end(struct tc_output *out)
{
    return tc_output_put(out, out->escape == TC_ESCAPE_NOTHING ? TC_LIT("\r\n") : TC_LIT("\n"));
}

static void csv_head(struct tc_sql_printer *p, const struct tc_rows *rows)
{
    for (size_t c = 0; c < rows->column_count; c++) {
        (void)tc_output_put(p->out, c == 0 ? TC_EMPTY : TC_LIT(","));
        put_csv(p->out, tc_slice_cstr(rows->columns[c].name), true);
    }
    (void)put_csv_end(p->out);
}

static bool csv_row(struct tc_sql_printer *p, const struct tc_rows *rows, size_t row)
{
    for (size_t c = 0; c < rows->column_count; c++) {
        if (!room(p, sql_value_max(rows, c, row))) {
            return false;
        }
        struct tc_buf b = tc_buf_make(p->text, p->cap);
        tc_rows_value(&b, rows, c, row);
        (void)tc_output_put(p->out, c == 0 ? TC_EMPTY : TC_LIT(","));
        put_csv(p->out, tc_buf_slice(&b),
                rows->columns[c].type == TC_COLUMN_TEXT && !tc_rows_is_null(rows, c, row));
    }
    return put_csv_end(p->out);
}

/* ---- JSON ---- */

/* Two columns of one name get numbers: an object has a name once. */
static bool json_names(struct tc_sql_printer *p, const struct tc_rows *rows)
{
    p->names = calloc(rows->column_count, sizeof *p->names);
    if (p->names == NULL) {
        return false;
    }
    for (size_t c = 0; c < rows->column_count; c++) {
        (void)snprintf(p->names[c], NAME_MAX_BYTES, "%s", rows->columns[c].name);
        unsigned number = 1;
        for (size_t k = 0; k < c; k++) {
            if (strcmp(p->names[c], p->names[k]) == 0) {
                (void)snprintf(p->names[c], NAME_MAX_BYTES, "%.60s_%u", rows->columns[c].name,
                               ++number);
                k = SIZE_MAX; /* once more from the start */
            }
        }
    }
    return true;
}

static bool json_row(struct tc_sql_printer *p, const struct tc_rows *rows, size_t row)
{
    p->parser = p->parser == NULL ? tc_json_parser_create() : p->parser;
    struct tc_json_out j = tc_output_object(p->out);
    for (size_t c = 0; c < rows->column_count; c++) {
        tc_json_key_str(&j, tc_slice_cstr(p->names[c]));
        tc_rows_value_json(&j, rows, c, row, p->parser);
    }
    return tc_json_end_line(&j) && p->out->error == 0;
}

/* ---- tables ---- */

/* Prints what waits; the widths are made from the first of it. */
static bool print_held(struct tc_sql_printer *p)
{
    bool good = true;
    if (p->layout.widths == NULL) {
        good = tc_sql_layout_make(&p->layout, p->held, p->layout.width) &&
               tc_sql_layout_head(&p->layout, p->held, p->out);
    }
    good = good && tc_sql_layout_rows(&p->layout, p->held, p->out);
    tc_rows_reset(p->held);
    return good;
}

static bool hold(struct tc_sql_printer *p, const struct tc_rows *rows)
{
    bool good = true;
    for (size_t row = 0; row < rows->count && good; row++) {
        if (p->held->text_len > HELD_TEXT_MAX || !tc_rows_add(p->held)) {
            good = print_held(p) && tc_rows_add(p->held);
        }
        /* as much as a table shows */
        good = good && tc_rows_copy_row(p->held, rows, row, TC_SQL_CELL_BYTES) == TC_OK;
    }
    return good;
}

/* ---- all ---- */

static bool begin(struct tc_sql_printer *p, const struct tc_rows *rows)
{
    p->begun = true;
    p->column_count = rows->column_count;
    switch (p->mode) {
    case TC_SQL_CSV:
        csv_head(p, rows);
        return true;
    case TC_SQL_JSON:
        return json_names(p, rows);
    case TC_SQL_TABLE:
        p->held = tc_rows_create_like(rows, 0, 0);
        return p->held != NULL;
    }
    return false;
}

tc_status tc_sql_print(void *printer, const struct tc_rows *rows)
{
    struct tc_sql_printer *p = printer;
    if (!p->begun && !begin(p, rows)) {
        return p->out->error != 0 ? TC_E_IO : TC_E_NOMEM;
    }
    bool good = true;
    if (p->mode == TC_SQL_TABLE) {
        good = hold(p, rows);
    }
    for (size_t row = 0; row < rows->count && good && p->mode != TC_SQL_TABLE; row++) {
        good = p->mode == TC_SQL_CSV ? csv_row(p, rows, row) : json_row(p, rows, row);
    }
    p->rows += rows->count;
    return good ? TC_OK : p->out->error != 0 ? TC_E_IO : TC_E_NOMEM;
}

uint64_t tc_sql_printer_end(struct tc_sql_printer *p, size_t *out_left_out)
{
    if (p->mode == TC_SQL_TABLE && p->begun && p->held != NULL) {
        (void)print_held(p);
    }
    *out_left_out = p->mode == TC_SQL_TABLE && p->layout.widths != NULL
                        ? p->column_count - p->layout.columns
                        : 0;
    return p->rows;
}
