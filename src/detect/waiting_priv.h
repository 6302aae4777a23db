/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a window that wait for a time: for the rest of what happened at the
 * same instant, for what may still join them, or for quiet. Sorted by the caller's
 * order, so that verdicts leave in the same order however equal-time events came.
 *
 * A walk visits every waiting record, but only happens when one of them is due.
 */
#ifndef TC_DETECT_WAITING_PRIV_H
#define TC_DETECT_WAITING_PRIV_H

#include "base/arena.h"
#include "base/status.h"
#include "detect/window_priv.h"
#include "event/finding.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_WAITING_NEVER INT64_MAX

/* Invariant: no record is in the list twice; next_ns is not after the time of any of them. */
struct tc_waiting {
    uint64_t *names; /* positions in the window's ring; some may have left it */
    size_t count;
    size_t max;
    int64_t next_ns;
    bool running; /* what is added during a walk goes to the end and is visited next time */
};

/* True when record a is to be visited before b. */
typedef bool (*tc_waiting_before_fn)(const void *a, const void *b);
/*
 * Looks at a waiting record at a time. *io_due_ns comes as TC_WAITING_NEVER: left like
 * that, the record no longer waits.
 */
typedef tc_status (*tc_waiting_visit_fn)(void *state, void *record, int64_t now_ns,
                                         const struct tc_sink *out, int64_t *io_due_ns);

/* `max` is the most records that the window's ring can hold. False when the arena is full. */
bool tc__waiting_init(struct tc_waiting *due, struct tc_arena *arena, size_t max);
/* Adds a record that does not wait yet. */
void tc__waiting_add(struct tc_waiting *due, const struct tc_window *w, const void *record,
                     int64_t due_ns, tc_waiting_before_fn before);
/* A record that waits already has to be seen earlier. */
static inline void tc__waiting_hasten(struct tc_waiting *due, int64_t due_ns)
{
    due->next_ns = due_ns < due->next_ns ? due_ns : due->next_ns;
}
/* Visits all, when one is due at now_ns. A record whose visit failed keeps waiting. */
TC_CHECKED tc_status tc__waiting_run(struct tc_waiting *due, const struct tc_window *w,
                                     int64_t now_ns, tc_waiting_visit_fn visit, void *state,
                                     const struct tc_sink *out);

#endif
