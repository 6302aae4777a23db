/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How DuckDB keeps telemetry slices. What all slices of one GPU, pod or queue repeat (names, ids:
 * text) is a row of telemetry_scope; a slice is a row of numbers in telemetry_slice that names its
 * scope, with the two texts that most queries ask for. telemetry_slice_fact is a view of both.
 * docs/decisions/0015-scopes.md says what that saves.
 */
#ifndef TC_WAREHOUSE_DUCKDB_SLICE_PRIV_H
#define TC_WAREHOUSE_DUCKDB_SLICE_PRIV_H

#include "base/buf.h"
#include "warehouse/schema_priv.h"

#include <stdbool.h>
#include <stddef.h>

#define TC__SLICE_TABLE "telemetry_slice"
#define TC__SCOPE_TABLE "telemetry_scope"
#define TC__SCOPE_SEQUENCE "telemetry_scope_block"
#define TC__SCOPE_ID "scope_id"

/* Columns of the scope table before those of scopes. */
enum { TC__SCOPE_COLUMN_ID, TC__SCOPE_COLUMN_KEY_HIGH, TC__SCOPE_COLUMN_KEY_LOW, TC__SCOPE_FIRST };

/* One of the two tables: its columns, and of which of telemetry_slice_fact each is. */
struct tc__slice_part {
    struct tc_table_info info;
    struct tc_column columns[TC_TABLE_COLUMNS_MAX];
    size_t from[TC_TABLE_COLUMNS_MAX];
};

/* from: none of them. */
#define TC__SLICE_OWN SIZE_MAX

struct tc__slice_store {
    struct tc__slice_part slices; /* the last column is the scope's id */
    struct tc__slice_part scopes;
    size_t metric; /* columns of slices */
    size_t last;
};

/* table: telemetry_slice_fact. */
void tc__slice_store_init(struct tc__slice_store *s, const struct tc_table_info *table);
/* Whether a column of telemetry_slice_fact is one of scopes. */
bool tc__slice_is_of_scope(size_t column);
/* CREATE OR REPLACE VIEW. */
void tc__slice_put_view(struct tc_buf *b, const struct tc_table_info *table);

#endif
