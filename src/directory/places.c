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
    struct tc_slice gpu_uuid;
    struct tc_bdf pci; /* of its GPU */
    int32_t gpu_index;
    int32_t number;
    bool shared; /* another job has that rank too */
};

static const size_t RANK_TEXTS[] = {
    offsetof(struct rank, job), offsetof(struct rank, node),    offsetof(struct rank, ns),
    offsetof(struct rank, pod), offsetof(struct rank, pod_uid), offsetof(struct rank, gpu_uuid),
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
           s->job.len <= TC_SCOPE_TEXT_MAX && s->gpu_uuid.len <= TC_SCOPE_TEXT_MAX;
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

static bool has_gpu(const struct rank *r)
{
    return r->gpu_uuid.len > 0 || r->pci.known || r->gpu_index >= 0;
}

/* On the same node, who names only the pod or only the GPU leaves the other as it was. */
static void complete(struct rank *next, const struct rank *known)
{
    if (known == NULL || !tc_slice_eq(known->node, next->node)) {
        return;
    }
    if (next->pod.len == 0) {
        next->ns = known->ns;
        next->pod = known->pod;
        next->pod_uid = known->pod_uid;
    }
    if (!has_gpu(next)) {
        next->gpu_uuid = known->gpu_uuid;
        next->pci = known->pci;
        next->gpu_index = known->gpu_index;
    }
}

static bool is_as_known(const struct rank *known, const struct rank *next)
{
    return known != NULL && tc_slice_eq(known->node, next->node) &&
           tc_slice_eq(known->ns, next->ns) && tc_slice_eq(known->pod, next->pod) &&
           tc_slice_eq(known->gpu_uuid, next->gpu_uuid) && tc_bdf_eq(known->pci, next->pci) &&
           known->gpu_index == next->gpu_index;
}

static void learn_rank(struct tc__table *t, const struct tc_scope *s, struct tc_sort_pair *order)
{
    struct rank next = {.job = s->job,
                        .node = s->node,
                        .ns = s->ns,
                        .pod = s->pod,
                        .pod_uid = s->pod_uid,
                        .gpu_uuid = s->gpu_uuid,
                        .pci = s->pci,
                        .gpu_index = s->gpu_index,
                        .number = s->rank};
    if (s->rank < 0 || (s->node.len == 0 && s->pod.len == 0)) {
        return;
    }
    /* First of all: what is taken over from a known entry lies in the text that making room moves.
     */
    if (!tc__table_has_room(t)) {
        tc__table_make_room(t, order);
    }
    struct rank *known = tc__table_find(t, &next, BY_RANK);
    /* A process takes the name of its pod for that of its host. */
    if (known != NULL && s->pod.len == 0 && s->node.len > 0 && tc_slice_eq(known->pod, s->node)) {
        return;
    }
    complete(&next, known);
    bool differs = !is_as_known(known, &next);
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

/* The rank that a scope means; NULL when nobody told of it, or several jobs have it. */
static const struct rank *find_rank(const struct tc__table *t, const struct tc_scope *s)
{
    struct rank key = {.job = s->job, .number = s->rank};
    const struct rank *found = s->rank < 0 ? NULL : tc__table_find(t, &key, BY_RANK);
    if (found != NULL || s->rank < 0) {
        return found;
    }
    /* One of the two does not say which job it means. */
    const struct rank *only = tc__table_find(t, &key, BY_NUMBER);
    bool meant = only != NULL && !only->shared && (only->job.len == 0 || s->job.len == 0);
    return meant ? only : NULL;
}

static void fill_by_rank(const struct tc__table *t, struct tc_scope *io)
{
    if (io->rank < 0 || (io->node.len > 0 && (io->pod.len > 0 || io->pod_uid.len > 0))) {
        return;
    }
    const struct rank *found = find_rank(t, io);
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

void tc__places_fill_gpu(const struct tc__places *p, struct tc_scope *io)
{
    const struct rank *found = find_rank(&p->ranks, io);
    if (found != NULL && tc_slice_eq(found->node, io->node)) {
        io->gpu_uuid = found->gpu_uuid;
        io->pci = found->pci;
        io->gpu_index = found->gpu_index;
    }
}
