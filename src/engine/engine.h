/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine hands events to the detectors that want them, keeps event time,
 * numbers what they find and passes it on. One code path for `tracecore detect`
 * and for the daemon: events in order (late ones are handed over too, flagged by
 * their time), ticks as time passes, and a finish for inputs that end.
 *
 * All memory is taken in tc_engine_create; feeding allocates nothing. An engine
 * belongs to one thread.
 */
#ifndef TC_ENGINE_ENGINE_H
#define TC_ENGINE_ENGINE_H

#include "base/slice.h"
#include "base/status.h"
#include "base/turn.h"
#include "detect/detector.h"
#include "directory/directory.h"
#include "engine/incident.h"
#include "event/event.h"
#include "event/verdict.h"

#include <stddef.h>
#include <stdint.h>

struct tc_engine;

/* Detectors and directory have memory for clusters of so many GPUs, doubled until it is enough for
 * as many as is said: address space at once, and pages as they are used. */
#define TC_ENGINE_GPUS 10000
#define TC_ENGINE_GPUS_MAX (16 * TC_ENGINE_GPUS)

/* Called for every verdict that is new or changed. A failure stops the feed. */
struct tc_engine_out {
    tc_verdict_fn verdict;
    void *context;
    /* Takes findings as they come instead, NULL for nobody: no incident is made of them. For
     * benchmarks. */
    tc_sink_fn finding;
    /* Events come as they arrive, from senders that lag behind each other by up to this; 0: all are
     * in order. */
    int64_t lag_ns;
    enum tc_statements statements; /* that the directory keeps, for who links the verdicts */
    int64_t gpus;                  /* that memory is enough for; 0: TC_ENGINE_GPUS */
    size_t told_max;               /* incidents of which is remembered what was told; 0: of none */
};

struct tc_engine_counts {
    uint64_t events;   /* fed */
    uint64_t wanted;   /* handed to at least one detector */
    uint64_t late;     /* older than the newest seen */
    uint64_t undated;  /* without a date */
    uint64_t misdated; /* dated before 1970 or after 2200: not handed over */
    uint64_t verdicts;
    uint64_t unchanged; /* findings that said nothing new */
};

/* Every detector of detectors.def with its default knobs. TC_E_NOMEM when it cannot. */
TC_CHECKED tc_status tc_engine_create(const struct tc_engine_out *out,
                                      struct tc_engine **out_engine, struct tc_error *err);
void tc_engine_destroy(struct tc_engine *e);

/* Turns a detector on or off by name; "all" for every one. Before the first event. */
TC_CHECKED tc_status tc_engine_enable(struct tc_engine *e, struct tc_slice name, bool on,
                                      struct tc_error *err);
/* Whether a detector is on, by its index in tc_detectors(). */
bool tc_engine_is_enabled(const struct tc_engine *e, size_t index);
/* "pattern.key=value". Before the first event. The error names the path and what exists. */
TC_CHECKED tc_status tc_engine_set(struct tc_engine *e, struct tc_slice assignment,
                                   struct tc_error *err);

/*
 * What the site says of Xids, as tc_xid_list_read reads it; at any time. What was told stays; with
 * an error nothing is said of any.
 */
TC_CHECKED tc_status tc_engine_set_xids(struct tc_engine *e, struct tc_slice lines,
                                        struct tc_error *err);

/* Borrows ev until return. */
TC_CHECKED tc_status tc_engine_feed(struct tc_engine *e, const struct tc_event *ev);
/* Event time has passed without an event. Going back is ignored. */
TC_CHECKED tc_status tc_engine_advance(struct tc_engine *e, int64_t now_ns);
/* What is due at engine time is told now, not at the next whole second of it: nothing earlier is
 * expected any more. */
TC_CHECKED tc_status tc_engine_tick(struct tc_engine *e);
/* A file that was given whole has ended, others go on: see tc_detector.on_settle. */
TC_CHECKED tc_status tc_engine_settle(struct tc_engine *e);
/* The input ends, or all there is of it until now; more may be fed. now_ns is TC_TIME_NONE unless
 * the user said what "now" is. */
TC_CHECKED tc_status tc_engine_finish(struct tc_engine *e, int64_t now_ns);
/* Takes a finding that another engine made of the same input: whether it changed anything. Borrows
 * finding. */
TC_CHECKED tc_status tc_engine_adopt(struct tc_engine *e, const struct tc_finding *finding,
                                     bool *out_is_new);
/* As after create, knobs kept: for the next input. */
TC_CHECKED tc_status tc_engine_reset(struct tc_engine *e);

/* The newest time seen, TC_TIME_NONE before the first. */
int64_t tc_engine_now(const struct tc_engine *e);
/* Who is who, as all events that were fed say it. */
const struct tc_directory *tc_engine_directory(const struct tc_engine *e);
/* As tc_directory_keep_room: between two events, for who has to be back soon. */
TC_CHECKED tc_status tc_engine_keep_room(struct tc_engine *e, const struct tc_turn *turn);
/* The incidents: what an earlier process knew goes in, what was told is noted there. */
struct tc_incidents *tc_engine_incidents(struct tc_engine *e);

void tc_engine_counts(const struct tc_engine *e, struct tc_engine_counts *out);
/* Of one detector, by its index in tc_detectors(). */
void tc_engine_detector_stats(const struct tc_engine *e, size_t index,
                              struct tc_detector_stats *out);
/* The most memory that it may take. */
size_t tc_engine_detector_budget(const struct tc_engine *e, size_t index);
/* The number of the sender that takes the most of its memory, once that was full; 0. */
uint32_t tc_engine_detector_presser(const struct tc_engine *e, size_t index);

#endif
