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

tc_status tc_merge(struct tc_stream *streams, size_t count,
                   tc_status (*take)(void *context, const struct tc_event *ev), void *context)
{
    size_t live = 0;
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
        TC_TRY(streams[0].next(streams[0].context, &streams[0].head));
        if (streams[0].head == NULL) {
            streams[0] = streams[--live];
        }
        sift(streams, live, 0);
    }
    return TC_OK;
}
