/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema as data: tables and columns of tables.def, for whoever makes rows, DDL, or docs.
 */
#ifndef TC_WAREHOUSE_TABLES_H
#define TC_WAREHOUSE_TABLES_H

#include "base/buf.h"
#include "base/json/out.h"
#include "base/slice.h"
#include "base/table/grow.h"

#include <stdbool.h>
#include <stddef.h>

/* The version of the schema that this program writes: the highest `since` in tables.def. */
#define TC_SCHEMA_VERSION 4

enum tc_table {
#define TABLE_BEGIN(id, name, since, grain) TC_TABLE_##id,
#define COLUMN(table, id, name, type, since, unit, help)
#define TABLE_END(id)
#include "warehouse/tables.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END
    TC_TABLE_COUNT
};

/* enum tc_slice_column { TC_SLICE_RUN_ID, ... TC_SLICE_COLUMNS } and so on, one per table. */
#define TABLE_BEGIN(id, name, since, grain) \
    enum tc_columns_of_##id                 \
    {
#define COLUMN(table, id, name, type, since, unit, help) TC_##table##_##id,
#define TABLE_END(id) \
    TC_##id##_COLUMNS \
    }                 \
    ;
#include "warehouse/tables.def"
#undef TABLE_BEGIN
#undef COLUMN
#undef TABLE_END

/* More than any table has. */
#define TC_TABLE_COLUMNS_MAX 64

enum tc_column_type {
    TC_COLUMN_TEXT,
    TC_COLUMN_INT,
    TC_COLUMN_REAL,
    TC_COLUMN_BOOL,
    TC_COLUMN_TIME
};

struct tc_column {
    const char *name;
    enum tc_column_type type;
    unsigned since;
    const char *unit;
    const char *help;
};

struct tc_table_info {
    const char *name;
    unsigned since;
    const char *grain;
    const struct tc_column *columns;
    size_t column_count;
};

/* table < TC_TABLE_COUNT. */
const struct tc_table_info *tc_table_info(enum tc_table table);
/* False when no table has that name. */
bool tc_table_parse(struct tc_slice name, enum tc_table *out);
/* SELECT of all its columns, in their order; WHERE may follow. */
void tc_table_select(struct tc_grow *sql, enum tc_table table);
/* Behind the name of a table whose rows may get a run that they do not name (telemetry slices,
 * verdicts): the same rows with the run that they name themselves. */
#define TC_TABLE_SAID "_said"
/* "text", "int" and so on. */
const char *tc_column_type_name(enum tc_column_type type);

/* One table as an object: its grain and its columns with type, unit and meaning. */
void tc_table_json(struct tc_json_out *j, const struct tc_table_info *table);

/* docs/tables.md; b has TC_TABLES_MARKDOWN_MAX bytes of room. */
#define TC_TABLES_MARKDOWN_MAX ((size_t)128 << 10)
void tc_tables_markdown(struct tc_buf *b);

#endif
