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

static const struct tc_record_type PLACE = {
    .size = sizeof(struct xid_place),
    .text_min = 2, /* a node and a UUID */
    .texts = {TC_TEXT(struct xid_place, node), TC_TEXT(struct xid_place, uuid)},
    .keys = {{TC_FIELD(struct xid_place, node), TC_FIELD(struct xid_place, pci)}},
};

enum { BY_USE, BY_USER };

static const struct tc_record_type USE = {
    .size = sizeof(struct xid_use),
    .text_min = 2, /* a UUID and a pod */
    .texts = {TC_TEXT(struct xid_use, uuid), TC_TEXT(struct xid_use, ns),
              TC_TEXT(struct xid_use, name)},
    .keys = {[BY_USE] = {TC_FIELD(struct xid_use, uuid), TC_FIELD(struct xid_use, ns),
                         TC_FIELD(struct xid_use, name)},
             [BY_USER] = {TC_FIELD(struct xid_use, ns), TC_FIELD(struct xid_use, name)}},
    .chain = {TC_FIELD(struct xid_use, uuid)},
};

static const struct tc_record_type GAUGE = {
    .size = sizeof(struct xid_gauge),
    .text_min = 1, /* a node or a UUID */
    .texts = {TC_TEXT(struct xid_gauge, node), TC_TEXT(struct xid_gauge, uuid)},
    .keys = {{TC_FIELD(struct xid_gauge, node), TC_FIELD(struct xid_gauge, uuid),
              TC_FIELD(struct xid_gauge, index)}},
};

static bool same_user(const void *record, const void *key)
{
    const struct xid_use *a = record;
    const struct xid_use *b = key;
    return tc_slice_eq(a->name, b->name) && tc_slice_eq(a->ns, b->ns);
}

bool tc__xid_gpus_init(struct xid_state *st)
{
    struct tc_detector_base *base = &st->base;
    return tc__window_open(&st->places, base, &PLACE, PLACE_RING_BYTES, TC_KEPT_ALWAYS) &&
           tc__window_open(&st->uses, base, &USE, USE_RING_BYTES, TC_KEPT_ALWAYS) &&
           tc__window_open(&st->gauges, base, &GAUGE, GAUGE_RING_BYTES, TC_KEPT_ALWAYS);
}

struct tc_slice tc__xid_gpu_uuid(const struct xid_state *st, struct tc_slice node,
                                 struct tc_slice given, struct tc_bdf pci)
{
    if (given.len > 0 || !pci.known) {
        return given;
    }
    struct xid_place key = {.node = node, .pci = pci};
    const struct xid_place *place = tc__window_get(&st->places, &key);
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
    struct xid_place place = {.pci = scope->pci, .node = scope->node, .uuid = scope->gpu_uuid};
    const struct xid_place *known = tc__window_get(&st->places, &place);
    *out_again = false;
    if (known != NULL && tc_slice_eq(known->uuid, scope->gpu_uuid)) {
        return TC_OK;
    }
    place.changes = known == NULL ? 0 : known->changes + (known->changes < CHANGES_MAX);
    if (tc__window_add(&st->places, &place, st->base.now_ns) == NULL) {
        return TC_E_NOMEM;
    }
    *out_again = place.changes < CHANGES_MAX;
    return TC_OK;
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
    struct xid_use *newest = tc__window_newest(w, &use);
    bool alone = newest != NULL && same_user(newest, &use);
    struct xid_use *known = alone ? newest : tc__window_get(w, &use);
    /* What is told late, of a time before the newest use, changes nothing. */
    if (goes_on(known, newest) || (newest != NULL && ev->time_ns < newest->first_ns)) {
        if (known != NULL && ev->time_ns > known->last_ns) {
            known->last_ns = ev->time_ns;
        }
        return TC_OK;
    }
    uint64_t before = newest == NULL ? TC_RING_NONE : newest->head.pos;
    struct xid_use *kept = tc__window_add(w, &use, st->base.now_ns);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_index(w, BY_USER, kept);
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
    const struct xid_use *use = tc__window_get_by(&st->uses, BY_USER, &key);
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
    const struct xid_use *use = tc__window_newest(&st->uses, &key);
    for (unsigned i = 0; use != NULL && i < USES_VISITED_MAX; i++) {
        if (use->first_ns <= time_ns) {
            bool mine = is_of(use, pod);
            own = mine && own == NULL ? use : own;
            other_ns = !mine && use->first_ns > other_ns ? use->first_ns : other_ns;
        }
        use = tc__window_older(&st->uses, use);
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
    bool named = ev->scope.gpu_uuid.len > 0;
    struct xid_gauge gauge = {
        .index = named ? -1 : ev->scope.gpu_index,
        .value = ev->metric.value,
        .time_ns = ev->time_ns,
        .node = named ? TC_EMPTY : ev->scope.node,
        .uuid = ev->scope.gpu_uuid,
    };
    *out_xid = false;
    struct xid_gauge *known = tc__window_get(&st->gauges, &gauge);
    if (known != NULL) {
        if (ev->time_ns > known->time_ns) {
            *out_xid = gauge.value != known->value && gauge.value >= 1;
            *out_since_ns = known->time_ns;
            known->value = gauge.value;
            known->time_ns = gauge.time_ns;
        }
        return TC_OK;
    }
    return tc__window_add(&st->gauges, &gauge, st->base.now_ns) == NULL ? TC_E_NOMEM : TC_OK;
}
