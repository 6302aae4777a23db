/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the pool: pool.c has the buffers, claim.c those who wait for one. */
#ifndef TC_NET_POOL_PRIV_H
#define TC_NET_POOL_PRIV_H

#include "net/pool.h"

#define TC__POOL_CLASSES_MAX 64
/* What stands in front of the data; keeps the data on a cache line of its own. */
#define TC__POOL_HEADER_BYTES ((size_t)64)

struct tc__claims {
    struct tc_pool_claim *first;
    struct tc_pool_claim *last;
    size_t count;
};

/* Invariant: spare <= used <= held <= limit; held is the sum over all buffers of
 * TC__POOL_HEADER_BYTES + cap, spare that over spare ones. */
struct tc_pool {
    size_t limit;
    size_t used;
    size_t spare;
    size_t held;
    size_t class_count;
    size_t class_bytes[TC__POOL_CLASSES_MAX];
    /* Last given back first: its bytes are in the cache. */
    struct tc_buffer *waiting[TC__POOL_CLASSES_MAX];
    uint64_t refused;
    bool (*give_back)(void *context); /* NULL: nobody has spare buffers */
    void *context;
    struct tc__claims claims[TC_CLAIM_KINDS];
    bool is_turn_of_new;         /* of the two kinds that begin */
    size_t fresh;                /* bytes of buffers with is_new, as in `used` */
    void (*wake)(void *context); /* NULL: nobody serves */
    void *wake_context;
    bool is_woken; /* since it was served last */
    bool (*is_open)(void *context);
    void *gate_context;
};

/* pool.c: as tc_pool_take, but a refusal is not counted. */
struct tc_buffer *tc__pool_take(struct tc_pool *p, size_t bytes);
/* What a buffer for so many bytes takes of the budget; 0: there is none that large. */
size_t tc__pool_cost(const struct tc_pool *p, size_t bytes);

/* claim.c: how many wait. */
size_t tc__pool_waiting(const struct tc_pool *p);
/* Memory came back. */
void tc__pool_wake(struct tc_pool *p);

#endif
