/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/program_priv.h"

#include <string.h>

#define LAYERS 2

struct sim_seat tc__sim_seat(const struct sim_job *j, uint32_t rank)
{
    return (struct sim_seat){rank % j->tensor, rank / j->tensor % j->data,
                             rank / (j->tensor * j->data)};
}

static uint32_t rank_at(const struct sim_job *j, struct sim_seat seat)
{
    return (seat.stage * j->data + seat.data) * j->tensor + seat.tensor;
}

/* ---- groups -------------------------------------------------------------------------------- */

uint32_t tc__sim_group_size(const struct sim_job *j, enum sim_group group)
{
    switch (group) {
    case SIM_TENSOR:
        return j->tensor;
    case SIM_PIPE:
        return j->pipe;
    case SIM_DATA:
        return j->data;
    case SIM_EXPERT:
        return j->expert;
    default:
        return j->ranks;
    }
}

uint32_t tc__sim_member(const struct sim_job *j, uint32_t rank, enum sim_group group, uint32_t i)
{
    struct sim_seat seat = tc__sim_seat(j, rank);
    switch (group) {
    case SIM_TENSOR:
        seat.tensor = i;
        break;
    case SIM_PIPE:
        seat.stage = i;
        break;
    case SIM_DATA:
        seat.data = i;
        break;
    case SIM_EXPERT:
        seat.data = seat.data / j->expert * j->expert + i;
        break;
    default:
        return i;
    }
    return rank_at(j, seat);
}

uint32_t tc__sim_group_number(const struct sim_job *j, uint32_t rank, enum sim_group group)
{
    /* All ranks make all groups, in this order: the world is "0". */
    uint32_t number = 1;
    for (enum sim_group g = SIM_TENSOR; g < group; g++) {
        number += j->ranks / tc__sim_group_size(j, g);
    }
    struct sim_seat seat = tc__sim_seat(j, rank);
    switch (group) {
    case SIM_TENSOR:
        return number + rank / j->tensor;
    case SIM_PIPE:
        return number + rank % (j->tensor * j->data);
    case SIM_DATA:
        return number + seat.stage * j->tensor + seat.tensor;
    case SIM_EXPERT:
        return number + (seat.stage * (j->data / j->expert) + seat.data / j->expert) * j->tensor +
               seat.tensor;
    default:
        return 0;
    }
}

/* ---- a step -------------------------------------------------------------------------------- */

/* Transfers are counted by direction and peer: forward in, forward out, backward in and out. */
static uint32_t lane(uint8_t kind, int8_t stage)
{
    return (kind == SIM_SEND ? 0u : 2u) + (stage > 0 ? 0u : 1u);
}

static void add(struct sim_program *p, uint32_t *lanes, enum sim_group group, enum sim_op_kind kind,
                int8_t stage)
{
    struct sim_op *op = &p->ops[p->count++];
    uint32_t *counter =
        group == SIM_PIPE ? &lanes[lane((uint8_t)kind, stage)] : &p->per_group[group];
    *op = (struct sim_op){(uint8_t)group, (uint8_t)kind, stage, (uint8_t)*counter};
    *counter += 1;
    p->per_group[SIM_PIPE] += group == SIM_PIPE;
}

static void add_layers(const struct sim_job *j, struct sim_program *p, uint32_t *lanes)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        if (j->tensor > 1) {
            add(p, lanes, SIM_TENSOR, SIM_ALL_GATHER, 0);
        }
        if (j->expert > 1) {
            add(p, lanes, SIM_EXPERT, SIM_ALL_TO_ALL, 0);
            add(p, lanes, SIM_EXPERT, SIM_ALL_TO_ALL, 0);
        }
        if (j->tensor > 1) {
            add(p, lanes, SIM_TENSOR, SIM_REDUCE_SCATTER, 0);
        }
    }
}

void tc__sim_program(const struct sim_job *j, uint32_t stage, struct sim_program *out)
{
    uint32_t lanes[4] = {0};
    uint32_t batches = j->pipe > 1 ? 4 : 2;
    memset(out, 0, sizeof *out);
    for (uint32_t batch = 0; batch < batches; batch++) {
        if (stage > 0) {
            add(out, lanes, SIM_PIPE, SIM_RECV, -1);
        }
        add_layers(j, out, lanes);
        if (stage + 1 < j->pipe) {
            add(out, lanes, SIM_PIPE, SIM_SEND, 1);
        }
    }
    for (uint32_t batch = 0; batch < batches; batch++) {
        if (stage + 1 < j->pipe) {
            add(out, lanes, SIM_PIPE, SIM_RECV, 1);
        }
        add_layers(j, out, lanes);
        if (stage > 0) {
            add(out, lanes, SIM_PIPE, SIM_SEND, -1);
        }
    }
    if (j->data > 1) {
        add(out, lanes, SIM_DATA, SIM_REDUCE_SCATTER, 0);
        add(out, lanes, SIM_DATA, SIM_ALL_GATHER, 0);
    }
    add(out, lanes, SIM_WORLD, SIM_ALL_REDUCE, 0);
}

/* ---- a hang -------------------------------------------------------------------------------- */

/* Where in its step the job is when it stops; a drawn place when it makes no step. */
static uint32_t op_at_stop(const struct tc_sim *s, const struct sim_job *j, uint32_t count)
{
    struct sim_clock clock = tc__sim_clock(s, j);
    struct sim_beat beat;
    while (tc__sim_clock_next(&clock, &beat)) {
        if (beat.end_ns > j->stop_ns) {
            int64_t slot = j->step_ns / (int64_t)(count + 2);
            int64_t op = slot > 0 ? (j->stop_ns - beat.start_ns) / slot : 0;
            return op < 0 ? 0 : op >= (int64_t)count ? count - 1 : (uint32_t)op;
        }
    }
    return sim_below(sim_draw(s->options.seed, SIM_FOR_DUMP, j->id, 0), count);
}

uint32_t tc__sim_hang_op(const struct tc_sim *s, const struct sim_job *j)
{
    struct sim_program p;
    tc__sim_program(j, tc__sim_seat(j, j->culprit).stage, &p);
    uint32_t first = op_at_stop(s, j, p.count);
    for (uint32_t at = first; at < p.count; at++) {
        if (p.ops[at].group != SIM_PIPE &&
            tc__sim_group_size(j, (enum sim_group)p.ops[at].group) > 2) {
            return at;
        }
    }
    return p.count - 1;
}

/* Which counter of `entered` an operation raises. */
static uint32_t counter_of(const struct sim_op *op)
{
    return op->group == SIM_PIPE ? SIM_GROUPS + lane(op->kind, op->stage) : op->group;
}

/* Whether all others that an operation needs have entered it. */
static bool is_met(const struct sim_job *j, uint32_t rank, const struct sim_op *op,
                   const uint16_t *entered)
{
    if (op->group == SIM_PIPE) {
        struct sim_seat seat = tc__sim_seat(j, rank);
        seat.stage = op->stage > 0 ? seat.stage + 1 : seat.stage - 1;
        uint32_t peer = rank_at(j, seat);
        uint32_t theirs =
            SIM_GROUPS + lane(op->kind == SIM_SEND ? SIM_RECV : SIM_SEND, (int8_t)-op->stage);
        return entered[peer * SIM_ENTERED_PER_RANK + theirs] > op->ordinal;
    }
    uint32_t size = tc__sim_group_size(j, (enum sim_group)op->group);
    for (uint32_t i = 0; i < size; i++) {
        uint32_t member = tc__sim_member(j, rank, (enum sim_group)op->group, i);
        if (entered[member * SIM_ENTERED_PER_RANK + op->group] <= op->ordinal) {
            return false;
        }
    }
    return true;
}

/* Whether an operation is the one that a member calls with another size: it never completes. */
static bool is_spoilt(const struct sim_job *j, uint32_t rank, uint32_t op,
                      const struct sim_op *what)
{
    if (j->hang != SIM_HANG_MISMATCH || op != j->stuck) {
        return false;
    }
    enum sim_group group = (enum sim_group)what->group;
    return tc__sim_group_number(j, rank, group) == tc__sim_group_number(j, j->culprit, group);
}

/* Takes one rank as far as it gets; true when it moved. */
static bool advance(const struct sim_job *j, const struct sim_program *p, uint32_t rank,
                    uint16_t *waits, uint16_t *entered)
{
    uint16_t before = waits[rank];
    bool entered_more = false;
    while (waits[rank] < p->count) {
        uint32_t i = waits[rank];
        const struct sim_op *op = &p->ops[i];
        bool culprit = rank == j->culprit && i >= j->stuck && j->hang != SIM_HANG_MISMATCH;
        if (culprit && (j->hang != SIM_HANG_DEVICE || i > j->stuck)) {
            break; /* never gets here */
        }
        uint16_t *mine = &entered[rank * SIM_ENTERED_PER_RANK + counter_of(op)];
        if (*mine <= op->ordinal) {
            *mine = (uint16_t)(op->ordinal + 1);
            entered_more = true;
        }
        if (culprit || is_spoilt(j, rank, i, op) || !is_met(j, rank, op, entered)) {
            break;
        }
        waits[rank]++;
    }
    return waits[rank] != before || entered_more;
}

void tc__sim_propagate(const struct sim_job *j, uint16_t *waits, uint16_t *entered)
{
    memset(waits, 0, j->ranks * sizeof *waits);
    memset(entered, 0, (size_t)j->ranks * SIM_ENTERED_PER_RANK * sizeof *entered);
    /* Each round moves somebody, and nobody moves more often than there are operations. */
    for (bool moved = true; moved;) {
        moved = false;
        struct sim_program p;
        uint32_t stage = UINT32_MAX;
        for (uint32_t rank = 0; rank < j->ranks; rank++) {
            uint32_t now = tc__sim_seat(j, rank).stage;
            if (now != stage) {
                stage = now;
                tc__sim_program(j, stage, &p);
            }
            moved = advance(j, &p, rank, waits, entered) || moved;
        }
    }
}
