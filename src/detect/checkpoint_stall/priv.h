/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the checkpoint_stall detector: detector.c follows checkpoints, writer.c tells
 * them apart, job.c knows jobs and pods as a whole, sign.c keeps signs of storage trouble,
 * report.c says what was found. docs/patterns/checkpoint_stall.md has the rules.
 */
#ifndef TC_DETECT_CHECKPOINT_STALL_PRIV_H
#define TC_DETECT_CHECKPOINT_STALL_PRIV_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "detect/detector.h"
#include "detect/window_priv.h"
#include "directory/directory.h"
#include "event/event.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stdint.h>

/* Of strings that are quoted but name nothing. */
#define CKPT_TEXT_MAX 160
#define CKPT_PATH_MAX 256
/* Writers of one checkpoint that are looked at and named; more are only counted. */
#define CKPT_WRITERS_MAX 64
#define CKPT_STALLS_MAX 256
/* Signs of one node or pod that one look may visit. */
#define CKPT_SIGNS_VISITED_MAX 64
/* Writers of one checkpoint of which one may be gone. */
#define CKPT_PEERS_VISITED_MAX 1024
#define CKPT_KEPT_NS (86400 * TC_SECOND)

/* What proves that storage is in trouble, in the order of precedence. */
enum ckpt_proof { CKPT_K8S, CKPT_KERNEL, CKPT_WRITES, CKPT_PROOFS };

/*
 * One trouble of one node or pod, as often as it is told. Invariants: first_ns <= last_ns;
 * place is the node when of_node is set, else the pod, which place_ns is the namespace of.
 */
struct ckpt_sign {
    struct tc_window_head head;
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice pod;
    struct tc_slice place_ns;
    struct tc_slice place;
    struct tc_slice what;   /* reason or fault */
    struct tc_slice device; /* volume, disk, server or mount */
    struct tc_slice uid;    /* the producer's, of the first */
    struct tc_slice text;
    enum ckpt_proof proof;
    bool mount;    /* device is a mount point */
    bool of_node;  /* kept under its node, rather than its pod */
    int64_t value; /* of a metric: mean milliseconds of a write */
    int64_t first_ns;
    int64_t last_ns;
    int64_t cleared_ns; /* TC_TIME_NONE: it has not */
    struct tc_raw raw;  /* of the first */
};

/* One rank, or pod, writing one checkpoint. */
struct ckpt_writer {
    struct tc_window_head head;
    uint64_t next; /* began after it */
    struct tc_slice job;
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice pod;
    struct tc_slice pod_uid;
    struct tc_slice container;
    struct tc_slice path;
    struct tc_slice uid; /* of the event */
    int64_t step;
    int64_t begin_ns;
    int64_t end_ns; /* TC_TIME_NONE while it is being written */
    int32_t rank;
    bool failed;  /* and that was said */
    bool in_loop; /* the training waits for it */
    bool in_stall;
    uint64_t before;     /* one that failed before, until one ends; TC_RING_NONE */
    int64_t next_ns;     /* something newer took its place; TC_TIME_NONE */
    int64_t told_end_ns; /* of the last end that was told of the writer, of whatever checkpoint */
    int64_t told_end_step;
    struct tc_raw raw;
    struct tc_raw end_raw;
    struct tc_raw next_raw;
    struct tc_raw told_end_raw;
};

enum ckpt_why { CKPT_ENDED, CKPT_NEXT, CKPT_POD_GONE };

/* How a checkpoint came to be written no more. */
struct ckpt_over {
    enum ckpt_why why;
    int64_t time_ns;
    struct tc_raw raw; /* empty when no event of the checkpoint says so */
};

/* What is known of a job besides its checkpoints; or of a pod, whose job is then left out. */
struct ckpt_job {
    struct tc_window_head head;
    struct tc_slice job;
    struct tc_slice ns;
    struct tc_slice pod;
    int64_t step; /* highest that ended */
    int64_t step_ns;
    int64_t any_ns; /* any step ended, whichever */
    struct tc_raw any_raw;
    int64_t end_ns; /* a checkpoint of all of it ended */
    int64_t end_step;
    struct tc_raw end_raw;
};

/* A sign that was joined: enough of it to tell it again when it has gone. */
struct ckpt_piece {
    bool known;
    bool same_pod;
    uint64_t writer; /* that it was joined to */
    int64_t first_ns;
    int64_t value;
    struct tc_raw raw;
    char what[CKPT_TEXT_MAX];
    char node[256];
    char device[256];
    char uid[320];
    char text[512];
    uint16_t what_len;
    uint16_t node_len;
    uint16_t device_len;
    uint16_t uid_len;
    uint16_t text_len;
};

/* One checkpoint that does not end, with all its writers. */
struct ckpt_stall {
    bool used;
    bool reported;
    bool failed;
    bool goes_on; /* training, beside it */
    bool incomplete;
    uint32_t writer_count; /* in writers */
    uint32_t more;         /* writers that did not fit */
    uint32_t told;         /* writers, when it was last told */
    int64_t told_ns;       /* how long it lasts when it is told */
    uint64_t writers[CKPT_WRITERS_MAX];
    struct ckpt_piece pieces[CKPT_PROOFS];
};

/* How one metric of a disk went on. */
struct ckpt_disk {
    struct tc_window_head head;
    struct tc_slice node;
    struct tc_slice device;
    double writes;
    double seconds;
    int64_t writes_ns; /* TC_TIME_NONE: not seen */
    int64_t seconds_ns;
    struct tc_raw seconds_raw;
    double base_writes;
    double base_seconds;
    int64_t base_ns;
    double readonly;
    int64_t readonly_ns;
};

/* A pod that ended. */
struct ckpt_ended {
    struct tc_window_head head;
    struct tc_slice ns;
    struct tc_slice pod;
    int64_t end_ns;
};

struct checkpoint_stall {
    struct tc_detector_base base;
    int64_t threshold_ns; /* knobs */
    int64_t window_ns;
    int64_t slow_write_ns;
    struct tc_window signs; /* of nodes and of pods: chains by either */
    struct tc_window disks;
    struct tc_window writers;
    struct tc_window jobs;
    const struct tc_directory *directory;
    struct tc_window ended;
    struct ckpt_stall *stalls;
    uint32_t stall_count;   /* entries in use lie below */
    uint64_t due;           /* the first writer whose age was not looked at */
    uint64_t newest;        /* the last one that began */
    int64_t newest_loop_ns; /* the last begin of one that the training waits for */
    bool dirty;             /* something came that may join a stall */
    bool moved;             /* something came that may end one */
};

/* ---- detector.c ------------------------------------------------------------------------------ */

/* When the first pod ended that had not written its part of the writer's checkpoint; INT64_MAX when
 * none has. The others wait for it from then on, whatever the storage does. */
int64_t tc__ckpt_peer_gone(const struct checkpoint_stall *st, const struct ckpt_writer *w);

/* ---- job.c ----------------------------------------------------------------------------------- */

bool tc__ckpt_jobs_init(struct checkpoint_stall *st);
TC_CHECKED tc_status tc__ckpt_on_step(struct checkpoint_stall *st, const struct tc_event *ev);
/* A checkpoint ended, and no rank is said. */
TC_CHECKED tc_status tc__ckpt_on_end_of_all(struct checkpoint_stall *st, const struct tc_event *ev);
/* True when a checkpoint of all of the writer's job or pod ended that can be its own. */
bool tc__ckpt_ended_with_all(const struct checkpoint_stall *st, const struct ckpt_writer *w,
                             struct ckpt_over *out);
/* True when a step of the writer's job or pod ended after it began. */
bool tc__ckpt_step_since(const struct checkpoint_stall *st, const struct ckpt_writer *w,
                         struct ckpt_over *out);
/* Whether steps have ended since the writer began: then it writes beside the training. */
bool tc__ckpt_went_on(const struct checkpoint_stall *st, const struct ckpt_writer *w);

static inline bool tc__ckpt_same_step(int64_t a, int64_t b)
{
    return a < 0 || b < 0 || a == b;
}

/* ---- sign.c ---------------------------------------------------------------------------------- */

bool tc__ckpt_signs_init(struct checkpoint_stall *st);
/* Takes in an event that may be about storage. */
TC_CHECKED tc_status tc__ckpt_take_sign(struct checkpoint_stall *st, const struct tc_event *ev);
/* Joins signs of each kind that none was joined of, the best for any of the writers. True when one
 * was found. */
bool tc__ckpt_look(const struct checkpoint_stall *st, struct ckpt_stall *s);

/* ---- report.c -------------------------------------------------------------------------------- */

/* Keeps what is told of a sign. */
void tc__ckpt_piece(struct ckpt_piece *out, const struct ckpt_sign *sign, bool same_pod);
/* Emits the finding. `over` is what resolved it, NULL while it goes on. */
TC_CHECKED tc_status tc__ckpt_report(const struct checkpoint_stall *st, const struct ckpt_stall *s,
                                     const struct ckpt_over *over, const struct tc_sink *out);

/* Where the writer is in the window, NULL when it has left it. */
static inline struct ckpt_writer *tc__ckpt_writer(const struct checkpoint_stall *st,
                                                  const struct ckpt_stall *s, uint32_t i)
{
    return tc__window_at(&st->writers, s->writers[i]);
}

/* ---- writer.c -------------------------------------------------------------------------------- */

/* An end of that step is the end of the writer's checkpoint. */
bool tc__ckpt_ends(const struct ckpt_writer *w, int64_t step);
/* Whether a begin is news. Of two at one time the one of the higher step is, then the last by name.
 */
bool tc__ckpt_is_next(const struct ckpt_writer *old, const struct ckpt_writer *w);

#endif
