/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A first-in first-out store of variable-sized records in one fixed block: the
 * window of a detector. A record is named by its position, a number that only
 * grows, so a stale name is recognised (tc_ring_at gives NULL) and nothing has
 * to be told when a record leaves. When the block is full the oldest records
 * are dropped and counted; expiry by time is the caller popping the oldest.
 *
 * A ring that is never empty goes round and round, and touches every page that it may go through.
 * One that was made by tc_ring_init_growing goes round in as much of its block as its records
 * need, and doubles that when the caller asks for it: see tc_ring_grow.
 */
#ifndef TC_BASE_TABLE_RING_H
#define TC_BASE_TABLE_RING_H

#include "base/arena.h"
#include "base/assert.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_RING_NONE 0
/* How far behind the oldest record the next ones to be dropped are brought into the cache. */
#define TC_RING_DROP_AHEAD 512

/*
 * Invariants: tail <= head, head - tail <= size <= size_max, sizes are powers of two; records
 * are contiguous, 8-byte aligned, and a filler record closes a wrapped end.
 */
struct tc_ring {
    unsigned char *block;
    size_t size;     /* of the block that is in use, from its start */
    size_t size_min; /* what an empty ring begins with */
    size_t size_max; /* of the whole block */
    uint64_t tail;   /* position of the oldest record */
    uint64_t head;   /* position of the next record */
    uint64_t limit;  /* up to here records fit without dropping or wrapping */
    /* What was written to, as of the last tc_ring_note: see tc_ring_touched. */
    size_t written;   /* the end of it */
    size_t hole_from; /* but for this part of it, which a doubling left out; none if from >= to */
    size_t hole_to;
    uint64_t dropped_count; /* records pushed out because the block was full */
};

/* Takes the largest power of two that fits bytes from the arena; false when it is full. */
bool tc_ring_init(struct tc_ring *r, struct tc_arena *arena, size_t bytes);
/* The same; of the block only as much is used as the records need. */
bool tc_ring_init_growing(struct tc_ring *r, struct tc_arena *arena, size_t bytes);
void tc_ring_reset(struct tc_ring *r);

/* Records that lie elsewhere in the block now, with the same names: those of [from, to). */
struct tc_ring_shift {
    uint64_t from;
    uint64_t to;
    size_t by; /* so many bytes further */
};

/*
 * Doubles what is used of the block; false when all of it is. Only the caller knows what leads to
 * the records themselves, so nothing else here does it: without it the oldest are dropped.
 */
bool tc_ring_grow(struct tc_ring *r, struct tc_ring_shift *out_shift);

/*
 * A zeroed record of len bytes; its name in *out_pos (never TC_RING_NONE).
 * Drops the oldest records to make room. NULL when len is more than half the
 * block: nothing is dropped then.
 */
void *tc_ring_push(struct tc_ring *r, size_t len, uint64_t *out_pos);

/*
 * The same for a caller that fills the whole record itself and knows that len is at most half
 * the block: not zeroed, never NULL, and a few instructions where the record fits as it is.
 */
static inline void *tc_ring_push_raw(struct tc_ring *r, size_t len, uint64_t *out_pos);

/* For tc_ring_push_raw: drops and wraps until `need` bytes fit at head. */
void tc_ring_make_room(struct tc_ring *r, size_t need);

/* In front of every record. */
struct tc_ring_record {
    uint32_t len;    /* of the whole record, header included */
    uint16_t filler; /* non-zero: skip to the start of the block */
    uint16_t owner;  /* for the caller, 0 at first: whose share of the block it takes */
};

static inline struct tc_ring_record *tc_ring_header(const struct tc_ring *r, uint64_t pos)
{
    return (struct tc_ring_record *)(void *)(r->block + (pos & (r->size - 1)));
}

/* The record, or NULL when it has left the window or pos is TC_RING_NONE. */
static inline void *tc_ring_at(const struct tc_ring *r, uint64_t pos)
{
    return pos < r->tail || pos >= r->head ? NULL : tc_ring_header(r, pos) + 1;
}

/* The oldest record, or NULL when empty. */
static inline void *tc_ring_oldest(const struct tc_ring *r, uint64_t *out_pos)
{
    if (r->tail == r->head) {
        return NULL;
    }
    *out_pos = r->tail;
    return tc_ring_header(r, r->tail) + 1;
}

/* The record after pos, or NULL at the end. pos must be alive. */
static inline void *tc_ring_next(const struct tc_ring *r, uint64_t pos, uint64_t *out_pos)
{
    TC_ASSERT(pos - r->tail < r->head - r->tail);
    uint64_t next = pos + tc_ring_header(r, pos)->len;
    if (next < r->head && tc_ring_header(r, next)->filler != 0) {
        next += tc_ring_header(r, next)->len;
    }
    if (next >= r->head) {
        return NULL;
    }
    *out_pos = next;
    return tc_ring_header(r, next) + 1;
}

/* The same for a record that is at hand, and its name. */
static inline void *tc_ring_follow(const struct tc_ring *r, const void *record, uint64_t *io_pos)
{
    uint64_t next = *io_pos + ((const struct tc_ring_record *)record - 1)->len;
    struct tc_ring_record *rec = tc_ring_header(r, next);
    if (next < r->head && rec->filler != 0) {
        next += rec->len;
        rec = tc_ring_header(r, next);
    }
    *io_pos = next;
    return next < r->head ? rec + 1 : NULL;
}

/*
 * The first record after pos, which may have left the window or be TC_RING_NONE: for a walk
 * that goes on where it stopped. NULL at the end.
 */
static inline void *tc_ring_after(const struct tc_ring *r, uint64_t pos, uint64_t *out_pos)
{
    return pos < r->tail ? tc_ring_oldest(r, out_pos) : tc_ring_next(r, pos, out_pos);
}

/* What a record of len bytes takes of the block. */
static inline size_t tc_ring_need(size_t len)
{
    return (sizeof(struct tc_ring_record) + len + 7) & ~(size_t)7;
}

/* Whether a record that takes `need` fits behind the youngest without dropping any. */
static inline bool tc_ring_has_room(const struct tc_ring *r, size_t need)
{
    size_t to_end = r->size - (size_t)(r->head & (r->size - 1));
    return r->size - (size_t)(r->head - r->tail) >= (need > to_end ? to_end + need : need);
}

static inline void *tc_ring_push_raw(struct tc_ring *r, size_t len, uint64_t *out_pos)
{
    size_t need = tc_ring_need(len);
    if (__builtin_expect(r->head + need > r->limit, 0)) {
        tc_ring_make_room(r, need);
    }
    struct tc_ring_record *rec = tc_ring_header(r, r->head);
    *rec = (struct tc_ring_record){.len = (uint32_t)need};
    *out_pos = r->head;
    r->head += need;
    return rec + 1;
}

/* Moves the tail over a filler, so that it always names a record or equals head. */
static inline void tc_ring_skip_filler(struct tc_ring *r)
{
    if (r->tail < r->head && tc_ring_header(r, r->tail)->filler != 0) {
        r->tail += tc_ring_header(r, r->tail)->len;
    }
}

/* What was written to, as far as it is known from head: there is a record before it, or was until
 * now. Called before head goes back to the start of the block. */
static inline void tc_ring_note(struct tc_ring *r)
{
    size_t end = (size_t)((r->head - 1) & (r->size - 1)) + 1;
    r->written = end > r->written ? end : r->written;
    r->hole_from = end > r->hole_from ? end : r->hole_from;
}

/* How many bytes of the block were ever written to: so much of it is resident. What is in use may
 * be more, as it doubles at once. */
static inline size_t tc_ring_touched(const struct tc_ring *r)
{
    struct tc_ring now = *r;
    if (now.tail < now.head) {
        tc_ring_note(&now);
    }
    return now.written - (now.hole_to > now.hole_from ? now.hole_to - now.hole_from : 0);
}

/* Removes all records; the ring must not have been empty. Not counted as drops. */
static inline void tc_ring_clear(struct tc_ring *r)
{
    tc_ring_note(r);
    /* Go on at the start of the block, whose memory is in the cache. */
    r->head = (r->head | (r->size - 1)) + 1;
    r->tail = r->head;
    r->size = r->size_min;
    r->limit = r->head + r->size;
}

/* Removes the oldest record; the ring must not be empty. Not counted as a drop. */
static inline void tc_ring_pop(struct tc_ring *r)
{
    TC_ASSERT(r->tail < r->head);
    r->tail += tc_ring_header(r, r->tail)->len;
    tc_ring_skip_filler(r);
    if (r->tail == r->head) {
        tc_ring_clear(r);
    }
}

/* The same, counted as a drop. */
static inline void tc_ring_drop(struct tc_ring *r)
{
    r->tail += tc_ring_header(r, r->tail)->len;
    /* Every push drops one by now, the next ones a little later. */
    __builtin_prefetch(tc_ring_header(r, r->tail + TC_RING_DROP_AHEAD));
    r->dropped_count++;
    tc_ring_skip_filler(r);
}

#endif
