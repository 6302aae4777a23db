/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the clocks of nodes are apart. All ranks of a job end a step together, so when several
 * nodes log the same steps, the difference of their times is the difference of their clocks.
 * Where most nodes of a job agree, they are right. Where no two agree, nobody can tell who is:
 * then all are taken to the slowest clock, so that what a node logs is at least not dated after
 * what follows from it elsewhere.
 *
 * Only what nodes date themselves is corrected. Kubernetes and the scrapes of a monitor have clocks
 * of their own. docs/internals/clocks.md
 *
 * Memory: TC_CLOCK_STEPS steps per job and node, at most TC_CLOCK_SEATS of these; what does not fit
 * is not measured.
 */
#ifndef TC_OFFLINE_CLOCKS_H
#define TC_OFFLINE_CLOCKS_H

#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_CLOCK_STEPS 64
#define TC_CLOCK_SEATS ((size_t)32768)
/* Clocks nearer than this are as good as equal: nothing is corrected. */
#define TC_CLOCK_LEAST_NS (5 * TC_SECOND)

struct tc_clocks;

/* What is known of a node's clock. */
struct tc_clock {
    struct tc_slice node;
    int64_t ahead_ns; /* of the clocks that are right, or of the slowest; below 0: behind */
    bool sure;        /* several others agree */
};

/* NULL when there is no memory. */
struct tc_clocks *tc_clocks_create(void);
void tc_clocks_destroy(struct tc_clocks *c);

/* Takes note of a step that ended. Other events say nothing. Borrows ev. */
void tc_clocks_note(struct tc_clocks *c, const struct tc_event *ev);
/* Compares what was noted. How many clocks are off by TC_CLOCK_LEAST_NS or more. */
size_t tc_clocks_compare(struct tc_clocks *c);
/* The clocks that are off, furthest first, after tc_clocks_compare; NULL beyond the last. */
const struct tc_clock *tc_clocks_get(const struct tc_clocks *c, size_t index);
/* Gives an event the time that a right clock would have given it. */
void tc_clocks_correct(const struct tc_clocks *c, struct tc_event *ev);

#endif
