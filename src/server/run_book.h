/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who belongs to which run: learnt from telemetry that names its run (`run_id`, `tracecore.run.id`,
 * `benchmark.run.id`), asked when a verdict is written to the warehouse. The fault itself mostly
 * comes from somebody who knows of no run (the kernel, an exporter), so what is asked for is the
 * pod, the job or the node that it happened to. Bounded; the oldest entries go. Any thread.
 */
#ifndef TC_SERVER_RUN_BOOK_H
#define TC_SERVER_RUN_BOOK_H

#include "base/slice.h"
#include "event/event.h"

#include <stdint.h>

struct tc_run_book;

/* Longer names are not noted. */
#define TC_RUN_TEXT_MAX 160
#define TC_RUN_BOOK_ENTRIES 4096

enum tc_run_join {
    TC_RUN_NONE,
    TC_RUN_IDENTITY, /* the same pod or job */
    TC_RUN_TIME,     /* the same node at the same time, where no other run was */
};

/* NULL without memory. Needs next to none until something is noted. */
struct tc_run_book *tc_run_book_create(void);
void tc_run_book_destroy(struct tc_run_book *b);

/* The event names its run: its pod, job and node belong to it. */
void tc_run_book_note(struct tc_run_book *b, const struct tc_event *ev);

struct tc_run_question {
    struct tc_slice job;
    struct tc_slice pod_uid;
    struct tc_slice ns;
    struct tc_slice pod;
    struct tc_slice node;
    int64_t from_ns;
    int64_t to_ns;
};

/* out_run has TC_RUN_TEXT_MAX bytes, ended by a NUL. */
enum tc_run_join tc_run_book_find(struct tc_run_book *b, const struct tc_run_question *q,
                                  char *out_run);
/* "identity" and so on; "" for none. */
struct tc_slice tc_run_join_name(enum tc_run_join join);

#endif
