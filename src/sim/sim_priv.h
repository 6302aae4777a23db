/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world of the simulator: a cluster, the jobs on it, and the plan of what will
 * happen. Three kinds of things are planned: lines (of kernel logs and of the
 * Kubernetes streams), changes of what a GPU's exporter says, and what befalls a job.
 */
#ifndef TC_SIM_SIM_PRIV_H
#define TC_SIM_SIM_PRIV_H

#include "base/format.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/time.h"
#include "sim/random_priv.h"
#include "sim/sim.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_MS (TC_SECOND / 1000)
#define SIM_MINUTE (60 * TC_SECOND)
#define SIM_NONE UINT32_MAX
#define SIM_NODES_PER_RACK 8
#define SIM_NAME_MAX 64
/* torch's default for NCCL: the watchdog gives up, and dumps are written. */
#define SIM_WATCHDOG (10 * SIM_MINUTE)
/* Some set it lower. */
#define SIM_WATCHDOG_SHORT (4 * SIM_MINUTE)

/* What a draw is for. Append only: another order is another fleet. */
enum sim_chance {
    SIM_FOR_UUID,
    SIM_FOR_POD_UID,
    SIM_FOR_EVENT_UID,
    SIM_FOR_SKEW,
    SIM_FOR_LAYOUT,
    SIM_FOR_STEP,
    SIM_FOR_RANK_STEP,
    SIM_FOR_PAUSE,
    SIM_FOR_PLACE,
    SIM_FOR_TIME,
    SIM_FOR_VARIANT,
    SIM_FOR_DETAIL,
    SIM_FOR_SCRAPE,
    SIM_FOR_GAUGE,
    SIM_FOR_DELIVERY,
    SIM_FOR_CHATTER,
    SIM_FOR_DUMP,
    SIM_FOR_NOISE, /* and on: one for each kind of noise */
};

/* ---- lists that grow ---------------------------------------------------------------------- */

struct sim_list {
    void *items;
    size_t count;
    size_t room;
};

/* Room for one more item of that size, zeroed; NULL when out of memory. */
void *tc__sim_add(struct sim_list *list, size_t size);
#define SIM_AT(list, T, i) (&((T *)(list).items)[i])

/* Text that lives as long as the plan. */
struct sim_chunk {
    struct sim_chunk *next;
    size_t used;
    char text[];
};

static inline bool sim_has(const struct tc_sim_options *o, enum tc_sim_trouble trouble)
{
    return (o->trouble >> trouble & 1) != 0;
}

/* ---- the cluster --------------------------------------------------------------------------- */

enum sim_use {
    SIM_SPARE, /* nothing runs */
    SIM_TRAIN, /* a part of a job */
    SIM_DEV,   /* people's pods of one GPU each */
};

struct sim_node {
    enum sim_use use;
    uint32_t job;     /* SIM_NONE without */
    int32_t skew_ms;  /* of its clock */
    bool taken;       /* by a fault of its own or of its job */
    bool faulty;      /* a fault is right here: no noise that looks like another */
    bool pci_label;   /* its exporter is new enough to say pci_bus_id */
    bool no_mem_temp; /* ... and cannot read the temperature of the memory */
};

/* Why a job's steps stop, or its pods end. */
enum sim_stop {
    SIM_GOES_ON,
    SIM_STOP_HANG,       /* a rank no longer takes part; dumps after the watchdog's time */
    SIM_STOP_LOADER,     /* waits for data */
    SIM_STOP_CHECKPOINT, /* a checkpoint begins and does not end */
    SIM_STOP_ENDS,       /* its pods end, for better or worse */
};

/* What becomes of the pods when the job ends. */
enum sim_fate {
    SIM_FATE_DONE,    /* they succeed */
    SIM_FATE_ALL,     /* they fail */
    SIM_FATE_ONE,     /* one fails, the operator takes away the others */
    SIM_FATE_PLANNED, /* preempted */
};

/* How the culprit of a hang stands still. */
enum sim_hang {
    SIM_HANG_HOST,     /* its process issues nothing more */
    SIM_HANG_DEVICE,   /* its device stops inside a collective that its peers complete */
    SIM_HANG_GONE,     /* it died: no dump */
    SIM_HANG_MISMATCH, /* it makes another call than its peers */
};

struct sim_job {
    uint32_t id;
    uint32_t first_node;
    uint32_t nodes;
    uint32_t ranks;
    uint32_t tensor, pipe, data, expert; /* sizes of its groups; tensor * pipe * data = ranks */
    int64_t begin_ns;
    int64_t end_ns; /* its pods end; TC_TIME_MAX when after the simulation */
    int64_t step_ns;
    uint32_t first_step;
    uint32_t checkpoint_every;
    uint32_t eval_every;
    bool warm; /* began before the simulation */
    bool taken;

    enum sim_stop stop;
    int64_t stop_ns;
    int64_t resume_ns; /* TC_TIME_MAX: never */
    int64_t watchdog_ns;
    enum sim_fate fate;
    uint32_t fate_node; /* SIM_FATE_ONE: whose pod, counted in the job */
    uint32_t culprit;   /* rank that hangs */
    enum sim_hang hang;
    uint32_t stuck;  /* the operation of the last step in which the culprit stands still */
    uint16_t *waits; /* of a hang, by rank: the operation of the last step that it waits in */
    bool live_dump;  /* dumps of a job that goes on, as an operator asks for at stop_ns */

    uint32_t slow_first, slow_count; /* ranks that are slow */
    int64_t slow_from, slow_until;
    uint32_t slow_percent;
    uint32_t
        slow_peer; /* live dumps: its transfers with that rank are slow; SIM_NONE: it is late */
};

/* ---- the plan ------------------------------------------------------------------------------ */

enum sim_stream {
    SIM_KERNEL,   /* place: node; the message without its prefix */
    SIM_EVENTS,   /* place: 0; a record of k8seventsreceiver */
    SIM_OBJECTS,  /* place: 0; a record of k8sobjectsreceiver */
    SIM_TRAINING, /* place: job; a record of a pod's log */
};

struct sim_line {
    int64_t at_ns;
    uint32_t stream;
    uint32_t place;
    uint32_t number; /* order of planning: keeps lines of one time in order */
    uint32_t node;   /* whose clock */
    bool kept;       /* never lost on the way */
    struct tc_slice text;
};

/* What the exporter says of a GPU. */
enum sim_gauge {
    SIM_SBE,
    SIM_DBE,
    SIM_REMAP_PENDING,
    SIM_REMAP_FAILURE,
    SIM_ROWS_UNCORRECTABLE,
    SIM_XID,
    SIM_REASONS, /* bits on top of what load makes */
    SIM_HEAT,    /* degrees on top */
    SIM_WIDTH,   /* of the PCIe link; 0: all of it */
    SIM_REPLAYS,
    SIM_CLOCK, /* percent of the full clock; 0: 100 */
    SIM_NVLINK_CRC,
    SIM_LOST, /* the GPU answers no more */
    SIM_GAUGES,
};

struct sim_change {
    int64_t at_ns;
    uint32_t gpu; /* of the cluster */
    uint32_t number;
    enum sim_gauge gauge;
    bool adds;
    int64_t value;
};

struct sim_truth {
    bool noise;
    uint32_t number;
    const char *pattern;
    const char *discriminator; /* NULL: any */
    int64_t start_ns;
    int64_t end_ns;
    uint32_t causes[2]; /* numbers of faults; SIM_NONE */
    uint32_t node;      /* SIM_NONE: not part of the culprit */
    uint32_t gpu;       /* of the node; SIM_NONE likewise */
    uint32_t job;
    uint32_t rank;
    uint32_t other_rank; /* of a link; above rank */
    uint32_t pod_job;    /* the pod is that of this job on `pod_node` */
    uint32_t pod_node;
    uint32_t dev; /* or this pod of people's */
    const char *device;
    uint32_t affected_job; /* all of its pods and ranks suffer */
    const char *what;
};

struct tc_sim {
    struct tc_sim_options options;
    int64_t end_ns;
    struct sim_node *nodes;
    struct sim_list jobs;    /* struct sim_job */
    struct sim_list lines;   /* struct sim_line */
    struct sim_list changes; /* struct sim_change */
    struct sim_list truths;  /* struct sim_truth */
    struct sim_list files;   /* struct sim_file */
    struct sim_chunk *chunks;
    uint32_t left_out;
    uint32_t noise_percent; /* 100: as published */
    bool nomem;             /* sticky: looked at once, after planning */
};

static inline struct sim_job *tc__sim_job(const struct tc_sim *s, uint32_t job)
{
    return SIM_AT(s->jobs, struct sim_job, job);
}

static inline int64_t tc__sim_duration(const struct tc_sim *s)
{
    return s->end_ns - s->options.start_ns;
}

/* A copy of the buffer's text in the plan; empty, and nomem set, when out of memory. */
struct tc_slice tc__sim_keep(struct tc_sim *s, const struct tc_buf *b);
/* A text that is formatted as tc_format does it, and kept. */
struct tc_slice tc__sim_text_args(struct tc_sim *s, const struct tc_arg *args, size_t count);
#define tc__sim_text(s, ...) \
    tc__sim_text_args((s), (const struct tc_arg[]){TC_ARGS(__VA_ARGS__)}, TC_ARG_COUNT(__VA_ARGS__))

/* Plans a line. text is kept already or lives for ever. */
void tc__sim_line(struct tc_sim *s, enum sim_stream stream, uint32_t place, uint32_t node,
                  int64_t at_ns, struct tc_slice text);
/* A line of a node's kernel log. */
#define tc__sim_kernel(s, node, at_ns, ...) \
    tc__sim_line((s), SIM_KERNEL, (node), (node), (at_ns), tc__sim_text((s), __VA_ARGS__))
void tc__sim_set(struct tc_sim *s, uint32_t node, uint32_t gpu, int64_t at_ns, enum sim_gauge gauge,
                 int64_t value);
void tc__sim_raise(struct tc_sim *s, uint32_t node, uint32_t gpu, int64_t at_ns,
                   enum sim_gauge gauge, int64_t by);
/* A GPU is slowed down for a while: the reasons, the degrees on top, and percent of its clock. */
void tc__sim_slow(struct tc_sim *s, uint32_t node, uint32_t gpu, int64_t at_ns, int64_t until_ns,
                  int64_t reasons, int64_t heat, int64_t clock_percent);
/* A fault or a piece of labelled noise, with every place SIM_NONE. Never NULL: after a failure
 * it is one that is thrown away. */
struct sim_truth *tc__sim_truth(struct tc_sim *s, bool noise, const char *pattern,
                                const char *discriminator, int64_t start_ns, int64_t end_ns,
                                const char *what);

/* ---- names --------------------------------------------------------------------------------- */

/* As arguments of tc_format. */
struct tc_arg tc__sim_node(uint32_t node);
struct tc_arg tc__sim_rack(uint32_t node);
struct tc_arg tc__sim_job_name(uint32_t job);
struct tc_arg tc__sim_uuid(uint64_t high, uint64_t low);
/* Without the "GPU-" in front of it. */
struct tc_arg tc__sim_gpu_uuid(const struct tc_sim *s, uint32_t node, uint32_t gpu);
/* The bus of a GPU of a node: what stands between "0000:" and ":00.0". */
uint32_t tc__sim_bus(uint32_t gpu);
/* People's pods are numbered by node and GPU, and again after each crash. */
static inline uint32_t tc__sim_dev(uint32_t node, uint32_t gpu, uint32_t life)
{
    return (node * TC_SIM_GPUS_MAX + gpu) * 8 + life % 8;
}
/* Process id of a rank on its node. */
uint32_t tc__sim_pid(const struct tc_sim *s, uint32_t node, uint32_t gpu);

/* ---- the parts, in the order in which they plan -------------------------------------------- */

TC_CHECKED tc_status tc__sim_layout(struct tc_sim *s);
TC_CHECKED tc_status tc__sim_faults(struct tc_sim *s, struct tc_error *err);
void tc__sim_noise(struct tc_sim *s);
/* Pods come into being, and end as the plan of the jobs says. */
void tc__sim_pods(struct tc_sim *s);
TC_CHECKED tc_status tc__sim_list_files(struct tc_sim *s);

/* ---- a job's time -------------------------------------------------------------------------- */

enum sim_beat_kind { SIM_BEAT_STEP, SIM_BEAT_EVAL, SIM_BEAT_CHECKPOINT };

struct sim_beat {
    enum sim_beat_kind kind;
    uint32_t step;
    int64_t start_ns;
    int64_t end_ns; /* TC_TIME_MAX: it never ends */
};

/* Walks what a job does, one step or pause after the other. */
struct sim_clock {
    const struct tc_sim *sim;
    const struct sim_job *job;
    int64_t at_ns;
    uint32_t step;
    bool pause_done;
    bool eval_done;
    bool over;
};

struct sim_clock tc__sim_clock(const struct tc_sim *s, const struct sim_job *job);
bool tc__sim_clock_next(struct sim_clock *c, struct sim_beat *out);
/* What a rank itself needs for a step that its peers do in the given time. */
int64_t tc__sim_own_time(const struct tc_sim *s, const struct sim_job *job, uint32_t rank,
                         const struct sim_beat *beat);

#endif
