/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A segment of a series, and the two statistics that say where to split it. Both depend on its
 * order and on what a shuffle leaves alone; they are computed once per shuffle.
 */
#ifndef TC_STATS_SEGMENT_PRIV_H
#define TC_STATS_SEGMENT_PRIV_H

#include "base/arena.h"
#include "base/table/sort.h"

#include <stddef.h>
#include <stdint.h>

/* Levels are the different values, smallest first. */
struct tc__segment {
    size_t n;
    size_t levels;
    uint32_t *items; /* the series: the level of each value; this is what a shuffle changes */

    uint32_t *rank;     /* of a level: twice its mean rank */
    uint64_t *distance; /* of a level: sum of the distances of its rank to those of all values */
    uint64_t all;       /* the same of all pairs */
    int32_t *score;     /* of a level: distance from the median in scales, cut off (windows.c) */

    uint64_t *tree;  /* scratch of energy.c */
    int32_t *prefix; /* scratch of windows.c, n + 1 of them */
    double *sorted;
    struct tc_sort_pair *pairs;
    struct tc_sort_pair *scratch;
};

/* Takes memory for segments of up to `most` values; see tc_arena_ok. */
void tc__segment_init(struct tc__segment *s, size_t most, struct tc_arena *arena);
/* Borrows values, which are finite; n > 0. */
void tc__segment_fill(struct tc__segment *s, const double *values, size_t n);

/*
 * The largest value of a statistic over all splits with segment_min values on each side, and how
 * many values lie before that split; at most 0 if there is none. Ends early once it is `enough`.
 */
typedef double tc__split_fn(struct tc__segment *s, size_t segment_min, double enough,
                            size_t *out_at);

tc__split_fn tc__split_by_energy;
tc__split_fn tc__split_by_windows;

#endif
