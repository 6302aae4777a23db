/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_oom: the kernel killed a process for memory, and which pod or rank it
 * belonged to. docs/patterns/host_oom.md says what it claims and what it never does.
 *
 * Three windows: kills by node and pid, from all lines that tell of one; pods,
 * with the kills that are theirs for sure and the word of their kubelet; and
 * processes whose pod or rank somebody named. A pod is told of a moment after its
 * last change, when the second line of a kill has come too; so the order of events
 * of one time makes no difference.
 */
#include "detect/detector.h"
#include "base/assert.h"
#include "detect/host_oom/priv.h"
#include "detect/words_priv.h"

/* Between the first line of a kill and what is said of it: the other lines take milliseconds. */
#define SETTLE_NS (2 * TC_SECOND)
/* Pods that have news within a moment; when there are more they are told at once. */
#define NEWS_MAX 1024
/* Kills or pods of one node that one event may look at. */
#define VISITED_MAX 256
/* What is known of pods and processes is kept for so long after it was last said. */
#define NAMES_KEPT_NS (7 * 86400 * TC_SECOND)

#define KILL_RING_BYTES ((size_t)2 << 20)
#define POD_RING_BYTES ((size_t)8 << 20)
#define PROCESS_RING_BYTES ((size_t)1 << 20)
#define ACCOUNT_RING_BYTES ((size_t)1 << 19)
#define ARENA_BYTES ((size_t)16 << 20)

struct state {
    struct tc_detector_base base;
    int64_t window_ns; /* knob */
    struct tc_window kills;
    struct tc_window pods;
    struct tc_window processes;
    struct tc_window accounts; /* of batch jobs, without node and date: told at the end, if nobody
                                  else told of the kill */
    uint64_t *news;            /* positions of pods that have some, in a circle */
    size_t news_first;
    size_t news_count;
};

/* Without a pid, kills are told apart by whom they hit. */
enum { BY_PID, BY_POD };
/* After the keys of a pod: the newest of a batch job. */
enum { BY_JOB = 3 };

static const struct tc_record_type KILL = {
    .size = sizeof(struct oom_kill),
    .text_min = 1,
    .texts = {TC_TEXT(struct oom_kill, node), TC_TEXT(struct oom_kill, pod_uid),
              TC_TEXT(struct oom_kill, pod_ns), TC_TEXT(struct oom_kill, pod_name),
              TC_TEXT(struct oom_kill, job), TC_TEXT(struct oom_kill, container_id)},
    .keys = {[BY_PID] = {TC_FIELD(struct oom_kill, node), TC_FIELD(struct oom_kill, pid)},
             [BY_POD] = {TC_FIELD(struct oom_kill, node), TC_FIELD(struct oom_kill, pod_uid),
                         TC_FIELD(struct oom_kill, container_id)}},
    .chain = {TC_FIELD(struct oom_kill, node)},
};
/* What tc__window_pod_put makes lead to a pod. */
static const struct tc_record_type POD = {
    .size = sizeof(struct oom_pod),
    .text_min = 1,
    .texts = {TC_TEXT(struct oom_pod, node), TC_TEXT(struct oom_pod, ns),
              TC_TEXT(struct oom_pod, name), TC_TEXT(struct oom_pod, uid),
              TC_TEXT(struct oom_pod, job), TC_TEXT(struct oom_pod, container_id),
              TC_TEXT(struct oom_pod, key)},
    .keys = {{TC_FIELD(struct oom_pod, uid)},
             {TC_FIELD(struct oom_pod, node), TC_FIELD(struct oom_pod, ns),
              TC_FIELD(struct oom_pod, name)},
             {TC_FIELD(struct oom_pod, ns), TC_FIELD(struct oom_pod, name)},
             [BY_JOB] = {TC_FIELD(struct oom_pod, podless), TC_FIELD(struct oom_pod, job)}},
    .chain = {TC_FIELD(struct oom_pod, node)},
};
static const struct tc_record_type PROCESS = {
    .size = sizeof(struct oom_process),
    .text_min = 1,
    .texts = {TC_TEXT(struct oom_process, node), TC_TEXT(struct oom_process, ns),
              TC_TEXT(struct oom_process, pod), TC_TEXT(struct oom_process, pod_uid),
              TC_TEXT(struct oom_process, job)},
    .keys = {{TC_FIELD(struct oom_process, node), TC_FIELD(struct oom_process, pid)}},
};

static const struct tc_record_type ACCOUNT = {
    .size = sizeof(struct oom_kill),
    .text_min = 1,
    .texts = {TC_TEXT(struct oom_kill, job), TC_TEXT(struct oom_kill, pod_uid)},
    .keys = {{TC_FIELD(struct oom_kill, job)}},
};

static bool is_old(const struct tc_window *w, const void *record)
{
    return w->ring.head - ((const struct tc_window_head *)record)->pos > w->ring.size_max / 2;
}

/* ---- pods ------------------------------------------------------------ */

/* Pushes the pod in the place of an older record of it, if there is one. NULL: no memory. */
static struct oom_pod *put_pod(struct state *st, const struct oom_pod *pod, uint64_t old_pos)
{
    struct tc_window *w = &st->pods;
    struct oom_pod *kept = tc__window_add(w, pod, st->base.now_ns);
    if (kept == NULL) {
        return NULL;
    }
    tc__window_pod_put(w, kept);
    if (kept->podless && kept->job.len > 0) {
        tc__window_index(w, BY_JOB, kept);
    }
    struct oom_pod *gone = tc__window_at(w, old_pos);
    if (gone != NULL) {
        gone->gone = true;
    }
    if (kept->slot > 0) {
        st->news[kept->slot - 1] = kept->head.pos;
    }
    return kept;
}

/* The pod of that name, with what the names add to it; a new one when it is not known. */
static struct oom_pod *find_pod(struct state *st, const struct oom_names *names)
{
    struct oom_pod *known = tc__window_pod_find(&st->pods, &names->pod);
    struct oom_pod next = {
        .rank = names->rank, .rank_killed = names->rank_killed, .podless = names->podless};
    if (known != NULL) {
        known->head.seen_ns =
            known->head.seen_ns > st->base.now_ns ? known->head.seen_ns : st->base.now_ns;
        known->several_ranks |= names->rank >= 0 && known->rank >= 0 && names->rank != known->rank;
        known->rank = known->rank < 0 || names->rank_killed ? names->rank : known->rank;
        known->rank_killed = known->rank_killed || names->rank_killed;
        next = *known;
    }
    bool learned = tc__text_fill(&next.node, names->pod.node);
    learned |= tc__text_fill(&next.ns, names->pod.ns);
    learned |= tc__text_fill(&next.name, names->pod.name);
    learned |= tc__text_fill(&next.uid, names->pod.uid);
    learned |= tc__text_fill(&next.job, names->job);
    if (tc__oom_container_first(&next, names)) {
        next.container_id = names->container_id;
        next.container_ns = names->container_ns;
        learned = true;
    }
    if (known != NULL && !learned && !is_old(&st->pods, known)) {
        return known;
    }
    return put_pod(st, &next, known == NULL ? TC_RING_NONE : known->head.pos);
}

/* "rank 3 of llm-7 on gpu-04": what stands for a pod where there are none. */
static struct tc_slice rank_name(struct state *st, const struct oom_process *p)
{
    size_t len = p->node.len + p->job.len + 32;
    char *text = tc_new(st->base.scratch, char, len);
    struct tc_buf b = tc_buf_make(text, text == NULL ? 0 : len);
    return tc_format(&b, "rank {} of {} on {}", p->rank, p->job, p->node);
}

/* The newest batch job of that name; NULL when none is known to have been killed. */
static const struct oom_pod *find_job(const struct state *st, struct tc_slice job)
{
    struct oom_pod key = {.job = job, .podless = true};
    const struct oom_pod *known = job.len == 0 ? NULL : tc__window_get_by(&st->pods, BY_JOB, &key);
    return known != NULL && known->burst.known ? known : NULL;
}

/*
 * What a batch job is known by that a kill names: "job 4711 on gpu-04". Who says no node (sacct)
 * tells of the kill that others tell of at that time. *out_retold is set then.
 */
static struct tc_slice job_name(struct state *st, const struct oom_kill *kill, bool *out_retold)
{
    const struct oom_pod *same = find_job(st, kill->job);
    if (same != NULL) {
        bool lacking = kill->node.len == 0 || same->node.len == 0;
        *out_retold = lacking && kill->time_ns <= same->burst.last_ns + st->window_ns &&
                      kill->time_ns >= same->burst.first_ns - st->window_ns;
        if (*out_retold || tc_slice_eq(kill->node, same->node)) {
            return same->uid;
        }
    }
    size_t len = kill->node.len + kill->job.len + 32;
    char *text = tc_new(st->base.scratch, char, len);
    struct tc_buf b = tc_buf_make(text, text == NULL ? 0 : len);
    return tc_format(&b, "job {} on {}", kill->job, kill->node);
}

/* ---- telling ------------------------------------------------------------ */

/* The kill of the node that is nearest to the end of the pod; NULL when none may be its. */
static const struct oom_kill *nearest_kill(struct state *st, const struct oom_pod *pod)
{
    struct oom_kill key = {.node = pod->node};
    struct tc_window *w = &st->kills;
    const struct oom_kill *best = NULL;
    int64_t best_ns = INT64_MAX;
    const struct oom_kill *kill = tc__window_newest(w, &key);
    for (unsigned i = 0; kill != NULL && i < VISITED_MAX; i++) {
        int64_t gap_ns = tc__apart(kill->time_ns, pod->end.time_ns);
        bool nearer = best == NULL || gap_ns < best_ns;
        if (tc__oom_may_be_pods(kill) && gap_ns <= st->window_ns &&
            (nearer || (gap_ns == best_ns && kill->pid < best->pid))) {
            best = kill;
            best_ns = gap_ns;
        }
        kill = tc__window_older(w, kill);
    }
    return best;
}

/* Says what is new of the pod. */
static tc_status say(struct state *st, struct oom_pod **io, bool last_word,
                     const struct tc_sink *out)
{
    struct oom_pod *pod = *io;
    if (!pod->burst.known && pod->end.known && pod->node.len > 0) {
        const struct oom_kill *kill = nearest_kill(st, pod);
        if (kill != NULL) {
            (void)tc__oom_burst_add(&pod->burst, kill, false, OOM_TIE_NODE);
            pod->incomplete = st->kills.lost_ns >= kill->time_ns - st->window_ns;
        }
    }
    uint32_t bits = tc__oom_told_bits(pod);
    int64_t kills = pod->burst.kills;
    bool news =
        bits != pod->said || kills >= 2 * pod->said_kills || (last_word && kills > pod->said_kills);
    if (!pod->burst.known || !news) {
        return TC_OK;
    }
    if (pod->key.len == 0) {
        char key[OOM_KEY_MAX];
        struct oom_pod next = *pod;
        next.key = tc__oom_key(pod, key);
        pod = put_pod(st, &next, pod->head.pos);
        if (pod == NULL) {
            return TC_E_NOMEM;
        }
        *io = pod;
    }
    pod->said = bits;
    pod->said_kills = kills;
    return tc__oom_report(pod, st->base.scratch, out);
}

/* Tells of the pods that changed until before_ns. They are in the order of their changes. */
static tc_status tell(struct state *st, int64_t before_ns, bool last_word,
                      const struct tc_sink *out)
{
    while (st->news_count > 0) {
        struct oom_pod *pod = tc__window_at(&st->pods, st->news[st->news_first]);
        if (pod != NULL && pod->dirty_ns > before_ns) {
            break;
        }
        st->news_first = (st->news_first + 1) % NEWS_MAX;
        st->news_count--;
        if (pod != NULL) {
            pod->slot = 0;
            TC_TRY(say(st, &pod, last_word, out));
        }
    }
    return TC_OK;
}

/* Has the pod told of, once the rest of what happened to it has come. */
static void changed(struct state *st, struct oom_pod *pod)
{
    if (pod->slot > 0) {
        return;
    }
    TC_ASSERT(st->news_count < NEWS_MAX);
    size_t at = (st->news_first + st->news_count++) % NEWS_MAX;
    pod->dirty_ns = st->base.now_ns;
    pod->slot = (uint32_t)at + 1;
    st->news[at] = pod->head.pos;
}

/* What is due is told before the kills that it may be put down to are let go of. */
static tc_status on_advance(void *state, int64_t now_ns, const struct tc_sink *out)
{
    return tell(state, now_ns - SETTLE_NS, false, out);
}

/* ---- joining ------------------------------------------------------------ */

/* What comes from now on is another incident. */
static void begin_burst(struct oom_pod *pod)
{
    pod->burst = (struct oom_burst){0};
    pod->key = TC_EMPTY;
    pod->said = 0;
    pod->said_kills = 0;
    pod->incomplete = false;
}

/* The kill was in this pod, for sure. */
static tc_status attach(struct state *st, struct oom_pod *pod, struct oom_kill *kill,
                        enum oom_tie tie, const struct tc_sink *out)
{
    if (pod->burst.known && kill->time_ns < pod->burst.first_ns - st->window_ns) {
        st->base.late++;
        return TC_OK;
    }
    if (pod->burst.known && kill->time_ns > pod->burst.last_ns + st->window_ns) {
        TC_TRY(say(st, &pod, true, out));
        begin_burst(pod);
    }
    struct oom_burst *burst = &pod->burst;
    if (!burst->known && tc__apart(pod->end.time_ns, kill->time_ns) > st->window_ns) {
        pod->end.known = false; /* of a run before this one */
    }
    if (burst->known && burst->tie == OOM_TIE_NODE) {
        /* What was put down to the pod for its node alone was this kill, or was not its. */
        *burst = (struct oom_burst){0};
    }
    bool again = (kill->attached || kill->retold) && burst->known;
    kill->attached = true;
    pod->incomplete = pod->incomplete || st->kills.lost_ns >= kill->time_ns - st->window_ns;
    if (tc__oom_burst_add(burst, kill, again, tie)) {
        changed(st, pod);
    }
    return TC_OK;
}

/* Finds whose the kill is. */
static tc_status place_kill(struct state *st, struct oom_kill *kill, const struct tc_sink *out)
{
    struct oom_names names = {
        .pod = {.node = kill->node,
                .ns = kill->pod_ns,
                .name = kill->pod_name,
                .uid = kill->pod_uid},
        .job = kill->job,
        .container_id = kill->container_id,
        .container_ns = kill->time_ns,
        .rank = kill->rank,
        .rank_killed = kill->rank >= 0,
        .podless = kill->of_job,
    };
    enum oom_tie tie = OOM_TIE_CGROUP;
    if (names.pod.uid.len == 0 && names.pod.name.len == 0) {
        struct oom_process of = {.node = kill->node, .pid = kill->pid};
        const struct oom_process *process =
            kill->pid < 0 ? NULL : tc__window_get(&st->processes, &of);
        tie = process == NULL ? OOM_TIE_NONE : OOM_TIE_PID;
        if (process != NULL) {
            names.pod.ns = process->ns;
            names.pod.name = process->pod;
            names.pod.uid = process->pod_uid;
            names.job = process->job;
            names.rank = process->rank;
            names.rank_killed = process->rank >= 0;
            names.podless = process->pod.len == 0 && process->pod_uid.len == 0;
            names.pod.uid = names.podless ? rank_name(st, process) : process->pod_uid;
        }
    }
    if (tie != OOM_TIE_NONE) {
        struct oom_pod *pod = find_pod(st, &names);
        return pod == NULL ? TC_E_NOMEM : attach(st, pod, kill, tie, out);
    }
    /* Its node is all there is: the pods there that were OOMKilled look at it. */
    struct tc_window *w = &st->pods;
    struct oom_pod *pod = kill->node.len == 0 || !tc__oom_may_be_pods(kill)
                              ? NULL
                              : tc__window_pod_of_node(w, kill->node);
    uint64_t *link = NULL; /* the first of a chain stays, as what the rest hangs on */
    for (unsigned i = 0; pod != NULL && i < VISITED_MAX; i++) {
        uint64_t older = pod->head.older;
        if (!pod->gone || link == NULL) {
            link = &pod->head.older;
        } else {
            *link = older;
        }
        if (!pod->gone && pod->end.known && !pod->burst.known &&
            tc__apart(pod->end.time_ns, kill->time_ns) <= st->window_ns) {
            changed(st, pod);
        }
        pod = tc__window_at(w, older);
    }
    return TC_OK;
}

static tc_status on_kill(struct state *st, const struct oom_kill *news, const struct tc_sink *out)
{
    struct tc_window *w = &st->kills;
    unsigned which = news->pid < 0 ? BY_POD : BY_PID;
    struct oom_kill *known = tc__window_get_by(w, which, news);
    struct oom_kill next = *news;
    if (known != NULL && tc__apart(known->time_ns, news->time_ns) <= st->window_ns) {
        next = *known;
        if (!tc__oom_kill_merge(&next, news)) {
            return TC_OK;
        }
        if (tc__window_update(w, known, &next, known->head.seen_ns)) {
            return place_kill(st, known, out);
        }
        known->gone = true;
    }
    next.gone = false;
    struct oom_kill *kept = tc__window_add(w, &next, st->base.now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    if (which == BY_POD) {
        tc__window_index(w, which, kept);
    }
    return place_kill(st, kept, out);
}

/* A batch job was killed for memory. Who knows neither node nor date has the last word, not the
 * first. */
static tc_status on_job_kill(struct state *st, struct oom_kill *kill, const struct tc_sink *out)
{
    struct oom_kill *account = tc__window_get(&st->accounts, kill);
    bool bare = kill->node.len == 0 && !tc_time_is_date(kill->time_ns);
    if (bare && kill->job.len > 0) {
        kill->gone = find_job(st, kill->job) != NULL;
        bool ok = account != NULL || tc__window_add(&st->accounts, kill, st->base.now_ns) != NULL;
        return ok ? TC_OK : TC_E_NOMEM;
    }
    if (account != NULL) {
        account->gone = true;
    }
    kill->pod_uid = job_name(st, kill, &kill->retold);
    return on_kill(st, kill, out);
}

/* The kubelet says that a container of the pod was killed for memory. */
static tc_status on_end(struct state *st, struct oom_pod *pod, const struct oom_end *end,
                        const struct tc_sink *out)
{
    if (pod->burst.known && end->time_ns < pod->burst.first_ns - st->window_ns) {
        return TC_OK; /* of a burst before this one, told again */
    }
    if (pod->burst.known && end->time_ns > pod->burst.last_ns + st->window_ns) {
        TC_TRY(say(st, &pod, true, out));
        begin_burst(pod);
        pod->end.known = false;
    }
    /* Of one burst the first is told, and a state goes before an event. */
    struct oom_end *known = &pod->end;
    bool replaces = !known->known || (!pod->burst.known && end->time_ns > known->time_ns) ||
                    (pod->burst.known && end->time_ns < known->time_ns) ||
                    (end->time_ns == known->time_ns && tc__oom_end_first(end, known));
    if (replaces) {
        *known = *end;
        changed(st, pod);
    }
    return TC_OK;
}

static tc_status learn_process(struct state *st, const struct tc_event *ev)
{
    struct tc_window *w = &st->processes;
    struct oom_process p = {
        .node = ev->scope.node,
        .ns = ev->scope.ns,
        .pod = ev->scope.pod,
        .pod_uid = ev->scope.pod_uid,
        .job = ev->scope.job,
        .pid = ev->scope.pid,
        .rank = ev->scope.rank,
    };
    struct oom_process *known = tc__window_get(w, &p);
    if (known != NULL && known->rank == p.rank && tc_slice_eq(known->pod, p.pod) &&
        tc_slice_eq(known->job, p.job) && !is_old(w, known)) {
        known->head.seen_ns = st->base.now_ns;
        return TC_OK;
    }
    return tc__window_add(w, &p, st->base.now_ns) == NULL ? TC_E_NOMEM : TC_OK;
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct state *st = state;
    struct oom_kill kill;
    struct oom_end end;
    struct oom_names names;
    bool is_kill = tc__oom_read_kill(ev, &kill);
    bool is_end = !is_kill && tc__oom_read_end(ev, &end);
    bool named = tc__oom_read_names(ev, &names);
    bool of_job = is_kill && kill.of_job && kill.job.len > 0;
    /* A kill needs a node, a pod or a job, the end of a container its pod. */
    if (!tc__oom_is_fit(ev, &names) || kill.node.len > TC_SCOPE_TEXT_MAX ||
        kill.container_id.len > TC_SCOPE_TEXT_MAX || (is_end && !named) ||
        (is_kill && kill.node.len == 0 && names.pod.uid.len == 0 && !named && !of_job)) {
        st->base.ignored++;
        return TC_OK;
    }
    if (st->news_count > NEWS_MAX - VISITED_MAX) {
        TC_TRY(tell(st, INT64_MAX, false, out)); /* one event adds no more than it visits */
    }
    if (is_kill) {
        st->base.late += ev->time_ns < st->base.now_ns - 2 * st->window_ns;
        return kill.of_job ? on_job_kill(st, &kill, out) : on_kill(st, &kill, out);
    }
    bool placed = ev->kind == TC_EVENT_RANK_PLACE || ev->kind == TC_EVENT_NCCL_RAS;
    if (placed && ev->scope.pid > 0 && ev->scope.node.len > 0 && (named || ev->scope.rank >= 0)) {
        TC_TRY(learn_process(st, ev));
    }
    /* The kernel knows a pod by its uid: whoever says both gives it its name. */
    if (!named || (!is_end && names.pod.uid.len == 0)) {
        return TC_OK;
    }
    struct oom_pod *pod = find_pod(st, &names);
    if (pod == NULL) {
        return TC_E_NOMEM;
    }
    if (is_end) {
        return on_end(st, pod, &end, out);
    }
    if (pod->burst.known && tc__oom_told_bits(pod) != pod->said) {
        changed(st, pod);
    }
    return TC_OK;
}

/* Says what is left, and how many were killed in the end. */
static tc_status on_finish(void *state, int64_t now_ns, const struct tc_sink *out)
{
    struct state *st = state;
    const struct tc_ring *ring = &st->accounts.ring;
    uint64_t pos = TC_RING_NONE;
    struct oom_kill *account = tc_ring_oldest(&st->accounts.ring, &pos);
    (void)now_ns;
    for (; account != NULL; account = tc_ring_next(ring, pos, &pos)) {
        struct oom_kill kill = *account;
        bool told = account->gone;
        account->gone = true;
        kill.pod_uid = job_name(st, &kill, &kill.retold);
        TC_TRY(told ? TC_OK : on_kill(st, &kill, out));
        TC_TRY(tell(st, INT64_MAX, true, out));
    }
    return tell(st, INT64_MAX, true, out);
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct state *st = state;
    struct tc_detector_base *base = &st->base;
    st->news = tc_new(env->arena, uint64_t, NEWS_MAX);
    bool ok = st->news != NULL &&
              tc__window_open(&st->kills, base, &KILL, KILL_RING_BYTES, 3 * st->window_ns) &&
              tc__window_open(&st->pods, base, &POD, POD_RING_BYTES, NAMES_KEPT_NS) &&
              tc__window_open(&st->processes, base, &PROCESS, PROCESS_RING_BYTES, NAMES_KEPT_NS) &&
              tc__window_open(&st->accounts, base, &ACCOUNT, ACCOUNT_RING_BYTES, TC_KEPT_ALWAYS);
    return ok ? TC_OK : TC_E_NOMEM;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_SECONDS(
        "window", struct state, window_ns, 60, 1, 86400,
        "longest time between two kills of a pod, or a kill and the end of its container"),
};

const struct tc_detector tc_detector_host_oom = {
    .id = "12",
    .name = "host_oom",
    .summary = "The kernel killed a process for memory; names its pod or rank and what ran out.",
    .kinds = TC_EVENT_BIT(TC_EVENT_OOM_KILL) | TC_EVENT_BIT(TC_EVENT_K8S_EVENT) |
             TC_EVENT_BIT(TC_EVENT_POD_STATE) | TC_EVENT_BIT(TC_EVENT_RANK_PLACE) |
             TC_EVENT_BIT(TC_EVENT_NCCL_RAS),
    .undated = true,
    .state_bytes = sizeof(struct state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .init = init,
    .on_advance = on_advance,
    .on_event = on_event,
    .on_finish = on_finish,
};
