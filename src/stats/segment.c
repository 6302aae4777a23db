/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/segment_priv.h"
#include "stats/stats.h"
#include "stats/stats_priv.h"

#include <math.h>

/* Scores are in units of 1 / SCORE_UNIT scales, and beyond SCORE_MAX scales all the same. */
#define SCORE_UNIT 1024
#define SCORE_MAX 3

_Static_assert((int64_t)4 * SCORE_UNIT * SCORE_MAX * TC_CHANGES_POINTS_MAX < INT32_MAX,
               "sums of scores fit");

void tc__segment_init(struct tc__segment *s, size_t most, struct tc_arena *arena)
{
    *s = (struct tc__segment){
        .items = tc_new(arena, uint32_t, most),
        .rank = tc_new(arena, uint32_t, most),
        .distance = tc_new(arena, uint64_t, most),
        .score = tc_new(arena, int32_t, most),
        .tree = tc_new(arena, uint64_t, most + 1),
        .prefix = tc_new(arena, int32_t, most + 1),
        .sorted = tc_new(arena, double, most),
        .pairs = tc_new(arena, struct tc_sort_pair, most),
        .scratch = tc_new(arena, struct tc_sort_pair, most),
    };
}

static void fill_ranks(struct tc__segment *s)
{
    s->levels = 0;
    for (size_t i = 0, end; i < s->n; i = end) {
        for (end = i; end < s->n && s->pairs[end].key == s->pairs[i].key; end++) {
            s->items[s->pairs[end].value] = (uint32_t)s->levels;
        }
        s->rank[s->levels++] = (uint32_t)(i + end + 1);
    }
}

/* From ranks in order: below a level are i values, whose ranks add up to sum. */
static void fill_distances(struct tc__segment *s)
{
    const uint64_t total = (uint64_t)s->n * (s->n + 1);
    uint64_t sum = 0;
    s->all = 0;
    for (size_t i = 0, level = 0, end; level < s->levels; level++, i = end) {
        uint64_t r = s->rank[level];
        end = (size_t)r - i - 1;
        uint64_t equal = end - i;
        s->distance[level] = r * i - sum + (total - sum - equal * r) - r * (s->n - end);
        s->all += s->distance[level] * equal;
        sum += equal * r;
    }
    s->all /= 2;
}

static void fill_scores(struct tc__segment *s)
{
    struct tc_spread spread = tc_sorted_spread((struct tc_sorted){s->sorted, s->n});
    for (size_t i = 0, level = 0; level < s->levels; level++) {
        double z = tc_robust_z(&spread, s->sorted[i]);
        z = fmin(fmax(z, -SCORE_MAX), SCORE_MAX);
        s->score[level] = (int32_t)lrint(z * SCORE_UNIT);
        i = s->rank[level] - i - 1;
    }
}

void tc__segment_fill(struct tc__segment *s, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->pairs[i] = (struct tc_sort_pair){tc__key_of(values[i]), i};
    }
    tc_sort_keys(s->pairs, s->scratch, n);
    for (size_t i = 0; i < n; i++) {
        s->sorted[i] = values[s->pairs[i].value];
    }
    s->n = n;
    fill_ranks(s);
    fill_distances(s);
    fill_scores(s);
}
