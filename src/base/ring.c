/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ring.h"

#include <string.h>

/* The first position; TC_RING_NONE must stay free. */
#define FIRST 8

bool tc_ring_init(struct tc_ring *r, struct tc_arena *arena, size_t bytes)
{
    size_t size = 64;
    while (size <= bytes / 2) {
        size *= 2;
    }
    *r = (struct tc_ring){.block = tc_arena_alloc_raw(arena, size, 8), .size = size};
    r->tail = FIRST;
    r->head = FIRST;
    r->limit = size;
    return r->block != NULL;
}

void tc_ring_reset(struct tc_ring *r)
{
    /* Positions go on from where they were: a name given out before stays stale. */
    r->tail = r->head;
    r->dropped_count = 0;
}

static void drop_until_free(struct tc_ring *r, size_t need)
{
    while (r->size - (size_t)(r->head - r->tail) < need) {
        tc_ring_drop(r);
    }
}

void tc_ring_make_room(struct tc_ring *r, size_t need)
{
    TC_ASSERT(need <= r->size / 2);
    size_t to_end = r->size - (size_t)(r->head & (r->size - 1));
    if (need > to_end) {
        drop_until_free(r, to_end);
        *tc_ring_header(r, r->head) = (struct tc_ring_record){.len = (uint32_t)to_end, .filler = 1};
        r->head += to_end;
        tc_ring_skip_filler(r);
    }
    drop_until_free(r, need);
    uint64_t block_end = (r->head | (r->size - 1)) + 1;
    uint64_t oldest_again = r->tail + r->size;
    r->limit = block_end < oldest_again ? block_end : oldest_again;
}

void *tc_ring_push(struct tc_ring *r, size_t len, uint64_t *out_pos)
{
    if (len > r->size / 2 - sizeof(struct tc_ring_record)) {
        return NULL;
    }
    void *record = tc_ring_push_raw(r, len, out_pos);
    memset(record, 0, (tc_ring_header(r, *out_pos))->len - sizeof(struct tc_ring_record));
    return record;
}
