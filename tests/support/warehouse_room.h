/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A warehouse in a temporary folder, for tests. Everything asserts.
 */
#ifndef TC_TEST_WAREHOUSE_ROOM_H
#define TC_TEST_WAREHOUSE_ROOM_H

#include "warehouse/warehouse.h"

#include <stdint.h>

struct wh_room {
    char dir[128];
    unsigned threads; /* of DuckDB */
};

/* cmocka's setup and teardown: *state is a struct wh_room. DuckDB has one thread: while another has
 * the only task that there is, DuckDB's own waits for it in a loop, at the cost of a core. */
int wh_setup(void **state);
/* The same with two threads, for tests of what DuckDB's threads call (warehouse/duckdb/scan.c). */
int wh_setup_parallel(void **state);
int wh_teardown(void **state);

/* Opens without a daemon, and must succeed. */
struct tc_warehouse *wh_open(struct wh_room *room, enum tc_warehouse_mode mode);
struct tc_warehouse_config wh_config(struct wh_room *room, enum tc_warehouse_mode mode);

/* Slices first .. first + count, count 60 each, of 64 nodes with 8 GPUs. */
void wh_append_slices(struct tc_warehouse *w, size_t first, size_t count);
/* The same in a transaction of their own. */
void wh_add_slices(struct tc_warehouse *w, size_t first, size_t count);

/* Loads DuckDB into this process, for those that it forks: to find its 60,000 names would take each
 * of them longer than what it is to do. What they call is as it is without. */
void wh_load_for_children(void);

int64_t wh_count(struct tc_warehouse *w, const char *sql);

#endif
