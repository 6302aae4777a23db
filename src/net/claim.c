/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for a buffer of the pool, and whose turn it is: docs/internals/requests.md. */
#include "base/assert.h"
#include "net/pool_priv.h"
#include "observe/metrics.h"

/* Of the budget, kept from bodies that begin: for those who have to come to an end. */
#define RESERVE_PART 4
#define PROMISE_PART 8
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
    if (!p->is_woken && p->wake != NULL && (p->starting.count > 0 || p->finishing.count > 0)) {
        p->is_woken = true;
        p->wake(p->wake_context);
    }
}

static struct tc__claims *queue_of(struct tc_pool *p, const struct tc_pool_claim *c)
{
    return c->is_finishing ? &p->finishing : &p->starting;
}

/* Whether what is in use leaves a quarter free beside a body that begins. One that is larger than
 * the rest alone may take it all. */
static bool may_begin(const struct tc_pool *p, size_t cost)
{
    size_t most = p->limit - p->limit / RESERVE_PART;
    size_t used = p->used - p->spare;
    if (p->is_open != NULL && !p->is_open(p->gate_context)) {
        return false;
    }
    return cost > most || (used <= most && cost <= most - used);
}

static struct tc_buffer *take(struct tc_pool *p, const struct tc_pool_claim *c)
{
    if (!c->is_finishing && !may_begin(p, tc__pool_cost(p, c->bytes))) {
        return NULL;
    }
    return tc__pool_take(p, c->bytes);
}

static void enqueue(struct tc_pool *p, struct tc_pool_claim *c)
{
    struct tc__claims *q = queue_of(p, c);
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
    struct tc__claims *q = queue_of(c->pool, c);
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

struct tc_buffer *tc_pool_claim(struct tc_pool *p, struct tc_pool_claim *c, size_t bytes, int64_t now_ns,
                                int64_t wait_ns)
{
    TC_ASSERT(c->pool == NULL && c->done != NULL);
    c->bytes = bytes;
    c->since_ns = now_ns;
    c->until_ns = now_ns + wait_ns;
    bool fits = tc__pool_cost(p, bytes) > 0 && tc__pool_cost(p, bytes) <= p->limit;
    bool is_first = p->finishing.count == 0 && (c->is_finishing || p->starting.count == 0);
    struct tc_buffer *b = fits && is_first ? take(p, c) : NULL;
    if (b == NULL && fits && wait_ns > 0) {
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

/* The first of a queue, if its turn or its end has come. */
static bool serve_first(struct tc_pool *p, struct tc__claims *q, int64_t now_ns)
{
    struct tc_pool_claim *c = q->first;
    if (c == NULL) {
        return false;
    }
    struct tc_buffer *b = take(p, c);
    if (b == NULL && now_ns < c->until_ns) {
        return false;
    }
    settle(c, b, now_ns);
    return true;
}

bool tc_pool_serve(struct tc_pool *p, int64_t now_ns)
{
    p->is_woken = false;
    for (size_t i = 0; i < SERVED_AT_ONCE; i++) {
        bool is_served = serve_first(p, &p->finishing, now_ns);
        if (!is_served && p->finishing.count == 0) {
            is_served = serve_first(p, &p->starting, now_ns);
        } else if (!is_served && p->starting.count > 0 && p->starting.first->until_ns <= now_ns) {
            settle(p->starting.first, NULL, now_ns);
            is_served = true;
        }
        if (!is_served) {
            return false;
        }
    }
    return p->starting.count > 0 || p->finishing.count > 0;
}

int64_t tc_pool_waiting_since(const struct tc_pool *p)
{
    const struct tc_pool_claim *a = p->finishing.first;
    const struct tc_pool_claim *b = p->starting.first;
    if (a == NULL || b == NULL) {
        a = a == NULL ? b : a;
        return a == NULL ? 0 : a->since_ns;
    }
    return a->since_ns < b->since_ns ? a->since_ns : b->since_ns;
}
