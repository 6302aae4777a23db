/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that writes what the daemon knows into the warehouse: verdicts from the outbox,
 * each once, slices of the metrics that came in, and the requests that traces tell of. It opens the
 * warehouse when there is something to write; while it cannot, verdicts wait in the outbox, metrics
 * and traces in the evidence. What it writes of verdicts it writes to the ledger first
 * (warehouse/ledger.h).
 */
#ifndef TC_SERVER_WAREHOUSE_FEED_H
#define TC_SERVER_WAREHOUSE_FEED_H

#include "base/status.h"
#include "outbox/outbox.h"
#include "server/run_book.h"
#include "server/warehouse/hub.h"
#include "server/warehouse/requests.h"
#include "server/warehouse/slicer.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_warehouse_feed;

struct tc_warehouse_feed_parts {
    const char *data_dir; /* borrowed; the ledger is there */
    struct tc_warehouse_hub *hub;
    struct tc_outbox *outbox;
    struct tc_run_book *runs;
    bool wants_slices;
    struct tc_warehouse_slicer_config slicer;
    bool wants_requests;
    struct tc_warehouse_requests_config requests; /* `open` is the feed's */
    size_t wake_bytes; /* handed over metrics are read when there are so many, if not before */
    int64_t retry_ns;  /* after a first failure; 0: a second */
};

TC_CHECKED tc_status tc_warehouse_feed_start(const struct tc_warehouse_feed_parts *parts,
                                             struct tc_warehouse_feed **out_feed,
                                             struct tc_error *err);
/* What it waits for, of any thread; since_ns (wall clock) is 0 when it waits for nothing. */
struct tc_warehouse_trouble {
    int64_t since_ns;
    char error[TC_ERROR_MESSAGE_MAX];
};
void tc_warehouse_feed_trouble(struct tc_warehouse_feed *f, struct tc_warehouse_trouble *out);
/* Writes what can be written within wait_ns, then ends. The outbox is still open. NULL is fine. */
void tc_warehouse_feed_stop(struct tc_warehouse_feed *f, int64_t wait_ns);

#endif
