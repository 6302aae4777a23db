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
 * Feeds `take` every event of all streams in order. Borrows streams, one for each source; their
 * order is changed. What several sources tell word for word (a copy of a file, an export made
 * twice) is told as often as the one that has it most often; *out_copies counts the others.
 */
TC_CHECKED tc_status tc_merge(struct tc_stream *streams, size_t count,
                              tc_status (*take)(void *context, const struct tc_event *ev),
                              void *context, uint64_t *out_copies);

#endif
