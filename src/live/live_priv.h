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
/* The same for those that daemons found: each looks at its folders every two seconds, twice before
 * it takes a file, and what it forwards may wait. */
#define TC__SETTLE_FOUND_NS (6 * TC_SECOND)
#define TC__SETTLE_FOUND_MAX_NS (20 * TC_SECOND)
/* Linking costs with the incidents, so the pause between two grows with them: 4,096 pause 21 ms. */
#define TC__LINK_PAUSE_NS(count) ((int64_t)(count)*5000)

/* Who runs where is worked out anew after a pause that grows with what is said about it. */
#define TC__PLACE_PAUSE_NS(count) ((int64_t)(count)*TC_SECOND / 2000)

/* Findings further apart than this are about two incidents. */
#define TC__APART_NS (60 * TC_SECOND)
/* An incident that began so many margins before a stretch does not widen it. */
#define TC__WIDEN_MARGINS 8
/* States told late that are remembered. */
#define TC__STATES_MAX 16384

/* What hands over held events, and goes on later where it was when its time is up. */
enum tc__live_handing { TC__HANDING_NONE, TC__HANDING_DUE, TC__HANDING_NEAR, TC__HANDING_AHEAD };

struct tc_live {
    struct tc_live_config config;
    struct tc_live_out out;
    bool (*is_spent)(void *context); /* NULL: nothing is put off */
    void *spent_context;
    struct tc_engine *engine;
    struct tc_story *story;
    struct tc__reorder hold;
    struct tc_sources_table sources; /* that are not in time */
    struct tc_stretches late;
    struct tc_lru states; /* of Kubernetes' objects that were told late: each is told many times */
    struct tc_live_counts counts;
    int64_t wall_ns; /* TC_TIME_NONE before the first call */
    int64_t clock_ns;
    int64_t arrived_ns;
    int64_t passed_ns;
    int64_t newest_ns; /* of events about the present; TC_TIME_NONE */
    int64_t newest_passed_ns;
    int64_t settle_ns; /* when files that ended are settled, on the arrival clock; INT64_MAX */
    int64_t settle_first_ns; /* when the first of them had waited */
    bool settle_found;       /* one of them was found by a daemon */
    int64_t ended_ns;        /* when what the last of them says has waited, on the same clock */
    bool replaying;
    bool handed;   /* an event went to the engine since its last tick */
    bool urgent;   /* something opened or was resolved since it was told */
    bool changed;  /* a verdict changed since the last linking */
    bool untold;   /* the last telling left something out */
    bool adopting; /* what the engine says is what a recheck found */
    bool is_whole; /* nothing is put off: the engine waits, or the process ends */
    enum tc__live_handing handing;
    int64_t handing_due_ns; /* TC__HANDING_DUE: what was due then, on both clocks */
    int64_t handing_clock_ns;
    size_t handing_left;   /* the other two: records */
    bool tidying;          /* making room in the directory was put off */
    bool linking;          /* a linking that was put off */
    bool link_anew;        /* it works out anew who runs where */
    size_t hash_at;        /* once it is done: what was not hashed yet */
    size_t tell_at;        /* of a telling that was put off: where it goes on; 0 */
    bool tell_all;         /* and how */
    int64_t tell_later_ns; /* and when those before that are to be told */
    int64_t linked_ns;
    int64_t placed_ns;
    int64_t tell_ns;         /* when something is to be told, on the arrival clock; INT64_MAX */
    uint64_t linked_version; /* of the story's statements */
    uint64_t *hashes;        /* of the verdicts as they were linked last, by index */
};

static inline int64_t tc__live_sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What was put off between two events comes before anything else. TC_E_AGAIN. */
TC_CHECKED tc_status tc__live_go_on(struct tc_live *l);
/* A tc_verdict_fn: the engine says something. */
tc_status tc__live_take(void *context, const struct tc_verdict *v);
/* Goes on with a telling that was put off. TC_E_AGAIN. */
TC_CHECKED tc_status tc__live_go_on_telling(struct tc_live *l);
/* Whether there is one. */
bool tc__live_is_telling(const struct tc_live *l);
/* Whether what a recheck found of an incident stays, since live detection says less: that time is
 * checked again then. */
bool tc__live_keeps_checked(struct tc_live *l, const struct tc_incident_entry *kept,
                            const struct tc_finding *f);
/* Links, and tells what is new, as far as it is time for it. `all`: waits for nothing. TC_E_AGAIN:
 * the rest of it is due at once. */
TC_CHECKED tc_status tc__live_publish(struct tc_live *l, bool all);
/* Twice incidents_max: what one event may add before room is made, which can be put off between
 * two events but not while the engine waits. A small incidents_max is the limit itself. */
size_t tc__live_incidents_most(const struct tc_live *l);
/* Before incidents_max is reached: tells all and forgets some. TC_E_AGAIN as above. */
TC_CHECKED tc_status tc__live_keep_room(struct tc_live *l);
/* Whether what is being done should be put off; the same for who does not know us. */
bool tc__live_is_spent(const struct tc_live *l);
struct tc_turn tc__live_turn(struct tc_live *l);
/* When that is to be called again, on the arrival clock; INT64_MAX when nothing waits. */
int64_t tc__live_publish_due(const struct tc_live *l);

#endif
