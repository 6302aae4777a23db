/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that an input holds until they may leave: of each only as much as its kind has, in chunks
 * that never move, so nothing is copied while their number grows, and a pointer to each. Who reads
 * one may copy a whole struct tc_event: there is that much room behind the last of a chunk. Strings
 * stay where they are.
 */
#ifndef TC_INTAKE_HELD_H
#define TC_INTAKE_HELD_H

#include "base/status.h"
#include "event/event.h"

#include <stddef.h>
#include <stdint.h>

struct tc_held_chunk;

/* Zeroed: empty. Invariant: order[0..count) points at events in chunks, in the order in which they
 * were added until the caller sorts it. */
struct tc_held {
    struct tc_held_chunk *chunks; /* the newest first */
    const void **order;
    size_t count;
    size_t cap;         /* of order */
    size_t chunk_bytes; /* of all chunks */
};

/* What it has of the heap. */
size_t tc_held_bytes(const struct tc_held *h);
/* What the next event takes more of that, at most. */
size_t tc_held_growth(const struct tc_held *h);
/* Adds a copy of ev. TC_E_NOMEM: nothing was added. */
TC_CHECKED tc_status tc_held_add(struct tc_held *h, const struct tc_event *ev,
                                 struct tc_event **out);
/* The event that was added as number i, to be changed; before order was sorted. */
static inline struct tc_event *tc_held_event(const struct tc_held *h, size_t i)
{
    return (struct tc_event *)(uintptr_t)h->order[i];
}
/* Forgets all but the first `count`; before order was sorted. */
void tc_held_cut(struct tc_held *h, size_t count);
/* Nothing more will be added: what was set aside for it is given back. */
void tc_held_trim(struct tc_held *h);
/* Empties it. */
void tc_held_fini(struct tc_held *h);

#endif
