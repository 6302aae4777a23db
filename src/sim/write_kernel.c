/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's kernel log as rsyslog writes it: what was planned, between what kernels
 * say all day. A few lines are lost, as when the journal limits the rate.
 */
#include "sim/feed_priv.h"
#include "sim/otlp_priv.h"

#define LOST_PPM 500
/* Lines that the kernel wrote together come together. */
#define TOGETHER (50 * SIM_MS)
#define TOGETHER_MAX 64
#define LINE_ROOM 4096

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

/* Goes on to the next line that is not lost. */
static void find_line(struct sim_kernel *k)
{
    const struct tc_sim *s = k->sim;
    for (;;) {
        bool planned = k->lines.at < k->lines.end && k->lines.at->at_ns <= k->chatter;
        if (!planned && k->chatter >= s->end_ns) {
            if (k->lines.at == k->lines.end) {
                k->at_ns = TC_TIME_MAX;
                return;
            }
            planned = true;
        }
        uint64_t d = sim_draw(s->options.seed, SIM_FOR_CHATTER, k->node, k->turn++);
        if (!planned) {
            k->at_ns = k->chatter;
            k->text = TC_EMPTY;
            k->luck = d;
            k->chatter += sim_between(d, 10000, 90000) * SIM_MS;
            return;
        }
        const struct sim_line *line = k->lines.at++;
        if (!sim_chance(d, LOST_PPM / 100 * s->noise_percent)) {
            k->at_ns = line->at_ns;
            k->text = line->text;
            return;
        }
    }
}

void tc__sim_kernel_begin(struct sim_kernel *k, const struct tc_sim *s, uint32_t node)
{
    *k = (struct sim_kernel){.sim = s,
                             .node = node,
                             .lines = tc__sim_lines(s, SIM_KERNEL, node),
                             .chatter = s->options.start_ns + sim_between(node, 0, 60000) * SIM_MS};
    find_line(k);
}

/* The line that it stands on, as rsyslog writes it. */
static void put_line(const struct sim_kernel *k, struct tc_buf *b)
{
    put_prefix(k->sim, b, k->node, k->at_ns);
    if (k->text.len > 0) {
        tc_buf_str(b, k->text);
    } else {
        put_chatter(b, k->luck);
    }
}

void tc__sim_write_kernel(const struct tc_sim *s, uint32_t node, struct sim_out *out)
{
    struct sim_kernel k;
    for (tc__sim_kernel_begin(&k, s, node); k.at_ns != TC_TIME_MAX; find_line(&k)) {
        if (!tc__sim_drain(out)) {
            return;
        }
        put_line(&k, &out->b);
        tc_buf_char(&out->b, '\n');
    }
}

/* As the Collector's filelog receiver sends a line of /var/log/kern.log. */
static void put_record(const struct sim_kernel *k, struct tc_buf *b)
{
    char text[LINE_ROOM];
    struct tc_buf line = tc_buf_make(text, sizeof text);
    put_line(k, &line);
    int64_t local = k->at_ns + k->sim->nodes[k->node].skew_ms * SIM_MS;
    tc_buf_lit(b, "{\"timeUnixNano\":\"");
    tc_buf_i64(b, local / 1000 * 1000); /* the line has microseconds */
    tc_buf_lit(b, "\",\"body\":{\"stringValue\":");
    tc_buf_json(b, tc_buf_slice(&line));
    tc_buf_lit(b, "},\"attributes\":[");
    tc__sim_put_string(b, TC_LIT("log.file.name"), TC_LIT("kern.log"));
    tc_buf_lit(b, "]}");
}

void tc__sim_kernel_step(struct sim_kernel *k, const struct sim_sink *sink)
{
    struct tc_buf *b = sink->begin(sink->context);
    if (b == NULL) {
        return;
    }
    char name[SIM_NAME_MAX];
    struct tc_buf n = tc_buf_make(name, sizeof name);
    tc__sim_node_name(&n, k->node);
    tc_buf_lit(b, "{\"resource\":{\"attributes\":[");
    tc__sim_put_string(b, TC_LIT("host.name"), tc_buf_slice(&n));
    tc_buf_lit(b, "]},\"scopeLogs\":[{\"scope\":{},\"logRecords\":[");
    int64_t until = k->at_ns + TOGETHER;
    uint32_t records = 0;
    while (k->at_ns <= until && k->at_ns != TC_TIME_MAX && records < TOGETHER_MAX) {
        tc_buf_str(b, records > 0 ? TC_LIT(",") : TC_EMPTY);
        put_record(k, b);
        records++;
        find_line(k);
    }
    tc_buf_lit(b, "]}]}");
    sink->end(sink->context, records);
}
