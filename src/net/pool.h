/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of requests: buffers of a few sizes, out of one budget. A buffer that is given back is
 * used again, so that steady load allocates nothing. When the budget is spent, claims wait in the
 * order in which they came (claim.c; docs/internals/connections.md). Belongs to the loop's thread.
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
    bool is_new; /* of TC_CLAIM_NEW, and the body is not whole yet */
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

/*
 * Who wants memory. Those who hold some and need more to come to an end are served first; then, in
 * turn, bodies on connections that have brought a whole request before and bodies on new ones. The
 * latter two leave a quarter of the budget free, and the new ones may have three eighths of it:
 * whoever only begins bodies cannot keep out those who send them.
 */
enum tc_claim_kind { TC_CLAIM_FINISHING, TC_CLAIM_KNOWN, TC_CLAIM_NEW, TC_CLAIM_KINDS };

/* Somebody who waits for a buffer, as a part of what waits; zeroed at the start. Among those of one
 * kind the first to come is the first to be served. */
struct tc_pool_claim {
    struct tc_pool *pool; /* NULL: does not wait */
    struct tc_pool_claim *next;
    struct tc_pool_claim *prev;
    size_t bytes;
    enum tc_claim_kind kind;
    int64_t since_ns;
    int64_t until_ns;
    /* It waits no more: with the buffer, or with NULL as its time is over. May claim again. */
    void (*done)(struct tc_pool_claim *c, struct tc_buffer *b);
};

/*
 * A buffer of at least `bytes`, when there is room and nobody was there before. NULL: c waits until
 * then (c->pool is set), at most for wait_ns; or, with c->pool NULL, there is no use in waiting: it
 * is larger than any buffer, or wait_ns is 0. c->done and c->kind are the caller's.
 */
struct tc_buffer *tc_pool_claim(struct tc_pool *p, struct tc_pool_claim *c, size_t bytes,
                                int64_t now_ns, int64_t wait_ns);
/* The body is whole, or its memory is another buffer now (true): who has its share of the budget.
 */
void tc_buffer_set_new(struct tc_buffer *b, bool is_new);
/* Waits no more, and is not told. Fine when it does not wait. */
void tc_pool_cancel(struct tc_pool_claim *c);
/* Gives buffers to those who wait, and an end to those whose time is over: a bounded number. True:
 * there may be more to do at once. */
bool tc_pool_serve(struct tc_pool *p, int64_t now_ns);
/* Since when the one that waits longest does; 0: nobody waits. */
int64_t tc_pool_waiting_since(const struct tc_pool *p);
/* Called when somebody waits and tc_pool_serve may have something to do; from within any call. */
void tc_pool_set_wake(struct tc_pool *p, void (*wake)(void *context), void *context);
/* While it is false no body begins, whatever room there is. NULL: always true. */
void tc_pool_set_gate(struct tc_pool *p, bool (*is_open)(void *context), void *context);
/* The most that a body may take before its bytes are there: promises cost nothing to make. */
size_t tc_pool_promise_max(const struct tc_pool *p);

struct tc_pool_stats {
    size_t used;  /* bytes in buffers that are taken, but for spare ones */
    size_t spare; /* bytes in those */
    size_t held;  /* bytes of memory, taken or waiting to be used again */
    size_t limit;
    size_t waiting; /* claims */
    uint64_t refused;
};

void tc_pool_stats(const struct tc_pool *p, struct tc_pool_stats *out);

#endif
