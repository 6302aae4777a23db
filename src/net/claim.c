/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for a buffer of the pool, and whose turn it is: docs/internals/connections.md. */
#include "base/assert.h"
#include "net/pool_priv.h"
#include "observe/metrics.h"

/* Of the budget, kept from bodies that begin: for those who have to come to an end. */
#define RESERVE_PART 4
#define PROMISE_PART 8
/* Of the budget, in eighths: what bodies on new connections may have together. */
#define NEW_EIGHTHS 3
/* Claims that are served before the loop looks at other things. */
#define SERVED_AT_ONCE 16

size_t tc_pool_promise_max(const struct tc_pool *p)
{
    return p->limit / PROMISE_PART;
}

void tc_pool_set_wake(struct tc_pool *p, void (*wake)(void *context), void *context)
{
    p->wake = wake;
    p->wake_context = context;
}

void tc_pool_set_gate(struct tc_pool *p, bool (*is_open)(void *context), void *context)
{
    p->is_open = is_open;
    p->gate_context = context;
}

void tc__pool_wake(struct tc_pool *p)
{
    if (!p->is_woken && p->wake != NULL && tc__pool_waiting(p) > 0) {
        p->is_woken = true;
        p->wake(p->wake_context);
    }
}

size_t tc__pool_waiting(const struct tc_pool *p)
{
    size_t count = 0;
    for (size_t kind = 0; kind < TC_CLAIM_KINDS; kind++) {
        count += p->claims[kind].count;
    }
    return count;
}

void tc_buffer_set_new(struct tc_buffer *b, bool is_new)
{
    size_t bytes = TC__POOL_HEADER_BYTES + b->cap;
    if (b->is_new != is_new) {
        b->is_new = is_new;
        b->pool->fresh += is_new ? bytes : (size_t)0 - bytes;
    }
}

static bool fits(size_t cost, size_t used, size_t most)
{
    return used <= most && cost <= most - used;
}

/* Whether a body may begin that takes so much. One that is larger than its share may have it all if
 * it is alone. */
static bool may_begin(const struct tc_pool *p, enum tc_claim_kind kind, size_t cost)
{
    size_t most = p->limit - p->limit / RESERVE_PART;
    size_t new_most = p->limit / 8 * NEW_EIGHTHS;
    if (p->is_open != NULL && !p->is_open(p->gate_context)) {
        return false;
    }
    if (kind == TC_CLAIM_NEW && !fits(cost, p->fresh, new_most) && p->fresh > 0) {
        return false;
    }
    return cost > most || fits(cost, p->used - p->spare, most);
}

static struct tc_buffer *take(struct tc_pool *p, const struct tc_pool_claim *c)
{
    if (c->kind != TC_CLAIM_FINISHING && !may_begin(p, c->kind, tc__pool_cost(p, c->bytes))) {
        return NULL;
    }
    struct tc_buffer *b = tc__pool_take(p, c->bytes);
    if (b != NULL) {
        tc_buffer_set_new(b, c->kind == TC_CLAIM_NEW);
    }
    return b;
}

static void enqueue(struct tc_pool *p, struct tc_pool_claim *c)
{
    struct tc__claims *q = &p->claims[c->kind];
    c->pool = p;
    c->next = NULL;
    c->prev = q->last;
    if (q->last == NULL) {
        q->first = c;
    } else {
        q->last->next = c;
    }
    q->last = c;
    q->count++;
}

static void dequeue(struct tc_pool_claim *c)
{
    struct tc__claims *q = &c->pool->claims[c->kind];
    if (c->prev == NULL) {
        q->first = c->next;
    } else {
        c->prev->next = c->next;
    }
    if (c->next == NULL) {
        q->last = c->prev;
    } else {
        c->next->prev = c->prev;
    }
    TC_ASSERT(q->count > 0);
    q->count--;
    c->pool = NULL;
}

struct tc_buffer *tc_pool_claim(struct tc_pool *p, struct tc_pool_claim *c, size_t bytes,
                                int64_t now_ns, int64_t wait_ns)
{
    TC_ASSERT(c->pool == NULL && c->done != NULL);
    c->bytes = bytes;
    c->since_ns = now_ns;
    c->until_ns = now_ns + wait_ns;
    size_t cost = tc__pool_cost(p, bytes);
    bool ever_fits = cost > 0 && cost <= p->limit;
    bool is_first = p->claims[TC_CLAIM_FINISHING].count == 0 && p->claims[c->kind].count == 0;
    struct tc_buffer *b = ever_fits && is_first ? take(p, c) : NULL;
    if (b == NULL && ever_fits && wait_ns > 0) {
        tc_count(TC_COUNT_MEMORY_WAITS, 1);
        enqueue(p, c);
        tc__pool_wake(p);
    } else if (b == NULL) {
        p->refused++;
        tc_count(TC_COUNT_POOL_REFUSED, 1);
    }
    return b;
}

void tc_pool_cancel(struct tc_pool_claim *c)
{
    if (c->pool != NULL) {
        struct tc_pool *p = c->pool;
        tc_count(TC_COUNT_MEMORY_WAIT_LEFT, 1);
        dequeue(c);
        tc__pool_wake(p); /* those behind it may be smaller */
    }
}

/* The end of a wait. */
static void settle(struct tc_pool_claim *c, struct tc_buffer *b, int64_t now_ns)
{
    struct tc_pool *p = c->pool;
    int64_t waited_ns = now_ns - c->since_ns;
    dequeue(c);
    tc_observe(TC_HIST_MEMORY_WAIT, waited_ns > 0 ? waited_ns : 0);
    tc_count(b != NULL ? TC_COUNT_MEMORY_WAIT_GRANTED : TC_COUNT_MEMORY_WAIT_REFUSED, 1);
    if (b == NULL) {
        p->refused++;
        tc_count(TC_COUNT_POOL_REFUSED, 1);
    }
    c->done(c, b);
}

/* The first of a kind, if its turn or its end has come. */
static bool serve_first(struct tc_pool *p, enum tc_claim_kind kind, bool may_take, int64_t now_ns)
{
    struct tc_pool_claim *c = p->claims[kind].first;
    if (c == NULL) {
        return false;
    }
    struct tc_buffer *b = may_take ? take(p, c) : NULL;
    if (b == NULL && now_ns < c->until_ns) {
        return false;
    }
    settle(c, b, now_ns);
    return true;
}

static bool serve_one(struct tc_pool *p, int64_t now_ns)
{
    if (serve_first(p, TC_CLAIM_FINISHING, true, now_ns)) {
        return true;
    }
    /* Nobody begins while one who has to come to an end waits; but nobody waits longer for it. */
    bool may_take = p->claims[TC_CLAIM_FINISHING].count == 0;
    enum tc_claim_kind first = p->is_turn_of_new ? TC_CLAIM_NEW : TC_CLAIM_KNOWN;
    enum tc_claim_kind second = p->is_turn_of_new ? TC_CLAIM_KNOWN : TC_CLAIM_NEW;
    p->is_turn_of_new = !p->is_turn_of_new;
    return serve_first(p, first, may_take, now_ns) || serve_first(p, second, may_take, now_ns);
}

bool tc_pool_serve(struct tc_pool *p, int64_t now_ns)
{
    p->is_woken = false;
    for (size_t i = 0; i < SERVED_AT_ONCE; i++) {
        if (!serve_one(p, now_ns)) {
            return false;
        }
    }
    return tc__pool_waiting(p) > 0;
}

int64_t tc_pool_waiting_since(const struct tc_pool *p)
{
    int64_t since_ns = 0;
    for (size_t kind = 0; kind < TC_CLAIM_KINDS; kind++) {
        const struct tc_pool_claim *c = p->claims[kind].first;
        if (c != NULL && (since_ns == 0 || c->since_ns < since_ns)) {
            since_ns = c->since_ns;
        }
    }
    return since_ns;
}
