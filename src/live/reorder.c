/* SPDX-License-Identifier: Apache-2.0 */
#include "live/reorder_priv.h"

#include "base/table/sort.h"
#include "event/copy.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN TC_EVENT_COPY_ALIGN
/* Times as keys: the earliest, TC_TIME_NONE, is the smallest. */
#define SIGN_BIT (UINT64_C(1) << 63)
/* A ring goes through so much of its block, and so many slots, before it saves any. */
#define WRAP_MIN ((size_t)256 << 10)
#define SLOTS_MIN ((size_t)1024)
/* Slots that have a bound together. */
#define BLOCK_SLOTS ((size_t)64)

/* How many events fit at most, and a slot to spare: a power of two. */
static size_t slots_for(size_t bytes)
{
    size_t slots = 1;
    while (slots < bytes / TC_EVENT_COPY_MIN + 1) {
        slots *= 2;
    }
    return slots;
}

static bool ring_init(struct tc__reorder_ring *r, unsigned char *block, size_t bytes)
{
    size_t slots = slots_for(bytes);
    *r = (struct tc__reorder_ring){.block = block,
                                   .size = bytes & ~(ALIGN - 1),
                                   .slot_mask = (slots < SLOTS_MIN ? slots : SLOTS_MIN) - 1,
                                   .slot_mask_max = slots - 1};
    r->slots = block == NULL ? NULL : calloc(slots, sizeof *r->slots);
    return r->slots != NULL;
}

bool tc__reorder_init(struct tc__reorder *h, size_t bytes)
{
    *h = (struct tc__reorder){0};
    tc_event_strings_init(&h->strings);
    /* A reader may copy a whole event: the last one may be shorter than that. */
    size_t ahead = bytes / 4 & ~(ALIGN - 1);
    size_t near = (bytes - ahead) & ~(ALIGN - 1);
    size_t order_max = slots_for(near) + slots_for(ahead);
    h->block = malloc(near + ahead + sizeof(struct tc_event));
    h->heap = calloc(slots_for(ahead), sizeof *h->heap);
    h->order = calloc(order_max, sizeof *h->order);
    h->scratch = calloc(order_max, sizeof *h->scratch);
    h->bounds = calloc(slots_for(near) / BLOCK_SLOTS + 1, sizeof *h->bounds);
    if (h->heap == NULL || h->order == NULL || h->scratch == NULL || h->bounds == NULL ||
        !ring_init(&h->near, h->block, near) || !ring_init(&h->ahead, h->block + near, ahead)) {
        tc__reorder_fini(h);
        return false;
    }
    return true;
}

void tc__reorder_fini(struct tc__reorder *h)
{
    free(h->near.slots);
    free(h->ahead.slots);
    free(h->block);
    free(h->heap);
    free(h->order);
    free(h->scratch);
    free(h->bounds);
    *h = (struct tc__reorder){0};
}

/* ---- the rings ---- */

/* The n-th that waits, from the oldest on. */
static struct tc__reorder_slot *ring_slot(const struct tc__reorder_ring *r, size_t n)
{
    return &r->slots[(r->first + n) & r->slot_mask];
}

static void ring_wrap(struct tc__reorder_ring *r)
{
    r->wrap = r->head;
    r->wrapped = true;
    r->head = 0;
}

/* Whether the front has room for twice what waits; not in the upper half, so that it can be undone:
 * head <= tail <= wrap. */
static bool wraps_early(const struct tc__reorder_ring *r, size_t len)
{
    return !r->wrapped && r->head >= WRAP_MIN && r->head <= r->size / 2 &&
           r->tail > 2 * (r->head - r->tail) + len;
}

/* What lies at the front moves behind the rest. */
static void ring_unwrap(const struct tc__reorder *h, struct tc__reorder_ring *r)
{
    memcpy(r->block + r->wrap, r->block, r->head);
    for (size_t n = r->count; n > 0; n--) {
        struct tc__reorder_slot *slot = ring_slot(r, n - 1);
        if ((size_t)((unsigned char *)slot->event - r->block) >= r->head) {
            break;
        }
        slot->event = (struct tc_event *)(void *)((unsigned char *)slot->event + r->wrap);
        for (size_t i = 0; i < h->strings.counts[slot->kind]; i++) {
            struct tc_slice *s = tc_event_string(slot->event, h->strings.offsets[slot->kind][i]);
            s->ptr = s->len == 0 ? s->ptr : s->ptr + r->wrap;
        }
    }
    r->head += r->wrap;
    r->wrapped = false;
}

/* Whether there is room for so many bytes at head, which is where they belong then. */
static bool ring_find_room(const struct tc__reorder *h, struct tc__reorder_ring *r, size_t len)
{
    if (wraps_early(r, len)) {
        ring_wrap(r);
    }
    if (r->wrapped && r->tail - r->head <= len && r->wrap <= r->size / 2) {
        ring_unwrap(h, r);
    }
    if (!r->wrapped && r->size - r->head < len) {
        /* Not quite up to the tail: head == tail would mean empty. */
        if (len >= r->tail) {
            return false;
        }
        ring_wrap(r);
    }
    return !r->wrapped || r->tail - r->head > len;
}

static struct tc__reorder_slot *collected(const struct tc__reorder *h, size_t at)
{
    return (struct tc__reorder_slot *)(uintptr_t)h->order[at].value;
}

/* Where a slot is now, of which those before `end` have moved. */
static struct tc__reorder_slot *moved_slot(struct tc__reorder_slot *slot,
                                           const struct tc__reorder_ring *r,
                                           const struct tc__reorder_slot *end, size_t by)
{
    return slot >= r->slots && slot < end ? slot + by : slot;
}

/* Twice as many slots: those that came round move behind the others, and are known by all that lead
 * to them: bounds, the heap, and what a failure left to be handed over. */
static void double_slots(struct tc__reorder *h, struct tc__reorder_ring *r)
{
    size_t size = r->slot_mask + 1;
    size_t moved = r->first + r->count > size ? r->first + r->count - size : 0;
    const struct tc__reorder_slot *end = r->slots + moved;
    memcpy(r->slots + size, r->slots, moved * sizeof *r->slots);
    r->slot_mask = 2 * size - 1;
    if (r == &h->near) {
        memcpy(h->bounds + size / BLOCK_SLOTS, h->bounds,
               (moved + BLOCK_SLOTS - 1) / BLOCK_SLOTS * sizeof *h->bounds);
    }
    for (size_t i = 0; i < h->heap_count; i++) {
        h->heap[i] = moved_slot(h->heap[i], r, end, size);
    }
    for (size_t i = h->order_at; i < h->order_count; i++) {
        struct tc__reorder_slot *slot = moved_slot(collected(h, i), r, end, size);
        h->order[i].value = (uint64_t)(uintptr_t)slot;
    }
}

/* Room for an event of that length; NULL when there is none. */
static struct tc__reorder_slot *ring_push(struct tc__reorder *h, struct tc__reorder_ring *r,
                                          size_t len)
{
    if (r->count == 0) {
        r->head = r->tail = r->first = 0;
        r->wrapped = false;
    }
    if (!ring_find_room(h, r, len)) {
        return NULL;
    }
    if (r->count == r->slot_mask && r->slot_mask < r->slot_mask_max) {
        double_slots(h, r);
    }
    struct tc__reorder_slot *slot = ring_slot(r, r->count);
    slot->event = (struct tc_event *)(void *)(r->block + r->head);
    slot->len = (uint32_t)len;
    r->head += len;
    r->count++;
    return slot;
}

/* What was handed over leaves, as far as nothing older stays. */
static void ring_sweep(struct tc__reorder_ring *r)
{
    while (r->count > 0 && ring_slot(r, 0)->gone) {
        r->tail += ring_slot(r, 0)->len;
        r->first = (r->first + 1) & r->slot_mask;
        r->count--;
        if (r->wrapped && r->tail == r->wrap) {
            r->tail = 0;
            r->wrapped = false;
        }
    }
}

/* ---- copies ---- */

static void fill(const struct tc__reorder *h, struct tc__reorder_slot *slot,
                 const struct tc_event *ev, bool past)
{
    slot->time_ns = ev->time_ns;
    slot->kind = (uint8_t)ev->kind;
    slot->gone = false;
    slot->past = past;
    tc_event_copy(&h->strings, ev, slot->event);
    slot->event->sender = h->sender != 0 ? h->sender : ev->sender;
}

bool tc__reorder_fits(const struct tc__reorder *h, const struct tc_event *ev)
{
    /* Half of a ring fits whatever lies at its end. */
    size_t len = tc_event_copy_bytes(&h->strings, ev);
    return len <= h->ahead.size / 2 && len <= UINT32_MAX;
}

/* The n-th that waits, counted over blocks that begin where the list of slots does. */
static size_t slot_number(const struct tc__reorder_ring *r, size_t n)
{
    return (r->first + n) & r->slot_mask;
}

/* The youngest of near was added. */
static void lower_bound(struct tc__reorder *h, int64_t time_ns)
{
    const struct tc__reorder_ring *r = &h->near;
    size_t number = slot_number(r, r->count - 1);
    size_t block = number / BLOCK_SLOTS;
    /* A block begins anew, unless the oldest are still at its end. */
    bool anew = number % BLOCK_SLOTS == 0 && (r->count == 1 || r->first / BLOCK_SLOTS != block);
    h->bounds[block] = anew || time_ns < h->bounds[block] ? time_ns : h->bounds[block];
}

bool tc__reorder_add(struct tc__reorder *h, const struct tc_event *ev, int64_t due_ns, bool past)
{
    bool is_first = h->near.count == 0;
    struct tc__reorder_slot *slot = ring_push(h, &h->near, tc_event_copy_bytes(&h->strings, ev));
    if (slot == NULL) {
        return false;
    }
    fill(h, slot, ev, past);
    slot->due_ns = due_ns;
    slot->is_present = !past;
    h->present_count += !past;
    slot->in_order = is_first || h->last_ns < ev->time_ns ||
                     (h->last_ns == ev->time_ns && h->last_kind <= slot->kind);
    h->last_ns = ev->time_ns;
    h->last_kind = slot->kind;
    lower_bound(h, ev->time_ns);
    return true;
}

/* ---- what is ahead ---- */

static bool is_before(const struct tc__reorder_slot *a, const struct tc__reorder_slot *b)
{
    return a->time_ns < b->time_ns;
}

static void heap_up(struct tc__reorder_slot **heap, size_t at)
{
    while (at > 0 && is_before(heap[at], heap[(at - 1) / 2])) {
        struct tc__reorder_slot *held = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = held;
        at = (at - 1) / 2;
    }
}

static struct tc__reorder_slot *heap_pop(struct tc__reorder *h)
{
    struct tc__reorder_slot *top = h->heap[0];
    struct tc__reorder_slot **heap = h->heap;
    heap[0] = heap[--h->heap_count];
    for (size_t at = 0;;) {
        size_t first = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < h->heap_count; child++) {
            first = is_before(heap[child], heap[first]) ? child : first;
        }
        if (first == at) {
            return top;
        }
        struct tc__reorder_slot *held = heap[at];
        heap[at] = heap[first];
        heap[first] = held;
        at = first;
    }
}

bool tc__reorder_add_ahead(struct tc__reorder *h, const struct tc_event *ev, bool past)
{
    struct tc__reorder_slot *slot = ring_push(h, &h->ahead, tc_event_copy_bytes(&h->strings, ev));
    if (slot == NULL) {
        return false;
    }
    fill(h, slot, ev, past);
    slot->is_present = false;
    h->heap[h->heap_count] = slot;
    heap_up(h->heap, h->heap_count++);
    return true;
}

/* ---- handing over ---- */

static void sweep(struct tc__reorder *h)
{
    ring_sweep(&h->near);
    ring_sweep(&h->ahead);
}

static void leave(struct tc__reorder *h, struct tc__reorder_slot *slot)
{
    slot->gone = true;
    h->present_count -= slot->is_present;
}

/* In order as they lie there: the common case. */
static tc_status give_straight(struct tc__reorder *h, size_t count, tc__reorder_fn take,
                               void *context)
{
    tc_status status = TC_OK;
    for (size_t i = 0; i < count && status == TC_OK; i++) {
        struct tc__reorder_slot *slot = ring_slot(&h->near, i);
        if (!slot->gone) {
            leave(h, slot);
            status = take(context, slot->event, slot->past);
        }
    }
    sweep(h);
    return status;
}

/* One more that is to be handed over. Equal times and kinds stay as they came. */
static void collect(struct tc__reorder *h, size_t at, struct tc__reorder_slot *slot)
{
    h->order[at] = (struct tc_sort_pair){.key = (uint64_t)slot->time_ns ^ SIGN_BIT,
                                         .value = (uint64_t)(uintptr_t)slot};
}

/* The oldest of near, in the order in which they are told. */
static size_t collect_near(struct tc__reorder *h, size_t near_count)
{
    size_t count = 0;
    for (size_t i = 0; i < near_count; i++) {
        struct tc__reorder_slot *slot = ring_slot(&h->near, i);
        if (!slot->gone) {
            collect(h, count++, slot);
        }
    }
    return count;
}

/* Those of a block from `from` on that are dated up to a time; the bound is made exact. */
static size_t collect_block(struct tc__reorder *h, size_t from, size_t slots, int64_t to_ns,
                            size_t count)
{
    int64_t bound_ns = INT64_MAX;
    for (size_t i = from; i < from + slots; i++) {
        struct tc__reorder_slot *slot = ring_slot(&h->near, i);
        if (slot->gone) {
            continue;
        }
        bound_ns = slot->time_ns < bound_ns ? slot->time_ns : bound_ns;
        if (slot->time_ns <= to_ns) {
            collect(h, count++, slot);
        }
    }
    if (slots == BLOCK_SLOTS) { /* else some of it lie elsewhere in the ring */
        h->bounds[slot_number(&h->near, from) / BLOCK_SLOTS] = bound_ns;
    }
    return count;
}

/* Those of near behind the first so many that are dated up to a time. */
static size_t collect_behind(struct tc__reorder *h, size_t from, int64_t to_ns, size_t count)
{
    while (from < h->near.count) {
        size_t number = slot_number(&h->near, from);
        size_t slots = BLOCK_SLOTS - number % BLOCK_SLOTS;
        slots = slots < h->near.count - from ? slots : h->near.count - from;
        if (h->bounds[number / BLOCK_SLOTS] <= to_ns) {
            count = collect_block(h, from, slots, to_ns, count);
        }
        from += slots;
    }
    return count;
}

/* What was collected: by time, and by kind where times are equal. */
static void sort_collected(struct tc__reorder *h, size_t count)
{
    tc_sort_keys(h->order, h->scratch, count);
    for (size_t from = 0, to; from < count; from = to) {
        int64_t time_ns = collected(h, from)->time_ns;
        bool in_order = true;
        for (to = from + 1; to < count && collected(h, to)->time_ns == time_ns; to++) {
            in_order = in_order && collected(h, to - 1)->kind <= collected(h, to)->kind;
        }
        for (size_t i = from; i < to && !in_order; i++) {
            h->order[i].key = collected(h, i)->kind;
        }
        if (!in_order) {
            tc_sort_keys(h->order + from, h->scratch, to - from);
        }
    }
}

/*
 * Goes on with what was collected and sorted. What a failure leaves stays as it is, so that whoever
 * is called often for a little of it sorts once. How many were handed over is added to *io_given.
 */
static tc_status give_collected(struct tc__reorder *h, tc__reorder_fn take, void *context,
                                size_t *io_given)
{
    tc_status status = TC_OK;
    while (h->order_at < h->order_count && status == TC_OK) {
        struct tc__reorder_slot *slot = collected(h, h->order_at++);
        leave(h, slot);
        (*io_given)++;
        status = take(context, slot->event, slot->past);
    }
    sweep(h);
    return status;
}

static tc_status give_sorted(struct tc__reorder *h, size_t count, tc__reorder_fn take,
                             void *context, size_t *io_given)
{
    sort_collected(h, count);
    h->order_at = 0;
    h->order_count = count;
    return give_collected(h, take, context, io_given);
}

tc_status tc__reorder_release(struct tc__reorder *h, int64_t due_ns, int64_t clock_ns,
                              tc__reorder_fn take, void *context)
{
    size_t given = 0;
    TC_TRY(give_collected(h, take, context, &given));
    size_t near_count = 0;
    int64_t latest_ns = INT64_MIN;
    bool in_order = tc__reorder_due_ahead(h) > clock_ns;
    for (; near_count < h->near.count; near_count++) {
        const struct tc__reorder_slot *slot = ring_slot(&h->near, near_count);
        if (slot->due_ns > due_ns && (near_count == 0 || slot->time_ns > latest_ns)) {
            break;
        }
        in_order = in_order && (near_count == 0 || slot->in_order);
        latest_ns = slot->time_ns > latest_ns ? slot->time_ns : latest_ns;
    }
    size_t behind = near_count == 0 ? 0 : collect_behind(h, near_count, latest_ns, 0);
    if (in_order && behind == 0) {
        return near_count == 0 ? TC_OK : give_straight(h, near_count, take, context);
    }
    size_t count = collect_near(h, near_count);
    count = behind == 0 ? count : collect_behind(h, near_count, latest_ns, count);
    while (tc__reorder_due_ahead(h) <= clock_ns) {
        collect(h, count++, heap_pop(h));
    }
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
    size_t given = 0;
    tc_status status = give_collected(h, take, context, &given);
    if (status == TC_OK && *io_left > 0) {
        size_t count = collect_near(h, *io_left < h->near.count ? *io_left : h->near.count);
        *io_left = 0;
        status = give_sorted(h, count, take, context, &given);
    }
    *io_count += given;
    return status;
}

tc_status tc__reorder_flush_ahead(struct tc__reorder *h, size_t *io_left, tc__reorder_fn take,
                                  void *context, uint64_t *io_count)
{
    size_t given = 0;
    tc_status status = give_collected(h, take, context, &given);
    if (status == TC_OK && *io_left > 0) {
        size_t count = 0;
        for (; count < *io_left && h->heap_count > 0; count++) {
            collect(h, count, heap_pop(h));
        }
        *io_left = 0;
        status = give_sorted(h, count, take, context, &given);
    }
    *io_count += given;
    return status;
}

int64_t tc__reorder_due_near(const struct tc__reorder *h)
{
    return h->near.count == 0 ? INT64_MAX : ring_slot(&h->near, 0)->due_ns;
}

int64_t tc__reorder_due_ahead(const struct tc__reorder *h)
{
    return h->heap_count == 0 ? INT64_MAX : h->heap[0]->time_ns;
}

bool tc__reorder_has_present(const struct tc__reorder *h)
{
    return h->present_count > 0;
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
