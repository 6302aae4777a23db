/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What DCGM's programs print: dcgmi diag, health, nvlink, dmon and discovery, and
 * nv-hostengine.log.
 */
#ifndef TC_CODEC_DCGM_PRIV_H
#define TC_CODEC_DCGM_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/lines/lines_priv.h"
#include "event/event.h"
#include "event/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GPUs of one node that a diagnosis tells apart. */
#define DCGM_GPUS_MAX 64
#define DCGM_MESSAGE_MAX 1024
#define DCGM_COLUMNS_MAX 64

enum dcgm_block {
    DCGM_NONE,
    DCGM_DIAG,
    DCGM_HEALTH,
    DCGM_LINK_ERRORS,
    DCGM_LINK_STATES,
    DCGM_DMON,
    DCGM_DISCOVERY,
};

/* A finding while its message comes in, line by line. */
struct dcgm_finding {
    bool open;
    struct tc__line line; /* where it began */
    struct tc_slice system;
    struct tc_slice severity;
    int32_t gpu; /* -1 unknown */
    size_t length;
    char message[DCGM_MESSAGE_MAX];
};

struct dcgm {
    enum dcgm_block block;
    unsigned misses;
    struct dcgm_finding finding;
    /* diag: the test, who failed it and who of them was told of. */
    struct tc_slice test;
    struct tc__line test_line;
    bool test_failed;
    uint64_t failed;
    uint64_t told;
    bool told_any;
    /* health, nvlink, discovery: what the next lines are about. */
    bool other_entity; /* a switch or a CPU, not a GPU */
    int32_t gpu;
    struct tc_slice link;
    struct tc_bdf pci;
    size_t json_end; /* up to here JSON was looked through */
    /* dmon: the metric of each column; TC_METRIC_COUNT: of no use. */
    size_t columns;
    uint16_t metrics[DCGM_COLUMNS_MAX];
};

/* ---- codec.c ---- */

/* Which part of a GPU a text is about: by the words that NVIDIA's messages use, else `fallback`. */
struct tc_slice tc__dcgm_system(struct tc_slice text, struct tc_slice fallback);
/* The n of "GPU n", "GPUn" or "gpuId n"; -1. */
int32_t tc__dcgm_gpu(struct tc_slice text);
TC_CHECKED tc_status tc__dcgm_health(struct tc__lines *w, const struct tc__line *line, int32_t gpu,
                                     struct tc_slice system, struct tc_slice severity,
                                     struct tc_slice message);
TC_CHECKED tc_status tc__dcgm_metric(struct tc__lines *w, const struct tc__line *line, int32_t gpu,
                                     enum tc_metric metric, double value, struct tc_slice device);

/* ---- tables.c ---- */

/* One line of the block it is in; *out_ours: it belongs to it. */
TC_CHECKED tc_status tc__dcgm_step(struct tc__lines *w, struct dcgm *st,
                                   const struct tc__line *line, bool *out_ours);
/* What is complete with the end of the block. */
TC_CHECKED tc_status tc__dcgm_finish(struct tc__lines *w, struct dcgm *st);

/* ---- json.c ---- */

/* The report that begins in that line with one of its keys; false in *out_ours: none does. */
TC_CHECKED tc_status tc__dcgm_json(struct tc__lines *w, struct dcgm *st,
                                   const struct tc__line *line, bool *out_ours);

#endif
