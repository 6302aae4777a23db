/* SPDX-License-Identifier: Apache-2.0 */
/* Where an item is: its keys, the index by them, and whether a verdict names the culprit. */
#include "base/limits.h"
#include "base/table/grow.h"
#include "event/format.h"
#include "score/score_priv.h"

#include <stdlib.h>

enum tag {
    TAG_NODE,
    TAG_GPU,
    TAG_GPU_ADDRESS,
    TAG_GPU_INDEX,
    TAG_POD,
    TAG_JOB,
    TAG_JOB_RANK,
    TAG_RANK,
    TAG_RANK_NO_JOB
};

struct keys {
    uint64_t *out;
    size_t cap;
    size_t count;
    uint32_t pattern;
};

static uint64_t seed_of(const struct keys *k, enum tag tag)
{
    return tc_hash_mix((uint64_t)k->pattern + 1, (uint64_t)tag + 1);
}

static void put(struct keys *k, uint64_t key)
{
    if (k->count < k->cap) {
        k->out[k->count] = key;
    }
    k->count++;
}

static void put_name(struct keys *k, enum tag tag, struct tc_slice name)
{
    if (name.len > 0) {
        put(k, tc_slice_hash(name, seed_of(k, tag)));
    }
}

static void put_pod(struct keys *k, struct tc_slice ns, struct tc_slice pod)
{
    if (pod.len > 0) {
        put(k, tc_slice_hash(pod, tc_slice_hash(ns, seed_of(k, TAG_POD))));
    }
}

/*
 * A GPU of a node and a rank of a job are places inside of places: they add no pair, but lead
 * past the crowd of a busy node or job to the verdict that names the culprit.
 */
static void put_inner(struct keys *k, enum tag tag, struct tc_slice outer, uint64_t inner)
{
    if (outer.len > 0) {
        put(k, tc_hash_mix(tc_slice_hash(outer, seed_of(k, tag)), inner));
    }
}

static void put_gpu(struct keys *k, const struct tc__item *item)
{
    put_name(k, TAG_GPU, item->gpu_uuid);
    if (item->pci.known) {
        uint64_t address = (uint64_t)item->pci.domain << 24 | (uint64_t)item->pci.bus << 16 |
                           (uint64_t)item->pci.device << 8 | item->pci.function;
        put_inner(k, TAG_GPU_ADDRESS, item->node, address);
    }
    if (item->gpu_index >= 0) {
        put_inner(k, TAG_GPU_INDEX, item->node, (uint64_t)item->gpu_index);
    }
}

/* "namespace/name" */
static void put_pod_path(struct keys *k, struct tc_slice path)
{
    struct tc_slice name;
    struct tc_slice ns = tc_slice_cut(path, '/', &name);
    if (ns.len == path.len) {
        put_pod(k, TC_EMPTY, path);
    } else {
        put_pod(k, ns, name);
    }
}

/*
 * Between two items of one job the job is the key; of two jobs a rank says nothing. That
 * leaves pairs in which one names no job: what is found has its ranks under a key for
 * everyone and, when it has no job, under one for those who have.
 */
static void put_rank(struct keys *k, const struct tc__item *item, bool asks, int32_t rank)
{
    bool has_job = item->job.len > 0;
    uint64_t any = tc_hash_mix(seed_of(k, TAG_RANK), (uint64_t)rank);
    uint64_t no_job = tc_hash_mix(seed_of(k, TAG_RANK_NO_JOB), (uint64_t)rank);
    if (asks) {
        put(k, has_job ? no_job : any);
        return;
    }
    put(k, any);
    if (!has_job) {
        put(k, no_job);
    }
}

size_t tc__place_keys(const struct tc__item *item, bool asks, uint64_t *out, size_t cap)
{
    struct keys k = {.out = out, .cap = cap, .pattern = item->pattern};
    put_name(&k, TAG_NODE, item->node);
    for (size_t i = 0; i < item->nodes.count; i++) {
        put_name(&k, TAG_NODE, item->nodes.at[i]);
    }
    put_gpu(&k, item);
    put_name(&k, TAG_JOB, item->job);
    put_pod(&k, item->ns, item->pod);
    for (size_t i = 0; i < item->pods.count; i++) {
        put_pod_path(&k, item->pods.at[i]);
    }
    if (item->rank >= 0) {
        put_rank(&k, item, asks, item->rank);
        put_inner(&k, TAG_JOB_RANK, item->job, (uint64_t)item->rank);
    }
    for (size_t i = 0; i < item->ranks.count; i++) {
        put_inner(&k, TAG_JOB_RANK, item->job, (uint64_t)item->ranks.at[i]);
        put_rank(&k, item, asks, item->ranks.at[i]);
    }
    for (size_t i = 0; i < item->affected.count; i++) {
        put_rank(&k, item, asks, item->affected.at[i]);
    }
    return k.count;
}

static int by_key(const void *a, const void *b)
{
    const struct tc__entry *x = a;
    const struct tc__entry *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->item < y->item ? -1 : x->item > y->item;
}

/* A set of keys that may hold some more: one bit per key. */
#define KEY_BITS ((size_t)1 << 24)

struct key_set {
    uint64_t *bits;
    uint64_t *keys; /* of one item */
    size_t key_cap;
};

static bool holds(const struct key_set *set, uint64_t key)
{
    return (set->bits[key % KEY_BITS / 64] >> (key % 64) & 1) != 0;
}

/* The keys of an item in set->keys; false when out of memory. */
static bool take_keys(struct key_set *set, const struct tc__item *item, bool asks,
                      size_t *out_count)
{
    size_t count = tc__place_keys(item, asks, set->keys, set->key_cap);
    if (count > set->key_cap) {
        if (tc_grow_items(set->keys, set->key_cap, count, SIZE_MAX) != TC_OK) {
            return false;
        }
        (void)tc__place_keys(item, asks, set->keys, count);
    }
    *out_count = count;
    return true;
}

static bool note_askers(struct key_set *set, struct tc__some askers)
{
    size_t count = 0;
    for (size_t i = 0; i < askers.items->count; i++) {
        const struct tc__item *item = &askers.items->at[i];
        if (askers.passes(item)) {
            if (!take_keys(set, item, true, &count)) {
                return false;
            }
            for (size_t j = 0; j < count; j++) {
                set->bits[set->keys[j] % KEY_BITS / 64] |= UINT64_C(1) << (set->keys[j] % 64);
            }
        }
    }
    return true;
}

/* Enters what is found, or with out NULL counts it. */
static bool enter(struct key_set *set, struct tc__some found, struct tc__entry *out,
                  size_t *out_count)
{
    size_t total = 0;
    size_t count = 0;
    for (size_t i = 0; i < found.items->count; i++) {
        const struct tc__item *item = &found.items->at[i];
        if (!found.passes(item)) {
            continue;
        }
        if (!take_keys(set, item, false, &count)) {
            return false;
        }
        for (size_t j = 0; j < count; j++) {
            if (holds(set, set->keys[j])) {
                if (out != NULL) {
                    out[total] = (struct tc__entry){.key = set->keys[j],
                                                    .start_ns = item->start_ns,
                                                    .end_ns = item->end_ns,
                                                    .item = (uint32_t)i};
                }
                total++;
            }
        }
    }
    *out_count = total;
    return true;
}

static void sort_entries(struct tc__index *index)
{
    qsort(index->at, index->count, sizeof *index->at, by_key);
    for (size_t i = 0; i < index->count; i++) {
        struct tc__entry *e = &index->at[i];
        bool goes_on = i > 0 && e[-1].key == e->key && e[-1].reach_ns > e->end_ns;
        e->reach_ns = goes_on ? e[-1].reach_ns : e->end_ns;
    }
}

bool tc__index_build(struct tc__index *index, struct tc__some found, struct tc__some askers)
{
    struct key_set set = {.bits = calloc(KEY_BITS / 64, sizeof *set.bits)};
    *index = (struct tc__index){0};
    bool ok = set.bits != NULL && note_askers(&set, askers) &&
              enter(&set, found, NULL, &index->count) &&
              index->count <= TC_SCORE_MEMORY_MAX / sizeof *index->at;
    if (ok) {
        index->at = calloc(index->count + 1, sizeof *index->at);
        ok = index->at != NULL && enter(&set, found, index->at, &index->count);
    }
    free(set.bits);
    free(set.keys);
    if (!ok) {
        tc__index_fini(index);
        return false;
    }
    sort_entries(index);
    return true;
}

void tc__index_fini(struct tc__index *index)
{
    free(index->at);
    *index = (struct tc__index){0};
}

/* The first entry of at least that key, and of that key at least that start. */
static size_t lower_bound(const struct tc__index *index, uint64_t key, int64_t start_ns)
{
    size_t from = 0;
    size_t to = index->count;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        const struct tc__entry *e = &index->at[mid];
        if (e->key < key || (e->key == key && e->start_ns < start_ns)) {
            from = mid + 1;
        } else {
            to = mid;
        }
    }
    return from;
}

struct tc__range tc__index_range(const struct tc__index *index, uint64_t key, int64_t start_ns,
                                 int64_t end_ns)
{
    struct tc__range r = {.group = lower_bound(index, key, INT64_MIN)};
    r.to = end_ns == INT64_MAX ? lower_bound(index, key + 1, INT64_MIN)
                               : lower_bound(index, key, end_ns + 1);
    /* reach only grows inside a key; where it first gets to start_ns, that very entry does. */
    size_t from = r.group;
    size_t to = r.to;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (index->at[mid].reach_ns < start_ns) {
            from = mid + 1;
        } else {
            to = mid;
        }
    }
    r.from = from;
    return r;
}

/* ---- culprits ---------------------------------------------------------------------------- */

static bool names_node(const struct tc__item *verdict, struct tc_slice node)
{
    if (tc_slice_eq(verdict->node, node)) {
        return true;
    }
    for (size_t i = 0; i < verdict->nodes.count; i++) {
        if (tc_slice_eq(verdict->nodes.at[i], node)) {
            return true;
        }
    }
    return false;
}

/* One GPU has several names: the strongest that both use decides. */
static bool names_gpu(const struct tc__item *fault, const struct tc__item *verdict)
{
    if (fault->gpu_uuid.len == 0 && !fault->pci.known && fault->gpu_index < 0) {
        return true;
    }
    if (fault->gpu_uuid.len > 0 && verdict->gpu_uuid.len > 0) {
        return tc_slice_eq(fault->gpu_uuid, verdict->gpu_uuid);
    }
    bool same_node = fault->node.len > 0 && tc_slice_eq(fault->node, verdict->node);
    if (fault->pci.known && verdict->pci.known) {
        return same_node && tc_bdf_eq(fault->pci, verdict->pci);
    }
    return same_node && fault->gpu_index >= 0 && fault->gpu_index == verdict->gpu_index;
}

/* The ranks that a verdict blames: the list, else the one. */
static struct tc__ranks blamed(const struct tc__item *item)
{
    if (item->ranks.count > 0 || item->rank < 0) {
        return item->ranks;
    }
    return (struct tc__ranks){&item->rank, 1};
}

static bool names_ranks(const struct tc__item *fault, const struct tc__item *verdict)
{
    struct tc__ranks want = blamed(fault);
    struct tc__ranks have = blamed(verdict);
    if (fault->ranks.count == 0 && fault->rank >= 0 && fault->rank == verdict->rank) {
        return true;
    }
    return want.count == 0 || (want.count == have.count &&
                               memcmp(want.at, have.at, want.count * sizeof *want.at) == 0);
}

static bool is_same(struct tc_slice want, struct tc_slice have)
{
    return want.len == 0 || tc_slice_eq(want, have);
}

bool tc__names_culprit(const struct tc__item *fault, const struct tc__item *verdict)
{
    return (fault->node.len == 0 || names_node(verdict, fault->node)) &&
           names_gpu(fault, verdict) && is_same(fault->ns, verdict->ns) &&
           is_same(fault->pod, verdict->pod) && is_same(fault->job, verdict->job) &&
           names_ranks(fault, verdict) &&
           (is_same(fault->device, verdict->device) || is_same(fault->device, verdict->volume));
}

/* ---- for people -------------------------------------------------------------------------- */

#define RANKS_SHOWN 8

/* The text behind a blank, unless it is the first. */
#define PUT(b, condition, ...)                                     \
    tc_format((b), "{}{}", (condition) && (b)->len > 0 ? " " : "", \
              tc_when((condition), __VA_ARGS__))

static void put_ranks(struct tc_buf *b, struct tc__ranks ranks)
{
    PUT(b, ranks.count > 0, ranks.count == 1 ? "rank " : "ranks ");
    for (size_t i = 0; i < ranks.count && i < RANKS_SHOWN; i++) {
        tc_format(b, "{}{}", i == 0 ? "" : ",", ranks.at[i]);
    }
    tc_buf_str(b, ranks.count > RANKS_SHOWN ? TC_LIT(",...") : TC_EMPTY);
}

void tc__item_place(struct tc_buf *b, const struct tc__item *item)
{
    bool several = item->node.len == 0 && item->nodes.count > 0;
    PUT(b, item->node.len > 0, "{}", item->node);
    PUT(b, several, "{}{}", several ? item->nodes.at[0] : TC_EMPTY,
        item->nodes.count > 1 ? ",..." : "");
    PUT(b, item->gpu_uuid.len > 0, "{}", item->gpu_uuid);
    PUT(b, item->pci.known, "{}", tc_as_pci(item->pci));
    PUT(b, item->gpu_index >= 0, "GPU {}", item->gpu_index);
    PUT(b, item->device.len > 0, "device {}", item->device);
    PUT(b, item->pod.len > 0, "pod {}", tc_as_pod(item->ns, item->pod));
    PUT(b, item->job.len > 0, "job {}", item->job);
    put_ranks(b, blamed(item));
}
