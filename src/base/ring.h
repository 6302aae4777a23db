/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A first-in first-out store of variable-sized records in one fixed block: the
 * window of a detector. A record is named by its position, a number that only
 * grows, so a stale name is recognised (tc_ring_at gives NULL) and nothing has
 * to be told when a record leaves. When the block is full the oldest records
 * are dropped and counted; expiry by time is the caller popping the oldest.
 */
#ifndef TC_BASE_RING_H
#define TC_BASE_RING_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_RING_NONE 0

/*
 * Invariants: tail <= head, head - tail <= size, size is a power of two; records
 * are contiguous, 8-byte aligned, and a filler record closes a wrapped end.
 */
struct tc_ring {
    unsigned char *block;
    size_t size;
    uint64_t tail;          /* position of the oldest record */
    uint64_t head;          /* position of the next record */
    uint64_t dropped_count; /* records pushed out because the block was full */
};

/* Takes the largest power of two that fits bytes from the arena; false when it is full. */
bool tc_ring_init(struct tc_ring *r, struct tc_arena *arena, size_t bytes);
void tc_ring_reset(struct tc_ring *r);

/*
 * A zeroed record of len bytes; its name in *out_pos (never TC_RING_NONE).
 * Drops the oldest records to make room. NULL when len is more than half the
 * block: nothing is dropped then.
 */
void *tc_ring_push(struct tc_ring *r, size_t len, uint64_t *out_pos);

/*
 * The same for a caller that fills the whole record itself: not zeroed, and a few
 * instructions where there is room without dropping or wrapping.
 */
static inline void *tc_ring_push_raw(struct tc_ring *r, size_t len, uint64_t *out_pos);

/* The record, or NULL when it has left the window or pos is TC_RING_NONE. */
void *tc_ring_at(const struct tc_ring *r, uint64_t pos);

/* The oldest record, or NULL when empty. */
void *tc_ring_oldest(struct tc_ring *r, uint64_t *out_pos);
/* The record after pos, or NULL at the end. pos must be alive. */
void *tc_ring_next(const struct tc_ring *r, uint64_t pos, uint64_t *out_pos);
/* In front of every record. */
struct tc_ring_record {
    uint32_t len;    /* of the whole record, header included */
    uint32_t filler; /* non-zero: skip to the start of the block */
};

static inline void *tc_ring_push_raw(struct tc_ring *r, size_t len, uint64_t *out_pos)
{
    size_t need = (sizeof(struct tc_ring_record) + len + 7) & ~(size_t)7;
    size_t at = (size_t)r->head & (r->size - 1);
    if (__builtin_expect(len > r->size / 2 || need > r->size - at ||
                             need > r->size - (size_t)(r->head - r->tail),
                         0)) {
        return tc_ring_push(r, len, out_pos);
    }
    struct tc_ring_record *rec = (struct tc_ring_record *)(void *)(r->block + at);
    *rec = (struct tc_ring_record){(uint32_t)need, 0};
    *out_pos = r->head;
    r->head += need;
    return rec + 1;
}

/* Removes the oldest record; the ring must not be empty. Not counted as a drop. */
void tc_ring_pop(struct tc_ring *r);

#endif
