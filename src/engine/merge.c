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

/* The stream behind the heap becomes a part of it. */
static void join(struct tc_stream *heap, size_t *io_live)
{
    size_t i = (*io_live)++;
    for (size_t parent; i > 0; i = parent) {
        parent = (i - 1) / 2;
        if (tc_event_order(heap[i].head, heap[parent].head) >= 0) {
            return;
        }
        swap(&heap[i], &heap[parent]);
    }
}

/* The head of heap[0] has been dealt with: its stream goes on, or leaves. */
static tc_status go_on(struct tc_stream *heap, size_t *io_live)
{
    TC_TRY(heap[0].next(heap[0].context, &heap[0].head));
    if (heap[0].head == NULL) {
        heap[0] = heap[--*io_live];
    }
    sift(heap, *io_live, 0);
    return TC_OK;
}

/* Whether another stream says word for word what heap[0] does: then one of its two children. */
static bool has_copy(const struct tc_stream *heap, size_t live)
{
    return (live > 1 && tc_event_cmp(heap[1].head, heap[0].head) == 0) ||
           (live > 2 && tc_event_cmp(heap[2].head, heap[0].head) == 0);
}

/*
 * One event was told for all streams that begin with it: each of them goes on by one. Who has it
 * once more than the others tells it once more, whichever of them comes first. They are set aside
 * behind the heap meanwhile.
 */
static tc_status go_on_all(struct tc_stream *heap, size_t *io_live, uint64_t *io_copies)
{
    size_t end = *io_live;
    const struct tc_event *ev = heap[0].head;
    do {
        swap(&heap[0], &heap[--*io_live]);
        sift(heap, *io_live, 0);
    } while (*io_live > 0 && tc_event_cmp(heap[0].head, ev) == 0);
    *io_copies += end - *io_live - 1;
    for (size_t i = *io_live; i < end; i++) {
        TC_TRY(heap[i].next(heap[i].context, &heap[i].head));
        if (heap[i].head != NULL) {
            swap(&heap[i], &heap[*io_live]);
            join(heap, io_live);
        }
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
        if (has_copy(streams, live)) {
            TC_TRY(go_on_all(streams, &live, out_copies));
        } else {
            TC_TRY(go_on(streams, &live));
        }
    }
    return TC_OK;
}
