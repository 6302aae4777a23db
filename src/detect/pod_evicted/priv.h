/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the pod_evicted detector: detector.c keeps the windows and joins, read.c
 * and note.c read what the kubelet wrote, and report.c says what was found.
 */
#ifndef TC_DETECT_POD_EVICTED_PRIV_H
#define TC_DETECT_POD_EVICTED_PRIV_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "detect/window_pod_priv.h"
#include "event/event.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a note that is read for numbers, and of one that is quoted. The API server cuts the
 * message of an event at 1,024 bytes. */
#define EVICT_NOTE_MAX 1024
#define EVICT_QUOTE_MAX 200
/* Of one number or reason taken from a note. */
#define EVICT_WORD_MAX 64
/* How often a verdict may change for a sign that is merely later: a storm that comes late must
 * not become a storm of verdicts. */
#define EVICT_REVISIONS_MAX 16

/* What ran short, as the note says it. */
enum evict_pressure {
    EVICT_MEMORY,
    EVICT_DISK,
    EVICT_PID,
    EVICT_EPHEMERAL,
    EVICT_LIMIT, /* the pod went over a limit of its own */
    EVICT_UNKNOWN,
};

/* The node condition that goes with it. */
enum evict_condition { EVICT_MEMORY_PRESSURE, EVICT_DISK_PRESSURE, EVICT_PID_PRESSURE, EVICT_NONE };

/* As Kubernetes names them; NULL ends. */
extern const char *const tc__evict_conditions[EVICT_NONE + 1];

/* How the pressure of a node was told. A threshold is a sign of it, not its beginning. */
enum evict_source { EVICT_BY_THRESHOLD, EVICT_BY_NODE_EVENT, EVICT_BY_CONDITION };

/* What a note tells. Strings are as written, "" when not there. */
struct evict_note {
    enum evict_pressure pressure; /* the first that is named, or the one that was joined */
    unsigned conditions;          /* every one that is named: bits of enum evict_condition */
    bool planned;                 /* someone wanted the eviction */
    struct tc_slice container;
    struct tc_slice usage;
    struct tc_slice request;
    struct tc_slice threshold;
    struct tc_slice available;
    struct tc_slice limit;
};

/* A node condition that came or went. */
struct evict_sign {
    bool known;
    bool ongoing; /* it began before the window and went on until after the eviction */
    enum evict_condition condition;
    enum evict_source source;
    int64_t time_ns;
    struct tc_slice reason;
    struct tc_raw raw;
};

/* What an event says about the pressure of a node. */
struct evict_news {
    struct tc_slice node;
    enum evict_condition condition;
    bool pressure; /* it is there; else it has gone */
    struct evict_sign sign;
    int64_t since_ns; /* when it was first said; the time of the sign unless that repeats */
};

/*
 * One evicted pod. A change makes a new record: strings cannot grow in place.
 * Invariant: a known sign does not lie after time_ns, and at most the window
 * before it unless it was ongoing; its condition goes with note.pressure.
 */
struct eviction {
    struct tc_window_head head;
    struct tc_slice node; /* "" unknown */
    struct tc_slice ns;
    struct tc_slice name;
    struct tc_slice uid;
    struct tc_slice container;
    struct tc_slice key;
    struct tc_slice event_uid;
    struct tc_slice message;
    int64_t time_ns;
    int64_t reach_ns; /* two tellings without a uid this far apart are two evictions */
    enum tc_event_kind kind;
    struct tc_raw raw;
    struct evict_note note;
    struct evict_sign sign;
    unsigned revisions;
    bool gone;     /* a newer record took its place */
    bool resolved; /* the condition has cleared */
    bool incomplete;
    bool works;   /* for a training job: it asks for GPUs, or a rank runs in it */
    bool redated; /* first told by the state of the pod, which knew only when the pod began */
};

_Static_assert(TC_WINDOW_IS_POD(struct eviction), "an eviction begins like a tc_window_pod");

/* True when the event is about the pressure of a node. */
bool tc__evict_read_news(const struct tc_event *ev, struct evict_news *out);
/* True when the event is about a pod that its kubelet evicted. */
bool tc__evict_read(const struct tc_event *ev, struct eviction *out);
/* True when the event says that its pod works for a training job. */
bool tc__evict_is_worker(const struct tc_event *ev);
/* Reads the note of an eviction. Borrows it. */
struct evict_note tc__evict_note(struct tc_slice message);
/* What runs short when the kubelet names it so: "memory", "ephemeral-storage", "DiskPressure". */
enum evict_pressure tc__evict_resource(struct tc_slice text);
enum evict_condition tc__evict_condition(enum evict_pressure pressure);
/* What runs short under a condition that is not EVICT_NONE. */
enum evict_pressure tc__evict_pressure(enum evict_condition condition);

/* Sets the key, in arena. False when that is full. */
bool tc__evict_key(struct eviction *e, struct tc_arena *arena);
/* Emits the finding; as resolved when relief is not NULL. */
TC_CHECKED tc_status tc__evict_report(const struct eviction *e, const struct evict_sign *relief,
                                      struct tc_arena *scratch, const struct tc_sink *out);

#endif
