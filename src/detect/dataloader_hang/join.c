/* SPDX-License-Identifier: Apache-2.0 */
/* The stall of a pod, and the evidence that makes a verdict of it. */
#include "detect/dataloader_hang/priv.h"

/* How much later than its end a step may have been seen: samples are taken that far apart. */
#define SAMPLING_NS (60 * TC_SECOND)
/* How much longer than the steps before it a step must take before it counts as stalled. */
#define PACE_FACTOR 2
#define WARM_UP_STEP 1
/* A watched pod is looked at so often while the threshold passes, without any event of its own. */
#define LOOKS 8

static int64_t dl_patience(const struct dl_pod *pod, const struct dl_limits *limits)
{
    int64_t usual_ns = PACE_FACTOR * pod->pace_ns;
    return usual_ns > limits->threshold_ns ? usual_ns : limits->threshold_ns;
}

static int64_t checkpoint_end(const struct dl_pod *pod, const struct dl_job *job)
{
    int64_t end_ns = pod->checkpoint.end_ns;
    return job == NULL ? end_ns : tc__dl_max(end_ns, job->checkpoint.end_ns);
}

static int64_t dl_silent_since(const struct dl_pod *pod, const struct dl_job *job)
{
    return pod->progress.known ? tc__dl_max(pod->progress.time_ns, checkpoint_end(pod, job))
                               : TC_TIME_NONE;
}

/*
 * The loader failed while a checkpoint was written beside the training, and the training stopped
 * with the error rather than with the checkpoint: that is nearer to where the stall begins.
 */
static bool stopped_with(const struct dl_sign *error, const struct dl_checkpoint *c,
                         int64_t start_ns)
{
    int64_t apart_ns = error->time_ns - start_ns;
    return error->known && error->time_ns > c->begin_ns && start_ns > c->begin_ns &&
           (apart_ns < 0 ? -apart_ns : apart_ns) < start_ns - c->begin_ns;
}

/*
 * A checkpoint that began at the last step and has not ended is why no step
 * ends. One that began when the stall was already too long does not explain it.
 */
static bool writes_checkpoint(const struct dl_pod *pod, const struct dl_checkpoint *c,
                              int64_t start_ns, const struct dl_limits *limits)
{
    return c->begin_ns > c->end_ns && c->begin_ns >= start_ns - SAMPLING_NS &&
           c->begin_ns - start_ns < limits->threshold_ns &&
           !stopped_with(&pod->errors.first, c, start_ns) &&
           !stopped_with(&pod->errors.last, c, start_ns);
}

/* Something other than the data loader holds the pod up, or it has ended. */
static bool excused(const struct dl_pod *pod, const struct dl_job *job,
                    const struct dl_limits *limits, const struct dl_stall *stall)
{
    /* What began after the end is another run under the same name. */
    int64_t ended_ns =
        stall->tracked ? tc__dl_max(pod->ended_ns, pod->restarted_ns) : pod->ended_ns;
    return ended_ns >= stall->start_ns ||
           writes_checkpoint(pod, &pod->checkpoint, stall->start_ns, limits) ||
           (job != NULL && writes_checkpoint(pod, &job->checkpoint, stall->start_ns, limits));
}

static bool reported_stall(const struct dl_pod *pod, const struct dl_job *job,
                           const struct dl_limits *limits, struct dl_stall *out)
{
    const struct dl_report *r = &pod->report;
    if (!r->known) {
        return false;
    }
    /* What it waited for a checkpoint is not the data loader's. */
    int64_t start_ns = tc__dl_max(0, r->last_ns - r->seconds * TC_SECOND);
    int64_t end_ns = checkpoint_end(pod, job);
    bool after = end_ns > start_ns;
    *out = (struct dl_stall){
        .start_ns = after ? end_ns : start_ns,
        .from_ns = r->first_ns,
        .to_ns = r->last_ns,
        .seconds = after ? (r->last_ns - end_ns) / TC_SECOND : r->seconds,
        .step = r->step >= 0 || !pod->progress.known ? r->step : pod->progress.step,
        .time_ns = r->last_ns,
        .raw = r->raw,
        .rank = r->rank,
        .uid = r->uid,
    };
    return !after || r->last_ns - end_ns >= limits->threshold_ns;
}

static bool tracked_stall(const struct dl_pod *pod, const struct dl_job *job,
                          const struct dl_limits *limits, int64_t now_ns, struct dl_stall *out)
{
    int64_t since_ns = dl_silent_since(pod, job);
    const struct dl_step *last = &pod->progress;
    bool warm_up = last->step >= 0 && last->step <= WARM_UP_STEP;
    int64_t patience_ns = dl_patience(pod, limits);
    if (since_ns == TC_TIME_NONE || warm_up || pod->paused || now_ns - since_ns < patience_ns) {
        return false;
    }
    *out = (struct dl_stall){
        .start_ns = since_ns,
        .from_ns = since_ns + limits->threshold_ns,
        .to_ns = now_ns,
        .seconds = (now_ns - since_ns) / TC_SECOND,
        .step = last->step,
        .time_ns = last->time_ns,
        .raw = last->raw,
        .rank = -1,
        .tracked = true,
    };
    return true;
}

bool tc__dl_find_stall(const struct dl_pod *pod, const struct dl_job *job,
                       const struct dl_limits *limits, int64_t now_ns, struct dl_stall *out)
{
    bool found =
        reported_stall(pod, job, limits, out) || tracked_stall(pod, job, limits, now_ns, out);
    return found && !excused(pod, job, limits, out);
}

void tc__dl_keep_past(struct dl_pod *pod, const struct dl_job *job, const struct dl_limits *limits,
                      const struct tc_event *ev)
{
    /* A run that begins anew goes back: only a step that follows shows that the pod stood still. */
    struct dl_stall stall;
    if (ev->kind != TC_EVENT_TRAIN_STEP || pod->incident.open || !pod->progress.known ||
        pod->progress.step < 0 || ev->train.step <= pod->progress.step ||
        !tracked_stall(pod, job, limits, ev->time_ns, &stall) ||
        excused(pod, job, limits, &stall)) {
        return;
    }
    pod->past = stall;
    pod->past_end = (struct dl_step){ev->time_ns, ev->train.step, ev->raw, true};
}

static bool inside(const struct dl_sign *s, int64_t from_ns, int64_t to_ns)
{
    bool first_in = s->time_ns >= from_ns && s->time_ns <= to_ns;
    bool last_in = s->last_ns >= from_ns && s->last_ns <= to_ns;
    return first_in || last_in || (s->dense && s->time_ns < from_ns && s->last_ns > to_ns);
}

/* The earlier of the ends that is in the window; NULL when none is. */
static const struct dl_sign *pick(const struct dl_signs *signs, const struct dl_stall *stall,
                                  int64_t window_ns)
{
    int64_t from_ns = stall->from_ns - window_ns;
    int64_t to_ns = stall->to_ns + window_ns;
    if (signs->first.known && inside(&signs->first, from_ns, to_ns)) {
        return &signs->first;
    }
    return signs->last.known && inside(&signs->last, from_ns, to_ns) ? &signs->last : NULL;
}

/*
 * That nothing is heard of a pod proves no stall: it may have ended. So a mount
 * that failed somewhere on its node needs a sign of life from the pod or its
 * job after it had stalled, unless it was the pod's own mount.
 */
static bool still_there(const struct dl_pod *pod, const struct dl_job *job,
                        const struct dl_stall *stall, const struct dl_sign *storage)
{
    return !stall->tracked || pod->alive_ns >= stall->from_ns ||
           (job != NULL && job->alive_ns >= stall->from_ns) ||
           (storage->about != 0 && storage->about == tc__dl_pod_hash(pod->ns, pod->name));
}

bool tc__dl_join(const struct dl_pod *pod, const struct dl_job *job, const struct dl_node *node,
                 const struct dl_limits *limits, const struct dl_stall *stall,
                 struct dl_incident *io)
{
    const struct dl_sign *error = pick(&pod->errors, stall, limits->window_ns);
    const struct dl_sign *storage =
        node == NULL ? NULL : pick(&node->storage, stall, limits->window_ns);
    if (!io->error.known && error != NULL) {
        io->error = *error;
    }
    bool proved = io->error.known || (storage != NULL && still_there(pod, job, stall, storage));
    if (!io->storage.known && storage != NULL && proved) {
        io->storage = *storage;
    }
    return io->error.known || io->storage.known;
}

/* The newest evidence that the pod could still be joined with. */
static int64_t newest_evidence(const struct dl_pod *pod, const struct dl_node *node)
{
    int64_t error_ns = pod->errors.last.known ? pod->errors.last.last_ns : TC_TIME_NONE;
    int64_t storage_ns =
        node != NULL && node->storage.last.known ? node->storage.last.last_ns : TC_TIME_NONE;
    return tc__dl_max(error_ns, storage_ns);
}

int64_t tc__dl_next_look(const struct dl_pod *pod, const struct dl_job *job,
                         const struct dl_node *node, const struct dl_limits *limits, int64_t now_ns)
{
    const struct dl_incident *in = &pod->incident;
    int64_t soon_ns = now_ns + tc__dl_max(TC_SECOND, limits->threshold_ns / LOOKS);
    if (in->open) {
        /* A clock that was at 1970 makes a stall of decades: what is due then is never due. */
        int64_t left_s = (TC_TIME_MAX - in->stall.start_ns) / TC_SECOND;
        int64_t twice_s = 2 * in->said_seconds;
        int64_t doubled_ns = in->stall.start_ns + (twice_s < left_s ? twice_s : left_s) * TC_SECOND;
        return in->stall.tracked ? tc__dl_max(doubled_ns, soon_ns) : INT64_MAX;
    }
    int64_t since_ns = dl_silent_since(pod, job);
    if (since_ns != TC_TIME_NONE) {
        int64_t due_ns = since_ns + dl_patience(pod, limits);
        /* Past due it waits a while for a sign of life. */
        if (newest_evidence(pod, node) >= since_ns + limits->threshold_ns - limits->window_ns &&
            now_ns <= due_ns + limits->window_ns) {
            return due_ns > now_ns ? due_ns : soon_ns;
        }
    }
    bool fresh = pod->report.known && now_ns - pod->report.last_ns <= limits->window_ns;
    return fresh ? tc__dl_max(soon_ns, pod->report.last_ns + limits->window_ns + 1) : TC_TIME_NONE;
}
