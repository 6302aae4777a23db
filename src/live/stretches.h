/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stretches of time that late events tell of, until somebody has them checked again from the
 * store. Those that are near each other are one; when there are too many, the two nearest become
 * one: nothing is forgotten, at worst more is read again than need be. docs/internals/late.md
 */
#ifndef TC_LIVE_STRETCHES_H
#define TC_LIVE_STRETCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_STRETCHES_MAX 8

struct tc_stretch {
    int64_t from_ns; /* the time that is told of */
    int64_t to_ns;
    int64_t arrived_from_ns; /* when it was told */
    int64_t arrived_to_ns;
    uint64_t events;
    bool looked; /* it was checked; what its silence means is not known yet */
};

/* Invariant: items ascend, and none is within near_ns of the next. */
struct tc_stretches {
    struct tc_stretch items[TC_STRETCHES_MAX + 1];
    size_t count;
    int64_t near_ns;
};

/* Adds a stretch; it joins those that it reaches. */
void tc_stretches_add(struct tc_stretches *s, const struct tc_stretch *stretch);
/* When a stretch is ready. */
struct tc_stretch_wait {
    int64_t quiet_ns;   /* nothing of it has arrived for so long, */
    int64_t longest_ns; /* or the first of it so long ago */
    int64_t silence_ns; /* nothing of one that was looked at has arrived for so long */
};
/* Takes the stretch that has waited longest of those that are ready. False when there is none. */
bool tc_stretches_take(struct tc_stretches *s, int64_t now_ns, const struct tc_stretch_wait *wait,
                       struct tc_stretch *out);

#endif
