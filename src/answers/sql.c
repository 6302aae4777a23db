/* SPDX-License-Identifier: Apache-2.0 */
/* Read-only SQL, and the tables that it is about. */
#include "answers/cursor.h"
#include "answers/question.h"
#include "base/json/json.h"
#include "warehouse/tables.h"
#include "warehouse/warehouse.h"

/* Of an answer, that is left for its end. */
#define ENOUGH_BYTES (TC_REPLY_BYTES_MAX - 1024)

struct writing {
    struct tc_json_out j;
    struct tc_grow *body;
    struct tc_json_parser *parser;
    bool has_begun;
    bool is_full;
};

static void put_columns(struct writing *w, const struct tc_rows *rows)
{
    tc_json_put_array(&w->j, "columns");
    for (size_t c = 0; c < rows->column_count; c++) {
        const struct tc_rows_column *column = &rows->columns[c];
        tc_json_add_object(&w->j);
        tc_json_put_cstr(&w->j, "name", column->name);
        tc_json_put_cstr(&w->j, "type",
                         column->is_json ? "json" : tc_column_type_name(column->type));
        tc_json_end_object(&w->j);
    }
    tc_json_end_array(&w->j);
    tc_json_put_array(&w->j, "rows");
    w->has_begun = true;
}

/* The length of a row before it is written: what does not fit is left out, not cut. */
static size_t row_bytes(const struct tc_rows *rows, size_t row)
{
    size_t bytes = 2;
    for (size_t c = 0; c < rows->column_count; c++) {
        bool is_text = rows->columns[c].type == TC_COLUMN_TEXT && !tc_rows_is_null(rows, c, row);
        bytes += is_text ? 6 * tc_rows_get_text(rows, c, row).len + 3 : 40;
    }
    return bytes;
}

static tc_status take_rows(void *context, const struct tc_rows *rows)
{
    struct writing *w = context;
    if (!w->has_begun) {
        put_columns(w, rows);
    }
    for (size_t row = 0; row < rows->count; row++) {
        if (w->body->buf.len + row_bytes(rows, row) > ENOUGH_BYTES) {
            w->is_full = true;
            return TC_E_LIMIT;
        }
        tc_json_add_array(&w->j);
        for (size_t c = 0; c < rows->column_count; c++) {
            tc_rows_value_json(&w->j, rows, c, row, w->parser);
        }
        tc_json_end_array(&w->j);
    }
    return w->body->failed ? TC_E_NOMEM : TC_OK;
}

static tc_status answer_sql(const struct tc_asked *asked, struct tc_reply *out,
                            struct tc_error *err)
{
    struct writing w = {.j = tc_json_object_grow(&out->body),
                        .body = &out->body,
                        .parser = tc_json_parser_create()};
    uint64_t limit = (uint64_t)tc_asked_value(asked, "limit")->count;
    struct tc_query query = {
        .sql = tc_asked_text(asked, "sql"),
        .untrusted = true,
        .rows_max = asked->rows_max > 0 && asked->rows_max < limit ? asked->rows_max : limit,
        .time_ns = asked->time_ns,
    };
    bool cut = false;
    if (w.parser == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the answer");
    }
    tc_status status = tc_warehouse_query(asked->warehouse, &query, take_rows, &w, &cut, err);
    if (status == TC_OK || w.is_full) {
        status = TC_OK;
        tc_json_end_array(&w.j);
        tc_json_put_bool(&w.j, "truncated", cut || w.is_full);
        (void)tc_json_end_line(&w.j);
    }
    tc_json_parser_destroy(w.parser);
    return status;
}

static const struct tc_param SQL_PARAMS[] = {
    {.name = "sql",
     .help = "One statement that only reads: SELECT, WITH, DESCRIBE. No files, no settings.",
     .kind = TC_PARAM_TEXT,
     .flags = TC_PARAM_NEEDED},
    TC_PARAM_LIMIT("1000", 100000),
};

static const struct tc_member SQL_MEMBERS[] = {
    {.name = "columns", .type = "array", .help = "Name and type of each column."},
    {.name = "rows", .type = "array", .help = "A list of values each, in the order of columns."},
    {.name = "truncated", .type = "boolean", .help = "There are more rows than were given."},
};

const struct tc_question tc_question_sql = {
    .name = "sql",
    .tool = "query_warehouse",
    .path = "/api/v1/sql",
    .summary = "ask the tables with read-only SQL",
    .help =
        "Runs one read-only SQL statement (DuckDB's dialect) over the tables of runs, outcomes, "
        "telemetry, verdicts and published numbers, within limits of time and rows. The "
        "question `tables` lists them with their columns.",
    .place = TC_PLACE_TABLES,
    .posts = true,
    .needs_warehouse = true,
    .params = SQL_PARAMS,
    .param_count = TC_COUNT(SQL_PARAMS),
    .members = SQL_MEMBERS,
    .member_count = TC_COUNT(SQL_MEMBERS),
    .answer = answer_sql,
};

/* ---- tables ---- */

static tc_status answer_tables(const struct tc_asked *asked, struct tc_reply *out,
                               struct tc_error *err)
{
    struct tc_slice name = tc_asked_text(asked, "table");
    enum tc_table only = TC_TABLE_COUNT;
    if (name.len > 0 && !tc_table_parse(name, &only)) {
        return tc_fail(err, TC_E_NOTFOUND, 0, "there is no table \"%.*s\"",
                       TC_FMT(tc_slice_head(name, 60)));
    }
    struct tc_json_out j = tc_json_object_grow(&out->body);
    tc_json_put_array(&j, "tables");
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        if (name.len == 0 || i == (size_t)only) {
            tc_table_json(&j, tc_table_info((enum tc_table)i));
        }
    }
    tc_json_end_array(&j);
    (void)tc_json_end_line(&j);
    return TC_OK;
}

static const struct tc_param TABLES_PARAMS[] = {
    {.name = "table", .help = "Only this table.", .kind = TC_PARAM_TEXT},
};

static const struct tc_member TABLES_MEMBERS[] = {
    {.name = "tables",
     .type = "array",
     .help = "Each table: what a row is, and its columns with type, unit and meaning."},
};

const struct tc_question tc_question_tables = {
    .name = "tables",
    .path = "/api/v1/tables",
    .summary = "list tables and their columns",
    .help = "The tables that SQL may ask, with what a row is and what each column means.",
    .place = TC_PLACE_TABLES,
    .keeps = true,
    .params = TABLES_PARAMS,
    .param_count = TC_COUNT(TABLES_PARAMS),
    .members = TABLES_MEMBERS,
    .member_count = TC_COUNT(TABLES_MEMBERS),
    .answer = answer_tables,
};
