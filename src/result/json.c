/* SPDX-License-Identifier: Apache-2.0 */
#include "result/json.h"

#include "base/json/out.h"
#include "result/requests.h"

static void add_cell(struct tc_json_out *j, const struct tc_rows *rows, size_t column, size_t row)
{
    const union tc_cell *cell = &rows->columns[column].cells[row];
    switch (rows->columns[column].type) {
    case TC_COLUMN_TEXT:
        tc_json_add_str(j, tc_rows_get_text(rows, column, row));
        break;
    case TC_COLUMN_REAL:
        tc_json_add_f64(j, cell->real);
        break;
    case TC_COLUMN_BOOL:
        tc_json_add_bool(j, cell->integer != 0);
        break;
    case TC_COLUMN_INT:
    case TC_COLUMN_TIME:
        tc_json_add_i64(j, cell->integer);
        break;
    }
}

static void begin_line(struct tc_json_out *j, struct tc_slice file, const struct tc_result *r)
{
    tc_json_add_object(j);
    tc_json_put_str(j, "file", file);
    tc_json_put_cstr(j, "reader", tc_result_reader(r)->name);
}

static void end_line(struct tc_json_out *j)
{
    (void)tc_json_end_line(j);
}

static void put_cells(struct tc_json_out *j, const struct tc_rows *rows, size_t row)
{
    for (size_t i = 0; i < rows->column_count; i++) {
        if (!tc_rows_is_null(rows, i, row)) {
            tc_json_key_plain(j, tc_slice_cstr(rows->columns[i].name));
            add_cell(j, rows, i, row);
        }
    }
}

static void put_definitions(struct tc_json_out *j, const struct tc_result *r,
                            const struct tc_result_row *row)
{
    const struct tc_table_info *info = tc_table_info(row->table);
    tc_json_put_object(j, "definitions");
    for (size_t i = 0; i < info->column_count; i++) {
        if (tc_result_known(row, i) && row->definitions[i] != NULL) {
            char id[512];
            struct tc_buf b = tc_buf_make(id, sizeof id);
            tc_json_key_plain(j, tc_slice_cstr(info->columns[i].name));
            tc_json_add_str(
                j, tc_format(&b, "{}:{}", tc_result_reader(r)->name, row->definitions[i]->field));
        }
    }
    tc_json_end_object(j);
}

static void put_facts(struct tc_json_out *j, struct tc_slice file, const struct tc_result *r,
                      enum tc_table table)
{
    const struct tc_rows *facts = tc_result_facts(r, table);
    if (facts != NULL) {
        begin_line(j, file, r);
        tc_json_put_cstr(j, "facts", tc_table_info(table)->name);
        put_cells(j, facts, 0);
        end_line(j);
    }
}

void tc_result_json(struct tc_grow *out, struct tc_slice file, const struct tc_result *r)
{
    struct tc_json_out j = tc_json_out_grow(out);
    for (size_t i = 0; i < tc_result_rows(r); i++) {
        const struct tc_result_row *row = tc_result_row_at(r, i);
        begin_line(&j, file, r);
        tc_json_put_cstr(&j, "table", tc_table_info(row->table)->name);
        tc_json_put_str(&j, "where", row->where);
        put_cells(&j, row->rows, row->at);
        put_definitions(&j, r, row);
        end_line(&j);
    }
    if (tc_result_requests(r) > 0) {
        begin_line(&j, file, r);
        tc_json_put_u64(&j, "requests", tc_result_requests(r));
        end_line(&j);
    }
    for (int table = 0; table < TC_TABLE_COUNT; table++) {
        put_facts(&j, file, r, (enum tc_table)table);
    }
    uint64_t left_out = 0;
    size_t notes = tc_result_notes(r, &left_out);
    for (size_t i = 0; i < notes; i++) {
        const struct tc_result_note *note = tc_result_note_at(r, i);
        begin_line(&j, file, r);
        tc_json_put_str(&j, "note", note->text);
        tc_json_put_str(&j, "where", note->where);
        tc_json_put_str(&j, "field", note->field);
        tc_json_put_bool(&j, "contradiction", note->contradiction);
        end_line(&j);
    }
    if (left_out > 0) {
        begin_line(&j, file, r);
        tc_json_put_u64(&j, "notes_left_out", left_out);
        end_line(&j);
    }
}
