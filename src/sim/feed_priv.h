/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of telemetry, each one step after the other: what writes the files, and what is
 * merged by time to be sent. A source stands on its next step: at_ns is when that happens,
 * TC_TIME_MAX when there is none.
 */
#ifndef TC_SIM_FEED_PRIV_H
#define TC_SIM_FEED_PRIV_H

#include "sim/file_priv.h"
#include "sim/k8s_priv.h"

/* Where elements of "resourceLogs" or "resourceMetrics" go. */
struct sim_sink {
    struct tc_buf *(*begin)(void *context); /* room for one, SIM_OUT_ROOM; NULL: no more */
    void (*end)(void *context, uint32_t records);
    void *context;
};

/*
 * What the feed knows of a source, which begins with the time of its next step: int64_t at_ns,
 * TC_TIME_MAX behind the last.
 */
struct sim_source_type {
    size_t size;
    enum tc_sim_signal signal;
    /* False when out of memory; it is ended all the same. `which` is the node, job or stream of its
     * file. */
    bool (*begin)(void *source, const struct tc_sim *s, uint32_t which);
    void (*step)(void *source, const struct sim_sink *sink);
    /* The same as the file has it; NULL: the elements of step, each as a request of its own. */
    void (*step_file)(void *source, const struct sim_sink *sink);
    void (*end)(void *source); /* NULL: there is nothing to give back */
};

extern const struct sim_source_type tc__sim_kernel_source;
extern const struct sim_source_type tc__sim_exporter_source;
extern const struct sim_source_type tc__sim_train_source;
extern const struct sim_source_type tc__sim_stream_source;

/* ---- a node's kernel log ------------------------------------------------------------------- */

struct sim_kernel {
    int64_t at_ns;
    const struct tc_sim *sim;
    uint32_t node;
    struct sim_lines lines;
    uint64_t turn;
    int64_t chatter;
    struct tc_slice text; /* planned; empty: chatter by luck */
    uint64_t luck;
};

/* ---- a job's training log ------------------------------------------------------------------ */

struct sim_train {
    int64_t at_ns;
    const struct tc_sim *sim;
    const struct sim_job *job;
    struct sim_lines lines;
    struct sim_clock clock;
    struct sim_beat beat;
    struct sim_beat before;
    enum {
        SIM_TRAIN_BEFORE, /* planned lines up to the beat's begin */
        SIM_TRAIN_BEGIN,  /* a pause begins */
        SIM_TRAIN_DURING, /* planned lines up to its end */
        SIM_TRAIN_END,    /* it ends: every rank tells */
        SIM_TRAIN_REST,   /* planned lines after the last beat */
    } stage;
};

/* ---- a stream of Kubernetes ---------------------------------------------------------------- */

struct sim_arrival {
    int64_t at_ns;
    uint32_t number;
    const struct sim_line *line;
};

/* What arrives, in order. */
struct sim_arrivals {
    int64_t at_ns;
    size_t at;
    struct sim_arrival *list;
    size_t count;
};

/* ---- a node's exporter --------------------------------------------------------------------- */

#define SIM_DCGM_FIELDS 19

/* The labels of a GPU, or of the pod on it (then a comma comes first), as Prometheus writes them.
 */
struct sim_labels {
    char text[512];
    size_t len;
};

void tc__sim_gpu_labels(const struct tc_sim *s, uint32_t node, uint32_t gpu,
                        struct sim_labels *out);
void tc__sim_pod_labels(const struct tc_sim *s, uint32_t node, struct sim_labels *out);

struct sim_dcgm_field {
    struct tc_slice name;
    bool counter;
};

extern const struct sim_dcgm_field tc__sim_dcgm_fields[SIM_DCGM_FIELDS];

struct sim_exporter_gpu {
    int64_t gauges[SIM_GAUGES];
    const struct sim_change *at;
    const struct sim_change *end;
    int64_t base_sbe; /* what the counter was before we looked */
};

struct sim_exporter {
    int64_t at_ns; /* of the scrape it stands on */
    const struct tc_sim *sim;
    uint32_t node;
    struct sim_clock clock; /* of the node's job */
    struct sim_beat beat;
    bool has_beat;
    struct sim_exporter_gpu gpus[TC_SIM_GPUS_MAX];
    bool busy;     /* its job computes */
    bool waits;    /* ... or its ranks spin in a collective */
    bool with_pod; /* its job's pods are there */
    uint64_t turn;
};

typedef int64_t sim_dcgm_values[TC_SIM_GPUS_MAX][SIM_DCGM_FIELDS];

/* What the scrape says, by GPU and field. */
void tc__sim_exporter_look(const struct sim_exporter *e, sim_dcgm_values out);
void tc__sim_exporter_next(struct sim_exporter *e);
/* The scrape as OTLP, as the Prometheus receiver passes it on: the step of a source. */
void tc__sim_exporter_step(void *source, const struct sim_sink *sink);

#endif
