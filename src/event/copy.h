/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of events with their strings, one after another in a block of the caller's. A copy has
 * only as much of struct tc_event as its kind has, then the bytes of its strings. Who reads it may
 * copy a whole struct tc_event: behind the last copy of a block there is that much room.
 */
#ifndef TC_EVENT_COPY_H
#define TC_EVENT_COPY_H

#include "event/event.h"
#include "event/fields.h"

#include <stddef.h>

#define TC_EVENT_COPY_ALIGN ((size_t)8)

/* The least that any copy takes. */
#define TC_EVENT_COPY_MIN offsetof(struct tc_event, nccl)

/* What of struct tc_event events of a kind have: the rest belongs to other kinds. A multiple of
 * TC_EVENT_COPY_ALIGN. */
size_t tc_event_kind_bytes(enum tc_event_kind kind);

/* What a copy of ev takes, up to a multiple of TC_EVENT_COPY_ALIGN. */
size_t tc_event_copy_bytes(const struct tc_event_strings *strings, const struct tc_event *ev);

/* Writes the copy to `to`, aligned to TC_EVENT_COPY_ALIGN; its strings are there too. */
void tc_event_copy(const struct tc_event_strings *strings, const struct tc_event *ev,
                   struct tc_event *to);

#endif
