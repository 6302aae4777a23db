/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines: a heap of connections by queued_at, which is never later than the deadline. A deadline
 * that moves away, as nearly all do, costs nothing: the heap notices when the old time has come.
 */
#include "base/assert.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "net/net_priv.h"

#include <event2/event.h>

/* The timer does not fire more often than that. */
#define TIMER_STEP_NS INT64_C(1000000)
#define CONNECTIONS_MAX ((size_t)INT32_MAX) /* descriptors end before */

bool tc__timer_reserve(struct tc_net *n, size_t connections)
{
    return tc_grow_items(n->heap, n->heap_cap, connections, CONNECTIONS_MAX) == TC_OK;
}

static void put(struct tc_net *n, size_t i, struct tc_conn *c)
{
    n->heap[i] = c;
    c->heap_index = i;
}

static void sift_up(struct tc_net *n, size_t i)
{
    struct tc_conn *c = n->heap[i];
    while (i > 0 && n->heap[(i - 1) / 2]->queued_at > c->queued_at) {
        put(n, i, n->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(n, i, c);
}

static void sift_down(struct tc_net *n, size_t i)
{
    struct tc_conn *c = n->heap[i];
    for (size_t child = 2 * i + 1; child < n->heap_len; child = 2 * i + 1) {
        if (child + 1 < n->heap_len && n->heap[child + 1]->queued_at < n->heap[child]->queued_at) {
            child++;
        }
        if (n->heap[child]->queued_at >= c->queued_at) {
            break;
        }
        put(n, i, n->heap[child]);
        i = child;
    }
    put(n, i, c);
}

static int64_t earliest(const struct tc_conn *c)
{
    if (c->proto_at == 0 || c->own_at == 0) {
        return c->proto_at + c->own_at;
    }
    return c->proto_at < c->own_at ? c->proto_at : c->own_at;
}

void tc__timer_update(struct tc_conn *c)
{
    struct tc_net *n = c->net;
    int64_t at = earliest(c);
    if (at == 0) {
        return;
    }
    if (c->heap_index == SIZE_MAX) {
        TC_ASSERT(n->heap_len < n->heap_cap);
        c->queued_at = at;
        put(n, n->heap_len++, c);
        sift_up(n, c->heap_index);
    } else if (at < c->queued_at) {
        c->queued_at = at;
        sift_up(n, c->heap_index);
    }
    tc__timer_arm(n);
}

void tc__timer_remove(struct tc_conn *c)
{
    struct tc_net *n = c->net;
    size_t i = c->heap_index;
    if (i == SIZE_MAX) {
        return;
    }
    c->heap_index = SIZE_MAX;
    n->heap_len--;
    if (i < n->heap_len) {
        put(n, i, n->heap[n->heap_len]);
        sift_up(n, i);
        sift_down(n, n->heap[i]->heap_index);
    }
}

struct tc_conn *tc__timer_due(struct tc_net *n, int64_t now_ns)
{
    while (n->heap_len > 0 && n->heap[0]->queued_at <= now_ns) {
        struct tc_conn *c = n->heap[0];
        int64_t at = earliest(c);
        if (at == 0) {
            tc__timer_remove(c);
        } else if (at > now_ns) {
            c->queued_at = at;
            sift_down(n, 0);
        } else {
            return c;
        }
    }
    return NULL;
}

void tc__timer_arm(struct tc_net *n)
{
    int64_t at = n->heap_len > 0 ? n->heap[0]->queued_at : 0;
    if (n->accept_at != 0 && (at == 0 || n->accept_at < at)) {
        at = n->accept_at;
    }
    if (at == 0 || (n->timer_at != 0 && n->timer_at <= at)) {
        return; /* an earlier wake-up than needed is looked at, and set anew, when it comes */
    }
    int64_t delay = at - tc_net_mono_ns(n);
    delay = delay < TIMER_STEP_NS ? TIMER_STEP_NS : delay;
    struct timeval tv = {.tv_sec = delay / TC_SECOND, .tv_usec = delay % TC_SECOND / 1000};
    if (evtimer_add(n->on_timer, &tv) == 0) {
        n->timer_at = at;
    }
}
