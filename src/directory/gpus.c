/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a GPU. The kernel log knows it by node and PCI address, exporters by UUID and by its
 * index on the node; some events carry two of these, and then all of them are known to be one GPU.
 * Also who uses it, as exporters label it.
 */
#include "directory/directory_priv.h"

/* The UUID says most, the index least. */
enum gpu_name { BY_UUID, BY_PCI, BY_INDEX, NAMES };

static const size_t TEXTS[] = {
    offsetof(struct tc_gpu, node), offsetof(struct tc_gpu, uuid),      offsetof(struct tc_gpu, ns),
    offsetof(struct tc_gpu, pod),  offsetof(struct tc_gpu, container), offsetof(struct tc_gpu, job),
};

static uint64_t hash_name(const void *entry, uint32_t name)
{
    const struct tc_gpu *g = entry;
    if (name == BY_UUID) {
        return g->uuid.len == 0 ? 0 : tc_slice_hash(g->uuid, BY_UUID) | 1;
    }
    if (g->node.len == 0 || (name == BY_PCI ? !g->pci.known : g->index < 0)) {
        return 0;
    }
    uint64_t number = name == BY_PCI ? tc__pci_number(g->pci) : (uint64_t)g->index;
    return tc_hash_mix(tc_slice_hash(g->node, name), number) | 1;
}

static bool same_name(const void *a, const void *b, uint32_t name)
{
    const struct tc_gpu *x = a;
    const struct tc_gpu *y = b;
    if (name == BY_UUID) {
        return tc_slice_eq(x->uuid, y->uuid);
    }
    return (name == BY_PCI ? tc_bdf_eq(x->pci, y->pci) : x->index == y->index) &&
           tc_slice_eq(x->node, y->node);
}

const struct tc__table_kind tc__gpu_kind = {
    .size = sizeof(struct tc_gpu),
    .texts = TEXTS,
    .text_count = TC_COUNT(TEXTS),
    .name_count = NAMES,
    .hash = hash_name,
    .same = same_name,
};
_Static_assert(sizeof(struct tc_gpu) <= TC__ENTRY_BYTES_MAX, "a GPU fits");

static struct tc_gpu from_scope(const struct tc_scope *s)
{
    return (struct tc_gpu){.node = s->node,
                           .uuid = s->gpu_uuid,
                           .ns = s->ns,
                           .pod = s->pod,
                           .container = s->container,
                           .job = s->job,
                           .pci = s->pci,
                           .index = s->gpu_index,
                           .rank = s->rank};
}

/* A board that was exchanged has the place of the old one and another UUID. */
static struct tc_gpu *unless_other(struct tc_gpu *found, const struct tc_gpu *gpu)
{
    bool other = found != NULL && found->uuid.len > 0 && gpu->uuid.len > 0 &&
                 !tc_slice_eq(found->uuid, gpu->uuid);
    return other ? NULL : found;
}

const struct tc_gpu *tc__gpus_find(const struct tc__gpus *g, const struct tc_scope *scope)
{
    struct tc_gpu key = from_scope(scope);
    const struct tc_gpu *found = NULL;
    for (uint32_t name = 0; name < NAMES && found == NULL; name++) {
        found = unless_other(tc__table_find(&g->table, &key, name), &key);
    }
    return found;
}

static struct tc_slice either(struct tc_slice first, struct tc_slice second)
{
    return first.len > 0 ? first : second;
}

/* The users in the order of the alphabet. */
static int user_cmp(const struct tc_gpu *a, const struct tc_gpu *b)
{
    int order = tc_slice_cmp(a->pod, b->pod);
    order = order == 0 ? tc_slice_cmp(a->ns, b->ns) : order;
    return order == 0 ? tc_slice_cmp(a->container, b->container) : order;
}

/* Whether the user that is known stays the one. */
static bool keeps_user(const struct tc_gpu *gpu, const struct tc_gpu *old)
{
    if (gpu->pod.len == 0 || old->pod.len == 0) {
        return gpu->pod.len == 0;
    }
    bool same = tc_slice_eq(gpu->pod, old->pod) && tc_slice_eq(gpu->ns, old->ns);
    if (same && (gpu->container.len == 0) != (old->container.len == 0)) {
        return gpu->container.len == 0;
    }
    return gpu->user_ns < old->user_ns || (gpu->user_ns == old->user_ns && user_cmp(old, gpu) > 0);
}

static void add_id(struct tc_gpu *gpu, uint64_t id)
{
    uint64_t later = gpu->id == 0 || id < gpu->id ? gpu->id : id;
    gpu->id = gpu->id == 0 || id < gpu->id ? id : gpu->id;
    if (later != 0 && later != gpu->id && later != gpu->also[0] && later != gpu->also[1]) {
        gpu->also[1] = gpu->also[0];
        gpu->also[0] = later;
    }
}

/* What `old` knows and `gpu` does not. Who uses the GPU is one fact: it is taken whole or not. */
static void fill_in(struct tc_gpu *gpu, const struct tc_gpu *old)
{
    for (size_t i = TC_COUNT(old->also); i-- > 0;) {
        if (old->also[i] != 0) {
            add_id(gpu, old->also[i]);
        }
    }
    add_id(gpu, old->id);
    gpu->node = either(gpu->node, old->node);
    gpu->uuid = either(gpu->uuid, old->uuid);
    gpu->pci = gpu->pci.known ? gpu->pci : old->pci;
    gpu->index = gpu->index >= 0 ? gpu->index : old->index;
    gpu->job = either(gpu->job, old->job);
    gpu->rank = gpu->rank >= 0 ? gpu->rank : old->rank;
    if (keeps_user(gpu, old)) {
        gpu->ns = old->ns;
        gpu->pod = old->pod;
        gpu->container = old->container;
    }
    gpu->user_ns = gpu->user_ns > old->user_ns ? gpu->user_ns : old->user_ns;
}

static bool says_nothing_new(const struct tc_gpu *merged, const struct tc_gpu *old)
{
    return tc_bdf_eq(merged->pci, old->pci) && merged->index == old->index &&
           merged->rank == old->rank && tc_slice_eq(merged->uuid, old->uuid) &&
           tc_slice_eq(merged->node, old->node) && tc_slice_eq(merged->pod, old->pod) &&
           tc_slice_eq(merged->ns, old->ns) && tc_slice_eq(merged->container, old->container) &&
           tc_slice_eq(merged->job, old->job);
}

static bool is_same_or_none(struct tc_slice said, struct tc_slice known)
{
    return said.len == 0 || tc_slice_eq(said, known);
}

/* As fill_in and says_nothing_new would find, without a copy. Where names contradict each other (a
 * board that moved to another node) tc__gpus_learn may still merge two: on the next news. */
static bool adds_nothing(const struct tc_scope *s, const struct tc_gpu *known)
{
    return (!s->pci.known || tc_bdf_eq(s->pci, known->pci)) &&
           (s->gpu_index < 0 || s->gpu_index == known->index) &&
           (s->rank < 0 || s->rank == known->rank) && is_same_or_none(s->gpu_uuid, known->uuid) &&
           is_same_or_none(s->node, known->node) && is_same_or_none(s->job, known->job) &&
           (s->pod.len == 0 || (tc_slice_eq(s->pod, known->pod) && tc_slice_eq(s->ns, known->ns) &&
                                tc_slice_eq(s->container, known->container)));
}

/* The GPU that goes by a name of the key. */
static struct tc_gpu *find_again(struct tc__gpus *g, const struct tc_gpu *key, enum gpu_name name)
{
    if (g->heard == NULL || g->heard_by != name || !same_name(g->heard, key, name)) {
        g->heard = tc__table_find(&g->table, key, name);
        g->heard_by = name;
    }
    return g->heard;
}

const struct tc_gpu *tc__gpus_hear(struct tc__gpus *g, const struct tc_scope *scope,
                                   int64_t time_ns)
{
    /* Its names alone: most events of a GPU end here. */
    struct tc_gpu key;
    key.node = scope->node;
    key.uuid = scope->gpu_uuid;
    key.pci = scope->pci;
    key.index = scope->gpu_index;
    enum gpu_name name = key.uuid.len > 0 ? BY_UUID : key.pci.known ? BY_PCI : BY_INDEX;
    struct tc_gpu *known = find_again(g, &key, name);
    if (known == NULL || !adds_nothing(scope, known)) {
        return NULL;
    }
    known->entry.heard = ++g->table.heard;
    known->user_ns = scope->pod.len > 0 && time_ns > known->user_ns ? time_ns : known->user_ns;
    return known;
}

static bool fits(const struct tc_gpu *gpu)
{
    return gpu->node.len <= TC_SCOPE_TEXT_MAX && gpu->uuid.len <= TC_SCOPE_TEXT_MAX &&
           gpu->ns.len <= TC_SCOPE_TEXT_MAX && gpu->pod.len <= TC_SCOPE_TEXT_MAX &&
           gpu->container.len <= TC_SCOPE_TEXT_MAX && gpu->job.len <= TC_SCOPE_TEXT_MAX;
}

const struct tc_gpu *tc__gpus_learn(struct tc__gpus *g, const struct tc_scope *scope,
                                    int64_t time_ns, struct tc_sort_pair *order)
{
    struct tc_gpu gpu = from_scope(scope);
    gpu.user_ns = gpu.pod.len > 0 ? time_ns : INT64_MIN;
    bool named = gpu.uuid.len > 0 || (gpu.node.len > 0 && (gpu.pci.known || gpu.index >= 0));
    if (!named || !fits(&gpu)) {
        return NULL;
    }
    if (!tc__table_has_room(&g->table)) {
        g->heard = NULL;
        tc__table_make_room(&g->table, order);
    }
    struct tc_gpu *found[NAMES];
    for (uint32_t name = 0; name < NAMES; name++) {
        found[name] = unless_other(tc__table_find(&g->table, &gpu, name), &gpu);
    }
    struct tc_gpu *old = NULL;
    bool merges = false;
    for (uint32_t name = 0; name < NAMES; name++) {
        /* Some names may lead to a GPU of which others say that it is not this one. */
        struct tc_gpu *part = unless_other(found[name], &gpu);
        if (part != NULL && part != old) {
            fill_in(&gpu, part);
            merges = merges || old != NULL;
            old = old == NULL || part->id < old->id ? part : old;
        }
    }
    if (old != NULL && !merges && says_nothing_new(&gpu, old)) {
        old->entry.heard = ++g->table.heard;
        old->user_ns = gpu.user_ns > old->user_ns ? gpu.user_ns : old->user_ns;
        return old;
    }
    gpu.id = gpu.id == 0 ? ++g->last_id : gpu.id;
    g->heard = NULL;
    return tc__table_write(&g->table, old, &gpu);
}

void tc_gpu_complete(const struct tc_gpu *gpu, struct tc_scope *scope)
{
    scope->node = either(scope->node, gpu->node);
    scope->gpu_uuid = either(scope->gpu_uuid, gpu->uuid);
    scope->pci = scope->pci.known ? scope->pci : gpu->pci;
    scope->gpu_index = scope->gpu_index >= 0 ? scope->gpu_index : gpu->index;
    scope->job = either(scope->job, gpu->job);
    scope->rank = scope->rank >= 0 ? scope->rank : gpu->rank;
    if (scope->pod.len == 0) {
        scope->ns = gpu->ns;
        scope->pod = gpu->pod;
        scope->container = gpu->container;
    }
}
