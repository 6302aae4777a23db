/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a stretch of time, out of the store and in order of time, whatever order their
 * batches arrived in. A first pass over the batches (tc_ordered_survey) finds when each begins;
 * then batches are opened in that order and merged, so that memory grows with the batches that
 * overlap in time and not with the stretch.
 *
 * Events without a time are dated by their arrival, and the times of sources whose clocks are fast
 * are corrected, both as in live detection (live/sources.h). What several batches tell word for
 * word (a request that was sent again) is told once. One thread.
 */
#ifndef TC_STORED_ORDERED_H
#define TC_STORED_ORDERED_H

#include "base/digest.h"
#include "base/status.h"
#include "event/event.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Batches of one stretch. */
#define TC_ORDERED_BATCHES_MAX ((size_t)1 << 20)

struct tc_ordered_want {
    const char *evidence_dir;
    int64_t from_ns; /* time of events */
    int64_t to_ns;
    /* Batches that arrived in one of two spans are read: about the time itself, and when what is
     * late of it came. */
    int64_t arrived_from_ns[2];
    int64_t arrived_to_ns[2];
    int64_t ahead_ns;    /* how far an event may be dated after its arrival: see live/sources.h */
    size_t memory_bytes; /* of events that wait for their turn; beyond it they leave early */
    bool undated;        /* events whose time is only an order are wanted too */
    const atomic_bool *cancel; /* ends it with TC_E_LIMIT; NULL: never */
};

struct tc_ordered_counts {
    uint64_t batches;
    uint64_t bytes;    /* of their bodies */
    uint64_t events;   /* that left */
    uint64_t copies;   /* that another batch tells too */
    uint64_t unread;   /* batches that could not be read to their end */
    uint64_t damaged;  /* places of the store that cannot be read */
    uint64_t early;    /* batches that were opened late because memory was full */
    uint64_t held_max; /* bytes of events that waited for their turn, at most */
};

struct tc_ordered;

/* TC_E_NOTFOUND when there is no store. */
TC_CHECKED tc_status tc_ordered_create(const struct tc_ordered_want *want,
                                       struct tc_ordered **out_ordered, struct tc_error *err);
void tc_ordered_destroy(struct tc_ordered *o);

/*
 * The first pass; what was read before begins again. TC_E_LIMIT when there are more than
 * TC_ORDERED_BATCHES_MAX batches. `adjust` (may be NULL) may change an event's
 * time, in this pass and in the reading that follows.
 */
TC_CHECKED tc_status tc_ordered_survey(struct tc_ordered *o,
                                       void (*adjust)(const void *context, struct tc_event *ev),
                                       const void *context, struct tc_error *err);
/* A tc_stream_fn; context is the struct tc_ordered. NULL in *out at the end. */
TC_CHECKED tc_status tc_ordered_next(void *context, const struct tc_event **out);

void tc_ordered_counts(const struct tc_ordered *o, struct tc_ordered_counts *out);
/* When the batch with this low half of its number arrived; false when it is none of these. */
bool tc_ordered_arrival(const struct tc_ordered *o, uint32_t source, int64_t *out_ns);
/* The full number of the batch with this low half, which events name as their source; 0: none. */
uint64_t tc_ordered_batch(const struct tc_ordered *o, uint32_t source);
/* The digest of the body of a batch, by its full number. */
TC_CHECKED tc_status tc_ordered_digest(struct tc_ordered *o, uint64_t number, struct tc_digest *out,
                                       struct tc_error *err);

#endif
