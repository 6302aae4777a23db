/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a gpu_fault incident: facts come in, news goes out. */
#include "detect/gpu_fault/priv.h"
#include "detect/words_priv.h"
#include "event/format.h"

#define GPU_RING_BYTES ((size_t)4 << 20)
#define INCIDENT_RING_BYTES ((size_t)32 << 20)
#define QUEUE_MAX ((size_t)4096)
/* What happens within this time is told as one. */
#define TOGETHER_NS TC_SECOND
/* The same fact again is told after this time. */
#define RETELL_NS (60 * TC_SECOND)
/* A reset that is asked for so near another pattern's Xid is asked for because of that. */
#define OWNED_NS (300 * TC_SECOND)
#define KEY_MAX (2 * TC_SCOPE_TEXT_MAX + 96)

static const struct tc_record_type GPU = {
    .size = sizeof(struct gpuf_gpu),
    .keys = {{TC_FIELD(struct gpuf_gpu, id)}},
};

static const struct tc_record_type INCIDENT = {
    .size = sizeof(struct gpuf_incident),
    .texts = {TC_TEXT(struct gpuf_incident, key), TC_TEXT(struct gpuf_incident, node),
              TC_TEXT(struct gpuf_incident, uuid), TC_TEXT(struct gpuf_incident, ns),
              TC_TEXT(struct gpuf_incident, pod), TC_TEXT(struct gpuf_incident, container),
              TC_TEXT(struct gpuf_incident, job)},
};

bool tc__gpuf_incidents_init(struct gpuf_state *st)
{
    struct tc_arena *arena = st->base.arena;
    return tc__window_open(&st->gpus, &st->base, &GPU, GPU_RING_BYTES, TC_KEPT_ALWAYS) &&
           tc__window_open(&st->incidents, &st->base, &INCIDENT, INCIDENT_RING_BYTES,
                           TC_KEPT_ALWAYS) &&
           tc__waiting_init(&st->begun, arena, &st->incidents, QUEUE_MAX, NULL) &&
           tc__waiting_init(&st->soon, arena, &st->incidents, QUEUE_MAX, NULL) &&
           tc__waiting_init(&st->later, arena, &st->incidents, QUEUE_MAX, NULL);
}

struct gpuf_gpu *tc__gpuf_known(const struct gpuf_state *st, const struct tc_gpu *names)
{
    struct gpuf_gpu *gpu = NULL;
    for (unsigned i = 0; i < TC_GPU_IDS; i++) {
        struct gpuf_gpu key;
        key.id = tc_gpu_id(names, i);
        struct gpuf_gpu *part = key.id == 0 ? NULL : tc__window_get(&st->gpus, &key);
        if (part == NULL || part->taken_over) {
            continue;
        }
        if (gpu != NULL) {
            /* Two names turned out to be one GPU. */
            part->taken_over = true;
            gpu->incident = tc__gpuf_incident_of(st, gpu) != NULL ? gpu->incident : part->incident;
            gpu->owned_ns = gpu->owned_ns > part->owned_ns ? gpu->owned_ns : part->owned_ns;
            if (gpu->xid_last_ns == TC_TIME_NONE) {
                gpu->xid_last = part->xid_last;
                gpu->xid_last_ns = part->xid_last_ns;
            }
        }
        gpu = gpu == NULL ? part : gpu;
    }
    return gpu;
}

struct gpuf_gpu *tc__gpuf_gpu(struct gpuf_state *st, const struct tc_gpu *names)
{
    struct gpuf_gpu *gpu = tc__gpuf_known(st, names);
    if (gpu != NULL) {
        return gpu;
    }
    struct gpuf_gpu fresh = {.id = names->id,
                             .incident = TC_RING_NONE,
                             .owned_ns = TC_TIME_NONE,
                             .xid_last_ns = TC_TIME_NONE,
                             .suspect_ns = TC_TIME_NONE};
    return tc__window_add(&st->gpus, &fresh, st->base.now_ns);
}

struct gpuf_incident *tc__gpuf_incident_of(const struct gpuf_state *st, const struct gpuf_gpu *gpu)
{
    return tc__window_at(&st->incidents, gpu->incident);
}

uint32_t tc__gpuf_names(const struct tc_gpu *gpu)
{
    return (gpu->node.len > 0 ? 1U : 0) | (gpu->uuid.len > 0 ? 2U : 0) | (gpu->pci.known ? 4U : 0) |
           (gpu->index >= 0 ? 8U : 0);
}

/* Of two times of which one is only an order nothing is known. */
static bool is_near(int64_t a_ns, int64_t b_ns, int64_t near_ns)
{
    return !tc_time_is_date(a_ns) || !tc_time_is_date(b_ns) || tc__apart(a_ns, b_ns) <= near_ns;
}

/* hbm_ecc or nvlink_degraded tell of the GPU, and the reset is theirs. */
static bool is_owned(const struct gpuf_incident *in, const struct gpuf_gpu *gpu)
{
    return gpu != NULL && gpu->owned_ns != TC_TIME_NONE &&
           tc__gpuf_gravest(in)->kind == GPUF_NEEDS_RESET &&
           (is_near(in->first_ns, gpu->owned_ns, OWNED_NS) ||
            is_near(in->last_ns, gpu->owned_ns, OWNED_NS));
}

static struct tc_scope scope_of(const struct gpuf_incident *in)
{
    struct tc_scope scope = tc__gpu_scope(in->node, in->uuid, in->pci, in->index);
    scope.ns = in->ns;
    scope.pod = in->pod;
    scope.container = in->container;
    scope.job = in->job;
    scope.rank = in->rank;
    return scope;
}

static struct gpuf_gpu *gpu_of(const struct gpuf_state *st, const struct gpuf_incident *in)
{
    struct tc_scope scope = tc__gpu_scope(in->node, in->uuid, in->pci, in->index);
    const struct tc_gpu *names = tc_directory_gpu(st->directory, &scope);
    struct gpuf_gpu key = {.id = in->gpu};
    return names != NULL ? tc__gpuf_known(st, names) : tc__window_get(&st->gpus, &key);
}

/* How many broke with it; those that were told without it are told again. */
static tc_status tell_others(struct gpuf_state *st, struct gpuf_incident *in,
                             const struct tc_sink *out)
{
    in->told_others = tc__gpuf_join_others(st, in);
    for (size_t i = 0; in->told_others > 0 && i < GPUF_RECENT_MAX && i < st->recent_count; i++) {
        struct gpuf_incident *other = tc__window_at(&st->incidents, st->recent[i]);
        if (other != NULL && other != in && other->told != GPUF_NONE && other->end == GPUF_OPEN &&
            other->told_others < tc__gpuf_join_others(st, other)) {
            TC_TRY(tc__gpuf_tell_soon(st, other, out));
        }
    }
    return TC_OK;
}

static tc_status tell(struct gpuf_state *st, struct gpuf_incident *in, const struct tc_sink *out)
{
    struct gpuf_gpu *gpu = gpu_of(st, in);
    if (in->told == GPUF_NONE && is_owned(in, gpu)) {
        if (gpu != NULL && gpu->incident == in->head.pos) {
            gpu->incident = TC_RING_NONE;
        }
        return TC_OK;
    }
    struct tc_scope scope = scope_of(in);
    const struct tc_gpu *names = tc_directory_complete(st->directory, &scope);
    if (names != NULL) {
        in->told_names = tc__gpuf_names(names);
    }
    if (tc_slice_eq(scope.node, TC__NO_NODE)) {
        scope.node = TC_EMPTY;
    }
    in->told = tc__gpuf_gravest(in)->kind;
    TC_TRY(tell_others(st, in, out));
    return tc__gpuf_report(st, in, &scope, out);
}

tc_status tc__gpuf_tell_soon(struct gpuf_state *st, struct gpuf_incident *in,
                             const struct tc_sink *out)
{
    if (in->soon || in->begins) {
        return TC_OK;
    }
    in->soon = tc__waiting_add(&st->soon, in, st->base.now_ns + TOGETHER_NS);
    return in->soon ? TC_OK : tell(st, in, out);
}

static struct tc_slice incident_key(const struct tc_gpu *names, int64_t time_ns, char text[KEY_MAX])
{
    struct tc_buf b = tc_buf_make(text, KEY_MAX);
    struct tc_scope gpu = {.gpu_uuid = names->uuid, .pci = names->pci, .gpu_index = names->index};
    return tc_format(&b, "{}|{}|{}", names->node, tc_as_gpu_id(&gpu), tc_as_time(time_ns));
}

/* Keeps a copy of an incident under what its GPU is called. NULL when scratch is full. */
static struct gpuf_incident *push_incident(struct gpuf_state *st, const struct gpuf_incident *like,
                                           const struct tc_gpu *g)
{
    char text[KEY_MAX];
    struct gpuf_incident next = *like;
    next.key = incident_key(g, like->first_ns, text);
    next.node = g->node;
    next.uuid = g->uuid;
    next.ns = g->ns;
    next.pod = g->pod;
    next.container = g->container;
    next.job = g->job;
    next.pci = g->pci;
    next.index = g->index;
    next.rank = g->rank;
    return tc__window_add(&st->incidents, &next, st->base.now_ns);
}

/* All of the instant in which an incident began was said: that is what its GPU is called. */
static tc_status settle(struct gpuf_state *st, struct gpuf_incident *in, const struct tc_sink *out)
{
    struct tc_scope scope = tc__gpu_scope(in->node, in->uuid, in->pci, in->index);
    const struct tc_gpu *names = tc_directory_gpu(st->directory, &scope);
    struct gpuf_gpu *gpu = names == NULL ? NULL : tc__gpuf_known(st, names);
    in->begins = false;
    if (gpu != NULL && gpu->incident == in->head.pos) {
        struct gpuf_incident copy = *in;
        struct gpuf_incident *next = push_incident(st, &copy, names);
        if (next == NULL) {
            return TC_E_NOMEM;
        }
        tc__gpuf_join_move(st, copy.head.pos, next->head.pos);
        gpu->incident = next->head.pos;
        in = next;
    }
    return tc__gpuf_tell_soon(st, in, out);
}

tc_status tc__gpuf_tell_due(struct gpuf_state *st, int64_t now_ns, const struct tc_sink *out)
{
    struct gpuf_incident *in = NULL;
    while ((in = tc__waiting_take(&st->begun, INT64_MAX, NULL)) != NULL) {
        TC_TRY(settle(st, in, out));
    }
    while ((in = tc__waiting_take(&st->soon, now_ns, NULL)) != NULL) {
        in->soon = false;
        TC_TRY(tell(st, in, out));
    }
    while ((in = tc__waiting_take(&st->later, now_ns, NULL)) != NULL) {
        in->later = false;
        TC_TRY(tell(st, in, out));
    }
    return TC_OK;
}

/* The incident a fact of that time belongs to; NULL when there is none. */
static struct gpuf_incident *open_incident(const struct gpuf_state *st, const struct gpuf_gpu *gpu,
                                           int64_t time_ns)
{
    struct gpuf_incident *in = tc__gpuf_incident_of(st, gpu);
    return in == NULL || in->end != GPUF_OPEN || !is_near(time_ns, in->last_ns, st->apart_ns) ? NULL
                                                                                              : in;
}

static struct gpuf_incident *begin_incident(struct gpuf_state *st, const struct gpuf_news *n)
{
    struct gpuf_incident fresh = {
        .gpu = n->names->id, .first_ns = n->time_ns, .last_ns = n->time_ns, .begins = true};
    struct gpuf_incident *in = push_incident(st, &fresh, n->names);
    n->gpu->incident = in == NULL ? TC_RING_NONE : in->head.pos;
    if (in != NULL) {
        tc__gpuf_join_begin(st, in);
        in->begins = tc__waiting_add(&st->begun, in, st->base.now_ns);
    }
    return in;
}

/* The place of a sort of fact; of too many sorts the gravest stay. NULL: it is not one of them. */
static struct gpuf_fact *place_of(struct gpuf_incident *in, const struct gpuf_fact *fact)
{
    size_t least = 0;
    for (size_t i = 0; i < in->fact_count; i++) {
        if (in->facts[i].sort == fact->sort && in->facts[i].code == fact->code) {
            return &in->facts[i];
        }
        least = tc__gpuf_graver(&in->facts[least], &in->facts[i]) ? i : least;
    }
    bool room = in->fact_count < GPUF_FACTS_MAX;
    if (!room && !tc__gpuf_graver(fact, &in->facts[least])) {
        return NULL;
    }
    struct gpuf_fact *place = &in->facts[room ? in->fact_count++ : least];
    *place = (struct gpuf_fact){.sort = fact->sort, .code = fact->code};
    return place;
}

/* Adds another time of a fact. True when it is the first of its sort, or asks for more. */
static bool add_fact(struct gpuf_fact *place, const struct gpuf_news *n)
{
    const struct gpuf_fact *fact = n->fact;
    if (place->span.count == 0) {
        *place = *fact;
        place->span = tc__span_make(n->time_ns, n->raw);
        place->times = 1;
        return true;
    }
    struct tc_span before = place->span;
    int64_t times = place->times;
    bool apart = tc_time_is_date(n->time_ns) && (n->time_ns - before.last_ns >= TC_SECOND ||
                                                 before.first_ns - n->time_ns >= TC_SECOND);
    bool more = fact->action > place->action;
    enum gpuf_action action = more ? fact->action : place->action;
    bool first = n->time_ns < before.first_ns ||
                 (n->time_ns == before.first_ns && tc__raw_before(n->raw, before.first_raw));
    struct gpuf_fact later;
    const struct gpuf_fact *other = fact;
    if (first) {
        later = *place;
        other = &later;
        *place = *fact;
        place->span = before;
    }
    /* The driver says it twice in one instant, once without the process. */
    if (n->time_ns == before.first_ns && place->pid < 0 && other->pid >= 0) {
        place->pid = other->pid;
        place->process_len = tc__text_keep(place->process, GPUF_PROCESS_MAX,
                                           tc_slice_make(other->process, other->process_len));
    }
    tc__span_add(&place->span, n->time_ns, n->raw);
    place->times = times + (apart ? 1 : 0);
    place->action = action;
    place->exported = other->exported && place->exported;
    return more;
}

tc_status tc__gpuf_note(struct gpuf_state *st, const struct gpuf_news *n, const struct tc_sink *out)
{
    struct gpuf_incident *in = open_incident(st, n->gpu, n->time_ns);
    const struct gpuf_incident *last = tc__gpuf_incident_of(st, n->gpu);
    if (in == NULL && last != NULL && n->time_ns <= last->end_ns && last->end != GPUF_OPEN) {
        st->base.late++;
        return TC_OK;
    }
    in = in != NULL ? in : begin_incident(st, n);
    if (in == NULL) {
        return TC_E_NOMEM;
    }
    struct gpuf_fact *place = place_of(in, n->fact);
    in->first_ns = n->time_ns < in->first_ns ? n->time_ns : in->first_ns;
    in->last_ns = n->time_ns > in->last_ns ? n->time_ns : in->last_ns;
    if (place != NULL && add_fact(place, n)) {
        return tc__gpuf_tell_soon(st, in, out);
    }
    if (!in->later && in->told != GPUF_NONE) {
        in->later = tc__waiting_add(&st->later, in, st->base.now_ns + RETELL_NS);
    }
    return TC_OK;
}

tc_status tc__gpuf_end(struct gpuf_state *st, struct gpuf_incident *in, enum gpuf_end end,
                       const struct tc_event *ev, const struct tc_sink *out)
{
    in->end = end;
    in->end_ns = ev->time_ns;
    in->end_raw = ev->raw;
    return tc__gpuf_tell_soon(st, in, out);
}
