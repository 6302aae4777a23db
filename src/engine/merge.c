/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/merge.h"

static void swap(struct tc_stream *a, struct tc_stream *b)
{
    struct tc_stream t = *a;
    *a = *b;
    *b = t;
}

/* Restores the heap below i: heap[0] has the earliest head. */
static void sift(struct tc_stream *heap, size_t count, size_t i)
{
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < count; child++) {
            if (tc_event_order(heap[child].head, heap[least].head) < 0) {
                least = child;
            }
        }
        if (least == i) {
            return;
        }
        swap(&heap[i], &heap[least]);
        i = least;
    }
}

/* The head of heap[i] has been dealt with: its stream goes on, or leaves. */
static tc_status go_on(struct tc_stream *heap, size_t *io_live, size_t i)
{
    TC_TRY(heap[i].next(heap[i].context, &heap[i].head));
    if (heap[i].head == NULL) {
        heap[i] = heap[--*io_live];
    }
    sift(heap, *io_live, i);
    return TC_OK;
}

/*
 * Whatever other sources say word for word as heap[0] does is passed over. What is equal to the
 * earliest is next to it, in one of its two children.
 */
static tc_status skip_copies(struct tc_stream *heap, size_t *io_live, uint64_t *io_copies)
{
    const struct tc_event *ev = heap[0].head;
    for (size_t i = 1; i < 3 && i < *io_live;) {
        const struct tc_event *other = heap[i].head;
        if (other->raw.source == ev->raw.source || tc_event_cmp(other, ev) != 0) {
            i++;
            continue;
        }
        ++*io_copies;
        TC_TRY(go_on(heap, io_live, i));
        i = 1;
    }
    return TC_OK;
}

tc_status tc_merge(struct tc_stream *streams, size_t count,
                   tc_status (*take)(void *context, const struct tc_event *ev), void *context,
                   uint64_t *out_copies)
{
    size_t live = 0;
    *out_copies = 0;
    for (size_t i = 0; i < count; i++) {
        TC_TRY(streams[i].next(streams[i].context, &streams[i].head));
        if (streams[i].head != NULL) {
            swap(&streams[live++], &streams[i]);
        }
    }
    for (size_t i = live / 2; i > 0; i--) {
        sift(streams, live, i - 1);
    }
    while (live > 0) {
        TC_TRY(take(context, streams[0].head));
        TC_TRY(skip_copies(streams, &live, out_copies));
        TC_TRY(go_on(streams, &live, 0));
    }
    return TC_OK;
}
