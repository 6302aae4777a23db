/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_evicted: a pod thrown out by its kubelet, and the node condition behind it.
 * docs/patterns/pod_evicted.md says what it claims and what it never does.
 *
 * An eviction of a pod that works for a training job is graver than another.
 * Two windows: signs of pressure by node and condition, and evicted pods. An
 * eviction looks for the sign before it; a sign that comes late looks for the
 * evictions after it; the end of a condition resolves the evictions it caused.
 */
#include "detect/detector.h"
#include "detect/pod_evicted/priv.h"
#include "detect/span_priv.h"
#include "detect/window_pod_priv.h"
#include "detect/words_priv.h"

/* A step is shorter than the window, so no run begins before a window and ends after it. */
#define STEPS 16
/* Runs of one node and condition that one eviction may look at: three sources, STEPS a window,
 * a little over three windows kept. */
#define RUNS_VISITED_MAX 256
/* Evictions of one node that one sign may look at. */
#define EVICTIONS_VISITED_MAX 1024
/* Evictions wait this long for their condition to clear: the kubelet holds a condition for
 * minutes after the pressure has gone, and pressure may last for hours. */
#define EVICTION_KEPT_NS (86400 * TC_SECOND)

/* Pods that are known to work for a job. */
#define WORKERS_MAX 32768

#define RUN_RING_BYTES ((size_t)1 << 20)
#define EVICTION_RING_BYTES ((size_t)4 << 20)
#define ARENA_BYTES ((size_t)16 << 20)

/* One source telling of one condition of one node, inside one step. */
struct run {
    struct tc_window_head head;
    int64_t step;
    int64_t since_ns; /* the telling repeats, and began then; TC_TIME_NONE when it does not */
    enum evict_condition condition;
    enum evict_source source;
    struct tc_slice node;
    struct tc_slice reason;
    struct tc_span span;
};

struct state {
    struct tc_detector_base base;
    int64_t window_ns; /* knob */
    struct tc_window runs;
    struct tc_window evictions;
    uint32_t worker_count;
    struct tc_map workers; /* pods that work for a training job, by worker_hash */
    int64_t newest_eviction_ns;
};

static const struct tc_record_type RUN = {
    .size = sizeof(struct run),
    .text_min = 1, /* every run names its node, every eviction its pod */
    .texts = {TC_TEXT(struct run, node), TC_TEXT(struct run, reason)},
    .keys = {{TC_FIELD(struct run, node), TC_FIELD(struct run, condition),
              TC_FIELD(struct run, source), TC_FIELD(struct run, step),
              TC_FIELD(struct run, since_ns)}},
    .chain = {TC_FIELD(struct run, node), TC_FIELD(struct run, condition)},
};
static const struct tc_record_type EVICTION = {
    .size = sizeof(struct eviction),
    .text_min = 1,
    .texts = {TC_TEXT(struct eviction, node), TC_TEXT(struct eviction, ns),
              TC_TEXT(struct eviction, name), TC_TEXT(struct eviction, uid),
              TC_TEXT(struct eviction, container), TC_TEXT(struct eviction, key),
              TC_TEXT(struct eviction, event_uid), TC_TEXT(struct eviction, message),
              TC_TEXT(struct eviction, note.container), TC_TEXT(struct eviction, note.usage),
              TC_TEXT(struct eviction, note.request), TC_TEXT(struct eviction, note.threshold),
              TC_TEXT(struct eviction, note.available), TC_TEXT(struct eviction, note.limit),
              TC_TEXT(struct eviction, sign.reason)},
    .keys = TC_WINDOW_POD_KEYS(struct eviction),
    .chain = {TC_FIELD(struct eviction, node)},
};

/* Without a uid a later eviction is another pod's, unless one event repeats. */
static bool same_eviction(const struct eviction *a, const struct eviction *b)
{
    if (a->kind == b->kind && a->event_uid.len > 0 && tc_slice_eq(a->event_uid, b->event_uid)) {
        return true;
    }
    /* What has no date may have happened at any time: also at that of the other. */
    bool dated = tc_time_is_date(a->time_ns) && tc_time_is_date(b->time_ns);
    return !dated || (a->uid.len > 0 && b->uid.len > 0) ||
           tc__apart(a->time_ns, b->time_ns) <= b->reach_ns;
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

/*
 * What a run is as a sign for an eviction. What repeats began when it was first
 * seen; from before the window it counts by its last time, and by its beginning
 * when it went on until after the eviction.
 */
static struct evict_sign sign_of(const struct state *st, const struct run *run, int64_t evicted_ns)
{
    struct evict_sign sign = {
        .condition = run->condition,
        .source = run->source,
        .reason = run->reason,
    };
    int64_t from_ns = evicted_ns - st->window_ns;
    sign.known = tc__span_inside(&run->span, from_ns, evicted_ns, &sign.time_ns, &sign.raw) > 0;
    if (run->since_ns == TC_TIME_NONE || run->since_ns > evicted_ns) {
        return sign;
    }
    bool began_inside = run->since_ns >= from_ns;
    if (began_inside || (!sign.known && run->span.last_ns > evicted_ns)) {
        sign.known = true;
        sign.ongoing = !began_inside;
        sign.time_ns = run->since_ns;
        sign.raw = run->span.first_raw;
    }
    return sign;
}

/* The best sign of one condition, if it is better than *io. True when runs were left out. */
static bool best_sign(const struct state *st, const struct eviction *e,
                      enum evict_condition condition, struct evict_sign *io)
{
    struct run key = {.node = e->node, .condition = condition};
    const struct run *run = tc__window_newest(&st->runs, &key);
    /* A run goes on for less than a step after it was kept, and what is behind it in the chain
     * was kept earlier: from here on everything is older than the window. */
    int64_t seen_ns = e->time_ns - st->window_ns - st->window_ns / STEPS;
    unsigned visited = 0;
    for (; run != NULL && run->head.seen_ns >= seen_ns && visited < RUNS_VISITED_MAX; visited++) {
        struct evict_sign sign = sign_of(st, run, e->time_ns);
        *io = better(&sign, io) ? sign : *io;
        run = tc__window_older(&st->runs, run);
    }
    return visited == RUNS_VISITED_MAX;
}

/* Finds the sign of pressure that explains the eviction best. False when nothing changed. */
static bool improve_sign(const struct state *st, struct eviction *e)
{
    struct evict_sign best = {0};
    bool left_out = false;
    if (e->node.len == 0 || e->note.conditions == 0 || !tc_time_is_date(e->time_ns)) {
        return false;
    }
    for (unsigned i = 0; i < EVICT_NONE; i++) {
        if ((e->note.conditions & 1U << i) != 0) {
            left_out = best_sign(st, e, (enum evict_condition)i, &best) || left_out;
        }
    }
    bool improved = improves(e, &best);
    if (improved || !e->sign.known) {
        e->revisions += improved && e->revisions < EVICT_REVISIONS_MAX;
        e->sign = best;
        e->incomplete = left_out || st->runs.lost_ns >= e->time_ns - st->window_ns;
    }
    /* Of several conditions that the note names, the one that was seen is told. */
    if (improved && tc__evict_condition(e->note.pressure) != best.condition) {
        e->note.pressure = tc__evict_pressure(best.condition);
    }
    return improved;
}

/* Keeps the eviction in the place of an older record of it, if there is one, and says it. */
static tc_status settle(struct state *st, struct eviction *e, uint64_t old_pos,
                        const struct tc_sink *out)
{
    struct tc_window *w = &st->evictions;
    if (e->key.len == 0 && !tc__evict_key(e, st->base.scratch)) {
        return TC_E_NOMEM;
    }
    struct eviction *kept = tc__window_add(w, e, st->base.now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_pod_put(w, kept);
    struct eviction *gone = tc__window_at(w, old_pos);
    if (gone != NULL) {
        gone->gone = true;
    }
    return tc__evict_report(kept, NULL, st->base.scratch, out);
}

/*
 * Of two tellings of one eviction, the one that knows when it happened: the
 * kubelet's event does, a pod's state may only know when the pod was made.
 */
static bool tells_better(const struct eviction *a, const struct eviction *b)
{
    if (tc_time_is_date(a->time_ns) != tc_time_is_date(b->time_ns)) {
        return tc_time_is_date(a->time_ns);
    }
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
        base.redated =
            known->redated || (known->kind != news->kind && known->time_ns < news->time_ns);
        other = known;
    }
    bool learned = tc__text_fill(&base.node, other->node);
    learned |= tc__text_fill(&base.uid, other->uid);
    learned |= tc__text_fill(&base.container, other->container);
    learned |= other->works && !base.works;
    base.works = base.works || other->works;
    if (base.note.pressure == EVICT_UNKNOWN && other->note.pressure != EVICT_UNKNOWN) {
        base.note = other->note;
        base.message = other->message;
        learned = true;
    }
    /* A sign of another condition, or of another time, is none for this eviction. */
    if ((base.note.conditions & 1U << base.sign.condition) == 0 ||
        base.sign.time_ns > base.time_ns ||
        (!base.sign.ongoing && base.time_ns - base.sign.time_ns > st->window_ns)) {
        base.sign = (struct evict_sign){0};
    } else if (base.sign.known && tc__evict_condition(base.note.pressure) != base.sign.condition) {
        base.note.pressure = tc__evict_pressure(base.sign.condition);
    }
    *known = base;
    return changed || learned;
}

/* Names are kept as hashes: there may be many. */
static uint64_t worker_hash(const struct eviction *pod)
{
    return tc_slice_hash(pod->name, tc_slice_hash(pod->ns, 0)) | 1;
}

static bool is_worker(const struct state *st, const struct eviction *pod)
{
    struct tc_map_iter it = tc_map_find(&st->workers, worker_hash(pod));
    return pod->name.len > 0 && tc_map_next(&st->workers, &it) != 0;
}

static tc_status on_eviction(struct state *st, struct eviction *e, const struct tc_sink *out)
{
    struct eviction *old = tc__window_pod_find(&st->evictions, e);
    uint64_t old_pos = TC_RING_NONE;
    if (old != NULL && same_eviction(old, e)) {
        old_pos = old->head.pos;
        /* Whoever tells it again keeps it from being forgotten and raised anew. */
        old->head.seen_ns = st->base.now_ns;
        struct eviction known = *old;
        if (old->resolved || !merge(st, &known, e)) {
            return TC_OK;
        }
        *e = known;
    }
    if (e->time_ns > st->newest_eviction_ns) {
        st->newest_eviction_ns = e->time_ns;
    }
    e->works = e->works || is_worker(st, e);
    (void)improve_sign(st, e);
    return settle(st, e, old_pos, out);
}

/* A pod works for a job, which may be told after its eviction. */
static tc_status on_worker(struct state *st, const struct tc_scope *s, const struct tc_sink *out)
{
    struct eviction pod = {.node = s->node, .ns = s->ns, .name = s->pod, .uid = s->pod_uid};
    if (s->pod.len == 0 || !tc__scope_fits(s) || is_worker(st, &pod)) {
        return TC_OK;
    }
    if (st->worker_count == tc_detector_room(&st->base, WORKERS_MAX) ||
        !tc_map_add(&st->workers, worker_hash(&pod), 1, 0)) {
        st->base.ignored++;
        return TC_OK;
    }
    st->worker_count++;
    const struct eviction *old = tc__window_pod_find(&st->evictions, &pod);
    if (old == NULL || old->works || old->resolved) {
        return TC_OK;
    }
    struct eviction known = *old;
    known.works = true;
    return settle(st, &known, old->head.pos, out);
}

/* The newest eviction of a node. */
static struct eviction *newest_of(const struct state *st, const struct evict_news *news)
{
    struct eviction key = {.node = news->node};
    return tc__window_newest(&st->evictions, &key);
}

/* A sign may still say something about it. */
static bool is_live(const struct eviction *e)
{
    return !e->gone && !e->resolved && e->note.conditions != 0;
}

/* A sign that came late may explain evictions that came before it. */
static tc_status look_again(struct state *st, const struct evict_news *news,
                            const struct tc_sink *out)
{
    uint64_t *link = NULL; /* the first of a chain stays, as what the rest hangs on */
    struct eviction *e = newest_of(st, news);
    /* What was kept before the time of the sign happened before it, and so did all behind it. */
    int64_t late_ns = st->base.now_ns - 2 * st->window_ns;
    int64_t from_ns = news->since_ns > late_ns ? news->since_ns : late_ns;
    for (unsigned i = 0; e != NULL && i < EVICTIONS_VISITED_MAX && e->head.seen_ns >= from_ns;
         i++) {
        uint64_t older = e->head.older;
        bool live = is_live(e);
        if (live || link == NULL) {
            link = &e->head.older;
        } else {
            *link = older; /* walked once, then out of the way */
        }
        bool after = live && (e->note.conditions & 1U << news->condition) != 0 &&
                     e->time_ns >= news->since_ns &&
                     e->time_ns - news->sign.time_ns <= st->window_ns;
        if (after) {
            struct eviction next = *e;
            if (improve_sign(st, &next)) {
                TC_TRY(settle(st, &next, next.head.pos, out));
            }
        }
        e = tc__window_at(&st->evictions, older);
    }
    return TC_OK;
}

static tc_status on_pressure(struct state *st, const struct evict_news *news,
                             const struct tc_sink *out)
{
    struct run run = {
        .step = news->sign.time_ns / (st->window_ns / STEPS),
        .since_ns = news->since_ns < news->sign.time_ns ? news->since_ns : TC_TIME_NONE,
        .condition = news->condition,
        .source = news->sign.source,
        .node = news->node,
        .reason = news->sign.reason,
        .span = tc__span_make(news->sign.time_ns, news->sign.raw),
    };
    if (news->sign.time_ns < st->base.now_ns - 2 * st->window_ns) {
        st->base.late++;
        return TC_OK;
    }
    struct run *known = tc__window_get(&st->runs, &run);
    if (known != NULL) {
        tc__span_add(&known->span, news->sign.time_ns, news->sign.raw);
    } else if (tc__window_add(&st->runs, &run, st->base.now_ns) == NULL) {
        return TC_E_NOMEM;
    }
    return news->since_ns <= st->newest_eviction_ns ? look_again(st, news, out) : TC_OK;
}

/* The condition has cleared: what it caused before is over. */
static tc_status on_relief(struct state *st, const struct evict_news *news,
                           const struct tc_sink *out)
{
    uint64_t *link = NULL; /* the first of a chain stays, as what the rest hangs on */
    struct eviction *e = newest_of(st, news);
    for (unsigned i = 0; e != NULL && i < EVICTIONS_VISITED_MAX; i++) {
        bool live = is_live(e);
        if (live && e->sign.known && e->sign.condition == news->condition &&
            e->time_ns < news->sign.time_ns) {
            TC_TRY(tc__evict_report(e, &news->sign, st->base.scratch, out));
            e->resolved = true;
            live = false;
        }
        /* What was never joined stays as long as a late sign may still join it. */
        live = live && (e->sign.known || e->time_ns >= st->base.now_ns - 2 * st->window_ns);
        if (live || link == NULL) {
            link = &e->head.older;
        } else {
            *link = e->head.older;
        }
        e = tc__window_at(&st->evictions, e->head.older);
    }
    return TC_OK;
}

static tc_status on_event(void *state, const struct tc_event *ev, const struct tc_sink *out)
{
    struct state *st = state;
    struct evict_news news;
    struct eviction eviction = {0};
    bool is_place = ev->kind == TC_EVENT_RANK_PLACE;
    bool is_news = !is_place && tc__evict_read_news(ev, &news);
    if (is_place || (!is_news && !tc__evict_read(ev, &eviction))) {
        return tc__evict_is_worker(ev) ? on_worker(st, &ev->scope, out) : TC_OK;
    }
    /*
     * A sign needs its node and a date: what is put down to it depends on how long ago it was. An
     * eviction needs its pod, unless its note proves it: tickets have the top cut off.
     */
    struct tc_slice name = is_news ? news.node : eviction.name;
    bool proven = !is_news && eviction.note.pressure != EVICT_UNKNOWN;
    if (ev->time_ns < (is_news ? 0 : TC_TIME_UNDATED_MIN) || (name.len == 0 && !proven) ||
        name.len > TC_SCOPE_TEXT_MAX || eviction.uid.len > TC_SCOPE_TEXT_MAX ||
        !tc__scope_fits(&ev->scope)) {
        st->base.ignored++;
        return TC_OK;
    }
    if (!is_news) {
        /* That its window has gone does not undo an eviction: it is told without a cause. */
        st->base.late += ev->time_ns < st->base.now_ns - 2 * st->window_ns;
        eviction.reach_ns = st->window_ns;
        return on_eviction(st, &eviction, out);
    }
    return news.pressure ? on_pressure(st, &news, out) : on_relief(st, &news, out);
}

static tc_status init(void *state, const struct tc_detector_env *env)
{
    struct state *st = state;
    (void)env;
    int64_t runs_ns = 3 * st->window_ns + st->window_ns / STEPS;
    int64_t evictions_ns =
        EVICTION_KEPT_NS > 2 * st->window_ns ? EVICTION_KEPT_NS : 2 * st->window_ns;
    st->newest_eviction_ns = INT64_MIN;
    bool ok =
        tc_map_init(&st->workers, st->base.arena, tc_detector_room(&st->base, WORKERS_MAX)) &&
        tc__window_open(&st->runs, &st->base, &RUN, RUN_RING_BYTES, runs_ns) &&
        tc__window_open(&st->evictions, &st->base, &EVICTION, EVICTION_RING_BYTES, evictions_ns);
    return ok ? TC_OK : TC_E_NOMEM;
}

static const struct tc_knob PARAMS[] = {
    TC_KNOB_SECONDS("window", struct state, window_ns, 300, 1, 86400,
                    "longest time from the node condition to the eviction that is put down to it"),
};

const struct tc_detector tc_detector_pod_evicted = {
    .id = "8",
    .name = "pod_evicted",
    .summary = "The kubelet evicted a pod; names the node condition that made it do so.",
    .kinds = TC_EVENT_BIT(TC_EVENT_K8S_EVENT) | TC_EVENT_BIT(TC_EVENT_POD_STATE) |
             TC_EVENT_BIT(TC_EVENT_NODE_CONDITION) | TC_EVENT_BIT(TC_EVENT_RANK_PLACE),
    .state_bytes = sizeof(struct state),
    .arena_bytes = ARENA_BYTES,
    .params = PARAMS,
    .param_count = TC_COUNT(PARAMS),
    .undated = true,
    .init = init,
    .on_event = on_event,
};
