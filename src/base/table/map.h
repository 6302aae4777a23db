/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open-addressing index from a 64-bit hash to a 64-bit value, of fixed
 * capacity, for records that live elsewhere (a tc_ring, a table). It does not
 * know the keys: it yields every value stored under a hash and the caller
 * compares. Values below `floor` are stale and their slots are reused, so
 * records that leave a ring need no delete; a rebuild into the spare half of
 * the memory keeps the cost of an insert constant on average. Only as much of the
 * memory is used as the live entries need, so a small working set stays in cache.
 */
#ifndef TC_BASE_TABLE_MAP_H
#define TC_BASE_TABLE_MAP_H

#include "base/arena.h"
#include "base/assert.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_map_slot {
    uint64_t hash;
    uint64_t value; /* 0: never used */
};

/* Invariant: used counts the slots with value != 0 and stays <= 3/4 of those in use. */
struct tc_map {
    struct tc_map_slot *slots;
    struct tc_map_slot *spare;
    size_t mask;     /* slots in use - 1; a power of two less one */
    size_t mask_max; /* slots there are - 1 */
    size_t used;
    size_t slots_most; /* of slots, how many ever were in use; so much of it is resident */
    size_t spare_most;
};

/* Room for at least `count` live entries, from the arena; false when that is full. */
bool tc_map_init(struct tc_map *m, struct tc_arena *arena, size_t count);
void tc_map_reset(struct tc_map *m);

/* How many bytes of its memory were ever written to. */
static inline size_t tc_map_touched(const struct tc_map *m)
{
    return (m->slots_most + m->spare_most) * sizeof *m->slots;
}

/* Walks the values stored under a hash. */
struct tc_map_iter {
    size_t at;
    uint64_t hash;
    struct tc_map_slot *slot; /* of the value last returned, for tc_map_replace */
};

static inline struct tc_map_iter tc_map_find(const struct tc_map *m, uint64_t hash)
{
    return (struct tc_map_iter){(size_t)hash & m->mask, hash, NULL};
}

/* Brings the place of a hash into the cache, for a search that comes a little later. */
static inline void tc_map_prefetch(const struct tc_map *m, uint64_t hash)
{
    __builtin_prefetch(&m->slots[(size_t)hash & m->mask], 1);
}

/* The next value under the hash, stale ones included; 0 at the end. */
static inline uint64_t tc_map_next(const struct tc_map *m, struct tc_map_iter *it)
{
    for (;;) {
        struct tc_map_slot *s = &m->slots[it->at];
        if (s->value == 0) {
            return 0;
        }
        it->at = (it->at + 1) & m->mask;
        if (s->hash == it->hash) {
            it->slot = s;
            return s->value;
        }
    }
}

/* Points the entry that the iterator stands on at another record. value != 0. */
static inline void tc_map_replace(struct tc_map_iter *it, uint64_t value)
{
    it->slot->value = value;
}

static inline bool tc_map_is_full(const struct tc_map *m)
{
    return m->used >= (m->mask + 1) / 4 * 3;
}

/*
 * Sweeps stale entries, those with a value below floor, and makes room; false when
 * the map is full of live ones. tc_map_add does it when needed.
 */
bool tc_map_sweep(struct tc_map *m, uint64_t floor);

/* Adds an entry where there is room: see tc_map_add. */
static inline void tc_map_insert(struct tc_map *m, uint64_t hash, uint64_t value)
{
    size_t at = (size_t)hash & m->mask;
    while (m->slots[at].value != 0) {
        at = (at + 1) & m->mask;
    }
    m->slots[at] = (struct tc_map_slot){hash, value};
    m->used++;
}

/*
 * Adds an entry (value != 0). Entries with a value below floor may be forgotten.
 * False when the map is full of live entries: nothing was added then.
 */
static inline bool tc_map_add(struct tc_map *m, uint64_t hash, uint64_t value, uint64_t floor)
{
    TC_ASSERT(value != 0);
    if (__builtin_expect(tc_map_is_full(m), 0) && !tc_map_sweep(m, floor)) {
        return false;
    }
    tc_map_insert(m, hash, value);
    return true;
}

/*
 * The same after a search of the hash that ran to the end: the search stands on the
 * free slot.
 */
static inline bool tc_map_add_found(struct tc_map *m, const struct tc_map_iter *it, uint64_t value,
                                    uint64_t floor)
{
    if (__builtin_expect(tc_map_is_full(m), 0)) {
        return tc_map_add(m, it->hash, value, floor);
    }
    m->slots[it->at] = (struct tc_map_slot){it->hash, value};
    m->used++;
    return true;
}

#endif
