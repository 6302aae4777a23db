/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DuckDB's types as ours. Whole numbers are INT (one beyond 64 bits ends the query), floating point
 * and decimals of up to 15 digits are REAL, which is exact; timestamps of microseconds or coarser
 * are TIME. All others are cast to text by DuckDB before they get here, lists and structs as JSON.
 */
#ifndef TC_WAREHOUSE_DUCKDB_TYPES_PRIV_H
#define TC_WAREHOUSE_DUCKDB_TYPES_PRIV_H

#include "warehouse/duckdb/load_priv.h"
#include "warehouse/rows.h"

#include <stdbool.h>
#include <stddef.h>

/* How to read a column of a result. */
struct tc__duckdb_value {
    enum tc_column_type type;
    duckdb_type from;
    unsigned width; /* of a decimal: digits in all, and after the point */
    unsigned scale;
};

/* Whether a column of a prepared statement has to be cast to text. */
bool tc__duckdb_needs_text(const struct tc__duckdb_api *api, duckdb_prepared_statement prepared,
                           size_t column);
/* Lists, structs, maps: as JSON. */
bool tc__duckdb_is_nested(duckdb_type type);
/* False when it cannot be read. */
bool tc__duckdb_value_of(const struct tc__duckdb_api *api, duckdb_result *result, size_t column,
                         struct tc__duckdb_value *out);
/* Rows from .. of a chunk, up to `to` or as many as their text allows, into empty rows. */
TC_CHECKED tc_status tc__duckdb_read(const struct tc__duckdb_api *api, duckdb_data_chunk chunk,
                                     const struct tc__duckdb_value *values, size_t from, size_t to,
                                     struct tc_rows *rows, size_t *out_taken, struct tc_error *err);

#endif
