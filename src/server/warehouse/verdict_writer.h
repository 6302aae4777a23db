/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts of the outbox into the warehouse, each once: some are pulled, and written in one
 * transaction without those that are there; then they are done with. What comes between the pull
 * and the write is for the next time. One thread.
 */
#ifndef TC_SERVER_WAREHOUSE_VERDICT_WRITER_H
#define TC_SERVER_WAREHOUSE_VERDICT_WRITER_H

#include "base/status.h"
#include "outbox/outbox.h"
#include "warehouse/warehouse.h"

#include <stddef.h>

struct tc_verdict_writer;

/* Borrows both; the ledger is in data_dir. NULL when there is no memory. */
struct tc_verdict_writer *tc_verdict_writer_create(struct tc_outbox *outbox, const char *data_dir);
void tc_verdict_writer_destroy(struct tc_verdict_writer *w);

/* The next verdicts, as many as one transaction takes. The same until they are done with. */
TC_CHECKED tc_status tc_verdict_writer_pull(struct tc_verdict_writer *w, struct tc_error *err);
/* How many of what was pulled can be written; after a write, were. */
size_t tc_verdict_writer_count(const struct tc_verdict_writer *w);
/* Writes those that the warehouse does not have, to the ledger too. All of it or nothing. */
TC_CHECKED tc_status tc_verdict_writer_write(struct tc_verdict_writer *w,
                                             struct tc_warehouse *warehouse, struct tc_error *err);
/* What was pulled last does not come again. */
void tc_verdict_writer_done(struct tc_verdict_writer *w);

#endif
