/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the host_oom detector: detector.c keeps the windows and joins, read.c says what
 * an event means, and report.c says what was found.
 */
#ifndef TC_DETECT_HOST_OOM_PRIV_H
#define TC_DETECT_HOST_OOM_PRIV_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "detect/window_pod_priv.h"
#include "event/event.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stdint.h>

/* A process has at most 15 bytes of name in the kernel; watchdogs may know longer ones. */
#define OOM_WORD_MAX 31
/* Names of processes that a verdict lists. */
#define OOM_NAMES_MAX 4
#define OOM_QUOTE_MAX 160
/* A uid, which without a pod is made of two names, or a name; and a time. */
#define OOM_KEY_MAX (2 * TC_SCOPE_TEXT_MAX + 128)

struct oom_word {
    uint8_t len;
    char text[OOM_WORD_MAX];
};

/* Whose memory ran out. UNKNOWN: the line does not say. */
enum oom_cause { OOM_UNKNOWN, OOM_LIMIT, OOM_NODE, OOM_NUMA, OOM_PRESSURE };

/* Who says so. Of two that say the same the lower is told. */
enum oom_source { OOM_BY_KERNEL, OOM_BY_NODE_EVENT };

/* What ties a kill to its pod or rank. The lower, the surer. */
enum oom_tie { OOM_TIE_CGROUP, OOM_TIE_PID, OOM_TIE_NODE, OOM_TIE_NONE };

/* One line that tells of a kill. */
struct oom_line {
    int64_t time_ns;
    int64_t pid;    /* -1 unknown */
    int64_t rss_kb; /* -1 unknown */
    struct tc_raw raw;
    enum oom_source source;
    bool known;
    bool sized; /* "Killed process": the other line of a kill has the cgroup */
    struct oom_word process;
    struct oom_word constraint; /* without "CONSTRAINT_" */
    char uid[40];               /* the producer's */
    uint8_t uid_len;
    bool oomd;  /* of systemd-oomd: a whole cgroup */
    bool slurm; /* of a step of a Slurm job */
};

/* A process that the kernel killed, from all lines that tell of it. */
struct oom_kill {
    struct tc_window_head head;
    struct tc_slice node; /* "" unknown */
    struct tc_slice pod_uid;
    struct tc_slice pod_ns; /* who collects the log may know the name as well */
    struct tc_slice pod_name;
    struct tc_slice job;
    struct tc_slice container_id;
    int64_t pid;
    int32_t rank;
    int64_t time_ns; /* of the first line */
    struct oom_line first;
    struct oom_line last;
    struct oom_line biggest; /* the line that has its size */
    enum oom_cause cause;
    bool elsewhere; /* its cgroup is known, and is no pod's */
    bool of_job;    /* of a batch job: that stands for its pod */
    bool retold;    /* the job's kill is known; this says its node, or that did */
    bool attached;  /* to a pod or a rank, for sure */
    bool gone;
};

/* A container of a pod that ended as OOMKilled. */
struct oom_end {
    int64_t time_ns;
    int64_t exit_code; /* -1 unknown */
    struct tc_raw raw;
    enum tc_event_kind kind;
    bool known;
    struct oom_word container;
    char uid[80];
    uint8_t uid_len;
};

/* The kills of one pod that are not further apart than the window. */
struct oom_burst {
    int64_t first_ns;
    int64_t last_ns;
    int64_t kills;
    struct oom_line first;
    struct oom_line last;
    struct oom_line biggest;
    struct oom_word names[OOM_NAMES_MAX]; /* in the order of the alphabet */
    unsigned name_count;
    enum oom_cause cause; /* of its first line that says so */
    int64_t cause_ns;
    enum oom_tie tie;
    bool known;
};

/* A pod, or a rank or a batch job where there are none. A name that is learned makes a new record.
 */
struct oom_pod {
    struct tc_window_head head;
    struct tc_slice node; /* "" unknown */
    struct tc_slice ns;
    struct tc_slice name;
    struct tc_slice uid; /* without a pod what tells the rank or job from others */
    struct tc_slice job;
    struct tc_slice container_id;
    struct tc_slice key;
    int32_t rank;
    bool rank_killed;     /* it is the one that was killed */
    bool several_ranks;   /* run in it: any of them may have been killed */
    int64_t container_ns; /* of the kill that container_id is of */
    int64_t dirty_ns;     /* when something changed that was not said yet */
    uint32_t slot;        /* its place among those, and one more; 0 when there is nothing */
    uint32_t said;        /* what a reader was told, as bits; 0 nothing */
    int64_t said_kills;
    struct oom_burst burst;
    struct oom_end end;
    bool podless;
    bool gone; /* a newer record took its place */
    bool incomplete;
};

_Static_assert(TC_WINDOW_IS_POD(struct oom_pod), "an oom_pod begins like a tc_window_pod");

/* Which pod or rank a process belongs to. */
struct oom_process {
    struct tc_window_head head;
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice pod;
    struct tc_slice pod_uid;
    struct tc_slice job;
    int64_t pid;
    int32_t rank;
};

/* What is said of a pod. */
struct oom_names {
    struct tc_window_pod pod;
    struct tc_slice job;
    struct tc_slice container_id;
    int64_t container_ns; /* when that one was killed */
    int32_t rank;
    bool rank_killed;
    bool podless;
};

static inline struct tc_slice tc__oom_word(const struct oom_word *w)
{
    return tc_slice_make(w->text, w->len);
}

/* True when the event tells of a kill: what it tells, borrowed from the event. */
bool tc__oom_read_kill(const struct tc_event *ev, struct oom_kill *out);
/* True when the event tells of a container that ended as OOMKilled. */
bool tc__oom_read_end(const struct tc_event *ev, struct oom_end *out);
/* Adds what another event tells of the same kill. False when that is nothing. */
bool tc__oom_kill_merge(struct oom_kill *kill, const struct oom_kill *news);
/* True when the kill may be put down to a pod of its node that ended as OOMKilled. */
bool tc__oom_may_be_pods(const struct oom_kill *kill);
/* Whether an end is told rather than the known one of the same time. */
bool tc__oom_end_first(const struct oom_end *end, const struct oom_end *known);
/* Whether the names have a container that was killed before the one known, or with it. */
bool tc__oom_container_first(const struct oom_pod *pod, const struct oom_names *names);
/* Adds a kill, or what was learned of one that was added before. False when nothing changed. */
bool tc__oom_burst_add(struct oom_burst *burst, const struct oom_kill *kill, bool again,
                       enum oom_tie tie);

/* The pod that an event names. False when it names none. */
bool tc__oom_read_names(const struct tc_event *ev, struct oom_names *out);
/* False for an event without a time, or with names that are too long to be any. */
bool tc__oom_is_fit(const struct tc_event *ev, const struct oom_names *names);
/* What a reader would notice of the pod, as bits; never 0. */
uint32_t tc__oom_told_bits(const struct oom_pod *pod);

/* The key of the pod's burst, in text. */
struct tc_slice tc__oom_key(const struct oom_pod *pod, char text[OOM_KEY_MAX]);
TC_CHECKED tc_status tc__oom_report(const struct oom_pod *pod, struct tc_arena *scratch,
                                    const struct tc_sink *out);

#endif
