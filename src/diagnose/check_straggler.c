/* SPDX-License-Identifier: Apache-2.0 */
/* distributed_straggler: ranks, PCIe, NVLink, heat, NIC; each against its peers in the same run. */
#include "diagnose/checks_priv.h"

#include <string.h>

/* Steps spike: p99 against the median, and against the base's. */
#define SPIKES 1.3
#define SPIKES_OF_BASE 1.2
/* Slower than the base, if a node stands out: a straggler that is slow most of the time. */
#define STEPS_SLOWER 1.1
/* Differences below this share of the median are none, however even the peers are. */
#define LEAST_SPREAD 0.02
/* Slower than its peers by this much. */
#define RANK_SLOWER 1.1
#define CLOCK_RATIO 0.95
#define TEMP_MORE 8.0
#define TEMP_HOT 80.0
/* ns of a second that the driver slowed the GPU for heat: one per cent. */
#define VIOLATION_NS 1e7
/* NVML: software and hardware thermal slowdown. */
#define THERMAL_BITS 0x60
#define PCIE_REPLAYS 0.1
#define NVLINK_ERRORS 0.1
#define NIC_ERRORS 0.1
#define NIC_DROPS 10.0
#define PING_LOSS 0.01
#define ELSEWHERE 0.4 /* what is left of the strength where another node is the slow one */

/* ---- recognition ---- */

static double spikes_of(const struct tc__context *c, bool base, size_t *out_point)
{
    double most = (double)NAN;
    for (size_t point = 0; point < c->points.point_count; point++) {
        const struct tc_outcome *p99 = tc_points_outcome(&c->points, point, "step_time_p99_ms");
        const struct tc_outcome *p50 = tc_points_outcome(&c->points, point, "step_time_p50_ms");
        if (p99 == NULL || p50 == NULL) {
            continue;
        }
        double ratio = base ? p99->base / p50->base : p99->run / p50->run;
        if (!isnan(ratio) && !(ratio < most)) {
            most = ratio;
            *out_point = point;
        }
    }
    return most;
}

static bool one_stands_out(const struct tc_playbook *p)
{
    for (size_t i = 0; i < p->check_count; i++) {
        if (p->checks[i].answer == TC_CHECK_SUPPORTS &&
            p->checks[i].strength >= TC__CLAIM_STRENGTH) {
            return true;
        }
    }
    return false;
}

/* A detector's verdict on hardware of one node, which a check found in the telemetry of the run or
 * of its neighbours. */
static const struct tc_check *proven_fault(const struct tc_playbook *p)
{
    for (size_t i = 0; i < p->check_count; i++) {
        const struct tc_check *check = &p->checks[i];
        if (check->answer == TC_CHECK_SUPPORTS && check->verdict.len > 0 &&
            check->where.node.len > 0) {
            return check;
        }
    }
    return NULL;
}

/* Without step times, as of a server: all of it is slower, and a node has a proven fault. */
static enum tc_recognised recognise_slow_server(struct tc__context *c, struct tc_playbook *p)
{
    const struct tc_check *fault = proven_fault(p);
    struct tc_buf b = tc_buf_make(p->why, sizeof p->why - 1);
    const struct tc_outcome *least = NULL;
    for (size_t point = 0; point < c->points.point_count; point++) {
        const struct tc_outcome *o =
            tc_points_outcome(&c->points, point, "output_token_throughput");
        if (o != NULL && o->is_worse && !(least != NULL && least->ratio <= o->ratio)) {
            least = o;
        }
    }
    if (fault == NULL || least == NULL) {
        return TC_RECOGNISED_NO_DATA;
    }
    tc_format(&b, "output_token_throughput is {} times the base's, and node {} has a proven fault",
              tc_as_number(least->ratio), fault->where.node);
    p->why[b.len] = '\0';
    return TC_RECOGNISED_YES;
}

enum tc_recognised tc__recognise_straggler(struct tc__context *c, struct tc_playbook *p)
{
    size_t point = 0;
    double base = spikes_of(c, true, &point);
    double run = spikes_of(c, false, &point);
    struct tc_buf b = tc_buf_make(p->why, sizeof p->why - 1);
    if (isnan(run)) {
        return recognise_slow_server(c, p);
    }
    const struct tc_outcome *mean = tc_points_outcome(&c->points, point, "step_time_mean_ms");
    bool spikes = run >= SPIKES && !(run < SPIKES_OF_BASE * base);
    bool slower = mean != NULL && mean->ratio >= STEPS_SLOWER;
    tc_format(&b, "p99 of the step time is {} times its median{}", tc_as_number(run),
              tc__in_base(base, ""));
    if (mean != NULL && !isnan(mean->ratio)) {
        tc_format(&b, ", the mean {} times the base's", tc_as_number(mean->ratio));
    }
    p->why[b.len] = '\0';
    return spikes || (slower && one_stands_out(p)) ? TC_RECOGNISED_YES : TC_RECOGNISED_NO;
}

/* ---- the suspect ---- */

/* Weaker where the first check found another node to be the slow one. */
static void weigh_suspect(const struct tc_playbook *p, struct tc_check *out)
{
    const struct tc_check *ranks = &p->checks[0];
    bool known = p->check_count > 0 && ranks->answer == TC_CHECK_SUPPORTS &&
                 ranks->where.node.len > 0 && out->where.node.len > 0;
    if (known && out->answer == TC_CHECK_SUPPORTS &&
        !tc_slice_eq(ranks->where.node, out->where.node)) {
        out->strength *= ELSEWHERE;
        tc__check_say(out, "but the slow rank is on {}", ranks->where.node);
    }
}

struct rank_signal {
    enum tc__signal signal;
    int sign;
    const char *words;
    const char *unit;
    double strength;
};

/* A slow rank computes longer, and then waits least in the collective, as all others wait for it.
 */
static const struct rank_signal RANK_SIGNALS[] = {
    {TC__SIGNAL_STEP_SECONDS, 1, "its step takes", " s", 0.9},
    {TC__SIGNAL_MATMUL, 1, "its matrix products take", " us", 0.95},
    {TC__SIGNAL_COLLECTIVE_BANDWIDTH, -1, "its collectives reach", " GB/s", 0.8},
    {TC__SIGNAL_COLLECTIVE, -1, "it waits least in collectives:", " us", 0.7},
};

static bool judge_rank(struct tc__context *c, struct tc_check *out, const struct rank_signal *s)
{
    static const struct tc__want ranks = {.by = TC__BY_RANK, .how = TC__MEAN};
    struct tc__values values = tc__collect(c, TC__RUN, s->signal, &ranks);
    struct tc__odd_one odd = tc__odd_one_out(c, values, s->sign, LEAST_SPREAD);
    if (values.count == 0) {
        return false;
    }
    bool slower = odd.value != NULL && (s->sign > 0 ? odd.value->value >= RANK_SLOWER * odd.median
                                                    : odd.value->value * RANK_SLOWER <= odd.median);
    if (slower) {
        tc__check_say(out, "rank {}: {} {}{}, the others' {}{} (z {})", odd.value->key, s->words,
                      tc_as_number(odd.value->value), s->unit, tc_as_number(odd.median), s->unit,
                      tc_as_number(fmin(odd.z, 999)));
        tc__check_support(out, s->strength, odd.value->row);
        if (out->where.node.len == 0) {
            tc__check_where(out, odd.value->row);
        }
    }
    tc__check_proof(out, values.items[0].row);
    tc__check_oppose(out);
    return slower;
}

void tc__check_ranks(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    bool found = false;
    (void)p;
    for (size_t i = 0; i < TC_COUNT(RANK_SIGNALS); i++) {
        found |= judge_rank(c, out, &RANK_SIGNALS[i]);
    }
    if (!found && out->answer == TC_CHECK_CONTRADICTS) {
        tc__check_say(out, "no rank is slower than the others by {} %",
                      tc_as_number(100 * (RANK_SLOWER - 1)));
    }
}

/* ---- PCIe ---- */

/* A link below what it can do, while others are not: idle GPUs slow down theirs, all of them. */
static void judge_link(struct tc__context *c, struct tc_check *out, enum tc__signal now,
                       enum tc__signal most, const char *what)
{
    static const struct tc__want gpus = {.by = TC__BY_GPU, .how = TC__MIN};
    struct tc__values values = tc__collect(c, TC__RUN, now, &gpus);
    struct tc__values limits = tc__collect(c, TC__RUN, most, &gpus);
    const struct tc__value *worst = NULL;
    double worst_limit = (double)NAN;
    size_t below = 0;
    if (values.count == 0) {
        return;
    }
    double median = tc__median_of(c, values);
    for (size_t i = 0; i < values.count; i++) {
        const struct tc__value *limit = tc__find_value(limits, &values.items[i]);
        double can = limit != NULL ? limit->value : median;
        if (values.items[i].value < can) {
            below++;
            if (worst == NULL || values.items[i].value / can < worst->value / worst_limit) {
                worst = &values.items[i];
                worst_limit = can;
            }
        }
    }
    bool some = worst != NULL && 2 * below < values.count;
    if (some) {
        tc__check_say(out, "{} of a GPU of {}: {} {}, it can do {}", what,
                      tc_as_known(worst->row->node, "a node"), what, tc_as_number(worst->value),
                      tc_as_number(worst_limit));
        tc__check_support(out, 1.0, worst->row);
        tc__check_where(out, worst->row);
    } else {
        tc__check_say(out, "{}: {}", what,
                      worst == NULL ? "all GPUs as they can"
                                    : "most GPUs below what they can: idle?");
    }
    tc__check_proof(out, values.items[0].row);
    tc__check_oppose(out);
}

/* The GPU or node that alone has errors: rate at least `least`, and odd among its peers. */
static void judge_errors(struct tc__context *c, struct tc_check *out, enum tc__signal signal,
                         enum tc__by by, double least, double strength, const char *words)
{
    struct tc__want want = {.by = by, .how = TC__SUM};
    struct tc__values values = tc__collect(c, TC__RUN, signal, &want);
    if (values.count == 0) {
        return;
    }
    struct tc__odd_one odd = tc__odd_one_out(c, values, 1, LEAST_SPREAD);
    struct tc__values before = tc__collect(c, TC__BASE, signal, &want);
    const struct tc__value *most = odd.value;
    for (size_t i = 0; most == NULL && values.count < 4 && i < values.count; i++) {
        double base = tc__median_of(c, before);
        most = tc__is_up(values.items[i].value, base, 10, least) ? &values.items[i] : NULL;
    }
    if (most != NULL && most->value >= least) {
        tc__check_say(out, "{} of {}: {}/s, the others' median {}/s", words,
                      tc_as_known(most->row->node, "a node"), tc_as_number(most->value),
                      tc_as_number(tc__median_of(c, values)));
        tc__check_support(out, strength, most->row);
        tc__check_where(out, most->row);
    } else {
        tc__check_say(out, "{}: none stands out", words);
    }
    tc__check_proof(out, values.items[0].row);
    tc__check_oppose(out);
}

void tc__check_pcie(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    judge_link(c, out, TC__SIGNAL_PCIE_WIDTH, TC__SIGNAL_PCIE_WIDTH_MAX, "PCIe lanes");
    judge_link(c, out, TC__SIGNAL_PCIE_GEN, TC__SIGNAL_PCIE_GEN_MAX, "PCIe generation");
    judge_errors(c, out, TC__SIGNAL_PCIE_REPLAYS, TC__BY_GPU, PCIE_REPLAYS, 0.7, "PCIe replays");
    weigh_suspect(p, out);
}

void tc__check_nvlink(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    judge_errors(c, out, TC__SIGNAL_NVLINK_ERRORS, TC__BY_GPU, NVLINK_ERRORS, 1.0, "NVLink errors");
    weigh_suspect(p, out);
}

/* ---- heat ---- */

/* Hot is not slow: the clock must be lower than that of the others. */
static void judge_clock(struct tc__context *c, struct tc_check *out)
{
    static const struct tc__want gpus = {.by = TC__BY_GPU, .how = TC__MEAN};
    struct tc__values clocks = tc__collect(c, TC__RUN, TC__SIGNAL_SM_CLOCK, &gpus);
    struct tc__values temps = tc__collect(c, TC__RUN, TC__SIGNAL_GPU_TEMP, &gpus);
    struct tc__odd_one slow = tc__odd_one_out(c, clocks, -1, LEAST_SPREAD / 2);
    double median = tc__median_of(c, temps);
    const struct tc__value *hottest = NULL;
    for (size_t i = 0; i < temps.count; i++) {
        hottest =
            hottest == NULL || temps.items[i].value > hottest->value ? &temps.items[i] : hottest;
    }
    if (slow.value != NULL && slow.value->value <= CLOCK_RATIO * slow.median) {
        const struct tc__value *temp = tc__find_value(temps, slow.value);
        bool hot =
            temp != NULL && (temp->value >= median + TEMP_MORE || temp->row->max >= TEMP_HOT);
        tc__check_say(out, "a GPU of {} runs at {} MHz, the others at {}{}",
                      tc_as_known(slow.value->row->node, "a node"), tc_as_number(slow.value->value),
                      tc_as_number(slow.median),
                      tc_when(temp != NULL, ", up to {} C (median of all {})",
                              tc_as_number(temp != NULL ? temp->row->max : (double)NAN),
                              tc_as_number(median)));
        tc__check_support(out, hot ? 1.0 : 0.6, slow.value->row);
        tc__check_where(out, slow.value->row);
        tc__check_proof(out, temp != NULL ? temp->row : NULL);
    } else if (hottest != NULL && clocks.count > 0) {
        tc__check_say(out, "hottest: {} C on {}, at the clock of the others",
                      tc_as_number(hottest->value), tc_as_known(hottest->row->node, "a node"));
    }
    if (clocks.count > 0) {
        tc__check_proof(out, clocks.items[0].row);
        tc__check_oppose(out);
    }
}

static void judge_violation(struct tc__context *c, struct tc_check *out)
{
    struct tc__span reasons = c->spans[TC__RUN][TC__SIGNAL_GPU_THROTTLE];
    static const struct tc__want gpus = {.by = TC__BY_GPU, .how = TC__SUM};
    struct tc__values violation = tc__collect(c, TC__RUN, TC__SIGNAL_THERMAL_VIOLATION, &gpus);
    for (size_t i = 0; i < violation.count; i++) {
        if (violation.items[i].value >= VIOLATION_NS) {
            tc__check_say(out, "the driver slowed a GPU of {} for heat {} % of the time",
                          tc_as_known(violation.items[i].row->node, "a node"),
                          tc_as_number(violation.items[i].value / 1e7));
            tc__check_support(out, 0.95, violation.items[i].row);
            tc__check_where(out, violation.items[i].row);
            break;
        }
    }
    for (size_t i = 0; i < reasons.count; i++) {
        uint64_t bits = reasons.rows[i].max >= 0 && reasons.rows[i].max < 1e18
                            ? (uint64_t)reasons.rows[i].max
                            : 0;
        if ((bits & THERMAL_BITS) != 0) {
            tc__check_say(out, "a GPU of {} reports thermal slowdown",
                          tc_as_known(reasons.rows[i].node, "a node"));
            tc__check_support(out, 0.95, &reasons.rows[i]);
            tc__check_where(out, &reasons.rows[i]);
            break;
        }
    }
    if (violation.count + reasons.count > 0) {
        tc__check_oppose(out);
    }
}

void tc__check_thermal(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    judge_clock(c, out);
    judge_violation(c, out);
    weigh_suspect(p, out);
}

/* ---- NIC ---- */

static void judge_ping(struct tc__context *c, struct tc_check *out)
{
    static const struct tc__want best = {.by = TC__BY_NODE, .how = TC__MIN};
    struct tc__values values = tc__collect(c, TC__RUN, TC__SIGNAL_PING_LOSS, &best);
    struct tc__odd_one odd = tc__odd_one_out(c, values, 1, LEAST_SPREAD);
    if (values.count == 0) {
        return;
    }
    if (odd.value != NULL && odd.value->value >= PING_LOSS) {
        tc__check_say(out, "{} loses {} % of its pings to every other node, the median {} %",
                      odd.value->key, tc__as_percent(odd.value->value), tc__as_percent(odd.median));
        tc__check_support(out, 0.9, odd.value->row);
        tc__check_where(out, odd.value->row);
    } else {
        tc__check_say(out, "no node loses more pings than the others");
    }
    tc__check_proof(out, values.items[0].row);
    tc__check_oppose(out);
}

void tc__check_nic(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    judge_errors(c, out, TC__SIGNAL_IB_ERRORS, TC__BY_NODE, NIC_ERRORS, 1.0, "InfiniBand errors");
    judge_errors(c, out, TC__SIGNAL_NET_BAD, TC__BY_NODE, NIC_DROPS, 0.9, "dropped or bad packets");
    judge_errors(c, out, TC__SIGNAL_NET_FLAPS, TC__BY_NODE, 1.0 / 600, 0.9, "link changes");
    judge_ping(c, out);
    weigh_suspect(p, out);
}

/* ---- without it ---- */

static struct tc_slice suspect_of(const struct tc_playbook *p)
{
    for (size_t i = 0; i < p->check_count; i++) {
        if (p->checks[i].answer == TC_CHECK_SUPPORTS && p->checks[i].where.node.len > 0 &&
            p->checks[i].strength >= TC__CLAIM_STRENGTH) {
            return p->checks[i].where.node;
        }
    }
    return TC_EMPTY;
}

/* Whether the nodes of a run are known, and the suspect is not among them. */
static bool ran_without(const struct tc__context *c, struct tc_slice run, struct tc_slice node)
{
    bool known = false;
    for (size_t row = 0; row < c->other_nodes.row_count; row++) {
        if (tc_slice_eq(tc_answer_text(&c->other_nodes, row, 0), run)) {
            known = true;
            if (tc_slice_eq(tc_answer_text(&c->other_nodes, row, 1), node)) {
                return false;
            }
        }
    }
    return known;
}

void tc__check_without(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    size_t point = 0;
    double mine = spikes_of(c, false, &point);
    struct tc_slice suspect = suspect_of(p);
    for (size_t row = 0; suspect.len > 0 && row < c->others.row_count; row++) {
        struct tc_slice run = tc_answer_text(&c->others, row, TC__OTHER_RUN);
        if (tc_answer_int(&c->others, row, TC__OTHER_SAME) != 1 ||
            !tc_answer_known(&c->others, row, TC__OTHER_SPIKES) || !ran_without(c, run, suspect)) {
            continue;
        }
        double other = tc_answer_real(&c->others, row, TC__OTHER_SPIKES);
        tc__check_say(out,
                      "without {} (run {}) p99 of the step time is {} times its median, here {}",
                      suspect, run, tc_as_number(other), tc_as_number(mine));
        out->where.node = suspect;
        if (other * SPIKES_OF_BASE <= mine) {
            tc__check_support(out, 0.8, NULL);
        }
        tc__check_oppose(out);
        return;
    }
}
