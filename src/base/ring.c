/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ring.h"

#include "base/assert.h"

#include <string.h>

/* The first position; TC_RING_NONE must stay free. */
#define FIRST 8

static struct tc_ring_record *header(const struct tc_ring *r, uint64_t pos)
{
    return (struct tc_ring_record *)(void *)(r->block + (pos & (r->size - 1)));
}

bool tc_ring_init(struct tc_ring *r, struct tc_arena *arena, size_t bytes)
{
    size_t size = 64;
    while (size <= bytes / 2) {
        size *= 2;
    }
    *r = (struct tc_ring){.block = tc_arena_alloc(arena, size, 1, 8), .size = size};
    r->tail = FIRST;
    r->head = FIRST;
    return r->block != NULL;
}

void tc_ring_reset(struct tc_ring *r)
{
    /* Positions go on from where they were: a name given out before stays stale. */
    r->tail = r->head;
    r->dropped_count = 0;
}

/* Moves the tail over a filler, so that it always names a record or equals head. */
static void skip_filler(struct tc_ring *r)
{
    if (r->tail < r->head && header(r, r->tail)->filler != 0) {
        r->tail += header(r, r->tail)->len;
    }
}

static void drop_until_free(struct tc_ring *r, size_t need)
{
    while (r->size - (size_t)(r->head - r->tail) < need) {
        r->tail += header(r, r->tail)->len;
        r->dropped_count++;
        skip_filler(r);
    }
}

void *tc_ring_push(struct tc_ring *r, size_t len, uint64_t *out_pos)
{
    if (len > r->size / 2 - sizeof(struct tc_ring_record)) {
        return NULL;
    }
    size_t need = (sizeof(struct tc_ring_record) + len + 7) & ~(size_t)7;
    size_t to_end = r->size - (size_t)(r->head & (r->size - 1));
    if (need > to_end) {
        drop_until_free(r, to_end);
        *header(r, r->head) = (struct tc_ring_record){(uint32_t)to_end, 1};
        r->head += to_end;
        skip_filler(r);
    }
    drop_until_free(r, need);
    struct tc_ring_record *rec = header(r, r->head);
    *rec = (struct tc_ring_record){(uint32_t)need, 0};
    memset(rec + 1, 0, need - sizeof *rec);
    *out_pos = r->head;
    r->head += need;
    return rec + 1;
}

void *tc_ring_at(const struct tc_ring *r, uint64_t pos)
{
    return pos < r->tail || pos >= r->head ? NULL : header(r, pos) + 1;
}

void *tc_ring_oldest(struct tc_ring *r, uint64_t *out_pos)
{
    if (r->tail == r->head) {
        return NULL;
    }
    *out_pos = r->tail;
    return header(r, r->tail) + 1;
}

void *tc_ring_next(const struct tc_ring *r, uint64_t pos, uint64_t *out_pos)
{
    TC_ASSERT(pos >= r->tail && pos < r->head);
    uint64_t next = pos + header(r, pos)->len;
    if (next < r->head && header(r, next)->filler != 0) {
        next += header(r, next)->len;
    }
    if (next >= r->head) {
        return NULL;
    }
    *out_pos = next;
    return header(r, next) + 1;
}

void tc_ring_pop(struct tc_ring *r)
{
    TC_ASSERT(r->tail < r->head);
    r->tail += header(r, r->tail)->len;
    skip_filler(r);
    if (r->tail == r->head) {
        /* Empty: go on at the start of the block, whose memory is in the cache. */
        r->head = (r->head | (r->size - 1)) + 1;
        r->tail = r->head;
    }
}
