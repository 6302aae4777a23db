/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs that are decoded before their turn, on two threads. The merge asks every stream for its
 * first event, one after the other, and a stream decodes its file then, or a first batch of it:
 * that is half of the work on a fleet, nearly all of it on kernel logs, and the files have nothing
 * to do with each other.
 *
 * What comes of it is what one thread would make. Each thread decodes into a pool of its own; the
 * caller takes the streams over in their order, and only those of which one thread would have made
 * the same, whatever was decoded before. Others are decoded again in their turn: those that
 * failed, and those near the budget. docs/internals/offline.md says more.
 */
#ifndef TC_OFFLINE_AHEAD_H
#define TC_OFFLINE_AHEAD_H

#include "intake/stream.h"

struct tc_ahead;

/*
 * Begins to decode. NULL when there is nothing to gain, or no memory or thread for it: then streams
 * are read as they are. Borrows both; streams are initialised, have `pool`, and are touched by
 * nobody else until they were taken.
 */
struct tc_ahead *tc_ahead_create(struct tc_stream_pool *pool, struct tc_source_stream *streams,
                                 size_t count);
/*
 * The first event of stream i, for i from 0 on, each once: true when it was decoded ahead. Then the
 * stream goes on as if tc_source_stream_next had returned *out. Else it is as at first.
 */
bool tc_ahead_take(struct tc_ahead *a, size_t i, const struct tc_event **out);
/* Ends the thread; streams that were not taken are empty then. Takes NULL too. */
void tc_ahead_destroy(struct tc_ahead *a);

/* Processors that this process may use. */
size_t tc_ahead_processors(void);

#endif
