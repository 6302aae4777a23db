/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Those who wait for memory: the pools say when there may be some, the loop serves them after the
 * callback that gave it back. While anybody waits the loop also looks for bodies that hold memory
 * and have stopped coming: docs/internals/connections.md.
 */
#include "net/net_priv.h"
#include "observe/loop.h"

#include <event2/event.h>

/* How often those who wait are looked at when no memory comes back. */
#define LOOK_US 20000
/* A wait that is not the usual one for a turn, and how often bodies are looked at then. */
#define RECLAIM_AFTER_NS INT64_C(250000000)

static void wake(void *context)
{
    struct tc_net *n = context;
    event_active(n->on_memory, EV_TIMEOUT, 0);
}

static void reclaim(struct tc_net *n, const struct tc_pool *pool, int64_t now_ns)
{
    for (struct tc_conn *c = n->all; c != NULL; c = c->all.next) {
        const struct tc_proto *proto = c->of->proto;
        if (c->of->pool == pool && c->phase == TC__CONN_OPEN && proto->reclaim != NULL) {
            c->busy++;
            proto->reclaim(c, tc__conn_state(c), now_ns);
            c->busy--;
            tc__conn_touch(c);
        }
    }
}

/* True: somebody waits. */
static bool serve(struct tc_net *n, struct tc_pool *pool, int64_t now_ns)
{
    if (tc_pool_serve(pool, now_ns)) {
        wake(n);
    }
    int64_t since_ns = tc_pool_waiting_since(pool);
    if (since_ns == 0) {
        return false;
    }
    if (now_ns - since_ns >= RECLAIM_AFTER_NS && now_ns - n->reclaimed_ns >= RECLAIM_AFTER_NS) {
        n->reclaimed_ns = now_ns;
        reclaim(n, pool, now_ns);
    }
    return true;
}

void tc__net_memory_serve(struct tc_net *n)
{
    int64_t now_ns = tc_net_mono_ns(n);
    bool is_waiting = serve(n, n->pool, now_ns);
    for (size_t i = 0; i < n->listener_count; i++) {
        if (n->listeners[i].pool != n->pool) {
            is_waiting = serve(n, n->listeners[i].pool, now_ns) || is_waiting;
        }
    }
    if (is_waiting) {
        const struct timeval soon = {.tv_usec = LOOK_US};
        (void)event_add(n->on_memory, &soon);
    }
}

static void on_memory(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    tc_loop_enter();
    tc__net_memory_serve(context);
    tc_loop_leave();
}

bool tc__net_memory_init(struct tc_net *n)
{
    n->on_memory = event_new(n->base, -1, 0, on_memory, n);
    if (n->on_memory == NULL) {
        return false;
    }
    tc__net_memory_watch(n, n->pool);
    return true;
}

void tc__net_memory_watch(struct tc_net *n, struct tc_pool *pool)
{
    tc_pool_set_wake(pool, wake, n);
}

void tc__net_memory_fini(struct tc_net *n)
{
    if (n->on_memory == NULL) {
        return;
    }
    tc_pool_set_wake(n->pool, NULL, NULL);
    for (size_t i = 0; i < n->listener_count; i++) {
        tc_pool_set_wake(n->listeners[i].pool, NULL, NULL);
    }
    event_free(n->on_memory);
}
