/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of `tracecore run` in memory, and values for people and for scripts. */
#include "base/assert.h"
#include "base/json/json.h"
#include "base/time.h"
#include "cli/data.h"
#include "cli/run/run.h"
#include "cli/say.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct tc_warehouse *tc_run_open(const struct tc_run_args *args)
{
    char dir[TC_DATA_PATH_BYTES];
    return tc_data_dir_of("run", args->data_dir, dir) ? tc_data_open("run", dir, TC_WAREHOUSE_READ)
                                                      : NULL;
}

/* ---- sets ---- */

static tc_status take_rows(void *context, const struct tc_rows *rows)
{
    struct tc_run_set *s = context;
    if (s->rows == NULL) {
        s->rows = tc_rows_create_like(rows, TC_RUN_ROWS_MAX, TC_GROW_MAX);
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

tc_status tc_run_query(struct tc_warehouse *w, const char *sql, const struct tc_bind *binds,
                       size_t bind_count, struct tc_run_set *out, struct tc_error *err)
{
    struct tc_query query = {.sql = tc_slice_cstr(sql),
                             .binds = binds,
                             .bind_count = bind_count,
                             .rows_max = TC_RUN_ROWS_MAX};
    *out = (struct tc_run_set){0};
    tc_status status = tc_warehouse_query(w, &query, take_rows, out, &out->cut, err);
    if (out->failed) {
        status = tc_fail(err, TC_E_NOMEM, 0, "no memory for the answer");
    }
    if (status != TC_OK) {
        tc_run_set_fini(out);
    }
    return status;
}

void tc_run_set_fini(struct tc_run_set *s)
{
    tc_rows_destroy(s->rows);
    *s = (struct tc_run_set){0};
}

bool tc_run_known(const struct tc_run_set *s, size_t row, size_t column)
{
    /* 1/0 in a query: not known */
    return !tc_rows_is_null(s->rows, column, row) &&
           (tc_run_type(s, column) != TC_COLUMN_REAL ||
            isfinite(tc_rows_get_real(s->rows, column, row)));
}

int64_t tc_run_int(const struct tc_run_set *s, size_t row, size_t column)
{
    return tc_rows_get_int(s->rows, column, row);
}

double tc_run_real(const struct tc_run_set *s, size_t row, size_t column)
{
    return tc_run_type(s, column) == TC_COLUMN_REAL ? tc_rows_get_real(s->rows, column, row)
                                                    : (double)tc_run_int(s, row, column);
}

struct tc_slice tc_run_text(const struct tc_run_set *s, size_t row, size_t column)
{
    return tc_run_type(s, column) == TC_COLUMN_TEXT && tc_run_known(s, row, column)
               ? tc_rows_get_text(s->rows, column, row)
               : TC_EMPTY;
}

const char *tc_run_name(const struct tc_run_set *s, size_t column)
{
    return column < s->column_count ? s->rows->columns[column].name : "";
}

enum tc_column_type tc_run_type(const struct tc_run_set *s, size_t column)
{
    return column < s->column_count ? s->rows->columns[column].type : TC_COLUMN_TEXT;
}

/* ---- values ---- */

/* Digits with a comma every three, up to the point. */
static void put_grouped(struct tc_buf *b, const char *digits)
{
    size_t whole = strcspn(digits, ".");
    size_t start = digits[0] == '-' ? 1 : 0;
    for (size_t n = 0; digits[n] != '\0'; n++) {
        if (n > start && n < whole && (whole - n) % 3 == 0) {
            tc_buf_char(b, ',');
        }
        tc_buf_char(b, digits[n]);
    }
}

/* Four significant digits, thousands with commas. */
static void put_number(struct tc_buf *b, double value)
{
    char digits[400];
    double size = fabs(value);
    if (size != 0 && (size < 1e-4 || size >= 1e15)) {
        (void)snprintf(digits, sizeof digits, "%.3e", value);
        tc_buf_str(b, tc_slice_cstr(digits));
        return;
    }
    int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4;
    (void)snprintf(digits, sizeof digits, "%.*f", decimals, value);
    if (strchr(digits, '.') != NULL) { /* 4.000 is 4 */
        size_t len = strlen(digits);
        while (digits[len - 1] == '0') {
            digits[--len] = '\0';
        }
        digits[len - 1] = digits[len - 1] == '.' ? '\0' : digits[len - 1];
    }
    put_grouped(b, digits);
}

static void write_ratio(struct tc_buf *b, const struct tc_arg *arg)
{
    if (isnan(arg->real)) {
        tc_buf_char(b, '-');
    } else {
        put_number(b, arg->real);
    }
}

struct tc_arg tc_run_as_ratio(double x, double y)
{
    return (struct tc_arg){.write = write_ratio, .real = x != 0 ? y / x : (double)NAN};
}

static bool has_year(int64_t us)
{
    return us >= 0 && us <= INT64_MAX / 1000;
}

static void write_value(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_run_set *s = arg->object;
    size_t row = arg->count;
    size_t column = arg->limit;
    char digits[24];
    if (!tc_run_known(s, row, column)) {
        tc_buf_char(b, '-');
        return;
    }
    switch (tc_run_type(s, column)) {
    case TC_COLUMN_TEXT:
        tc_buf_printable(b, tc_run_text(s, row, column));
        break;
    case TC_COLUMN_REAL:
        put_number(b, tc_run_real(s, row, column));
        break;
    case TC_COLUMN_INT:
        (void)snprintf(digits, sizeof digits, "%lld", (long long)tc_run_int(s, row, column));
        put_grouped(b, digits);
        break;
    case TC_COLUMN_BOOL:
        tc_buf_str(b, tc_run_int(s, row, column) != 0 ? TC_LIT("yes") : TC_LIT("no"));
        break;
    case TC_COLUMN_TIME:
        if (has_year(tc_run_int(s, row, column))) {
            tc_buf_time(b, tc_run_int(s, row, column) * 1000);
        } else {
            tc_buf_i64(b, tc_run_int(s, row, column));
        }
        break;
    }
}

struct tc_arg tc_run_as_value(const struct tc_run_set *s, size_t row, size_t column)
{
    return (struct tc_arg){.write = write_value, .object = s, .count = row, .limit = column};
}

void tc_run_value(struct tc_grow *g, const struct tc_run_set *s, size_t row, size_t column)
{
    tc_grow_format(g, "{}", tc_run_as_value(s, row, column));
}

/* ---- JSON ---- */

/* Columns whose text is JSON that the import made. */
static bool holds_json(const char *column)
{
    return tc_slice_is_any(tc_slice_cstr(column), "definitions", "warnings", "tools", "raw_uris",
                           "report_packets", "prompt_tokens", "output_tokens", "conditions");
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

static void add_cell(struct tc_json_out *j, const struct tc_run_set *s, size_t row, size_t column)
{
    struct tc_slice text = tc_run_text(s, row, column);
    if (!tc_run_known(s, row, column)) {
        tc_json_add_null(j);
        return;
    }
    switch (tc_run_type(s, column)) {
    case TC_COLUMN_TEXT:
        if (holds_json(tc_run_name(s, column)) && is_json(text)) {
            tc_json_add_raw(j, text);
        } else {
            tc_json_add_str(j, text);
        }
        break;
    case TC_COLUMN_REAL:
        tc_json_add_f64(j, tc_run_real(s, row, column));
        break;
    case TC_COLUMN_INT:
        tc_json_add_i64(j, tc_run_int(s, row, column));
        break;
    case TC_COLUMN_BOOL:
        tc_json_add_bool(j, tc_run_int(s, row, column) != 0);
        break;
    case TC_COLUMN_TIME:
        if (has_year(tc_run_int(s, row, column))) {
            tc_json_add_time(j, tc_run_int(s, row, column) * 1000);
        } else {
            tc_json_add_i64_text(j, tc_run_int(s, row, column));
        }
        break;
    }
}

void tc_run_row_json(struct tc_json_out *j, const struct tc_run_set *s, size_t row)
{
    tc_json_add_object(j);
    for (size_t c = 0; c < s->column_count; c++) {
        tc_json_key_str(j, tc_slice_cstr(tc_run_name(s, c)));
        add_cell(j, s, row, c);
    }
    tc_json_end_object(j);
}

void tc_run_rows_json(struct tc_json_out *j, const struct tc_run_set *s)
{
    tc_json_add_array(j);
    for (size_t row = 0; row < s->row_count; row++) {
        tc_run_row_json(j, s, row);
    }
    tc_json_end_array(j);
}

int tc_run_print(struct tc_grow *g, int status)
{
    static struct tc_output out;
    if (g->failed) {
        tc_say("run", "no memory for the answer");
        tc_grow_fini(g);
        return TC_EXIT_BAD;
    }
    tc_output_init(&out, STDOUT_FILENO);
    (void)tc_output_put(&out, tc_grow_slice(g));
    tc_grow_fini(g);
    return tc_output_end(&out, "run", status);
}
