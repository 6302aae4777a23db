/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the nccl_hang detector share this state; nothing of it leaves
 * the pattern. Four units, all of which build their findings with a tc_draft:
 * - the record graph: window.c and status.c know what every rank has issued and completed, graph.c
 *   and blame.c find who waits for whom, roots.c which of that explains the rest, findings.c,
 *   evidence.c, words.c and done.c say it; exit.c knows jobs that ended well;
 * - the flags of other watchdogs: watch.c;
 * - the reports of NCCL's own monitor: ras.c and ras_findings.c;
 * - what NCCL's transport says of sizes: sizes.c.
 * place.c knows where culprits run and what was read of their nodes.
 *
 * What grows with what: a seat for each membership of a rank in a group, a
 * record for each operation inside the retention. Each table has a cap; a full
 * ring drops its oldest records, a full table starts the window anew. Both are
 * counted and mark the findings incomplete.
 */
#ifndef TC_DETECT_NCCL_HANG_PRIV_H
#define TC_DETECT_NCCL_HANG_PRIV_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/table/map.h"
#include "base/table/ring.h"
#include "base/table/sort.h"
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/nccl_hang/place_priv.h"
#include "detect/quota_priv.h"
#include "event/event.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NCCL_NONE UINT32_MAX
#define NCCL_JOBS_MAX 2048
#define NCCL_RANKS_MAX 65536
#define NCCL_GROUPS_MAX 65536
#define NCCL_SEATS_MAX 131072
#define NCCL_STATUS_MAX 131072
#define NCCL_PENDING_MAX 131072
#define NCCL_TARGETS_MAX 262144
#define NCCL_RING_BYTES ((size_t)16 << 20)
#define NCCL_NAMES_BYTES ((size_t)4 << 20)
#define NCCL_EVAL_BYTES ((size_t)40 << 20)
#define NCCL_ARENA_BYTES ((size_t)208 << 20)
#define NCCL_OPEN_MAX 4096
#define NCCL_RANKS_SHOWN 8
#define NCCL_REASONS_MAX 64
#define NCCL_TEXT_MAX 512 /* of one string kept with a record */
#define NCCL_SIZES_MAX 256
/* What a record takes of the ring at most. */
#define NCCL_RECORD_BYTES_MAX (sizeof(struct nccl_record) + 3 * NCCL_TEXT_MAX + 64)

/* SIGNALLED: it was told of another's timeout, and says how far it got or nothing. */
enum nccl_dump { NCCL_DUMP_NONE, NCCL_DUMP_READ, NCCL_DUMP_SIGNALLED, NCCL_DUMP_UNREADABLE };

struct nccl_rank {
    uint32_t job;
    int32_t rank;
    uint8_t dump; /* enum nccl_dump */
    bool seen;    /* at least one record came from it */
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice pod;
    struct tc_slice error; /* why the dump is unreadable */
    struct tc_raw dump_raw;
    int64_t dump_ns;
};

struct nccl_group {
    uint64_t key;
    uint32_t job;
    uint32_t first_seat; /* list through nccl_seat.next */
    uint32_t seat_count;
    bool members_known;
    bool has_p2p; /* its status counts two kinds of sequence ids */
    bool plain;   /* its names and its job's need no escaping */
    struct tc_slice name;
    struct tc_slice desc;
    char hex[16]; /* key, as findings have it */
    /* Dumps that come one by one: what the first of them showed stuck names the incident. */
    int64_t told_seq; /* plus one; 0: none */
    int64_t told_ns;  /* when that was issued */
};

/* One rank in one group. What every record needs comes first, in one line of the cache. */
struct nccl_seat {
    _Alignas(64) uint64_t key; /* of its group */
    uint64_t place;            /* what its records' places begin with */
    int32_t number;            /* the global rank */
    uint32_t rank;             /* index in ranks */
    uint32_t claim;            /* number plus one, once node and pod of its rank are known */
    struct nccl_seat *after;   /* the seat whose record came after the last one of this */
    int64_t done_max;          /* highest collective seen completed, -1 none */
    int64_t held_max;          /* highest collective with a record in the window, -1 none */
    uint64_t open_pos;         /* its record in an open incident, TC_RING_NONE for none */
    uint32_t group;
    uint32_t next;    /* of the group */
    int64_t pg_id;    /* process-local id of the group, -1 unknown */
    int64_t moved_ns; /* newest issue of a transfer, TC_TIME_NONE none */
    /* The analysis' own, valid while stamp matches. */
    bool usual;     /* others make the call it made */
    bool overtaken; /* a synchronising call before the front is pending */
    uint16_t owner; /* whose share of the window its records take */
    uint32_t stamp;
    uint32_t head_at; /* index of its oldest pending record in nccl_eval.pending */
    int64_t head;
    int64_t last;
};

struct nccl_status {
    uint32_t rank;
    int64_t pg_id;
    int64_t enqueued;
    int64_t completed;
    struct tc_raw raw;
};

/*
 * The place of a record is job, group, kind, sequence id: everything pending is
 * analysed in that order.
 */
#define NCCL_SEQ_BITS 36
#define NCCL_GROUP_BITS 16
#define NCCL_JOB_SHIFT (NCCL_SEQ_BITS + 1 + NCCL_GROUP_BITS)
#define NCCL_SEQ_MASK ((UINT64_C(1) << NCCL_SEQ_BITS) - 1)

struct nccl_record {
    uint64_t pos;   /* its own name in the ring */
    uint64_t place; /* see above */
    int64_t created_ns;
    int64_t seq;
    struct tc_raw raw;
    uint32_t seat;
    uint32_t rank_at; /* index in ranks */
    int32_t rank;     /* global */
    int32_t peer;
    uint32_t open; /* serial of the open incident it is part of, 0 none */
    uint8_t state; /* enum tc_nccl_state */
    bool is_p2p;
    bool is_send;
    bool from_dump;
    bool timed_out;
    /* The call: lengths of its parts, then their text. */
    struct nccl_lens {
        uint16_t op;
        uint16_t sizes;
        uint16_t dtypes;
        uint16_t all;
    } len;
    char text[]; /* op, sizes, dtypes */
};

/* An incident that was reported and has not ended; the oldest gives way to a new one. */
struct nccl_open {
    uint32_t serial;
    uint32_t group;
    bool is_p2p;
    int64_t oldest;
    uint32_t remaining; /* records that have not completed */
    uint64_t last;   /* the record that completed last, of equal times that of the highest rank */
    int64_t last_ns; /* when it did */
    int64_t first_ns;
    struct tc_slice discriminator; /* a literal */
};

/* Lists of a finding, too long for the stack: taken once, so that reporting allocates nothing. */
struct nccl_desk {
    int32_t *ints;
    uint32_t *named; /* rank indices of the culprits, TC_VERDICT_RANKS_MAX */
    struct tc_slice reasons[NCCL_REASONS_MAX];
    struct tc_scope places[NCCL_PLACES_MAX]; /* of the first culprits */
};

struct nccl_watch;
struct nccl_exits;

/* Pairs of ends that NCCL found to disagree, by their hash. */
struct nccl_sizes {
    uint64_t told[NCCL_SIZES_MAX];
    uint32_t count;
};

/* Bounds that grow with the cluster; those of groups and jobs do not, for a record's place has bits
 * for so many. */
struct nccl_most {
    size_t ranks;
    size_t seats;
    size_t statuses;
    size_t pending;
    size_t targets;
    size_t ring_bytes;
    size_t names_bytes;
    size_t eval_bytes;
};

struct nccl_hang {
    struct tc_detector_base base;
    int64_t threshold_ns; /* knobs */
    int64_t retention_ns;

    struct nccl_watch *watch; /* flags and reports: watch_priv.h */
    struct nccl_exits *exits; /* pods that succeeded: exit_priv.h */
    struct nccl_nodes *nodes; /* where culprits run: place_priv.h */
    struct nccl_sizes sizes;

    struct nccl_most most;
    struct tc_arena names; /* strings of ranks and groups */
    struct tc_arena eval;  /* one analysis at a time */

    struct tc_slice jobs[NCCL_JOBS_MAX];
    int64_t job_last_ns[NCCL_JOBS_MAX]; /* newest time of the job's own events */
    uint32_t job_count;
    struct nccl_rank *ranks;
    uint32_t rank_count;
    struct tc_map rank_index;
    struct nccl_group *groups;
    uint32_t group_count;
    struct tc_map group_index;
    struct nccl_seat *seats;
    uint32_t seat_count;
    struct tc_map seat_index;
    struct nccl_status *statuses;
    uint32_t status_count;
    struct tc_map status_index;
    struct tc_ring records;
    struct tc_map record_index; /* up to the record at `indexed` */
    uint64_t indexed;

    /* Of the analysis, taken once because they need no zeroing. */
    struct tc_sort_pair *pending; /* two arrays of most.pending */
    struct nccl_op *ops;          /* most.pending */
    uint32_t *lists;              /* most.pending */
    int64_t *created;             /* most.pending */
    struct nccl_target *targets;  /* most.targets */
    struct nccl_open *open;       /* by serial, modulo NCCL_OPEN_MAX */
    uint32_t open_serial;         /* of the last one opened */
    struct nccl_desk *desk;

    uint32_t stamp;
    struct nccl_seat *last; /* of the previous record */
    int64_t next_expiry_ns;
    uint64_t newest_pos;   /* ring position of the last record */
    int64_t newest_ns;     /* no record was issued later */
    uint64_t aged;         /* ring position of the last record that has reached the threshold */
    int64_t now_ns;        /* newest time of a record or a tick: others do not age records */
    bool has_now;          /* the user said what time it is */
    bool ends;             /* the input does: dumps are complete */
    bool settles;          /* dumps of one hang come one by one: not judged by their age */
    bool dirty;            /* something hangs that was not analysed yet */
    bool unjudged;         /* records of dumps came since all of them were judged */
    uint64_t lost;         /* pending records of those windows */
    uint64_t restarts;     /* windows dropped because a table was full */
    struct tc_quota quota; /* of the tables */
    uint32_t looks;        /* records that found the ring full */
    uint32_t presser;      /* the sender whose records fill most of it; NCCL_NONE */
};

/* The highest collective that it is known to have issued, -1 none. */
static inline int64_t tc__nccl_issued(const struct nccl_seat *s)
{
    return s->held_max > s->done_max ? s->held_max : s->done_max;
}

static inline struct tc_slice tc__nccl_op(const struct nccl_record *r)
{
    return tc_slice_make(r->text, r->len.op);
}

static inline struct tc_slice tc__nccl_sizes(const struct nccl_record *r)
{
    return tc_slice_make(r->text + r->len.op, r->len.sizes);
}

static inline struct tc_slice tc__nccl_dtypes(const struct nccl_record *r)
{
    return tc_slice_make(r->text + r->len.op + r->len.sizes, r->len.dtypes);
}

/* True when both make the very same call. */
static inline bool tc__nccl_same_call(const struct nccl_record *a, const struct nccl_record *b)
{
    return memcmp(&a->len, &b->len, sizeof a->len) == 0 &&
           tc_bytes_eq(a->text, b->text, a->len.all);
}

/* sizes.c: NCCL itself found that two ends do not send and expect the same. */
TC_CHECKED tc_status tc__nccl_on_sizes(struct nccl_hang *st, const struct tc_event *ev,
                                       const struct tc_sink *out);

/* The window. */
tc_status tc__nccl_init(struct nccl_hang *st);
tc_status tc__nccl_on_record(struct nccl_hang *st, const struct tc_event *ev,
                             const struct tc_sink *out);
/* What a dump says beside its records. */
tc_status tc__nccl_on_other(struct nccl_hang *st, const struct tc_event *ev,
                            const struct tc_sink *out);
/* The seat of a global rank in a group, or NCCL_NONE. */
uint32_t tc__nccl_seat(const struct nccl_hang *st, uint32_t group, int32_t rank);
/* The rank an event is about, by job and number; NULL without room. */
struct nccl_rank *tc__nccl_event_rank(struct nccl_hang *st, const struct tc_event *ev);
/* Indexes of what is made when it is not there; NCCL_NONE when a table is full. */
uint32_t tc__nccl_group_of(struct nccl_hang *st, struct tc_slice job, uint64_t key,
                           struct tc_slice name, struct tc_slice desc);
uint32_t tc__nccl_seat_of(struct nccl_hang *st, uint32_t group, int32_t rank);
/*
 * Whether the ring is full, and most of it is of the sender of a record of that seat: such a one is
 * not kept, so that it pushes out nothing of others.
 */
bool tc__nccl_is_pressed(struct nccl_hang *st, const struct nccl_seat *s);
/* False without room. */
bool tc__nccl_on_status(struct nccl_hang *st, const struct tc_event *ev);
/* The status a rank reported for a group, or NULL. */
const struct nccl_status *tc__nccl_status_of(const struct nccl_hang *st,
                                             const struct nccl_seat *seat);

/* Why a rank is on the list of those an operation waits for. */
enum nccl_block {
    NCCL_MISSING,    /* never issued it */
    NCCL_LAGGING,    /* issued it, but an older one of its own is not completed */
    NCCL_ABSENT,     /* left no dump and no record: nothing is known */
    NCCL_UNREADABLE, /* its dump cannot be read */
};

/* Why a rank is a culprit, strongest first. */
enum nccl_blame {
    NCCL_BLAME_NONE,
    NCCL_BLAME_STOPPED, /* its device stopped: peers completed what it did not */
    NCCL_BLAME_MISSING, /* its host stopped: issued nothing more, waits for nothing */
    NCCL_BLAME_OP,      /* another call under the same sequence id */
    NCCL_BLAME_SIZE,
    NCCL_BLAME_DTYPE,
    NCCL_BLAME_PASSED, /* peers that wait for the same went on, it did not */
    NCCL_BLAME_CYCLE,  /* waits for a rank that waits for it */
    NCCL_BLAME_ABSENT, /* no dump, and others wait for it */
    NCCL_BLAME_UNREADABLE,
};

struct nccl_target {
    uint32_t rank;
    uint8_t block; /* enum nccl_block */
    int64_t head;  /* its oldest pending sequence id, -1 none */
    int64_t last;  /* the highest it issued, -1 unknown */
    bool sync;     /* something it has pending, peers completed and cannot complete without it */
    int64_t created_ns; /* of its oldest pending record here, INT64_MAX none */
};

/* One thing that is stuck: an episode of collectives of a group, or one rank's oldest p2p. */
struct nccl_op {
    uint32_t group;
    bool is_p2p;
    bool hung;      /* old enough to speak about */
    bool mixed;     /* how far members got is told in ids of transfers, or may be */
    bool alike;     /* one collective, and all made the same call */
    uint32_t first; /* its records in nccl_eval.pending */
    uint32_t count;
    int64_t front;  /* the collective the others wait in */
    int64_t oldest; /* lowest pending sequence id */
    int64_t created_ns;
    uint32_t waiting_first; /* ranks that wait in the front, in nccl_eval.lists */
    uint32_t waiting_count;
    uint32_t behind_count; /* participants that lag, right after the waiting ones */
    uint32_t target_first;
    uint32_t target_count;
    uint32_t passed_count; /* members that have completed the front */
    int64_t passed;        /* the newest that one of them has completed */
    uint8_t mismatch;      /* enum nccl_blame: OP, SIZE, DTYPE or NONE */
    int64_t mismatch_seq;
    uint64_t reach;   /* culprits it waits for, over any number of steps */
    uint64_t related; /* culprits of anything its participants take part in */
};

struct nccl_blamed {
    uint8_t blame; /* enum nccl_blame */
    uint32_t op;   /* where it shows best */
    int64_t head;  /* for STOPPED: its oldest pending */
    int64_t last;  /* highest issued, -1 unknown */
    uint32_t bit;  /* in masks, or NCCL_NONE */
    uint32_t pending_ops;
    bool waits;        /* for somebody */
    int64_t oldest_ns; /* issue of what it has had pending for longest */
    uint64_t reach;    /* culprits behind its waits */
    uint64_t related;  /* culprits behind anything it takes part in */
};

#define NCCL_CULPRIT_BITS 64

/* One analysis: everything in st->eval. */
struct nccl_eval {
    struct tc_sort_pair *pending; /* value: address of the record, see tc__nccl_pending */
    uint32_t pending_count;
    struct nccl_op *ops;
    uint32_t op_count;
    uint32_t *lists;  /* rank indices, at most one for each pending record */
    int64_t *created; /* beside lists: issue of the rank's oldest pending record there */
    uint32_t list_count;
    struct nccl_target *targets;
    size_t most_targets;
    uint32_t target_count;
    struct nccl_blamed *blamed; /* by rank index */
    uint32_t *rank_ops_at;      /* CSR: operations a rank takes part in */
    uint32_t *rank_ops;
    uint32_t culprits[NCCL_CULPRIT_BITS]; /* rank indices, ascending by rank */
    uint32_t culprit_count;
    uint32_t unique_scans;
    bool full; /* a bound was hit: findings are incomplete */
};

/* All pending records, by job, group, kind, sequence id and rank: jobs are analysed one by one. */
struct nccl_all {
    uint32_t count;
    uint32_t next; /* first record of the next job */
    bool full;
};

/* True for collectives that no member completes before every member took part. */
bool tc__nccl_is_sync(struct tc_slice op);

/* Marks the culprits in e->blamed and what each rank has to do with them. */
tc_status tc__nccl_blame(struct nccl_hang *st, struct nccl_eval *e);

/* The i-th pending record. Nothing is pushed during an analysis, so records stay where they are. */
static inline struct nccl_record *tc__nccl_pending(const struct nccl_eval *e, uint32_t i)
{
    return (struct nccl_record *)(uintptr_t)e->pending[i].value;
}

/* Orders what is pending, on st->pending. */
void tc__nccl_collect(struct nccl_hang *st, struct nccl_all *out);

/*
 * Who waits for whom in the next job; false in *out_found when there is none.
 * `all` takes what dumps say as hung whatever its age.
 */
tc_status tc__nccl_analyse(struct nccl_hang *st, bool all, struct nccl_all *jobs,
                           struct nccl_eval *out, bool *out_found);

/* Analyses and reports everything. */
tc_status tc__nccl_evaluate(struct nccl_hang *st, bool all, const struct tc_sink *out);

/* Words: "TENSOR_PARALLEL_GROUP (group 35)" or "group 35"; "ranks 3 and 5"; why; what to do. */
struct tc_arg tc__nccl_as_group(const struct nccl_group *g);
void tc__nccl_put_group(struct tc_buf *b, const struct nccl_group *g);
struct tc_arg tc__nccl_as_ranks(const int32_t *ranks, size_t count);
void tc__nccl_put_reason(struct tc_buf *b, const struct nccl_hang *st, const struct nccl_eval *e,
                         uint32_t rank, const struct nccl_blamed *why);
/* The part of a call in which two records may differ: OP, SIZE or DTYPE. */
struct tc_slice tc__nccl_call_part(const struct nccl_record *r, enum nccl_blame part);
/* What to do about a culprit; `check` is for one whose device stopped. */
void tc__nccl_put_advice(struct tc_buf *b, enum nccl_blame why, const struct nccl_check *check);

/* One finding: what is stuck, on whose account, and which finding explains it. */
struct nccl_said {
    const struct nccl_op *ops; /* of one group */
    uint32_t op_count;
    const struct nccl_op *root_op; /* first operation of the unit that explains it */
    struct tc_cause *causes; /* that unit as the cause of stuck ranks, and of culprits; in eval */
    uint64_t culprits;
    bool is_direct; /* it waits for the culprits itself */
    bool has_more;  /* it waits for culprits that have no bit: there are too many */
    bool is_root;
};

/* What is being built. */
struct nccl_draft {
    struct tc_draft draft;
    struct nccl_hang *st;
    struct nccl_eval *e;
    const struct nccl_said *said;
    const struct nccl_op *op;       /* the first */
    const struct nccl_record *main; /* the record that stands for it */
    const struct nccl_group *group;
    size_t int_count; /* used of desk->ints */
    size_t reason_count;
    size_t place_count; /* used of desk->places */
    /* The parts that the evidence of one collective has in common. */
    int64_t shared_seq; /* of the record they were taken from, -1 none */
    uint8_t shared_state;
    struct tc_slice shared_uid;
    struct tc_slice shared_text;
};

static inline int32_t tc__nccl_rank_number(const struct nccl_draft *d, uint32_t rank)
{
    return d->st->ranks[rank].rank;
}

#define NCCL_ATTR(suffix) TC_LIT("tracecore.alert.nccl_hang." suffix)

/* One stuck record as evidence; and all that a finding needs. culprits are rank indices. */
void tc__nccl_record_evidence(struct nccl_draft *d, const struct nccl_record *r);
void tc__nccl_put_evidence(struct nccl_draft *d, const uint32_t *culprits, size_t count);

/* Builds the finding and emits it. */
tc_status tc__nccl_say(struct nccl_hang *st, struct nccl_eval *e, const struct nccl_said *said,
                       const struct tc_sink *out);

/* Says it. */
tc_status tc__nccl_report(struct nccl_hang *st, struct nccl_eval *e, const struct tc_sink *out);
/* One record more of an open incident has completed; false while others have not. */
bool tc__nccl_complete(const struct nccl_hang *st, struct nccl_open *o, const struct nccl_record *r,
                       int64_t when_ns);
/* The name of the incident that the operation is. */
struct tc_slice tc__nccl_key(struct nccl_draft *d, const struct nccl_op *op, bool from_dump);
void tc__nccl_put_scope(struct nccl_draft *d, size_t count);
/* The collective or transfer of this record, part of an open incident, has completed, or its job
 * has exited. */
tc_status tc__nccl_report_done(struct nccl_hang *st, const struct nccl_record *done,
                               int64_t done_ns, bool exited, const struct tc_sink *out);

#endif
