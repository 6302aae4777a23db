/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A split between two windows of h values each, for h = 4, 8, 16 ...: the difference of their sums
 * of scores, over sqrt(2 h). It finds a level that does not last, which splitting a long segment in
 * two hardly shows. Scores are distances from the segment's median in units of its spread, cut off
 * at 3: two odd values side by side are no level.
 */
#include "stats/segment_priv.h"

#include <math.h>
#include <stdlib.h>

#define WINDOW_MIN 4

/* The largest difference of two neighbouring windows of h values; where it is. */
static int32_t widest(const int32_t *prefix, size_t n, size_t h, size_t *out_at)
{
    int32_t best = 0;
    for (size_t i = h; i + h <= n; i++) {
        int32_t d = abs(prefix[i + h] - 2 * prefix[i] + prefix[i - h]);
        if (d > best) {
            best = d;
            *out_at = i;
        }
    }
    return best;
}

double tc__split_by_windows(struct tc__segment *s, size_t segment_min, double enough,
                            size_t *out_at)
{
    double best = 0;
    *out_at = 0;
    s->prefix[0] = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->prefix[i + 1] = s->prefix[i] + s->score[s->items[i]];
    }
    size_t first = segment_min > WINDOW_MIN ? segment_min : WINDOW_MIN;
    for (size_t h = first; 2 * h <= s->n && best < enough; h *= 2) {
        size_t at = 0;
        double d = widest(s->prefix, s->n, h, &at) / sqrt(2 * (double)h);
        if (d > best) {
            best = d;
            *out_at = at;
        }
    }
    return best;
}
