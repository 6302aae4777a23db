/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bump allocator over one block that never grows. Three lifetimes use it:
 * process, batch, detector window. When it is full it returns NULL and keeps
 * failing until it is reset or rewound, so one check at the end of a batch is
 * enough. Memory comes back zeroed. Under AddressSanitizer the free part is
 * poisoned, 128 KiB of it at least, with a gap between objects.
 */
#ifndef TC_BASE_ARENA_H
#define TC_BASE_ARENA_H

#include "base/slice.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Invariant: used <= size; peak >= used; once overflowed, nothing is handed out. */
struct tc_arena {
    const char *name; /* for messages and metrics; outlives the arena */
    unsigned char *block;
    size_t size;
    size_t used;
    size_t peak;
    size_t dirty; /* bytes from here on are still as zero as they came */
    uint64_t overflow_count;
    bool overflowed;
};

typedef size_t tc_arena_mark;

/* Borrows block for the arena's whole life. */
void tc_arena_init(struct tc_arena *a, const char *name, void *block, size_t size_bytes);
/* The same over a block that is all zero already: pages that are never used are never touched. */
void tc_arena_init_zeroed(struct tc_arena *a, const char *name, void *block, size_t size_bytes);
/* Ends the arena's use of its block (un-poisons it); the block stays the caller's. */
void tc_arena_fini(struct tc_arena *a);

/* Zeroed memory in the arena, or NULL when full, on overflow of count * size, or after either. */
void *tc_arena_alloc(struct tc_arena *a, size_t count, size_t size, size_t align)
    __attribute__((alloc_size(2, 3), warn_unused_result));

/* The same for a caller that writes before it reads: the content is whatever was there. A large
 * block costs nothing then, also in an arena that was used before. */
void *tc_arena_alloc_raw(struct tc_arena *a, size_t bytes, size_t align)
    __attribute__((alloc_size(2), warn_unused_result));

/* A copy of s in the arena; the empty slice when it is full (see tc_arena_ok). */
struct tc_slice tc_arena_copy(struct tc_arena *a, struct tc_slice s);

tc_arena_mark tc_arena_snapshot(const struct tc_arena *a);
/* Gives back everything since mark, and clears the overflow. */
void tc_arena_rewind(struct tc_arena *a, tc_arena_mark mark);

/* Most resets are of an arena that nobody has used since the last one. */
static inline void tc_arena_reset(struct tc_arena *a)
{
    if (a->used > 0 || a->overflowed) {
        tc_arena_rewind(a, 0);
    }
}

static inline bool tc_arena_ok(const struct tc_arena *a)
{
    return !a->overflowed;
}

#define tc_new(a, T, n) ((T *)tc_arena_alloc((a), (n), sizeof(T), alignof(T)))

#endif
