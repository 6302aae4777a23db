/* SPDX-License-Identifier: Apache-2.0 */
#include "result/json.h"

/* A number, a sign and a point. */
#define NUMBER_MAX 40

static void put_value(struct tc_grow *out, const struct tc_rows *rows, size_t column, size_t row)
{
    const union tc_cell *cell = &rows->columns[column].cells[row];
    switch (rows->columns[column].type) {
    case TC_COLUMN_TEXT:
        tc_grow_json(out, tc_rows_get_text(rows, column, row));
        break;
    case TC_COLUMN_REAL:
        if (tc_grow_room(out, NUMBER_MAX)) {
            tc_buf_f64(&out->buf, cell->real);
        }
        break;
    case TC_COLUMN_BOOL:
        tc_grow_str(out, cell->integer != 0 ? TC_LIT("true") : TC_LIT("false"));
        break;
    case TC_COLUMN_INT:
    case TC_COLUMN_TIME:
        tc_grow_i64(out, cell->integer);
        break;
    }
}

static void begin(struct tc_grow *out, struct tc_slice file, const struct tc_result *r)
{
    tc_grow_lit(out, "{\"file\":");
    tc_grow_json(out, file);
    tc_grow_lit(out, ",\"reader\":");
    tc_grow_json(out, tc_slice_cstr(tc_result_reader(r)->name));
}

static void put_member(struct tc_grow *out, const char *key, struct tc_slice value)
{
    tc_grow_lit(out, ",\"");
    tc_grow_str(out, tc_slice_cstr(key));
    tc_grow_lit(out, "\":");
    tc_grow_json(out, value);
}

static void put_cells(struct tc_grow *out, const struct tc_rows *rows, size_t row)
{
    for (size_t i = 0; i < rows->column_count; i++) {
        if (!tc_rows_is_null(rows, i, row)) {
            tc_grow_lit(out, ",\"");
            tc_grow_str(out, tc_slice_cstr(rows->columns[i].name));
            tc_grow_lit(out, "\":");
            put_value(out, rows, i, row);
        }
    }
}

static void put_definitions(struct tc_grow *out, const struct tc_result *r,
                            const struct tc_result_row *row)
{
    const struct tc_table_info *info = tc_table_info(row->table);
    struct tc_slice between = TC_EMPTY;
    tc_grow_lit(out, ",\"definitions\":{");
    for (size_t i = 0; i < info->column_count; i++) {
        if (tc_result_known(row, i) && row->definitions[i] != NULL) {
            char id[512];
            struct tc_buf b = tc_buf_make(id, sizeof id);
            tc_buf_str(&b, tc_slice_cstr(tc_result_reader(r)->name));
            tc_buf_char(&b, ':');
            tc_buf_str(&b, tc_slice_cstr(row->definitions[i]->field));
            tc_grow_str(out, between);
            tc_grow_json(out, tc_slice_cstr(info->columns[i].name));
            tc_grow_lit(out, ":");
            tc_grow_json(out, tc_buf_slice(&b));
            between = TC_LIT(",");
        }
    }
    tc_grow_lit(out, "}");
}

static void put_facts(struct tc_grow *out, struct tc_slice file, const struct tc_result *r,
                      enum tc_table table)
{
    const struct tc_rows *facts = tc_result_facts(r, table);
    if (facts != NULL) {
        begin(out, file, r);
        put_member(out, "facts", tc_slice_cstr(tc_table_info(table)->name));
        put_cells(out, facts, 0);
        tc_grow_lit(out, "}\n");
    }
}

void tc_result_json(struct tc_grow *out, struct tc_slice file, const struct tc_result *r)
{
    for (size_t i = 0; i < tc_result_rows(r); i++) {
        const struct tc_result_row *row = tc_result_row_at(r, i);
        begin(out, file, r);
        put_member(out, "table", tc_slice_cstr(tc_table_info(row->table)->name));
        put_member(out, "where", row->where);
        put_cells(out, row->rows, row->at);
        put_definitions(out, r, row);
        tc_grow_lit(out, "}\n");
    }
    for (int table = 0; table < TC_TABLE_COUNT; table++) {
        put_facts(out, file, r, (enum tc_table)table);
    }
    uint64_t left_out = 0;
    size_t notes = tc_result_notes(r, &left_out);
    for (size_t i = 0; i < notes; i++) {
        const struct tc_result_note *note = tc_result_note_at(r, i);
        begin(out, file, r);
        put_member(out, "note", note->text);
        put_member(out, "where", note->where);
        put_member(out, "field", note->field);
        tc_grow_str(out, note->contradiction ? TC_LIT(",\"contradiction\":true}\n")
                                             : TC_LIT(",\"contradiction\":false}\n"));
    }
    if (left_out > 0) {
        begin(out, file, r);
        tc_grow_lit(out, ",\"notes_left_out\":");
        tc_grow_u64(out, left_out);
        tc_grow_lit(out, "}\n");
    }
}
