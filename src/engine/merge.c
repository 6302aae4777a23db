/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/merge.h"

#include "base/table/grow.h"

#include <stdlib.h>

#define STREAMS_MAX ((size_t)1 << 30)

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

const struct tc_event *tc_merger_head(const struct tc_merger *m)
{
    return m->count == 0 ? NULL : m->heap[0].head;
}

tc_status tc_merger_go_on(struct tc_merger *m)
{
    return has_copy(m->heap, m->count) ? go_on_all(m->heap, &m->count, &m->copies)
                                       : go_on(m->heap, &m->count);
}

tc_status tc_merger_add(struct tc_merger *m, struct tc_stream stream)
{
    TC_TRY(tc_grow_items(m->heap, m->cap, m->count + 1, STREAMS_MAX));
    TC_TRY(stream.next(stream.context, &stream.head));
    if (stream.head != NULL) {
        m->heap[m->count] = stream;
        join(m->heap, &m->count);
    }
    return TC_OK;
}

void tc_merger_fini(struct tc_merger *m)
{
    free(m->heap);
    *m = (struct tc_merger){0};
}

tc_status tc_merge(struct tc_stream *streams, size_t count,
                   tc_status (*take)(void *context, const struct tc_event *ev), void *context,
                   uint64_t *out_copies)
{
    struct tc_merger m = {.heap = streams};
    *out_copies = 0;
    for (size_t i = 0; i < count; i++) {
        TC_TRY(streams[i].next(streams[i].context, &streams[i].head));
        if (streams[i].head != NULL) {
            swap(&streams[m.count++], &streams[i]);
        }
    }
    for (size_t i = m.count / 2; i > 0; i--) {
        sift(streams, m.count, i - 1);
    }
    while (m.count > 0) {
        TC_TRY(take(context, streams[0].head));
        TC_TRY(tc_merger_go_on(&m));
        *out_copies = m.copies;
    }
    return TC_OK;
}
