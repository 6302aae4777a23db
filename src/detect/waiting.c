/* SPDX-License-Identifier: Apache-2.0 */
#include "detect/waiting_priv.h"

bool tc__waiting_init(struct tc_waiting *q, struct tc_arena *arena, const struct tc_window *window,
                      size_t max, tc_waiting_before_fn before)
{
    max = tc_detector_room(window->base, max);
    *q = (struct tc_waiting){
        .window = window, .before = before, .max = max, .next_ns = TC_WAITING_NEVER};
    q->items = tc_new(arena, struct tc_wait, max);
    return q->items != NULL;
}

static struct tc_wait *item(const struct tc_waiting *q, size_t i)
{
    size_t at = q->first + i;
    return &q->items[at < q->max ? at : at - q->max];
}

static void *record_of(const struct tc_waiting *q, size_t i)
{
    return tc__window_at(q->window, item(q, i)->pos);
}

/* Forgets records that have left the window. */
static void sweep(struct tc_waiting *q)
{
    size_t kept = 0;
    for (size_t i = 0; i < q->count; i++) {
        if (record_of(q, i) != NULL) {
            *item(q, kept++) = *item(q, i);
        }
    }
    q->count = kept;
}

/*
 * A full queue. Records leave the window oldest first, and so most of those that are gone stand in
 * front; to look at all of them for each that is added would let a sender of many keep the loop.
 */
static void forget_gone(struct tc_waiting *q)
{
    while (q->count > 0 && record_of(q, 0) == NULL) {
        q->first = q->first + 1 < q->max ? q->first + 1 : 0;
        q->count--;
    }
    if (q->count == q->max && q->swept_tail != q->window->ring.tail) {
        q->swept_tail = q->window->ring.tail;
        sweep(q);
    }
}

bool tc__waiting_add(struct tc_waiting *q, const void *record, int64_t due_ns)
{
    if (q->count == q->max && !q->running) {
        forget_gone(q);
    }
    if (q->count == q->max) {
        return false;
    }
    size_t at = q->count++;
    /* Records start to wait in the order of time, mostly: the place is near the end. */
    for (; at > 0 && q->before != NULL && !q->running; at--) {
        const void *other = record_of(q, at - 1);
        if (other != NULL && !q->before(record, other)) {
            break;
        }
        *item(q, at) = *item(q, at - 1);
    }
    *item(q, at) = (struct tc_wait){((const struct tc_window_head *)record)->pos, due_ns};
    tc__waiting_hasten(q, due_ns);
    return true;
}

void *tc__waiting_take_first(struct tc_waiting *q, int64_t now_ns, int64_t *out_due_ns)
{
    while (q->count > 0 && item(q, 0)->due_ns <= now_ns) {
        struct tc_wait wait = *item(q, 0);
        q->first = q->first + 1 < q->max ? q->first + 1 : 0;
        q->count--;
        void *record = tc__window_at(q->window, wait.pos);
        if (record != NULL) {
            if (out_due_ns != NULL) {
                *out_due_ns = wait.due_ns;
            }
            return record;
        }
    }
    return NULL;
}

tc_status tc__waiting_run(struct tc_waiting *q, int64_t now_ns, tc_waiting_visit_fn visit,
                          void *state, const struct tc_sink *out)
{
    if (now_ns < q->next_ns) {
        return TC_OK;
    }
    tc_status status = TC_OK;
    sweep(q);
    size_t kept = 0;
    size_t count = q->count;
    q->next_ns = TC_WAITING_NEVER;
    q->running = true;
    for (size_t i = 0; i < count; i++) {
        struct tc_wait wait = *item(q, i);
        void *record = tc__window_at(q->window, wait.pos);
        wait.due_ns = TC_WAITING_NEVER;
        if (status == TC_OK && record != NULL) {
            status = visit(state, record, now_ns, out, &wait.due_ns);
        }
        wait.due_ns = status == TC_OK ? wait.due_ns : now_ns;
        if (wait.due_ns != TC_WAITING_NEVER) {
            *item(q, kept++) = wait;
            tc__waiting_hasten(q, wait.due_ns);
        }
    }
    for (size_t i = count; i < q->count; i++) {
        *item(q, kept++) = *item(q, i);
    }
    q->count = kept;
    q->running = false;
    return status;
}
