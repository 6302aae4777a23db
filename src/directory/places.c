/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks and pods run, as it was last told. */
#include "directory/directory_priv.h"

/* A rank is found by job and rank, and by its number alone. */
enum rank_name { BY_RANK, BY_NUMBER, RANK_NAMES };

struct rank {
    struct tc_entry entry;
    struct tc_slice job;
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice pod;
    struct tc_slice pod_uid;
    int32_t number;
    bool shared; /* another job has that rank too */
};

static const size_t RANK_TEXTS[] = {
    offsetof(struct rank, job), offsetof(struct rank, node),    offsetof(struct rank, ns),
    offsetof(struct rank, pod), offsetof(struct rank, pod_uid),
};

static uint64_t hash_rank(const void *entry, uint32_t name)
{
    const struct rank *r = entry;
    uint64_t seed = name == BY_RANK ? tc_slice_hash(r->job, BY_RANK) : BY_NUMBER;
    return tc_hash_mix(seed, (uint64_t)r->number) | 1;
}

static bool same_rank(const void *a, const void *b, uint32_t name)
{
    const struct rank *x = a;
    const struct rank *y = b;
    return x->number == y->number && (name == BY_NUMBER || tc_slice_eq(x->job, y->job));
}

const struct tc__table_kind tc__rank_kind = {
    .size = sizeof(struct rank),
    .texts = RANK_TEXTS,
    .text_count = TC_COUNT(RANK_TEXTS),
    .name_count = RANK_NAMES,
    .hash = hash_rank,
    .same = same_rank,
};
_Static_assert(sizeof(struct rank) <= TC__ENTRY_BYTES_MAX, "a rank fits");

struct pod {
    struct tc_entry entry;
    struct tc_slice node;
    struct tc_slice ns;
    struct tc_slice name;
    struct tc_slice uid;
};

static const size_t POD_TEXTS[] = {
    offsetof(struct pod, node),
    offsetof(struct pod, ns),
    offsetof(struct pod, name),
    offsetof(struct pod, uid),
};

static uint64_t hash_pod(const void *entry, uint32_t name)
{
    const struct pod *p = entry;
    return tc_slice_hash(p->name, tc_slice_hash(p->ns, name)) | 1;
}

static bool same_pod(const void *a, const void *b, uint32_t name)
{
    const struct pod *x = a;
    const struct pod *y = b;
    (void)name;
    return tc_slice_eq(x->ns, y->ns) && tc_slice_eq(x->name, y->name);
}

const struct tc__table_kind tc__pod_kind = {
    .size = sizeof(struct pod),
    .texts = POD_TEXTS,
    .text_count = TC_COUNT(POD_TEXTS),
    .name_count = 1,
    .hash = hash_pod,
    .same = same_pod,
};
_Static_assert(sizeof(struct pod) <= TC__ENTRY_BYTES_MAX, "a pod fits");

static bool fits(const struct tc_scope *s)
{
    return s->node.len <= TC_SCOPE_TEXT_MAX && s->ns.len <= TC_SCOPE_TEXT_MAX &&
           s->pod.len <= TC_SCOPE_TEXT_MAX && s->pod_uid.len <= TC_SCOPE_TEXT_MAX &&
           s->job.len <= TC_SCOPE_TEXT_MAX;
}

/* Writes what differs from what is known; the same again is heard of. */
static void keep(struct tc__table *t, void *known, bool differs, const void *value, uint32_t name,
                 struct tc_sort_pair *order)
{
    if (!differs) {
        ((struct tc_entry *)known)->heard = ++t->heard;
        return;
    }
    if (!tc__table_has_room(t)) {
        tc__table_make_room(t, order);
        known = tc__table_find(t, value, name);
    }
    (void)tc__table_write(t, known, value);
}

static void learn_rank(struct tc__table *t, const struct tc_scope *s, struct tc_sort_pair *order)
{
    struct rank next = {.job = s->job,
                        .node = s->node,
                        .ns = s->ns,
                        .pod = s->pod,
                        .pod_uid = s->pod_uid,
                        .number = s->rank};
    if (s->rank < 0 || (s->node.len == 0 && s->pod.len == 0)) {
        return;
    }
    struct rank *known = tc__table_find(t, &next, BY_RANK);
    /* A process takes the name of its pod for that of its host. */
    if (known != NULL && s->pod.len == 0 && s->node.len > 0 && tc_slice_eq(known->pod, s->node)) {
        return;
    }
    bool differs = known == NULL || !tc_slice_eq(known->node, s->node) ||
                   !tc_slice_eq(known->ns, s->ns) || !tc_slice_eq(known->pod, s->pod);
    const struct rank *other = differs ? tc__table_find(t, &next, BY_NUMBER) : NULL;
    next.shared = other != NULL && (other->shared || !tc_slice_eq(other->job, s->job));
    keep(t, known, differs, &next, BY_RANK, order);
}

/* The address of a pod comes with its node. */
static void learn_pod(struct tc__table *t, const struct tc_scope *s, struct tc_sort_pair *order)
{
    struct pod next = {.node = s->node, .ns = s->ns, .name = s->pod, .uid = s->pod_uid};
    if (s->pod.len == 0 || s->node.len == 0) {
        return;
    }
    struct pod *known = tc__table_find(t, &next, 0);
    bool differs =
        known == NULL || !tc_slice_eq(known->node, s->node) || !tc_slice_eq(known->uid, s->pod_uid);
    keep(t, known, differs, &next, 0, order);
}

void tc__places_learn(struct tc__places *p, const struct tc_event *ev, struct tc_sort_pair *order)
{
    if (!fits(&ev->scope)) {
        return;
    }
    if (ev->kind == TC_EVENT_ADDRESS) {
        learn_pod(&p->pods, &ev->scope, order);
    } else {
        learn_rank(&p->ranks, &ev->scope, order);
    }
}

static void fill_by_rank(const struct tc__table *t, struct tc_scope *io)
{
    if (io->rank < 0 || (io->node.len > 0 && (io->pod.len > 0 || io->pod_uid.len > 0))) {
        return;
    }
    struct rank key = {.job = io->job, .number = io->rank};
    const struct rank *found = tc__table_find(t, &key, BY_RANK);
    if (found == NULL) {
        /* One of the two does not say which job it means. */
        const struct rank *only = tc__table_find(t, &key, BY_NUMBER);
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

void tc__places_fill(const struct tc__places *p, struct tc_scope *io)
{
    fill_by_rank(&p->ranks, io);
    if (io->node.len > 0 || io->pod.len == 0) {
        return;
    }
    struct pod key = {.ns = io->ns, .name = io->pod};
    const struct pod *found = tc__table_find(&p->pods, &key, 0);
    /* Another pod of that name ran elsewhere. */
    bool other = found != NULL && found->uid.len > 0 && io->pod_uid.len > 0 &&
                 !tc_slice_eq(found->uid, io->pod_uid);
    if (found != NULL && !other) {
        io->node = found->node;
    }
}
