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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_live;

struct tc_live_config {
    int64_t hold_ns;      /* arrival time for which an event waits for earlier ones */
    int64_t lateness_ns;  /* event time behind the engine's up to which events count */
    int64_t ahead_ns;     /* event time before our clock up to which events count */
    int64_t silence_ns;   /* how far engine time stays behind our clock when nothing comes */
    size_t hold_bytes;    /* memory of held events; when full the hold is cut short */
    size_t incidents_max; /* kept for stories; resolved ones and then the oldest go first */
    size_t told_max;      /* incidents of which is remembered what was told, so that each is opened
                             once; resolved ones and then those told longest ago go first */
};

#define TC_LIVE_CONFIG_DEFAULT                                \
    ((struct tc_live_config){.hold_ns = 5 * TC_SECOND / 1000, \
                             .lateness_ns = 60 * TC_SECOND,   \
                             .ahead_ns = 5 * TC_SECOND,       \
                             .silence_ns = 5 * TC_SECOND,     \
                             .hold_bytes = (size_t)8 << 20,   \
                             .incidents_max = 4096,           \
                             .told_max = 262144})

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
    uint64_t too_late;  /* behind by more than lateness_ns: left out */
    uint64_t ahead;     /* before our clock by more than ahead_ns: left out */
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
/* New times (SIGHUP); hold_bytes, incidents_max and told_max stay as they are. */
void tc_live_configure(struct tc_live *l, const struct tc_live_config *config);

/* What an earlier process told. Before the first event; later marks of an incident win. */
TC_CHECKED tc_status tc_live_restore(struct tc_live *l, const struct tc_incident_mark *mark);

/*
 * One event that arrived at arrival_ns (our clock; not before earlier calls' times). Copies what
 * it keeps. `past`: it is about the past by nature (a dump, an uploaded file): no lateness.
 */
TC_CHECKED tc_status tc_live_feed(struct tc_live *l, const struct tc_event *ev, int64_t arrival_ns,
                                  bool past);
/*
 * A file that was given whole (an upload) ends: its held events are released, and a second later,
 * if no other file ended by then, what can be said of dumps without waiting is said.
 */
TC_CHECKED tc_status tc_live_end_of_file(struct tc_live *l, int64_t now_ns);
/* Our clock shows now_ns: hands over what has waited long enough, lets time pass, tells. */
TC_CHECKED tc_status tc_live_advance(struct tc_live *l, int64_t now_ns);
/* When tc_live_advance should be called next, on our clock. */
int64_t tc_live_due(const struct tc_live *l);

/* While on, nothing is told; turning it off tells what differs from what was told before. */
TC_CHECKED tc_status tc_live_replaying(struct tc_live *l, bool on);

/* Everything held is handed over and told: before the end of the process. */
TC_CHECKED tc_status tc_live_drain(struct tc_live *l, int64_t now_ns);

void tc_live_counts(const struct tc_live *l, struct tc_live_counts *out);

/* Walks the incidents that are kept, newest first, at most `count`: for status and API. */
TC_CHECKED tc_status tc_live_list(struct tc_live *l, size_t count, tc_verdict_fn verdict,
                                  void *context);

#endif
