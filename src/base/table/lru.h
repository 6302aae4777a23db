/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of a fixed number of items of one size, found by a 128-bit key. When it is full the item
 * that was put longest ago is forgotten: first among those that were put as expendable, then among
 * the rest. What is forgotten depends on nothing but the sequence of puts, so two tables that are
 * given the same sequence always hold the same keys.
 *
 * All memory is taken at creation; what no item was put into yet is not touched.
 */
#ifndef TC_BASE_TABLE_LRU_H
#define TC_BASE_TABLE_LRU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where keys collide, items are mixed up: take a digest, or what nobody outside chooses. */
struct tc_lru_key {
    uint64_t words[2];
};

/* Of items put as expendable or not: oldest first. */
struct tc_lru_list {
    uint32_t oldest;
    uint32_t youngest;
};

/*
 * Invariants: slots 1 to count are in use, each in one of the lists; 0 names none. The index is at
 * most half full, and each slot is where its key belongs or in the unbroken run behind it.
 */
struct tc_lru {
    unsigned char *slots;
    uint32_t *index;
    size_t slot_bytes;
    size_t index_mask;
    size_t count;
    size_t count_max;
    struct tc_lru_list lists[2];
    uint64_t forgotten;
};

/* Room for count_max items (1 to UINT32_MAX / 4) of item_bytes. False when there is no memory. */
bool tc_lru_init(struct tc_lru *t, size_t count_max, size_t item_bytes);
void tc_lru_fini(struct tc_lru *t);
/* Empty again. */
void tc_lru_reset(struct tc_lru *t);

/* The item of that key, NULL when there is none. Valid until the next put. */
void *tc_lru_find(const struct tc_lru *t, struct tc_lru_key key);
/*
 * The item of that key, which is the youngest now; zeroed when it is new. Forgets another one to
 * make room. Valid until the next put.
 */
void *tc_lru_put(struct tc_lru *t, struct tc_lru_key key, bool expendable);
/* The item that the put of a new key forgets, NULL while there is room for one more. */
void *tc_lru_leaving(const struct tc_lru *t);
/* The items in no order that means anything: for at < t->count. */
void *tc_lru_at(const struct tc_lru *t, size_t at);

#endif
