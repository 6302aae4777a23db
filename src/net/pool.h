/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of requests: buffers of a few sizes, out of one budget. A buffer that is given back is
 * used again, so that steady load allocates nothing; when the budget is spent there is no buffer,
 * and the caller makes the sender wait. Belongs to the loop's thread.
 */
#ifndef TC_NET_POOL_H
#define TC_NET_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_pool;

/* bytes_max: of all buffers together. buffer_max: the largest that can be asked for. */
struct tc_pool *tc_pool_create(size_t bytes_max, size_t buffer_max);
void tc_pool_destroy(struct tc_pool *p);

/* Contents are whatever was there. Invariant: len <= cap. */
struct tc_buffer {
    struct tc_pool *pool;
    struct tc_buffer *next; /* the pool's; while it is taken, whoever has it */
    size_t cap;
    size_t len;
    unsigned char *data;
    bool is_spare;
};

/* A buffer of at least `bytes`, or NULL when the budget has no room for it. */
struct tc_buffer *tc_pool_take(struct tc_pool *p, size_t bytes);
/*
 * The same for what its owner can do without. Such a buffer is never the reason that
 * tc_pool_take finds no room: the owner gives them back, one or more for each call of `give_back`,
 * which is false when it has none. A refusal is not counted.
 */
struct tc_buffer *tc_pool_take_spare(struct tc_pool *p, size_t bytes);
/* From now on its owner can do without it. */
void tc_buffer_make_spare(struct tc_buffer *b);
void tc_pool_set_spare(struct tc_pool *p, bool (*give_back)(void *context), void *context);
/* A larger one with the same content, in place of b; NULL, and b as it was, when there is no room.
 */
struct tc_buffer *tc_buffer_grow(struct tc_buffer *b, size_t bytes);
/* NULL is allowed. */
void tc_buffer_give(struct tc_buffer *b);

struct tc_pool_stats {
    size_t used;  /* bytes in buffers that are taken, but for spare ones */
    size_t spare; /* bytes in those */
    size_t held;  /* bytes of memory, taken or waiting to be used again */
    size_t limit;
    uint64_t refused;
};

void tc_pool_stats(const struct tc_pool *p, struct tc_pool_stats *out);

#endif
