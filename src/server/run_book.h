/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names belong to which run: learnt from telemetry that names its run (`run_id`,
 * `tracecore.run.id`, `benchmark.run.id`) with the pod, job or node that it is of. The warehouse
 * keeps them as the run's scope, so that what happens to that pod or node is tied to the run
 * (warehouse/run_claims.h). Bounded; the oldest entries go. Any thread.
 */
#ifndef TC_SERVER_RUN_BOOK_H
#define TC_SERVER_RUN_BOOK_H

#include "base/slice.h"
#include "event/event.h"
#include "warehouse/rows.h"

#include <stdint.h>

struct tc_run_book;

/* Longer names are not noted. */
#define TC_RUN_TEXT_MAX 160
#define TC_RUN_BOOK_ENTRIES 4096

/* NULL without memory. Needs next to none until something is noted. */
struct tc_run_book *tc_run_book_create(void);
void tc_run_book_destroy(struct tc_run_book *b);

/* The event names its run: its pod, job and node belong to it. */
void tc_run_book_note(struct tc_run_book *b, const struct tc_event *ev);

enum tc_run_book_want {
    TC_RUN_BOOK_DUE, /* new names, windows that doubled, and those that seem to have ended */
    TC_RUN_BOOK_NOW, /* what verdicts of this moment need: also windows that grew by minutes */
    TC_RUN_BOOK_ALL, /* before the end: whatever was not taken */
};

/* Adds rows of run_scope_fact for what was learnt since they were taken last, as far as there is
 * room. */
void tc_run_book_take(struct tc_run_book *b, int64_t now_ns, enum tc_run_book_want want,
                      struct tc_rows *rows);
/* What was taken could not be written: all of it is to be taken again. */
void tc_run_book_retake(struct tc_run_book *b);

#endif
