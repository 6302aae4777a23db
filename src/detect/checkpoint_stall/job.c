/* SPDX-License-Identifier: Apache-2.0 */
/* What checkpoint_stall knows of jobs and pods as a whole: their steps, and checkpoints of all. */
#include "detect/checkpoint_stall/priv.h"
#include "detect/span_priv.h"

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

/* What a scope or writer belongs to as a whole: its job, and its pod; returns how many. */
static size_t wholes_of(struct tc_slice job, struct tc_slice ns, struct tc_slice pod,
                        struct ckpt_job out[2])
{
    size_t count = 0;
    if (job.len > 0) {
        out[count++] = (struct ckpt_job){.job = job};
    }
    if (pod.len > 0) {
        out[count++] = (struct ckpt_job){.ns = ns, .pod = pod};
    }
    return count;
}

bool tc__ckpt_ended_with_all(const struct checkpoint_stall *st, const struct ckpt_writer *w,
                             struct ckpt_over *out)
{
    struct ckpt_job keys[2];
    size_t count = wholes_of(w->job, w->ns, w->pod, keys);
    for (size_t i = 0; i < count; i++) {
        const struct ckpt_job *all = tc__window_get(&st->jobs, &keys[i]);
        if (all != NULL && all->end_ns != TC_TIME_NONE && all->end_ns >= w->begin_ns &&
            tc__ckpt_ends(w, all->end_step)) {
            *out = (struct ckpt_over){CKPT_ENDED, all->end_ns, all->end_raw};
            return true;
        }
    }
    return false;
}

bool tc__ckpt_step_since(const struct checkpoint_stall *st, const struct ckpt_writer *w,
                         struct ckpt_over *out)
{
    struct ckpt_job keys[2];
    size_t count = wholes_of(w->job, w->ns, w->pod, keys);
    for (size_t i = 0; i < count; i++) {
        const struct ckpt_job *all = tc__window_get(&st->jobs, &keys[i]);
        if (all != NULL && all->any_ns > w->begin_ns) {
            *out = (struct ckpt_over){CKPT_NEXT, all->any_ns, all->any_raw};
            return true;
        }
    }
    return false;
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
static void note_end(struct checkpoint_stall *st, struct ckpt_job *all, const struct tc_event *ev)
{
    (void)st;
    if (ev->time_ns > all->end_ns ||
        (ev->time_ns == all->end_ns && tc__raw_before(ev->raw, all->end_raw))) {
        all->end_ns = ev->time_ns;
        all->end_raw = ev->raw;
    }
    all->end_step = ev->train.step > all->end_step ? ev->train.step : all->end_step;
}

static void note_step(struct checkpoint_stall *st, struct ckpt_job *all, const struct tc_event *ev)
{
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
}

static tc_status note_all(struct checkpoint_stall *st, const struct tc_event *ev,
                          void (*note)(struct checkpoint_stall *st, struct ckpt_job *all,
                                       const struct tc_event *ev))
{
    struct ckpt_job keys[2];
    size_t count = wholes_of(ev->scope.job, ev->scope.ns, ev->scope.pod, keys);
    for (size_t i = 0; i < count; i++) {
        struct ckpt_job *all = job_made(st, keys[i]);
        if (all == NULL) {
            return TC_E_NOMEM;
        }
        note(st, all, ev);
    }
    return TC_OK;
}

tc_status tc__ckpt_on_end_of_all(struct checkpoint_stall *st, const struct tc_event *ev)
{
    return note_all(st, ev, note_end);
}

tc_status tc__ckpt_on_step(struct checkpoint_stall *st, const struct tc_event *ev)
{
    return note_all(st, ev, note_step);
}
