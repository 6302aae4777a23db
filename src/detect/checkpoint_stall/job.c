/* SPDX-License-Identifier: Apache-2.0 */
/* What checkpoint_stall knows of jobs and pods as a whole: their steps, and checkpoints of all. */
#include "detect/checkpoint_stall/priv.h"

#define RING_BYTES ((size_t)1 << 20)

static const struct tc_record_type JOB = {
    .size = sizeof(struct ckpt_job),
    .text_min = 1,
    .texts = {TC_TEXT(struct ckpt_job, job), TC_TEXT(struct ckpt_job, ns),
              TC_TEXT(struct ckpt_job, pod)},
    .keys = {{TC_FIELD(struct ckpt_job, job), TC_FIELD(struct ckpt_job, ns),
              TC_FIELD(struct ckpt_job, pod)}},
};

bool tc__ckpt_jobs_init(struct checkpoint_stall *st)
{
    return tc__window_open(&st->jobs, &st->base, &JOB, RING_BYTES, TC_KEPT_ALWAYS);
}

/* What is known of a job or pod, made when it is not; NULL when scratch is full. */
static struct ckpt_job *job_made(struct checkpoint_stall *st, struct ckpt_job key)
{
    key.step = -1;
    key.end_step = -1;
    key.step_ns = TC_TIME_NONE;
    key.any_ns = TC_TIME_NONE;
    key.end_ns = TC_TIME_NONE;
    return tc__window_get_or_add(&st->jobs, &key, st->base.now_ns);
}

/* A checkpoint of all of the job, or the pod, ended that can be this writer's. */
static bool ended_with(const struct checkpoint_stall *st, const struct ckpt_writer *w,
                       const struct ckpt_job *key, struct ckpt_over *out)
{
    const struct ckpt_job *all = tc__window_get(&st->jobs, key);
    if (all == NULL || all->end_ns == TC_TIME_NONE || all->end_ns < w->begin_ns ||
        !(tc__ckpt_same_step(all->end_step, w->step) || all->end_step > w->step)) {
        return false;
    }
    *out = (struct ckpt_over){CKPT_ENDED, all->end_ns, all->end_raw};
    return true;
}

bool tc__ckpt_ended_with_all(const struct checkpoint_stall *st, const struct ckpt_writer *w,
                             struct ckpt_over *out)
{
    struct ckpt_job job = {.job = w->job};
    struct ckpt_job pod = {.ns = w->ns, .pod = w->pod};
    return (w->job.len > 0 && ended_with(st, w, &job, out)) ||
           (w->pod.len > 0 && ended_with(st, w, &pod, out));
}

/* Whether steps have ended since the writer began: then it writes beside the training. */
bool tc__ckpt_went_on(const struct checkpoint_stall *st, const struct ckpt_writer *w)
{
    struct ckpt_job key = {.job = w->job};
    const struct ckpt_job *job = w->job.len == 0 ? NULL : tc__window_get(&st->jobs, &key);
    return job != NULL && job->step_ns != TC_TIME_NONE && job->step_ns > w->begin_ns &&
           (w->step < 0 || job->step > w->step);
}

/* Who ends a checkpoint without saying its rank ends it for all ranks: DeepSpeed names the rank
 * where it begins, and not where it ends. */
static tc_status end_all(struct checkpoint_stall *st, const struct tc_event *ev,
                         struct ckpt_job key)
{
    struct ckpt_job *all = job_made(st, key);
    if (all == NULL) {
        return TC_E_NOMEM;
    }
    if (ev->time_ns > all->end_ns ||
        (ev->time_ns == all->end_ns && tc__raw_before(ev->raw, all->end_raw))) {
        all->end_ns = ev->time_ns;
        all->end_raw = ev->raw;
    }
    all->end_step = ev->train.step > all->end_step ? ev->train.step : all->end_step;
    return TC_OK;
}

tc_status tc__ckpt_on_end_of_all(struct checkpoint_stall *st, const struct tc_event *ev)
{
    const struct tc_scope *s = &ev->scope;
    if (s->job.len > 0) {
        TC_TRY(end_all(st, ev, (struct ckpt_job){.job = s->job}));
    }
    return s->pod.len > 0 ? end_all(st, ev, (struct ckpt_job){.ns = s->ns, .pod = s->pod}) : TC_OK;
}

static tc_status step_of(struct checkpoint_stall *st, const struct tc_event *ev,
                         struct ckpt_job key)
{
    struct ckpt_job *all = job_made(st, key);
    if (all == NULL) {
        return TC_E_NOMEM;
    }
    if (ev->time_ns > all->any_ns) {
        /* What a checkpoint waits for may have come. */
        st->moved = st->moved || all->any_ns <= st->newest_loop_ns;
        all->any_ns = ev->time_ns;
        all->any_raw = ev->raw;
    } else if (ev->time_ns == all->any_ns && tc__raw_before(ev->raw, all->any_raw)) {
        all->any_raw = ev->raw;
    }
    if (ev->train.step >= all->step && ev->time_ns >= all->step_ns) {
        all->step = ev->train.step;
        all->step_ns = ev->time_ns;
        all->head.seen_ns = st->base.now_ns;
    }
    return TC_OK;
}

tc_status tc__ckpt_on_step(struct checkpoint_stall *st, const struct tc_event *ev)
{
    const struct tc_scope *s = &ev->scope;
    if (s->job.len > 0) {
        TC_TRY(step_of(st, ev, (struct ckpt_job){.job = s->job}));
    }
    return s->pod.len > 0 ? step_of(st, ev, (struct ckpt_job){.ns = s->ns, .pod = s->pod}) : TC_OK;
}

static bool stepped(const struct checkpoint_stall *st, const struct ckpt_writer *w,
                    const struct ckpt_job *key, struct ckpt_over *out)
{
    const struct ckpt_job *all = tc__window_get(&st->jobs, key);
    if (all == NULL || all->any_ns <= w->begin_ns) {
        return false;
    }
    *out = (struct ckpt_over){CKPT_NEXT, all->any_ns, all->any_raw};
    return true;
}

bool tc__ckpt_step_since(const struct checkpoint_stall *st, const struct ckpt_writer *w,
                         struct ckpt_over *out)
{
    struct ckpt_job job = {.job = w->job};
    struct ckpt_job pod = {.ns = w->ns, .pod = w->pod};
    return (w->job.len > 0 && stepped(st, w, &job, out)) ||
           (w->pod.len > 0 && stepped(st, w, &pod, out));
}
