/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"
#include "base/time.h"
#include "story/story_priv.h"

#include <string.h>

/* Statements about one rank that are weighed against each other. */
#define RANK_FACTS_MAX 32
/* Statements about one GPU or pod that are looked at. */
#define THING_FACTS_MAX 256
/* What is said of a place this long after a verdict may still be meant by it: exporters and
 * monitors tell where a rank is when they are asked. */
#define TOLD_LATER_NS (600 * TC_SECOND)
/* Names that one scope can bring: node, three of a GPU, three of a pod, and a rank. */
#define SCOPE_NAMES 8

struct scope_names {
    uint32_t node;
    uint32_t uuid;
    uint32_t pci;
    uint32_t index;
    uint32_t uid;
    uint32_t pod;
    uint32_t bare;
};

static struct scope_names name_scope(struct tc__places *p, const struct tc_scope *scope)
{
    struct tc__names *n = &p->names;
    struct tc_scope resolved = tc__places_resolve(p, scope);
    const struct tc_scope *s = &resolved;
    struct scope_names out = {TC__NONE, TC__NONE, TC__NONE, TC__NONE, TC__NONE, TC__NONE, TC__NONE};
    if (s->node.len > 0) {
        out.node = tc__names_add(n, TC__NAME_NODE, s->node, TC_EMPTY, 0);
        if (s->pci.known) {
            uint64_t address = (uint64_t)s->pci.domain << 24 | (uint64_t)s->pci.bus << 16 |
                               (uint64_t)s->pci.device << 8 | s->pci.function;
            out.pci = tc__names_add(n, TC__NAME_GPU_PCI, s->node, TC_EMPTY, address);
        }
        if (s->gpu_index >= 0) {
            out.index =
                tc__names_add(n, TC__NAME_GPU_INDEX, s->node, TC_EMPTY, (uint64_t)s->gpu_index);
        }
    }
    if (s->gpu_uuid.len > 0) {
        out.uuid = tc__names_add(n, TC__NAME_GPU_UUID, TC_EMPTY, s->gpu_uuid, 0);
    }
    if (s->pod_uid.len > 0) {
        out.uid = tc__names_add(n, TC__NAME_POD_UID, TC_EMPTY, s->pod_uid, 0);
    }
    if (s->pod.len > 0 && s->ns.len > 0) {
        out.pod = tc__names_add(n, TC__NAME_POD, s->ns, s->pod, 0);
    }
    if (s->pod.len > 0) {
        out.bare = tc__names_add(n, TC__NAME_POD_BARE, TC_EMPTY, s->pod, 0);
    }
    return out;
}

static uint32_t first_of(uint32_t a, uint32_t b, uint32_t c)
{
    return a != TC__NONE ? a : (b != TC__NONE ? b : c);
}

static void own(struct tc__places *p, const struct tc_scope *s)
{
    struct tc__names *n = &p->names;
    struct scope_names m = name_scope(p, s);
    tc__names_own(n, m.uuid, m.pci);
    tc__names_own(n, m.uuid, m.index);
    tc__names_own(n, m.uid, m.pod);
    tc__names_own(n, m.pod, m.bare);
}

static void join(struct tc__places *p, const struct tc_scope *s)
{
    struct tc__names *n = &p->names;
    struct scope_names m = name_scope(p, s);
    tc__names_join(n, m.uuid, m.pci);
    tc__names_join(n, m.uuid, m.index);
    tc__names_join(n, m.pci, m.index);
    tc__names_join(n, m.uid, m.pod);
    tc__names_join(n, m.pod, m.bare);
}

static uint32_t root_or_none(struct tc__names *n, uint32_t name)
{
    return name == TC__NONE ? TC__NONE : tc__names_root(n, name);
}

static uint64_t rank_hash(int32_t rank)
{
    return tc_hash_mix(1, (uint64_t)rank);
}

static uint64_t thing_hash(uint32_t root)
{
    return tc_hash_mix(2, root);
}

/* The name of a file or directory is a word that may be a node, a pod, or nothing of the kind. */
static bool is_word(const struct tc__fact *f)
{
    return tc_slice_eq(f->origin, TC_LIT("name"));
}

static void place_word(struct tc__places *p, struct tc__fact *f)
{
    struct tc_slice word = tc__places_resolve(p, &f->scope).node;
    f->node = tc__names_find(&p->names, TC__NAME_NODE, word, TC_EMPTY, 0);
    f->gpu = TC__NONE;
    f->pod = f->node != TC__NONE
                 ? TC__NONE
                 : root_or_none(&p->names,
                                tc__names_find(&p->names, TC__NAME_POD_BARE, TC_EMPTY, word, 0));
}

static void place_fact(struct tc__places *p, struct tc__fact *f)
{
    struct scope_names m = name_scope(p, &f->scope);
    f->node = m.node;
    f->gpu = root_or_none(&p->names, first_of(m.uuid, m.pci, m.index));
    f->pod = root_or_none(&p->names, first_of(m.uid, m.pod, m.bare));
}

static void index_fact(struct tc__places *p, struct tc__fact *f, uint32_t at)
{
    if (is_word(f)) {
        place_word(p, f);
    } else {
        place_fact(p, f);
    }
    /* The maps have room for all. */
    if (f->gpu != TC__NONE) {
        (void)tc_map_add(&p->by_thing, thing_hash(f->gpu), (uint64_t)at + 1, 1);
    }
    if (f->pod != TC__NONE) {
        (void)tc_map_add(&p->by_thing, thing_hash(f->pod), (uint64_t)at + 1, 1);
    }
    if (f->scope.rank < 0) {
        return;
    }
    (void)tc_map_add(&p->by_rank, rank_hash(f->scope.rank), (uint64_t)at + 1, 1);
    if (f->scope.job.len > 0) {
        p->one_job = p->only_job.len == 0 || (p->one_job && tc_slice_eq(p->only_job, f->scope.job));
        p->only_job = f->scope.job;
    }
}

static void name_all(struct tc__places *p, const struct tc_kept *kept,
                     void (*name)(struct tc__places *p, const struct tc_scope *s))
{
    for (uint32_t i = 0; i < p->fact_count; i++) {
        if (!is_word(&p->facts[i])) {
            name(p, &p->facts[i].scope);
        }
    }
    p->names.text = &p->text;
    for (size_t i = 0; i < kept->count; i++) {
        name(p, &kept->items[i].finding.scope);
    }
    p->names.text = NULL;
}

static int cmp_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int64_t pci_bits(struct tc_bdf b)
{
    return (int64_t)b.known << 40 | (int64_t)b.domain << 24 | (int64_t)b.bus << 16 |
           (int64_t)b.device << 8 | b.function;
}

/* By time, then by what is said: no two facts say the same. */
static int by_fact(const void *a, const void *b, void *context)
{
    const struct tc__fact *x = a;
    const struct tc__fact *y = b;
    const struct tc_scope *s = &x->scope;
    const struct tc_scope *t = &y->scope;
    (void)context;
    int order = cmp_i64(x->first_ns, y->first_ns);
    order = order == 0 ? tc_slice_cmp(s->node, t->node) : order;
    order = order == 0 ? tc_slice_cmp(s->ns, t->ns) : order;
    order = order == 0 ? tc_slice_cmp(s->pod, t->pod) : order;
    order = order == 0 ? tc_slice_cmp(s->pod_uid, t->pod_uid) : order;
    order = order == 0 ? tc_slice_cmp(s->job, t->job) : order;
    order = order == 0 ? tc_slice_cmp(s->gpu_uuid, t->gpu_uuid) : order;
    order = order == 0 ? cmp_i64(pci_bits(s->pci), pci_bits(t->pci)) : order;
    order = order == 0 ? cmp_i64(s->rank, t->rank) : order;
    order = order == 0 ? cmp_i64(s->gpu_index, t->gpu_index) : order;
    return order == 0 ? tc_slice_cmp(x->address, y->address) : order;
}

/* The facts in an order that does not follow the one in which they came. */
static struct tc__fact *sorted(const struct tc__facts *facts, struct tc_arena *arena)
{
    struct tc__fact *out = tc_new(arena, struct tc__fact, facts->count + 1);
    const void **order = tc_new(arena, const void *, facts->count + 1);
    const void **scratch = tc_new(arena, const void *, facts->count + 1);
    if (!tc_arena_ok(arena)) {
        return NULL;
    }
    for (uint32_t i = 0; i < facts->count; i++) {
        order[i] = &facts->items[i];
    }
    tc_sort_ptrs(order, scratch, facts->count, by_fact, NULL);
    for (uint32_t i = 0; i < facts->count; i++) {
        out[i] = *(const struct tc__fact *)order[i];
    }
    return out;
}

bool tc__places_build(struct tc__places *p, const struct tc__facts *facts,
                      const struct tc_kept *kept, struct tc_arena *arena)
{
    struct tc__fact *own_facts = sorted(facts, arena);
    *p = (struct tc__places){.facts = own_facts, .fact_count = facts->count};
    uint32_t scopes = facts->count + (uint32_t)kept->count;
    /* The ranks of verdicts are names too. */
    uint32_t ranks = 0;
    for (size_t i = 0; i < kept->count; i++) {
        for (size_t a = 0; a < kept->items[i].finding.attr_count; a++) {
            const struct tc_attr *attr = &kept->items[i].finding.attrs[a];
            ranks += attr->type == TC_ATTR_INTS && attr->count <= TC__WHERE_MAX
                         ? (uint32_t)attr->count
                         : TC__WHERE_MAX * (attr->type == TC_ATTR_INTS);
        }
    }
    if (own_facts == NULL ||
        !tc__names_init(&p->names, arena, (scopes + 1) * SCOPE_NAMES + ranks + TC__NAMES_MORE) ||
        !tc__places_addresses(p, arena) || !tc_map_init(&p->by_rank, arena, facts->count + 1) ||
        !tc_map_init(&p->by_thing, arena, (size_t)facts->count * 2 + 1)) {
        return false;
    }
    for (size_t c = 0; c < TC__CLASS_COUNT; c++) {
        p->room[c] = tc_new(arena, struct tc__token, TC__WHERE_MAX);
    }
    unsigned char *text = tc_arena_alloc_raw(arena, TC__TEXT_BYTES, 1);
    if (!tc_arena_ok(arena)) {
        return false;
    }
    tc_arena_init(&p->text, "names", text, TC__TEXT_BYTES);
    name_all(p, kept, own);
    name_all(p, kept, join);
    for (uint32_t i = 0; i < facts->count; i++) {
        index_fact(p, &own_facts[i], i);
    }
    p->names.text = &p->text;
    return true;
}

/* ---- where a verdict is ---- */

/* Collects tokens of each class, each name once. */
struct gather {
    struct tc__places *places;
    struct tc__where where;
    int64_t last_ns; /* of the verdict */
};

static void add(struct gather *g, enum tc__class class, uint32_t name, uint32_t fact, int32_t rank)
{
    size_t count = g->where.count[class];
    if (name == TC__NONE || count == TC__WHERE_MAX) {
        return;
    }
    name = tc__names_root(&g->places->names, name);
    struct tc__token *tokens = g->where.tokens[class];
    /* Ranks of one pod or node follow one another, so the last few are enough to look at; a name
     * that is there twice does no harm. */
    for (size_t i = count > 64 ? count - 64 : 0; i < count; i++) {
        if (tokens[i].name == name) {
            return;
        }
    }
    tokens[count] = (struct tc__token){name, fact, rank};
    g->where.count[class]++;
}

static bool told_in_time(const struct gather *g, const struct tc__fact *f)
{
    return f->first_ns == TC_TIME_NONE || g->last_ns == TC_TIME_NONE ||
           f->first_ns <= g->last_ns + TOLD_LATER_NS;
}

/* Who used a GPU last, and on which node it is. */
static void add_users(struct gather *g, uint32_t gpu, int32_t rank)
{
    const struct tc__places *p = g->places;
    struct tc_map_iter it = tc_map_find(&p->by_thing, thing_hash(gpu));
    uint32_t latest = TC__NONE;
    unsigned seen = 0;
    for (uint64_t v; seen < THING_FACTS_MAX && (v = tc_map_next(&p->by_thing, &it)) != 0; seen++) {
        const struct tc__fact *f = &p->facts[v - 1];
        if (f->gpu != gpu) {
            continue;
        }
        add(g, TC__CLASS_NODE, f->node, (uint32_t)v - 1, rank);
        if (f->pod != TC__NONE && told_in_time(g, f) &&
            (latest == TC__NONE || f->first_ns > p->facts[latest].first_ns)) {
            latest = (uint32_t)v - 1;
        }
    }
    if (latest != TC__NONE) {
        add(g, TC__CLASS_POD, p->facts[latest].pod, latest, rank);
    }
}

/* The node of a pod, and the GPUs it uses. */
static void add_pod_places(struct gather *g, uint32_t pod, bool gpus, int32_t rank)
{
    const struct tc__places *p = g->places;
    struct tc_map_iter it = tc_map_find(&p->by_thing, thing_hash(pod));
    unsigned seen = 0;
    for (uint64_t v; seen < THING_FACTS_MAX && (v = tc_map_next(&p->by_thing, &it)) != 0; seen++) {
        const struct tc__fact *f = &p->facts[v - 1];
        if (f->pod == pod && told_in_time(g, f)) {
            add(g, TC__CLASS_NODE, f->node, (uint32_t)v - 1, rank);
            add(g, TC__CLASS_GPU, gpus ? f->gpu : TC__NONE, (uint32_t)v - 1, rank);
        }
    }
}

static bool is_job(const struct tc__places *p, struct tc_slice fact, struct tc_slice verdict)
{
    return fact.len == 0 || verdict.len == 0 || tc_slice_eq(fact, verdict) || p->one_job;
}

/*
 * Where a rank is. Statements may complete one another (one names the GPU, another the pod) but
 * not contradict: the node is that of a statement without a time, else of the latest.
 */
static void add_rank(struct gather *g, struct tc_slice job, int32_t rank)
{
    struct tc__places *p = g->places;
    uint32_t found[RANK_FACTS_MAX];
    size_t count = 0;
    const struct tc__fact *best = NULL;
    struct tc_map_iter it = tc_map_find(&p->by_rank, rank_hash(rank));
    for (uint64_t v; count < RANK_FACTS_MAX && (v = tc_map_next(&p->by_rank, &it)) != 0;) {
        const struct tc__fact *f = &p->facts[v - 1];
        if (f->scope.rank != rank || !is_job(p, f->scope.job, job) || !told_in_time(g, f)) {
            continue;
        }
        found[count++] = (uint32_t)v - 1;
        bool beats =
            best == NULL || (best->first_ns != TC_TIME_NONE &&
                             (f->first_ns == TC_TIME_NONE || f->first_ns > best->first_ns));
        best = f->node != TC__NONE && beats ? f : best;
    }
    add(g, TC__CLASS_RANK, tc__names_add(&p->names, TC__NAME_RANK, job, TC_EMPTY, (uint64_t)rank),
        TC__NONE, rank);
    for (size_t i = 0; i < count; i++) {
        const struct tc__fact *f = &p->facts[found[i]];
        if (best != NULL && f->node != TC__NONE && f->node != best->node) {
            continue;
        }
        add(g, TC__CLASS_NODE, f->node, found[i], rank);
        add(g, TC__CLASS_GPU, f->gpu, found[i], rank);
        add(g, TC__CLASS_POD, f->pod, found[i], rank);
        if (f->pod != TC__NONE && f->node == TC__NONE) {
            add_pod_places(g, f->pod, false, rank);
        }
        if (f->gpu != TC__NONE && f->pod == TC__NONE) {
            add_users(g, f->gpu, rank);
        }
    }
}

static const struct tc_attr *attr_of(const struct tc_finding *f, enum tc_attr_type type,
                                     struct tc_slice suffix)
{
    for (size_t i = 0; i < f->attr_count; i++) {
        if (f->attrs[i].type == type && tc_slice_ends(f->attrs[i].key, suffix)) {
            return &f->attrs[i];
        }
    }
    return NULL;
}

static void add_ranks(struct gather *g, const struct tc_finding *f, const struct tc_attr *a)
{
    for (size_t i = 0; a != NULL && i < a->count && i < TC__WHERE_MAX; i++) {
        add_rank(g, f->scope.job, a->ints[i]);
    }
}

static void gather_ranks(struct gather *g, const struct tc_finding *f, bool as_cause)
{
    const struct tc_attr *culprits = attr_of(f, TC_ATTR_INTS, TC_LIT(".culprit_ranks"));
    const struct tc_attr *waiting = attr_of(f, TC_ATTR_INTS, TC_LIT(".waiting_ranks"));
    if (f->scope.rank >= 0) {
        add_rank(g, f->scope.job, f->scope.rank);
    }
    add_ranks(g, f, culprits);
    if (as_cause || culprits == NULL || culprits->count == 0) {
        add_ranks(g, f, waiting);
    }
    add_ranks(g, f, attr_of(f, TC_ATTR_INTS, TC_LIT(".ranks")));
}

/* A verdict about many lists them: heat of a node its GPUs, heat of a rack its nodes as well. */
static void gather_lists(struct gather *g, const struct tc_finding *f)
{
    struct tc__names *n = &g->places->names;
    const struct tc_attr *gpus = attr_of(f, TC_ATTR_STRINGS, TC_LIT(".gpus"));
    const struct tc_attr *nodes = attr_of(f, TC_ATTR_STRINGS, TC_LIT(".nodes"));
    const struct tc_attr *total = attr_of(f, TC_ATTR_INT, TC_LIT(".gpu_count"));
    for (size_t i = 0; gpus != NULL && i < gpus->count; i++) {
        uint32_t gpu = tc__names_find(n, TC__NAME_GPU_UUID, TC_EMPTY, gpus->strings[i], 0);
        add(g, TC__CLASS_GPU, gpu, TC__NONE, -1);
        /* One that nobody else names cannot be told from others by it. */
        g->where.more[TC__CLASS_GPU] = g->where.more[TC__CLASS_GPU] || gpu == TC__NONE;
    }
    if (gpus != NULL && total != NULL && total->integer > (int64_t)gpus->count) {
        g->where.more[TC__CLASS_GPU] = true;
    }
    for (size_t i = 0; nodes != NULL && i < nodes->count; i++) {
        struct tc_scope at = TC_SCOPE_NONE;
        at.node = nodes->strings[i];
        at = tc__places_resolve(g->places, &at);
        add(g, TC__CLASS_NODE, tc__names_find(n, TC__NAME_NODE, at.node, TC_EMPTY, 0), TC__NONE,
            -1);
    }
}

/* The address of a switch is no GPU's: a switch that fails concerns every GPU of its node. */
static bool is_switch(const struct tc_finding *f)
{
    const struct tc_attr *type = attr_of(f, TC_ATTR_STRING, TC_LIT(".device_type"));
    return type != NULL && tc_slice_eq(type->string, TC_LIT("nvswitch"));
}

static void gather_scope(struct gather *g, const struct tc_finding *f, bool as_cause)
{
    struct tc__names *n = &g->places->names;
    struct scope_names m = name_scope(g->places, &f->scope);
    uint32_t gpu = is_switch(f) ? TC__NONE : first_of(m.uuid, m.pci, m.index);
    uint32_t pod = first_of(m.uid, m.pod, m.bare);
    add(g, TC__CLASS_NODE, m.node, TC__NONE, -1);
    add(g, TC__CLASS_GPU, gpu, TC__NONE, -1);
    add(g, TC__CLASS_POD, pod, TC__NONE, -1);
    if (gpu != TC__NONE) {
        add_users(g, tc__names_root(n, gpu), -1);
    } else if (pod != TC__NONE) {
        /* A rank of the pod uses one of its GPUs: which one, only a statement about it can say. */
        add_pod_places(g, tc__names_root(n, pod), !as_cause && f->scope.rank < 0, -1);
    }
}

bool tc__places_where(struct tc__places *p, const struct tc_kept_verdict *v, bool as_cause,
                      struct tc_arena *arena, struct tc__where *out)
{
    struct gather g = {.places = p, .last_ns = v->finding.last_ns};
    for (size_t c = 0; c < TC__CLASS_COUNT; c++) {
        g.where.tokens[c] = p->room[c];
    }
    gather_scope(&g, &v->finding, as_cause);
    gather_lists(&g, &v->finding);
    gather_ranks(&g, &v->finding, as_cause);
    *out = g.where;
    for (size_t c = 0; c < TC__CLASS_COUNT; c++) {
        out->tokens[c] = tc_new(arena, struct tc__token, g.where.count[c]);
        if (out->tokens[c] != NULL && g.where.count[c] > 0) {
            memcpy(out->tokens[c], p->room[c], g.where.count[c] * sizeof p->room[c][0]);
        }
    }
    return tc_arena_ok(arena);
}
