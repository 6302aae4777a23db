/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/k8s_priv.h"

static void write_node(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_format(b, "gpu-{}", tc_as_digits(arg->natural + 1, 4));
}

struct tc_arg tc__sim_node(uint32_t node)
{
    return (struct tc_arg){.write = write_node, .natural = node};
}

static void write_rack(struct tc_buf *b, const struct tc_arg *arg)
{
    tc_format(b, "rack-{}", tc_as_digits(arg->natural / SIM_NODES_PER_RACK + 1, 3));
}

struct tc_arg tc__sim_rack(uint32_t node)
{
    return (struct tc_arg){.write = write_rack, .natural = node};
}

static void write_uuid(struct tc_buf *b, const struct tc_arg *arg)
{
    uint64_t high = arg->natural;
    uint64_t low = arg->limit;
    tc_format(b, "{}-{}-4{}-{}-{}", tc_as_hex(high >> 32, 8), tc_as_hex(high >> 16 & 0xffff, 4),
              tc_as_hex(high & 0xfff, 3), tc_as_hex((low >> 48 & 0x3fff) | 0x8000, 4),
              tc_as_hex(low & UINT64_C(0xffffffffffff), 12));
}

struct tc_arg tc__sim_uuid(uint64_t high, uint64_t low)
{
    return (struct tc_arg){.write = write_uuid, .natural = high, .limit = low};
}

static struct tc_arg drawn_uuid(const struct tc_sim *s, enum sim_chance what, uint64_t a,
                                uint64_t c)
{
    return tc__sim_uuid(sim_draw(s->options.seed, what, a, 2 * c),
                        sim_draw(s->options.seed, what, a, 2 * c + 1));
}

struct tc_arg tc__sim_gpu_uuid(const struct tc_sim *s, uint32_t node, uint32_t gpu)
{
    return drawn_uuid(s, SIM_FOR_UUID, node, gpu);
}

uint32_t tc__sim_bus(uint32_t gpu)
{
    /* Eight as in a DGX H100, then as many in between. */
    static const uint8_t BUS[TC_SIM_GPUS_MAX] = {0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf,
                                                 0x23, 0x4b, 0x5a, 0x69, 0xa5, 0xcb, 0xd9, 0xe7};
    return BUS[gpu % TC_SIM_GPUS_MAX];
}

static void write_job(struct tc_buf *b, const struct tc_arg *arg)
{
    static const char *const NAMES[] = {"llm", "moe", "vision", "speech", "rl"};
    tc_format(b, "{}-{}", NAMES[arg->natural % 5], tc_as_digits(arg->natural + 1, 3));
}

struct tc_arg tc__sim_job_name(uint32_t job)
{
    return (struct tc_arg){.write = write_job, .natural = job};
}

static void write_pod(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct sim_pod *pod = arg->object;
    if (pod->job == SIM_NONE) {
        tc_format(b, "notebook-{}-{}", tc_as_digits(pod->dev / 8, 4), pod->dev % 8);
    } else {
        tc_format(b, "{}-worker-{}", tc__sim_job_name(pod->job), pod->k);
    }
}

struct tc_arg tc__sim_pod_name(const struct sim_pod *pod)
{
    return tc_as_written(write_pod, pod);
}

struct tc_arg tc__sim_pod_uid(const struct tc_sim *s, const struct sim_pod *pod)
{
    return pod->job == SIM_NONE ? drawn_uuid(s, SIM_FOR_POD_UID, UINT64_C(1) << 32, pod->dev)
                                : drawn_uuid(s, SIM_FOR_POD_UID, pod->job, pod->k);
}

uint32_t tc__sim_pid(const struct tc_sim *s, uint32_t node, uint32_t gpu)
{
    return 20000 + 3000 * gpu + sim_below(sim_draw(s->options.seed, SIM_FOR_DETAIL, node, 7), 2900);
}
