/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside live: the clocks, and what is told.
 *
 * Four clocks. `wall` is our clock as it was last said. `clock` is the one events are compared
 * with: it follows wall, but when that goes back to before what trusted senders say it goes on by
 * itself. `arrived` only grows, by what wall moved forward: it times the hold and the telling.
 * `passed` is the time in which we listened: a step longer than TC__STEP_MAX_NS is a clock that
 * jumped or a process that stood still, and says nothing about senders that were silent in it.
 */
#ifndef TC_LIVE_LIVE_PRIV_H
#define TC_LIVE_LIVE_PRIV_H

#include "directory/directory.h"
#include "live/live.h"
#include "live/reorder_priv.h"
#include "story/story.h"

/* tc_live_due asks for a call at least as often as this while time passes. */
#define TC__PULSE_NS TC_SECOND
#define TC__STEP_MAX_NS (2 * TC_SECOND)
/* Collectors send in batches of 0.2 to 10 s, so they lag behind each other by so much. */
#define TC__LAG_NS (10 * TC_SECOND)
/* An incident is updated at most this often; what opens or resolves it waits for nothing. */
#define TC__UPDATE_NS TC_SECOND
/* Files are given one after the other: they are settled when none has ended for so long, or since
 * the first of them. */
#define TC__SETTLE_NS TC_SECOND
#define TC__SETTLE_MAX_NS (5 * TC_SECOND)
/* Linking costs with the incidents, so the pause between two grows with them: 4,096 pause 21 ms. */
#define TC__LINK_PAUSE_NS(count) ((int64_t)(count)*5000)

/* Who runs where is worked out anew after a pause that grows with what is said about it. */
#define TC__PLACE_PAUSE_NS(count) ((int64_t)(count)*TC_SECOND / 2000)

struct tc_live {
    struct tc_live_config config;
    struct tc_live_out out;
    struct tc_engine *engine;
    struct tc_story *story;
    struct tc__reorder hold;
    struct tc_live_counts counts;
    int64_t wall_ns; /* TC_TIME_NONE before the first call */
    int64_t clock_ns;
    int64_t arrived_ns;
    int64_t passed_ns;
    int64_t newest_ns; /* of events about the present; TC_TIME_NONE */
    int64_t newest_passed_ns;
    int64_t settle_ns; /* when files that ended are settled, on the arrival clock; INT64_MAX */
    int64_t settle_max_ns;
    bool replaying;
    bool handed;  /* an event went to the engine since its last tick */
    bool urgent;  /* something opened or was resolved since it was told */
    bool changed; /* a verdict changed since the last linking */
    bool untold;  /* the last telling left something out */
    int64_t linked_ns;
    int64_t placed_ns;
    int64_t tell_ns;         /* when something is to be told, on the arrival clock; INT64_MAX */
    uint64_t linked_version; /* of the story's statements */
    uint64_t *hashes;        /* of the verdicts as they were linked last, by index */
};

/* A tc_verdict_fn: the engine says something. */
tc_status tc__live_take(void *context, const struct tc_verdict *v);
/* Links, and tells what is new, as far as it is time for it. `all`: waits for nothing. */
TC_CHECKED tc_status tc__live_publish(struct tc_live *l, bool all);
/* When that is to be called again, on the arrival clock; INT64_MAX when nothing waits. */
int64_t tc__live_publish_due(const struct tc_live *l);

#endif
