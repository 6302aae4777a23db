/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that answer what may take long: questions to the warehouse, the log of verdicts. Each
 * has a view of the warehouse while it needs one. Jobs wait in a bounded queue; what is done comes
 * back to the loop. All of it is called from the loop's thread, but for what says otherwise.
 */
#ifndef TC_SERVER_API_WORKERS_H
#define TC_SERVER_API_WORKERS_H

#include "base/status.h"
#include "server/warehouse/hub.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_base;
struct tc_api_worker;
struct tc_api_workers;

struct tc_api_job {
    struct tc_api_job *next;  /* the workers' own, as the next two */
    struct tc_api_worker *on; /* who runs it */
    bool is_cancelled;
    void (*run)(struct tc_api_job *job, struct tc_api_worker *w); /* on a worker's thread */
    void (*done)(struct tc_api_job *job, bool was_run);           /* on the loop, once */
};

struct tc_api_workers_config {
    struct event_base *base;
    size_t count;
    /* NULL there: warehouse.enabled is false. It may be set after the workers were made. */
    struct tc_warehouse_hub *const *hub;
};

#define TC_API_WORKERS_MAX 64

TC_CHECKED tc_status tc_api_workers_create(const struct tc_api_workers_config *config,
                                           struct tc_api_workers **out, struct tc_error *err);
/*
 * No new jobs; what runs is interrupted, what waits is done without being run. False: after wait_ns
 * there are queries that do not end; then nothing is freed, the hub must not be destroyed, and the
 * process ends by _exit(). NULL is fine.
 */
TC_CHECKED bool tc_api_workers_stop(struct tc_api_workers *s, int64_t wait_ns);

/* False: queue_max wait already, or the end has come. */
bool tc_api_workers_put(struct tc_api_workers *s, struct tc_api_job *job, size_t queue_max);
/* Nobody waits for it any more. It comes back soon, run or not. */
void tc_api_workers_cancel(struct tc_api_workers *s, struct tc_api_job *job);
/* Whether it still waits: no worker has begun with it. */
bool tc_api_workers_has_not_begun(struct tc_api_workers *s, const struct tc_api_job *job);

/*
 * For a job, on its thread: the view of the warehouse, the worker's. TC_E_UNSUPPORTED: it is
 * disabled. TC_E_AGAIN: not now.
 */
TC_CHECKED tc_status tc_api_worker_warehouse(struct tc_api_worker *w, struct tc_warehouse **out,
                                             struct tc_error *err);
/* The same: the job wrote to the warehouse, or tried to. */
void tc_api_worker_wrote(struct tc_api_worker *w);

#endif
