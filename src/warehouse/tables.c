/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/tables.h"

#include "base/assert.h"
#include "base/format.h"
#include "warehouse/schema_priv.h"

#define TABLE_BEGIN(id, name, since, grain) static const struct tc_column columns_of_##id[] = {
#define COLUMN(table, id, name, type, since, unit, help) \
    {name, TC_COLUMN_##type, since, unit, help},
#define TABLE_END(id) \
    }                 \
    ;                 \
    _Static_assert(TC_##id##_COLUMNS <= TC_TABLE_COLUMNS_MAX, "a table has too many columns");
#include "warehouse/tables.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

static const struct tc_table_info TABLES[TC_TABLE_COUNT] = {
#define TABLE_BEGIN(id, name, since, grain) \
    [TC_TABLE_##id] = {name, since, grain, columns_of_##id, TC_##id##_COLUMNS},
#define COLUMN(table, id, name, type, since, unit, help)
#define TABLE_END(id)
#include "warehouse/tables.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
};

const struct tc__schema tc__schema = {TC_SCHEMA_VERSION, TABLES, TC_TABLE_COUNT};

const struct tc_table_info *tc_table_info(enum tc_table table)
{
    TC_ASSERT((size_t)table < TC_TABLE_COUNT);
    return &TABLES[table];
}

bool tc_table_parse(struct tc_slice name, enum tc_table *out)
{
    size_t i = tc_slice_row(name, TABLES, name);
    if (i == TC_TABLE_COUNT) {
        return false;
    }
    *out = (enum tc_table)i;
    return true;
}

void tc_table_select(struct tc_grow *sql, enum tc_table table)
{
    const struct tc_table_info *info = tc_table_info(table);
    for (size_t i = 0; i < info->column_count; i++) {
        tc_grow_format(sql, "{}\"{}\"", i == 0 ? "SELECT " : ", ", info->columns[i].name);
    }
    tc_grow_format(sql, " FROM {}", info->name);
}

const char *tc_column_type_name(enum tc_column_type type)
{
    static const char *const NAMES[] = {[TC_COLUMN_TEXT] = "text",
                                        [TC_COLUMN_INT] = "int",
                                        [TC_COLUMN_REAL] = "real",
                                        [TC_COLUMN_BOOL] = "bool",
                                        [TC_COLUMN_TIME] = "time"};
    return (size_t)type < TC_COUNT(NAMES) ? NAMES[type] : "unknown";
}

/* A cell of a Markdown table: a bar in the text would end it. */
static void write_cell(struct tc_buf *b, const struct tc_arg *arg)
{
    for (const char *p = arg->object; *p != '\0'; p++) {
        if (*p == '|') {
            tc_buf_char(b, '\\');
        }
        tc_buf_char(b, *p);
    }
}

static void put_table(struct tc_buf *b, const struct tc_table_info *info)
{
    (void)tc_format(b,
                    "\n## {}\nOne row: {}.\n\n"
                    "| column | type | unit | since | |\n| --- | --- | --- | --- | --- |\n",
                    info->name, info->grain);
    for (size_t i = 0; i < info->column_count; i++) {
        const struct tc_column *c = &info->columns[i];
        (void)tc_format(b, "| `{}` | {} | {} | {} | {} |\n", c->name, tc_column_type_name(c->type),
                        tc_as_written(write_cell, c->unit), c->since,
                        tc_as_written(write_cell, c->help));
    }
}

void tc_tables_markdown(struct tc_buf *b)
{
    tc_buf_lit(b,
               "# The tables of the warehouse\n\n"
               "Made from `src/warehouse/tables.def` by `tracecore sql --describe --markdown`; a "
               "test compares. Schema version ");
    tc_buf_u64(b, TC_SCHEMA_VERSION);
    tc_buf_lit(b,
               ".\n\n"
               "Types: text (UTF-8), int (64 bits), real (IEEE 754 double), bool, time (UTC, "
               "microseconds). Unknown is\nNULL, never 0. `since` is the schema version that "
               "brought a column. Columns are never renamed, retyped\nor removed. "
               "[warehouse.md](internals/warehouse.md) says how the tables are filled and kept.\n");
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        put_table(b, &TABLES[i]);
    }
}

void tc_table_json(struct tc_json_out *j, const struct tc_table_info *table)
{
    tc_json_add_object(j);
    tc_json_put_cstr(j, "table", table->name);
    tc_json_put_cstr(j, "grain", table->grain);
    tc_json_put_u64(j, "since", table->since);
    tc_json_put_array(j, "columns");
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tc_column *c = &table->columns[i];
        tc_json_add_object(j);
        tc_json_put_cstr(j, "name", c->name);
        tc_json_put_cstr(j, "type", tc_column_type_name(c->type));
        tc_json_put_cstr(j, "unit", c->unit);
        tc_json_put_cstr(j, "help", c->help);
        tc_json_put_u64(j, "since", c->since);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
    tc_json_end_object(j);
}
