/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that were received, as rows of serving_request_fact. Reads what the store of evidence has,
 * behind the writer, batches of traces and uploaded files only, as the slicer does with metrics. So
 * ingestion waits for nothing, and what a crash or a failed write took is read again. Rows carry
 * the number of their batch, so the warehouse itself says which batches it has. A batch is written
 * whole or not at all, once, and not again when the same bytes come again. One thread.
 */
#ifndef TC_SERVER_WAREHOUSE_REQUESTS_H
#define TC_SERVER_WAREHOUSE_REQUESTS_H

#include "base/status.h"
#include "codec/otlp/wire.h"
#include "server/warehouse/handoff.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_warehouse_requests;

struct tc_warehouse_requests_config {
    const char *evidence_dir;   /* borrowed */
    int64_t catch_up_ns;        /* what arrived longer ago is not read */
    struct tc_otlp_limits otlp; /* as they are for requests of OTLP */
    size_t body_max;            /* of a batch of traces */
    struct tc_handoff *handoff; /* borrowed, tells whether there are new ones; NULL: it is looked */
    /* Gives the warehouse until the step ends. Asked when there is a row to write. */
    tc_status (*open)(void *context, struct tc_warehouse **out_warehouse, struct tc_error *err);
    void *context;
};

/* NULL without memory. Needs little until there are traces. */
struct tc_warehouse_requests *
tc_warehouse_requests_create(const struct tc_warehouse_requests_config *config);
void tc_warehouse_requests_destroy(struct tc_warehouse_requests *r);

/*
 * Reads what is new, a bounded part of it, and writes its rows in one transaction; *out_more: there
 * is more already. After a failure all of that is read again the next time.
 */
TC_CHECKED tc_status tc_warehouse_requests_step(struct tc_warehouse_requests *r, int64_t now_ns,
                                                bool *out_more, struct tc_error *err);

#endif
