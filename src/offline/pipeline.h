/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of `tracecore detect`, the counterpart of live/live.h for recorded inputs: a stream of
 * events per input, merged in order of time, through the engine, into one story. Where there is a
 * second processor, inputs are decoded ahead (ahead.h) and large ones hashed (digests.h) on it;
 * merging and judging is done by one thread, and what comes out depends on nothing but the inputs.
 */
#ifndef TC_OFFLINE_PIPELINE_H
#define TC_OFFLINE_PIPELINE_H

#include "base/status.h"
#include "engine/engine.h"
#include "engine/merge.h"
#include "intake/stream.h"
#include "offline/clocks.h"
#include "stored/ordered.h"
#include "story/story.h"

#include <stdint.h>

struct tc_ahead;
struct tc_digests;
struct tc_lane;

/* Zeroed is empty. Invariant: engine and story exist once tc_offline_prepare has succeeded. */
struct tc_offline {
    int64_t gpus;   /* that detectors have memory for: see tc_engine_out; 0: as many as usual */
    size_t threads; /* 0: as many as there are processors, up to two */
    struct tc_engine *engine;
    struct tc_story *story;
    struct tc_stream_pool pool;
    struct tc_source_stream *sources; /* one per input, with what its events lack; may be NULL */
    size_t source_count;
    struct tc_stream *streams;
    struct tc_lane *lanes;      /* contexts of the streams */
    struct tc_ahead *ahead;     /* NULL: inputs are decoded in their turn */
    struct tc_digests *digests; /* NULL: files are hashed when they are cited */
    struct tc_clocks *clocks;   /* NULL when there was no memory to compare any */
    bool correct;               /* the times of events, by the clocks */
    int64_t first_ns;           /* of all events; TC_TIME_NONE before the first */
    int64_t last_ns;
    uint64_t copies; /* events that two inputs tell */
};

/* What the caller is told meanwhile. Each may be NULL. */
struct tc_offline_watch {
    tc_stream_error_fn error;
    tc_stream_progress_fn progress;
    /* Clocks are off: everything is read again, with times that are right. */
    void (*again)(void *context, const struct tc_clocks *clocks);
    void *context;
};

/* Takes the memory of engine and story, once. Knobs of the engine are set between this and run. */
TC_CHECKED tc_status tc_offline_prepare(struct tc_offline *o, struct tc_error *err);
/*
 * Takes all events of the inputs through the engine to its end; twice, when clocks of nodes turn
 * out to be off. Borrows inputs and hints as long as the verdicts are used. A failure leaves the
 * verdicts that were reached.
 */
TC_CHECKED tc_status tc_offline_run(struct tc_offline *o, struct tc_inputs *in,
                                    struct tc_hints *hints, size_t memory_bytes,
                                    const struct tc_offline_watch *watch);
/*
 * The same for what a daemon has stored; watch->error and progress are not called. The input ends
 * at end_ns, as far as time passes for the detectors; TC_TIME_NONE: as at the end of files, where
 * what has only begun is said too. Borrows ordered until return.
 */
TC_CHECKED tc_status tc_offline_run_stored(struct tc_offline *o, struct tc_ordered *ordered,
                                           int64_t end_ns, const struct tc_offline_watch *watch,
                                           struct tc_error *err);
void tc_offline_fini(struct tc_offline *o);

#endif
