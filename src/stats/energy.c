/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The split of E-divisive (Matteson and James, 2014), on ranks. A split into m and k values has the
 * energy statistic
 *
 *   Q = m k / (m + k) (2 mean |x - y| - mean |x - x'| - mean |y - y'|)
 *
 * with x, y the ranks left and right of it. All sums are of whole numbers, and so exact; the one of
 * the left side grows by a lookup in a Fenwick tree, the others follow from it.
 */
#include "stats/segment_priv.h"
#include "stats/stats.h"

#include <string.h>

/* What the tree holds: a count above, a sum of ranks below. */
#define COUNT_SHIFT 40
#define SUM_MASK ((UINT64_C(1) << COUNT_SHIFT) - 1)

_Static_assert(2 * (uint64_t)TC_CHANGES_POINTS_MAX * TC_CHANGES_POINTS_MAX < SUM_MASK,
               "a sum of doubled ranks fits");

/* Adds a value to those left of the split; the sum of its distances to those that were there. */
static uint64_t add_to_left(struct tc__segment *s, uint32_t level, uint64_t count, uint64_t sum)
{
    uint64_t r = s->rank[level];
    uint64_t packed = 0; /* of the values that are not larger */
    for (size_t i = level + 1; i > 0; i &= i - 1) {
        packed += s->tree[i];
    }
    for (size_t i = level + 1; i <= s->levels; i += i & -i) {
        s->tree[i] += (UINT64_C(1) << COUNT_SHIFT) + r;
    }
    uint64_t low_count = packed >> COUNT_SHIFT;
    uint64_t low_sum = packed & SUM_MASK;
    return r * low_count - low_sum + (sum - low_sum) - r * (count - low_count);
}

double tc__split_by_energy(struct tc__segment *s, size_t segment_min, double enough, size_t *out_at)
{
    double best = 0;
    uint64_t left = 0;      /* sum of distances of pairs on the left */
    uint64_t from_left = 0; /* of those on the left to all */
    uint64_t rank_sum = 0;
    *out_at = 0;
    memset(s->tree, 0, (s->levels + 1) * sizeof *s->tree);
    for (size_t m = 1; m + segment_min <= s->n && best < enough; m++) {
        uint32_t level = s->items[m - 1];
        left += add_to_left(s, level, m - 1, rank_sum);
        rank_sum += s->rank[level];
        from_left += s->distance[level];
        if (m < segment_min) {
            continue;
        }
        double k = (double)(s->n - m);
        double cross = (double)(from_left - 2 * left);
        double right = (double)(s->all + left - from_left);
        /* Q, but for a factor that is the same for all splits. */
        double q = cross - (double)left * k / (double)(m - 1) - right * (double)m / (k - 1);
        if (q > best) {
            best = q;
            *out_at = m;
        }
    }
    return best;
}
