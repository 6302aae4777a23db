/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_priv.h"

/* Zero-padded decimal. */
static void put_digits(struct tc_buf *b, uint32_t value, uint32_t digits)
{
    for (uint32_t unit = 1, left = digits; left > 1; left--) {
        unit *= 10;
        if (value < unit) {
            for (; left > 1; left--) {
                tc_buf_char(b, '0');
            }
            break;
        }
    }
    tc_buf_u64(b, value);
}

void tc__sim_node_name(struct tc_buf *b, uint32_t node)
{
    tc_buf_lit(b, "gpu-");
    put_digits(b, node + 1, 4);
}

void tc__sim_rack_name(struct tc_buf *b, uint32_t node)
{
    tc_buf_lit(b, "rack-");
    put_digits(b, node / SIM_NODES_PER_RACK + 1, 3);
}

void tc__sim_uuid(struct tc_buf *b, uint64_t high, uint64_t low)
{
    tc_buf_hex(b, high >> 32, 8);
    tc_buf_char(b, '-');
    tc_buf_hex(b, high >> 16 & 0xffff, 4);
    tc_buf_lit(b, "-4");
    tc_buf_hex(b, high & 0xfff, 3);
    tc_buf_char(b, '-');
    tc_buf_hex(b, (low >> 48 & 0x3fff) | 0x8000, 4);
    tc_buf_char(b, '-');
    tc_buf_hex(b, low & UINT64_C(0xffffffffffff), 12);
}

static void put_drawn_uuid(const struct tc_sim *s, struct tc_buf *b, enum sim_chance what,
                           uint64_t a, uint64_t c)
{
    tc__sim_uuid(b, sim_draw(s->options.seed, what, a, 2 * c),
                 sim_draw(s->options.seed, what, a, 2 * c + 1));
}

void tc__sim_gpu_uuid(const struct tc_sim *s, struct tc_buf *b, uint32_t node, uint32_t gpu)
{
    tc_buf_lit(b, "GPU-");
    put_drawn_uuid(s, b, SIM_FOR_UUID, node, gpu);
}

uint32_t tc__sim_bus(uint32_t gpu)
{
    /* Eight as in a DGX H100, then as many in between. */
    static const uint8_t BUS[TC_SIM_GPUS_MAX] = {0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf,
                                                 0x23, 0x4b, 0x5a, 0x69, 0xa5, 0xcb, 0xd9, 0xe7};
    return BUS[gpu % TC_SIM_GPUS_MAX];
}

void tc__sim_job_name(struct tc_buf *b, uint32_t job)
{
    static const char *const NAMES[] = {"llm", "moe", "vision", "speech", "rl"};
    tc_buf_str(b, tc_slice_cstr(NAMES[job % 5]));
    tc_buf_char(b, '-');
    put_digits(b, job + 1, 3);
}

void tc__sim_pod_name(struct tc_buf *b, uint32_t job, uint32_t k)
{
    tc__sim_job_name(b, job);
    tc_buf_lit(b, "-worker-");
    tc_buf_u64(b, k);
}

void tc__sim_pod_uid(const struct tc_sim *s, struct tc_buf *b, uint32_t job, uint32_t k)
{
    put_drawn_uuid(s, b, SIM_FOR_POD_UID, job, k);
}

void tc__sim_dev_name(struct tc_buf *b, uint32_t dev)
{
    tc_buf_lit(b, "notebook-");
    put_digits(b, dev / 8, 4);
    tc_buf_char(b, '-');
    tc_buf_u64(b, dev % 8);
}

void tc__sim_dev_uid(const struct tc_sim *s, struct tc_buf *b, uint32_t dev)
{
    put_drawn_uuid(s, b, SIM_FOR_POD_UID, UINT64_C(1) << 32, dev);
}

uint32_t tc__sim_pid(const struct tc_sim *s, uint32_t node, uint32_t gpu)
{
    return 20000 + 3000 * gpu + sim_below(sim_draw(s->options.seed, SIM_FOR_DETAIL, node, 7), 2900);
}
