/* SPDX-License-Identifier: Apache-2.0 */
/* tail_latency_regression: queue, CPU throttling, restarts, DNS, a node pool of its own. */
#include "diagnose/checks_priv.h"

#include <string.h>

/* The playbook's own: p99 doubled, the mean up by less than a fifth. */
#define TAIL_RATIO 2.0
#define MEAN_RATIO 1.2
/* Of the rise of the tail, what the queue must explain to be the cause, or at least to matter. */
#define QUEUE_SHARE 0.3
#define QUEUE_SHARE_ALL 0.6
/* As Kubernetes' alert CPUThrottlingHigh: a quarter of the periods. */
#define THROTTLED_SHARE 0.25
#define THROTTLED_MORE 0.1
#define DNS_SECONDS 0.01
#define DNS_SERVFAIL 0.01
#define TIMES_BASE 3.0
/* Strength of a restart that shows nowhere else: below what is claimed. */
#define RESTART_ALONE 0.45

struct tc__pair tc__pair_of(struct tc__context *c, enum tc__signal signal,
                            const struct tc__want *want)
{
    return (struct tc__pair){tc__collect(c, TC__RUN, signal, want),
                             tc__collect(c, TC__BASE, signal, want)};
}

struct tc__pair tc__pair_quotient(struct tc__context *c, enum tc__signal a, enum tc__signal b,
                                  const struct tc__want *want)
{
    return (struct tc__pair){tc__quotient(c, TC__RUN, a, b, want),
                             tc__quotient(c, TC__BASE, a, b, want)};
}

double tc__share_up(struct tc__context *c, const struct tc__pair *p, double times, double least)
{
    double base = tc__median_of(c, p->base);
    size_t up = 0;
    for (size_t i = 0; i < p->run.count; i++) {
        up += tc__is_up(p->run.items[i].value, base, times, least);
    }
    return p->run.count == 0 ? 0 : (double)up / (double)p->run.count;
}

/* ---- recognition ---- */

/* A point and a latency. */
struct tail {
    const struct tc_outcome *p99;
    const struct tc_outcome *mean;
};

static struct tail worst_tail(const struct tc__context *c, bool only_tails)
{
    static const char *const names[][2] = {{"e2e_p99_ms", "e2e_mean_ms"},
                                           {"ttft_p99_ms", "ttft_mean_ms"},
                                           {"itl_p99_ms", "itl_mean_ms"},
                                           {"tpot_p99_ms", "tpot_mean_ms"}};
    struct tail worst = {NULL, NULL};
    for (size_t point = 0; point < c->points.point_count; point++) {
        for (size_t n = 0; n < TC_COUNT(names); n++) {
            const struct tc_outcome *p99 = tc_points_outcome(&c->points, point, names[n][0]);
            const struct tc_outcome *mean = tc_points_outcome(&c->points, point, names[n][1]);
            bool known = p99 != NULL && mean != NULL && !isnan(p99->ratio) && !isnan(mean->ratio);
            if (known && (!only_tails || mean->ratio < MEAN_RATIO) &&
                (worst.p99 == NULL || p99->ratio > worst.p99->ratio)) {
                worst = (struct tail){p99, mean};
            }
        }
    }
    return worst;
}

static void say_why(struct tc_playbook *p, const struct tail *t, const struct tc__context *c)
{
    struct tc_buf b = tc_buf_make(p->why, sizeof p->why - 1);
    tc_format(&b, "{} at {} is {} times the base's ({} ms, {} ms there), {} {} times",
              t->p99->series->name, c->points.points[t->p99->point].point->text,
              tc_as_number(t->p99->ratio), tc_as_number(t->p99->run), tc_as_number(t->p99->base),
              t->mean->series->name, tc_as_number(t->mean->ratio));
    p->why[b.len] = '\0';
}

enum tc_recognised tc__recognise_tail(struct tc__context *c, struct tc_playbook *p)
{
    struct tail t = worst_tail(c, true);
    bool is_tail = t.p99 != NULL && t.p99->ratio >= TAIL_RATIO;
    if (!is_tail) {
        t = worst_tail(c, false);
    }
    if (t.p99 == NULL) {
        return TC_RECOGNISED_NO_DATA;
    }
    say_why(p, &t, c);
    return is_tail ? TC_RECOGNISED_YES : TC_RECOGNISED_NO;
}

/* ---- queue ---- */

/* What the point says itself: p99 of the queueing delay against the rise of the tail. */
static bool judge_queue_outcome(struct tc__context *c, struct tc_check *out)
{
    struct tail t = worst_tail(c, true);
    const struct tc_outcome *queue =
        t.p99 == NULL ? NULL : tc_points_outcome(&c->points, t.p99->point, "queue_p99_ms");
    if (queue == NULL || isnan(queue->run) || isnan(queue->base)) {
        return false;
    }
    double rise = t.p99->run - t.p99->base;
    double share = rise > 0 ? (queue->run - queue->base) / rise : 0;
    tc__check_say(out, "p99 in the queue {} ms, {} ms in the base: {} % of the rise of {}",
                  tc_as_number(queue->run), tc_as_number(queue->base),
                  tc__as_percent(fmin(fmax(share, 0), 1)), t.p99->series->name);
    if (share >= QUEUE_SHARE) {
        tc__check_support(out, share >= QUEUE_SHARE_ALL ? 1.0 : 0.7,
                          c->spans[TC__RUN][TC__SIGNAL_QUEUE_SUM].rows);
    }
    tc__check_oppose(out);
    return true;
}

void tc__check_queue(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    static const struct tc__want all = {.by = TC__BY_ALL, .how = TC__SUM};
    (void)p;
    if (judge_queue_outcome(c, out)) {
        return;
    }
    struct tc__pair wait = tc__pair_quotient(c, TC__SIGNAL_QUEUE_SUM, TC__SIGNAL_QUEUE_COUNT, &all);
    struct tc__pair waiting = tc__pair_of(c, TC__SIGNAL_WAITING, &all);
    if (wait.run.count > 0) {
        double base = tc__mean_of(wait.base);
        tc__check_say(out, "mean time in the queue {} s{}", tc_as_number(wait.run.items[0].value),
                      tc__in_base(base, " s"));
        if (tc__is_up(wait.run.items[0].value, base, 2, 0.05)) {
            tc__check_support(out, 0.8, wait.run.items[0].row);
        }
        tc__check_oppose(out);
    }
    if (waiting.run.count > 0) {
        double base = tc__mean_of(waiting.base);
        tc__check_say(out, "{} requests waiting{}", tc_as_number(waiting.run.items[0].value),
                      tc__in_base(base, ""));
        if (tc__is_up(waiting.run.items[0].value, base, 2, 1)) {
            tc__check_support(out, 0.7, waiting.run.items[0].row);
        }
        tc__check_oppose(out);
    }
}

/* ---- throttling ---- */

/* The base's value of the same container; pods of another run have other names, so that the same
 * container of any pod serves. */
static double base_of(struct tc__values base, const struct tc__value *v)
{
    const struct tc__value *same = tc__find_value(base, v);
    double most = (double)NAN;
    for (size_t i = 0; same == NULL && i < base.count; i++) {
        if (tc_slice_eq(base.items[i].detail, v->detail)) {
            most = isnan(most) ? base.items[i].value : fmax(most, base.items[i].value);
        }
    }
    return same != NULL ? same->value : most;
}

void tc__throttling(struct tc__context *c, struct tc_check *out)
{
    static const struct tc__want want = {.by = TC__BY_CONTAINER, .how = TC__SUM};
    struct tc__pair share =
        tc__pair_quotient(c, TC__SIGNAL_CFS_THROTTLED, TC__SIGNAL_CFS_PERIODS, &want);
    const struct tc__value *worst = NULL;
    double worst_base = (double)NAN;
    size_t more = 0;
    for (size_t i = 0; i < share.run.count; i++) {
        const struct tc__value *v = &share.run.items[i];
        double base = base_of(share.base, v);
        bool is_up = v->value >= THROTTLED_SHARE && !(v->value < base + THROTTLED_MORE);
        more += is_up;
        bool was_up = worst != NULL && worst->value >= THROTTLED_SHARE &&
                      !(worst->value < worst_base + THROTTLED_MORE);
        if (worst == NULL || (is_up && !was_up) || (is_up == was_up && v->value > worst->value)) {
            worst = v;
            worst_base = base;
        }
    }
    if (worst == NULL) {
        return;
    }
    tc__check_say(out, "container {} of {}: {} % of its CPU periods throttled{}",
                  tc_as_known(worst->detail, "?"),
                  tc_slice_or(tc__point_value(worst->row->point, "pod"), worst->key),
                  tc__as_percent(worst->value), tc__in_base(100 * worst_base, " %"));
    if (more > 0) {
        tc__check_say(out, "{} of {} containers", more, share.run.count);
        tc__check_support(out, isnan(worst_base) ? 0.8 : 0.95, worst->row);
        tc__check_where(out, worst->row);
    }
    tc__check_proof(out, worst->row);
    tc__check_oppose(out);
}

void tc__check_throttling(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    (void)p;
    tc__throttling(c, out);
}

/* ---- restarts ---- */

/* Whether a pod serves: it has requests, or was not ready for a while, which a watcher noticed. */
static bool pod_matters(const struct tc__context *c, const struct tc__row *restarted)
{
    struct tc_slice pod = tc__point_value(restarted->point, "pod");
    static const enum tc__signal serving[] = {TC__SIGNAL_WAITING, TC__SIGNAL_QUEUE_COUNT};
    for (size_t s = 0; s < TC_COUNT(serving); s++) {
        struct tc__span span = c->spans[TC__RUN][serving[s]];
        for (size_t i = 0; pod.len > 0 && i < span.count; i++) {
            if (tc_slice_eq(tc__point_value(span.rows[i].point, "pod"), pod)) {
                return true;
            }
        }
    }
    struct tc__span ready = c->spans[TC__RUN][TC__SIGNAL_POD_READY];
    for (size_t i = 0; i < ready.count; i++) {
        if (ready.rows[i].min < 1 && restarted->pod_uid.len > 0 &&
            tc_slice_eq(ready.rows[i].pod_uid, restarted->pod_uid)) {
            return true;
        }
    }
    return false;
}

static void judge_restarts(struct tc__context *c, struct tc_check *out)
{
    struct tc__span span = c->spans[TC__RUN][TC__SIGNAL_RESTARTS];
    const struct tc__row *found = NULL;
    bool matters = false;
    for (size_t i = 0; i < span.count; i++) {
        if (span.rows[i].max > 0 && (found == NULL || !matters)) {
            bool this_matters = pod_matters(c, &span.rows[i]);
            found = found == NULL || this_matters ? &span.rows[i] : found;
            matters = matters || this_matters;
        }
    }
    if (found != NULL) {
        tc__check_say(out, "{} restarted{}",
                      tc_as_known(tc__point_value(found->point, "pod"), "a pod"),
                      matters ? "" : ", and nothing says that it serves this run");
        tc__check_support(out, matters ? 0.95 : RESTART_ALONE, found);
        tc__check_where(out, found);
    } else if (span.count > 0) {
        tc__check_say(out, "no container restarted");
    }
}

static void judge_replicas(struct tc__context *c, struct tc_check *out)
{
    struct tc__span span = c->spans[TC__RUN][TC__SIGNAL_REPLICAS];
    struct tc__span wanted = c->spans[TC__RUN][TC__SIGNAL_REPLICAS_WANTED];
    for (size_t i = 0; i < span.count; i++) {
        if (span.rows[i].min < span.rows[i].max) {
            tc__check_say(out, "{} had {} to {} pods available",
                          tc_as_known(tc__point_value(span.rows[i].point, "deployment"), "it"),
                          tc_as_number(span.rows[i].min), tc_as_number(span.rows[i].max));
            tc__check_support(out, 0.9, &span.rows[i]);
        }
    }
    if (span.count > 0 && out->answer == TC_CHECK_NO_DATA) {
        tc__check_say(out, "as many pods available throughout");
    }
    for (size_t i = 0; i < wanted.count; i++) {
        if (wanted.rows[i].min < wanted.rows[i].max) {
            tc__check_say(out, "scaled between {} and {} pods", tc_as_number(wanted.rows[i].min),
                          tc_as_number(wanted.rows[i].max));
            tc__check_support(out, 0.8, &wanted.rows[i]);
        }
    }
}

/* Events of Kubernetes that mean a pod was away, and how much they weigh. */
static const struct {
    const char *reason;
    double strength;
} REASONS[] = {{"OOMKilling", 0.9}, {"Evicted", 0.9},       {"BackOff", 0.85},
               {"Preempted", 0.85}, {"NodeNotReady", 0.85}, {"Unhealthy", 0.8},
               {"Killing", 0.7},    {"FailedMount", 0.6},   {"SuccessfulRescale", 0.7}};

/* How often an event of this reason was seen; in the base of any object. */
static double events_of(const struct tc__context *c, enum tc__side side, const char *reason)
{
    struct tc__span span = c->spans[side][TC__SIGNAL_EVENTS];
    double count = 0;
    for (size_t i = 0; i < span.count; i++) {
        if (tc_slice_eq(tc__point_value(span.rows[i].point, "reason"), tc_slice_cstr(reason))) {
            count += isnan(span.rows[i].max) ? 1 : span.rows[i].max;
        }
    }
    return count;
}

static void judge_events(struct tc__context *c, struct tc_check *out)
{
    struct tc__span span = c->spans[TC__RUN][TC__SIGNAL_EVENTS];
    for (size_t i = 0; i < span.count; i++) {
        struct tc_slice reason = tc__point_value(span.rows[i].point, "reason");
        size_t row = tc_slice_row(reason, REASONS, reason);
        if (row < TC_COUNT(REASONS) && events_of(c, TC__RUN, REASONS[row].reason) >
                                           events_of(c, TC__BASE, REASONS[row].reason)) {
            tc__check_say(out, "event {} of {}", reason,
                          tc_as_known(tc__point_value(span.rows[i].point, "name"), "an object"));
            tc__check_support(out, REASONS[row].strength, &span.rows[i]);
            if (out->where.pod.len == 0) {
                out->where.pod = tc__point_value(span.rows[i].point, "name");
            }
        }
    }
    if (span.count > 0 && out->answer == TC_CHECK_NO_DATA) {
        tc__check_say(out, "no event of a pod that went away");
    }
}

/* Pods of kube-state-metrics have no node; others of their metrics have. */
static void find_node(const struct tc__context *c, struct tc_check *out)
{
    for (enum tc__signal s = 0; s < TC__SIGNALS && out->where.node.len == 0; s++) {
        struct tc__span span = c->spans[TC__RUN][s];
        for (size_t i = 0; i < span.count && out->where.node.len == 0; i++) {
            bool same = out->where.pod.len > 0 &&
                        tc_slice_eq(tc__point_value(span.rows[i].point, "pod"), out->where.pod);
            out->where.node = same ? span.rows[i].node : TC_EMPTY;
        }
    }
}

void tc__check_restarts(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    (void)p;
    judge_restarts(c, out);
    judge_replicas(c, out);
    judge_events(c, out);
    if (tc__has(c, TC__RUN, TC__SIGNAL_RESTARTS) || tc__has(c, TC__RUN, TC__SIGNAL_REPLICAS) ||
        tc__has(c, TC__RUN, TC__SIGNAL_EVENTS)) {
        tc__check_oppose(out);
    }
    if (out->answer == TC_CHECK_SUPPORTS) {
        find_node(c, out);
    }
}

/* ---- DNS ---- */

static double servfail_share(struct tc__context *c, enum tc__side side)
{
    struct tc__span span = c->spans[side][TC__SIGNAL_DNS_RESPONSES];
    double all = 0;
    double bad = 0;
    for (size_t i = 0; i < span.count; i++) {
        double rate = isnan(span.rows[i].mean) ? 0 : span.rows[i].mean;
        all += rate;
        bad += tc_slice_eq(tc__point_value(span.rows[i].point, "rcode"), TC_LIT("SERVFAIL")) ? rate
                                                                                             : 0;
    }
    return all > 0 ? bad / all : (double)NAN;
}

void tc__check_dns(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    static const struct tc__want all = {.by = TC__BY_ALL, .how = TC__SUM};
    struct tc__pair mean = tc__pair_quotient(c, TC__SIGNAL_DNS_SUM, TC__SIGNAL_DNS_COUNT, &all);
    double failed = servfail_share(c, TC__RUN);
    double failed_base = servfail_share(c, TC__BASE);
    (void)p;
    if (mean.run.count > 0) {
        double base = tc__mean_of(mean.base);
        double run = mean.run.items[0].value;
        tc__check_say(out, "a DNS request takes {} ms{}", tc_as_number(1000 * run),
                      tc__in_base(1000 * base, " ms"));
        if (tc__is_up(run, base, TIMES_BASE, DNS_SECONDS)) {
            tc__check_support(out, 0.95, mean.run.items[0].row);
        }
        tc__check_proof(out, mean.run.items[0].row);
        tc__check_oppose(out);
    }
    if (!isnan(failed)) {
        tc__check_say(out, "{} % of answers SERVFAIL{}", tc__as_percent(failed),
                      tc__in_base(100 * failed_base, " %"));
        if (tc__is_up(failed, failed_base, TIMES_BASE, DNS_SERVFAIL)) {
            tc__check_support(out, 0.9, c->spans[TC__RUN][TC__SIGNAL_DNS_RESPONSES].rows);
        }
        tc__check_oppose(out);
    }
}

/* ---- a pool of its own ---- */

void tc__check_dedicated(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    struct tail t = worst_tail(c, false);
    const struct tc_outcome *mine =
        t.p99 == NULL ? NULL : tc_points_outcome(&c->points, t.p99->point, "e2e_p99_ms");
    (void)p;
    for (size_t row = 0; mine != NULL && row < c->others.row_count; row++) {
        bool is_dedicated =
            tc_slice_eq(tc_answer_text(&c->others, row, TC__OTHER_TENANTS), TC_LIT("dedicated"));
        if (!is_dedicated || tc_answer_int(&c->others, row, TC__OTHER_SAME) != 1 ||
            !tc_answer_known(&c->others, row, TC__OTHER_P99)) {
            continue;
        }
        double other = tc_answer_real(&c->others, row, TC__OTHER_P99);
        tc__check_say(out, "on a dedicated pool (run {}) e2e_p99_ms is {}, here {}",
                      tc_answer_text(&c->others, row, TC__OTHER_RUN), tc_as_number(other),
                      tc_as_number(mine->run));
        if (other <= 0.7 * mine->run) {
            tc__check_support(out, 0.8, NULL);
        }
        tc__check_oppose(out);
        return;
    }
}
