/* SPDX-License-Identifier: Apache-2.0 */
#include "story/story.h"

#include "base/time.h"
#include "story/story_priv.h"

#include <stdlib.h>
#include <string.h>

/* Address space for one linking; only what the verdicts need is touched. */
#define LINK_BYTES_MIN ((size_t)64 << 20)
#define LINK_BYTES_A_VERDICT ((size_t)8 << 10)
#define LINK_BYTES_MAX ((size_t)1 << 30)

struct tc_story {
    struct tc_kept kept;
    struct tc__facts facts;
    unsigned char *link_block; /* what the verdicts' causes point into */
    struct tc_arena link_arena;
    uint64_t link_steps;
};

static bool facts_init(struct tc__facts *f)
{
    f->block = calloc(1, TC__FACT_BYTES);
    if (f->block == NULL) {
        return false;
    }
    tc_arena_init_zeroed(&f->arena, "facts", f->block, TC__FACT_BYTES);
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

static void drop_links(struct tc_story *s)
{
    if (s->link_block != NULL) {
        tc_arena_fini(&s->link_arena);
        free(s->link_block);
        s->link_block = NULL;
    }
}

void tc_story_destroy(struct tc_story *s)
{
    if (s == NULL) {
        return;
    }
    drop_links(s);
    tc_kept_fini(&s->kept);
    if (s->facts.block != NULL) {
        tc_arena_fini(&s->facts.arena);
        free(s->facts.block);
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

static void add_fact(struct tc__facts *f, const struct tc_event *ev, uint64_t hash)
{
    tc_arena_mark mark = tc_arena_snapshot(&f->arena);
    const struct tc_scope *s = &ev->scope;
    struct tc__fact fact = {
        .scope = TC_SCOPE_NONE,
        .first_ns = ev->time_ns,
        .origin = copy(&f->arena, origin_of(ev)),
        .address = copy(&f->arena, address_of(ev)),
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
        f->dropped++;
        return;
    }
    f->items[f->count++] = fact;
    f->version++;
    /* The map has room for every fact. */
    (void)tc_map_add(&f->seen, hash, f->count, 1);
}

void tc_story_note(struct tc_story *s, const struct tc_event *ev)
{
    struct tc_slice address = address_of(ev);
    /* A PCIe report or a switch's error is about a device that may be no GPU of anybody. */
    if (ev->kind == TC_EVENT_AER || ev->kind == TC_EVENT_PCIE_LINK || ev->kind == TC_EVENT_SXID ||
        (address.len == 0 && !says_something(&ev->scope))) {
        return;
    }
    uint64_t hash = scope_hash(&ev->scope, address);
    struct tc__fact *known = find_fact(&s->facts, &ev->scope, address, hash);
    if (known == NULL) {
        add_fact(&s->facts, ev, hash);
    } else if (ev->time_ns < known->first_ns) {
        known->first_ns = ev->time_ns; /* TC_TIME_NONE is below all */
        s->facts.version++;
        take_origin(&s->facts, known, ev);
    } else if (ev->time_ns == known->first_ns && tc_slice_cmp(origin_of(ev), known->origin) > 0) {
        take_origin(&s->facts, known, ev);
    }
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

tc_status tc_story_link(struct tc_story *s)
{
    tc_kept_sort(&s->kept);
    tc_kept_unlink(&s->kept);
    drop_links(s);
    if (s->kept.count == 0) {
        return TC_OK;
    }
    size_t bytes = LINK_BYTES_MIN + s->kept.count * LINK_BYTES_A_VERDICT;
    bytes += (size_t)s->facts.count * 1024;
    bytes = bytes < LINK_BYTES_MAX ? bytes : LINK_BYTES_MAX;
    s->link_block = calloc(1, bytes);
    if (s->link_block == NULL) {
        return TC_E_NOMEM;
    }
    tc_arena_init_zeroed(&s->link_arena, "story", s->link_block, bytes);
    struct tc__places places;
    tc_status status = TC_E_NOMEM;
    if (tc__places_build(&places, &s->facts, &s->kept, &s->link_arena)) {
        status = tc__link(&s->kept, &places, &s->link_arena);
        s->link_steps = places.steps;
    }
    if (status != TC_OK) {
        tc_kept_unlink(&s->kept);
    }
    return status;
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
