/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_evicted: a pod thrown out by its kubelet, and the node condition behind it.
 * docs/patterns/pod_evicted.md says what it claims and what it never does.
 *
 * Two windows: signs of pressure by node and condition, and evicted pods. An
 * eviction looks for the sign before it; a sign that comes late looks for the
 * evictions after it; the end of a condition resolves the evictions it caused.
 */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/pod_evicted_priv.h"
#include "detect/window_priv.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A step is shorter than the window, so no run begins before a window and ends after it. */
#define STEPS 16
/* Runs of one node and condition that one eviction may look at: three sources, STEPS a window,
 * a little over three windows kept. */
#define RUNS_VISITED_MAX 256
/* Evictions of one node and condition that one sign may look at. */
#define EVICTIONS_VISITED_MAX 1024
/* Evictions wait this long for their condition to clear: the kubelet holds a condition for
 * minutes after the pressure has gone, and pressure may last for hours. */
#define EVICTION_KEPT_NS (86400 * TC_SECOND)

#define RUN_RING_BYTES ((size_t)1 << 20)
#define EVICTION_RING_BYTES ((size_t)4 << 20)
#define ARENA_BYTES ((size_t)16 << 20)

/* One source telling of one condition of one node, inside one step. */
struct run {
    struct tc_window_head head;
    int64_t step;
    enum evict_condition condition;
    enum evict_source source;
    struct tc_slice node;
    struct tc_slice reason;
    struct tc_span span;
};

struct state {
    int64_t window_ns; /* knob */
    struct tc_arena *scratch;
    struct tc_window runs;
    struct tc_window evictions;
    int64_t now_ns;
    int64_t newest_eviction_ns;
    uint64_t late;
    uint64_t ignored;
};

static const size_t RUN_TEXTS[] = {offsetof(struct run, node), offsetof(struct run, reason)};
static const size_t EVICTION_TEXTS[] = {
    offsetof(struct eviction, node),           offsetof(struct eviction, ns),
    offsetof(struct eviction, name),           offsetof(struct eviction, uid),
    offsetof(struct eviction, container),      offsetof(struct eviction, key),
    offsetof(struct eviction, event_uid),      offsetof(struct eviction, message),
    offsetof(struct eviction, note.container), offsetof(struct eviction, note.usage),
    offsetof(struct eviction, note.request),   offsetof(struct eviction, note.threshold),
    offsetof(struct eviction, note.available), offsetof(struct eviction, note.limit),
    offsetof(struct eviction, sign.reason),
};

/* What the node events of the kubelet say. */
static const struct {
    const char *reason;
    enum evict_condition condition;
    bool pressure;
} NODE_EVENTS[] = {
    {"NodeHasInsufficientMemory", EVICT_MEMORY_PRESSURE, true},
    {"NodeHasDiskPressure", EVICT_DISK_PRESSURE, true},
    {"NodeHasInsufficientPID", EVICT_PID_PRESSURE, true},
    {"NodeHasSufficientMemory", EVICT_MEMORY_PRESSURE, false},
    {"NodeHasNoDiskPressure", EVICT_DISK_PRESSURE, false},
    {"NodeHasSufficientPID", EVICT_PID_PRESSURE, false},
};

/* What an event says about the pressure of a node. */
struct news {
    struct tc_slice node;
    enum evict_condition condition;
    bool pressure; /* it is there; else it has gone */
    struct evict_sign sign;
};

static bool same_run(const void *record, const void *key)
{
    const struct run *a = record;
    const struct run *b = key;
    return a->step == b->step && a->condition == b->condition && a->source == b->source &&
           tc_slice_eq(a->node, b->node);
}

static bool same_run_chain(const void *record, const void *key)
{
    const struct run *a = record;
    const struct run *b = key;
    return a->condition == b->condition && tc_slice_eq(a->node, b->node);
}

/* What is not known is no difference, but without a uid a later eviction is another pod's. */
static bool same_eviction(const void *record, const void *key)
{
    const struct eviction *a = record;
    const struct eviction *b = key;
    if (!tc_slice_eq(a->name, b->name) || !tc_slice_eq(a->ns, b->ns) ||
        (a->node.len > 0 && b->node.len > 0 && !tc_slice_eq(a->node, b->node))) {
        return false;
    }
    if (a->uid.len > 0 && b->uid.len > 0) {
        return tc_slice_eq(a->uid, b->uid);
    }
    return a->time_ns < b->time_ns ? b->time_ns - a->time_ns <= b->reach_ns
                                   : a->time_ns - b->time_ns <= b->reach_ns;
}

static bool same_eviction_chain(const void *record, const void *key)
{
    const struct eviction *a = record;
    const struct eviction *b = key;
    return tc__evict_condition(a->note.pressure) == tc__evict_condition(b->note.pressure) &&
           tc_slice_eq(a->node, b->node);
}

static uint64_t chain_hash(struct tc_slice node, enum evict_condition condition)
{
    return tc_slice_hash(node, (uint64_t)condition);
}

static uint64_t eviction_hash(const struct eviction *e)
{
    return tc_slice_hash(e->name, tc_slice_hash(e->ns, 0));
}

static bool better(const struct evict_sign *a, const struct evict_sign *b)
{
    if (!a->known || !b->known) {
        return a->known;
    }
    /* That a condition began says more than that a threshold was met. */
    bool a_begins = a->source != EVICT_BY_THRESHOLD;
    bool b_begins = b->source != EVICT_BY_THRESHOLD;
    if (a_begins != b_begins) {
        return a_begins;
    }
    return a->time_ns == b->time_ns ? a->source > b->source : a->time_ns > b->time_ns;
}

/* A better sign than the one of before; after some revisions only one of a better kind. */
static bool improves(const struct eviction *e, const struct evict_sign *sign)
{
    return better(sign, &e->sign) &&
           (e->revisions < EVICT_REVISIONS_MAX || !e->sign.known || sign->source > e->sign.source);
}

/* Finds the sign of pressure that explains the eviction best. False when nothing changed. */
static bool improve_sign(const struct state *st, struct eviction *e)
{
    int64_t from_ns = e->time_ns - st->window_ns;
    struct run key = {.node = e->node, .condition = tc__evict_condition(e->note.pressure)};
    struct evict_sign best = {0};
    if (e->node.len == 0 || key.condition == EVICT_NONE) {
        return false;
    }
    const struct run *run =
        tc__window_find(&st->runs, &st->runs.chains, chain_hash(key.node, key.condition),
                        same_run_chain, &key)
            .record;
    /* A run goes on for less than a step after it was kept, and what is behind it in the chain
     * was kept earlier: from here on everything is older than the window. */
    int64_t seen_ns = from_ns - st->window_ns / STEPS;
    unsigned visited = 0;
    for (; run != NULL && run->head.seen_ns >= seen_ns && visited < RUNS_VISITED_MAX; visited++) {
        struct evict_sign sign = {.source = run->source, .reason = run->reason};
        sign.known = tc__span_inside(&run->span, from_ns, e->time_ns, &sign.time_ns, &sign.raw) > 0;
        best = better(&sign, &best) ? sign : best;
        run = tc__window_at(&st->runs, run->head.older);
    }
    bool improved = improves(e, &best);
    if (improved || !e->sign.known) {
        e->revisions += improved && e->revisions < EVICT_REVISIONS_MAX;
        e->sign = best;
        e->incomplete = visited == RUNS_VISITED_MAX || st->runs.lost_ns >= from_ns;
    }
    return improved;
}

/* Keeps the eviction in the place of an older record of it, if there is one, and says it. */
static tc_status settle(struct state *st, struct eviction *e, struct tc_window_place place,
                        const struct tc_sink *out)
{
    struct tc_window *w = &st->evictions;
    const struct eviction *old = place.record;
    uint64_t old_pos = old == NULL ? TC_RING_NONE : old->head.pos;
    enum evict_condition condition = tc__evict_condition(e->note.pressure);
    struct tc_window_place chain =
        tc__window_find(w, &w->chains, chain_hash(e->node, condition), same_eviction_chain, e);
    if (e->key.len == 0 && !tc__evict_key(e, st->scratch)) {
        return TC_E_NOMEM;
    }
    struct eviction *kept = tc__window_push(w, st->scratch, e, sizeof *e, EVICTION_TEXTS,
                                            COUNT(EVICTION_TEXTS), st->now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_put(w, &w->index, place, kept);
    if (e->node.len > 0 && condition != EVICT_NONE) {
        tc__window_chain(w, chain, kept);
    }
    struct eviction *gone = tc__window_at(w, old_pos);
    if (gone != NULL) {
        gone->gone = true;
    }
    return tc__evict_report(kept, NULL, st->scratch, out);
}

/* Takes what was not known before. */
static bool fill(struct tc_slice *io, struct tc_slice other)
{
    bool learned = io->len == 0 && other.len > 0;
    *io = learned ? other : *io;
    return learned;
}

/*
 * Of two tellings of one eviction, the one that knows when it happened: the
 * kubelet's event does, a pod's state may only know when the pod was made.
 */
static bool tells_better(const struct eviction *a, const struct eviction *b)
{
    if (a->kind != b->kind) {
        return a->kind == TC_EVENT_K8S_EVENT;
    }
    return a->time_ns == b->time_ns ? tc_slice_cmp(a->event_uid, b->event_uid) < 0
                                    : a->time_ns < b->time_ns;
}

/* Adds another telling to what is known. False when it tells nothing new. */
static bool merge(const struct state *st, struct eviction *known, const struct eviction *news)
{
    struct eviction base = *known;
    const struct eviction *other = news;
    bool changed = tells_better(news, known);
    if (changed) {
        base = *news;
        base.key = known->key;
        base.sign = known->sign;
        base.incomplete = known->incomplete;
        base.revisions = known->revisions;
        other = known;
    }
    bool learned = fill(&base.node, other->node);
    learned = fill(&base.uid, other->uid) || learned;
    learned = fill(&base.container, other->container) || learned;
    if (base.note.pressure == EVICT_UNKNOWN && other->note.pressure != EVICT_UNKNOWN) {
        base.note = other->note;
        base.message = other->message;
        learned = true;
    }
    /* A sign of another condition, or of another time, is none for this eviction. */
    if (tc__evict_condition(base.note.pressure) != tc__evict_condition(known->note.pressure) ||
        base.sign.time_ns > base.time_ns || base.time_ns - base.sign.time_ns > st->window_ns) {
        base.sign = (struct evict_sign){0};
    }
    *known = base;
    return changed || learned;
}

static tc_status on_eviction(struct state *st, struct eviction *e, const struct tc_sink *out)
{
    struct tc_window *w = &st->evictions;
    struct tc_window_place place =
        tc__window_find(w, &w->index, eviction_hash(e), same_eviction, e);
    struct eviction *old = place.record;
    if (old != NULL) {
        /* Whoever tells it again keeps it from being forgotten and raised anew. */
        old->head.seen_ns = st->now_ns;
        struct eviction known = *old;
        if (old->resolved || !merge(st, &known, e)) {
            return TC_OK;
        }
        *e = known;
    }
    if (e->time_ns > st->newest_eviction_ns) {
        st->newest_eviction_ns = e->time_ns;
    }
    (void)improve_sign(st, e);
    return settle(st, e, place, out);
}

/* The newest eviction of a node and condition. */
static struct eviction *newest_of(const struct state *st, const struct news *news)
{
    /* Any pressure that goes with the condition finds the chain. */
    static const enum evict_pressure pressures[] = {
        [EVICT_MEMORY_PRESSURE] = EVICT_MEMORY,
        [EVICT_DISK_PRESSURE] = EVICT_DISK,
        [EVICT_PID_PRESSURE] = EVICT_PID,
    };
    struct eviction key = {.node = news->node, .note.pressure = pressures[news->condition]};
    return tc__window_find(&st->evictions, &st->evictions.chains,
                           chain_hash(news->node, news->condition), same_eviction_chain, &key)
        .record;
}

/* A sign that came late may explain evictions that came before it. */
static tc_status look_again(struct state *st, const struct news *news, const struct tc_sink *out)
{
    struct tc_window *w = &st->evictions;
    uint64_t *link = NULL; /* the first of a chain stays, as what the rest hangs on */
    struct eviction *e = newest_of(st, news);
    /* What was kept before the time of the sign happened before it, and so did all behind it. */
    for (unsigned i = 0;
         e != NULL && i < EVICTIONS_VISITED_MAX && e->head.seen_ns >= news->sign.time_ns; i++) {
        uint64_t older = e->head.older;
        bool live = !e->gone && !e->resolved;
        if (live || link == NULL) {
            link = &e->head.older;
        } else {
            *link = older; /* walked once, then out of the way */
        }
        bool after = live && e->time_ns >= news->sign.time_ns &&
                     e->time_ns - news->sign.time_ns <= st->window_ns;
        struct eviction next = *e;
        if (after && improve_sign(st, &next)) {
            struct tc_window_place place =
                tc__window_find(w, &w->index, eviction_hash(&next), same_eviction, &next);
            TC_TRY(settle(st, &next, place, out));
        }
        e = tc__window_at(w, older);
    }
    return TC_OK;
}

static tc_status on_pressure(struct state *st, const struct news *news, const struct tc_sink *out)
{
    struct tc_window *w = &st->runs;
    struct run run = {
        .step = news->sign.time_ns / (st->window_ns / STEPS),
        .condition = news->condition,
        .source = news->sign.source,
        .node = news->node,
        .reason = news->sign.reason,
        .span = tc__span_make(news->sign.time_ns, news->sign.raw),
    };
    if (news->sign.time_ns < st->now_ns - 2 * st->window_ns) {
        st->late++;
        return TC_OK;
    }
    uint64_t chain = chain_hash(run.node, run.condition);
    uint64_t hash = tc_hash_mix(chain, tc_hash_mix((uint64_t)run.step, (uint64_t)run.source));
    struct tc_window_place place = tc__window_find(w, &w->index, hash, same_run, &run);
    struct run *known = place.record;
    if (known != NULL) {
        tc__span_add(&known->span, news->sign.time_ns, news->sign.raw);
    } else {
        struct tc_window_place front = tc__window_find(w, &w->chains, chain, same_run_chain, &run);
        struct run *kept = tc__window_push(w, st->scratch, &run, sizeof run, RUN_TEXTS,
                                           COUNT(RUN_TEXTS), st->now_ns);
        if (kept == NULL) {
            return TC_E_NOMEM;
        }
        tc__window_put(w, &w->index, place, kept);
        tc__window_chain(w, front, kept);
    }
    return news->sign.time_ns <= st->newest_eviction_ns ? look_again(st, news, out) : TC_OK;
}

/* The condition has cleared: what it caused before is over. */
static tc_status on_relief(struct state *st, const struct news *news, const struct tc_sink *out)
{
    uint64_t *link = NULL; /* the first of a chain stays, as what the rest hangs on */
    struct eviction *e = newest_of(st, news);
    for (unsigned i = 0; e != NULL && i < EVICTIONS_VISITED_MAX; i++) {
        bool live = !e->gone && !e->resolved;
        if (live && e->sign.known && e->time_ns < news->sign.time_ns) {
            TC_TRY(tc__evict_report(e, &news->sign, st->scratch, out));
            e->resolved = true;
            live = false;
        }
        /* What was never joined stays as long as a late sign may still join it. */
        live = live && (e->sign.known || e->time_ns >= st->now_ns - 2 * st->window_ns);
        if (live || link == NULL) {
            link = &e->head.older;
        } else {
            *link = e->head.older;
        }
        e = tc__window_at(&st->evictions, e->head.older);
    }
    return TC_OK;
}

static bool read_condition(const struct tc_event *ev, struct news *out)
{
    static const struct tc_slice types[] = {
        [EVICT_MEMORY_PRESSURE] = {"MemoryPressure", sizeof "MemoryPressure" - 1},
        [EVICT_DISK_PRESSURE] = {"DiskPressure", sizeof "DiskPressure" - 1},
        [EVICT_PID_PRESSURE] = {"PIDPressure", sizeof "PIDPressure" - 1},
    };
    for (unsigned i = 0; i < COUNT(types); i++) {
        if (tc_slice_eq(ev->k8s.type, types[i])) {
            out->condition = (enum evict_condition)i;
        }
    }
    out->pressure = tc_slice_eq(ev->k8s.status, TC_LIT("True"));
    out->sign.source = EVICT_BY_CONDITION;
    return out->condition != EVICT_NONE &&
           (out->pressure || tc_slice_eq(ev->k8s.status, TC_LIT("False")));
}

static bool read_node_event(const struct tc_event *ev, struct news *out)
{
    out->node = out->node.len > 0 ? out->node : ev->k8s.object_name;
    if (tc_slice_eq(ev->k8s.reason, TC_LIT("EvictionThresholdMet"))) {
        struct tc_slice what = tc_slice_head(ev->k8s.message, EVICT_QUOTE_MAX);
        out->condition = tc__evict_condition(tc__evict_resource(what));
        out->pressure = true;
        out->sign.source = EVICT_BY_THRESHOLD;
        return out->condition != EVICT_NONE;
    }
    for (size_t i = 0; i < COUNT(NODE_EVENTS); i++) {
        if (tc_slice_eq(ev->k8s.reason, tc_slice_cstr(NODE_EVENTS[i].reason))) {
            out->condition = NODE_EVENTS[i].condition;
            out->pressure = NODE_EVENTS[i].pressure;
            out->sign.source = EVICT_BY_NODE_EVENT;
            return true;
        }
    }
    return false;
}

/* True when the event is about the pressure of a node. */
static bool read_news(const struct tc_event *ev, struct news *out)
{
    *out = (struct news){
        .node = ev->scope.node,
        .condition = EVICT_NONE,
        .sign = {.known = true, .time_ns = ev->time_ns, .raw = ev->raw},
    };
    if (ev->kind == TC_EVENT_POD_STATE) {
        return false;
    }
    out->sign.reason = tc__text_clip(ev->k8s.reason, EVICT_WORD_MAX);
    if (ev->kind == TC_EVENT_NODE_CONDITION) {
        return read_condition(ev, out);
    }
    return tc_slice_eq(ev->k8s.object_kind, TC_LIT("Node")) && read_node_event(ev, out);
}

/* True when the event is about the eviction of a pod. */
static bool read_eviction(const struct tc_event *ev, struct eviction *out)
{
    bool state = ev->kind == TC_EVENT_POD_STATE;
    struct tc_slice reason = state ? ev->pod.reason : ev->k8s.reason;
    if (ev->kind == TC_EVENT_NODE_CONDITION || !tc_slice_eq(reason, TC_LIT("Evicted"))) {
        return false;
    }
    *out = (struct eviction){
        .node = ev->scope.node,
        .ns = ev->scope.ns,
        .name = ev->scope.pod,
        .uid = ev->scope.pod_uid,
        .container = ev->scope.container,
        .event_uid = tc_slice_head(ev->uid, TC_SCOPE_TEXT_MAX),
        .message = state ? ev->pod.message : ev->k8s.message,
        .time_ns = ev->time_ns,
        .kind = ev->kind,
        .raw = ev->raw,
    };
    if (!state) {
        bool about_pod = tc_slice_eq(ev->k8s.object_kind, TC_LIT("Pod"));
        if (!about_pod && (ev->k8s.object_kind.len > 0 || out->name.len == 0)) {
            return false;
        }
        (void)fill(&out->name, ev->k8s.object_name);
        (void)fill(&out->uid, ev->k8s.object_uid);
    }
    out->note = tc__evict_note(out->message);
    out->message = tc__text_clip(tc_slice_trim(out->message), EVICT_QUOTE_MAX);
    if (out->note.container.len > 0) {
        out->container = out->note.container;
    }
    return !out->note.planned;
}

static void advance(struct state *st, int64_t now_ns)
{
    if (now_ns > st->now_ns) {
        int64_t kept_ns =
            EVICTION_KEPT_NS > 2 * st->window_ns ? EVICTION_KEPT_NS : 2 * st->window_ns;
        st->now_ns = now_ns;
        tc__window_expire(&st->runs, now_ns - 3 * st->window_ns - st->window_ns / STEPS);
        tc__window_expire(&st->evictions, now_ns - kept_ns);
    }
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct state *st = state;
    struct news news;
    struct eviction eviction = {0};
    bool is_news = read_news(ev, &news);
    if (!is_news && !read_eviction(ev, &eviction)) {
        return TC_OK;
    }
    /* A sign needs its node, an eviction its pod; TC_TIME_NONE is below zero. */
    struct tc_slice name = is_news ? news.node : eviction.name;
    if (ev->time_ns < 0 || name.len == 0 || name.len > TC_SCOPE_TEXT_MAX ||
        eviction.uid.len > TC_SCOPE_TEXT_MAX || !tc__scope_fits(&ev->scope)) {
        st->ignored++;
        return TC_OK;
    }
    advance(st, ev->time_ns);
    if (!is_news) {
        /* That its window has gone does not undo an eviction: it is told without a cause. */
        st->late += ev->time_ns < st->now_ns - 2 * st->window_ns;
        eviction.reach_ns = st->window_ns;
        return on_eviction(st, &eviction, out);
    }
    return news.pressure ? on_pressure(st, &news, out) : on_relief(st, &news, out);
}

static tc_status on_tick(void *state, int64_t now_ns, const struct tc_sink *out)
{
    (void)out;
    advance(state, now_ns);
    return TC_OK;
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct state *st = state;
    st->scratch = env->scratch;
    st->now_ns = INT64_MIN;
    st->newest_eviction_ns = INT64_MIN;
    /* Every run names its node, every eviction its pod: none is smaller than this. */
    bool ok =
        tc__window_init(&st->runs, env->arena, RUN_RING_BYTES,
                        RUN_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct run), 1), true) &&
        tc__window_init(&st->evictions, env->arena, EVICTION_RING_BYTES,
                        EVICTION_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct eviction), 1),
                        true);
    return ok ? TC_OK : TC_E_NOMEM;
}

static void stats(const void *state, struct tc_detector_stats *out)
{
    const struct state *st = state;
    *out = (struct tc_detector_stats){
        .dropped = st->runs.ring.dropped_count + st->evictions.ring.dropped_count,
        .late = st->late,
        .ignored = st->ignored,
    };
}

static const struct tc_param PARAMS[] = {
    {
        .name = "window",
        .type = TC_PARAM_DURATION,
        .value = 300 * TC_SECOND,
        .min = TC_SECOND,
        .max = 86400 * TC_SECOND,
        .offset = offsetof(struct state, window_ns),
        .help = "longest time from the node condition to the eviction that is put down to it",
    },
};

const struct tc_detector tc_detector_pod_evicted = {
    .id = "8",
    .name = "pod_evicted",
    .summary = "The kubelet evicted a pod; names the node condition that made it do so.",
    .kinds = TC_EVENT_BIT(TC_EVENT_K8S_EVENT) | TC_EVENT_BIT(TC_EVENT_POD_STATE) |
             TC_EVENT_BIT(TC_EVENT_NODE_CONDITION),
    .state_bytes = sizeof(struct state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = COUNT(PARAMS),
    .init = init,
    .on_event = on_event,
    .on_tick = on_tick,
    .stats = stats,
};
