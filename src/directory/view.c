/* SPDX-License-Identifier: Apache-2.0 */
#include "directory/view.h"

#include "base/table/sort.h"
#include "directory/directory_priv.h"

/* Names that one scope can bring: node, three of a GPU, three of a pod, and a rank. */
#define SCOPE_NAMES 8
/* Names of verdicts that come later: scopes and ranks. */
#define NAMES_MORE 65536
#define TEXT_BYTES ((size_t)4 << 20)
/* Statements, or scopes, that are dealt with at one go. */
#define MADE_AT_ONCE ((size_t)256)

struct scope_names {
    uint32_t node;
    uint32_t uuid;
    uint32_t pci;
    uint32_t index;
    uint32_t uid;
    uint32_t pod;
    uint32_t bare;
};

static const struct scope_names NO_NAMES = {TC_NAME_NONE, TC_NAME_NONE, TC_NAME_NONE, TC_NAME_NONE,
                                            TC_NAME_NONE, TC_NAME_NONE, TC_NAME_NONE};

static struct scope_names name_scope(struct tc_view *v, const struct tc_scope *scope)
{
    struct tc_names *n = &v->names;
    struct tc_scope resolved = tc_view_resolve(v, scope);
    const struct tc_scope *s = &resolved;
    struct scope_names out = NO_NAMES;
    if (s->node.len > 0) {
        out.node = tc_names_add(n, TC_NAME_NODE, s->node, TC_EMPTY, 0);
        if (s->pci.known) {
            out.pci = tc_names_add(n, TC_NAME_GPU_PCI, s->node, TC_EMPTY, tc__pci_number(s->pci));
        }
        if (s->gpu_index >= 0) {
            out.index =
                tc_names_add(n, TC_NAME_GPU_INDEX, s->node, TC_EMPTY, (uint64_t)s->gpu_index);
        }
    }
    if (s->gpu_uuid.len > 0) {
        out.uuid = tc_names_add(n, TC_NAME_GPU_UUID, TC_EMPTY, s->gpu_uuid, 0);
    }
    if (s->pod_uid.len > 0) {
        out.uid = tc_names_add(n, TC_NAME_POD_UID, TC_EMPTY, s->pod_uid, 0);
    }
    if (s->pod.len > 0 && s->ns.len > 0) {
        out.pod = tc_names_add(n, TC_NAME_POD, s->ns, s->pod, 0);
    }
    if (s->pod.len > 0) {
        out.bare = tc_names_add(n, TC_NAME_POD_BARE, TC_EMPTY, s->pod, 0);
    }
    return out;
}

static uint32_t first_of(uint32_t a, uint32_t b, uint32_t c)
{
    return a != TC_NAME_NONE ? a : (b != TC_NAME_NONE ? b : c);
}

static void own(struct tc_view *v, const struct tc_scope *s)
{
    struct tc_names *n = &v->names;
    struct scope_names m = name_scope(v, s);
    tc_names_own(n, m.uuid, m.pci);
    tc_names_own(n, m.uuid, m.index);
    tc_names_own(n, m.uid, m.pod);
    tc_names_own(n, m.pod, m.bare);
}

static void join(struct tc_view *v, const struct tc_scope *s)
{
    struct tc_names *n = &v->names;
    struct scope_names m = name_scope(v, s);
    tc_names_join(n, m.uuid, m.pci);
    tc_names_join(n, m.uuid, m.index);
    tc_names_join(n, m.pci, m.index);
    tc_names_join(n, m.uid, m.pod);
    tc_names_join(n, m.pod, m.bare);
}

static uint64_t rank_hash(int32_t rank)
{
    return tc_hash_mix(1, (uint64_t)rank);
}

static uint64_t job_rank_hash(struct tc_slice job, int32_t rank)
{
    return tc_hash_mix(tc_slice_hash(job, 3), (uint64_t)rank);
}

static uint64_t thing_hash(uint32_t root)
{
    return tc_hash_mix(2, root);
}

struct tc_view_ranks tc_view_ranks(const struct tc_view *v, struct tc_slice job, int32_t rank)
{
    bool any_job = job.len == 0 || v->one_job;
    struct tc_view_ranks w = {.next = {0}};
    w.iters[0] = tc_map_find(&v->by_rank, any_job ? rank_hash(rank) : job_rank_hash(job, rank));
    w.next[0] = tc_map_next(&v->by_rank, &w.iters[0]);
    if (!any_job) {
        w.iters[1] = tc_map_find(&v->by_rank, job_rank_hash(TC_EMPTY, rank));
        w.next[1] = tc_map_next(&v->by_rank, &w.iters[1]);
    }
    return w;
}

const struct tc_statement *tc_view_ranks_next(const struct tc_view *v, struct tc_view_ranks *w)
{
    unsigned first = w->next[0] == 0 || (w->next[1] != 0 && w->next[1] < w->next[0]);
    uint64_t at = w->next[first];
    if (at == 0) {
        return NULL;
    }
    w->next[first] = tc_map_next(&v->by_rank, &w->iters[first]);
    return &v->statements[at - 1];
}

struct tc_map_iter tc_view_of_thing(const struct tc_view *v, uint32_t root)
{
    return tc_map_find(&v->by_thing, thing_hash(root));
}

struct tc_view_names tc_view_name(struct tc_view *v, const struct tc_scope *scope)
{
    struct scope_names m = name_scope(v, scope);
    return (struct tc_view_names){m.node, first_of(m.uuid, m.pci, m.index),
                                  first_of(m.uid, m.pod, m.bare)};
}

/* The name of a file or directory is a word that may be a node, a pod, or nothing of the kind. */
static bool is_word(const struct tc_statement *f)
{
    return tc_slice_eq(f->origin, TC_LIT("name"));
}

static void place_word(struct tc_view *v, struct tc_statement *f)
{
    struct tc_slice word = tc_view_resolve(v, &f->scope).node;
    f->node = tc_names_find(&v->names, TC_NAME_NODE, word, TC_EMPTY, 0);
    f->gpu = TC_NAME_NONE;
    f->pod = f->node != TC_NAME_NONE
                 ? TC_NAME_NONE
                 : tc_names_root(&v->names,
                                 tc_names_find(&v->names, TC_NAME_POD_BARE, TC_EMPTY, word, 0));
}

static void place_statement(struct tc_view *v, struct tc_statement *f)
{
    struct tc_view_names m = tc_view_name(v, &f->scope);
    f->node = m.node;
    f->gpu = tc_names_root(&v->names, m.gpu);
    f->pod = tc_names_root(&v->names, m.pod);
}

static void index_statement(struct tc_view *v, struct tc_statement *f, uint32_t at)
{
    if (is_word(f)) {
        place_word(v, f);
    } else {
        place_statement(v, f);
    }
    /* The maps have room for all. */
    if (f->gpu != TC_NAME_NONE) {
        (void)tc_map_add(&v->by_thing, thing_hash(f->gpu), (uint64_t)at + 1, 1);
    }
    if (f->pod != TC_NAME_NONE) {
        (void)tc_map_add(&v->by_thing, thing_hash(f->pod), (uint64_t)at + 1, 1);
    }
    if (f->scope.rank < 0) {
        return;
    }
    (void)tc_map_add(&v->by_rank, rank_hash(f->scope.rank), (uint64_t)at + 1, 1);
    (void)tc_map_add(&v->by_rank, job_rank_hash(f->scope.job, f->scope.rank), (uint64_t)at + 1, 1);
    if (f->scope.job.len > 0) {
        v->one_job = v->only_job.len == 0 || (v->one_job && tc_slice_eq(v->only_job, f->scope.job));
        v->only_job = f->scope.job;
    }
}

static int cmp_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int cmp_pci(struct tc_bdf a, struct tc_bdf b)
{
    int order = (a.known > b.known) - (a.known < b.known);
    return order == 0 ? cmp_i64((int64_t)tc__pci_number(a), (int64_t)tc__pci_number(b)) : order;
}

/* By time, then by what is said: no two say the same. */
static int by_time(const void *a, const void *b, void *context)
{
    const struct tc_statement *x = a;
    const struct tc_statement *y = b;
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
    order = order == 0 ? cmp_pci(s->pci, t->pci) : order;
    order = order == 0 ? cmp_i64(s->rank, t->rank) : order;
    order = order == 0 ? cmp_i64(s->gpu_index, t->gpu_index) : order;
    return order == 0 ? tc_slice_cmp(x->address, y->address) : order;
}

/* The statements, to be sorted: their order does not follow the one in which they came. */
static bool begin_sort(struct tc_view *v, const struct tc__table *t, struct tc_arena *arena)
{
    /* Each is written before it is read. */
    v->statements = tc_arena_alloc_raw(arena, (t->count + 1) * sizeof *v->statements,
                                       alignof(struct tc_statement));
    v->sorting = (struct tc_sorting){.items = tc_new(arena, const void *, t->count + 1),
                                     .scratch = tc_new(arena, const void *, t->count + 1),
                                     .count = t->count,
                                     .cmp = by_time};
    if (!tc_arena_ok(arena)) {
        return false;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        v->sorting.items[i] = tc__table_at(t, i);
    }
    return true;
}

bool tc_view_begin(struct tc_view *v, const struct tc_directory *d,
                   const struct tc_scope *const *scopes, size_t scope_count, uint32_t name_count,
                   struct tc_arena *arena)
{
    uint32_t count = d->statements.table.count;
    uint32_t names = (count + (uint32_t)scope_count + 1) * SCOPE_NAMES + name_count + NAMES_MORE;
    *v = (struct tc_view){.statement_count = count,
                          .moves = d->statements.moves,
                          .scopes = scopes,
                          .scope_count = scope_count};
    if (!begin_sort(v, &d->statements.table, arena) || !tc_names_init(&v->names, arena, names) ||
        !tc_map_init(&v->by_address, arena, count + 1) ||
        !tc_map_init(&v->by_rank, arena, (size_t)count * 2 + 1) ||
        !tc_map_init(&v->by_thing, arena, (size_t)count * 2 + 1)) {
        return false;
    }
    unsigned char *text = tc_arena_alloc_raw(arena, TEXT_BYTES, 1);
    if (text == NULL) {
        return false;
    }
    tc_arena_init(&v->text, "names", text, TEXT_BYTES);
    return true;
}

/* The scopes of all statements, then of the verdicts. Text of those that may go is copied. */
static void name_at(struct tc_view *v, size_t at,
                    void (*name)(struct tc_view *v, const struct tc_scope *s))
{
    bool is_statement = at < v->statement_count;
    if (is_statement && is_word(&v->statements[at])) {
        return;
    }
    v->names.text = is_statement ? NULL : &v->text;
    name(v, is_statement ? &v->statements[at].scope : v->scopes[at - v->statement_count]);
    v->names.text = NULL;
}

static void make_at(struct tc_view *v, size_t at)
{
    switch (v->stage) {
    case TC_VIEW_SORT:
    case TC_VIEW_MADE:
        return;
    case TC_VIEW_COPY:
        v->statements[at] = *(const struct tc_statement *)v->sorting.items[at];
        return;
    case TC_VIEW_ADDRESS:
        tc__view_note_address(v, (uint32_t)at);
        return;
    case TC_VIEW_OWN:
        name_at(v, at, own);
        return;
    case TC_VIEW_JOIN:
        name_at(v, at, join);
        return;
    case TC_VIEW_INDEX:
        index_statement(v, &v->statements[at], (uint32_t)at);
        return;
    }
}

/* Whether a stage is over after the next piece of it. */
static bool make_some(struct tc_view *v)
{
    bool scopes = v->stage == TC_VIEW_OWN || v->stage == TC_VIEW_JOIN;
    size_t count = v->statement_count + (scopes ? v->scope_count : 0);
    if (v->stage == TC_VIEW_SORT) {
        return tc_sort_some(&v->sorting);
    }
    size_t end = count - v->at < MADE_AT_ONCE ? count : v->at + MADE_AT_ONCE;
    for (; v->at < end; v->at++) {
        make_at(v, v->at);
    }
    return end == count;
}

tc_status tc_view_make(struct tc_view *v, const struct tc_turn *turn)
{
    while (v->stage != TC_VIEW_MADE) {
        if (make_some(v)) {
            v->stage++;
            v->at = 0;
        }
        if (tc_turn_is_spent(turn)) {
            return TC_E_AGAIN;
        }
    }
    v->names.text = &v->text;
    return TC_OK;
}

bool tc_view_is_usable(const struct tc_view *v, const struct tc_directory *d)
{
    return v->stage == TC_VIEW_MADE && v->names.count < v->names.max && tc_arena_ok(&v->text) &&
           v->moves == d->statements.moves;
}
