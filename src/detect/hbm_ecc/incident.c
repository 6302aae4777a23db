/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an hbm_ecc incident: facts come in, news goes out. */
#include "detect/hbm_ecc/priv.h"
#include "detect/words_priv.h"
#include "event/format.h"

#define RING_BYTES ((size_t)64 << 20) /* one open incident for each of 16,000 GPUs */
#define QUEUE_MAX ((size_t)4096)
/* Only numbers grew: told again after this time, or when they have doubled. */
#define RETELL_NS (60 * TC_SECOND)
#define KEY_MAX (2 * TC_SCOPE_TEXT_MAX + 96)

static const struct tc_record_type INCIDENT = {
    .size = sizeof(struct ecc_incident),
    .texts = {TC_TEXT(struct ecc_incident, key), TC_TEXT(struct ecc_incident, node),
              TC_TEXT(struct ecc_incident, uuid), TC_TEXT(struct ecc_incident, ns),
              TC_TEXT(struct ecc_incident, pod), TC_TEXT(struct ecc_incident, container),
              TC_TEXT(struct ecc_incident, job)},
};

bool tc__ecc_incidents_init(struct ecc_state *st)
{
    struct tc_arena *arena = st->base.arena;
    return tc__window_open(&st->incidents, &st->base, &INCIDENT, RING_BYTES, TC_KEPT_ALWAYS) &&
           tc__waiting_init(&st->begun, arena, &st->incidents, QUEUE_MAX, NULL) &&
           tc__waiting_init(&st->soon, arena, &st->incidents, QUEUE_MAX, NULL) &&
           tc__waiting_init(&st->later, arena, &st->incidents, QUEUE_MAX, NULL);
}

/* A process met an error that the driver or a counter tells of too, it seems, and which GPU it is
 * of. Undated ones cannot be told apart by time. */
static bool is_known_better(const struct ecc_state *st, const struct ecc_incident *in)
{
    if (tc__ecc_is_named(in) || st->seen_ns == TC_TIME_NONE) {
        return false;
    }
    bool elsewhere = !tc_slice_eq(in->node, ECC_NO_NODE) &&
                     tc_slice_hash(in->node, 0) != st->seen_node &&
                     tc_slice_hash(ECC_NO_NODE, 0) != st->seen_node;
    bool dated = tc_time_is_date(in->first_ns) && tc_time_is_date(st->seen_ns);
    int64_t apart_ns = dated ? in->first_ns - st->seen_ns : 0;
    return !elsewhere && apart_ns <= st->window_ns && apart_ns >= -st->window_ns;
}

/* The GPU remembers what is told now: its record outlives the incident's. */
static void note_last(const struct ecc_state *st, const struct ecc_incident *in,
                      const struct tc_gpu *names, enum ecc_kind kind)
{
    for (unsigned i = 0; i < TC_GPU_IDS; i++) {
        uint64_t id = tc_gpu_id(names, i);
        struct ecc_gpu *gpu = id == 0 ? NULL : tc__ecc_gpu(st, id);
        if (gpu != NULL && gpu->incident == in->head.pos) {
            gpu->last = (struct ecc_last){.kind = in->end == ECC_OPEN ? kind : ECC_NONE,
                                          .begun_ns = in->begun_ns,
                                          .last_ns = in->last_ns};
        }
    }
}

static tc_status tell(struct ecc_state *st, struct ecc_incident *in, const struct tc_sink *out)
{
    enum ecc_kind kind = tc__ecc_kind(in, st->uncorrected);
    if (kind == ECC_NONE || is_known_better(st, in)) {
        return TC_OK;
    }
    struct tc_scope scope = tc__gpu_scope(in->node, in->uuid, in->pci, in->index);
    scope.ns = in->ns;
    scope.pod = in->pod;
    scope.container = in->container;
    scope.job = in->job;
    scope.rank = in->rank;
    const struct tc_gpu *names = tc_directory_complete(st->directory, &scope);
    if (names != NULL) {
        in->told_names = tc__ecc_names(names);
        note_last(st, in, names, kind);
    }
    if (tc_slice_eq(scope.node, ECC_NO_NODE)) {
        scope.node = TC_EMPTY;
    }
    in->told = kind;
    in->told_facts = 0;
    for (unsigned i = 0; i < ECC_FACTS; i++) {
        in->told_facts |= in->facts[i].span.count > 0 ? 1U << i : 0;
    }
    in->told_count = tc__ecc_uncorrected(in);
    return tc__ecc_report(in, kind, &scope, st->base.scratch, out);
}

static tc_status tell_waiting(struct ecc_state *st, int64_t now_ns, const struct tc_sink *out)
{
    struct ecc_incident *in = NULL;
    while ((in = tc__waiting_take(&st->soon, now_ns, NULL)) != NULL) {
        if (in->renamed != TC_RING_NONE) {
            in = tc__window_at(&st->incidents, in->renamed);
        }
        if (in != NULL) {
            in->soon = false;
            TC_TRY(tell(st, in, out));
        }
    }
    return TC_OK;
}

/* What comes next may push out an incident that still waits to be told. */
static bool is_room_short(const struct tc_ring *r)
{
    uint64_t pos = TC_RING_NONE;
    const struct ecc_incident *oldest = tc_ring_oldest(r, &pos);
    return r->size_max - (size_t)(r->head - r->tail) < r->size_max / 4 && oldest != NULL &&
           oldest->soon;
}

tc_status tc__ecc_tell_soon(struct ecc_state *st, struct ecc_incident *in,
                            const struct tc_sink *out)
{
    if (in->soon) {
        return TC_OK;
    }
    if (is_room_short(&st->incidents.ring)) {
        TC_TRY(tell_waiting(st, INT64_MAX, out));
    }
    in->soon = tc__waiting_add(&st->soon, in, st->base.now_ns);
    return in->soon ? TC_OK : tell(st, in, out);
}

/* Numbers that grow all the time are not news each time. */
static void tell_later(struct ecc_state *st, struct ecc_incident *in)
{
    if (!in->later) {
        in->later = tc__waiting_add(&st->later, in, st->base.now_ns + RETELL_NS);
    }
}

static struct tc_slice incident_key(const struct tc_gpu *names, int64_t time_ns, char text[KEY_MAX])
{
    struct tc_buf b = tc_buf_make(text, KEY_MAX);
    struct tc_scope gpu = {.gpu_uuid = names->uuid, .pci = names->pci, .gpu_index = names->index};
    if (tc__ecc_names(names) <= ECC_NAMES_NODE) {
        return tc_format(&b, "{}|{} rank {}|{}", names->node, names->job, names->rank,
                         tc_as_time(time_ns));
    }
    return tc_format(&b, "{}|{}|{}", names->node, tc_as_gpu_id(&gpu), tc_as_time(time_ns));
}

/* Keeps an incident under what its GPU is called; the oldest one makes room. NULL when scratch is
 * full. */
static struct ecc_incident *push_incident(struct ecc_state *st, const struct ecc_incident *like,
                                          const struct tc_gpu *g)
{
    char text[KEY_MAX];
    struct ecc_incident next = *like;
    next.begun_ns = like->first_ns;
    next.key = incident_key(g, next.begun_ns, text);
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

static bool is_called(const struct ecc_incident *in, const struct tc_gpu *g)
{
    return in->index == g->index && in->rank == g->rank && tc_bdf_eq(in->pci, g->pci) &&
           tc_slice_eq(in->node, g->node) && tc_slice_eq(in->uuid, g->uuid) &&
           tc_slice_eq(in->ns, g->ns) && tc_slice_eq(in->pod, g->pod) &&
           tc_slice_eq(in->container, g->container) && tc_slice_eq(in->job, g->job);
}

/* What else was said of the GPU when the incident began may have come after that. */
static void settle_names(struct ecc_state *st, struct ecc_incident *in)
{
    struct tc_scope scope = tc__gpu_scope(in->node, in->uuid, in->pci, in->index);
    const struct tc_gpu *g = tc_directory_gpu(st->directory, &scope);
    if (g == NULL || is_called(in, g)) {
        return;
    }
    for (unsigned i = 0; i < TC_GPU_IDS; i++) {
        struct ecc_gpu *gpu = tc__ecc_gpu(st, tc_gpu_id(g, i));
        uint64_t pos = in->head.pos;
        struct ecc_incident *next =
            gpu != NULL && gpu->incident == pos ? push_incident(st, in, g) : NULL;
        if (next != NULL) {
            gpu->incident = next->head.pos;
            in = tc__window_at(&st->incidents, pos);
            if (in != NULL) {
                in->renamed = next->head.pos;
            }
            return;
        }
    }
}

void tc__ecc_settle_names(struct ecc_state *st)
{
    struct ecc_incident *in = NULL;
    while ((in = tc__waiting_take(&st->begun, INT64_MAX, NULL)) != NULL) {
        settle_names(st, in);
    }
}

tc_status tc__ecc_tell_due(struct ecc_state *st, int64_t now_ns, const struct tc_sink *out)
{
    struct ecc_incident *in = NULL;
    tc__ecc_settle_names(st);
    TC_TRY(tell_waiting(st, now_ns, out));
    while ((in = tc__waiting_take(&st->later, now_ns, NULL)) != NULL) {
        in->later = false;
        TC_TRY(tell(st, in, out));
    }
    return TC_OK;
}

struct ecc_incident *tc__ecc_incident_at(const struct ecc_state *st, const struct ecc_gpu *gpu)
{
    return tc__window_at(&st->incidents, gpu->incident);
}

/* The incident a fact of that time belongs to; NULL when there is none. */
struct ecc_incident *tc__ecc_open_incident(const struct ecc_state *st, const struct ecc_gpu *gpu,
                                           int64_t time_ns)
{
    struct ecc_incident *in = tc__ecc_incident_at(st, gpu);
    if (in == NULL || in->end != ECC_OPEN || time_ns - in->last_ns > st->apart_ns) {
        return NULL;
    }
    /* Too few errors for a verdict: they count together inside of one window only. */
    bool told = in->told != ECC_NONE || in->soon;
    return told || time_ns - in->first_ns <= st->window_ns ? in : NULL;
}

static struct ecc_incident *begin_incident(struct ecc_state *st, const struct ecc_news *n)
{
    const struct ecc_last *last = &n->gpu->last;
    bool goes_on = last->kind != ECC_NONE && tc__ecc_incident_at(st, n->gpu) == NULL &&
                   n->ev->time_ns - last->last_ns <= st->apart_ns;
    struct ecc_incident fresh = {
        .first_ns = goes_on ? last->begun_ns : n->ev->time_ns,
        .last_ns = n->ev->time_ns,
        .window_ns = st->window_ns,
        .told = goes_on ? last->kind : ECC_NONE,
    };
    struct ecc_incident *in = push_incident(st, &fresh, n->names);
    n->gpu->incident = in == NULL ? TC_RING_NONE : in->head.pos;
    if (in != NULL) {
        (void)tc__waiting_add(&st->begun, in, st->base.now_ns);
    }
    return in;
}

static void note_first(struct ecc_fact *fact, const struct tc_event *ev)
{
    bool xid = ev->kind == TC_EVENT_XID;
    fact->pid = xid ? ev->scope.pid : -1;
    fact->process_len =
        tc__text_keep(fact->process, ECC_PROCESS_MAX, xid ? ev->xid.process : TC_EMPTY);
    fact->uid_len =
        tc__text_keep(fact->uid, ECC_UID_MAX, ev->uid.len <= ECC_UID_MAX ? ev->uid : TC_EMPTY);
}

/* Another time of a fact. *out_in is the incident it went to, NULL when scratch is full. */
struct ecc_fact *tc__ecc_note(struct ecc_state *st, const struct ecc_news *n,
                              enum ecc_fact_name name, struct ecc_incident **out_in)
{
    const struct tc_event *ev = n->ev;
    struct ecc_incident *in = tc__ecc_open_incident(st, n->gpu, ev->time_ns);
    *out_in = in = in != NULL ? in : begin_incident(st, n);
    if (in == NULL) {
        return NULL;
    }
    struct ecc_fact *fact = &in->facts[name];
    if (name != ECC_CUDA && tc__ecc_fact_kind(name) >= ECC_CONTAINED) {
        uint64_t node = tc_slice_hash(in->node, 0);
        bool newer = ev->time_ns > st->seen_ns;
        st->seen_node =
            newer || (ev->time_ns == st->seen_ns && node > st->seen_node) ? node : st->seen_node;
        st->seen_ns = newer ? ev->time_ns : st->seen_ns;
    }
    if (fact->span.count == 0) {
        fact->span = tc__span_make(ev->time_ns, ev->raw);
        note_first(fact, ev);
    } else {
        int64_t first_ns = fact->span.first_ns;
        tc__span_add(&fact->span, ev->time_ns, ev->raw);
        if (ev->time_ns < first_ns) {
            note_first(fact, ev);
        }
    }
    in->first_ns = ev->time_ns < in->first_ns ? ev->time_ns : in->first_ns;
    in->last_ns = ev->time_ns > in->last_ns ? ev->time_ns : in->last_ns;
    in->head.seen_ns = st->base.now_ns;
    return fact;
}

/* Something was added to the incident: now, a little later, or not yet told. */
tc_status tc__ecc_announce(struct ecc_state *st, struct ecc_incident *in, enum ecc_fact_name name,
                           const struct tc_sink *out)
{
    enum ecc_kind kind = tc__ecc_kind(in, st->uncorrected);
    if (kind == ECC_NONE) {
        return TC_OK;
    }
    int64_t count = tc__ecc_uncorrected(in);
    if (kind != in->told || (in->told_facts & 1U << name) == 0 ||
        (count > in->told_count && count / 2 >= in->told_count)) {
        return tc__ecc_tell_soon(st, in, out);
    }
    tell_later(st, in);
    return TC_OK;
}

bool tc__ecc_is_up(const struct ecc_gauge *flag)
{
    return flag->known && flag->value >= 1;
}

/* The GPU was reset, or calmed down: what a reset mends is over. */
tc_status tc__ecc_end(struct ecc_state *st, const struct ecc_news *n, enum ecc_end end,
                      const struct tc_sink *out)
{
    struct ecc_incident *in = tc__ecc_incident_at(st, n->gpu);
    if (in == NULL || in->end != ECC_OPEN || n->ev->time_ns <= in->last_ns) {
        return TC_OK;
    }
    enum ecc_kind kind = tc__ecc_kind(in, st->uncorrected);
    /* Counters that start again do not mend what a flag says. */
    bool standing =
        end == ECC_BY_COUNTER && (tc__ecc_is_up(&n->gpu->gauges[ECC_GAUGE_ROW_PENDING]) ||
                                  tc__ecc_is_up(&n->gpu->gauges[ECC_GAUGE_PAGES_PENDING]));
    bool mends = kind != ECC_NONE && !standing &&
                 (kind == ECC_REMAP_FAILED) == (end == ECC_BY_FAILURE) &&
                 (end != ECC_BY_CALM || kind == ECC_CORRECTED_STORM);
    if (!mends) {
        return TC_OK;
    }
    in->end = end;
    in->end_ns = n->ev->time_ns;
    in->end_raw = n->ev->raw;
    return tc__ecc_tell_soon(st, in, out);
}
