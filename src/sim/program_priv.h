/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every rank of a job does in a step: collectives of its tensor, expert, data and
 * world groups and transfers between the stages of its pipeline, in the order in which
 * Megatron issues them. When one rank stands still, this tells where each of the others
 * comes to wait: hangs run through the groups as they do in life.
 */
#ifndef TC_SIM_PROGRAM_PRIV_H
#define TC_SIM_PROGRAM_PRIV_H

#include "sim/sim_priv.h"

#define SIM_OPS_MAX 128

enum sim_group { SIM_WORLD, SIM_TENSOR, SIM_PIPE, SIM_DATA, SIM_EXPERT, SIM_GROUPS };

enum sim_op_kind {
    SIM_ALL_REDUCE,
    SIM_ALL_GATHER,
    SIM_REDUCE_SCATTER,
    SIM_ALL_TO_ALL,
    SIM_SEND,
    SIM_RECV,
};

struct sim_op {
    uint8_t group;
    uint8_t kind;
    int8_t stage;    /* transfers: +1 with the next stage, -1 with the one before */
    uint8_t ordinal; /* how many of its group came before it in the step; for transfers, of its
                        kind and stage */
};

struct sim_program {
    struct sim_op ops[SIM_OPS_MAX];
    uint32_t count;
    uint32_t per_group[SIM_GROUPS]; /* collectives of a step; transfers for SIM_PIPE */
};

/* The place of a rank in its job. */
struct sim_seat {
    uint32_t tensor, data, stage;
};

struct sim_seat tc__sim_seat(const struct sim_job *j, uint32_t rank);
void tc__sim_program(const struct sim_job *j, uint32_t stage, struct sim_program *out);

/* Size of the rank's group of a kind, and its members by number. */
uint32_t tc__sim_group_size(const struct sim_job *j, enum sim_group group);
uint32_t tc__sim_member(const struct sim_job *j, uint32_t rank, enum sim_group group, uint32_t i);
/* Its number among all groups of the job: as torch names them. */
uint32_t tc__sim_group_number(const struct sim_job *j, uint32_t rank, enum sim_group group);

/* The operation at which the culprit of a hang stands still. */
uint32_t tc__sim_hang_op(const struct tc_sim *s, const struct sim_job *j);
/*
 * For each rank the first operation of the step that does not complete when the culprit
 * stands still at j->stuck; the number of operations when all do. waits has room for
 * j->ranks, and so has entered for SIM_ENTERED_PER_RANK of each.
 */
void tc__sim_propagate(const struct sim_job *j, uint16_t *waits, uint16_t *entered);
#define SIM_ENTERED_PER_RANK (SIM_GROUPS + 4)

#endif
