/* SPDX-License-Identifier: Apache-2.0 */
#include "server/warehouse/handoff.h"

#include <pthread.h>
#include <stdlib.h>

/* Batches that wait. A power of two. */
#define RING 1024

/*
 * Invariant: the ring holds, in order, every batch from `from` on that was put or skipped. So a
 * batch that is skipped or leaves the ring moves `from` behind it. `lock` guards all but the
 * waking, which is the loop's.
 */
struct tc_handoff {
    pthread_mutex_t lock;
    struct tc_handed ring[RING];
    size_t first;
    size_t count;
    size_t bytes; /* of the buffers in the ring */
    uint64_t from;
    uint64_t newest_traces; /* 0: none came */
    bool is_open;
    struct tc_buffer *returned; /* for the pool, which is the loop's */
    size_t wake_bytes;
    void (*wake)(void *context);
    void *context;
};

struct tc_handoff *tc_handoff_create(uint64_t first)
{
    struct tc_handoff *h = calloc(1, sizeof *h);
    if (h != NULL) {
        (void)pthread_mutex_init(&h->lock, NULL);
        h->from = first;
    }
    return h;
}

void tc_handoff_destroy(struct tc_handoff *h)
{
    if (h == NULL) {
        return;
    }
    while (tc_handoff_give_back(h)) {
    }
    (void)pthread_mutex_destroy(&h->lock);
    free(h);
}

void tc_handoff_on_wake(struct tc_handoff *h, size_t bytes, void (*wake)(void *context),
                        void *context)
{
    h->wake_bytes = bytes;
    h->wake = wake;
    h->context = context;
}

/* ---- with the lock ---- */

static size_t bytes_of(const struct tc_handed *item)
{
    return item->tape_memory->cap + (item->body == NULL ? 0 : item->body->cap);
}

static void return_buffers(struct tc_handoff *h, const struct tc_handed *item)
{
    item->tape_memory->next = h->returned;
    h->returned = item->tape_memory;
    if (item->body != NULL) {
        item->body->next = h->returned;
        h->returned = item->body;
    }
}

static struct tc_handed pop_front(struct tc_handoff *h)
{
    struct tc_handed item = h->ring[h->first];
    h->first = (h->first + 1) % RING;
    h->count--;
    h->bytes -= bytes_of(&item);
    h->from = item.number + 1;
    return item;
}

static void skip_batch(struct tc_handoff *h, uint64_t number)
{
    while (h->count > 0) {
        struct tc_handed item = pop_front(h);
        return_buffers(h, &item);
    }
    h->from = number + 1;
}

/* ---- the loop's thread ---- */

/* What was read goes back to the pool. */
static bool give_returned(struct tc_handoff *h)
{
    (void)pthread_mutex_lock(&h->lock);
    struct tc_buffer *b = h->returned;
    h->returned = NULL;
    (void)pthread_mutex_unlock(&h->lock);
    bool any = b != NULL;
    while (b != NULL) {
        struct tc_buffer *next = b->next;
        tc_buffer_give(b);
        b = next;
    }
    return any;
}

bool tc_handoff_is_open(struct tc_handoff *h)
{
    (void)pthread_mutex_lock(&h->lock);
    bool open = h->is_open;
    (void)pthread_mutex_unlock(&h->lock);
    return open;
}

void tc_handoff_put(struct tc_handoff *h, const struct tc_handed *item)
{
    (void)pthread_mutex_lock(&h->lock);
    h->is_open = h->is_open && h->count < RING;
    if (h->is_open) {
        h->ring[(h->first + h->count++) % RING] = *item;
        h->bytes += bytes_of(item);
        tc_buffer_make_spare(item->tape_memory);
        if (item->body != NULL) {
            tc_buffer_make_spare(item->body);
        }
    } else {
        return_buffers(h, item);
        skip_batch(h, item->number);
    }
    bool due = h->bytes >= h->wake_bytes && h->wake != NULL;
    (void)pthread_mutex_unlock(&h->lock);
    (void)give_returned(h);
    if (due) {
        h->wake(h->context);
    }
}

void tc_handoff_skip(struct tc_handoff *h, uint64_t number)
{
    (void)pthread_mutex_lock(&h->lock);
    skip_batch(h, number);
    (void)pthread_mutex_unlock(&h->lock);
    (void)give_returned(h);
}

void tc_handoff_note_traces(struct tc_handoff *h, uint64_t number)
{
    (void)pthread_mutex_lock(&h->lock);
    h->newest_traces = number > h->newest_traces ? number : h->newest_traces;
    (void)pthread_mutex_unlock(&h->lock);
}

bool tc_handoff_give_back(struct tc_handoff *h)
{
    if (give_returned(h)) {
        return true;
    }
    (void)pthread_mutex_lock(&h->lock);
    if (h->count > 0) {
        h->is_open = false;
        skip_batch(h, h->ring[(h->first + h->count - 1) % RING].number);
    }
    (void)pthread_mutex_unlock(&h->lock);
    return give_returned(h);
}

/* ---- the slicer's thread ---- */

enum tc_handoff_state tc_handoff_take(struct tc_handoff *h, uint64_t next, struct tc_handed *out)
{
    enum tc_handoff_state state = TC_HANDOFF_EMPTY;
    (void)pthread_mutex_lock(&h->lock);
    /* Those that were read from the evidence meanwhile. */
    while (h->count > 0 && h->ring[h->first].number < next) {
        struct tc_handed item = pop_front(h);
        return_buffers(h, &item);
    }
    if (next < h->from) {
        state = TC_HANDOFF_BEHIND;
    } else if (h->count > 0) {
        *out = pop_front(h);
        state = TC_HANDOFF_TAKEN;
    } else {
        h->is_open = true;
    }
    (void)pthread_mutex_unlock(&h->lock);
    return state;
}

void tc_handoff_done(struct tc_handoff *h, const struct tc_handed *item)
{
    (void)pthread_mutex_lock(&h->lock);
    return_buffers(h, item);
    (void)pthread_mutex_unlock(&h->lock);
}

void tc_handoff_open(struct tc_handoff *h)
{
    (void)pthread_mutex_lock(&h->lock);
    h->is_open = true;
    (void)pthread_mutex_unlock(&h->lock);
}

bool tc_handoff_has_traces(struct tc_handoff *h, uint64_t next)
{
    (void)pthread_mutex_lock(&h->lock);
    bool any = h->newest_traces >= next;
    (void)pthread_mutex_unlock(&h->lock);
    return any;
}
