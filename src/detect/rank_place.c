/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/rank_place_priv.h"

#include "detect/finding_priv.h"

#define RING_BYTES ((size_t)4 << 20)

enum { SEED_RANK = 1, SEED_NUMBER = 2, SEED_POD = 3, NAMES = 2 };

/* A record is found by job and rank, and by its rank alone; a pod's, which has no rank, by name. */
struct place {
    struct tc_window_head head;
    struct tc_slice job;
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice pod;
    struct tc_slice pod_uid;
    int32_t rank;
    bool shared; /* another job has that rank too */
};

static const size_t TEXTS[] = {
    offsetof(struct place, job), offsetof(struct place, node),    offsetof(struct place, ns),
    offsetof(struct place, pod), offsetof(struct place, pod_uid),
};

static bool same_number(const void *record, const void *key)
{
    return ((const struct place *)record)->rank == ((const struct place *)key)->rank;
}

static bool same_rank(const void *record, const void *key)
{
    return same_number(record, key) &&
           tc_slice_eq(((const struct place *)record)->job, ((const struct place *)key)->job);
}

static struct tc_window_place by_rank(const struct tc_window *w, const struct place *key)
{
    uint64_t hash = tc_hash_mix(tc_slice_hash(key->job, SEED_RANK), (uint64_t)key->rank);
    return tc__window_find(w, &w->index, hash, same_rank, key);
}

static struct tc_window_place by_number(const struct tc_window *w, const struct place *key)
{
    uint64_t hash = tc_hash_mix(SEED_NUMBER, (uint64_t)key->rank);
    return tc__window_find(w, &w->index, hash, same_number, key);
}

static bool same_pod(const void *record, const void *key)
{
    const struct place *a = record;
    const struct place *b = key;
    return a->rank < 0 && tc_slice_eq(a->ns, b->ns) && tc_slice_eq(a->pod, b->pod);
}

static struct tc_window_place by_pod(const struct tc_window *w, const struct place *key)
{
    uint64_t hash = tc_slice_hash(key->pod, tc_slice_hash(key->ns, SEED_POD));
    return tc__window_find(w, &w->index, hash, same_pod, key);
}

bool tc__rank_places_init(struct tc_rank_places *p, struct tc_arena *arena)
{
    return tc__window_init(&p->window, arena, RING_BYTES,
                           RING_BYTES / TC_WINDOW_RECORD_BYTES(sizeof(struct place), 1), NAMES,
                           false);
}

/* The address of a pod comes with its node. */
static tc_status learn_pod(struct tc_window *w, const struct tc_scope *s, struct tc_arena *scratch)
{
    struct place next = {
        .node = s->node, .ns = s->ns, .pod = s->pod, .pod_uid = s->pod_uid, .rank = -1};
    if (s->pod.len == 0 || s->node.len == 0 || !tc__scope_fits(s)) {
        return TC_OK;
    }
    const struct place *known = by_pod(w, &next).record;
    if (known != NULL && tc_slice_eq(known->node, s->node) &&
        tc_slice_eq(known->pod_uid, s->pod_uid)) {
        return TC_OK;
    }
    struct place *kept = tc__window_push(w, scratch, &next, sizeof next, TEXTS, TC_COUNT(TEXTS), 0);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_put(w, &w->index, by_pod(w, kept), kept);
    return TC_OK;
}

tc_status tc__rank_places_learn(struct tc_rank_places *p, const struct tc_event *ev,
                                struct tc_arena *scratch)
{
    if (ev->kind == TC_EVENT_ADDRESS) {
        return learn_pod(&p->window, &ev->scope, scratch);
    }
    const struct tc_scope *s = &ev->scope;
    struct tc_window *w = &p->window;
    struct place next = {.job = s->job,
                         .node = s->node,
                         .ns = s->ns,
                         .pod = s->pod,
                         .pod_uid = s->pod_uid,
                         .rank = s->rank};
    if (s->rank < 0 || (s->node.len == 0 && s->pod.len == 0) || !tc__scope_fits(s) ||
        s->job.len > TC_SCOPE_TEXT_MAX) {
        return TC_OK;
    }
    const struct place *known = by_rank(w, &next).record;
    if (known != NULL && tc_slice_eq(known->node, s->node) && tc_slice_eq(known->ns, s->ns) &&
        tc_slice_eq(known->pod, s->pod)) {
        return TC_OK;
    }
    const struct place *other = by_number(w, &next).record;
    next.shared = other != NULL && (other->shared || !tc_slice_eq(other->job, s->job));
    struct place *kept = tc__window_push(w, scratch, &next, sizeof next, TEXTS, TC_COUNT(TEXTS), 0);
    if (kept == NULL) {
        return TC_E_NOMEM;
    }
    tc__window_put(w, &w->index, by_rank(w, kept), kept);
    tc__window_put(w, &w->index, by_number(w, kept), kept);
    return TC_OK;
}

static void fill_by_rank(const struct tc_rank_places *p, struct tc_scope *io)
{
    if (io->rank < 0 || (io->node.len > 0 && (io->pod.len > 0 || io->pod_uid.len > 0))) {
        return;
    }
    struct place key = {.job = io->job, .rank = io->rank};
    const struct place *found = by_rank(&p->window, &key).record;
    if (found == NULL) {
        /* One of the two does not say which job it means. */
        const struct place *only = by_number(&p->window, &key).record;
        bool meant = only != NULL && !only->shared && (only->job.len == 0 || io->job.len == 0);
        found = meant ? only : NULL;
    }
    if (found == NULL) {
        return;
    }
    /* A rank whose node is known to be another runs elsewhere now. */
    if (io->node.len > 0 && found->node.len > 0 && !tc_slice_eq(io->node, found->node)) {
        return;
    }
    if (io->pod.len == 0 && io->pod_uid.len == 0) {
        io->ns = found->ns.len > 0 || found->pod.len > 0 ? found->ns : io->ns;
        io->pod = found->pod;
        io->pod_uid = found->pod_uid;
    } else if (!tc_slice_eq(io->pod, found->pod)) {
        return;
    }
    io->node = io->node.len > 0 ? io->node : found->node;
}

void tc__rank_places_fill(const struct tc_rank_places *p, struct tc_scope *io)
{
    fill_by_rank(p, io);
    if (io->node.len > 0 || io->pod.len == 0) {
        return;
    }
    struct place key = {.ns = io->ns, .pod = io->pod, .rank = -1};
    const struct place *found = by_pod(&p->window, &key).record;
    /* Another pod of that name ran elsewhere. */
    bool other = found != NULL && found->pod_uid.len > 0 && io->pod_uid.len > 0 &&
                 !tc_slice_eq(found->pod_uid, io->pod_uid);
    if (found != NULL && !other) {
        io->node = found->node;
    }
}
