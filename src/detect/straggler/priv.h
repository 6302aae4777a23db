/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the straggler detector: detector.c reads events, lane.c keeps who is compared
 * with whom, judge.c decides who was late, culprit.c names ranks, nodes and links, report.c says
 * it. docs/patterns/straggler.md has the rules.
 *
 * A lane is a set of ranks that do the same thing again and again: the
 * collectives of a process group, the transfers of one size in a group, the steps
 * of a job. A cohort is one time that they do it. Members of a cohort are compared
 * by time that was measured on one clock each, so clocks need not agree.
 *
 * What grows with what: a seat for each rank (or link) of a lane, a cohort for each
 * operation that is not judged yet, with a slot for each seat. Tables that are full start
 * anew, a full ring judges its oldest cohort early; both are counted. There is room for the
 * groups of 10,000 ranks.
 */
#ifndef TC_DETECT_STRAGGLER_PRIV_H
#define TC_DETECT_STRAGGLER_PRIV_H

#include "base/arena.h"
#include "base/table/map.h"
#include "base/table/ring.h"
#include "base/table/sort.h"
#include "detect/detector.h"
#include "detect/quota_priv.h"
#include "detect/window_priv.h"
#include "directory/directory.h"
#include "event/event.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stdint.h>

#define STRAG_NONE UINT32_MAX
#define STRAG_JOBS_MAX 1024
#define STRAG_RANKS_MAX 32768
#define STRAG_LANES_MAX 16384
#define STRAG_SEATS_MAX 131072
#define STRAG_NAMES_MAX 131072
#define STRAG_NAMES_BYTES ((size_t)8 << 20)
#define STRAG_SLOTS_MAX 16384 /* members of one cohort */
/* A minute of steps of 10,000 ranks, one every 0.6 s. */
#define STRAG_RING_BYTES ((size_t)64 << 20)
#define STRAG_CULPRITS_MAX 512
#define STRAG_DUE_MAX 8192 /* cohorts that are judged at once where senders lag */
#define STRAG_HOT_MAX 16384
/* NVML's reasons that a GPU is slowed down against its will: hw slowdown, sw and hw thermal, power
 * brake. Idle, application clocks, the power cap and sync boost are as usual. */
#define STRAG_HOT_BITS UINT64_C(0xe8)
#define STRAG_STEPS_MAX 64 /* a history is one word */
#define STRAG_INTERVALS 15 /* the period is the median of so many */
/* Fewer cannot be compared: of two, one does not know which is the odd one. */
#define STRAG_MEMBERS_MIN 3
/* What was measured longer than this is not compared: sums stay in range. */
#define STRAG_LONGEST_NS (INT64_C(864000) * TC_SECOND)

enum strag_basis {
    STRAG_COLLECTIVES, /* by sequence id of a process group */
    STRAG_TRANSFERS,   /* point to point; a seat is a link */
    STRAG_STEPS,       /* train_step events */
    STRAG_SAMPLES,     /* the step_seconds metric */
};

#define STRAG_CHECKPOINTS 4 /* before the last, for who is judged later */

struct strag_span {
    int64_t begin_ns;
    int64_t end_ns;
};

struct strag_job {
    struct tc_slice name;
    int64_t step;    /* highest seen, -1 none */
    int64_t step_ns; /* when it was seen */
    int64_t ckpt_begin_ns;
    int64_t ckpt_end_ns;                          /* before the begin while one is being written */
    struct strag_span written[STRAG_CHECKPOINTS]; /* a ring */
    uint32_t written_count;
    bool judged;  /* by its collectives: step times add nothing */
    bool pausing; /* in a phase that is not training */
};

/* One rank of a job. The strings are interned. */
struct strag_rank {
    struct tc_scope scope;
    uint32_t job;
    uint32_t culprit; /* STRAG_NONE: none */
    int64_t held_ns;  /* waited for others, all in all: only grows */
    int64_t step_ns;  /* of the last sample that counted as a step */
    double step_seconds;
};

struct strag_lane {
    uint64_t key;
    uint32_t job;
    uint8_t basis; /* enum strag_basis */
    bool arrivals; /* judged by times of arrival: no completions are known */
    bool lost;     /* a cohort did not fit */
    uint32_t first_seat;
    uint32_t seat_count;
    uint32_t listed;     /* members, where a list of them was seen */
    uint32_t whole;      /* cohorts judged with every seat, up to SETTLED */
    uint32_t open_count; /* cohorts that are not judged */
    uint32_t moved;      /* of them, those that grew and so lie behind newer ones */
    uint32_t interval_count;
    int64_t intervals[STRAG_INTERVALS]; /* a ring, interval_at is the oldest */
    uint32_t interval_at;
    int64_t extra_ns;    /* of intervals too short to count */
    int64_t closed_seq;  /* highest judged, -1 none */
    int64_t closed_ns;   /* newest event in it */
    int64_t opened_ns;   /* first event of the cohort opened last */
    uint64_t open_pos;   /* of a lane without sequence ids: the cohort that is open */
    uint64_t cached_pos; /* of the cohort that was found last */
    struct tc_slice group;
};

/* One time that a seat was late, or would be. */
struct strag_mark {
    struct tc_raw raw;
    struct tc_raw peer_raw; /* of the member in the middle */
    int64_t time_ns;
    int64_t end_ns; /* on the seat's own clock, where that is known */
    int64_t seq;
    int64_t late_ns;
    int64_t peers_ns; /* what the others needed */
    int64_t step;     /* of the job, -1 unknown */
    uint32_t peer;    /* index of that member's rank */
};

/* One rank in a lane, or one link. */
struct strag_seat {
    uint32_t lane;
    uint32_t rank; /* index; of a link the sender */
    uint32_t peer; /* index of a link's receiver, else STRAG_NONE */
    uint32_t slot; /* its place in every cohort */
    uint32_t next; /* seat of the lane */
    uint32_t culprit;
    uint64_t history;   /* a bit a cohort, the newest lowest: it was late */
    uint32_t counted;   /* cohorts in the history, up to STRAG_STEPS_MAX */
    bool pending;       /* `first` waits for a period to be compared with */
    int64_t done_ns[2]; /* end of its last operation, on its own clock; links: both sides */
    int64_t created_ns; /* begin of its last one */
    int64_t held_ns;    /* rank's when the last cohort was judged */
    struct strag_mark first;
    struct strag_mark last;
};

/* What one seat did in one cohort; times on its own clock. */
struct strag_slot {
    uint32_t seat; /* STRAG_NONE: not heard of */
    bool usable;
    bool from_dump;
    int64_t created_ns;   /* links: what the sender measured */
    int64_t started_ns;   /* links: what the receiver measured */
    int64_t completed_ns; /* steps: how long it took */
    int64_t value_ns;     /* what is compared, set when judged */
    struct tc_raw raw;
};

struct strag_cohort {
    uint64_t pos;
    int64_t seq;
    int64_t first_ns; /* oldest and newest time of its events */
    int64_t last_ns;
    int64_t before_ns; /* first event of the cohort before it */
    int64_t step;      /* of the job when it began, -1 unknown */
    uint64_t op;       /* hash */
    uint32_t lane;
    uint32_t capacity;
    uint32_t count;
    uint32_t done;
    bool closed;
    bool moved;   /* it grew: see strag_lane */
    bool mixed;   /* not the same call everywhere */
    bool excused; /* no training as usual: another phase, a checkpoint */
    struct strag_slot slots[];
};

enum strag_state { STRAG_FREE, STRAG_LATE, STRAG_RECOVERED };

/* A seat that is a straggler. Strings are those of its rank. */
struct strag_culprit {
    uint8_t state; /* enum strag_state */
    bool told;     /* its finding was emitted, or another speaks for it */
    bool slow_gpu; /* that was said */
    bool silent;   /* another one speaks for it */
    bool node;     /* it speaks for all ranks of its node */
    uint32_t seat;
    uint32_t leader;  /* itself, or the one that speaks for the node */
    uint32_t blamed;  /* of a link: the rank whose links are all slow, STRAG_NONE when unknown */
    int64_t since_ns; /* when the engine's time was, as it was found */
    int64_t seen_ns;  /* when it was last judged */
    int64_t wait_ns;  /* others of its node may follow within this */
    uint32_t late_count;
    struct strag_mark first;
    struct strag_mark last;
    struct strag_mark back; /* when it kept up */
};

/* A GPU that its driver slows down. */
struct strag_hot {
    uint64_t id; /* in the book; 0 none */
    int64_t time_ns;
    uint64_t bits;
    struct tc_raw raw;
};

/* Bounds that grow with the cluster. */
struct strag_most {
    size_t jobs;
    size_t ranks;
    size_t lanes;
    size_t seats;
    size_t names;
    size_t names_bytes;
    size_t ring_bytes;
    uint32_t slots;
    size_t due;
    size_t hot;
};

struct straggler {
    struct tc_detector_base base;
    /* Knobs: tc_knob.offset. */
    int64_t margin_percent;
    int64_t steps;
    int64_t most_percent;
    int64_t floor_ms;
    int64_t span_ns;
    int64_t warmup;
    int64_t gpu_window_ns;

    struct strag_most most;
    struct tc_quota quota; /* of the tables below */
    struct tc_arena text;  /* of the names */
    struct tc_slice *names;
    uint32_t name_count;
    struct tc_map name_index;
    struct strag_job *jobs;
    uint32_t job_count;
    struct tc_map job_index;
    struct strag_rank *ranks;
    uint32_t rank_count;
    struct tc_map rank_index;
    struct strag_lane *lanes;
    uint32_t lane_count;
    struct tc_map lane_index;
    struct strag_seat *seats;
    uint32_t seat_count;
    struct tc_map seat_index;
    struct tc_ring cohorts;
    struct tc_map cohort_index;
    struct tc_sort_pair *pairs; /* two arrays of most.slots */
    struct tc_sort_pair *due;   /* two of most.due; NULL where senders do not lag */
    int64_t walked_ns;          /* when cohorts were last looked through */
    struct strag_culprit *culprits;
    uint32_t culprit_count; /* entries in use lie below */
    struct tc_directory *directory;
    struct strag_hot *hot;
};

/* ---- lane.c ------------------------------------------------------------------------ */

/* False when the arena is full. */
bool tc__strag_init(struct straggler *st);
/* Each gives an index, made when it is new; STRAG_NONE when a table was full: the window has then
 * started anew and the event is lost. */
uint32_t tc__strag_job(struct straggler *st, struct tc_slice name);
uint32_t tc__strag_rank(struct straggler *st, uint32_t job, int32_t rank);
uint32_t tc__strag_lane(struct straggler *st, uint32_t job, enum strag_basis basis, uint64_t key,
                        struct tc_slice group);
uint32_t tc__strag_seat(struct straggler *st, uint32_t lane, uint32_t rank, uint32_t peer);
/* Keeps what a scope says of where a rank runs. */
void tc__strag_place(struct straggler *st, struct strag_rank *rank, const struct tc_scope *scope);
/*
 * The slot of a seat in the cohort of that sequence id, made when it is new; with seq -1 in the
 * cohort that is open. NULL when the cohort is judged already, or has no room.
 */
struct strag_slot *tc__strag_slot(struct straggler *st, uint32_t seat, int64_t seq, int64_t time_ns,
                                  struct strag_cohort **out_cohort);
/* Judges the cohort when all of its lane have done it. */
void tc__strag_settle(struct straggler *st, struct strag_cohort *c);
/* Judges what has waited long enough; all of it when now_ns is INT64_MAX. */
void tc__strag_expire(struct straggler *st, int64_t now_ns);

/* ---- judge.c ----------------------------------------------------------------------- */

/* Closes the cohort: who was late in it, and who is often. */
void tc__strag_judge(struct straggler *st, struct strag_cohort *c);

/* ---- culprit.c --------------------------------------------------------------------- */

/* The seat is late too often; it has kept up again. */
void tc__strag_suspect(struct straggler *st, uint32_t seat);
void tc__strag_recover(struct straggler *st, uint32_t seat, const struct strag_mark *mark);
/* Says what is to be said; without waiting for others of the node when `final`. */
TC_CHECKED tc_status tc__strag_tell(struct straggler *st, bool final, const struct tc_sink *out);
/* The trouble of the GPU of a rank, NULL when none is known. Completes the scope. */
const struct strag_hot *tc__strag_hot(const struct straggler *st, const struct strag_culprit *c,
                                      struct tc_scope *scope);

/* ---- report.c ---------------------------------------------------------------------- */

/* Emits the finding of a culprit, which speaks for itself, for its link or for its node. */
TC_CHECKED tc_status tc__strag_report(struct straggler *st, struct strag_culprit *c, bool resolved,
                                      const struct tc_sink *out);

/* How many of the seat's last cohorts it was late in. */
static inline uint32_t tc__strag_late_count(const struct straggler *st, const struct strag_seat *s)
{
    uint64_t mask = st->steps >= 64 ? UINT64_MAX : (UINT64_C(1) << st->steps) - 1;
    return (uint32_t)__builtin_popcountll(s->history & mask);
}

#endif
