/* SPDX-License-Identifier: Apache-2.0 */
/* low_gpu_utilization: CPU throttling, data loader, storage, network, a rerun on cached input. */
#include "diagnose/checks_priv.h"

#include <string.h>

/* The playbook's own: throughput down by a fifth. */
#define THROUGHPUT_RATIO 0.8
#define STEP_RATIO 1.25
/* Low: against the base, or, without one, as such. */
#define UTIL_RATIO 0.85
#define UTIL_LOW 60.0
#define ACTIVE_RATIO 0.85
#define POWER_RATIO 0.9
/* What holds for half of the nodes holds for the job. */
#define MOST 0.5

/* ---- recognition ---- */

static const struct tc_outcome *worst_throughput(const struct tc__context *c)
{
    static const char *const names[] = {"tokens_per_second_per_gpu", "tokens_per_second",
                                        "samples_per_second", "output_token_throughput"};
    const struct tc_outcome *worst = NULL;
    for (size_t point = 0; point < c->points.point_count; point++) {
        for (size_t n = 0; n < TC_COUNT(names); n++) {
            const struct tc_outcome *o = tc_points_outcome(&c->points, point, names[n]);
            if (o != NULL && !isnan(o->ratio) && (worst == NULL || o->ratio < worst->ratio)) {
                worst = o;
            }
        }
    }
    return worst;
}

/* A kernel of a collective that waits counts as utilisation: activity of the multiprocessors, and
 * power, show what it hides. */
struct busy {
    const char *name;
    double run;
    double base;
    bool is_low;
};

static struct busy busy_of(struct tc__context *c, enum tc__signal signal, const char *name,
                           double ratio, double low)
{
    static const struct tc__want gpus = {.by = TC__BY_GPU, .how = TC__MEAN};
    struct tc__pair p = tc__pair_of(c, signal, &gpus);
    struct busy b = {name, tc__mean_of(p.run), tc__mean_of(p.base), false};
    b.is_low = isnan(b.base) ? b.run < low : b.run <= ratio * b.base;
    return b;
}

enum tc_recognised tc__recognise_starved(struct tc__context *c, struct tc_playbook *p)
{
    const struct tc_outcome *o = worst_throughput(c);
    const struct busy all[] = {
        busy_of(c, TC__SIGNAL_GPU_UTIL, "GPU utilisation", UTIL_RATIO, UTIL_LOW),
        busy_of(c, TC__SIGNAL_SM_ACTIVE, "SM activity", ACTIVE_RATIO, 0),
        busy_of(c, TC__SIGNAL_GPU_POWER, "GPU power", POWER_RATIO, 0)};
    struct tc_buf b = tc_buf_make(p->why, sizeof p->why - 1);
    bool low = false;
    bool known = false;
    if (o == NULL) {
        return TC_RECOGNISED_NO_DATA;
    }
    tc_format(&b, "{} is {} times the base's", o->series->name, tc_as_number(o->ratio));
    for (size_t i = 0; i < TC_COUNT(all); i++) {
        if (!isnan(all[i].run)) {
            tc_format(&b, ", {} {}{}", all[i].name, tc_as_number(all[i].run),
                      tc__in_base(all[i].base, ""));
        }
        known |= !isnan(all[i].run);
        low |= all[i].is_low;
    }
    p->why[b.len] = '\0';
    if (o->ratio > THROUGHPUT_RATIO) {
        return TC_RECOGNISED_NO;
    }
    return !known ? TC_RECOGNISED_NO_DATA : low ? TC_RECOGNISED_YES : TC_RECOGNISED_NO;
}

void tc__check_starved_throttling(struct tc__context *c, const struct tc_playbook *p,
                                  struct tc_check *out)
{
    (void)p;
    tc__throttling(c, out);
}

/* ---- one signal that most nodes share ---- */

struct limit {
    const char *words; /* "{}" is the median, then the base's */
    const char *unit;
    double times;
    double least;
    double scale; /* for people */
    double strength;
};

/* Whether it is up on most nodes (or ranks); what it is, is said. */
static bool judge_spread(struct tc__context *c, struct tc_check *out, const struct tc__pair *p,
                         const struct limit *l)
{
    if (p->run.count == 0) {
        return false;
    }
    double share = tc__share_up(c, p, l->times, l->least);
    double run = tc__median_of(c, p->run);
    double base = tc__median_of(c, p->base);
    bool is_up = share >= MOST;
    tc__check_say(
        out, "{} {}{}{}{}", l->words, tc_as_number(l->scale * run), l->unit,
        tc_when(!isnan(base), " ({}{} in the base)", tc_as_number(l->scale * base), l->unit),
        tc_when(is_up && p->run.count > 1, " on {} % of {}", tc__as_percent(share),
                p->run.items[0].row->node.len > 0 ? "nodes" : "series"));
    if (is_up) {
        tc__check_support(out, l->strength, p->run.items[0].row);
    }
    tc__check_proof(out, p->run.items[0].row);
    tc__check_oppose(out);
    return is_up;
}

/* ---- data loader ---- */

void tc__check_loader(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    static const struct tc__want idle = {
        .by = TC__BY_NODE, .how = TC__MEAN, .key = "mode", .equals = "idle"};
    static const struct tc__want nodes = {.by = TC__BY_NODE, .how = TC__MEAN};
    static const struct tc__want ranks = {.by = TC__BY_RANK, .how = TC__MEAN};
    static const struct limit loading = {"waiting for input", " % of the step", 2, 20, 1, 0.8};
    static const struct limit pressure = {
        "tasks waited for a CPU", " % of the time", 3, 0.3, 100, 0.9};
    struct tc__pair loads = tc__pair_of(c, TC__SIGNAL_DATA_LOADING, &ranks);
    struct tc__pair waits = tc__pair_of(c, TC__SIGNAL_CPU_PRESSURE, &nodes);
    struct tc__pair cpu = tc__pair_of(c, TC__SIGNAL_NODE_CPU, &idle);
    (void)p;
    bool slow = judge_spread(c, out, &loads, &loading);
    bool full = judge_spread(c, out, &waits, &pressure);
    if (cpu.run.count > 0) {
        double run = tc__median_of(c, cpu.run);
        double base = tc__median_of(c, cpu.base);
        tc__check_say(out, "CPUs idle {} %{}", tc__as_percent(run), tc__in_base(100 * base, " %"));
        bool busy = run <= 0.1 && !(base < 0.25);
        if (busy) {
            tc__check_support(out, 0.9, cpu.run.items[0].row);
        }
        full |= busy;
        tc__check_oppose(out);
    }
    if (slow && full) {
        out->strength = 1;
    }
}

/* ---- storage ---- */

void tc__check_storage(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    static const struct tc__want nodes = {.by = TC__BY_NODE, .how = TC__SUM};
    static const struct tc__want reads = {
        .by = TC__BY_NODE, .how = TC__SUM, .key = "operation", .equals = "READ"};
    static const struct limit disk = {"a read of the disk takes", " ms", 3, 0.005, 1000, 0.9};
    static const struct limit nfs = {"a read over NFS takes", " ms", 3, 0.02, 1000, 0.95};
    static const struct limit pressure = {
        "tasks waited for storage", " % of the time", 3, 0.2, 100, 0.85};
    static const struct limit busy = {"disks busy", " % of the time", 1.5, 0.9, 100, 0.7};
    struct tc__pair disk_reads =
        tc__pair_quotient(c, TC__SIGNAL_DISK_READ_TIME, TC__SIGNAL_DISK_READS, &nodes);
    struct tc__pair nfs_reads =
        tc__pair_quotient(c, TC__SIGNAL_NFS_TIME, TC__SIGNAL_NFS_REQUESTS, &reads);
    struct tc__pair waits = tc__pair_of(c, TC__SIGNAL_IO_PRESSURE, &nodes);
    struct tc__pair busy_disks = tc__pair_of(c, TC__SIGNAL_DISK_BUSY, &nodes);
    (void)p;
    (void)judge_spread(c, out, &disk_reads, &disk);
    (void)judge_spread(c, out, &nfs_reads, &nfs);
    (void)judge_spread(c, out, &waits, &pressure);
    (void)judge_spread(c, out, &busy_disks, &busy);
}

/* ---- network ---- */

/* Collectives slower everywhere while the arithmetic is as fast as before. */
static void judge_collectives(struct tc__context *c, struct tc_check *out)
{
    static const struct tc__want ranks = {.by = TC__BY_RANK, .how = TC__MEAN};
    static const struct limit slow = {"a collective takes", " us", 1.5, 0, 1, 0.55};
    struct tc__pair collective = tc__pair_of(c, TC__SIGNAL_COLLECTIVE, &ranks);
    struct tc__pair matmul = tc__pair_of(c, TC__SIGNAL_MATMUL, &ranks);
    double grown = tc__median_of(c, matmul.run) / tc__median_of(c, matmul.base);
    if (collective.base.count > 0 && !(grown > 1.2)) {
        (void)judge_spread(c, out, &collective, &slow);
    }
}

void tc__check_network(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    static const struct tc__want nodes = {.by = TC__BY_NODE, .how = TC__SUM};
    /* The best of a node's targets: one bad node does not make all others bad. */
    static const struct tc__want best = {.by = TC__BY_NODE, .how = TC__MIN};
    static const struct limit loss = {"packets lost", " %", 3, 0.01, 100, 0.85};
    static const struct limit rtt = {"round trips take", " ms", 3, 1, 1, 0.8};
    static const struct limit again = {"TCP segments sent again", " %", 5, 0.005, 100, 0.85};
    static const struct limit bad = {"packets dropped or bad", "/s", 10, 10, 1, 0.85};
    static const struct limit wait = {"InfiniBand ports wait", " ticks/s", 10, 1e5, 1, 0.85};
    struct tc__pair losses = tc__pair_of(c, TC__SIGNAL_PING_LOSS, &best);
    struct tc__pair rtts = tc__pair_of(c, TC__SIGNAL_PING_RTT, &best);
    struct tc__pair resent =
        tc__pair_quotient(c, TC__SIGNAL_TCP_RETRANSMITS, TC__SIGNAL_TCP_SENT, &nodes);
    struct tc__pair dropped = tc__pair_of(c, TC__SIGNAL_NET_BAD, &nodes);
    struct tc__pair waits = tc__pair_of(c, TC__SIGNAL_IB_WAIT, &nodes);
    (void)p;
    (void)judge_spread(c, out, &losses, &loss);
    (void)judge_spread(c, out, &rtts, &rtt);
    (void)judge_spread(c, out, &resent, &again);
    (void)judge_spread(c, out, &dropped, &bad);
    (void)judge_spread(c, out, &waits, &wait);
    judge_collectives(c, out);
}

/* ---- cached input ---- */

void tc__check_cached(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    const struct tc_outcome *mine = NULL;
    (void)p;
    for (size_t point = 0; point < c->points.point_count && mine == NULL; point++) {
        mine = tc_points_outcome(&c->points, point, "tokens_per_second_per_gpu");
    }
    for (size_t row = 0; mine != NULL && row < c->others.row_count; row++) {
        struct tc_slice dataset = tc_answer_text(&c->others, row, TC__OTHER_DATASET);
        struct tc_slice name = tc_answer_text(&c->others, row, TC__OTHER_NAME);
        bool cached = tc_slice_contains_any(dataset, "synthetic", "cached", "dummy", "fake") ||
                      tc_slice_contains_any(name, "synthetic", "cached");
        if (!cached || !tc_answer_known(&c->others, row, TC__OTHER_TOKENS)) {
            continue;
        }
        double other = tc_answer_real(&c->others, row, TC__OTHER_TOKENS);
        tc__check_say(out, "on cached input (run {}) a GPU does {} tokens/s, here {}",
                      tc_answer_text(&c->others, row, TC__OTHER_RUN), tc_as_number(other),
                      tc_as_number(mine->run));
        if (other >= 1.2 * mine->run) {
            tc__check_support(out, 0.8, NULL);
        }
        tc__check_oppose(out);
        return;
    }
}
