/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports of NCCL's own monitor: ras.c keeps and judges them,
 * ras_findings.c says what they show.
 */
#ifndef TC_DETECT_NCCL_HANG_RAS_PRIV_H
#define TC_DETECT_NCCL_HANG_RAS_PRIV_H

#include "detect/nccl_hang/watch_priv.h"

enum ras_status { RAS_RUNNING, RAS_MISSING, RAS_DEAD, RAS_AWAY, RAS_CHANGING };

struct ras_comm {
    struct tc_window_head head;
    uint64_t job_at; /* position of its job, which the job's communicators have in common */
    struct tc_slice job;
    struct tc_slice hash;
    int64_t size;
    int64_t moved_ns; /* when a count last changed, or was first seen */
    int64_t seen_ns;  /* newest report of it */
    int64_t first_ns; /* of the open incident: names it */
    bool told;
};

struct ras_member {
    struct tc_window_head head;
    uint64_t comm; /* position of its communicator */
    struct tc_slice node;
    int64_t comm_rank;
    int32_t rank; /* global, -1 unknown */
    int32_t gpu_index;
    int64_t pid;
    int64_t ops;
    enum ras_status status;
    int64_t seen_ns;
    int64_t since_ns; /* of the first report with this count and status */
    struct tc_raw since_raw;
    struct tc_raw raw;
};

/* What a communicator's last report shows. */
struct ras_view {
    struct ras_comm *comm;
    int64_t lowest; /* counts of those that run, -1 none */
    int64_t highest;
    uint32_t running;
    uint32_t behind; /* with the lowest count */
    uint32_t gone;   /* missing or dead */
    bool changing;   /* somebody joins or leaves */
    bool global;     /* every rank's global number is known */
    bool faulty;
    bool counts; /* by counts, not by who is gone */
};

/* The member after `before`, or the first one, that the last report has; NULL at the end. */
const struct ras_member *tc__ras_next(const struct nccl_watch *w, const struct ras_comm *c,
                                      const struct ras_member *before);
bool tc__ras_is_culprit(const struct ras_view *v, const struct ras_member *m);

/* ras_findings.c */
TC_CHECKED tc_status tc__ras_tell(struct nccl_watch *w, const struct ras_view *v,
                                  const struct tc_sink *out);
/* Nothing is wrong with it any more. */
TC_CHECKED tc_status tc__ras_tell_end(struct nccl_watch *w, const struct ras_view *v,
                                      const struct tc_sink *out);

#endif
