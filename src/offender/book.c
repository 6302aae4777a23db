/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The incidents that are kept, found by id, and an index of their names that is made anew when it
 * is needed after a change.
 */
#include "base/slice.h"
#include "base/table/grow.h"
#include "base/table/hash_index.h"
#include "base/time.h"
#include "offender/offender_priv.h"

#include <stdlib.h>
#include <string.h>

#define ITEMS_MIN ((size_t)16)
#define ITEMS_MAX (UINT32_MAX / 2)
/* Of incidents_max that go at once when it is reached. */
#define FORGET_SHARE 8
/* Incidents of one thing that are looked at: the latest. */
#define LOOKED_AT_MAX ((size_t)128)
/* Names of an item in the index: its own, and its node's. */
#define ITEM_NAMES (TC_THING_NAMES + 1)

struct item {
    char id[TC_INCIDENT_ID_LEN];
    const char *pattern;
    int64_t first_ns;
    struct tc_offence offence;
    uint64_t asked; /* the question that it was last found by */
    bool resolved;
};

struct name_ref {
    struct tc_lru_key name;
    int64_t first_ns;
    uint32_t item;
};

struct tc_offenders {
    struct tc_offender_config config;
    struct item *items;
    size_t count;
    size_t cap;
    struct tc_hash_index ids; /* of the items */
    struct name_ref *refs;
    size_t ref_count;
    size_t ref_cap;
    bool is_indexed; /* refs are those of the items */
    uint64_t asked;
};

struct tc_offenders *tc_offenders_create(void)
{
    struct tc_offenders *o = calloc(1, sizeof *o);
    if (o != NULL) {
        o->config = TC_OFFENDER_CONFIG_DEFAULT;
    }
    return o;
}

void tc_offenders_destroy(struct tc_offenders *o)
{
    if (o != NULL) {
        free(o->items);
        tc_hash_index_fini(&o->ids);
        free(o->refs);
        free(o);
    }
}

void tc_offenders_configure(struct tc_offenders *o, const struct tc_offender_config *config)
{
    o->config = *config;
    o->config.incidents_max = config->incidents_max < ITEMS_MIN ? ITEMS_MIN : config->incidents_max;
}

/* ---- items ---- */

static struct tc_slice id_of(const struct item *i)
{
    return tc_slice_make(i->id, sizeof i->id);
}

static struct item *find(const struct tc_offenders *o, struct tc_slice id)
{
    uint64_t hash = tc_slice_hash(id, 0);
    size_t at = 0;
    uint32_t found = tc_hash_index_next(&o->ids, hash, &at);
    while (found != TC_HASH_INDEX_NONE && !tc_slice_eq(id_of(&o->items[found]), id)) {
        found = tc_hash_index_next(&o->ids, hash, &at);
    }
    return found == TC_HASH_INDEX_NONE ? NULL : &o->items[found];
}

static tc_status index_id(struct tc_offenders *o, struct tc_slice id)
{
    return tc_hash_index_add(&o->ids, tc_slice_hash(id, 0), ITEMS_MAX);
}

/* Those that count against nothing any more first, then by when they began. */
static int by_worth(const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    bool x_counts = x->offence.kind != TC_THING_NONE;
    bool y_counts = y->offence.kind != TC_THING_NONE;
    if (x_counts != y_counts) {
        return x_counts ? 1 : -1;
    }
    if (x->first_ns != y->first_ns) {
        return x->first_ns < y->first_ns ? -1 : 1;
    }
    return memcmp(x->id, y->id, sizeof x->id);
}

static tc_status forget_some(struct tc_offenders *o)
{
    size_t gone = o->count - o->config.incidents_max + o->config.incidents_max / FORGET_SHARE;
    qsort(o->items, o->count, sizeof *o->items, by_worth);
    o->count -= gone;
    memmove(o->items, o->items + gone, o->count * sizeof *o->items);
    o->is_indexed = false;
    tc_hash_index_clear(&o->ids);
    for (size_t i = 0; i < o->count; i++) {
        TC_TRY(index_id(o, id_of(&o->items[i])));
    }
    return TC_OK;
}

static tc_status make_room(struct tc_offenders *o)
{
    if (o->count >= o->config.incidents_max) {
        TC_TRY(forget_some(o));
    }
    return tc_grow_items(o->items, o->cap, o->count + 1, ITEMS_MAX);
}

tc_status tc_offenders_note(struct tc_offenders *o, struct tc_slice incident_id,
                            struct tc_slice pattern_id, int64_t first_ns, bool resolved,
                            const struct tc_offence *offence)
{
    struct item fresh = {.pattern = tc__offender_pattern(pattern_id),
                         .first_ns = first_ns,
                         .offence = *offence,
                         .resolved = resolved};
    if (incident_id.len != sizeof fresh.id) {
        return TC_OK;
    }
    bool counts = fresh.pattern != NULL && offence->kind > TC_THING_NONE &&
                  offence->kind < TC_THING_NODE && tc_time_is_date(first_ns);
    struct item *known = find(o, incident_id);
    if (known == NULL && !counts) {
        return TC_OK;
    }
    if (known == NULL) {
        TC_TRY(make_room(o));
        TC_TRY(index_id(o, incident_id));
        known = &o->items[o->count++];
        memset(known, 0, sizeof *known);
        memcpy(known->id, incident_id.ptr, sizeof known->id);
    }
    fresh.offence.kind = counts ? fresh.offence.kind : TC_THING_NONE;
    memcpy(fresh.id, known->id, sizeof fresh.id);
    o->is_indexed = false;
    *known = fresh;
    return TC_OK;
}

/* ---- the index ---- */

static int compare_names(const struct tc_lru_key *a, const struct tc_lru_key *b)
{
    if (a->words[0] != b->words[0]) {
        return a->words[0] < b->words[0] ? -1 : 1;
    }
    return a->words[1] == b->words[1] ? 0 : a->words[1] < b->words[1] ? -1 : 1;
}

static int by_name(const void *a, const void *b)
{
    const struct name_ref *x = a;
    const struct name_ref *y = b;
    int order = compare_names(&x->name, &y->name);
    if (order != 0) {
        return order;
    }
    return x->first_ns == y->first_ns ? 0 : x->first_ns < y->first_ns ? -1 : 1;
}

static void add_ref(struct tc_offenders *o, const struct tc_lru_key *name, size_t item)
{
    if (tc__offender_is_known(name)) {
        o->refs[o->ref_count++] = (struct name_ref){
            .name = *name, .first_ns = o->items[item].first_ns, .item = (uint32_t)item};
    }
}

static tc_status make_index(struct tc_offenders *o)
{
    if (o->is_indexed) {
        return TC_OK;
    }
    TC_TRY(tc_grow_items(o->refs, o->ref_cap, o->count * ITEM_NAMES, UINT32_MAX));
    o->ref_count = 0;
    for (size_t i = 0; i < o->count; i++) {
        const struct tc_offence *f = &o->items[i].offence;
        for (size_t n = 0; f->kind != TC_THING_NONE && n < TC_THING_NAMES; n++) {
            add_ref(o, &f->names[n], i);
        }
        if (f->kind != TC_THING_NONE) {
            add_ref(o, &f->node, i);
        }
    }
    qsort(o->refs, o->ref_count, sizeof *o->refs, by_name);
    o->is_indexed = true;
    return TC_OK;
}

/* Behind the last entry of a name that began at `first_ns` or before. */
static size_t end_of(const struct tc_offenders *o, const struct tc_lru_key *name, int64_t first_ns)
{
    const struct name_ref key = {.name = *name, .first_ns = first_ns};
    size_t low = 0;
    size_t high = o->ref_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_name(&o->refs[middle], &key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- failures ---- */

/* The incidents of one thing, in order of time. */
struct past {
    const struct item *items[LOOKED_AT_MAX];
    size_t count;
};

static bool is_before(const struct item *a, const struct item *b)
{
    return a->first_ns != b->first_ns ? a->first_ns < b->first_ns
                                      : memcmp(a->id, b->id, sizeof a->id) < 0;
}

/* In its place; of too many the earliest gives way. */
static void add_past(struct past *p, const struct item *item)
{
    size_t at = p->count;
    if (p->count == LOOKED_AT_MAX) {
        if (is_before(item, p->items[0])) {
            return;
        }
        memmove(p->items, p->items + 1, (p->count - 1) * sizeof p->items[0]);
        p->count--;
        at--;
    }
    for (; at > 0 && is_before(item, p->items[at - 1]); at--) {
        p->items[at] = p->items[at - 1];
    }
    p->items[at] = item;
    p->count++;
}

/* What began before, or with, an incident and has that name in common with it. */
static void gather(struct tc_offenders *o, const struct item *of, const struct tc_lru_key *name,
                   bool by_node, struct past *out)
{
    int64_t from_ns = of->first_ns - 2 * o->config.window_ns;
    size_t looked_at = 0;
    for (size_t i = end_of(o, name, of->first_ns); i > 0 && looked_at < 2 * LOOKED_AT_MAX; i--) {
        const struct name_ref *ref = &o->refs[i - 1];
        struct item *item = &o->items[ref->item];
        if (compare_names(&ref->name, name) != 0 || ref->first_ns < from_ns) {
            return;
        }
        looked_at++;
        bool is_own = by_node ? tc__offender_is_same_node(&item->offence, &of->offence)
                              : tc__offender_is_same(&item->offence, &of->offence);
        if (is_own && item->asked != o->asked) {
            item->asked = o->asked;
            add_past(out, item);
        }
    }
}

/* One failure: what followed one another without the thing being well in between. */
struct failure {
    const struct item *first;
    int64_t end_ns;
    bool is_over;
};

/* The failures that make up a past; fewer than its incidents. */
static size_t count_failures(const struct past *p, struct failure out[LOOKED_AT_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++) {
        const struct item *item = p->items[i];
        struct failure *last = count == 0 ? NULL : &out[count - 1];
        int64_t well_ns = last == NULL ? 0 : last->is_over ? TC__WELL_NS : TC__QUIET_NS;
        if (last == NULL || item->first_ns - well_ns >= last->end_ns) {
            out[count++] = (struct failure){item, item->offence.last_ns, item->resolved};
            continue;
        }
        last->end_ns = item->offence.last_ns > last->end_ns ? item->offence.last_ns : last->end_ns;
        last->is_over = last->is_over && item->resolved;
    }
    return count;
}

static bool recount(const struct tc_offenders *o, const struct past *p, enum tc_thing thing,
                    struct tc_arena *arena, struct tc_recurrence **out)
{
    struct failure failures[LOOKED_AT_MAX];
    size_t count = count_failures(p, failures);
    size_t from = 0;
    *out = NULL;
    if (count == 0) {
        return true;
    }
    while (failures[from].first->first_ns <
           failures[count - 1].first->first_ns - o->config.window_ns) {
        from++;
    }
    if ((int64_t)(count - from) < o->config.count) {
        return true;
    }
    size_t cited = count - from - 1 < TC__CITED_MAX ? count - from - 1 : TC__CITED_MAX;
    struct tc_recurrence *r = tc_new(arena, struct tc_recurrence, 1);
    struct tc_recurrence_item *earlier = tc_new(arena, struct tc_recurrence_item, cited);
    if (r == NULL || earlier == NULL) {
        return false;
    }
    for (size_t i = 0; i < cited; i++) {
        const struct item *item = failures[count - 1 - cited + i].first;
        /* The book changes before the verdict that cites it does. */
        earlier[i] = (struct tc_recurrence_item){.incident_id = tc_arena_copy(arena, id_of(item)),
                                                 .pattern_name = tc_slice_cstr(item->pattern),
                                                 .first_ns = item->first_ns};
    }
    *r = (struct tc_recurrence){.thing = thing,
                                .count = (int64_t)(count - from),
                                .window_ns = o->config.window_ns,
                                .earlier = earlier,
                                .earlier_count = cited};
    *out = r;
    return tc_arena_ok(arena);
}

/* Cables and switches bring ports down, and a volume is not the node's: those say nothing of it. */
static bool is_of_node(const struct item *item)
{
    return item->offence.kind == TC_THING_GPU || item->offence.kind == TC_THING_SWITCH ||
           item->offence.kind == TC_THING_DEVICE;
}

/* The failures of all things of the node of an incident, when they are not all of one thing. */
static void gather_node(struct tc_offenders *o, const struct item *of, struct past *out)
{
    struct past all = {.count = 0};
    bool is_another = false;
    o->asked++;
    if (is_of_node(of) && tc__offender_is_known(&of->offence.node)) {
        gather(o, of, &of->offence.node, true, &all);
    }
    for (size_t i = 0; i < all.count; i++) {
        const struct item *item = all.items[i];
        if (is_of_node(item)) {
            is_another = is_another || !tc__offender_is_same(&item->offence, &of->offence);
            out->items[out->count++] = item;
        }
    }
    out->count = is_another ? out->count : 0;
}

tc_status tc_offenders_judge(struct tc_offenders *o, const struct tc_verdict *v,
                             struct tc_arena *arena, struct tc_judgement *out)
{
    *out = (struct tc_judgement){0};
    const struct item *of = find(o, v->incident_id);
    if (o->config.count <= 0 || of == NULL || of->offence.kind == TC_THING_NONE) {
        return TC_OK;
    }
    TC_TRY(make_index(o));
    struct past past = {.count = 0};
    struct tc_recurrence *r = NULL;
    o->asked++;
    for (size_t i = 0; i < TC_THING_NAMES; i++) {
        if (tc__offender_is_known(&of->offence.names[i])) {
            gather(o, of, &of->offence.names[i], false, &past);
        }
    }
    bool ok = recount(o, &past, of->offence.kind, arena, &r);
    if (ok && r == NULL) {
        past.count = 0;
        gather_node(o, of, &past);
        ok = recount(o, &past, TC_THING_NODE, arena, &r);
    }
    ok = ok && (r == NULL || tc__offender_words(v->finding, r, arena, out));
    out->recurrence = ok ? r : NULL;
    return ok ? TC_OK : TC_E_NOMEM;
}
