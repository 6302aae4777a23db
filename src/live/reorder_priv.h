/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events that wait: copies of them, with their strings, in two rings of one block that is taken
 * once. `near` holds what waits for earlier events of other senders, in order of arrival; `ahead`
 * what is dated after our clock, in order of its dates by a heap. Beside each ring lies a list of
 * slots, one per event, with all that is asked of the events while they wait: the copies themselves
 * are read only when they are handed over. A slot whose event was handed over is marked and leaves
 * with those before it.
 *
 * What is handed over together is in the order of time, where times are equal in that of kinds, as
 * in tc_event_cmp, and then of arrival: there the detectors do not mind (tests/order), but what a
 * finding cites first, and with it an incident's id, should not depend on which of two sources was
 * faster. Events that come in that order are never sorted. With
 * what is due goes whatever of near is not dated after it: it came in time, and would be late when
 * it is due itself. Blocks of slots have a bound of their times, so that looking for such events
 * does not touch all that wait.
 */
#ifndef TC_LIVE_REORDER_PRIV_H
#define TC_LIVE_REORDER_PRIV_H

#include "base/status.h"
#include "base/table/sort.h"
#include "event/event.h"
#include "event/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc__reorder_slot {
    int64_t time_ns;        /* the event's */
    int64_t due_ns;         /* near: on the arrival clock */
    struct tc_event *event; /* only as much of it as its kind has; its strings follow */
    uint32_t len;           /* of all that */
    bool gone;              /* was handed over */
    bool past;              /* about the past by nature */
    bool is_present;        /* of near, and about the present */
    bool in_order;          /* not before the event that came before it */
    uint8_t kind;           /* enum tc_event_kind */
};

/*
 * Invariants: events lie in [tail, head), or in [tail, wrap) and [0, head) when wrapped; their
 * slots are `count` from `first` on, in the same order, and beyond slot_mask the first ones again.
 *
 * A ring that is never empty would go through all of its block, however little waits at once. So it
 * begins at the front again when there is much more room than it uses; if that was too little after
 * all, what lies there moves behind the rest. Of the slots, too, only as many are gone through as
 * were needed at once.
 */
struct tc__reorder_ring {
    unsigned char *block;
    size_t size;
    size_t head;
    size_t tail;
    size_t wrap;
    bool wrapped;
    struct tc__reorder_slot *slots;
    size_t slot_mask;     /* of those in use */
    size_t slot_mask_max; /* of those there are */
    size_t first;
    size_t count;
};

struct tc__reorder {
    struct tc__reorder_ring near;
    struct tc__reorder_ring ahead;
    unsigned char *block;
    struct tc__reorder_slot **heap; /* of ahead, earliest first */
    size_t heap_count;
    struct tc_sort_pair *order; /* what is handed over now, and room to sort it */
    struct tc_sort_pair *scratch;
    size_t order_at; /* of what was collected, what a failure left begins here */
    size_t order_count;
    int64_t last_ns; /* the time of the youngest of near, if there is one */
    uint8_t last_kind;
    int64_t *bounds; /* by block of slots of near: none that waits there is dated before */
    struct tc_event_strings strings;
    uint32_t sender;      /* of what is added; 0: as the events say */
    size_t present_count; /* of near that wait and are about the present */
};

/* What takes an event that has waited. */
typedef tc_status (*tc__reorder_fn)(void *context, const struct tc_event *ev, bool past);

/* False when there is no memory. */
bool tc__reorder_init(struct tc__reorder *h, size_t bytes);
void tc__reorder_fini(struct tc__reorder *h);

/* Whether an event can be held at all, however empty the hold is. */
bool tc__reorder_fits(const struct tc__reorder *h, const struct tc_event *ev);
/* False when there is no room now. Copies ev. */
bool tc__reorder_add(struct tc__reorder *h, const struct tc_event *ev, int64_t due_ns, bool past);
/* The same for one that waits until our clock shows its time. */
bool tc__reorder_add_ahead(struct tc__reorder *h, const struct tc_event *ev, bool past);

/*
 * Hands over what is due: near by the arrival clock, ahead by our own; and what of near is not
 * dated after the latest of near that is due. A failure stops it; what was handed over by then has
 * left.
 */
TC_CHECKED tc_status tc__reorder_release(struct tc__reorder *h, int64_t due_ns, int64_t clock_ns,
                                         tc__reorder_fn take, void *context);
/*
 * Hands over the oldest records of near, or the earliest of ahead, due or not, *io_left of them:
 * the older half at first (tc__reorder_half_*). A failure leaves the rest sorted as it is and
 * *io_left 0: the next call that hands over, of these three, begins with the rest, and nothing is
 * added before that. *io_count grows by what was handed over.
 */
TC_CHECKED tc_status tc__reorder_flush_near(struct tc__reorder *h, size_t *io_left,
                                            tc__reorder_fn take, void *context, uint64_t *io_count);
TC_CHECKED tc_status tc__reorder_flush_ahead(struct tc__reorder *h, size_t *io_left,
                                             tc__reorder_fn take, void *context,
                                             uint64_t *io_count);
size_t tc__reorder_half_near(const struct tc__reorder *h);
size_t tc__reorder_half_ahead(const struct tc__reorder *h);

/* When the next of near is due, and of ahead; INT64_MAX when there is none. */
int64_t tc__reorder_due_near(const struct tc__reorder *h);
int64_t tc__reorder_due_ahead(const struct tc__reorder *h);
/* Whether some of near are about the present, not about the past by nature. */
bool tc__reorder_has_present(const struct tc__reorder *h);
size_t tc__reorder_count(const struct tc__reorder *h);
/* Bytes of near that are in use. */
size_t tc__reorder_near_bytes(const struct tc__reorder *h);

#endif
