/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a window that wait for a time: for the rest of what happened at the same instant, for
 * what may still join them, or for quiet. Whoever adds a record notes that in the record, so that
 * it waits once. A record may have left its window when its time comes: then it is forgotten.
 *
 * Records stand in the caller's order, so that verdicts leave in the same order however equal-time
 * events came, or else in the order in which they were added. A queue is emptied in one of two
 * ways:
 * - tc__waiting_take gives the first one when it is due, for records whose times do not fall;
 * - tc__waiting_run visits all of them when one is due, for records that go on to wait.
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

/* True when record a is to be visited before b. */
typedef bool (*tc_waiting_before_fn)(const void *a, const void *b);
/*
 * Looks at a waiting record at a time. *io_due_ns comes as TC_WAITING_NEVER: left like
 * that, the record no longer waits.
 */
typedef tc_status (*tc_waiting_visit_fn)(void *state, void *record, int64_t now_ns,
                                         const struct tc_sink *out, int64_t *io_due_ns);

/*
 * Invariants: no record is in the queue twice, unless it is only emptied with tc__waiting_take;
 * count <= max; next_ns is not after the time of any of them.
 */
struct tc_waiting {
    const struct tc_window *window;
    tc_waiting_before_fn before; /* NULL: as they are added */
    struct tc_wait {
        uint64_t pos; /* of the record in the window's ring; it may have left that */
        int64_t due_ns;
    } * items; /* a ring: the first is at [first] */
    size_t max;
    size_t first;
    size_t count;
    int64_t next_ns;
    uint64_t swept_tail; /* the window's oldest record when all were last looked at for room */
    bool running;        /* what is added during a walk goes to the end and is visited next time */
};

/* A queue for at most `max` records, times the scale, of a window that is open. False when the
 * arena is full. */
bool tc__waiting_init(struct tc_waiting *q, struct tc_arena *arena, const struct tc_window *window,
                      size_t max, tc_waiting_before_fn before);
/* Adds a record that does not wait yet. False when the queue is full. */
bool tc__waiting_add(struct tc_waiting *q, const void *record, int64_t due_ns);
/* A record that waits already has to be seen earlier: for tc__waiting_run. */
static inline void tc__waiting_hasten(struct tc_waiting *q, int64_t due_ns)
{
    q->next_ns = due_ns < q->next_ns ? due_ns : q->next_ns;
}
/* Takes the first record out of the queue if its time has come, with that time when out_due_ns is
 * not NULL; NULL when none is due. */
void *tc__waiting_take_first(struct tc_waiting *q, int64_t now_ns, int64_t *out_due_ns);
static inline void *tc__waiting_take(struct tc_waiting *q, int64_t now_ns, int64_t *out_due_ns)
{
    /* Asked whenever time passes, and most of the time nothing is due. */
    return q->count == 0 || q->items[q->first].due_ns > now_ns
               ? NULL
               : tc__waiting_take_first(q, now_ns, out_due_ns);
}
/* Visits all, when one is due at now_ns. A record whose visit failed keeps waiting. */
TC_CHECKED tc_status tc__waiting_run(struct tc_waiting *q, int64_t now_ns,
                                     tc_waiting_visit_fn visit, void *state,
                                     const struct tc_sink *out);

#endif
