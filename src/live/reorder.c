/* SPDX-License-Identifier: Apache-2.0 */
#include "live/reorder_priv.h"

#include "base/sort.h"
#include "event/copy.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES offsetof(struct tc__reorder_record, event)
#define ALIGN TC_EVENT_COPY_ALIGN
/* Times as keys: the earliest, TC_TIME_NONE, is the smallest. */
#define SIGN_BIT (UINT64_C(1) << 63)
/* The smallest record: what bounds how many there can be. */
#define RECORD_MIN (HEAD_BYTES + TC_EVENT_COPY_MIN)

static bool ring_init(struct tc__reorder_ring *r, unsigned char *block, size_t bytes)
{
    *r = (struct tc__reorder_ring){.block = block, .size = bytes & ~(ALIGN - 1)};
    return block != NULL;
}

bool tc__reorder_init(struct tc__reorder *h, size_t bytes)
{
    *h = (struct tc__reorder){0};
    tc_event_strings_init(&h->strings);
    /* A reader may copy a whole event: the last record is shorter than that. */
    size_t ahead = bytes / 4 & ~(ALIGN - 1);
    size_t near = (bytes - ahead) & ~(ALIGN - 1);
    h->block = malloc(near + ahead + sizeof(struct tc_event));
    h->order_max = near / RECORD_MIN + ahead / RECORD_MIN + 2;
    h->heap = calloc(ahead / RECORD_MIN + 1, sizeof(struct tc__reorder_record *));
    h->order = calloc(h->order_max, sizeof *h->order);
    h->scratch = calloc(h->order_max, sizeof *h->scratch);
    if (h->heap == NULL || h->order == NULL || h->scratch == NULL ||
        !ring_init(&h->near, h->block, near)) {
        tc__reorder_fini(h);
        return false;
    }
    return ring_init(&h->ahead, h->block + near, ahead);
}

void tc__reorder_fini(struct tc__reorder *h)
{
    free(h->block);
    free(h->heap);
    free(h->order);
    free(h->scratch);
    *h = (struct tc__reorder){0};
}

/* ---- the rings ---- */

/* Room for a record; NULL when there is none. */
static struct tc__reorder_record *ring_push(struct tc__reorder_ring *r, size_t len)
{
    if (r->count == 0) {
        r->head = r->tail = 0;
        r->wrapped = false;
    }
    if (!r->wrapped && r->size - r->head < len) {
        /* Not quite up to the tail: head == tail would mean empty. */
        if (len >= r->tail) {
            return NULL;
        }
        r->wrap = r->head;
        r->wrapped = true;
        r->head = 0;
    }
    if (r->wrapped && r->tail - r->head <= len) {
        return NULL;
    }
    struct tc__reorder_record *held = (struct tc__reorder_record *)(void *)(r->block + r->head);
    r->head += len;
    r->count++;
    return held;
}

static struct tc__reorder_record *ring_oldest(const struct tc__reorder_ring *r)
{
    return r->count == 0 ? NULL : (struct tc__reorder_record *)(void *)(r->block + r->tail);
}

/* The record after one that is there; past the youngest it is not to be used. */
static struct tc__reorder_record *ring_after(const struct tc__reorder_ring *r,
                                             struct tc__reorder_record *held)
{
    unsigned char *next = (unsigned char *)held + held->len;
    return (struct tc__reorder_record *)(void *)(r->wrapped && next == r->block + r->wrap ? r->block
                                                                                          : next);
}

/* What was handed over leaves, as far as nothing older stays. */
static void ring_sweep(struct tc__reorder_ring *r)
{
    while (r->count > 0) {
        const struct tc__reorder_record *held = ring_oldest(r);
        if (!held->gone) {
            return;
        }
        r->tail += held->len;
        r->count--;
        if (r->wrapped && r->tail == r->wrap) {
            r->tail = 0;
            r->wrapped = false;
        }
    }
}

/* ---- copies ---- */

static size_t record_bytes(const struct tc__reorder *h, const struct tc_event *ev)
{
    return HEAD_BYTES + tc_event_copy_bytes(&h->strings, ev);
}

static void fill(const struct tc__reorder *h, struct tc__reorder_record *held, size_t len,
                 const struct tc_event *ev)
{
    held->len = (uint32_t)len;
    held->gone = false;
    tc_event_copy(&h->strings, ev, &held->event);
    held->event.sender = h->sender != 0 ? h->sender : ev->sender;
}

bool tc__reorder_fits(const struct tc__reorder *h, const struct tc_event *ev)
{
    /* Half of a ring fits whatever lies at its end. */
    return record_bytes(h, ev) <= h->ahead.size / 2 && record_bytes(h, ev) <= UINT32_MAX;
}

bool tc__reorder_add(struct tc__reorder *h, const struct tc_event *ev, int64_t due_ns, bool past)
{
    size_t len = record_bytes(h, ev);
    struct tc__reorder_record *held = ring_push(&h->near, len);
    if (held == NULL) {
        return false;
    }
    fill(h, held, len, ev);
    held->past = past;
    held->due_ns = due_ns;
    held->in_order = h->last == NULL || h->last->event.time_ns <= ev->time_ns;
    h->last = held;
    return true;
}

/* ---- what is ahead ---- */

static bool is_before(const struct tc__reorder_record *a, const struct tc__reorder_record *b)
{
    return a->event.time_ns < b->event.time_ns;
}

static void heap_up(struct tc__reorder_record **heap, size_t at)
{
    while (at > 0 && is_before(heap[at], heap[(at - 1) / 2])) {
        struct tc__reorder_record *held = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = held;
        at = (at - 1) / 2;
    }
}

static struct tc__reorder_record *heap_pop(struct tc__reorder *h)
{
    struct tc__reorder_record *top = h->heap[0];
    struct tc__reorder_record **heap = h->heap;
    heap[0] = heap[--h->heap_count];
    for (size_t at = 0;;) {
        size_t first = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < h->heap_count; child++) {
            first = is_before(heap[child], heap[first]) ? child : first;
        }
        if (first == at) {
            return top;
        }
        struct tc__reorder_record *held = heap[at];
        heap[at] = heap[first];
        heap[first] = held;
        at = first;
    }
}

bool tc__reorder_add_ahead(struct tc__reorder *h, const struct tc_event *ev, bool past)
{
    size_t len = record_bytes(h, ev);
    struct tc__reorder_record *held = ring_push(&h->ahead, len);
    if (held == NULL) {
        return false;
    }
    fill(h, held, len, ev);
    held->past = past;
    held->due_ns = ev->time_ns;
    held->in_order = false;
    h->heap[h->heap_count] = held;
    heap_up(h->heap, h->heap_count++);
    return true;
}

/* ---- handing over ---- */

static void sweep(struct tc__reorder *h)
{
    ring_sweep(&h->near);
    ring_sweep(&h->ahead);
    h->last = h->near.count == 0 ? NULL : h->last;
}

/* In order as they lie there: the common case. */
static tc_status give_straight(struct tc__reorder *h, size_t count, tc__reorder_fn take,
                               void *context)
{
    tc_status status = TC_OK;
    struct tc__reorder_record *held = ring_oldest(&h->near);
    for (size_t i = 0; i < count && status == TC_OK; i++) {
        if (!held->gone) {
            held->gone = true;
            status = take(context, &held->event, held->past);
        }
        held = ring_after(&h->near, held);
    }
    sweep(h);
    return status;
}

/* One more that is to be handed over. Equal times stay as they came. */
static void collect(struct tc__reorder *h, size_t at, struct tc__reorder_record *held)
{
    h->order[at] = (struct tc_sort_pair){.key = (uint64_t)held->event.time_ns ^ SIGN_BIT,
                                         .value = (uint64_t)(uintptr_t)held};
}

static struct tc__reorder_record *collected(const struct tc__reorder *h, size_t at)
{
    return (struct tc__reorder_record *)(uintptr_t)h->order[at].value;
}

/* The oldest of near, in the order in which they are told. */
static size_t collect_near(struct tc__reorder *h, size_t near_count)
{
    size_t count = 0;
    struct tc__reorder_record *held = ring_oldest(&h->near);
    for (size_t i = 0; i < near_count; i++) {
        if (!held->gone) {
            collect(h, count++, held);
        }
        held = ring_after(&h->near, held);
    }
    return count;
}

/* How many were handed over: *out_given. */
static tc_status give_sorted(struct tc__reorder *h, size_t count, tc__reorder_fn take,
                             void *context, size_t *out_given)
{
    tc_status status = TC_OK;
    size_t given = 0;
    tc_sort_keys(h->order, h->scratch, count);
    for (; given < count && status == TC_OK; given++) {
        struct tc__reorder_record *held = collected(h, given);
        held->gone = true;
        status = take(context, &held->event, held->past);
    }
    *out_given = given;
    for (; given < count; given++) { /* those of ahead that stay go back */
        struct tc__reorder_record *held = collected(h, given);
        if ((unsigned char *)held >= h->ahead.block) {
            h->heap[h->heap_count] = held;
            heap_up(h->heap, h->heap_count++);
        }
    }
    sweep(h);
    return status;
}

tc_status tc__reorder_release(struct tc__reorder *h, int64_t due_ns, int64_t clock_ns,
                              tc__reorder_fn take, void *context)
{
    size_t near_count = 0;
    bool in_order = tc__reorder_due_ahead(h) > clock_ns;
    struct tc__reorder_record *held = ring_oldest(&h->near);
    for (; near_count < h->near.count && held->due_ns <= due_ns; near_count++) {
        in_order = in_order && (near_count == 0 || held->in_order);
        held = ring_after(&h->near, held);
    }
    if (in_order) {
        return near_count == 0 ? TC_OK : give_straight(h, near_count, take, context);
    }
    size_t count = collect_near(h, near_count);
    while (tc__reorder_due_ahead(h) <= clock_ns) {
        collect(h, count++, heap_pop(h));
    }
    size_t given = 0;
    return give_sorted(h, count, take, context, &given);
}

size_t tc__reorder_half_near(const struct tc__reorder *h)
{
    return (h->near.count + 1) / 2;
}

size_t tc__reorder_half_ahead(const struct tc__reorder *h)
{
    return (h->heap_count + 1) / 2;
}

tc_status tc__reorder_flush_near(struct tc__reorder *h, size_t *io_left, tc__reorder_fn take,
                                 void *context, uint64_t *io_count)
{
    size_t before = h->near.count;
    size_t given = 0;
    size_t count = collect_near(h, *io_left < before ? *io_left : before);
    tc_status status = give_sorted(h, count, take, context, &given);
    *io_left -= before - h->near.count;
    *io_count += given;
    return status;
}

tc_status tc__reorder_flush_ahead(struct tc__reorder *h, size_t *io_left, tc__reorder_fn take,
                                  void *context, uint64_t *io_count)
{
    size_t count = 0;
    size_t given = 0;
    while (count < *io_left && h->heap_count > 0) {
        collect(h, count++, heap_pop(h));
    }
    tc_status status = give_sorted(h, count, take, context, &given);
    *io_left -= given;
    *io_count += given;
    return status;
}

int64_t tc__reorder_due_near(const struct tc__reorder *h)
{
    const struct tc__reorder_record *held = ring_oldest(&h->near);
    return held == NULL ? INT64_MAX : held->due_ns;
}

int64_t tc__reorder_due_ahead(const struct tc__reorder *h)
{
    return h->heap_count == 0 ? INT64_MAX : h->heap[0]->event.time_ns;
}

size_t tc__reorder_count(const struct tc__reorder *h)
{
    return h->near.count + h->heap_count;
}

size_t tc__reorder_near_bytes(const struct tc__reorder *h)
{
    const struct tc__reorder_ring *r = &h->near;
    return r->count == 0 ? 0 : r->wrapped ? r->wrap - r->tail + r->head : r->head - r->tail;
}
