/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef TC_SERVER_SOURCES_PRIV_H
#define TC_SERVER_SOURCES_PRIV_H

#include "server/sources/positions.h"
#include "server/sources/sources.h"

#include <pthread.h>
#include <stdatomic.h>

struct event;

/* Sources at once: kinds, and targets of those that have several. */
#define TC__SOURCES_MAX 64

/* One source. */
struct tc__source {
    const struct tc_source_kind *kind;
    const char *name;
    void *state;
    struct tc_source_port *port;
    pthread_t thread;
    bool is_started;
    enum tc_source_state told; /* what the log was told last of its state */
    bool told_long;            /* and that it has failed for long */
};

struct tc__source_put;

/* One chunk from tc_port_put until it is durable and detection has it. */
struct tc__source_job {
    struct tc_commit_job commit; /* first: the committer gives it back */
    struct tc_source_set *of;
    struct tc__source_put *put;
    const struct tc_source_chunk *chunk;
    struct tc_slice source;
    struct tc__source_job *next; /* of those that wait for the loop */
    struct tc_waiting waiting;
    tc_status status;
};

/* The chunks of one call, until all are done. */
struct tc__source_put {
    size_t pending;
    pthread_cond_t done;
};

/*
 * Invariants: a job is in the queue, on its way to the disk, waiting for detection, or done.
 * `lock` guards queue, pending and is_closed; the timers are the loop's.
 */
struct tc_source_set {
    struct tc_ingest_parts parts;
    struct event_base *base;
    struct tc_positions *positions;
    pthread_mutex_t lock;
    struct tc__source_job *queue;
    struct tc__source_job **queue_end;
    bool is_closed; /* nothing is taken any more */
    int wake_fd;
    struct event *wake_event;
    struct event *retry_timer; /* while the store has no room */
    struct event *watch_timer;
    _Atomic int64_t saved_ns; /* monotonic: when positions were saved last */
    struct tc__source list[TC__SOURCES_MAX];
    size_t count;
};

/* outages.c: stores what is to be known of the others. It is not told of as they are. */
extern const struct tc_source_kind tc__source_outages;
TC_CHECKED tc_status tc__source_set_add_outages(struct tc_source_set *s, const char *node,
                                                struct tc_error *err);

/* watch.c: looks how the sources are, and logs what changed. */
void tc__source_set_watch(struct tc_source_set *s);
/* For tc_metrics_more; context is the set. */
void tc__source_set_metrics(void *context, struct tc_buf *b);

#endif
