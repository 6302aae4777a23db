/* SPDX-License-Identifier: Apache-2.0 */
#include "story/story_priv.h"

bool tc__names_init(struct tc__names *n, struct tc_arena *arena, uint32_t max)
{
    *n = (struct tc__names){.max = max};
    n->items = tc_new(arena, struct tc__name, max);
    return n->items != NULL && tc_map_init(&n->index, arena, max);
}

static uint64_t name_hash(enum tc__name_kind kind, struct tc_slice where, struct tc_slice text,
                          uint64_t number)
{
    uint64_t hash = tc_slice_hash(text, tc_slice_hash(where, (uint64_t)kind));
    return tc_hash_mix(hash, number);
}

uint32_t tc__names_find(const struct tc__names *n, enum tc__name_kind kind, struct tc_slice where,
                        struct tc_slice text, uint64_t number)
{
    struct tc_map_iter it = tc_map_find(&n->index, name_hash(kind, where, text, number));
    for (uint64_t value; (value = tc_map_next(&n->index, &it)) != 0;) {
        const struct tc__name *name = &n->items[value - 1];
        if (name->kind == kind && name->number == number && tc_slice_eq(name->where, where) &&
            tc_slice_eq(name->text, text)) {
            return (uint32_t)value - 1;
        }
    }
    return TC__NONE;
}

uint32_t tc__names_add(struct tc__names *n, enum tc__name_kind kind, struct tc_slice where,
                       struct tc_slice text, uint64_t number)
{
    uint32_t known = tc__names_find(n, kind, where, text, number);
    if (known != TC__NONE || n->count == n->max) {
        return known;
    }
    if (n->text != NULL) {
        where = where.len == 0 ? TC_EMPTY : tc_arena_copy(n->text, where);
        text = text.len == 0 ? TC_EMPTY : tc_arena_copy(n->text, text);
        if (!tc_arena_ok(n->text)) {
            return TC__NONE;
        }
    }
    uint32_t at = n->count++;
    n->items[at] = (struct tc__name){.kind = kind,
                                     .where = where,
                                     .text = text,
                                     .number = number,
                                     .parent = at,
                                     .owner = TC__NONE};
    /* The index has room for every name of the table. */
    (void)tc_map_add(&n->index, name_hash(kind, where, text, number), (uint64_t)at + 1, 1);
    return at;
}

uint32_t tc__names_root(struct tc__names *n, uint32_t name)
{
    while (n->items[name].parent != name) {
        n->items[name].parent = n->items[n->items[name].parent].parent;
        name = n->items[name].parent;
    }
    return name;
}

void tc__names_own(struct tc__names *n, uint32_t lasting, uint32_t passing)
{
    if (lasting == TC__NONE || passing == TC__NONE) {
        return;
    }
    struct tc__name *name = &n->items[passing];
    name->shared = name->shared || (name->owner != TC__NONE && name->owner != lasting);
    name->owner = lasting;
}

void tc__names_join(struct tc__names *n, uint32_t a, uint32_t b)
{
    if (a == TC__NONE || b == TC__NONE || n->items[a].shared || n->items[b].shared) {
        return;
    }
    a = tc__names_root(n, a);
    b = tc__names_root(n, b);
    /* The one that was told first stands for both. */
    n->items[a < b ? b : a].parent = a < b ? a : b;
}
