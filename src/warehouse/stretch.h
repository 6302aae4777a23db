/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables read in stretches of time, for whoever goes through all rows (`tracecore migrate`): how
 * many rows each minute has, and the rows of some minutes. Rows come as they were written: those of
 * no run have none, even if one was found for them (TC_TABLE_SAID). Slices and requests have a
 * time; other tables are small and read whole.
 */
#ifndef TC_WAREHOUSE_STRETCH_H
#define TC_WAREHOUSE_STRETCH_H

#include "warehouse/warehouse.h"

#define TC_MINUTE_US (INT64_C(60) * 1000000)
/* As `minute_us` and bounds: of rows without a time. */
#define TC_NO_TIME INT64_MIN

/* The column by whose time a table is read; SIZE_MAX: it is read whole. */
size_t tc_stretch_column(enum tc_table table);

struct tc_minute {
    int64_t minute_us; /* its beginning, or TC_NO_TIME */
    uint64_t rows;
};

/* In order of time, rows without one first. A table that is read whole has one, of TC_NO_TIME. */
typedef tc_status (*tc_minute_fn)(void *context, const struct tc_minute *minute);
TC_CHECKED tc_status tc_warehouse_minutes(struct tc_warehouse *w, enum tc_table table,
                                          tc_minute_fn take, void *context, struct tc_error *err);

/* Waits for what commands that have died have sent and a server is still writing: then what is
 * there is all there will be of it. */
TC_CHECKED tc_status tc_warehouse_settle(struct tc_warehouse *w, struct tc_error *err);

/* The rows from one time to before another; from TC_NO_TIME: those without a time, or all of a
 * table that is read whole. */
TC_CHECKED tc_status tc_warehouse_read(struct tc_warehouse *w, enum tc_table table, int64_t from_us,
                                       int64_t to_us, tc_rows_fn take, void *context,
                                       struct tc_error *err);

#endif
