/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Slurm knows of jobs and nodes: sacct and scontrol are run every interval, and rows that were
 * not there before, or have changed, are stored. No shell is involved.
 */
#ifndef TC_SOURCE_SLURM_SLURM_H
#define TC_SOURCE_SLURM_SLURM_H

#include "source/source.h"

struct tc_slurm_config {
    struct tc_slice sacct; /* a name that is found in PATH, or a path */
    struct tc_slice scontrol;
    int64_t interval_ns;
    int64_t timeout_ns; /* of one command */
    int64_t back_ns;    /* how far a first start asks for the past */
};

extern const struct tc_source_kind tc_source_slurm;

/* Copies all. TC_E_NOMEM. */
TC_CHECKED tc_status tc_slurm_create(const struct tc_slurm_config *config, void **out_state,
                                     struct tc_error *err);
/* Whether both commands are on this host. */
bool tc_slurm_is_there(const char *sacct, const char *scontrol);

#endif
