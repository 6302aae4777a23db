/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SPEC: what is to go wrong. Items stand between commas or on lines of their own;
 * an item is the name of a fault and words KEY=VALUE. One grammar for the command
 * line and for files. See docs/simulate.md.
 */
#ifndef TC_SIM_SPEC_PRIV_H
#define TC_SIM_SPEC_PRIV_H

#include "sim/sim_priv.h"

/* Where a fault can be put. */
enum sim_where {
    SIM_ON_JOB,   /* all of a job: it is the only fault there */
    SIM_ON_TRAIN, /* a node of a job, which goes on */
    SIM_ON_IDLE,  /* a node without a job */
    SIM_ON_DEV,   /* a node with people's pods */
};

/* One fault to be planned, its place chosen. */
struct sim_ask {
    uint32_t variant;
    uint32_t node;
    uint32_t gpu;
    uint32_t job; /* SIM_ON_JOB */
    int64_t at_ns;
    uint64_t luck; /* for details */
};

struct sim_fault {
    const char *name;
    enum sim_where where;
    const char *variants; /* separated by blanks */
    uint32_t weight;      /* so many of 1,000 faults of the SPEC "mixed" */
    const char *help;
    void (*plan)(struct tc_sim *s, const struct sim_ask *ask);
};

#define FAULT(id, where, variants, weight, help) \
    void tc__sim_fault_##id(struct tc_sim *s, const struct sim_ask *ask);
#include "sim/faults.def"
#undef FAULT

#endif
