/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detection as the data comes: events in the order of arrival go in, with the time of arrival;
 * verdicts that are new or changed come out, joined into stories, once each. Around the same engine
 * and story as `tracecore detect`. docs/internals/daemon.md says what hold, late, ahead and silence
 * mean.
 *
 * Pure: time is an argument, so what was stored replays to the same verdicts. All memory is taken
 * at creation but for the verdicts that are kept; feeding events allocates nothing. One thread.
 */
#ifndef TC_LIVE_LIVE_H
#define TC_LIVE_LIVE_H

#include "base/slice.h"
#include "base/status.h"
#include "engine/engine.h"
#include "event/event.h"
#include "event/verdict.h"
#include "live/sources.h"
#include "live/stretches.h"
#include "offender/offender.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_live;

struct tc_live_config {
    int64_t hold_ns;      /* arrival time for which an event waits for earlier ones */
    int64_t lateness_ns;  /* event time behind the engine's up to which events count */
    int64_t ahead_ns;     /* event time after our clock up to which a clock counts as right */
    int64_t silence_ns;   /* how far engine time stays behind our clock when nothing comes */
    int64_t margin_ns;    /* late events nearer to each other than this are checked together */
    int64_t window_ns;    /* event time behind the engine's up to which late ones are checked */
    size_t hold_bytes;    /* memory of held events; when full the hold is cut short */
    int64_t gpus;         /* that detectors have memory for: see tc_engine_out */
    size_t incidents_max; /* kept for stories between two events, while one is judged up to twice as
                             many; resolved ones, then the least severe and then the oldest go
                             first */
    size_t told_max;      /* incidents of which is remembered what was told, so that each is opened
                             once; resolved ones and then those told longest ago go first */
    struct tc_offender_config offenders;
};

#define TC_LIVE_CONFIG_DEFAULT                                                 \
    ((struct tc_live_config){.hold_ns = 5 * TC_SECOND / 1000,                  \
                             .lateness_ns = 60 * TC_SECOND,                    \
                             .ahead_ns = TC_SECOND,                            \
                             .silence_ns = 5 * TC_SECOND,                      \
                             .margin_ns = 900 * TC_SECOND,                     \
                             .window_ns = 86400 * TC_SECOND,                   \
                             .hold_bytes = (size_t)8 << 20,                    \
                             .gpus = TC_ENGINE_GPUS,                           \
                             .incidents_max = 4096,                            \
                             .told_max = 262144,                               \
                             .offenders = {.count = 3,                         \
                                           .window_ns = 7 * 86400 * TC_SECOND, \
                                           .incidents_max = TC_OFFENDERS_LIVE_MAX}})

/* A verdict leaves. Borrowed until return. A failure stops what was called. */
typedef tc_status (*tc_live_verdict_fn)(void *context, const struct tc_verdict *verdict,
                                        const struct tc_incident_mark *mark);

struct tc_live_out {
    tc_live_verdict_fn verdict;
    void *context;
};

struct tc_live_counts {
    uint64_t events;    /* fed */
    uint64_t late;      /* behind engine time, handed over all the same */
    uint64_t too_late;  /* behind by more than lateness_ns: their time is to be checked again */
    uint64_t unjudged;  /* of them that cannot be: behind by more than window_ns, or not readable */
    uint64_t ahead;     /* of a source whose clock is fast: corrected */
    uint64_t undated;   /* without a time */
    uint64_t misdated;  /* before 1970 or after 2200 */
    uint64_t cut_short; /* handed over before their hold was over: hold_bytes was full */
    uint64_t too_large; /* an event of more than an eighth of hold_bytes: left out */
    uint64_t verdicts;  /* told: opened, updated and resolved */
    uint64_t opened;
    uint64_t updated;
    uint64_t resolved;
    uint64_t held;             /* events waiting now */
    uint64_t incidents;        /* kept now */
    uint64_t open;             /* of them not resolved */
    uint64_t forgotten;        /* incidents that made room for newer ones */
    uint64_t told_forgotten;   /* of which is no longer known what was told */
    uint64_t places;           /* statements about who runs where, kept now */
    uint64_t places_forgotten; /* that made room for newer ones */
    int64_t engine_ns;         /* engine time; TC_TIME_NONE before the first event */
};

TC_CHECKED tc_status tc_live_create(const struct tc_live_config *config,
                                    const struct tc_live_out *out, struct tc_live **out_live,
                                    struct tc_error *err);
void tc_live_destroy(struct tc_live *l);

/* For knobs and for turning patterns on and off, before the first event; counts at any time. */
struct tc_engine *tc_live_engine(struct tc_live *l);
/* New times (SIGHUP); gpus, hold_bytes, incidents_max and told_max stay as they are. */
void tc_live_configure(struct tc_live *l, const struct tc_live_config *config);

/*
 * is_spent is asked after each event that was handed over, each verdict that was told, and each
 * piece of a linking. Once it is true, the function that was called returns TC_E_AGAIN: call it
 * again, with the same arguments, before any other but tc_live_advance. What comes out is the same
 * as without it.
 */
void tc_live_slice(struct tc_live *l, bool (*is_spent)(void *context), void *context);

/* What an earlier process told. Before the first event; later marks of an incident win. */
TC_CHECKED tc_status tc_live_restore(struct tc_live *l, const struct tc_incident_mark *mark);

/* Who sends what is fed from now on: a small number; 0: as the events say. Memory is shared among
 * senders, and says nothing else of them. */
void tc_live_sender(struct tc_live *l, uint32_t sender);

/*
 * One event that arrived at arrival_ns (our clock; not before earlier calls' times). Copies what
 * it keeps. `past`: it is about the past by nature (a dump, an uploaded file): no lateness.
 */
TC_CHECKED tc_status tc_live_feed(struct tc_live *l, const struct tc_event *ev, int64_t arrival_ns,
                                  bool past);
/* The same with an event that has no time: it happened, as far as anybody knows, when it came,
 * time_ns. Its source's clock has no part in that. */
TC_CHECKED tc_status tc_live_feed_undated(struct tc_live *l, const struct tc_event *ev,
                                          int64_t time_ns, int64_t arrival_ns);
/*
 * A file that was given whole (an upload) ends: a second after its events have waited, if no other
 * file ended by then, what can be said of dumps is said. Where files go on and on, that happens
 * every five seconds, and once more for the last of them. `found`: a source of this daemon or of
 * one that forwards found it, and those of other nodes may come later: six seconds, and twenty.
 */
TC_CHECKED tc_status tc_live_end_of_file(struct tc_live *l, int64_t now_ns, bool found);
/* Our clock shows now_ns: hands over what has waited long enough, lets time pass, tells. */
TC_CHECKED tc_status tc_live_advance(struct tc_live *l, int64_t now_ns);
/* When tc_live_advance should be called next, on our clock. */
int64_t tc_live_due(const struct tc_live *l);
/* Whether something was put off: tc_live_advance goes on with it. */
bool tc_live_is_behind(const struct tc_live *l);
/* Bytes of events that can be fed now without any being handed over for lack of room; 0 while
 * something was put off. */
size_t tc_live_room(const struct tc_live *l);
/* The same when nothing waits. */
size_t tc_live_room_max(const struct tc_live *l);
/* Makes room: hands over the older half of what waits, due or not. Nothing may be put off. */
TC_CHECKED tc_status tc_live_cut_short(struct tc_live *l);

/* While on, nothing is told; turning it off tells what differs from what was told before. */
TC_CHECKED tc_status tc_live_replaying(struct tc_live *l, bool on);

/* Everything held is handed over and told: before the end of the process. */
TC_CHECKED tc_status tc_live_drain(struct tc_live *l, int64_t now_ns);

/* ---- late events: docs/internals/late.md ---- */

/* A stretch of time to be checked again, as tc_stretches_take; none while it replays. */
bool tc_live_take_stretch(struct tc_live *l, const struct tc_stretch_wait *wait,
                          struct tc_stretch *out);
/* When the first of what waits arrived; INT64_MAX when nothing does. */
int64_t tc_live_late_since(const struct tc_live *l);
/* How many wait. */
size_t tc_live_stretches(const struct tc_live *l);
/* Widens a stretch so that the incidents that it touches lie in it whole. */
void tc_live_widen(const struct tc_live *l, struct tc_stretch *io_stretch);
/* It could not be checked. */
void tc_live_give_up(struct tc_live *l, const struct tc_stretch *stretch);
/* One that is to be checked, again or for another reason. */
void tc_live_add_stretch(struct tc_live *l, const struct tc_stretch *stretch);
/* The sources that are not in time. */
struct tc_sources_table *tc_live_sources(struct tc_live *l);
/* What became of a finding that was offered. */
struct tc_live_adopted {
    bool is_news;        /* it changed something */
    bool is_opened;      /* of an incident that was not open before, and is now */
    struct tc_slice key; /* of the incident, until the next call */
};
/*
 * What a recheck found. It becomes part of the stories, and is told, as if it had been found as the
 * events came, unless more than that is known already. It belongs to the incident of the same
 * pattern and key, or of the same pattern and thing at the same time: keys have the time in them
 * from when on something is known, and the name it had then. If no such incident is kept it counts
 * only when it is `believed`, or ends one that was told. Borrows finding. TC_E_AGAIN: something
 * that was put off comes first.
 */
TC_CHECKED tc_status tc_live_adopt(struct tc_live *l, const struct tc_finding *finding,
                                   bool believed, struct tc_live_adopted *out);
/* Whether it was told of an incident, by this process or an earlier one, that it is over. */
bool tc_live_is_over(const struct tc_live *l, struct tc_slice pattern_id, struct tc_slice key);
/* Whether it is among those that are kept: as an earlier process told it, it need not be. */
bool tc_live_is_kept(const struct tc_live *l, struct tc_slice pattern_id, struct tc_slice key);

void tc_live_counts(const struct tc_live *l, struct tc_live_counts *out);

/* Grows whenever what tc_live_list walks over has changed. */
uint64_t tc_live_changes(const struct tc_live *l);
/* Walks the incidents that are kept, newest first, at most `count`: for status and API. They have
 * the links that they had when they were linked last, which is before they are told. */
TC_CHECKED tc_status tc_live_list(struct tc_live *l, size_t count, tc_verdict_fn verdict,
                                  void *context);

#endif
