/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several ordered streams of events become one: the canonical order of
 * tc_event_cmp, so the result does not depend on the order of the streams.
 * O(log streams) an event; a single stream costs nothing extra.
 */
#ifndef TC_ENGINE_MERGE_H
#define TC_ENGINE_MERGE_H

#include "base/status.h"
#include "event/event.h"

#include <stddef.h>

/*
 * Gives the next event of a stream, or NULL in *out at its end. The event stays
 * valid until the next call on the same stream.
 */
typedef tc_status (*tc_stream_fn)(void *context, const struct tc_event **out);

struct tc_stream {
    tc_stream_fn next;
    void *context;
    const struct tc_event *head; /* the merge's own */
};

/*
 * Streams that are merged, of which more may come. What several tell word for word (a copy of a
 * file, a request that was sent again) is told as often as the one that has it most often.
 * Invariant: heap[0] has the earliest head, and no head is NULL.
 */
struct tc_merger {
    struct tc_stream *heap;
    size_t count; /* that have not ended */
    size_t cap;
    uint64_t copies; /* that were left out */
};

/* One more stream; takes it even when it fails: its context is called no more then. */
TC_CHECKED tc_status tc_merger_add(struct tc_merger *m, struct tc_stream stream);
/* The earliest event, valid until the next call; NULL when all have ended. */
const struct tc_event *tc_merger_head(const struct tc_merger *m);
/* Goes on behind it. There is one. */
TC_CHECKED tc_status tc_merger_go_on(struct tc_merger *m);
/* Frees the heap, not what its streams borrow. */
void tc_merger_fini(struct tc_merger *m);

/* Feeds `take` every event of all streams in order; *out_copies as above. Borrows streams, one for
 * each source; their order is changed. */
TC_CHECKED tc_status tc_merge(struct tc_stream *streams, size_t count,
                              tc_status (*take)(void *context, const struct tc_event *ev),
                              void *context, uint64_t *out_copies);

#endif
