/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Change points by hierarchical division. A segment is split where a statistic is largest, if few
 * of its values' other orders have as large a one anywhere; then the same for both parts.
 */
#include "base/random.h"
#include "stats/segment_priv.h"
#include "stats/stats.h"
#include "stats/stats_priv.h"

#include <math.h>

/* Two ways to add up the same Q may differ by this share. */
#define ROUNDING 1e-12
/* Permutations of a test, and values in all permutations of a test, if the caller does not say. */
#define PERMUTATIONS_USUAL 999
#define VALUES_PERMUTED 2e6

struct span {
    size_t start;
    size_t end;
};

struct finder {
    const double *series;
    const struct tc_changes_options *options;
    uint32_t permutations;
    struct tc__segment segment;
    struct tc_change *changes; /* in order of index once all are found */
    struct span *tested;       /* the segment in which each was tested */
    size_t count;
    struct span *open; /* segments still to split */
};

static void shuffle(uint32_t *items, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = tc_random_below(state, (uint32_t)i);
        uint32_t swap = items[i - 1];
        items[i - 1] = items[j];
        items[j] = swap;
    }
}

/*
 * How often a statistic of the shuffled segment is at least as large as the observed one, of as
 * many orders as it takes: when no p at the end can be small enough, it ends. Returns p.
 */
static double permute(struct finder *f, tc__split_fn *statistic, double observed, double alpha,
                      uint64_t seed)
{
    const double as_large = observed * (1 - ROUNDING);
    const double too_many = alpha * ((double)f->permutations + 1);
    uint64_t state = tc_random_mix(seed);
    uint32_t found = 0;
    uint32_t done = 0;
    while (done < f->permutations && found < too_many) {
        size_t ignored;
        shuffle(f->segment.items, f->segment.n, &state);
        found += statistic(&f->segment, f->options->segment_min, as_large, &ignored) >= as_large;
        done++;
    }
    return ((double)found + 1) / ((double)done + 1);
}

/*
 * Whether the span has a change; fills where, and its p. There are two tests, each at half of
 * alpha: one for levels that last, and if that finds nothing, one for those that do not.
 */
static bool test_span(struct finder *f, struct span span, struct tc_change *out)
{
    static tc__split_fn *const statistics[] = {tc__split_by_energy, tc__split_by_windows};
    const struct tc_changes_options *o = f->options;
    const double alpha = o->alpha / 2;
    double observed[2];
    size_t at[2];
    if (span.end - span.start < 2 * o->segment_min) {
        return false;
    }
    tc__segment_fill(&f->segment, f->series + span.start, span.end - span.start);
    for (size_t i = 0; i < 2; i++) {
        observed[i] = statistics[i](&f->segment, o->segment_min, HUGE_VAL, &at[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        uint64_t seed = o->seed + tc_random_mix(2 * span.start + i + tc_random_mix(span.end));
        /* Not above 0: all values are equal, or too few. */
        double p = observed[i] > 0 ? permute(f, statistics[i], observed[i], alpha, seed) : 1;
        if (p <= alpha) {
            *out = (struct tc_change){.index = span.start + at[i], .p = 2 * p};
            return true;
        }
    }
    return false;
}

static void split_all(struct finder *f, size_t count)
{
    size_t open = 0;
    f->open[open++] = (struct span){0, count};
    while (open > 0) {
        struct span span = f->open[--open];
        struct tc_change change;
        if (test_span(f, span, &change)) {
            size_t i = f->count++;
            for (; i > 0 && f->changes[i - 1].index > change.index; i--) {
                f->changes[i] = f->changes[i - 1];
                f->tested[i] = f->tested[i - 1];
            }
            f->changes[i] = change;
            f->tested[i] = span;
            f->open[open++] = (struct span){change.index, span.end};
            f->open[open++] = (struct span){span.start, change.index};
        }
    }
}

/* A split that was made before others were known is placed, and tested, between its neighbours. */
static void refine(struct finder *f, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct span span = {kept > 0 ? f->changes[kept - 1].index : 0,
                            i + 1 < f->count ? f->changes[i + 1].index : count};
        struct tc_change change = f->changes[i];
        bool same = span.start == f->tested[i].start && span.end == f->tested[i].end;
        if (same || test_span(f, span, &change)) {
            f->changes[kept++] = change;
        }
    }
    f->count = kept;
}

static tc_status fill_medians(struct finder *f, size_t count, struct tc_arena *arena)
{
    for (size_t i = 0; i <= f->count; i++) {
        size_t start = i > 0 ? f->changes[i - 1].index : 0;
        size_t end = i < f->count ? f->changes[i].index : count;
        tc_arena_mark mark = tc_arena_snapshot(arena);
        struct tc_sorted sorted;
        TC_TRY(tc_sorted_make(f->series + start, end - start, arena, &sorted, NULL));
        double median = tc_sorted_median(sorted);
        tc_arena_rewind(arena, mark);
        if (i > 0) {
            f->changes[i - 1].after = median;
        }
        if (i < f->count) {
            f->changes[i].before = median;
        }
    }
    return TC_OK;
}

/*
 * Each change goes where two flat lines at the medians around it fit best (sum of distances): the
 * statistics prefer even splits, and with ranks the last value before a step may pass for one
 * behind it.
 */
static void place(struct finder *f, size_t count)
{
    for (size_t i = 0; i < f->count; i++) {
        struct tc_change *c = &f->changes[i];
        size_t start = i > 0 ? f->changes[i - 1].index : 0;
        size_t end = i + 1 < f->count ? f->changes[i + 1].index : count;
        double gain = 0; /* of a split at k, less that of a split at the first place */
        double best = -1;
        for (size_t k = start + f->options->segment_min;
             k + f->options->segment_min <= end && c->before != c->after; k++) {
            if (gain > best) {
                best = gain;
                c->index = k;
            }
            double to_before = fabs(f->series[k] / 2 - c->before / 2);
            double to_after = fabs(f->series[k] / 2 - c->after / 2);
            gain += to_after - to_before;
        }
    }
}

/* As many as the options say; if they do not, as many as cost no more than a second or so. */
static uint32_t count_permutations(const struct tc_changes_options *o, size_t count)
{
    double least = ceil(2 / o->alpha) - 1;
    double wanted = fmin(PERMUTATIONS_USUAL, VALUES_PERMUTED / ((double)count + 1));
    return o->permutations > 0 ? o->permutations : (uint32_t)fmax(least, wanted);
}

static tc_status check_input(const double *series, size_t count, const struct tc_changes_options *o,
                             struct tc_error *err)
{
    if (!(o->alpha >= TC_CHANGES_ALPHA_MIN && o->alpha < 1) || o->segment_min < 2 ||
        o->permutations > TC_CHANGES_PERMUTATIONS_MAX ||
        (o->permutations > 0 && 2 / ((double)o->permutations + 1) > o->alpha)) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "change points: alpha from %g to 1, permutations from 2 / alpha - 1 to %d, "
                       "segments of 2 values or more",
                       TC_CHANGES_ALPHA_MIN, TC_CHANGES_PERMUTATIONS_MAX);
    }
    if (count > TC_CHANGES_POINTS_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0, "change points of %zu values: at most %d", count,
                       TC_CHANGES_POINTS_MAX);
    }
    return tc__check_finite(series, count, err);
}

tc_status tc_changes_find(const double *series, size_t count,
                          const struct tc_changes_options *options, struct tc_arena *arena,
                          struct tc_change **out, size_t *out_count, struct tc_error *err)
{
    TC_TRY(check_input(series, count, options, err));
    size_t most = count / options->segment_min + 1;
    struct finder f = {
        .series = series, .options = options, .permutations = count_permutations(options, count)};
    f.changes = tc_new(arena, struct tc_change, most);
    tc_arena_mark mark = tc_arena_snapshot(arena);
    f.tested = tc_new(arena, struct span, most);
    f.open = tc_new(arena, struct span, most);
    tc__segment_init(&f.segment, count, arena);
    if (!tc_arena_ok(arena)) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the change points of %zu values", count);
    }
    split_all(&f, count);
    refine(&f, count);
    tc_arena_rewind(arena, mark);
    TC_TRY(fill_medians(&f, count, arena));
    place(&f, count);
    TC_TRY(fill_medians(&f, count, arena));
    *out = f.changes;
    *out_count = f.count;
    return TC_OK;
}
