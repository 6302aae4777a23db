/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the rank_crash detector: detector.c keeps jobs and facts, read.c says what an event
 * means, choose.c says which process failed first, and report.c says it to people.
 */
#ifndef TC_DETECT_RANK_CRASH_PRIV_H
#define TC_DETECT_RANK_CRASH_PRIV_H

#include "detect/detector.h"
#include "detect/mark_priv.h"
#include "detect/waiting_priv.h"
#include "detect/window_priv.h"

#include <stdbool.h>
#include <stdint.h>

/* Failures of one incident that are kept; of more the first ones are. */
#define CRASH_FACTS_MAX 64
/* Ranks that are counted. */
#define CRASH_RANKS_MAX 4096
#define CRASH_ERROR_MAX 96
#define CRASH_MESSAGE_MAX 240

enum crash_kind {
    CRASH_CUDA,
    CRASH_NCCL,
    CRASH_GPU_MEMORY,
    CRASH_LOADER,
    CRASH_EXCEPTION,
    CRASH_SIGNAL
};

/* Whose word it is. */
enum crash_teller {
    CRASH_BY_TRACEBACK,
    CRASH_BY_PROCESS,
    CRASH_BY_LOADER,
    CRASH_BY_LAUNCHER,
    CRASH_BY_SHELL,
    CRASH_BY_STEP,
    CRASH_BY_CONTAINER,
    CRASH_BY_JOB /* says that the job ended, of no process */
};

/* What a fact is to the job. */
enum crash_part {
    CRASH_OWN,      /* a process failed by itself */
    CRASH_FOLLOWED, /* it ended because another one did */
    CRASH_ENDED,    /* the job ended, and nothing says who failed */
    CRASH_TORN,     /* its log ends in a stack */
    CRASH_STOPPED,  /* somebody ended the job on purpose */
    CRASH_TIMED_OUT /* a collective waited until its watchdog ended the processes */
};

/* One telling of a failure. Not known: "" and -1; signal 0. */
struct crash_fact {
    struct tc_window_head head;
    uint64_t incident;
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice pod;
    struct tc_slice pod_uid;
    struct tc_slice container;
    struct tc_slice error;
    struct tc_slice message;
    struct tc_mark mark;
    int64_t pid;
    int64_t exit_code;
    int64_t signal;
    int64_t local_rank;
    int64_t steps; /* of its rank that came after it */
    int32_t rank;
    enum crash_kind kind;
    enum crash_teller teller;
    enum crash_part part;
    bool words;  /* its own: the exception, not only how it ended */
    bool ends;   /* it proves the end of a process */
    bool first;  /* the launcher says that it failed first */
    bool last;   /* nothing but the end follows in its log */
    bool caught; /* the program went on */
    bool gone;   /* others came before it */
};

/*
 * A job, or where nothing names one a group of pods or a log; and its last incident. Failures that
 * are not further apart than the window are of one incident.
 */
struct crash_job {
    struct tc_window_head head;
    struct tc_slice name; /* of the job, or of the pods without their number; "" */
    uint64_t source;      /* the log, where there is no name; else 0 */
    uint64_t is_job;
    uint64_t incident; /* 0: none. Facts name it */
    int64_t first_ns;
    int64_t last_ns;
    struct tc_mark stop;
    struct tc_mark watchdog;
    struct tc_mark end;  /* the first proof that a process ended */
    struct tc_mark torn; /* its log ends in a stack */
    uint64_t ended[CRASH_RANKS_MAX / 64];
    uint64_t followed[CRASH_RANKS_MAX / 64]; /* that say so themselves */
    uint64_t told;                           /* what a reader was told, as a hash; 0 nothing */
    struct tc_mark told_first;               /* what the incident is named after */
    uint32_t facts;
    bool followed_any;
    bool waits;
    bool resolved;
};

/*
 * Which rank of which job a pod runs, where it runs only one, or a process is. A process is kept by
 * its node and by its number alone: those on the launcher's own node are often named without it.
 */
struct crash_place {
    struct tc_window_head head;
    struct tc_slice pod;  /* "" of a process; also by its role and number: "worker-3" */
    struct tc_slice full; /* its name */
    struct tc_slice node; /* of a process */
    int64_t pid;          /* -1 of a pod */
    struct tc_slice job;
    int32_t rank; /* -1: several */
};

/* What is to be told of a job. */
struct crash_choice {
    const struct crash_fact *culprit;
    const struct crash_fact *words; /* of the culprit; may be the same, or NULL */
    const struct crash_fact *end;   /* that it ended; may be the same, or NULL */
    bool is_followed;               /* the launcher says first, its own words say otherwise */
    bool proved;                    /* a process of the job ended */
    int64_t others;                 /* ranks that ended beside it */
};

struct crash_state {
    struct tc_detector_base base;
    const struct tc_directory *directory;
    struct tc_window jobs;
    struct tc_window facts;
    struct tc_window places;
    struct tc_waiting waiting;
    int64_t window_ns;
    int64_t wait_ns;
    uint64_t incidents;
    struct tc_mark watchdog; /* the last one of a log of no job */
    /* The last failure with words of a log of no job, and whether its rank shows that the job has
     * several nodes: other logs may be of its other nodes. */
    struct tc_mark failure;
    bool failure_spread;
};

/* ---- read.c ---- */

/* False for an event that says nothing of failures, without a closer look. */
bool tc__crash_tells(const struct tc_event *ev);
/* True when the event tells of a failure or an end; borrows from the event. */
bool tc__crash_read(const struct tc_event *ev, struct crash_fact *out);
/* Whether what stands for the pod is only its role and number, by the name of a log: it tells
 * nothing where no pod is known that ends so. */
bool tc__crash_is_role(const struct tc_scope *s);
/* The role and number of a pod: "worker-3" of "llama-worker-3"; "". */
struct tc_slice tc__crash_role(struct tc_slice pod);
/* The name that the pods of a job have in common: "llama-worker-3" is of "llama". */
struct tc_slice tc__crash_workload(struct tc_slice pod);

/* ---- choose.c ---- */

bool tc__crash_near(int64_t a_ns, int64_t b_ns, int64_t window_ns);
/* The order of facts: what launchers call first, then processes that failed by themselves, then
 * time and place. */
bool tc__crash_before(const struct crash_fact *a, const struct crash_fact *b);
/* False when nothing is to be told. */
bool tc__crash_choose(const struct crash_state *st, const struct crash_job *job,
                      struct crash_choice *out);

static inline bool tc__crash_has_rank(const uint64_t *ranks, int32_t rank)
{
    return rank >= 0 && rank < CRASH_RANKS_MAX && (ranks[rank / 64] >> (rank % 64) & 1) != 0;
}

/* Whether the rank of a fact is not its local one: its job has several nodes. */
static inline bool tc__crash_is_spread(const struct crash_fact *f)
{
    return f->rank >= 0 && f->local_rank >= 0 && f->rank != f->local_rank;
}

/* ---- report.c ---- */

/* The scope of the process that failed first, with all that is known of it. */
struct tc_scope tc__crash_scope(const struct crash_state *st, const struct crash_job *job,
                                const struct crash_choice *c);
/* What a reader would notice, as a hash that is never 0. */
uint64_t tc__crash_told(const struct crash_choice *c, const struct tc_scope *scope);
TC_CHECKED tc_status tc__crash_report(const struct crash_state *st, const struct crash_job *job,
                                      const struct crash_choice *c, const struct tc_scope *scope,
                                      const struct tc_sink *out);

#endif
