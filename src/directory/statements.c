/* SPDX-License-Identifier: Apache-2.0 */
#include "directory/directory_priv.h"

static const size_t TEXTS[] = {
    offsetof(struct tc_statement, scope.node), offsetof(struct tc_statement, scope.ns),
    offsetof(struct tc_statement, scope.pod),  offsetof(struct tc_statement, scope.pod_uid),
    offsetof(struct tc_statement, scope.job),  offsetof(struct tc_statement, scope.gpu_uuid),
    offsetof(struct tc_statement, origin),     offsetof(struct tc_statement, address),
};

/* All that is said, without what changes from event to event. */
static uint64_t hash_names(const void *entry, uint32_t name)
{
    const struct tc_statement *f = entry;
    const struct tc_scope *s = &f->scope;
    uint64_t h = tc_slice_hash(s->node, tc_slice_hash(f->address, name));
    h = tc_slice_hash(s->ns, h);
    h = tc_slice_hash(s->pod, h);
    h = tc_slice_hash(s->pod_uid, h);
    h = tc_slice_hash(s->job, h);
    h = tc_slice_hash(s->gpu_uuid, h);
    h = tc_hash_mix(h, (uint64_t)s->pci.known << 40 | tc__pci_number(s->pci));
    return tc_hash_mix(h, (uint64_t)(uint32_t)s->rank << 32 | (uint32_t)s->gpu_index) | 1;
}

static bool same_scope(const struct tc_scope *x, const struct tc_scope *y)
{
    return x->rank == y->rank && x->gpu_index == y->gpu_index && tc_bdf_eq(x->pci, y->pci) &&
           tc_slice_eq(x->node, y->node) && tc_slice_eq(x->ns, y->ns) &&
           tc_slice_eq(x->pod, y->pod) && tc_slice_eq(x->pod_uid, y->pod_uid) &&
           tc_slice_eq(x->job, y->job) && tc_slice_eq(x->gpu_uuid, y->gpu_uuid);
}

static bool same_names(const void *a, const void *b, uint32_t name)
{
    const struct tc_statement *x = a;
    const struct tc_statement *y = b;
    (void)name;
    return same_scope(&x->scope, &y->scope) && tc_slice_eq(x->address, y->address);
}

const struct tc__table_kind tc__statement_kind = {
    .size = sizeof(struct tc_statement),
    .texts = TEXTS,
    .text_count = TC_COUNT(TEXTS),
    .name_count = 1,
    .hash = hash_names,
    .same = same_names,
};
_Static_assert(sizeof(struct tc_statement) <= TC__ENTRY_BYTES_MAX, "a statement fits");

/* A statement ties at least two things together: a rank, a GPU, a pod, a node. The address of
 * something is one too. */
static bool says_something(const struct tc_scope *s, struct tc_slice address)
{
    bool gpu = s->gpu_uuid.len > 0 || s->pci.known || s->gpu_index >= 0;
    bool pod = s->pod.len > 0 || s->pod_uid.len > 0;
    return address.len > 0 || (s->node.len > 0) + gpu + pod + (s->rank >= 0) >= 2;
}

static bool fits(struct tc_statement *f)
{
    bool ok = true;
    for (size_t i = 0; i < TC_COUNT(TEXTS); i++) {
        ok = ok && tc__text_at(f, TEXTS[i])->len <= TC_SCOPE_TEXT_MAX;
    }
    return ok;
}

void tc__statements_moved(struct tc__statements *s)
{
    memset(s->late, 0, sizeof s->late);
    s->moves++;
}

/* The last bytes of a name: where names of one kind differ. */
static uint64_t end_of(struct tc_slice name)
{
    uint64_t bytes = 0;
    size_t len = name.len < sizeof bytes ? name.len : sizeof bytes;
    memcpy(&bytes, len == 0 ? "" : name.ptr + name.len - len, len);
    return bytes;
}

static struct tc_statement **late_place(struct tc__statements *s, const struct tc_scope *scope)
{
    uint64_t h = end_of(scope->gpu_uuid) ^ (uint64_t)(uint32_t)scope->rank << 32;
    h = tc_hash_mix(h, end_of(scope->node) + (uint64_t)(uint32_t)scope->gpu_index);
    h = tc_hash_mix(h, end_of(scope->pod));
    return &s->late[h % TC__STATEMENTS_LATE];
}

/* Makes room where that is allowed. False when there is none. */
static bool has_room(struct tc__statements *s, struct tc_sort_pair *order)
{
    if (!tc__table_has_room(&s->table) && s->forgets) {
        tc__table_make_room(&s->table, order);
        tc__statements_moved(s);
    }
    return tc__table_has_room(&s->table);
}

static void write_statement(struct tc__statements *s, struct tc_statement *known,
                            const struct tc_statement *value)
{
    struct tc_statement *kept = tc__table_write(&s->table, known, value);
    if (kept->first_ns == TC_TIME_NONE) {
        kept->entry.heard = UINT64_MAX; /* what always holds is as new as any */
    }
}

static void say_again(struct tc__statements *s, struct tc_statement *known,
                      const struct tc_statement *now, struct tc_sort_pair *order)
{
    int64_t last_ns = now->last_ns > known->last_ns ? now->last_ns : known->last_ns;
    known->last_ns = last_ns;
    known->entry.heard = known->entry.heard == UINT64_MAX ? UINT64_MAX : ++s->table.heard;
    bool earlier = now->first_ns < known->first_ns; /* TC_TIME_NONE is below all */
    bool first = earlier ||
                 (now->first_ns == known->first_ns && tc_slice_cmp(now->origin, known->origin) > 0);
    if (!first) {
        return;
    }
    /* Who said it first says how it is known. */
    struct tc_statement value = *now;
    value.last_ns = last_ns;
    if (has_room(s, order)) {
        write_statement(s, tc__table_find(&s->table, now, 0), &value);
    } else {
        known->first_ns = now->first_ns;
    }
    s->version += earlier;
}

static struct tc_slice address_of(const struct tc_event *ev)
{
    return ev->kind == TC_EVENT_ADDRESS && ev->scope.node.len > 0 ? ev->address.address : TC_EMPTY;
}

bool tc__statements_hear(struct tc__statements *s, const struct tc_event *ev)
{
    struct tc_slice address = address_of(ev);
    if (!says_something(&ev->scope, address)) {
        return true;
    }
    struct tc_statement *known = *late_place(s, &ev->scope);
    if (known == NULL || ev->time_ns <= known->first_ns || !same_scope(&known->scope, &ev->scope) ||
        !tc_slice_eq(known->address, address)) {
        return false;
    }
    known->last_ns = ev->time_ns > known->last_ns ? ev->time_ns : known->last_ns;
    known->entry.heard = known->entry.heard == UINT64_MAX ? UINT64_MAX : ++s->table.heard;
    return true;
}

void tc__statements_note(struct tc__statements *s, const struct tc_event *ev,
                         struct tc_sort_pair *order)
{
    struct tc_statement now = {.scope = ev->scope,
                               .address = address_of(ev),
                               .first_ns = ev->time_ns,
                               .last_ns = ev->time_ns};
    if (!says_something(&now.scope, now.address)) {
        return;
    }
    now.scope.container = TC_EMPTY;
    now.scope.pid = -1;
    if (ev->kind == TC_EVENT_RANK_PLACE) {
        now.origin = ev->place.origin;
    }
    struct tc_statement **late = late_place(s, &now.scope);
    struct tc_statement *known = *late;
    if (known == NULL || !same_names(known, &now, 0)) {
        known = tc__table_find(&s->table, &now, 0);
        *late = known;
    }
    if (known != NULL) {
        say_again(s, known, &now, order);
    } else if (fits(&now) && has_room(s, order)) {
        write_statement(s, NULL, &now);
        s->version++;
    } else {
        s->dropped++;
    }
}
