/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's one warehouse: opened when somebody first needs it, so that a daemon which has
 * nothing to write stays small, and shared by the threads that use it. Any thread.
 *
 * After a commit that failed the engine is not trusted any more: DuckDB 1.4 takes the rows of such
 * a commit out of its tables again but leaves their text in the block, where it becomes part of the
 * text that is written next. What is on the disk is right. So it is closed once nobody uses it, and
 * opened anew by the next who asks.
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
    const char *data_dir; /* borrowed until the hub is destroyed, as is url */
    const char *url;      /* "": in data_dir */
    size_t memory_bytes;
    unsigned threads;
};

/* NULL without memory. Opens nothing. */
struct tc_warehouse_hub *tc_warehouse_hub_create(const struct tc_warehouse_hub_config *config);
/* Everything that was shared was given back. */
void tc_warehouse_hub_destroy(struct tc_warehouse_hub *h);

/* A view for the calling thread; a command that has the database open is waited for wait_ns long.
 * TC_E_LIMIT while a failed one is still in use: try again. */
TC_CHECKED tc_status tc_warehouse_hub_share(struct tc_warehouse_hub *h, int64_t wait_ns,
                                            struct tc_warehouse **out_warehouse,
                                            struct tc_error *err);
void tc_warehouse_hub_give(struct tc_warehouse_hub *h, struct tc_warehouse *w);

/* Who writes to the tables. */
enum tc_warehouse_writer {
    TC_WAREHOUSE_BY_COMMAND, /* a person, or a program of theirs: they look for it at once */
    TC_WAREHOUSE_BY_FEED,    /* the daemon itself: what streams in */
};

/* How often they did: whoever keeps an answer compares. Opening and closing the database counts as
 * a command's: nobody knows what others did meanwhile. */
struct tc_warehouse_writes {
    uint64_t by_commands;
    uint64_t by_feed;
};

/* Something was committed, or may have been. Never waits, as the next. */
void tc_warehouse_hub_wrote(struct tc_warehouse_hub *h, enum tc_warehouse_writer by);
struct tc_warehouse_writes tc_warehouse_hub_writes(struct tc_warehouse_hub *h);

/* What is open now is of no use: it is to be opened anew. */
void tc_warehouse_hub_suspect(struct tc_warehouse_hub *h);
/* The end is near: nothing is shared any more. */
void tc_warehouse_hub_retire(struct tc_warehouse_hub *h);
/* A descriptor that is readable while whoever holds a view should give it back. The hub's. */
int tc_warehouse_hub_leave_fd(const struct tc_warehouse_hub *h);
/* Whoever holds a view should give it back. */
bool tc_warehouse_hub_is_suspect(struct tc_warehouse_hub *h);
bool tc_warehouse_hub_is_open(struct tc_warehouse_hub *h);

#endif
