/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nccl_hang reads beside records: the flags of other watchdogs (watch.c) and the reports of
 * NCCL's own monitor (ras.c).
 * Both are snapshots: the events of one come with one time, and are judged
 * together once event time has passed it.
 */
#ifndef TC_DETECT_NCCL_HANG_WATCH_PRIV_H
#define TC_DETECT_NCCL_HANG_WATCH_PRIV_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "detect/finding_priv.h"
#include "detect/nccl_hang/place_priv.h"
#include "detect/waiting_priv.h"
#include "detect/window_priv.h"
#include "event/event.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stdint.h>

/* Jobs that wait to be judged. */
#define NCCL_WATCH_DUE_MAX 1024

/* A job, as far as its watchdogs and NCCL's monitor tell of it. */
struct watch_job {
    struct tc_window_head head;
    struct tc_slice name; /* "" when nothing names it */
    bool due;             /* waits to be judged */
    int64_t flags_ns;     /* newest sample of a flag */
    int64_t ras_ns;       /* newest report */
    int64_t hanging;      /* ranks whose flag is set */
    int64_t ranks;        /* ranks with a flag */
    int64_t hung_ns;      /* when the first of them was set: names the incident */
    bool told;            /* the incident is open */
};

struct nccl_watch {
    struct tc_detector_base *base;
    const struct nccl_nodes *nodes;
    const int64_t *threshold_ns; /* knob of the detector */
    struct tc_window jobs;
    struct tc_window flags;
    struct tc_window comms;
    struct tc_window ranks;
    struct tc_waiting due;
};

/* NULL when the arena is full. Borrows base, nodes and knob for its whole life. */
struct nccl_watch *tc__watch_create(struct tc_detector_base *base, const struct nccl_nodes *nodes,
                                    const int64_t *threshold_ns, int64_t retention_ns);
/* True for an event that is taken in here. */
bool tc__watch_wants(const struct tc_event *ev);
TC_CHECKED tc_status tc__watch_on_event(struct nccl_watch *w, const struct tc_event *ev,
                                        const struct tc_sink *out);
/* Judges the snapshots that are older than now_ns. */
TC_CHECKED tc_status tc__watch_on_tick(struct nccl_watch *w, int64_t now_ns,
                                       const struct tc_sink *out);

/* The job of an event, known or new. NULL when scratch is full. */
struct watch_job *tc__watch_job(struct nccl_watch *w, struct tc_slice name);
/* Puts it down for judging, after judging what is too much. */
TC_CHECKED tc_status tc__watch_due(struct nccl_watch *w, struct watch_job *job,
                                   const struct tc_sink *out);

/* ras.c */
bool tc__ras_init(struct nccl_watch *w, int64_t retention_ns);
TC_CHECKED tc_status tc__ras_on_event(struct nccl_watch *w, const struct tc_event *ev,
                                      const struct tc_sink *out);
TC_CHECKED tc_status tc__ras_judge(struct nccl_watch *w, struct watch_job *job,
                                   const struct tc_sink *out);

/* Every attribute that all verdicts of the pattern carry; lists stay as they are. */
struct watch_facts {
    struct tc_slice group; /* communicator, "" for none */
    int64_t seq;
    int64_t members;
    int64_t stall_ns; /* 0: not known */
    const int32_t *culprits;
    size_t culprit_count;
    const struct tc_scope *places; /* of the first culprits */
    size_t place_count;
    const int32_t *waiting;
    size_t waiting_count;
    const struct tc_slice *reasons; /* one a culprit */
    size_t reason_count;
};

void tc__watch_attrs(struct tc_draft *d, const struct watch_facts *f);
/* "ranks 3, 4 and 5", with the rest as a number. */
struct tc_arg tc__watch_as_ranks(const int32_t *ranks, size_t count);
/* Ascending, each once: the count that is left. */
size_t tc__watch_sort(int32_t *ranks, size_t count, struct tc_arena *scratch);

#endif
