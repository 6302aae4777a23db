/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dataloader_hang: training that stands still, and the data loader or the storage
 * behind it. docs/patterns/dataloader_hang.md says what it claims and what it
 * never does.
 *
 * Three windows: pods with their steps, stalls and errors; jobs with their
 * checkpoints; nodes with their failed mounts. A pod is watched while there is
 * evidence that its stall could be joined with. Events only change what is
 * known; what follows from it is said when time moves on, so the order of events
 * of one time makes no difference.
 */
#include "detect/detector.h"
#include "detect/dataloader_hang/priv.h"
#include "detect/finding_priv.h"
#include "detect/window_pod_priv.h"

/* Pods with evidence at one time. */
#define WATCHED_MAX 4096
/* Pods of one node that a failed mount may look at. */
#define PODS_VISITED_MAX 256
/* A pod is forgotten when nothing was heard of it for so long. */
#define POD_KEPT_NS (86400 * TC_SECOND)

#define POD_RING_BYTES ((size_t)16 << 20)
#define JOB_RING_BYTES ((size_t)1 << 20)
#define NODE_RING_BYTES ((size_t)4 << 20)
#define ARENA_BYTES ((size_t)32 << 20)

struct state {
    struct tc_detector_base base;
    struct dl_limits limits; /* knobs */
    struct tc_window pods;
    struct tc_window jobs;
    struct tc_window nodes;
    const struct tc_directory *directory;
    uint64_t *watched; /* positions of pods; TC_RING_NONE is free */
    uint32_t *dirty;   /* indexes of watched pods to look at when time moves on */
    size_t watched_count;
    size_t dirty_count;
    int64_t due_ns;            /* some watched pod is to be looked at then */
    int64_t looked_ns;         /* whether one is due was last looked at then */
    int64_t newest_storage_ns; /* of any node */
};

/* What tc__window_pod_put makes lead to a pod. */
static const struct tc_record_type POD = {
    .size = sizeof(struct dl_pod),
    .text_min = 1,
    .texts = {TC_TEXT(struct dl_pod, node), TC_TEXT(struct dl_pod, ns),
              TC_TEXT(struct dl_pod, name), TC_TEXT(struct dl_pod, uid),
              TC_TEXT(struct dl_pod, job), TC_TEXT(struct dl_pod, container),
              TC_TEXT(struct dl_pod, key)},
    .keys = {{TC_FIELD(struct dl_pod, uid)},
             {TC_FIELD(struct dl_pod, node), TC_FIELD(struct dl_pod, ns),
              TC_FIELD(struct dl_pod, name)},
             {TC_FIELD(struct dl_pod, ns), TC_FIELD(struct dl_pod, name)}},
    .chain = {TC_FIELD(struct dl_pod, node)},
};
static const struct tc_record_type JOB = {
    .size = sizeof(struct dl_job),
    .text_min = 1,
    .texts = {TC_TEXT(struct dl_job, name)},
    .keys = {{TC_FIELD(struct dl_job, name)}},
};
static const struct tc_record_type NODE = {
    .size = sizeof(struct dl_node),
    .text_min = 1,
    .texts = {TC_TEXT(struct dl_node, name)},
    .keys = {{TC_FIELD(struct dl_node, name)}},
};

/* True for a record that the ring would drop before half of the others. */
static bool is_old(const struct tc_window *w, const void *record)
{
    return w->ring.head - ((const struct tc_window_head *)record)->pos > w->ring.size_max / 2;
}

/* Pushes the pod in the place of an older record of it, if there is one. NULL: no memory. */
static struct dl_pod *put_pod(struct state *st, const struct dl_pod *pod, uint64_t old_pos)
{
    struct tc_window *w = &st->pods;
    struct dl_pod *kept = tc__window_add(w, pod, st->base.now_ns);
    if (kept == NULL) {
        return NULL;
    }
    tc__window_pod_put(w, kept);
    struct dl_pod *gone = tc__window_at(w, old_pos);
    if (gone != NULL) {
        gone->gone = true;
    }
    if (kept->watch > 0) {
        st->watched[kept->watch - 1] = kept->head.pos;
    }
    return kept;
}

static struct dl_pod *make_pod(struct state *st, const struct dl_names *names)
{
    struct dl_pod pod = {
        .node = names->pod.node,
        .ns = names->pod.ns,
        .name = names->pod.name,
        .uid = names->pod.uid,
        .job = names->job,
        .container = names->container,
        .alive_ns = TC_TIME_NONE,
        .ended_ns = TC_TIME_NONE,
        .restarted_ns = TC_TIME_NONE,
        .checkpoint = {TC_TIME_NONE, TC_TIME_NONE},
        .first_rank = names->rank,
        .podless = names->podless,
    };
    return put_pod(st, &pod, TC_RING_NONE);
}

/*
 * The pod that an event is about, with what the event adds to it. *out is NULL when
 * the event names none, or one that is not known and that need not be.
 */
static tc_status find_pod(struct state *st, const struct tc_event *ev, bool make,
                          struct dl_pod **out)
{
    struct dl_names names;
    *out = NULL;
    if (!tc__dl_read_names(&ev->scope, st->base.scratch, &names)) {
        return TC_OK;
    }
    struct dl_pod *known = tc__window_pod_find(&st->pods, &names.pod);
    if (known == NULL) {
        *out = make ? make_pod(st, &names) : NULL;
        return make && *out == NULL ? TC_E_NOMEM : TC_OK;
    }
    known->head.seen_ns = tc__dl_max(known->head.seen_ns, st->base.now_ns);
    if (names.rank >= 0 && (known->first_rank < 0 || names.rank < known->first_rank)) {
        known->first_rank = names.rank;
    }
    *out = known;
    struct dl_pod next = *known;
    if (tc__dl_add_names(&next, &names) || is_old(&st->pods, known)) {
        *out = put_pod(st, &next, known->head.pos);
    }
    return *out == NULL ? TC_E_NOMEM : TC_OK;
}

/* What is known of the pod's job; NULL when nothing is. */
static const struct dl_job *job_of(const struct state *st, const struct dl_pod *pod)
{
    struct dl_job key = {.name = pod->job};
    return pod->job.len == 0 ? NULL : tc__window_get(&st->jobs, &key);
}

static const struct dl_node *node_of(const struct state *st, const struct dl_pod *pod)
{
    struct dl_node key = {.name = pod->node};
    return pod->node.len == 0 ? NULL : tc__window_get(&st->nodes, &key);
}

/* The job's or node's record, young enough to stay; the key's when there is none. */
static void *keep(struct state *st, struct tc_window *w, const void *key)
{
    struct tc_window_head *known = tc__window_get(w, key);
    if (known != NULL) {
        known->seen_ns = tc__dl_max(known->seen_ns, st->base.now_ns);
    }
    return known != NULL && !is_old(w, known)
               ? known
               : tc__window_add(w, known != NULL ? (const void *)known : key, st->base.now_ns);
}

/* Takes the pod out of the watched. */
static void unwatch(struct state *st, struct dl_pod *pod)
{
    st->watched[pod->watch - 1] = TC_RING_NONE;
    pod->watch = 0;
    pod->dirty = false;
}

/* A place among the watched: a free one, or that of a pod of the sender that has the most. */
static size_t free_place(struct state *st)
{
    if (st->watched_count < WATCHED_MAX) {
        return st->watched_count++;
    }
    /* Rare: places are given back from the end whenever all pods are looked at. */
    size_t found = tc__window_crowder(&st->pods, st->watched, WATCHED_MAX);
    struct dl_pod *pod = tc__window_at(&st->pods, st->watched[found]);
    if (pod != NULL) {
        st->base.dropped++;
        unwatch(st, pod);
    }
    return found;
}

/* Looks at the pod when time moves on, and from then on while there is reason to. */
static void watch(struct state *st, struct dl_pod *pod)
{
    if (pod->watch == 0) {
        size_t i = free_place(st);
        st->watched[i] = pod->head.pos;
        pod->watch = (uint32_t)i + 1;
    }
    if (!pod->dirty && st->dirty_count < WATCHED_MAX) {
        pod->dirty = true;
        st->dirty[st->dirty_count++] = pod->watch - 1;
    }
}

static tc_status say(struct state *st, struct dl_pod **io, const struct tc_sink *out)
{
    struct dl_pod *pod = *io;
    if (pod->key.len == 0) {
        char key[DL_KEY_MAX];
        struct dl_pod next = *pod;
        next.key = tc__dl_key(pod, key);
        pod = put_pod(st, &next, pod->head.pos);
        if (pod == NULL) {
            return TC_E_NOMEM;
        }
        *io = pod;
    }
    pod->incident.said_seconds = pod->incident.stall.seconds;
    int64_t from_ns = pod->incident.start_ns - st->limits.window_ns;
    bool incomplete = st->pods.lost_ns >= from_ns || st->nodes.lost_ns >= from_ns;
    return tc__dl_report(pod, incomplete, st->base.scratch, out);
}

/* Says that the stall is over. The next one is another incident. */
static tc_status resolve(struct state *st, struct dl_pod *pod, const struct tc_sink *out)
{
    struct dl_incident *in = &pod->incident;
    int64_t span_ns = in->end.time_ns - in->start_ns;
    in->stall.seconds = tc__dl_max(span_ns / TC_SECOND, in->stall.seconds);
    TC_TRY(say(st, &pod, out));
    pod->incident = (struct dl_incident){0};
    pod->key = TC_EMPTY;
    return TC_OK;
}

/* Says what there was of a stall that a step ended before anything was said: the step is the sign
 * of life that was missing. */
static tc_status look_back(struct state *st, struct dl_pod **io, const struct dl_job *job,
                           const struct dl_node *node, const struct tc_sink *out)
{
    struct dl_pod *pod = *io;
    struct dl_incident past = {.stall = pod->past, .start_ns = pod->past.start_ns, .open = true};
    struct dl_step end = pod->past_end;
    pod->past_end.known = false;
    if (pod->incident.open || !tc__dl_join(pod, job, node, &st->limits, &past.stall, &past)) {
        return TC_OK;
    }
    pod->incident = past;
    TC_TRY(say(st, io, out));
    (*io)->incident.end = end;
    return resolve(st, *io, out);
}

/* Looks for a stall and its evidence, and says what is new. */
static tc_status look(struct state *st, struct dl_pod **io, bool last_word,
                      const struct tc_sink *out)
{
    struct dl_pod *pod = *io;
    const struct dl_job *job = job_of(st, pod);
    const struct dl_node *node = node_of(st, pod);
    if (pod->past_end.known) {
        TC_TRY(look_back(st, io, job, node, out));
        pod = *io;
    }
    struct dl_incident *in = &pod->incident;
    if (in->open && in->end.known) {
        TC_TRY(resolve(st, pod, out));
    }
    struct dl_stall stall;
    struct dl_incident next = *in;
    if (!tc__dl_find_stall(pod, job, &st->limits, st->base.now_ns, &stall) ||
        !tc__dl_join(pod, job, node, &st->limits, &stall, &next)) {
        return TC_OK;
    }
    next.stall = stall;
    next.start_ns = in->open ? in->start_ns : stall.start_ns;
    next.open = true;
    bool grown = stall.seconds >= 2 * in->said_seconds;
    bool news = !in->open || next.error.known != in->error.known ||
                next.storage.known != in->storage.known || grown ||
                (last_word && stall.seconds > in->said_seconds);
    *in = next;
    return news ? say(st, io, out) : TC_OK;
}

/* Looks at one watched pod and decides whether and when it is looked at again. */
static tc_status visit(struct state *st, size_t i, bool last_word, const struct tc_sink *out)
{
    struct dl_pod *pod = tc__window_at(&st->pods, st->watched[i]);
    if (pod == NULL) {
        st->watched[i] = TC_RING_NONE;
        return TC_OK;
    }
    pod->dirty = false;
    TC_TRY(look(st, &pod, last_word, out));
    pod = tc__window_at(&st->pods, st->watched[i]);
    const struct dl_job *job = job_of(st, pod);
    const struct dl_node *node = node_of(st, pod);
    int64_t next_ns = tc__dl_next_look(pod, job, node, &st->limits, st->base.now_ns);
    if (next_ns == TC_TIME_NONE) {
        unwatch(st, pod);
    } else if (next_ns < st->due_ns) {
        st->due_ns = next_ns;
    }
    return TC_OK;
}

static tc_status visit_all(struct state *st, bool last_word, const struct tc_sink *out)
{
    st->due_ns = INT64_MAX;
    for (size_t i = 0; i < st->watched_count; i++) {
        if (st->watched[i] != TC_RING_NONE) {
            TC_TRY(visit(st, i, last_word, out));
        }
    }
    while (st->watched_count > 0 && st->watched[st->watched_count - 1] == TC_RING_NONE) {
        st->watched_count--;
    }
    return TC_OK;
}

static tc_status visit_dirty(struct state *st, const struct tc_sink *out)
{
    size_t count = st->dirty_count;
    st->dirty_count = 0;
    if (count == WATCHED_MAX) { /* there was no room to note more */
        return visit_all(st, false, out);
    }
    for (size_t i = 0; i < count; i++) {
        TC_TRY(visit(st, st->dirty[i], false, out));
    }
    return TC_OK;
}

/* Time moves on: says what follows from what was known before. */
static tc_status on_advance(void *state, int64_t now_ns, const struct tc_sink *out)
{
    (void)now_ns;
    return visit_dirty(state, out);
}

/* Time has moved on: looks at the pods if one of them is due, once per time. */
static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct state *st = state;
    (void)now_ns;
    if (st->base.now_ns <= st->looked_ns) {
        return TC_OK;
    }
    st->looked_ns = st->base.now_ns;
    return st->base.now_ns >= st->due_ns ? visit_all(st, false, out) : TC_OK;
}

/* A mount failed on a node: its pods may have stalled for it. */
static tc_status on_storage(struct state *st, const struct tc_event *ev, const struct dl_sign *sign)
{
    struct dl_node key = {.name = ev->scope.node};
    struct dl_node *node = keep(st, &st->nodes, &key);
    if (node == NULL) {
        return TC_E_NOMEM;
    }
    st->newest_storage_ns = tc__dl_max(st->newest_storage_ns, sign->last_ns);
    if (!tc__dl_signs_add(&node->storage, sign, st->limits.window_ns)) {
        return TC_OK;
    }
    struct tc_window *w = &st->pods;
    struct dl_pod *pod = tc__window_pod_of_node(w, key.name);
    uint64_t *link = NULL; /* the first of a chain stays, as what the rest hangs on */
    for (unsigned i = 0; pod != NULL && i < PODS_VISITED_MAX; i++) {
        uint64_t older = pod->head.older;
        if (!pod->gone || link == NULL) {
            link = &pod->head.older;
        } else {
            *link = older;
        }
        if (!pod->gone && (pod->progress.known || pod->report.known)) {
            watch(st, pod);
        }
        pod = tc__window_at(w, older);
    }
    return TC_OK;
}

/* What an event says of its job as a whole. */
static tc_status on_job(struct state *st, const struct tc_event *ev)
{
    if (ev->scope.job.len == 0) {
        return TC_OK;
    }
    struct dl_job key = {
        .name = ev->scope.job,
        .alive_ns = TC_TIME_NONE,
        .checkpoint = {TC_TIME_NONE, TC_TIME_NONE},
    };
    struct dl_job *job = keep(st, &st->jobs, &key);
    if (job == NULL) {
        return TC_E_NOMEM;
    }
    job->alive_ns = tc__dl_max(job->alive_ns, ev->time_ns);
    if (ev->kind == TC_EVENT_CHECKPOINT) {
        (void)tc__dl_on_checkpoint(&job->checkpoint, ev);
    }
    return TC_OK;
}

/* True when the pod is to be looked at for what the event told. */
static bool tell(struct state *st, struct dl_pod *pod, const struct tc_event *ev)
{
    bool sample = ev->kind == TC_EVENT_METRIC && ev->metric.metric == TC_METRIC_STEP;
    if (ev->kind == TC_EVENT_POD_STATE || ev->kind == TC_EVENT_K8S_EVENT) {
        return tc__dl_on_end(pod, ev) && pod->incident.open;
    }
    pod->alive_ns = tc__dl_max(pod->alive_ns, ev->time_ns);
    if (ev->kind == TC_EVENT_TRAIN_STALL) {
        return tc__dl_on_report(pod, ev, &st->limits);
    }
    if (ev->kind == TC_EVENT_TRAIN_STEP || sample) {
        const struct dl_job *job = job_of(st, pod);
        tc__dl_keep_past(pod, job, &st->limits, ev);
        bool changed = tc__dl_on_step(pod, ev) || pod->past_end.known;
        /* A mount that failed before the pod was known may explain its next stall. */
        int64_t over_ns = pod->progress.time_ns + st->limits.threshold_ns;
        bool explained =
            st->newest_storage_ns >= over_ns - st->limits.window_ns && node_of(st, pod) != NULL;
        return changed || (pod->watch == 0 && explained);
    }
    if (ev->kind == TC_EVENT_LOADER_ERROR) {
        struct dl_sign sign;
        tc__dl_read_error(ev, &sign);
        return tc__dl_signs_add(&pod->errors, &sign, st->limits.window_ns);
    }
    /* Whatever else is heard of a watched pod may be the sign of life it lacked. */
    bool changed = ev->kind != TC_EVENT_CHECKPOINT || tc__dl_on_checkpoint(&pod->checkpoint, ev);
    return changed && pod->watch > 0 && !pod->incident.open;
}

static bool is_fit(const struct tc_event *ev)
{
    return ev->time_ns >= 0 && tc__scope_fits(&ev->scope) && ev->scope.job.len <= TC_SCOPE_TEXT_MAX;
}

/* What an event says of its pod. */
static tc_status on_pod(struct state *st, const struct tc_event *ev)
{
    struct dl_pod *pod = NULL;
    TC_TRY(find_pod(st, ev, tc__dl_makes_pod(ev), &pod));
    if (pod == NULL) {
        st->base.ignored +=
            tc__dl_makes_pod(ev) && ev->scope.pod.len == 0 && ev->kind != TC_EVENT_CHECKPOINT;
        return TC_OK;
    }
    if (tell(st, pod, ev)) {
        watch(st, pod);
    }
    return TC_OK;
}

/* The training itself speaks: its rank may be all that it says of where it runs. */
static tc_status on_training(struct state *st, const struct tc_event *ev)
{
    struct tc_event placed = *ev;
    tc_directory_place(st->directory, &placed.scope);
    TC_TRY(on_job(st, &placed));
    return on_pod(st, &placed);
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct state *st = state;
    struct dl_sign sign;
    bool storage =
        ev->kind == TC_EVENT_K8S_EVENT && tc__dl_read_storage(ev, st->limits.window_ns, &sign);
    if (!is_fit(ev) || (storage && ev->scope.node.len == 0)) {
        st->base.ignored++;
        return TC_OK;
    }
    TC_TRY(on_tick(st, ev->time_ns, out));
    st->base.late += ev->time_ns < st->base.now_ns - st->limits.window_ns;
    if (storage) {
        /* A pod that trains may not have told its node: its own mount does. */
        struct dl_pod *pod = NULL;
        TC_TRY(find_pod(st, ev, false, &pod));
        return on_storage(st, ev, &sign);
    }
    return ev->kind == TC_EVENT_K8S_EVENT || ev->kind == TC_EVENT_POD_STATE ? on_pod(st, ev)
                                                                            : on_training(st, ev);
}

/* The last word on every open stall: how long it lasts by now. */
static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct state *st = state;
    TC_TRY(visit_dirty(st, out));
    TC_TRY(on_tick(st, now_ns, out));
    return visit_all(st, true, out);
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct state *st = state;
    struct tc_detector_base *base = &st->base;
    int64_t node_kept_ns = POD_KEPT_NS + 2 * st->limits.window_ns;
    st->directory = env->directory;
    st->due_ns = INT64_MAX;
    st->looked_ns = TC_TIME_NONE;
    st->newest_storage_ns = INT64_MIN;
    st->watched = tc_new(env->arena, uint64_t, WATCHED_MAX);
    st->dirty = tc_new(env->arena, uint32_t, WATCHED_MAX);
    bool ok = st->watched != NULL && st->dirty != NULL &&
              tc__window_open(&st->pods, base, &POD, POD_RING_BYTES, POD_KEPT_NS) &&
              tc__window_open(&st->jobs, base, &JOB, JOB_RING_BYTES, POD_KEPT_NS) &&
              tc__window_open(&st->nodes, base, &NODE, NODE_RING_BYTES, node_kept_ns);
    return ok ? TC_OK : TC_E_NOMEM;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_SECONDS("threshold", struct state, limits.threshold_ns, 120, 1, 86400,
                    "shortest time without a step that counts as a stall"),
    TC_KNOB_SECONDS(
        "window", struct state, limits.window_ns, 300, 1, 86400,
        "longest time between the stall and the error or mount failure it is put down to"),
};

const struct tc_detector tc_detector_dataloader_hang = {
    .id = "7",
    .name = "dataloader_hang",
    .summary = "Training stands still with a data loader error in its pod or a failed mount on its "
               "node.",
    .kinds = TC_EVENT_BIT(TC_EVENT_TRAIN_STEP) | TC_EVENT_BIT(TC_EVENT_TRAIN_STALL) |
             TC_EVENT_BIT(TC_EVENT_LOADER_ERROR) | TC_EVENT_BIT(TC_EVENT_CHECKPOINT) |
             TC_EVENT_BIT(TC_EVENT_METRIC) | TC_EVENT_BIT(TC_EVENT_K8S_EVENT) |
             TC_EVENT_BIT(TC_EVENT_POD_STATE),
    .state_bytes = sizeof(struct state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_advance = on_advance,
    .on_event = on_event,
    .on_tick = on_tick,
    .on_finish = on_finish,
};
