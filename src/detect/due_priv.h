/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a window that wait for a time: first in, first out, so they are put
 * in with times that do not fall. Whoever puts a record in notes that in the record,
 * so that it waits once. The record may have left its window when its time comes.
 */
#ifndef TC_DETECT_DUE_PRIV_H
#define TC_DETECT_DUE_PRIV_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_due {
    uint64_t pos; /* of the record */
    int64_t due_ns;
};

/* Invariant: count <= cap. */
struct tc_due_queue {
    struct tc_due *items;
    size_t cap;
    size_t first;
    size_t count;
};

/* False when the arena is full. */
static inline bool tc__due_init(struct tc_due_queue *q, struct tc_arena *arena, size_t cap)
{
    *q = (struct tc_due_queue){.items = tc_new(arena, struct tc_due, cap), .cap = cap};
    return q->items != NULL;
}

/* False when the queue is full. */
static inline bool tc__due_put(struct tc_due_queue *q, uint64_t pos, int64_t due_ns)
{
    if (q->count == q->cap) {
        return false;
    }
    q->items[(q->first + q->count++) % q->cap] = (struct tc_due){pos, due_ns};
    return true;
}

/* The record whose time came first, if it has come. */
static inline bool tc__due_take(struct tc_due_queue *q, int64_t now_ns, uint64_t *out_pos)
{
    if (q->count == 0 || q->items[q->first].due_ns > now_ns) {
        return false;
    }
    *out_pos = q->items[q->first].pos;
    q->first = (q->first + 1) % q->cap;
    q->count--;
    return true;
}

#endif
