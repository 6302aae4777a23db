/* SPDX-License-Identifier: Apache-2.0 */
/* Where a verdict is. */
#include "base/time.h"
#include "event/xid.h"
#include "story/story_priv.h"

#include <string.h>

/* Statements about one rank that are weighed against each other. */
#define RANK_STATEMENTS_MAX 32
/* Statements about one GPU or pod that are looked at. */
#define THING_STATEMENTS_MAX 256
/* What is said of a place this long after a verdict may still be meant by it: exporters and
 * monitors tell where a rank is when they are asked. */
#define TOLD_LATER_NS (600 * TC_SECOND)

/* Collects tokens of each class, each name once. */
struct gather {
    struct tc__lookup *lookup;
    struct tc__where where;
    int64_t last_ns; /* of the verdict */
};

static void add(struct gather *g, enum tc__class class, uint32_t name, uint32_t statement,
                int32_t rank)
{
    size_t count = g->where.count[class];
    if (name == TC_NAME_NONE || count == TC__WHERE_MAX) {
        return;
    }
    name = tc_names_root(&g->lookup->view.names, name);
    struct tc__token *tokens = g->where.tokens[class];
    /* Ranks of one pod or node follow one another, so the last few are enough to look at; a name
     * that is there twice does no harm. */
    for (size_t i = count > 64 ? count - 64 : 0; i < count; i++) {
        if (tokens[i].name == name) {
            return;
        }
    }
    tokens[count] = (struct tc__token){name, statement, rank};
    g->where.count[class]++;
}

static bool told_in_time(const struct gather *g, const struct tc_statement *f)
{
    return f->first_ns == TC_TIME_NONE || g->last_ns == TC_TIME_NONE ||
           f->first_ns <= g->last_ns + TOLD_LATER_NS;
}

/* Who used a GPU last, and on which node it is. */
static void add_users(struct gather *g, uint32_t gpu, int32_t rank)
{
    const struct tc_view *view = &g->lookup->view;
    struct tc_map_iter it = tc_view_of_thing(view, gpu);
    uint32_t latest = TC_NAME_NONE;
    unsigned seen = 0;
    for (uint64_t v; seen < THING_STATEMENTS_MAX && (v = tc_map_next(&view->by_thing, &it)) != 0;
         seen++) {
        const struct tc_statement *f = &view->statements[v - 1];
        if (f->gpu != gpu) {
            continue;
        }
        add(g, TC__CLASS_NODE, f->node, (uint32_t)v - 1, rank);
        if (f->pod != TC_NAME_NONE && told_in_time(g, f) &&
            (latest == TC_NAME_NONE || f->first_ns > view->statements[latest].first_ns)) {
            latest = (uint32_t)v - 1;
        }
    }
    if (latest != TC_NAME_NONE) {
        add(g, TC__CLASS_POD, view->statements[latest].pod, latest, rank);
    }
}

/* The node of a pod, and the GPUs it uses. */
static void add_pod_places(struct gather *g, uint32_t pod, bool gpus, int32_t rank)
{
    const struct tc_view *view = &g->lookup->view;
    struct tc_map_iter it = tc_view_of_thing(view, pod);
    unsigned seen = 0;
    for (uint64_t v; seen < THING_STATEMENTS_MAX && (v = tc_map_next(&view->by_thing, &it)) != 0;
         seen++) {
        const struct tc_statement *f = &view->statements[v - 1];
        if (f->pod == pod && told_in_time(g, f)) {
            add(g, TC__CLASS_NODE, f->node, (uint32_t)v - 1, rank);
            add(g, TC__CLASS_GPU, gpus ? f->gpu : TC_NAME_NONE, (uint32_t)v - 1, rank);
        }
    }
}

static bool is_job(const struct tc_view *view, struct tc_slice fact, struct tc_slice verdict)
{
    return fact.len == 0 || verdict.len == 0 || tc_slice_eq(fact, verdict) || view->one_job;
}

/* Whether a statement is about something elsewhere than the verdict says of itself. */
static bool is_elsewhere(struct tc_names *n, const struct tc_view_names *own,
                         const struct tc_statement *f)
{
    return (own->node != TC_NAME_NONE && f->node != TC_NAME_NONE &&
            tc_names_root(n, own->node) != tc_names_root(n, f->node)) ||
           (own->pod != TC_NAME_NONE && f->pod != TC_NAME_NONE &&
            tc_names_root(n, own->pod) != tc_names_root(n, f->pod));
}

/*
 * Where a rank is. Statements may complete one another (one names the GPU, another the pod) but
 * not contradict: the node is that of a statement without a time, else of the latest. `own` is what
 * the verdict says of itself: every job has a rank 0, and this one is where it says.
 */
static void add_rank(struct gather *g, struct tc_slice job, int32_t rank,
                     const struct tc_view_names *own)
{
    struct tc_view *view = &g->lookup->view;
    uint32_t found[RANK_STATEMENTS_MAX];
    size_t count = 0;
    const struct tc_statement *best = NULL;
    struct tc_view_ranks walk = tc_view_ranks(view, job, rank);
    const struct tc_statement *f = NULL;
    while (count < RANK_STATEMENTS_MAX && (f = tc_view_ranks_next(view, &walk)) != NULL) {
        if (f->scope.rank != rank || !is_job(view, f->scope.job, job) || !told_in_time(g, f) ||
            is_elsewhere(&view->names, own, f)) {
            continue;
        }
        found[count++] = (uint32_t)(f - view->statements);
        bool beats =
            best == NULL || (best->first_ns != TC_TIME_NONE &&
                             (f->first_ns == TC_TIME_NONE || f->first_ns > best->first_ns));
        best = f->node != TC_NAME_NONE && beats ? f : best;
    }
    add(g, TC__CLASS_RANK, tc_names_add(&view->names, TC_NAME_RANK, job, TC_EMPTY, (uint64_t)rank),
        TC_NAME_NONE, rank);
    for (size_t i = 0; i < count; i++) {
        f = &view->statements[found[i]];
        if (best != NULL && f->node != TC_NAME_NONE && f->node != best->node) {
            continue;
        }
        add(g, TC__CLASS_NODE, f->node, found[i], rank);
        add(g, TC__CLASS_GPU, f->gpu, found[i], rank);
        add(g, TC__CLASS_POD, f->pod, found[i], rank);
        if (f->pod != TC_NAME_NONE && f->node == TC_NAME_NONE) {
            add_pod_places(g, f->pod, false, rank);
        }
        if (f->gpu != TC_NAME_NONE && f->pod == TC_NAME_NONE) {
            add_users(g, f->gpu, rank);
        }
    }
}

static void add_ranks(struct gather *g, const struct tc_finding *f, const struct tc_attr *a)
{
    const struct tc_view_names anywhere = {TC_NAME_NONE, TC_NAME_NONE, TC_NAME_NONE};
    for (size_t i = 0; a != NULL && i < a->count && i < TC__WHERE_MAX; i++) {
        add_rank(g, f->scope.job, a->ints[i], &anywhere);
    }
}

static void gather_ranks(struct gather *g, const struct tc_finding *f, bool as_cause)
{
    const struct tc_attr *culprits = tc_finding_attr(f, TC_ATTR_INTS, TC_LIT(".culprit_ranks"));
    const struct tc_attr *waiting = tc_finding_attr(f, TC_ATTR_INTS, TC_LIT(".waiting_ranks"));
    if (f->scope.rank >= 0) {
        struct tc_view_names own = tc_view_name(&g->lookup->view, &f->scope);
        add_rank(g, f->scope.job, f->scope.rank, &own);
    }
    add_ranks(g, f, culprits);
    if (as_cause || culprits == NULL || culprits->count == 0) {
        add_ranks(g, f, waiting);
    }
    add_ranks(g, f, tc_finding_attr(f, TC_ATTR_INTS, TC_LIT(".ranks")));
}

/* A verdict about many lists them: heat of a node its GPUs, heat of a rack its nodes as well. */
static void gather_lists(struct gather *g, const struct tc_finding *f)
{
    struct tc_names *n = &g->lookup->view.names;
    const struct tc_attr *gpus = tc_finding_attr(f, TC_ATTR_STRINGS, TC_LIT(".gpus"));
    const struct tc_attr *nodes = tc_finding_attr(f, TC_ATTR_STRINGS, TC_LIT(".nodes"));
    const struct tc_attr *total = tc_finding_attr(f, TC_ATTR_INT, TC_LIT(".gpu_count"));
    for (size_t i = 0; gpus != NULL && i < gpus->count; i++) {
        uint32_t gpu = tc_names_find(n, TC_NAME_GPU_UUID, TC_EMPTY, gpus->strings[i], 0);
        add(g, TC__CLASS_GPU, gpu, TC_NAME_NONE, -1);
        /* One that nobody else names cannot be told from others by it. */
        g->where.more[TC__CLASS_GPU] = g->where.more[TC__CLASS_GPU] || gpu == TC_NAME_NONE;
    }
    if (gpus != NULL && total != NULL && total->integer > (int64_t)gpus->count) {
        g->where.more[TC__CLASS_GPU] = true;
    }
    for (size_t i = 0; nodes != NULL && i < nodes->count; i++) {
        struct tc_scope at = TC_SCOPE_NONE;
        at.node = nodes->strings[i];
        at = tc_view_resolve(&g->lookup->view, &at);
        add(g, TC__CLASS_NODE, tc_names_find(n, TC_NAME_NODE, at.node, TC_EMPTY, 0), TC_NAME_NONE,
            -1);
    }
}

/* The address of a switch is no GPU's: a switch that fails concerns every GPU of its node. */
static bool is_switch(const struct tc_finding *f)
{
    const struct tc_attr *type = tc_finding_attr(f, TC_ATTR_STRING, TC_LIT(".device_type"));
    return type != NULL && tc_slice_eq(type->string, TC_LIT("nvswitch"));
}

bool tc__is_of_switch(const struct tc_finding *cause, const struct tc_finding *effect)
{
    const struct tc_attr *code = tc_finding_attr(effect, TC_ATTR_INT, TC_LIT(".xid"));
    return is_switch(cause) && code != NULL && tc_xid_is_nvlink(code->integer);
}

static void gather_scope(struct gather *g, const struct tc_finding *f, bool as_cause)
{
    struct tc_names *n = &g->lookup->view.names;
    struct tc_view_names m = tc_view_name(&g->lookup->view, &f->scope);
    uint32_t gpu = is_switch(f) ? TC_NAME_NONE : m.gpu;
    add(g, TC__CLASS_NODE, m.node, TC_NAME_NONE, -1);
    add(g, TC__CLASS_GPU, gpu, TC_NAME_NONE, -1);
    add(g, TC__CLASS_POD, m.pod, TC_NAME_NONE, -1);
    if (gpu != TC_NAME_NONE) {
        add_users(g, tc_names_root(n, gpu), -1);
    } else if (m.pod != TC_NAME_NONE) {
        /* A rank of the pod uses one of its GPUs: which one, only a statement about it can say. */
        add_pod_places(g, tc_names_root(n, m.pod), !as_cause && f->scope.rank < 0, -1);
    }
}

static uint32_t rank_names(const struct tc_incident_table *kept)
{
    uint32_t count = 0;
    for (size_t i = 0; i < kept->count; i++) {
        for (size_t a = 0; a < kept->items[i].finding.attr_count; a++) {
            const struct tc_attr *attr = &kept->items[i].finding.attrs[a];
            size_t ranks = attr->type == TC_ATTR_INTS ? attr->count : 0;
            count += (uint32_t)(ranks < TC__WHERE_MAX ? ranks : TC__WHERE_MAX);
        }
    }
    return count;
}

bool tc__lookup_begin(struct tc__lookup *l, const struct tc_directory *directory,
                      const struct tc_incident_table *kept, struct tc_arena *arena)
{
    const struct tc_scope **scopes = tc_new(arena, const struct tc_scope *, kept->count + 1);
    for (size_t i = 0; i < kept->count && scopes != NULL; i++) {
        scopes[i] = &kept->items[i].finding.scope;
    }
    for (size_t c = 0; c < TC__CLASS_COUNT; c++) {
        l->room[c] = tc_new(arena, struct tc__token, TC__WHERE_MAX);
    }
    return tc_arena_ok(arena) &&
           tc_view_begin(&l->view, directory, scopes, kept->count, rank_names(kept), arena);
}

bool tc__where_of(struct tc__lookup *l, const struct tc_incident_entry *v, bool as_cause,
                  struct tc_arena *arena, struct tc__where *out)
{
    struct gather g = {.lookup = l, .last_ns = v->finding.last_ns};
    for (size_t c = 0; c < TC__CLASS_COUNT; c++) {
        g.where.tokens[c] = l->room[c];
    }
    /* A hang knows its culprits by rank: what says where those run comes before its scope, which
     * says the same without a reason. */
    bool by_rank = tc_finding_attr(&v->finding, TC_ATTR_INTS, TC_LIT(".culprit_ranks")) != NULL;
    if (by_rank) {
        gather_ranks(&g, &v->finding, as_cause);
    }
    gather_scope(&g, &v->finding, as_cause);
    gather_lists(&g, &v->finding);
    if (!by_rank) {
        gather_ranks(&g, &v->finding, as_cause);
    }
    *out = g.where;
    for (size_t c = 0; c < TC__CLASS_COUNT; c++) {
        out->tokens[c] = tc_new(arena, struct tc__token, g.where.count[c]);
        if (out->tokens[c] != NULL && g.where.count[c] > 0) {
            memcpy(out->tokens[c], l->room[c], g.where.count[c] * sizeof l->room[c][0]);
        }
    }
    return tc_arena_ok(arena);
}
