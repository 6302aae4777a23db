/* SPDX-License-Identifier: Apache-2.0 */
/* A sort buffer as a table function: see scan.c. */
#ifndef TC_WAREHOUSE_DUCKDB_SCAN_PRIV_H
#define TC_WAREHOUSE_DUCKDB_SCAN_PRIV_H

#include "warehouse/duckdb/duckdb_priv.h"

#define TC__SCAN_THREADS 2

/* A sort buffer that is being read. */
struct tc__scan {
    struct tc__sort_buffer *buffer;
    const struct tc_table_info *table;
    uint64_t ticket;
    size_t lane_rows;    /* a multiple of TC_ROWS_MAX */
    atomic_uint lanes;   /* given out */
    atomic_uint threads; /* that came */
    /* Where each of them is; one more for those that have no lane. */
    struct tc__scan_thread {
        size_t lane;
        size_t next_row; /* of the lane */
    } places[TC__SCAN_THREADS + 1];
    struct tc__scan *next;
};

/* Once a database, before its configuration is locked. */
TC_CHECKED tc_status tc__scan_register(struct tc__duckdb *d, struct tc_error *err);
/* The functions of split_priv.h, the same way. */
TC_CHECKED tc_status tc__id_text_register(struct tc__duckdb *d, struct tc_error *err);
/* Inserts all rows of a buffer that is in order. */
TC_CHECKED tc_status tc__scan_insert(struct tc__duckdb *d, const struct tc_table_info *table,
                                     struct tc__sort_buffer *buffer, struct tc_error *err);

#endif
