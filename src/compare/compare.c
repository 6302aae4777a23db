/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/compare.h"

#include "base/table/sort.h"

#include <math.h>
#include <stdlib.h>

/* Values of pairs that a bootstrap takes its time for; of more there are fewer draws each. */
#define PAIRS_FULL 500
#define DRAWS_FEW 2000
#define SEED UINT64_C(0x636f6d70617265)

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for a comparison");
}

/* ---- pairs ---- */

struct pairing {
    struct tc_comparison *c;
    size_t pair_cap;
    size_t unpaired_cap;
};

static tc_status add_pair(struct pairing *p, const struct tc_series *base,
                          const struct tc_series *candidate)
{
    struct tc_comparison *c = p->c;
    TC_TRY(tc_grow_items(c->pairs, p->pair_cap, c->pair_count + 1, TC_SERIES_MAX));
    c->pairs[c->pair_count++] = (struct tc_pair){
        .sides = {[TC_SIDE_BASE] = {.series = base}, [TC_SIDE_CANDIDATE] = {.series = candidate}}};
    return TC_OK;
}

static tc_status add_unpaired(struct pairing *p, enum tc_unpaired_why why,
                              const struct tc_series *base, const struct tc_series *candidate)
{
    struct tc_comparison *c = p->c;
    TC_TRY(tc_grow_items(c->unpaired, p->unpaired_cap, c->unpaired_count + 1, 2 * TC_SERIES_MAX));
    c->unpaired[c->unpaired_count++] = (struct tc_unpaired){why, base, candidate};
    return TC_OK;
}

/* All series of one metric at one point: base a .. a_end, candidate b .. b_end. */
static tc_status pair_metric(struct pairing *p, const struct tc_series *a,
                             const struct tc_series *a_end, const struct tc_series *b,
                             const struct tc_series *b_end)
{
    const struct tc_series *lone_a = NULL;
    const struct tc_series *lone_b = NULL;
    while (a < a_end || b < b_end) {
        int order = a == a_end ? 1 : b == b_end ? -1 : tc_series_compare(a, b);
        if (order == 0) {
            TC_TRY(add_pair(p, a++, b++));
        } else if (order < 0) {
            TC_TRY(lone_a == NULL ? TC_OK : add_unpaired(p, TC_UNPAIRED_BASE_ONLY, lone_a, NULL));
            lone_a = a++;
        } else {
            TC_TRY(lone_b == NULL ? TC_OK
                                  : add_unpaired(p, TC_UNPAIRED_CANDIDATE_ONLY, NULL, lone_b));
            lone_b = b++;
        }
    }
    if (lone_a != NULL && lone_b != NULL) {
        return add_unpaired(p,
                            tc_slice_eq(lone_a->definition, lone_b->definition)
                                ? TC_UNPAIRED_UNITS
                                : TC_UNPAIRED_DEFINITIONS,
                            lone_a, lone_b);
    }
    if (lone_a != NULL) {
        return add_unpaired(p, TC_UNPAIRED_BASE_ONLY, lone_a, NULL);
    }
    return lone_b != NULL ? add_unpaired(p, TC_UNPAIRED_CANDIDATE_ONLY, NULL, lone_b) : TC_OK;
}

static const struct tc_series *end_of_metric(const struct tc_series *s, const struct tc_series *end)
{
    const struct tc_series *next = s;
    while (next < end && tc_series_compare_metric(s, next) == 0) {
        next++;
    }
    return next;
}

static tc_status pair_all(struct pairing *p)
{
    const struct tc_series_set *sets = p->c->sets;
    const struct tc_series *a = sets[TC_SIDE_BASE].series;
    const struct tc_series *b = sets[TC_SIDE_CANDIDATE].series;
    const struct tc_series *a_end = a + sets[TC_SIDE_BASE].series_count;
    const struct tc_series *b_end = b + sets[TC_SIDE_CANDIDATE].series_count;
    while (a < a_end || b < b_end) {
        int order = a == a_end ? 1 : b == b_end ? -1 : tc_series_compare_metric(a, b);
        const struct tc_series *a_next = order <= 0 ? end_of_metric(a, a_end) : a;
        const struct tc_series *b_next = order >= 0 ? end_of_metric(b, b_end) : b;
        TC_TRY(pair_metric(p, a, a_next, b, b_next));
        a = a_next;
        b = b_next;
    }
    return TC_OK;
}

/* ---- one side ---- */

/* Cuts at the widest gap, and at those that are at least half as wide. */
static void find_modes(struct tc_pair_side *side, struct tc_sorted s)
{
    double widest = 0;
    size_t start = 0;
    for (size_t n = 1; n < s.n; n++) {
        widest = fmax(widest, s.x[n] - s.x[n - 1]);
    }
    for (size_t n = 1; n <= s.n; n++) {
        bool cut =
            n == s.n || (side->mode_count + 1 < TC_MODES_MAX && s.x[n] - s.x[n - 1] >= widest / 2);
        if (cut) {
            struct tc_sorted part = {s.x + start, n - start};
            side->modes[side->mode_count++] = (struct tc_mode){.count = part.n,
                                                               .low = part.x[0],
                                                               .high = part.x[part.n - 1],
                                                               .median = tc_sorted_median(part)};
            start = n;
        }
    }
}

static tc_status describe_side(struct tc_pair_side *side, struct tc_arena *arena,
                               struct tc_sorted *out_sorted, struct tc_error *err)
{
    const struct tc_series *s = side->series;
    TC_TRY(tc_sorted_make(s->values, s->count, arena, out_sorted, err));
    side->n = s->count;
    side->spread = tc_sorted_spread(*out_sorted);
    side->low = s->count > 0 ? out_sorted->x[0] : (double)NAN;
    side->high = s->count > 0 ? out_sorted->x[s->count - 1] : (double)NAN;
    for (size_t n = 0; n < s->count; n++) {
        side->outliers +=
            s->count >= TC_COMPARE_OUTLIERS_MIN && tc_is_outlier(&side->spread, s->values[n]) ? 1
                                                                                              : 0;
    }
    if (tc_dip_test(*out_sorted, arena, &side->dip) != TC_OK) {
        return no_memory(err);
    }
    if (side->dip.p <= TC_COMPARE_DIP_ALPHA) {
        find_modes(side, *out_sorted);
        side->outliers = 0; /* from a median that means nothing */
    }
    return TC_OK;
}

/* ---- the two against each other ---- */

static tc_status test_pair(const struct tc_comparison *c, struct tc_pair *p, size_t draws,
                           struct tc_arena *arena, struct tc_error *err)
{
    struct tc_sorted sides[TC_SIDES];
    for (size_t n = 0; n < TC_SIDES; n++) {
        TC_TRY(describe_side(&p->sides[n], arena, &sides[n], err));
    }
    const struct tc_pair_side *a = &p->sides[TC_SIDE_BASE];
    const struct tc_pair_side *b = &p->sides[TC_SIDE_CANDIDATE];
    p->is_equal =
        a->n > 0 && b->n > 0 && a->low == a->high && b->low == b->high && a->low == b->low;
    if (tc_rank_test(sides[TC_SIDE_BASE], sides[TC_SIDE_CANDIDATE], arena, &p->test) != TC_OK ||
        tc_ratio_of_medians(sides[TC_SIDE_BASE], sides[TC_SIDE_CANDIDATE], c->confidence, draws,
                            SEED, arena, &p->ratio) != TC_OK) {
        return no_memory(err);
    }
    return TC_OK;
}

static bool is_multimodal(const struct tc_pair *p)
{
    return p->sides[TC_SIDE_BASE].mode_count > 0 || p->sides[TC_SIDE_CANDIDATE].mode_count > 0;
}

/* Whether so many runs can decide anything. */
static bool is_enough(const struct tc_comparison *c, size_t n1, size_t n2)
{
    size_t least = n1 < n2 ? n1 : n2;
    return (int64_t)least >= c->min_replicates && tc_rank_least_p(n1, n2) <= c->alpha;
}

/* A verdict without the p of a test, which is adjusted when all have theirs; SAME for now. */
static void judge_early(const struct tc_comparison *c, struct tc_pair *p)
{
    size_t n1 = p->sides[TC_SIDE_BASE].n;
    size_t n2 = p->sides[TC_SIDE_CANDIDATE].n;
    p->p_adjusted = (double)NAN;
    p->verdict = TC_PAIR_SAME;
    if (!is_enough(c, n1, n2)) {
        size_t least = tc_rank_least_n(c->alpha);
        p->verdict = TC_PAIR_INSUFFICIENT;
        p->needed = (int64_t)least > c->min_replicates ? least : (size_t)c->min_replicates;
    } else if (is_multimodal(p)) {
        p->verdict = TC_PAIR_MULTIMODAL;
    }
}

static bool is_tested(const struct tc_pair *p)
{
    return p->verdict != TC_PAIR_INSUFFICIENT && !p->is_equal;
}

static void judge_late(const struct tc_comparison *c, struct tc_pair *p)
{
    const struct tc_spread *a = &p->sides[TC_SIDE_BASE].spread;
    const struct tc_spread *b = &p->sides[TC_SIDE_CANDIDATE].spread;
    double change = b->median - a->median;
    if (p->verdict != TC_PAIR_SAME || isnan(p->p_adjusted) || p->p_adjusted > c->alpha) {
        return;
    }
    if (fabs(change) < fmax(a->mad, b->mad) || change == 0) {
        p->verdict = TC_PAIR_UNSTABLE;
        return;
    }
    switch (tc_pair_series(p)->better) {
    case TC_BETTER_NEITHER:
        p->verdict = TC_PAIR_DIFFERENT;
        break;
    case TC_BETTER_LOWER:
        p->verdict = change < 0 ? TC_PAIR_BETTER : TC_PAIR_WORSE;
        break;
    case TC_BETTER_HIGHER:
        p->verdict = change > 0 ? TC_PAIR_BETTER : TC_PAIR_WORSE;
        break;
    }
}

/* ---- all of them ---- */

/* The p of one family, corrected for how many it has; share is what it gets of alpha. */
static tc_status adjust_family(struct tc_comparison *c, bool main, double share,
                               struct tc_arena *arena, double *p, struct tc_error *err)
{
    for (size_t n = 0; n < c->pair_count; n++) {
        p[n] = c->pairs[n].is_main == main && is_tested(&c->pairs[n]) ? c->pairs[n].test.p
                                                                      : (double)NAN;
    }
    if (tc_adjust_p(p, c->pair_count, arena, p) != TC_OK) {
        return no_memory(err);
    }
    for (size_t n = 0; n < c->pair_count; n++) {
        if (!isnan(p[n])) {
            c->pairs[n].p_adjusted = fmin(1, p[n] / share);
        }
    }
    return TC_OK;
}

/*
 * Ranks do not see how far apart two sides are: five runs against five cannot pass the correction
 * for ten tests, be it by a factor of ten. By chance sides seldom lie apart altogether, and next to
 * never farther apart than the runs of either side do: then the test's own p counts.
 */
static bool is_apart(const struct tc_pair *p)
{
    const struct tc_pair_side *a = &p->sides[TC_SIDE_BASE];
    const struct tc_pair_side *b = &p->sides[TC_SIDE_CANDIDATE];
    double gap = fmax(b->low - a->high, a->low - b->high);
    return gap > 0 && gap >= fmax(a->high - a->low, b->high - b->low);
}

static tc_status adjust_all(struct tc_comparison *c, struct tc_arena *arena, struct tc_error *err)
{
    double *p = calloc(c->pair_count + 1, sizeof *p);
    for (size_t n = 0; n < c->pair_count; n++) {
        if (is_tested(&c->pairs[n])) {
            c->main_tested += c->pairs[n].is_main ? 1 : 0;
            c->other_tested += c->pairs[n].is_main ? 0 : 1;
        }
    }
    bool both = c->main_tested > 0 && c->other_tested > 0;
    tc_status status = p == NULL ? no_memory(err) : TC_OK;
    if (status == TC_OK) {
        status = adjust_family(c, true, both ? TC_COMPARE_MAIN_SHARE : 1, arena, p, err);
    }
    if (status == TC_OK) {
        status = adjust_family(c, false, both ? 1 - TC_COMPARE_MAIN_SHARE : 1, arena, p, err);
    }
    for (size_t n = 0; status == TC_OK && n < c->pair_count; n++) {
        struct tc_pair *pair = &c->pairs[n];
        pair->is_apart = is_tested(pair) && is_apart(pair);
        pair->p_adjusted = pair->is_apart ? fmin(pair->p_adjusted, pair->test.p) : pair->p_adjusted;
    }
    free(p);
    return status;
}

static bool is_main(const struct tc_compare_options *o, const struct tc_series *s)
{
    for (size_t n = 0; n < o->main_metric_count; n++) {
        if (tc_run_metric_matches(o->main_metrics[n], s->name)) {
            return true;
        }
    }
    /* What was asked for by name is what matters. */
    return o->want.metric_count > 0 || (o->main_metric_count == 0 && s->is_main);
}

static void count_verdicts(struct tc_comparison *c)
{
    for (size_t n = 0; n < c->pair_count; n++) {
        c->counts[c->pairs[n].verdict]++;
        c->point_count +=
            n == 0 || tc_pair_series(&c->pairs[n])->point != tc_pair_series(&c->pairs[n - 1])->point
                ? 1
                : 0;
    }
}

/* Memory for the largest pair, and for the correction of all. */
static size_t scratch_bytes(const struct tc_comparison *c)
{
    size_t most = 0;
    for (size_t n = 0; n < c->pair_count; n++) {
        const struct tc_pair *p = &c->pairs[n];
        size_t values =
            p->sides[TC_SIDE_BASE].series->count + p->sides[TC_SIDE_CANDIDATE].series->count;
        most = values > most ? values : most;
    }
    return 2 * TC_SORTED_BYTES(most) + TC_DIP_BYTES(most) + TC_RANK_BYTES +
           TC_RATIO_BYTES(TC_RATIO_DRAWS) + TC_ADJUST_BYTES(c->pair_count) + 4096;
}

static tc_status test_all(struct tc_comparison *c, const struct tc_compare_options *options,
                          struct tc_error *err)
{
    size_t bytes = scratch_bytes(c);
    void *block = malloc(bytes);
    struct tc_arena arena;
    tc_status status = TC_OK;
    if (block == NULL) {
        return no_memory(err);
    }
    size_t draws = c->pair_count > PAIRS_FULL ? DRAWS_FEW : TC_RATIO_DRAWS;
    draws = options->draws > 0 && options->draws < draws ? options->draws : draws;
    tc_arena_init(&arena, "comparison", block, bytes);
    for (size_t n = 0; status == TC_OK && n < c->pair_count; n++) {
        struct tc_pair *p = &c->pairs[n];
        tc_arena_reset(&arena);
        p->is_main = is_main(options, tc_pair_series(p));
        status = test_pair(c, p, draws, &arena, err);
        judge_early(c, p);
    }
    tc_arena_reset(&arena);
    if (status == TC_OK) {
        status = adjust_all(c, &arena, err);
    }
    for (size_t n = 0; status == TC_OK && n < c->pair_count; n++) {
        judge_late(c, &c->pairs[n]);
    }
    tc_arena_fini(&arena);
    free(block);
    return status;
}

static void choose_level(struct tc_comparison *c, const struct tc_compare_options *options)
{
    const struct tc_group *g = c->groups;
    double level = fmax(g[TC_SIDE_BASE].confidence_level, g[TC_SIDE_CANDIDATE].confidence_level);
    int64_t least = g[TC_SIDE_BASE].min_replicates > g[TC_SIDE_CANDIDATE].min_replicates
                        ? g[TC_SIDE_BASE].min_replicates
                        : g[TC_SIDE_CANDIDATE].min_replicates;
    level = options->confidence > 0 ? options->confidence : level;
    c->confidence = level > 0 && level < 1 ? level : TC_COMPARE_CONFIDENCE;
    c->alpha = 1 - c->confidence;
    c->min_replicates = least > 0 ? least : TC_COMPARE_REPLICATES_MIN;
}

tc_status tc_compare_sets(struct tc_comparison *c, const struct tc_compare_options *options,
                          struct tc_error *err)
{
    struct pairing pairing = {.c = c};
    choose_level(c, options);
    if (pair_all(&pairing) != TC_OK) {
        return no_memory(err);
    }
    TC_TRY(test_all(c, options, err));
    count_verdicts(c);
    return TC_OK;
}

/* ---- reading ---- */

/* A pattern that no series of either side has. */
static tc_status check_metrics(const struct tc_comparison *c,
                               const struct tc_compare_options *options, struct tc_error *err)
{
    for (size_t m = 0; m < options->want.metric_count; m++) {
        struct tc_slice pattern = options->want.metrics[m];
        size_t found[TC_SIDES] = {0, 0};
        for (size_t side = 0; side < TC_SIDES; side++) {
            const struct tc_series_set *set = &c->sets[side];
            for (size_t n = 0; n < set->series_count; n++) {
                found[side] +=
                    tc_run_metric_matches(pattern, set->series[n].name) && set->series[n].count > 0
                        ? 1
                        : 0;
            }
        }
        if (found[0] > 0 && found[1] > 0) {
            continue;
        }
        const struct tc_run_metric *near = tc_run_metric_nearest(pattern);
        if (found[0] == 0 && found[1] == 0 && tc_run_metric_find(pattern) == NULL && near != NULL) {
            return tc_fail(err, TC_E_NOTFOUND, 0, "no run has a metric \"%.*s\"; did you mean %s?",
                           TC_FMT(tc_slice_head(pattern, 80)), near->name);
        }
        return tc_fail(err, TC_E_NOTFOUND, 0, "no run of %s has a value of \"%.*s\"%s",
                       found[0] == 0 && found[1] == 0 ? "either side"
                       : found[0] == 0                ? "the base"
                                                      : "the candidate",
                       TC_FMT(tc_slice_head(pattern, 80)),
                       options->want.point_count > 0 ? " at that point" : "");
    }
    return TC_OK;
}

static tc_status check_pairs(const struct tc_comparison *c,
                             const struct tc_compare_options *options, struct tc_error *err)
{
    static const char *const names[TC_SIDES] = {"the base", "the candidate"};
    for (size_t side = 0; side < TC_SIDES; side++) {
        if (c->sets[side].series_count == 0) {
            return tc_fail(err, TC_E_NOTFOUND, 0, "no run of %s has a value%s", names[side],
                           options->want.point_count > 0 ? " at that point" : "");
        }
    }
    if (c->pair_count > 0) {
        return TC_OK;
    }
    const struct tc_unpaired *u = &c->unpaired[0];
    if (u->base != NULL && u->candidate != NULL) {
        bool units = u->why == TC_UNPAIRED_UNITS;
        struct tc_slice a = units ? u->base->unit : u->base->definition;
        struct tc_slice b = units ? u->candidate->unit : u->candidate->definition;
        return tc_fail(err, TC_E_USAGE, 0,
                       "%.*s is not comparable: the %s differ, %.*s and %.*s; %zu series in all",
                       TC_FMT(u->base->name), units ? "units" : "definitions",
                       TC_FMT(tc_slice_head(a, 60)), TC_FMT(tc_slice_head(b, 60)),
                       c->unpaired_count);
    }
    return tc_fail(err, TC_E_USAGE, 0,
                   "the two sides have no metric at the same workload point: %.*s is %s",
                   TC_FMT(tc_slice_head(
                       u->base != NULL ? u->base->point->text : u->candidate->point->text, 80)),
                   tc_unpaired_name(u->why));
}

/* Of one value alone no test says anything; beside other series such a one is told as equal. */
static tc_status check_equal(const struct tc_comparison *c, struct tc_error *err)
{
    for (size_t n = 0; n < c->pair_count; n++) {
        if (!c->pairs[n].is_equal) {
            return TC_OK;
        }
    }
    struct tc_slice name = c->pairs[0].sides[TC_SIDE_BASE].series->name;
    return tc_fail(err, TC_E_USAGE, 0,
                   "all values of %.*s are equal on both sides, in each of %zu series: there is "
                   "nothing to test; `tracecore run diff A B` shows them",
                   TC_FMT(tc_slice_head(name, 80)), c->pair_count);
}

/* One run says nothing of chance. */
static tc_status check_replicates(const struct tc_comparison *c, struct tc_error *err)
{
    static const char *const names[TC_SIDES] = {"the base", "the candidate"};
    for (size_t side = 0; side < TC_SIDES; side++) {
        if (c->groups[side].run_count == 1) {
            return tc_fail(err, TC_E_USAGE, 0,
                           "%s is one run (%.*s), and one run says nothing of chance; name a "
                           "group of runs, or see `tracecore run diff`",
                           names[side],
                           TC_FMT(tc_group_text(&c->groups[side], 0, TC_GROUP_RUN_ID)));
        }
    }
    return TC_OK;
}

static tc_status compare(struct tc_warehouse *w, const struct tc_slice words[TC_SIDES],
                         const struct tc_compare_options *options, struct tc_comparison *c,
                         struct tc_error *err)
{
    for (size_t side = 0; side < TC_SIDES; side++) {
        TC_TRY(tc_group_find(w, words[side], 0, &c->groups[side], err));
    }
    TC_TRY(check_replicates(c, err));
    for (size_t side = 0; side < TC_SIDES; side++) {
        TC_TRY(tc_series_set_read(w, &c->groups[side], &options->want, &c->sets[side], err));
    }
    TC_TRY(check_metrics(c, options, err));
    TC_TRY(tc_compare_sets(c, options, err));
    TC_TRY(check_pairs(c, options, err));
    TC_TRY(check_equal(c, err));
    return tc_differences_find(&c->groups[TC_SIDE_BASE], &c->groups[TC_SIDE_CANDIDATE], &c->differs,
                               err);
}

tc_status tc_compare(struct tc_warehouse *w, struct tc_slice base, struct tc_slice candidate,
                     const struct tc_compare_options *options, struct tc_comparison *out,
                     struct tc_error *err)
{
    struct tc_comparison c = {0};
    const struct tc_slice words[TC_SIDES] = {base, candidate};
    tc_status status = compare(w, words, options, &c, err);
    if (status != TC_OK) {
        tc_comparison_fini(&c);
        return status;
    }
    *out = c;
    return TC_OK;
}

void tc_comparison_fini(struct tc_comparison *c)
{
    for (size_t side = 0; side < TC_SIDES; side++) {
        tc_series_set_fini(&c->sets[side]);
        tc_group_fini(&c->groups[side]);
    }
    tc_differences_fini(&c->differs);
    free(c->pairs);
    free(c->unpaired);
    *c = (struct tc_comparison){0};
}
