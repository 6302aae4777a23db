/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics that were received, as slices. The slicer reads what the store of evidence has, behind
 * the writer, batches of metrics only. So the queue is the evidence on the disk, ingestion waits
 * for nothing, and what a crash or a failed write took is read again: windows that the warehouse
 * has are known from the warehouse itself. While it keeps up, it gets the same batches from the
 * loop, parsed (handoff.h). One thread.
 */
#ifndef TC_SERVER_WAREHOUSE_SLICER_H
#define TC_SERVER_WAREHOUSE_SLICER_H

#include "base/status.h"
#include "codec/otlp/wire.h"
#include "server/hot_page.h"
#include "server/warehouse/handoff.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_warehouse_slicer;

struct tc_warehouse_slicer_config {
    const char *evidence_dir; /* borrowed */
    int64_t window_ns;
    int64_t lateness_ns; /* a window is written so long after it ended */
    int64_t catch_up_ns; /* what arrived longer ago is not read */
    size_t series_max;
    size_t memory_bytes;
    struct tc_otlp_limits otlp; /* as they are for requests */
    size_t body_max;            /* of a batch of metrics */
    struct tc_handoff *handoff; /* borrowed; NULL: all is read from the evidence */
    struct tc_hot_page *hot;    /* borrowed; gets the samples of requests too. NULL: none */
};

/* NULL without memory. Needs little until there are metrics. */
struct tc_warehouse_slicer *
tc_warehouse_slicer_create(const struct tc_warehouse_slicer_config *config);
void tc_warehouse_slicer_destroy(struct tc_warehouse_slicer *s);

/* Reads what is new, a bounded part of it; *out_more: there is more already. */
TC_CHECKED tc_status tc_warehouse_slicer_read(struct tc_warehouse_slicer *s, int64_t now_ns,
                                              bool *out_more, struct tc_error *err);
/* Whether there is something to write. */
bool tc_warehouse_slicer_is_due(const struct tc_warehouse_slicer *s);
/*
 * Writes what is due, in a transaction of its own. After a failure everything that is not in the
 * warehouse is read from the evidence again.
 */
TC_CHECKED tc_status tc_warehouse_slicer_write(struct tc_warehouse_slicer *s,
                                               struct tc_warehouse *w, struct tc_error *err);

#endif
