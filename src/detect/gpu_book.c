/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/gpu_book_priv.h"

#include "detect/finding_priv.h"

/* Keep the three kinds of names apart in one index. */
enum { SEED_UUID = 1, SEED_PCI = 2, SEED_INDEX = 3, NAMES = 3 };

static const size_t TEXTS[] = {
    offsetof(struct tc_gpu, node), offsetof(struct tc_gpu, uuid),      offsetof(struct tc_gpu, ns),
    offsetof(struct tc_gpu, pod),  offsetof(struct tc_gpu, container), offsetof(struct tc_gpu, job),
};

/* No record is longer: every name was looked at. Twice, as the end of the ring may not hold one. */
#define ROOM_BYTES \
    (2 * TC_WINDOW_RECORD_BYTES(sizeof(struct tc_gpu), TC_COUNT(TEXTS) * TC_SCOPE_TEXT_MAX))

bool tc__gpu_book_init(struct tc_gpu_book *book, struct tc_arena *arena, struct tc_arena *scratch,
                       size_t bytes)
{
    *book = (struct tc_gpu_book){.scratch = scratch};
    return bytes >= 2 * ROOM_BYTES &&
           tc__window_init(&book->window, arena, bytes,
                           bytes / TC_WINDOW_RECORD_BYTES(sizeof(struct tc_gpu), 0), NAMES, false);
}

static bool same_uuid(const void *record, const void *key)
{
    const struct tc_gpu *a = record;
    const struct tc_gpu *b = key;
    return tc_slice_eq(a->uuid, b->uuid);
}

static bool same_pci(const void *record, const void *key)
{
    const struct tc_gpu *a = record;
    const struct tc_gpu *b = key;
    return tc_bdf_eq(a->pci, b->pci) && tc_slice_eq(a->node, b->node);
}

static bool same_index(const void *record, const void *key)
{
    const struct tc_gpu *a = record;
    const struct tc_gpu *b = key;
    return a->index == b->index && tc_slice_eq(a->node, b->node);
}

static struct tc_window_place find_uuid(const struct tc_gpu_book *book, const struct tc_gpu *gpu)
{
    uint64_t hash = tc_slice_hash(gpu->uuid, SEED_UUID);
    return tc__window_find(&book->window, &book->window.index, hash, same_uuid, gpu);
}

static struct tc_window_place find_pci(const struct tc_gpu_book *book, const struct tc_gpu *gpu)
{
    uint64_t address = (uint64_t)gpu->pci.domain << 24 | (uint64_t)gpu->pci.bus << 16 |
                       (uint64_t)gpu->pci.device << 8 | gpu->pci.function;
    uint64_t hash = tc_hash_mix(tc_slice_hash(gpu->node, SEED_PCI), address);
    return tc__window_find(&book->window, &book->window.index, hash, same_pci, gpu);
}

static struct tc_window_place find_index(const struct tc_gpu_book *book, const struct tc_gpu *gpu)
{
    uint64_t hash = tc_hash_mix(tc_slice_hash(gpu->node, SEED_INDEX), (uint64_t)gpu->index);
    return tc__window_find(&book->window, &book->window.index, hash, same_index, gpu);
}

static bool has_pci(const struct tc_gpu *gpu)
{
    return gpu->node.len > 0 && gpu->pci.known;
}

static bool has_index(const struct tc_gpu *gpu)
{
    return gpu->node.len > 0 && gpu->index >= 0;
}

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

/* The records under each name of the GPU; NULL where there is none. */
struct found {
    struct tc_gpu *by[NAMES];
};

static struct found find_all(const struct tc_gpu_book *book, const struct tc_gpu *gpu)
{
    struct found f = {{NULL, NULL, NULL}};
    if (gpu->uuid.len > 0) {
        f.by[0] = find_uuid(book, gpu).record;
    }
    if (has_pci(gpu)) {
        f.by[1] = unless_other(find_pci(book, gpu).record, gpu);
    }
    if (has_index(gpu)) {
        f.by[2] = unless_other(find_index(book, gpu).record, gpu);
    }
    return f;
}

/* The UUID says most, the index least. */
static struct tc_gpu *best(const struct found *f)
{
    return f->by[0] != NULL ? f->by[0] : (f->by[1] != NULL ? f->by[1] : f->by[2]);
}

const struct tc_gpu *tc__gpu_book_find(const struct tc_gpu_book *book, const struct tc_scope *scope)
{
    struct tc_gpu gpu = from_scope(scope);
    struct found f = find_all(book, &gpu);
    return best(&f);
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
    return gpu->user_ns == old->user_ns && user_cmp(old, gpu) > 0;
}

/* What `old` knows and `gpu` does not. Who uses the GPU is one fact: it is taken whole or not. */
static void fill_in(struct tc_gpu *gpu, const struct tc_gpu *old)
{
    if (gpu->id != 0 && gpu->id != old->id) {
        gpu->also = old->id < gpu->id ? gpu->id : old->id;
    } else if (gpu->also == 0) {
        gpu->also = old->also;
    }
    gpu->id = gpu->id == 0 || old->id < gpu->id ? old->id : gpu->id;
    gpu->node = either(gpu->node, old->node);
    gpu->uuid = either(gpu->uuid, old->uuid);
    gpu->pci = gpu->pci.known ? gpu->pci : old->pci;
    gpu->index = gpu->index >= 0 ? gpu->index : old->index;
    gpu->job = either(gpu->job, old->job);
    gpu->rank = gpu->rank >= 0 ? gpu->rank : old->rank;
    if (keeps_user(gpu, old)) {
        bool told = gpu->pod.len > 0;
        gpu->ns = old->ns;
        gpu->pod = old->pod;
        gpu->container = old->container;
        gpu->user_ns = told && gpu->user_ns > old->user_ns ? gpu->user_ns : old->user_ns;
    }
}

static bool says_nothing_new(const struct tc_gpu *merged, const struct tc_gpu *old)
{
    if (old == NULL || (merged->uuid.len > 0) != (old->uuid.len > 0) ||
        !tc_bdf_eq(merged->pci, old->pci) || merged->index != old->index ||
        merged->rank != old->rank || merged->id != old->id || merged->also != old->also) {
        return false;
    }
    return tc_slice_eq(merged->node, old->node) && tc_slice_eq(merged->pod, old->pod) &&
           tc_slice_eq(merged->ns, old->ns) && tc_slice_eq(merged->container, old->container) &&
           tc_slice_eq(merged->job, old->job);
}

/* A record that no name leads to any more was replaced by a newer one. */
static bool is_live(const struct tc_gpu_book *book, const struct tc_gpu *gpu)
{
    return (gpu->uuid.len > 0 && find_uuid(book, gpu).record == gpu) ||
           (has_pci(gpu) && find_pci(book, gpu).record == gpu) ||
           (has_index(gpu) && find_index(book, gpu).record == gpu);
}

/* Keeps a record and makes its names lead to it. Room was made. NULL when scratch is full. */
static struct tc_gpu *keep(struct tc_gpu_book *book, const struct tc_gpu *gpu, int64_t time_ns)
{
    struct tc_window *w = &book->window;
    struct tc_gpu *kept =
        tc__window_push(w, book->scratch, gpu, sizeof *gpu, TEXTS, TC_COUNT(TEXTS), time_ns);
    if (kept == NULL) {
        return NULL;
    }
    if (kept->uuid.len > 0) {
        tc__window_put(w, &w->index, find_uuid(book, kept), kept);
    }
    if (has_pci(kept)) {
        tc__window_put(w, &w->index, find_pci(book, kept), kept);
    }
    if (has_index(kept)) {
        tc__window_put(w, &w->index, find_index(book, kept), kept);
    }
    return kept;
}

static bool has_room(const struct tc_ring *r)
{
    return r->size - (size_t)(r->head - r->tail) >= ROOM_BYTES;
}

/*
 * Lets go of the oldest records until one more fits. A GPU that was heard of since it
 * was kept gets a second turn: it goes to the young end once. Each move uses up what an
 * event has set, so that an event costs one at most on average.
 */
static void make_room(struct tc_gpu_book *book)
{
    struct tc_ring *r = &book->window.ring;
    while (!has_room(r)) {
        uint64_t pos = TC_RING_NONE;
        const struct tc_gpu *oldest = tc_ring_oldest(r, &pos);
        bool live = is_live(book, oldest);
        struct tc_gpu gpu = *oldest; /* its strings stay until the next push */
        gpu.used = false;
        tc_ring_pop(r);
        bool moved = live && oldest->used && keep(book, &gpu, gpu.head.seen_ns);
        book->forgotten += live && !moved;
    }
}

/* Some names may lead to a GPU, of which others say that it is not this one. */
static void merge(struct tc_gpu *gpu, const struct found *f)
{
    for (size_t i = 0; i < NAMES; i++) {
        const struct tc_gpu *old = unless_other(f->by[i], gpu);
        if (old != NULL) {
            fill_in(gpu, old);
        }
    }
}

const struct tc_gpu *tc__gpu_book_learn(struct tc_gpu_book *book, const struct tc_scope *scope,
                                        int64_t time_ns)
{
    struct tc_gpu gpu = from_scope(scope);
    gpu.user_ns = gpu.pod.len > 0 ? time_ns : INT64_MIN;
    if ((gpu.uuid.len == 0 && !has_pci(&gpu) && !has_index(&gpu)) || !tc__scope_fits(scope) ||
        gpu.job.len > TC_SCOPE_TEXT_MAX) {
        return NULL;
    }
    if (!has_room(&book->window.ring)) {
        make_room(book);
    }
    struct found f = find_all(book, &gpu);
    struct tc_gpu *old = best(&f);
    merge(&gpu, &f);
    if (says_nothing_new(&gpu, old)) {
        old->used = true;
        old->user_ns = gpu.user_ns > old->user_ns ? gpu.user_ns : old->user_ns;
        return old;
    }
    gpu.id = gpu.id == 0 ? ++book->last_id : gpu.id;
    gpu.used = old != NULL;
    return keep(book, &gpu, time_ns);
}

void tc__gpu_complete(const struct tc_gpu *gpu, struct tc_scope *scope)
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
