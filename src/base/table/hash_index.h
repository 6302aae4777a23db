/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds items by hash. The items are the caller's, under the numbers 0 .. count-1 in the order in
 * which they were added; he compares them. Grows with them, on the heap. tc_map (map.h) is the one
 * of fixed size, for records that leave.
 */
#ifndef TC_BASE_TABLE_HASH_INDEX_H
#define TC_BASE_TABLE_HASH_INDEX_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Invariant: at most half of the slots are used. All zero: empty. */
struct tc_hash_index {
    uint64_t *hashes; /* of each item */
    size_t hash_cap;
    uint32_t *slots; /* item + 1; 0: free */
    size_t slot_count;
    size_t count;
};

#define TC_HASH_INDEX_NONE UINT32_MAX

/* The next item of that hash behind `*io_at`, which is 0 to begin with; TC_HASH_INDEX_NONE. */
uint32_t tc_hash_index_next(const struct tc_hash_index *ix, uint64_t hash, size_t *io_at);
/* Adds item number ix->count, if there are fewer than max: TC_E_LIMIT, TC_E_NOMEM. */
TC_CHECKED tc_status tc_hash_index_add(struct tc_hash_index *ix, uint64_t hash, size_t max);
/* Forgets all items; as many can be added again without failing. */
void tc_hash_index_clear(struct tc_hash_index *ix);
void tc_hash_index_fini(struct tc_hash_index *ix);

#endif
