/* SPDX-License-Identifier: Apache-2.0 */
/* Events that a test keeps beyond the batch that they were decoded in. */
#ifndef TC_TESTS_SUPPORT_EVENT_OWN_H
#define TC_TESTS_SUPPORT_EVENT_OWN_H

#include "base/arena.h"
#include "event/event.h"
#include "event/fields.h"

/* Copies the strings of ev into arena; false when that is full. */
static inline bool event_own(struct tc_event *ev, struct tc_arena *arena)
{
    uint16_t offsets[TC_EVENT_STRINGS_MAX];
    size_t count = tc_event_strings(ev->kind, offsets);
    for (size_t i = 0; i < count; i++) {
        struct tc_slice *s = tc_event_string(ev, offsets[i]);
        if (s->len > 0) {
            *s = tc_arena_copy(arena, *s);
        }
    }
    return tc_arena_ok(arena);
}

#endif
