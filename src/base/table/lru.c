/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table/lru.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

/* In front of each item. */
struct slot {
    struct tc_lru_key key;
    uint32_t older;
    uint32_t younger;
    bool expendable;
};

#define HEAD_BYTES ((sizeof(struct slot) + 7) & ~(size_t)7)

static struct slot *slot_at(const struct tc_lru *t, uint32_t number)
{
    return (struct slot *)(void *)(t->slots + (number - 1) * t->slot_bytes);
}

static void *item_of(struct slot *s)
{
    return (unsigned char *)s + HEAD_BYTES;
}

bool tc_lru_init(struct tc_lru *t, size_t count_max, size_t item_bytes)
{
    TC_ASSERT(count_max > 0 && count_max <= UINT32_MAX / 4);
    *t = (struct tc_lru){.count_max = count_max,
                         .slot_bytes = HEAD_BYTES + ((item_bytes + 7) & ~(size_t)7)};
    size_t index_size = 4;
    while (index_size < count_max * 2) {
        index_size *= 2;
    }
    t->index_mask = index_size - 1;
    t->slots = calloc(count_max, t->slot_bytes);
    t->index = calloc(index_size, sizeof *t->index);
    if (t->slots == NULL || t->index == NULL) {
        tc_lru_fini(t);
        return false;
    }
    return true;
}

void tc_lru_fini(struct tc_lru *t)
{
    free(t->slots);
    free(t->index);
    *t = (struct tc_lru){0};
}

void tc_lru_reset(struct tc_lru *t)
{
    if (t->count > 0) {
        memset(t->index, 0, (t->index_mask + 1) * sizeof *t->index);
    }
    t->count = 0;
    memset(t->lists, 0, sizeof t->lists);
}

/* ---- the index ---- */

static size_t home_of(const struct tc_lru *t, struct tc_lru_key key)
{
    return (size_t)key.words[0] & t->index_mask;
}

/* Where the index has that key, or the free place where it would. */
static size_t place_of(const struct tc_lru *t, struct tc_lru_key key)
{
    size_t at = home_of(t, key);
    while (t->index[at] != 0 && memcmp(&slot_at(t, t->index[at])->key, &key, sizeof key) != 0) {
        at = (at + 1) & t->index_mask;
    }
    return at;
}

/* Takes a key out, and moves those behind it up so that no run is broken. */
static void unindex(struct tc_lru *t, struct tc_lru_key key)
{
    size_t hole = place_of(t, key);
    for (size_t at = (hole + 1) & t->index_mask; t->index[at] != 0; at = (at + 1) & t->index_mask) {
        size_t home = home_of(t, slot_at(t, t->index[at])->key);
        if (((at - home) & t->index_mask) >= ((at - hole) & t->index_mask)) {
            t->index[hole] = t->index[at];
            hole = at;
        }
    }
    t->index[hole] = 0;
}

/* ---- the lists ---- */

static void leave_list(struct tc_lru *t, uint32_t number)
{
    const struct slot *s = slot_at(t, number);
    struct tc_lru_list *list = &t->lists[s->expendable];
    *(s->older == 0 ? &list->oldest : &slot_at(t, s->older)->younger) = s->younger;
    *(s->younger == 0 ? &list->youngest : &slot_at(t, s->younger)->older) = s->older;
}

static void join_list(struct tc_lru *t, uint32_t number, bool expendable)
{
    struct slot *s = slot_at(t, number);
    struct tc_lru_list *list = &t->lists[expendable];
    s->expendable = expendable;
    s->older = list->youngest;
    s->younger = 0;
    *(s->older == 0 ? &list->oldest : &slot_at(t, s->older)->younger) = number;
    list->youngest = number;
}

/* ---- items ---- */

void *tc_lru_find(const struct tc_lru *t, struct tc_lru_key key)
{
    uint32_t number = t->count == 0 ? 0 : t->index[place_of(t, key)];
    return number == 0 ? NULL : item_of(slot_at(t, number));
}

/* Of a full table. */
static uint32_t leaving(const struct tc_lru *t)
{
    return t->lists[true].oldest != 0 ? t->lists[true].oldest : t->lists[false].oldest;
}

void *tc_lru_leaving(const struct tc_lru *t)
{
    return t->count < t->count_max ? NULL : item_of(slot_at(t, leaving(t)));
}

/* The number of a slot that nothing is in. */
static uint32_t free_slot(struct tc_lru *t)
{
    if (t->count < t->count_max) {
        return (uint32_t)++t->count;
    }
    uint32_t number = leaving(t);
    leave_list(t, number);
    unindex(t, slot_at(t, number)->key);
    t->forgotten++;
    return number;
}

void *tc_lru_put(struct tc_lru *t, struct tc_lru_key key, bool expendable)
{
    uint32_t number = t->index[place_of(t, key)];
    if (number != 0) {
        leave_list(t, number);
    } else {
        number = free_slot(t);
        memset(slot_at(t, number), 0, t->slot_bytes);
        slot_at(t, number)->key = key;
        t->index[place_of(t, key)] = number;
    }
    join_list(t, number, expendable);
    return item_of(slot_at(t, number));
}

void *tc_lru_at(const struct tc_lru *t, size_t at)
{
    TC_ASSERT(at < t->count);
    return item_of(slot_at(t, (uint32_t)at + 1));
}
