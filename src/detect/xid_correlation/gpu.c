/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What xid_correlation knows about GPUs: which one sits where, which pods use it,
 * and which Xid an exporter saw last on it.
 */
#include "detect/finding_priv.h"
#include "detect/xid_correlation/priv.h"

/* Boards at one address after which pods are not looked at again for the next one: nobody swaps
 * so many, and an inventory that flaps must not cost a walk each time. */
#define CHANGES_MAX 16

/* Uses of one GPU that one question may look at: the pods that share it, and those before. */
#define USES_VISITED_MAX 32

#define PLACE_RING_BYTES ((size_t)4 << 20)
#define USE_RING_BYTES ((size_t)8 << 20)
#define GAUGE_RING_BYTES ((size_t)4 << 20)

/* Keep the two kinds of names apart in the index of uses. */
enum { SEED_USE = 1, SEED_USER = 2, USE_NAMES = 2 };

/* Which GPU sits where. Does not expire: it is said once, at boot. */
struct xid_place {
    struct tc_window_head head;
    struct tc_bdf pci;
    unsigned changes; /* of the board, up to CHANGES_MAX */
    struct tc_slice node;
    struct tc_slice uuid;
};

/* What an exporter last said about the Xids of a GPU. Does not expire. */
struct xid_gauge {
    struct tc_window_head head;
    int32_t index; /* of a GPU without a UUID, -1 */
    double value;
    int64_t time_ns;
    struct tc_slice node; /* of a GPU without a UUID, "" */
    struct tc_slice uuid;
};

static const size_t PLACE_TEXTS[] = {
    offsetof(struct xid_place, node),
    offsetof(struct xid_place, uuid),
};

static const size_t USE_TEXTS[] = {
    offsetof(struct xid_use, uuid),
    offsetof(struct xid_use, ns),
    offsetof(struct xid_use, name),
};
static const size_t GAUGE_TEXTS[] = {
    offsetof(struct xid_gauge, node),
    offsetof(struct xid_gauge, uuid),
};

static bool same_place(const void *record, const void *key)
{
    const struct xid_place *a = record;
    const struct xid_place *b = key;
    return tc_bdf_eq(a->pci, b->pci) && tc_slice_eq(a->node, b->node);
}

static bool same_user(const void *record, const void *key)
{
    const struct xid_use *a = record;
    const struct xid_use *b = key;
    return tc_slice_eq(a->name, b->name) && tc_slice_eq(a->ns, b->ns);
}

static bool same_used(const void *record, const void *key)
{
    return tc_slice_eq(((const struct xid_use *)record)->uuid, ((const struct xid_use *)key)->uuid);
}

static bool same_use(const void *record, const void *key)
{
    return same_user(record, key) && same_used(record, key);
}

static bool same_gauge(const void *record, const void *key)
{
    const struct xid_gauge *a = record;
    const struct xid_gauge *b = key;
    return a->index == b->index && tc_slice_eq(a->uuid, b->uuid) && tc_slice_eq(a->node, b->node);
}

bool tc__xid_gpus_init(struct xid_state *st, struct tc_arena *arena)
{
    /* A place names its node and a UUID, a use a UUID and a pod, a gauge one of them: none is
     * smaller than this. */
    return tc__window_init(&st->places, arena, PLACE_RING_BYTES,
                           PLACE_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct xid_place), 2),
                           1, false) &&
           tc__window_init(&st->uses, arena, USE_RING_BYTES,
                           USE_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct xid_use), 2),
                           USE_NAMES, true) &&
           tc__window_init(&st->gauges, arena, GAUGE_RING_BYTES,
                           GAUGE_RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct xid_gauge), 1),
                           1, false);
}

static struct tc_window_place find_place(const struct xid_state *st, struct tc_slice node,
                                         struct tc_bdf pci)
{
    struct xid_place key = {.node = node, .pci = pci};
    uint64_t hash = tc_hash_mix(tc__xid_node_hash(node), tc__xid_bdf_bits(pci));
    return tc__window_find(&st->places, &st->places.index, hash, same_place, &key);
}

struct tc_slice tc__xid_gpu_uuid(const struct xid_state *st, struct tc_slice node,
                                 struct tc_slice given, struct tc_bdf pci)
{
    if (given.len > 0 || !pci.known) {
        return given;
    }
    const struct xid_place *place = find_place(st, node, pci).record;
    return place == NULL ? TC_EMPTY : place->uuid;
}

bool tc__xid_other_gpu(struct tc_slice a_uuid, struct tc_bdf a_pci, struct tc_slice b_uuid,
                       struct tc_bdf b_pci)
{
    if (tc_slice_starts(a_uuid, TC_LIT("GPU-")) && tc_slice_starts(b_uuid, TC_LIT("GPU-"))) {
        return !tc_slice_eq(a_uuid, b_uuid);
    }
    return a_pci.known && b_pci.known && !tc_bdf_eq(a_pci, b_pci);
}

tc_status tc__xid_learn_place(struct xid_state *st, const struct tc_scope *scope, bool *out_again)
{
    struct tc_window *w = &st->places;
    struct tc_window_place at = find_place(st, scope->node, scope->pci);
    const struct xid_place *known = at.record;
    *out_again = false;
    if (known != NULL && tc_slice_eq(known->uuid, scope->gpu_uuid)) {
        return TC_OK;
    }
    struct xid_place place = {
        .pci = scope->pci,
        .changes = known == NULL ? 0 : known->changes + (known->changes < CHANGES_MAX),
        .node = scope->node,
        .uuid = scope->gpu_uuid,
    };
    const struct xid_place *kept = tc__window_push(w, st->scratch, &place, sizeof place,
                                                   PLACE_TEXTS, TC_COUNT(PLACE_TEXTS), st->now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_put(w, &w->index, at, kept);
    *out_again = place.changes < CHANGES_MAX;
    return TC_OK;
}

static struct tc_window_place newest_use(const struct xid_state *st, const struct xid_use *key)
{
    return tc__window_find(&st->uses, &st->uses.chains, tc_slice_hash(key->uuid, 0), same_used,
                           key);
}

static uint64_t user_hash(const struct xid_use *use)
{
    return tc_slice_hash(use->name, tc_slice_hash(use->ns, SEED_USER));
}

static struct tc_window_place find_use(const struct xid_state *st, const struct xid_use *key)
{
    uint64_t hash = tc_hash_mix(user_hash(key), tc_slice_hash(key->uuid, SEED_USE));
    return tc__window_find(&st->uses, &st->uses.index, hash, same_use, key);
}

static struct tc_window_place find_user(const struct xid_state *st, const struct xid_use *key)
{
    return tc__window_find(&st->uses, &st->uses.index, user_hash(key), same_user, key);
}

/*
 * The use goes on: a pod that uses a GPU alone, or beside others that began before it was last
 * seen. What began after that has taken the GPU over.
 */
static bool goes_on(const struct xid_use *use, const struct xid_use *newest)
{
    return use != NULL && (use == newest || newest == NULL || newest->first_ns <= use->last_ns);
}

tc_status tc__xid_learn_use(struct xid_state *st, const struct tc_event *ev,
                            const struct xid_use **out_new, const struct xid_use **out_before)
{
    struct tc_window *w = &st->uses;
    struct xid_use use = {
        .first_ns = ev->time_ns,
        .last_ns = ev->time_ns,
        .uuid = ev->scope.gpu_uuid,
        .ns = ev->scope.ns,
        .name = ev->scope.pod,
        .raw = ev->raw,
    };
    *out_new = NULL;
    *out_before = NULL;
    struct tc_window_place chain = newest_use(st, &use);
    struct xid_use *newest = chain.record;
    bool alone = newest != NULL && same_user(newest, &use);
    struct tc_window_place place = {0};
    struct xid_use *known = newest;
    if (!alone) {
        place = find_use(st, &use);
        known = place.record;
    }
    /* What is told late, of a time before the newest use, changes nothing. */
    if (goes_on(known, newest) || (newest != NULL && ev->time_ns < newest->first_ns)) {
        if (known != NULL && ev->time_ns > known->last_ns) {
            known->last_ns = ev->time_ns;
        }
        return TC_OK;
    }
    uint64_t before = newest == NULL ? TC_RING_NONE : newest->head.pos;
    struct xid_use *kept = tc__window_push(w, st->scratch, &use, sizeof use, USE_TEXTS,
                                           TC_COUNT(USE_TEXTS), st->now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_put(w, &w->index, place, kept);
    tc__window_put(w, &w->index, find_user(st, kept), kept);
    tc__window_chain(w, chain, kept);
    *out_new = kept;
    *out_before = tc__window_at(w, before);
    return TC_OK;
}

static bool is_of(const struct xid_use *use, const struct xid_pod *pod)
{
    return tc_slice_eq(use->name, pod->name) &&
           (use->ns.len == 0 || pod->ns.len == 0 || tc_slice_eq(use->ns, pod->ns));
}

/* True when it is known that the pod used some GPU at a time. */
static bool uses_any(const struct xid_state *st, const struct xid_pod *pod, int64_t time_ns)
{
    struct xid_use key = {.ns = pod->ns, .name = pod->name};
    const struct xid_use *use = find_user(st, &key).record;
    return use != NULL && use->first_ns <= time_ns;
}

enum xid_usage tc__xid_usage(const struct xid_state *st, const struct xid_pod *pod,
                             struct tc_slice uuid, int64_t time_ns, const struct xid_use **out)
{
    struct xid_use key = {.uuid = uuid};
    *out = NULL;
    if (uuid.len == 0 || pod->name.len == 0) {
        return XID_USAGE_UNKNOWN;
    }
    const struct xid_use *own = NULL;
    int64_t other_ns = INT64_MIN; /* when the last of the others began */
    const struct xid_use *use = newest_use(st, &key).record;
    for (unsigned i = 0; use != NULL && i < USES_VISITED_MAX; i++) {
        if (use->first_ns <= time_ns) {
            bool mine = is_of(use, pod);
            own = mine && own == NULL ? use : own;
            other_ns = !mine && use->first_ns > other_ns ? use->first_ns : other_ns;
        }
        use = tc__window_at(&st->uses, use->head.older);
    }
    if (own != NULL && other_ns <= own->last_ns) {
        *out = own;
        return XID_USAGE_OWN;
    }
    return other_ns > INT64_MIN && uses_any(st, pod, time_ns) ? XID_USAGE_OTHER : XID_USAGE_UNKNOWN;
}

tc_status tc__xid_learn_gauge(struct xid_state *st, const struct tc_event *ev, bool *out_xid,
                              int64_t *out_since_ns)
{
    struct tc_window *w = &st->gauges;
    bool named = ev->scope.gpu_uuid.len > 0;
    struct xid_gauge gauge = {
        .index = named ? -1 : ev->scope.gpu_index,
        .value = ev->metric.value,
        .time_ns = ev->time_ns,
        .node = named ? TC_EMPTY : ev->scope.node,
        .uuid = ev->scope.gpu_uuid,
    };
    *out_xid = false;
    uint64_t hash =
        tc_hash_mix(tc_slice_hash(named ? gauge.uuid : gauge.node, named), (uint64_t)gauge.index);
    struct tc_window_place place = tc__window_find(w, &w->index, hash, same_gauge, &gauge);
    struct xid_gauge *known = place.record;
    if (known != NULL) {
        if (ev->time_ns > known->time_ns) {
            *out_xid = gauge.value != known->value && gauge.value >= 1;
            *out_since_ns = known->time_ns;
            known->value = gauge.value;
            known->time_ns = gauge.time_ns;
        }
        return TC_OK;
    }
    const struct xid_gauge *kept = tc__window_push(w, st->scratch, &gauge, sizeof gauge,
                                                   GAUGE_TEXTS, TC_COUNT(GAUGE_TEXTS), st->now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_put(w, &w->index, place, kept);
    return TC_OK;
}
