/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler_backpressure: Kueue's quota, admission, Slurm's idle nodes, constraints of the pods. */
#include "diagnose/checks_priv.h"

#include <string.h>

/* Of a ClusterQueue's nominal quota. */
#define QUOTA_FULL 0.95
/* Waits of more than a minute, and three times the base's, are long. */
#define WAIT_SECONDS 60.0
#define WAIT_ALONE 300.0 /* without a base */
#define TIMES_BASE 3.0
/* One more than in the base waits, on average. */
#define PENDING_MORE 1.0
#define UTIL_RATIO 0.85
#define UTIL_LOW 60.0
#define REJECTIONS 0.02 /* per second: more than one a minute */
#define WEBHOOK_SECONDS 1.0
#define RECONCILE_ERRORS 0.1
#define WORK_ITEMS 5.0
#define WORK_SECONDS 10.0

static const struct tc__want ALL = {.by = TC__BY_ALL, .how = TC__SUM};
static const struct tc__want QUEUES = {
    .by = TC__BY_LABEL, .how = TC__SUM, .label = "cluster_queue"};
static const struct tc__want GPU_QUOTA = {.by = TC__BY_LABEL,
                                          .how = TC__SUM,
                                          .label = "cluster_queue",
                                          .key = "resource",
                                          .equals = "nvidia.com/gpu"};

static double base_or_zero(struct tc__values base, const struct tc__value *v)
{
    const struct tc__value *same = tc__find_value(base, v);
    return same != NULL ? same->value : 0;
}

/* The value that grew most over its base by more than one. NULL: none. */
static const struct tc__value *most_grown(const struct tc__pair *p, double *out_base)
{
    const struct tc__value *most = NULL;
    double by = PENDING_MORE;
    for (size_t i = 0; i < p->run.count; i++) {
        double base = base_or_zero(p->base, &p->run.items[i]);
        if (p->run.items[i].value - base >= by && p->run.items[i].value >= 2 * base) {
            by = p->run.items[i].value - base;
            most = &p->run.items[i];
            *out_base = base;
        }
    }
    return most;
}

static bool is_long(double run, double base)
{
    return isnan(base) ? run >= WAIT_ALONE : tc__is_up(run, base, TIMES_BASE, WAIT_SECONDS);
}

/* ---- recognition ---- */

struct waiting {
    enum tc__signal signal;
    struct tc__want want;
    const char *words;
};

static const struct waiting WAITING[] = {
    {TC__SIGNAL_KUEUE_PENDING,
     {.by = TC__BY_LABEL, .how = TC__SUM, .label = "cluster_queue"},
     "workloads wait in Kueue"},
    {TC__SIGNAL_SCHEDULER_PENDING,
     {.by = TC__BY_ALL, .how = TC__SUM, .key = "queue", .equals = "unschedulable"},
     "pods cannot be scheduled"},
    {TC__SIGNAL_SLURM_PENDING,
     {.by = TC__BY_LABEL, .how = TC__SUM, .label = "partition"},
     "jobs wait in Slurm"},
    {TC__SIGNAL_WORK_DEPTH,
     {.by = TC__BY_LABEL, .how = TC__SUM, .label = "name"},
     "jobs wait for their controller"},
};

static bool say_waiting(struct tc__context *c, struct tc_buf *b)
{
    bool any = false;
    for (size_t i = 0; i < TC_COUNT(WAITING); i++) {
        struct tc__pair p = tc__pair_of(c, WAITING[i].signal, &WAITING[i].want);
        double base = 0;
        const struct tc__value *most = most_grown(&p, &base);
        if (most != NULL) {
            tc_format(b, "{}{} {} ({} in the base)", any ? ", " : "", tc_as_number(most->value),
                      WAITING[i].words, tc_as_number(base));
            any = true;
        }
    }
    struct tc__pair wait =
        tc__pair_quotient(c, TC__SIGNAL_KUEUE_ADMIT_SUM, TC__SIGNAL_KUEUE_ADMIT_COUNT, &ALL);
    if (wait.run.count > 0 && is_long(wait.run.items[0].value, tc__mean_of(wait.base))) {
        tc_format(b, "{}{} s until admission", any ? ", " : "",
                  tc_as_number(wait.run.items[0].value));
        any = true;
    }
    return any;
}

static bool has_scheduling(const struct tc__context *c)
{
    for (enum tc__signal s = TC__SIGNAL_KUEUE_PENDING; s < TC__SIGNALS; s++) {
        if (tc__has(c, TC__RUN, s)) {
            return true;
        }
    }
    return false;
}

enum tc_recognised tc__recognise_scheduler(struct tc__context *c, struct tc_playbook *p)
{
    static const struct tc__want gpus = {.by = TC__BY_GPU, .how = TC__MEAN};
    struct tc__pair util = tc__pair_of(c, TC__SIGNAL_GPU_UTIL, &gpus);
    double run = tc__mean_of(util.run);
    double base = tc__mean_of(util.base);
    struct tc_buf b = tc_buf_make(p->why, sizeof p->why - 1);
    if (!has_scheduling(c)) {
        return TC_RECOGNISED_NO_DATA;
    }
    bool waits = say_waiting(c, &b);
    bool idle = isnan(base) ? run < UTIL_LOW : run <= UTIL_RATIO * base;
    if (!waits) {
        tc_format(&b, "nothing waits longer than in the base");
    }
    if (!isnan(run)) {
        tc_format(&b, "; GPUs busy {} %{}", tc_as_number(run), tc__in_base(base, " %"));
    }
    p->why[b.len] = '\0';
    bool strong = false;
    for (size_t i = 0; i < p->check_count; i++) {
        strong |= p->checks[i].answer == TC_CHECK_SUPPORTS && p->checks[i].strength >= 0.8;
    }
    return waits || (idle && strong) ? TC_RECOGNISED_YES : TC_RECOGNISED_NO;
}

/* ---- Kueue ---- */

void tc__check_quota(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    struct tc__pair pending = tc__pair_of(c, TC__SIGNAL_KUEUE_PENDING, &QUEUES);
    struct tc__pair wait =
        tc__pair_quotient(c, TC__SIGNAL_KUEUE_WAIT_SUM, TC__SIGNAL_KUEUE_WAIT_COUNT, &ALL);
    struct tc__values full =
        tc__quotient(c, TC__RUN, TC__SIGNAL_KUEUE_USAGE, TC__SIGNAL_KUEUE_QUOTA, &GPU_QUOTA);
    double base = 0;
    const struct tc__value *most = most_grown(&pending, &base);
    const struct tc__value *used = most == NULL ? NULL : tc__find_value(full, most);
    double waited = wait.run.count > 0 ? wait.run.items[0].value : (double)NAN;
    double waited_base = tc__mean_of(wait.base);
    (void)p;
    if (pending.run.count == 0 && wait.run.count == 0) {
        return;
    }
    if (most != NULL) {
        tc__check_say(out, "ClusterQueue {}: {} workloads pending ({} in the base)", most->key,
                      tc_as_number(most->value), tc_as_number(base));
        tc__check_proof(out, most->row);
    } else if (pending.run.count > 0) {
        tc__check_say(out, "no ClusterQueue has more pending workloads than in the base");
    }
    if (used != NULL) {
        tc__check_say(out, "{} % of its GPU quota used", tc__as_percent(used->value));
        tc__check_proof(out, used->row);
    }
    if (!isnan(waited)) {
        tc__check_say(out, "quota after {} s{}", tc_as_number(waited),
                      tc__in_base(waited_base, " s"));
    }
    bool is_full = used != NULL && used->value >= QUOTA_FULL;
    bool waits = !isnan(waited) && is_long(waited, waited_base);
    if (most != NULL && (is_full || (waits && used == NULL))) {
        tc__check_support(out, is_full ? 1.0 : 0.8, most->row);
    } else if (waits && pending.run.count == 0) {
        tc__check_support(out, 0.7, wait.run.items[0].row);
    }
    tc__check_oppose(out);
}

/* ---- admission ---- */

struct admission {
    enum tc__signal signal;
    enum tc__signal per; /* TC__SIGNALS: as it is */
    double times;
    double least;
    double strength;
    const char *words;
    const char *unit;
};

static const struct admission ADMISSION[] = {
    {TC__SIGNAL_KUEUE_CHECK_SUM, TC__SIGNAL_KUEUE_CHECK_COUNT, TIMES_BASE, WAIT_SECONDS, 0.95,
     "admission checks take", " s"},
    {TC__SIGNAL_WEBHOOK_REJECTIONS, TC__SIGNALS, TIMES_BASE, REJECTIONS, 0.9, "webhooks reject",
     "/s"},
    {TC__SIGNAL_WEBHOOK_SUM, TC__SIGNAL_WEBHOOK_COUNT, TIMES_BASE, WEBHOOK_SECONDS, 0.85,
     "a webhook takes", " s"},
    {TC__SIGNAL_RECONCILE_ERRORS, TC__SIGNALS, 5, RECONCILE_ERRORS, 0.85, "controllers fail",
     " times/s"},
    {TC__SIGNAL_WORK_DEPTH, TC__SIGNALS, TIMES_BASE, WORK_ITEMS, 0.8,
     "items in controllers' queues:", ""},
    {TC__SIGNAL_WORK_SUM, TC__SIGNAL_WORK_COUNT, TIMES_BASE, WORK_SECONDS, 0.85,
     "an item waits for its controller", " s"},
};

static void judge_admission(struct tc__context *c, struct tc_check *out, const struct admission *a)
{
    struct tc__pair p = a->per == TC__SIGNALS ? tc__pair_of(c, a->signal, &ALL)
                                              : tc__pair_quotient(c, a->signal, a->per, &ALL);
    if (p.run.count == 0) {
        return;
    }
    double base = tc__mean_of(p.base);
    double run = p.run.items[0].value;
    if (tc__is_up(run, base, a->times, a->least)) {
        tc__check_say(out, "{} {}{}{}", a->words, tc_as_number(run), a->unit,
                      tc__in_base(base, ""));
        tc__check_support(out, a->strength, p.run.items[0].row);
    }
    tc__check_proof(out, p.run.items[0].row);
    tc__check_oppose(out);
}

/* Warnings about the objects of training operators, of which the base had none. */
static void judge_job_events(struct tc__context *c, struct tc_check *out)
{
    struct tc__span span = c->spans[TC__RUN][TC__SIGNAL_EVENTS];
    for (size_t i = 0; i < span.count; i++) {
        struct tc_slice point = span.rows[i].point;
        struct tc_slice kind = tc__point_value(point, "kind");
        if (tc_slice_eq(tc__point_value(point, "type"), TC_LIT("Warning")) &&
            tc_slice_is_any(kind, "PyTorchJob", "MPIJob", "TFJob", "TrainJob", "XGBoostJob",
                            "PaddleJob", "JAXJob", "RayJob", "RayCluster", "JobSet", "Job")) {
            tc__check_say(out, "event {} of {} {}", tc__point_value(point, "reason"), kind,
                          tc__point_value(point, "name"));
            tc__check_support(out, 0.8, &span.rows[i]);
        }
    }
}

void tc__check_admission(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    (void)p;
    for (size_t i = 0; i < TC_COUNT(ADMISSION); i++) {
        judge_admission(c, out, &ADMISSION[i]);
    }
    judge_job_events(c, out);
    if (out->answer == TC_CHECK_CONTRADICTS) {
        tc__check_say(out,
                      "webhooks, controllers and admission checks are as quick as in the base");
    }
}

/* ---- Slurm ---- */

void tc__check_fragmentation(struct tc__context *c, const struct tc_playbook *p,
                             struct tc_check *out)
{
    static const struct tc__want partitions = {
        .by = TC__BY_LABEL, .how = TC__SUM, .label = "partition"};
    struct tc__pair pending = tc__pair_of(c, TC__SIGNAL_SLURM_PENDING, &partitions);
    struct tc__values idle = tc__collect(c, TC__RUN, TC__SIGNAL_SLURM_IDLE, &partitions);
    struct tc__values largest = tc__collect(c, TC__RUN, TC__SIGNAL_SLURM_LARGEST, &partitions);
    double base = 0;
    (void)p;
    if (pending.run.count == 0) {
        return;
    }
    const struct tc__value *most = most_grown(&pending, &base);
    const struct tc__value *free_nodes = most == NULL ? NULL : tc__find_value(idle, most);
    const struct tc__value *wanted = most == NULL ? NULL : tc__find_value(largest, most);
    tc__check_proof(out, pending.run.items[0].row);
    if (most == NULL) {
        tc__check_say(out, "no partition has more pending jobs than in the base");
    } else if (free_nodes == NULL) {
        tc__check_say(out, "partition {}: {} jobs pending; idle nodes are not known", most->key,
                      tc_as_number(most->value));
        return;
    } else {
        bool fits =
            free_nodes->value >= 1 && (wanted == NULL || free_nodes->value >= wanted->value);
        tc__check_say(out, "partition {}: {} jobs pending, {} nodes idle{}", most->key,
                      tc_as_number(most->value), tc_as_number(free_nodes->value),
                      tc_when(wanted != NULL, ", the largest job wants {}",
                              tc_as_number(wanted != NULL ? wanted->value : (double)NAN)));
        if (fits) {
            tc__check_support(out, wanted != NULL ? 1.0 : 0.6, free_nodes->row);
        }
    }
    tc__check_oppose(out);
}

/* ---- constraints ---- */

/* Plugins of the scheduler that keep a pod out for what it asks for, not for what is free. */
static bool is_constraint(struct tc_slice plugin)
{
    return tc_slice_is_any(plugin, "NodeAffinity", "TaintToleration", "InterPodAffinity",
                           "PodTopologySpread", "NodeName", "NodePorts", "VolumeBinding",
                           "VolumeZone", "VolumeRestrictions", "NodeUnschedulable",
                           "DynamicResources");
}

static size_t failed_scheduling(const struct tc__context *c, enum tc__side side,
                                const struct tc__row **out_row)
{
    struct tc__span span = c->spans[side][TC__SIGNAL_EVENTS];
    size_t pods = 0;
    for (size_t i = 0; i < span.count; i++) {
        if (tc_slice_eq(tc__point_value(span.rows[i].point, "reason"),
                        TC_LIT("FailedScheduling"))) {
            pods++;
            *out_row = &span.rows[i];
        }
    }
    return pods;
}

/* The scheduler's events, which do not say why: they support where its metrics are not there. */
static void judge_failed_scheduling(struct tc__context *c, struct tc_check *out)
{
    const struct tc__row *row = NULL;
    const struct tc__row *base = NULL;
    size_t pods = failed_scheduling(c, TC__RUN, &row);
    if (pods > failed_scheduling(c, TC__BASE, &base)) {
        tc__check_say(out, "event FailedScheduling of {} pods", pods);
        if (out->answer != TC_CHECK_CONTRADICTS) {
            tc__check_support(out, 0.6, row);
            out->where.pod = tc__point_value(row->point, "name");
        }
    }
}

void tc__check_constraints(struct tc__context *c, const struct tc_playbook *p, struct tc_check *out)
{
    static const struct tc__want plugins = {.by = TC__BY_LABEL, .how = TC__SUM, .label = "plugin"};
    struct tc__pair kept_out = tc__pair_of(c, TC__SIGNAL_UNSCHEDULABLE, &plugins);
    const struct tc__value *most = NULL;
    double most_by = PENDING_MORE;
    (void)p;
    for (size_t i = 0; i < kept_out.run.count; i++) {
        const struct tc__value *v = &kept_out.run.items[i];
        double by = v->value - base_or_zero(kept_out.base, v);
        if (is_constraint(v->key) && by >= most_by) {
            most = v;
            most_by = by;
        }
    }
    if (most != NULL) {
        tc__check_say(out, "{} keeps {} pods from every node ({} in the base)", most->key,
                      tc_as_number(most->value), tc_as_number(base_or_zero(kept_out.base, most)));
        tc__check_support(out, 1.0, most->row);
    } else if (kept_out.run.count > 0) {
        tc__check_say(out,
                      "affinities, taints and topology keep no more pods out than in the base");
        tc__check_proof(out, kept_out.run.items[0].row);
        tc__check_oppose(out);
    }
    judge_failed_scheduling(c, out);
}
