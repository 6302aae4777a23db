/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How DuckDB keeps the two large tables. What many rows repeat (names, ids: text) is a row of a
 * table of scopes; a row of the other table has numbers, few texts, and the number of its scope.
 * The table that tables.def names is a view of both. docs/decisions/0015-scopes.md says what that
 * saves.
 *
 * telemetry_slice_fact: telemetry_slice and telemetry_scope. serving_request_fact: serving_request
 * and serving_request_scope; request.c says how a request is told in numbers.
 */
#ifndef TC_WAREHOUSE_DUCKDB_SPLIT_PRIV_H
#define TC_WAREHOUSE_DUCKDB_SPLIT_PRIV_H

#include "base/buf.h"
#include "warehouse/duckdb/sort_buffer_priv.h"
#include "warehouse/schema_priv.h"

#include <stdbool.h>
#include <stddef.h>

#define TC__SCOPE_ID "scope_id"

enum tc__split_name { TC__SPLIT_SLICE, TC__SPLIT_REQUEST, TC__SPLITS };

/* Columns of a table of scopes before those of scopes. */
enum { TC__SCOPE_COLUMN_ID, TC__SCOPE_COLUMN_KEY_HIGH, TC__SCOPE_COLUMN_KEY_LOW, TC__SCOPE_FIRST };

/* One of the two tables: its columns, and of which of the wide rows each is. */
struct tc__split_part {
    struct tc_table_info info;
    struct tc_column columns[TC_TABLE_COLUMNS_MAX];
    size_t from[TC_TABLE_COLUMNS_MAX];
    size_t row_columns; /* of rows: those of the table, and second halves of UUIDs */
};

/* 16 bytes: the first 8 are the column's cell, the others that of one of the last columns of the
 * rows, which has as many UUIDs before it. Of DuckDB's tables only. */
#define TC__COLUMN_UUID ((enum tc_column_type)(TC_COLUMN_TIME + 1))

/* from: none of them. */
#define TC__SPLIT_OWN SIZE_MAX

struct tc__split {
    bool there; /* the schema has the table */
    const struct tc__split_kind *kind;
    const struct tc_table_info *table; /* as tables.def has it */
    struct tc_table_info wide;         /* what is split: rows of the table, or made of them */
    struct tc_column wide_columns[TC_TABLE_COLUMNS_MAX];
    struct tc__split_part facts; /* the last column of the table is the scope's id */
    struct tc__split_part scopes;
    struct tc__order order; /* columns of facts */
};

struct tc__split_kind {
    enum tc_table table;
    const char *table_name;
    const char *facts;
    const char *scopes;
    const char *sequence; /* gives blocks of numbers for scopes */
    /* Columns of the wide rows; NULL: those of the table. */
    void (*put_wide)(struct tc_table_info *wide, struct tc_column *columns,
                     const struct tc_table_info *table);
    /* Of rows of the table; their texts are lent. NULL: they are wide. */
    void (*widen)(const struct tc_rows *rows, struct tc_rows *wide);
    /* Whether a column of wide rows is one of scopes. */
    bool (*is_of_scope)(size_t column);
    /* Whether neither table has it: the view makes it of others. NULL: there are none. */
    bool (*is_left_out)(size_t column);
    /* Whether it is the second half of a UUID: not a column of DuckDB's. NULL: there are none. */
    bool (*is_half)(size_t column);
    /* The column of the table in the view, from f (facts) and s (scopes); NULL: as it is called. */
    const char *(*expression)(size_t column);
    struct tc__order order; /* columns of wide rows; TC__SPLIT_OWN: the scope's id */
};

/* Of a UUID: with dashes, and 32 digits alone (id_text.c). */
#define TC__UUID_FUNCTION "tracecore_uuid"
#define TC__HEX_FUNCTION "tracecore_hex"

extern const struct tc__split_kind tc__split_slices;
extern const struct tc__split_kind tc__split_requests;

/* Nothing unless the schema has the table. */
void tc__split_init(struct tc__split *s, const struct tc__split_kind *kind,
                    const struct tc__schema *schema);
/* What a view tells of the run of a row (join_priv.h). */
enum tc__view {
    TC__VIEW_PLAIN, /* what it says; nothing is found in such a schema */
    TC__VIEW_FOUND, /* what it says or what was found */
    TC__VIEW_SAID,  /* what it says, under another name */
};

/* CREATE OR REPLACE VIEW. */
void tc__split_put_view(struct tc_buf *b, const struct tc__split *s, enum tc__view view);

#endif
