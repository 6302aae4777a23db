/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the dataloader_hang detector: detector.c keeps the windows and decides when to
 * look, read.c says what an event means to a pod, join.c finds the stall and its evidence, and
 * report.c says what was found.
 */
#ifndef TC_DETECT_DATALOADER_HANG_PRIV_H
#define TC_DETECT_DATALOADER_HANG_PRIV_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "detect/window_pod_priv.h"
#include "event/event.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stdint.h>

/* Ranks of one pod whose steps are told apart: the GPUs of a node. */
#define DL_RANKS 16
/* What is quoted lives in the record itself, so that a storm of errors is kept in place. */
#define DL_WORD_MAX 63
#define DL_QUOTE_MAX 159
/* The names of a pod and a time; without a pod, its uid is made of two names. */
#define DL_KEY_MAX (4 * TC_SCOPE_TEXT_MAX + 128)

struct dl_word {
    uint8_t len;
    char text[DL_WORD_MAX];
};

struct dl_quote {
    uint8_t len;
    char text[DL_QUOTE_MAX];
};

/* A data loader's error, or a mount that failed. */
struct dl_sign {
    int64_t time_ns; /* when it was first seen */
    int64_t last_ns; /* when it was last seen: the same, unless it repeats */
    uint64_t about;  /* which pod it is about, as tc__dl_pod_hash gives it; 0 unknown */
    struct tc_raw raw;
    int32_t rank;
    bool known;
    bool dense; /* it repeats often enough to stand for the time between */
    struct dl_word uid;
    struct dl_word what; /* error class, or reason of the event */
    struct dl_quote message;
};

/* Many signs as two: the ends of those that are not further apart than the window. */
struct dl_signs {
    struct dl_sign first;
    struct dl_sign last;
};

/* How far one rank got. */
struct dl_rank {
    int64_t step;
    int64_t time_ns; /* when it was first seen there */
    int32_t rank;
    bool known;
};

/* A step that ended. */
struct dl_step {
    int64_t time_ns;
    int64_t step; /* -1 unknown */
    struct tc_raw raw;
    bool known;
};

/* The last checkpoint; TC_TIME_NONE is below every time. */
struct dl_checkpoint {
    int64_t begin_ns;
    int64_t end_ns;
};

/* What a watchdog says: over the threshold from first_ns to last_ns. */
struct dl_report {
    int64_t first_ns;
    int64_t last_ns;
    int64_t seconds; /* at last_ns */
    int64_t step;
    struct tc_raw raw;
    int32_t rank;
    bool known;
    struct dl_word uid;
};

/* A stall over the threshold, as a report or our own count of steps proves it. */
struct dl_stall {
    int64_t start_ns;
    int64_t from_ns; /* over the threshold from here */
    int64_t to_ns;
    int64_t seconds;
    int64_t step;    /* the last one that ended, -1 unknown */
    int64_t time_ns; /* of the evidence */
    struct tc_raw raw;
    int32_t rank;
    bool tracked; /* by us: there is no report */
    struct dl_word uid;
};

/* What was said of a stall and has not been resolved. */
struct dl_incident {
    struct dl_stall stall;
    struct dl_sign error;
    struct dl_sign storage;
    struct dl_step end; /* the step that ended it, once there is one */
    int64_t start_ns;   /* of the stall as it was first said */
    int64_t said_seconds;
    bool open;
    bool pod_ended; /* rather than a step */
};

/*
 * One pod that trains, or one rank on a node where there are no pods. What has
 * fixed size changes in place; a name that is learned makes a new record.
 */
struct dl_pod {
    struct tc_window_head head;
    struct tc_slice node; /* "" unknown */
    struct tc_slice ns;
    struct tc_slice name;
    struct tc_slice uid; /* without a pod what tells the rank from others */
    struct tc_slice job;
    struct tc_slice container;
    struct tc_slice key;                /* of the open incident */
    struct dl_rank ranks[DL_RANKS + 1]; /* the last is for steps that name no rank */
    struct dl_step progress;            /* the last step of any rank */
    int64_t pace_ns;                    /* how long a step takes, rather too long */
    int64_t alive_ns;                   /* the last time that the pod was heard of */
    int64_t ended_ns;                   /* it will not run again */
    int64_t restarted_ns;               /* one of its containers ended */
    struct dl_checkpoint checkpoint;
    struct dl_signs errors;
    struct dl_report report;
    struct dl_incident incident;
    struct dl_stall past;    /* that a step has just ended, before anything was said of it */
    struct dl_step past_end; /* known while there is such a one */
    uint32_t watch;          /* its place among the watched and one more; 0 when it is not */
    int32_t first_rank;      /* a rank of the pod, -1 unknown */
    bool paused;             /* the last step was of evaluation, or the last one */
    bool podless;
    bool dirty;
    bool gone; /* a newer record took its place */
};

_Static_assert(TC_WINDOW_IS_POD(struct dl_pod), "a dl_pod begins like a tc_window_pod");

/* What a job does as a whole. */
struct dl_job {
    struct tc_window_head head;
    struct tc_slice name;
    int64_t alive_ns;
    struct dl_checkpoint checkpoint;
};

struct dl_node {
    struct tc_window_head head;
    struct tc_slice name;
    struct dl_signs storage;
};

/* What an event says of the pod it is about. */
struct dl_names {
    struct tc_window_pod pod;
    struct tc_slice job;
    struct tc_slice container;
    int32_t rank;
    bool podless;
};

/* The knobs. */
struct dl_limits {
    int64_t threshold_ns;
    int64_t window_ns;
};

static inline struct tc_slice tc__dl_word(const struct dl_word *w)
{
    return tc_slice_make(w->text, w->len);
}

static inline struct tc_slice tc__dl_quote(const struct dl_quote *q)
{
    return tc_slice_make(q->text, q->len);
}

static inline int64_t tc__dl_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

uint64_t tc__dl_pod_hash(struct tc_slice ns, struct tc_slice name);
/*
 * Reads who an event is about; what stands for a pod where there are none is in
 * arena. False when it names neither a pod nor a rank on a node.
 */
bool tc__dl_read_names(const struct tc_scope *s, struct tc_arena *arena, struct dl_names *out);
/* Takes from the names what was not known of the pod; true when that is something. */
bool tc__dl_add_names(struct dl_pod *io, const struct dl_names *names);
/* Which events are about a pod that trains, whether it is known yet or not. */
bool tc__dl_makes_pod(const struct tc_event *ev);

/* Reads a data loader's error. */
void tc__dl_read_error(const struct tc_event *ev, struct dl_sign *out);
/* True when the event is a mount that failed on a node. */
bool tc__dl_read_storage(const struct tc_event *ev, int64_t window_ns, struct dl_sign *out);
/* Keeps the ends of the signs. False when nothing changed. */
bool tc__dl_signs_add(struct dl_signs *signs, const struct dl_sign *sign, int64_t window_ns);

/* A step ended, or a sample of the step: false when it is none that is new. */
bool tc__dl_on_step(struct dl_pod *pod, const struct tc_event *ev);
/* A watchdog's report. False when it changes nothing. */
bool tc__dl_on_report(struct dl_pod *pod, const struct tc_event *ev,
                      const struct dl_limits *limits);
/* True when the event changed it. */
bool tc__dl_on_checkpoint(struct dl_checkpoint *checkpoint, const struct tc_event *ev);
/* The state of the pod, or a Kubernetes event about it. False when it says nothing of its end. */
bool tc__dl_on_end(struct dl_pod *pod, const struct tc_event *ev);

/* Finds the stall that lasts at now_ns. job and node may be NULL. */
bool tc__dl_find_stall(const struct dl_pod *pod, const struct dl_job *job,
                       const struct dl_limits *limits, int64_t now_ns, struct dl_stall *out);
/* A step is about to end: keeps the stall that it ends, if there was one that we saw ourselves. */
void tc__dl_keep_past(struct dl_pod *pod, const struct dl_job *job, const struct dl_limits *limits,
                      const struct tc_event *ev);
/* Adds the evidence for the stall to io; true when there is any. job and node may be NULL. */
bool tc__dl_join(const struct dl_pod *pod, const struct dl_job *job, const struct dl_node *node,
                 const struct dl_limits *limits, const struct dl_stall *stall,
                 struct dl_incident *io);

/* When to look at the pod again if nothing happens; TC_TIME_NONE when there is no need. */
int64_t tc__dl_next_look(const struct dl_pod *pod, const struct dl_job *job,
                         const struct dl_node *node, const struct dl_limits *limits,
                         int64_t now_ns);

/* The key of the pod's incident, in text. */
struct tc_slice tc__dl_key(const struct dl_pod *pod, char text[DL_KEY_MAX]);
/* Emits the finding of pod->incident; as resolved when its end is known. */
TC_CHECKED tc_status tc__dl_report(const struct dl_pod *pod, bool incomplete,
                                   struct tc_arena *scratch, const struct tc_sink *out);

#endif
