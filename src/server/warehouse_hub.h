/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's one warehouse: opened when somebody first needs it, so that a daemon which has
 * nothing to write stays small, and shared by the threads that use it. When it fails for good (a
 * full disk can leave an engine that refuses everything) it is closed once nobody uses it any more,
 * and opened anew by the next who asks. Any thread.
 */
#ifndef TC_SERVER_WAREHOUSE_HUB_H
#define TC_SERVER_WAREHOUSE_HUB_H

#include "base/status.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_warehouse_hub;

struct tc_warehouse_hub_config {
    const char *data_dir; /* borrowed until the hub is destroyed */
    size_t memory_bytes;
    unsigned threads;
};

/* NULL without memory. Opens nothing. */
struct tc_warehouse_hub *tc_warehouse_hub_create(const struct tc_warehouse_hub_config *config);
/* Everything that was shared was given back. */
void tc_warehouse_hub_destroy(struct tc_warehouse_hub *h);

/* A view for the calling thread; a command that has the database open is waited for wait_ns long.
 * TC_E_IO also while a failed one is still in use. */
TC_CHECKED tc_status tc_warehouse_hub_share(struct tc_warehouse_hub *h, int64_t wait_ns,
                                            struct tc_warehouse **out_warehouse,
                                            struct tc_error *err);
void tc_warehouse_hub_give(struct tc_warehouse_hub *h, struct tc_warehouse *w);

/* What is open now is of no use: it is to be opened anew. */
void tc_warehouse_hub_suspect(struct tc_warehouse_hub *h);
/* Whoever holds a view should give it back. */
bool tc_warehouse_hub_is_suspect(struct tc_warehouse_hub *h);
bool tc_warehouse_hub_is_open(struct tc_warehouse_hub *h);

#endif
