/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table/hash_index.h"

#include "base/table/grow.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 64

uint32_t tc_hash_index_next(const struct tc_hash_index *ix, uint64_t hash, size_t *io_at)
{
    for (; *io_at < ix->slot_count; (*io_at)++) {
        uint32_t slot = ix->slots[(hash + *io_at) & (ix->slot_count - 1)];
        if (slot == 0) {
            break;
        }
        if (ix->hashes[slot - 1] == hash) {
            (*io_at)++;
            return slot - 1;
        }
    }
    return TC_HASH_INDEX_NONE;
}

static void place(struct tc_hash_index *ix, uint32_t item)
{
    size_t at = ix->hashes[item] & (ix->slot_count - 1);
    while (ix->slots[at] != 0) {
        at = (at + 1) & (ix->slot_count - 1);
    }
    ix->slots[at] = item + 1;
}

static tc_status grow_slots(struct tc_hash_index *ix)
{
    size_t wanted = ix->slot_count == 0 ? SLOTS_FIRST : 2 * ix->slot_count;
    uint32_t *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) {
        return TC_E_NOMEM;
    }
    free(ix->slots);
    ix->slots = slots;
    ix->slot_count = wanted;
    for (uint32_t item = 0; item < ix->count; item++) {
        place(ix, item);
    }
    return TC_OK;
}

tc_status tc_hash_index_add(struct tc_hash_index *ix, uint64_t hash, size_t max)
{
    TC_TRY(tc_grow_items(ix->hashes, ix->hash_cap, ix->count + 1, max));
    if (2 * (ix->count + 1) > ix->slot_count) {
        TC_TRY(grow_slots(ix));
    }
    ix->hashes[ix->count] = hash;
    place(ix, (uint32_t)ix->count);
    ix->count++;
    return TC_OK;
}

void tc_hash_index_clear(struct tc_hash_index *ix)
{
    if (ix->slots != NULL) {
        memset(ix->slots, 0, ix->slot_count * sizeof *ix->slots);
    }
    ix->count = 0;
}

void tc_hash_index_fini(struct tc_hash_index *ix)
{
    free(ix->hashes);
    free(ix->slots);
    *ix = (struct tc_hash_index){0};
}
