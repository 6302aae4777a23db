/* SPDX-License-Identifier: Apache-2.0 */
#include "directory/view.h"

bool tc_names_init(struct tc_names *n, struct tc_arena *arena, uint32_t max)
{
    *n = (struct tc_names){.max = max};
    /* Each is written when it is added; to zero the room for all takes longer than a small linking.
     */
    n->items = tc_arena_alloc_raw(arena, max * sizeof *n->items, alignof(struct tc_name));
    return n->items != NULL && tc_map_init(&n->index, arena, max);
}

static uint64_t name_hash(enum tc_name_kind kind, struct tc_slice where, struct tc_slice text,
                          uint64_t number)
{
    uint64_t hash = tc_slice_hash(text, tc_slice_hash(where, (uint64_t)kind));
    return tc_hash_mix(hash, number);
}

uint32_t tc_names_find(const struct tc_names *n, enum tc_name_kind kind, struct tc_slice where,
                       struct tc_slice text, uint64_t number)
{
    struct tc_map_iter it = tc_map_find(&n->index, name_hash(kind, where, text, number));
    for (uint64_t value; (value = tc_map_next(&n->index, &it)) != 0;) {
        const struct tc_name *name = &n->items[value - 1];
        if (name->kind == kind && name->number == number && tc_slice_eq(name->where, where) &&
            tc_slice_eq(name->text, text)) {
            return (uint32_t)value - 1;
        }
    }
    return TC_NAME_NONE;
}

uint32_t tc_names_add(struct tc_names *n, enum tc_name_kind kind, struct tc_slice where,
                      struct tc_slice text, uint64_t number)
{
    uint32_t known = tc_names_find(n, kind, where, text, number);
    if (known != TC_NAME_NONE || n->count == n->max) {
        return known;
    }
    if (n->text != NULL) {
        where = where.len == 0 ? TC_EMPTY : tc_arena_copy(n->text, where);
        text = text.len == 0 ? TC_EMPTY : tc_arena_copy(n->text, text);
        if (!tc_arena_ok(n->text)) {
            return TC_NAME_NONE;
        }
    }
    uint32_t at = n->count++;
    n->items[at] = (struct tc_name){.kind = kind,
                                    .where = where,
                                    .text = text,
                                    .number = number,
                                    .parent = at,
                                    .owner = TC_NAME_NONE};
    /* The index has room for every name of the table. */
    (void)tc_map_add(&n->index, name_hash(kind, where, text, number), (uint64_t)at + 1, 1);
    return at;
}

uint32_t tc_names_root(struct tc_names *n, uint32_t name)
{
    while (name != TC_NAME_NONE && n->items[name].parent != name) {
        n->items[name].parent = n->items[n->items[name].parent].parent;
        name = n->items[name].parent;
    }
    return name;
}

void tc_names_own(struct tc_names *n, uint32_t lasting, uint32_t passing)
{
    if (lasting == TC_NAME_NONE || passing == TC_NAME_NONE) {
        return;
    }
    struct tc_name *name = &n->items[passing];
    name->shared = name->shared || (name->owner != TC_NAME_NONE && name->owner != lasting);
    name->owner = lasting;
}

void tc_names_join(struct tc_names *n, uint32_t a, uint32_t b)
{
    if (a == TC_NAME_NONE || b == TC_NAME_NONE || n->items[a].shared || n->items[b].shared) {
        return;
    }
    a = tc_names_root(n, a);
    b = tc_names_root(n, b);
    /* The one that was told first stands for both. */
    n->items[a < b ? b : a].parent = a < b ? a : b;
}
