/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs where. Most nodes belong to training jobs of many sizes, each on a run of
 * neighbouring nodes; some are shared by people; a few are spare. A job's ranks are
 * laid out as Megatron does it: tensor parallel fastest, then data (with the expert
 * groups inside it), the stages of the pipeline slowest.
 */
#include "sim/sim_priv.h"

#include <stdlib.h>

static uint64_t draw(const struct tc_sim *s, uint64_t a, uint64_t b)
{
    return sim_draw(s->options.seed, SIM_FOR_LAYOUT, a, b);
}

#define JOB_NODES_MAX 512

/* Nodes of the next job: a few large ones, many small ones. */
static uint32_t next_size(uint32_t nodes, uint32_t job)
{
    static const uint8_t SIZES[] = {16, 4, 2, 8, 2, 4, 2, 8, 4, 2, 2, 4, 8, 2, 4, 2};
    if (job == 0 && nodes >= 256) {
        uint32_t size = 32;
        while (size * 8 <= nodes && size < JOB_NODES_MAX) {
            size *= 2;
        }
        return size;
    }
    return SIZES[job % (TC_COUNT(SIZES))];
}

static void shape(struct sim_job *j, uint32_t gpus)
{
    j->tensor = gpus % 8 == 0 ? 8 : gpus;
    uint32_t rest = j->ranks / j->tensor;
    j->pipe = rest % 4 == 0 && rest >= 8 ? 4 : rest % 2 == 0 && rest >= 4 ? 2 : 1;
    j->data = rest / j->pipe;
    bool experts = j->id % 5 == 1 && j->data % 2 == 0; /* moe-... */
    j->expert = !experts ? 1 : j->data % 4 == 0 ? 4 : 2;
}

static void set_times(const struct tc_sim *s, struct sim_job *j)
{
    uint64_t d = draw(s, 100 + j->id, 0);
    int64_t duration = tc__sim_duration(s);
    j->step_ns = sim_between(draw(s, 100 + j->id, 1), 9000, 24000) * SIM_MS;
    j->checkpoint_every = (uint32_t)sim_between(draw(s, 100 + j->id, 2), 60, 140);
    j->eval_every = (uint32_t)sim_between(draw(s, 100 + j->id, 3), 90, 200);
    j->begin_ns = s->options.start_ns;
    j->end_ns = TC_TIME_MAX;
    j->warm = true;
    j->first_step = (uint32_t)sim_between(draw(s, 100 + j->id, 4), 2000, 90000);
    if (sim_chance(d, 120000)) { /* begins while we watch */
        j->begin_ns += sim_between(draw(s, 100 + j->id, 5), duration / 20, duration / 3);
        j->warm = false;
        j->first_step = 0;
    } else if (sim_chance(tc_random_mix(d), 80000)) { /* has done its work */
        j->end_ns = s->end_ns - sim_between(draw(s, 100 + j->id, 6), duration / 20, duration / 3);
        j->stop = SIM_STOP_ENDS;
        j->stop_ns = j->end_ns;
        j->resume_ns = TC_TIME_MAX;
    }
    j->watchdog_ns = SIM_WATCHDOG;
    j->slow_peer = SIM_NONE;
    j->culprit = SIM_NONE;
}

static tc_status add_job(struct tc_sim *s, uint32_t first, uint32_t size)
{
    uint32_t id = (uint32_t)s->jobs.count;
    struct sim_job *j = tc__sim_add(&s->jobs, sizeof *j);
    if (j == NULL) {
        return TC_E_NOMEM;
    }
    j->id = id;
    j->first_node = first;
    j->nodes = size;
    j->ranks = size * s->options.gpus_per_node;
    shape(j, s->options.gpus_per_node);
    set_times(s, j);
    for (uint32_t i = 0; i < size; i++) {
        s->nodes[first + i].use = SIM_TRAIN;
        s->nodes[first + i].job = id;
    }
    return TC_OK;
}

tc_status tc__sim_layout(struct tc_sim *s)
{
    uint32_t nodes = s->options.nodes;
    s->nodes = calloc(nodes, sizeof *s->nodes);
    if (s->nodes == NULL) {
        return TC_E_NOMEM;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        struct sim_node *n = &s->nodes[i];
        uint64_t d = draw(s, 1, i);
        n->job = SIM_NONE;
        /* Most clocks are kept by NTP; one in fifty is off by up to two seconds. */
        n->skew_ms = (int32_t)(sim_chance(d, 20000) ? sim_between(draw(s, 2, i), -2000, 2000)
                                                    : sim_between(draw(s, 2, i), -20, 20));
        if (sim_has(&s->options, TC_SIM_CLOCKS) && sim_chance(draw(s, 3, i), 500000)) {
            int64_t off_ms = sim_between(draw(s, 4, i), 30000, 120000);
            n->skew_ms = (int32_t)(draw(s, 5, i) % 2 == 0 ? off_ms : -off_ms);
        }
        n->pci_label = sim_chance(tc_random_mix(d), 700000);
        n->no_mem_temp = sim_chance(tc_random_mix(d + 1), 50000);
    }
    uint32_t people = nodes < 4 ? 0 : 1 + nodes / 20;
    uint32_t spare = nodes < 4 ? 0 : 1 + nodes / 24;
    uint32_t left = nodes - people - spare;
    uint32_t at = 0;
    for (uint32_t job = 0; left > 0; job++) {
        uint32_t size = next_size(nodes, job);
        while (size > left || (nodes < 64 && size > 1 && size * 4 > nodes)) {
            size /= 2;
        }
        TC_TRY(add_job(s, at, size));
        at += size;
        left -= size;
    }
    for (; people > 0; people--) {
        s->nodes[at++].use = SIM_DEV;
    }
    return TC_OK;
}
