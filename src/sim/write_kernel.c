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
    char text[TC_PUT_TIME_MAX];
    struct tc_buf second = tc_buf_make(text, sizeof text);
    tc_buf_time(&second, local - local % TC_SECOND);
    second.len--; /* the "Z" */
    tc_format(b, "{}.{}+00:00 {}{} kernel: ", tc_buf_slice(&second),
              tc_as_digits((uint64_t)(local % TC_SECOND) / 1000, 6), tc__sim_node(node),
              sim_has(&s->options, TC_SIM_NAMES) ? ".dc1.example.net" : "");
}

/* Nobody's fault. */
static void put_chatter(struct tc_buf *b, uint64_t luck)
{
    uint32_t number = sim_below(tc_random_mix(luck), 1u << 24);
    switch (sim_below(luck, 6)) {
    case 0:
        tc_format(b, "IPv6: ADDRCONF(NETDEV_CHANGE): cali{}: link becomes ready",
                  tc_as_hex(number, 8));
        break;
    case 1:
        tc_format(b,
                  "perf: interrupt took too long ({} > 2500), lowering "
                  "kernel.perf_event_max_sample_rate to 79000",
                  2500 + number % 4000);
        break;
    case 2:
        tc_format(
            b,
            "audit: type=1400 audit(0.0:{}): apparmor=\"STATUS\" operation=\"profile_replace\" "
            "profile=\"unconfined\" name=\"cri-containerd.apparmor.d\" "
            "comm=\"apparmor_parser\"",
            number);
        break;
    case 3:
        tc_format(b, "eth0: renamed from tmp{}", tc_as_hex(number, 5));
        break;
    case 4:
        tc_format(b, "nvidia-uvm: Loaded the UVM driver, major device number 508.");
        break;
    default:
        tc_format(b, "overlayfs: upperdir is in-use as upperdir/workdir of another mount, "
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

static bool begin(void *source, const struct tc_sim *s, uint32_t node)
{
    struct sim_kernel *k = source;
    *k = (struct sim_kernel){.sim = s,
                             .node = node,
                             .lines = tc__sim_lines(s, SIM_KERNEL, node),
                             .chatter = s->options.start_ns + sim_between(node, 0, 60000) * SIM_MS};
    find_line(k);
    return true;
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

void tc__sim_write_kernel(const struct tc_sim *s, const struct sim_file *f, struct sim_out *out)
{
    struct sim_kernel k;
    for ((void)begin(&k, s, f->which); k.at_ns != TC_TIME_MAX; find_line(&k)) {
        if (!tc__sim_drain(out)) {
            return;
        }
        put_line(&k, &out->b);
        tc_buf_char(&out->b, '\n');
    }
}

static void step_file(void *source, const struct sim_sink *sink)
{
    struct sim_kernel *k = source;
    struct tc_buf *b = sink->begin(sink->context);
    if (b != NULL) {
        put_line(k, b);
        tc_buf_char(b, '\n');
        sink->end(sink->context, 1);
    }
    find_line(k);
}

/* As the Collector's filelog receiver sends a line of /var/log/kern.log. */
static void put_record(const struct sim_kernel *k, struct tc_json_out *j)
{
    char text[LINE_ROOM];
    struct tc_buf line = tc_buf_make(text, sizeof text);
    put_line(k, &line);
    int64_t local = k->at_ns + k->sim->nodes[k->node].skew_ms * SIM_MS;
    /* The line has microseconds. */
    const struct sim_record record = {.at_ns = local / 1000 * 1000, .body = tc_buf_slice(&line)};
    tc__sim_begin_record(j, &record);
    tc__sim_put_string(j, "log.file.name", TC_LIT("kern.log"));
    tc__sim_end(j, "]}");
}

/* The lines that belong together, as one element. */
static void step(void *source, const struct sim_sink *sink)
{
    struct sim_kernel *k = source;
    struct tc_buf *b = sink->begin(sink->context);
    if (b == NULL) {
        return;
    }
    struct tc_json_out j = tc_json_out_make(b);
    tc__sim_begin_resource(&j);
    tc__sim_put(&j, "host.name", "{}", tc__sim_node(k->node));
    tc__sim_end(&j, "]}");
    tc__sim_begin_records(&j, NULL);
    int64_t until = k->at_ns + TOGETHER;
    uint32_t records = 0;
    while (k->at_ns <= until && k->at_ns != TC_TIME_MAX && records < TOGETHER_MAX) {
        put_record(k, &j);
        records++;
        find_line(k);
    }
    tc__sim_end_records(&j);
    sink->end(sink->context, records);
}

const struct sim_source_type tc__sim_kernel_source = {.size = sizeof(struct sim_kernel),
                                                      .signal = TC_SIM_LOGS,
                                                      .begin = begin,
                                                      .step = step,
                                                      .step_file = step_file};
