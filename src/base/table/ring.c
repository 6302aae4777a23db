/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table/ring.h"

#include <string.h>

/* The first position; TC_RING_NONE must stay free. */
#define FIRST 8
/* What a growing ring begins with: an engine has some forty, most of them hardly used. */
#define GROWS_FROM ((size_t)16 << 10)

bool tc_ring_init(struct tc_ring *r, struct tc_arena *arena, size_t bytes)
{
    size_t size = 64;
    while (size <= bytes / 2) {
        size *= 2;
    }
    *r = (struct tc_ring){.block = tc_arena_alloc_raw(arena, size, 8),
                          .size = size,
                          .size_min = size,
                          .size_max = size};
    r->tail = FIRST;
    r->head = FIRST;
    r->limit = size;
    return r->block != NULL;
}

bool tc_ring_init_growing(struct tc_ring *r, struct tc_arena *arena, size_t bytes)
{
    bool ok = tc_ring_init(r, arena, bytes);
    r->size_min = r->size_max < GROWS_FROM ? r->size_max : GROWS_FROM;
    r->size = r->size_min;
    r->limit = r->size;
    return ok;
}

/* Up to where records fit at head without dropping or wrapping. */
static void set_limit(struct tc_ring *r)
{
    uint64_t block_end = (r->head | (r->size - 1)) + 1;
    uint64_t oldest_again = r->tail + r->size;
    r->limit = block_end < oldest_again ? block_end : oldest_again;
}

/* So many bytes are about to be written at `at`. */
static void note_growth(struct tc_ring *r, size_t at, size_t len)
{
    if (r->tail < r->head) {
        tc_ring_note(r);
    }
    if (len > 0 && at + len > r->written) {
        r->hole_from = r->written;
        r->hole_to = at;
        r->written = at + len;
    }
}

bool tc_ring_grow(struct tc_ring *r, struct tc_ring_shift *out_shift)
{
    size_t size = r->size;
    if (size == r->size_max) {
        return false;
    }
    /* Records lie in two rounds at most. Of the larger block each round is one half, by the bit of
     * its positions that counts from now on: the one that belongs into the upper half moves. */
    uint64_t round_end = (r->tail | (size - 1)) + 1;
    uint64_t middle = round_end < r->head ? round_end : r->head;
    bool first_moves = (r->tail & size) != 0;
    *out_shift = first_moves ? (struct tc_ring_shift){r->tail, middle, size}
                             : (struct tc_ring_shift){middle, r->head, size};
    size_t at = (size_t)(out_shift->from & (size - 1));
    size_t moved = (size_t)(out_shift->to - out_shift->from);
    note_growth(r, size + at, moved);
    memcpy(r->block + size + at, r->block + at, moved);
    r->size = 2 * size;
    set_limit(r);
    return true;
}

void tc_ring_reset(struct tc_ring *r)
{
    /* Positions go on from where they were: a name given out before stays stale. */
    if (r->tail < r->head) {
        tc_ring_note(r);
    }
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
    if (r->tail < r->head) {
        tc_ring_note(r);
    }
    size_t to_end = r->size - (size_t)(r->head & (r->size - 1));
    if (need > to_end) {
        drop_until_free(r, to_end);
        *tc_ring_header(r, r->head) = (struct tc_ring_record){.len = (uint32_t)to_end, .filler = 1};
        r->head += to_end;
        tc_ring_skip_filler(r);
    }
    drop_until_free(r, need);
    set_limit(r);
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
