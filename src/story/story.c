/* SPDX-License-Identifier: Apache-2.0 */
#include "story/story.h"

#include "base/sort.h"
#include "base/time.h"
#include "story/story_priv.h"

#include <stdlib.h>
#include <string.h>

/* Address space for one linking; only what the verdicts need is touched. */
#define LINK_BYTES_MIN ((size_t)64 << 20)
#define LINK_BYTES_A_VERDICT ((size_t)8 << 10)
/* A fact and its names, of which it has up to seven, and their index. */
#define LINK_BYTES_A_FACT ((size_t)2 << 10)
#define LINK_BYTES_MAX ((size_t)1 << 30)

/* Memory that is taken anew only when it is too small: pages that were used stay at hand. */
struct block {
    struct tc_block *of;
    struct tc_arena arena;
};

struct tc_story {
    struct tc_kept kept;
    struct tc__facts facts;
    struct block link; /* what the verdicts' causes point into */
    struct block place;
    struct tc__places places;
    bool placed; /* places can be used again */
    uint64_t link_steps;
};

static bool facts_init(struct tc__facts *f)
{
    f->block = tc_block_new(TC__FACT_BYTES);
    if (f->block == NULL) {
        return false;
    }
    tc_arena_init_zeroed(&f->arena, "facts", f->block->bytes, TC__FACT_BYTES);
    f->items = tc_new(&f->arena, struct tc__fact, TC__FACTS_MAX);
    return f->items != NULL && tc_map_init(&f->seen, &f->arena, TC__FACTS_MAX);
}

struct tc_story *tc_story_create(void)
{
    struct tc_story *s = calloc(1, sizeof *s);
    if (s != NULL && !facts_init(&s->facts)) {
        tc_story_destroy(s);
        return NULL;
    }
    return s;
}

static void block_fini(struct block *b)
{
    if (b->of != NULL) {
        tc_arena_fini(&b->arena);
        tc_block_free(b->of);
        *b = (struct block){0};
    }
}

/* An empty arena of at least size bytes; false when there is no memory. */
static bool block_reset(struct block *b, const char *name, size_t size)
{
    if (b->of != NULL && b->of->size >= size) {
        tc_arena_reset(&b->arena);
        return true;
    }
    block_fini(b);
    b->of = tc_block_new(size);
    if (b->of == NULL) {
        return false;
    }
    tc_arena_init_zeroed(&b->arena, name, b->of->bytes, size);
    return true;
}

void tc_story_destroy(struct tc_story *s)
{
    if (s == NULL) {
        return;
    }
    block_fini(&s->link);
    block_fini(&s->place);
    tc_kept_fini(&s->kept);
    if (s->facts.block != NULL) {
        tc_arena_fini(&s->facts.arena);
        tc_block_free(s->facts.block);
    }
    free(s);
}

/* A statement ties at least two things together: a rank, a GPU, a pod, a node. */
static bool says_something(const struct tc_scope *s)
{
    bool gpu = s->gpu_uuid.len > 0 || s->pci.known || s->gpu_index >= 0;
    bool pod = s->pod.len > 0 || s->pod_uid.len > 0;
    return (s->node.len > 0) + gpu + pod + (s->rank >= 0) >= 2;
}

/* An address of something is a statement too. */
static struct tc_slice address_of(const struct tc_event *ev)
{
    return ev->kind == TC_EVENT_ADDRESS && ev->scope.node.len > 0 ? ev->address.address : TC_EMPTY;
}

/* The names of a scope, without what changes from event to event. */
static uint64_t scope_hash(const struct tc_scope *s, struct tc_slice address)
{
    uint64_t h = tc_slice_hash(s->node, tc_slice_hash(address, 0));
    h = tc_slice_hash(s->ns, h);
    h = tc_slice_hash(s->pod, h);
    h = tc_slice_hash(s->pod_uid, h);
    h = tc_slice_hash(s->job, h);
    h = tc_slice_hash(s->gpu_uuid, h);
    uint64_t pci = (uint64_t)s->pci.known << 40 | (uint64_t)s->pci.domain << 24 |
                   (uint64_t)s->pci.bus << 16 | (uint64_t)s->pci.device << 8 | s->pci.function;
    h = tc_hash_mix(h, pci);
    return tc_hash_mix(h, (uint64_t)(uint32_t)s->rank << 32 | (uint32_t)s->gpu_index);
}

static bool same_scope(const struct tc_scope *a, const struct tc_scope *b)
{
    return a->rank == b->rank && a->gpu_index == b->gpu_index && tc_bdf_eq(a->pci, b->pci) &&
           tc_slice_eq(a->node, b->node) && tc_slice_eq(a->ns, b->ns) &&
           tc_slice_eq(a->pod, b->pod) && tc_slice_eq(a->pod_uid, b->pod_uid) &&
           tc_slice_eq(a->job, b->job) && tc_slice_eq(a->gpu_uuid, b->gpu_uuid);
}

static struct tc__fact *find_fact(struct tc__facts *f, const struct tc_scope *s,
                                  struct tc_slice address, uint64_t hash)
{
    struct tc_map_iter it = tc_map_find(&f->seen, hash);
    for (uint64_t value; (value = tc_map_next(&f->seen, &it)) != 0;) {
        struct tc__fact *fact = &f->items[value - 1];
        if (same_scope(&fact->scope, s) && tc_slice_eq(fact->address, address)) {
            return fact;
        }
    }
    return NULL;
}

static struct tc_slice copy(struct tc_arena *a, struct tc_slice s)
{
    return s.len == 0 ? TC_EMPTY : tc_arena_copy(a, s);
}

static struct tc_slice origin_of(const struct tc_event *ev)
{
    return ev->kind == TC_EVENT_RANK_PLACE ? ev->place.origin : TC_LIT("");
}

/* Who said it first says how it is known. */
static void take_origin(struct tc__facts *f, struct tc__fact *fact, const struct tc_event *ev)
{
    tc_arena_mark mark = tc_arena_snapshot(&f->arena);
    if (tc_slice_eq(fact->origin, origin_of(ev))) {
        return;
    }
    struct tc_slice origin = copy(&f->arena, origin_of(ev));
    if (!tc_arena_ok(&f->arena)) {
        tc_arena_rewind(&f->arena, mark);
        return;
    }
    fact->origin = origin;
}

/* False, and nothing is added, when there is no room. The fact's strings are copied. */
static bool put_fact(struct tc__facts *f, const struct tc__fact *from, uint64_t hash)
{
    tc_arena_mark mark = tc_arena_snapshot(&f->arena);
    const struct tc_scope *s = &from->scope;
    struct tc__fact fact = {
        .scope = TC_SCOPE_NONE,
        .first_ns = from->first_ns,
        .last_ns = from->last_ns,
        .origin = copy(&f->arena, from->origin),
        .address = copy(&f->arena, from->address),
    };
    fact.scope.node = copy(&f->arena, s->node);
    fact.scope.ns = copy(&f->arena, s->ns);
    fact.scope.pod = copy(&f->arena, s->pod);
    fact.scope.pod_uid = copy(&f->arena, s->pod_uid);
    fact.scope.job = copy(&f->arena, s->job);
    fact.scope.gpu_uuid = copy(&f->arena, s->gpu_uuid);
    fact.scope.pci = s->pci;
    fact.scope.rank = s->rank;
    fact.scope.gpu_index = s->gpu_index;
    if (f->count == TC__FACTS_MAX || !tc_arena_ok(&f->arena)) {
        tc_arena_rewind(&f->arena, mark);
        return false;
    }
    f->items[f->count++] = fact;
    f->version++;
    /* The map has room for every fact. */
    (void)tc_map_add(&f->seen, hash, f->count, 1);
    return true;
}

/* When a quarter of the facts was said for the last time; what always holds is as new as any. */
static int64_t quarter(const struct tc__facts *f, struct tc_sort_pair *pairs)
{
    for (uint32_t i = 0; i < f->count; i++) {
        int64_t last_ns = f->items[i].last_ns;
        pairs[i] = (struct tc_sort_pair){
            last_ns == TC_TIME_NONE ? (uint64_t)INT64_MAX : (uint64_t)last_ns, i};
    }
    tc_sort_keys(pairs, pairs + f->count, f->count);
    return (int64_t)pairs[f->count / 4].key;
}

/*
 * Copies the facts that were said lately into new memory, and lets go of the old. When there is no
 * memory for that, or all are of one time, everything stays as it is.
 */
static void forget_facts(struct tc_story *s)
{
    struct tc__facts *old = &s->facts;
    struct tc__facts young = {.dropped = old->dropped,
                              .version = old->version,
                              .forgotten = old->forgotten,
                              .forgets = true};
    struct tc_sort_pair *pairs = calloc((size_t)old->count * 2 + 1, sizeof *pairs);
    bool ok = pairs != NULL && facts_init(&young);
    int64_t until_ns = ok ? quarter(old, pairs) : 0;
    free(pairs);
    for (uint32_t i = 0; ok && i < old->count; i++) {
        const struct tc__fact *fact = &old->items[i];
        if (fact->last_ns == TC_TIME_NONE || fact->last_ns > until_ns) {
            (void)put_fact(&young, fact, scope_hash(&fact->scope, fact->address));
        }
    }
    struct tc__facts *gone = ok ? old : &young;
    if (gone->block != NULL) {
        tc_arena_fini(&gone->arena);
        tc_block_free(gone->block);
    }
    if (ok) {
        young.forgotten += old->count - young.count;
        *old = young;
        s->placed = false; /* its names lie in what went */
    }
}

static void add_fact(struct tc_story *s, const struct tc_event *ev, uint64_t hash)
{
    struct tc__fact fact = {.scope = ev->scope,
                            .first_ns = ev->time_ns,
                            .last_ns = ev->time_ns,
                            .origin = origin_of(ev),
                            .address = address_of(ev)};
    if (put_fact(&s->facts, &fact, hash)) {
        return;
    }
    if (s->facts.forgets) {
        forget_facts(s);
        if (put_fact(&s->facts, &fact, hash)) {
            return;
        }
    }
    s->facts.dropped++;
}

void tc_story_note(struct tc_story *s, const struct tc_event *ev)
{
    struct tc_slice address = address_of(ev);
    /* A PCIe report or a switch's error is about a device that may be no GPU of anybody. */
    if (ev->kind == TC_EVENT_AER || ev->kind == TC_EVENT_PCIE_LINK || ev->kind == TC_EVENT_SXID ||
        (address.len == 0 && !says_something(&ev->scope))) {
        return;
    }
    /* Events that come together are often about one thing. */
    struct tc__fact *known = s->facts.last;
    if (known == NULL || !same_scope(&known->scope, &ev->scope) ||
        !tc_slice_eq(known->address, address)) {
        uint64_t hash = scope_hash(&ev->scope, address);
        known = find_fact(&s->facts, &ev->scope, address, hash);
        if (known == NULL) {
            add_fact(s, ev, hash);
            return;
        }
        s->facts.last = known;
    }
    known->last_ns = ev->time_ns > known->last_ns ? ev->time_ns : known->last_ns;
    if (ev->time_ns < known->first_ns) {
        known->first_ns = ev->time_ns; /* TC_TIME_NONE is below all */
        s->facts.version++;
        take_origin(&s->facts, known, ev);
    } else if (ev->time_ns == known->first_ns && tc_slice_cmp(origin_of(ev), known->origin) > 0) {
        take_origin(&s->facts, known, ev);
    }
}

size_t tc_story_statements(const struct tc_story *s)
{
    return s->facts.count;
}

uint64_t tc_story_forgotten(const struct tc_story *s)
{
    return s->facts.forgotten;
}

void tc_story_forgets(struct tc_story *s)
{
    s->facts.forgets = true;
}

uint64_t tc_story_version(const struct tc_story *s)
{
    return s->facts.version;
}

tc_status tc_story_add(void *context, const struct tc_verdict *v)
{
    struct tc_story *s = context;
    return tc_kept_add(&s->kept, v);
}

static size_t block_bytes(const struct tc_story *s)
{
    size_t bytes = LINK_BYTES_MIN + s->kept.count * LINK_BYTES_A_VERDICT;
    bytes += (size_t)s->facts.count * LINK_BYTES_A_FACT;
    return bytes < LINK_BYTES_MAX ? bytes : LINK_BYTES_MAX;
}

static bool place_all(struct tc_story *s)
{
    s->placed = block_reset(&s->place, "places", block_bytes(s)) &&
                tc__places_build(&s->places, &s->facts, &s->kept, &s->place.arena);
    return s->placed;
}

static tc_status link_all(struct tc_story *s, bool anew)
{
    tc_kept_sort(&s->kept);
    tc_kept_unlink(&s->kept);
    if (s->kept.count == 0) {
        return TC_OK;
    }
    if (!block_reset(&s->link, "story", block_bytes(s)) || (anew && !place_all(s))) {
        return TC_E_NOMEM;
    }
    s->places.steps = 0;
    tc_status status = tc__link(&s->kept, &s->places, &s->link.arena);
    s->link_steps = s->places.steps;
    if (status != TC_OK) {
        tc_kept_unlink(&s->kept);
    }
    return status;
}

tc_status tc_story_link(struct tc_story *s)
{
    return link_all(s, true);
}

tc_status tc_story_relink(struct tc_story *s)
{
    const struct tc__names *n = &s->places.names;
    bool full = s->placed && (n->count == n->max || !tc_arena_ok(&s->places.text));
    return link_all(s, !s->placed || full);
}

struct tc_kept *tc_story_verdicts(struct tc_story *s)
{
    return &s->kept;
}

uint64_t tc_story_steps(const struct tc_story *s)
{
    return s->link_steps;
}

uint64_t tc_story_dropped(const struct tc_story *s)
{
    return s->facts.dropped;
}
