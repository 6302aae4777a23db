/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's kernel log as rsyslog writes it: what was planned, between what kernels
 * say all day. A few lines are lost, as when the journal limits the rate.
 */
#include "sim/file_priv.h"

#define LOST_PPM 500

static void put_prefix(const struct tc_sim *s, struct tc_buf *b, uint32_t node, int64_t at_ns)
{
    int64_t local = at_ns + s->nodes[node].skew_ms * SIM_MS;
    struct tc_civil c;
    tc_time_to_civil(local, &c);
    char *p = tc_buf_begin(b, 64);
    if (p == NULL) {
        return;
    }
    p = tc_put_u64(p, (uint64_t)c.year);
    *p++ = '-';
    p = tc_put_two(p, (uint32_t)c.month);
    *p++ = '-';
    p = tc_put_two(p, (uint32_t)c.day);
    *p++ = 'T';
    p = tc_put_two(p, (uint32_t)c.hour);
    *p++ = ':';
    p = tc_put_two(p, (uint32_t)c.minute);
    *p++ = ':';
    p = tc_put_two(p, (uint32_t)c.second);
    *p++ = '.';
    uint32_t micros = (uint32_t)c.nanos / 1000;
    p = tc_put_two(p, micros / 10000);
    p = tc_put_two(p, micros / 100 % 100);
    p = tc_put_two(p, micros % 100);
    p = tc_put_lit(p, "+00:00 ");
    tc_buf_end(b, p);
    tc__sim_node_name(b, node);
    tc_buf_lit(b, " kernel: ");
}

/* Nobody's fault. */
static void put_chatter(struct tc_buf *b, uint64_t luck)
{
    uint32_t number = sim_below(sim_mix(luck), 1u << 24);
    switch (sim_below(luck, 6)) {
    case 0:
        tc_buf_lit(b, "IPv6: ADDRCONF(NETDEV_CHANGE): cali");
        tc_buf_hex(b, number, 8);
        tc_buf_lit(b, ": link becomes ready");
        break;
    case 1:
        tc_buf_lit(b, "perf: interrupt took too long (");
        tc_buf_u64(b, 2500 + number % 4000);
        tc_buf_lit(b, " > 2500), lowering kernel.perf_event_max_sample_rate to 79000");
        break;
    case 2:
        tc_buf_lit(b, "audit: type=1400 audit(0.0:");
        tc_buf_u64(b, number);
        tc_buf_lit(b, "): apparmor=\"STATUS\" operation=\"profile_replace\" profile=\"unconfined\" "
                      "name=\"cri-containerd.apparmor.d\" comm=\"apparmor_parser\"");
        break;
    case 3:
        tc_buf_lit(b, "eth0: renamed from tmp");
        tc_buf_hex(b, number, 5);
        break;
    case 4:
        tc_buf_lit(b, "nvidia-uvm: Loaded the UVM driver, major device number 508.");
        break;
    default:
        tc_buf_lit(b, "overlayfs: upperdir is in-use as upperdir/workdir of another mount, "
                      "accessing files from both mounts will result in undefined behavior.");
        break;
    }
}

void tc__sim_write_kernel(const struct tc_sim *s, uint32_t node, struct sim_out *out)
{
    struct sim_lines lines = tc__sim_lines(s, SIM_KERNEL, node);
    uint64_t turn = 0;
    int64_t chatter = s->options.start_ns + sim_between(node, 0, 60000) * SIM_MS;
    while (tc__sim_drain(out)) {
        bool planned = lines.at < lines.end && lines.at->at_ns <= chatter;
        if (!planned && chatter >= s->end_ns) {
            if (lines.at == lines.end) {
                break;
            }
            planned = true;
        }
        uint64_t d = sim_draw(s->options.seed, SIM_FOR_CHATTER, node, turn++);
        if (!planned) {
            put_prefix(s, &out->b, node, chatter);
            put_chatter(&out->b, d);
            tc_buf_char(&out->b, '\n');
            chatter += sim_between(d, 10000, 90000) * SIM_MS;
            continue;
        }
        if (!sim_chance(d, LOST_PPM / 100 * s->noise_percent)) {
            put_prefix(s, &out->b, node, lines.at->at_ns);
            tc_buf_str(&out->b, lines.at->text);
            tc_buf_char(&out->b, '\n');
        }
        lines.at++;
    }
}
