/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every pattern detector looks like: one file, one constant, one line in
 * detectors.def. A detector is pure: events and time in, findings out; its
 * memory is an arena of arena_bytes (times the scale of larger clusters) that never grows. It may
 * not keep a slice of an event after on_event returns: it copies what it needs into its window.
 *
 * Events come in time order but for late ones; on_tick comes as event time
 * passes; on_finish at the end of an offline input, after which more may come.
 */
#ifndef TC_DETECT_DETECTOR_H
#define TC_DETECT_DETECTOR_H

#include "base/arena.h"
#include "base/status.h"
#include "directory/directory.h"
#include "event/event.h"
#include "event/finding.h"

#include <stddef.h>
#include <stdint.h>

enum tc_knob_type {
    TC_KNOB_DURATION, /* int64_t nanoseconds in the state; seconds (or 5m, 300s) for people */
    TC_KNOB_COUNT,    /* int64_t */
};

/* A knob: `--set pattern.name=value`. Values outside [min, max] are refused with the key's path. */
struct tc_knob {
    const char *name;
    enum tc_knob_type type;
    int64_t value; /* default */
    int64_t min;
    int64_t max;
    size_t offset; /* of the int64_t in the detector's state */
    const char *help;
};

/* A row of a detector's table of knobs: its name, the field of its state, the default, the least
 * and the greatest value. Durations are given in seconds. */
#define TC_KNOB_SECONDS(name_, state_, field_, value_, min_, max_, help_)                     \
    {                                                                                         \
        .name = (name_), .type = TC_KNOB_DURATION, .value = (value_)*TC_SECOND,               \
        .min = (min_)*TC_SECOND, .max = (max_)*TC_SECOND, .offset = offsetof(state_, field_), \
        .help = (help_),                                                                      \
    }
#define TC_KNOB_NUMBER(name_, state_, field_, value_, min_, max_, help_)                         \
    {                                                                                            \
        .name = (name_), .type = TC_KNOB_COUNT, .value = (value_), .min = (min_), .max = (max_), \
        .offset = offsetof(state_, field_), .help = (help_),                                     \
    }

/* What the engine tells a detector once, before the first event. */
struct tc_xid_list;

struct tc_detector_env {
    struct tc_arena *arena;         /* of arena_bytes: the window */
    struct tc_directory *directory; /* the engine notes every event before it is handed over */
    struct tc_arena *scratch;       /* for building a finding; the engine resets it between calls */
    const struct tc_xid_list *xids; /* what the site says of Xids; NULL: nothing. May change */
    /* How far senders may lag behind each other; 0: all events are in order. Files that are given
     * whole are settled by on_settle then. */
    int64_t lag_ns;
    /* What the detector keeps may be so many times its own bounds, and arena_bytes; 0 is 1. */
    uint32_t scale;
};

/* Counted by every detector; exported by the engine. */
struct tc_detector_stats {
    uint64_t dropped;      /* records a full window pushed out */
    uint64_t late;         /* events that came after their window had gone */
    uint64_t ignored;      /* events that lacked what the pattern needs */
    uint64_t window_bytes; /* of its memory for records, as far as it was ever written to */
};

struct tc_window;

/*
 * What the engine keeps of a detector, at the beginning of its state. A detector reads the time,
 * counts what it cannot use and opens its windows here; the engine moves the time on, lets go of
 * what is too old for a window, and exports the counts.
 *
 * Invariant: now_ns only grows. It is the newest time of an event that was handed over or of a
 * tick, so in on_event no event is newer than it.
 */
struct tc_detector_base {
    struct tc_arena *arena;
    struct tc_arena *scratch;
    const struct tc_xid_list *xids;
    int64_t lag_ns;
    uint32_t scale;   /* at least 1 */
    int64_t now_ns;   /* TC_TIME_NONE before the first */
    uint64_t dropped; /* beside what its windows dropped */
    uint64_t late;
    uint64_t ignored;
    struct tc_window *windows; /* all that it opened: see window_priv.h */
    int64_t expires_ns;        /* none of their records is too old up to this time */
    uint32_t sender;           /* of the event that is handed over; 0 at other times */
    uint32_t presser;          /* that was last refused room in a table; 0: none was */
};

/* A bound of a detector's memory, in entries or bytes, in the cluster that it was made for. */
static inline size_t tc_detector_room(const struct tc_detector_base *base, size_t bound)
{
    return bound * base->scale;
}

struct tc_detector {
    const char *id;      /* the catalogue's number, "1" */
    const char *name;    /* stable, part of the API: "nccl_hang" */
    const char *summary; /* one sentence for CLI and docs */
    uint32_t kinds;      /* bits of enum tc_event_kind it wants */
    bool undated;        /* wants those whose time is only an order, too: TC_TIME_UNDATED_MIN */
    size_t state_bytes;  /* the engine allocates and zeroes, then sets the params */
    size_t arena_bytes;  /* hard budget of the window, times the scale */
    const struct tc_knob *params;
    size_t param_count;
    tc_status (*init)(void *state, const struct tc_detector_env *env);
    /*
     * May be NULL. Time is about to pass from now_ns of the base to this one: all that was of
     * that time has come, and nothing of what comes now was noted in the directory yet.
     */
    tc_status (*on_advance)(void *state, int64_t now_ns, const struct tc_sink *out);
    tc_status (*on_event)(void *state, const struct tc_event *ev, const struct tc_sink *out);
    /* May be NULL. now_ns only grows. */
    tc_status (*on_tick)(void *state, int64_t now_ns, const struct tc_sink *out);
    /*
     * May be NULL. A file that was given whole has ended: what dumps say is said, without waiting
     * for more of them. Events go on to come.
     */
    tc_status (*on_settle)(void *state, const struct tc_sink *out);
    /* May be NULL, then a last on_tick comes. now_ns is TC_TIME_NONE unless the user gave one. */
    tc_status (*on_finish)(void *state, int64_t now_ns, const struct tc_sink *out);
    /* May be NULL: what was dropped beside the records of windows and what the base counts. */
    uint64_t (*dropped)(const void *state);
    /* May be NULL: what it has written to of its memory beside its windows. */
    uint64_t (*held_bytes)(const void *state);
};

#define DETECTOR(name) extern const struct tc_detector tc_detector_##name;
#include "detect/detectors.def"
#undef DETECTOR

/* All detectors, in the order of detectors.def, which is also the dispatch order. */
const struct tc_detector *const *tc_detectors(size_t *out_count);

/*
 * How a detector is run: by the engine, and by tests in its place. The state was zeroed and its
 * params are set. Whoever calls these resets scratch before.
 */
TC_CHECKED tc_status tc_detector_init(const struct tc_detector *d, void *state,
                                      const struct tc_detector_env *env);
/* Before an event that is newer than now_ns of the base. */
TC_CHECKED tc_status tc_detector_advance(const struct tc_detector *d, void *state, int64_t now_ns,
                                         const struct tc_sink *out);
TC_CHECKED tc_status tc_detector_tick(const struct tc_detector *d, void *state, int64_t now_ns,
                                      const struct tc_sink *out);
void tc_detector_stats(const struct tc_detector *d, const void *state,
                       struct tc_detector_stats *out);
/* The number of the sender that holds the most of its windows that are full; 0 when none is. */
uint32_t tc_detector_presser(const void *state);

/*
 * Parse a knob's text ("300", "300s", "5m", "2h", "500" for counts) into *out and
 * check its range. `path` ("nccl_hang.threshold") is named in the error.
 */
TC_CHECKED tc_status tc_param_parse(const struct tc_knob *param, const char *path,
                                    struct tc_slice text, int64_t *out, struct tc_error *err);

#endif
