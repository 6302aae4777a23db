/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison in words: its answer, and what there is to doubt. */
#include "base/format.h"
#include "base/number.h"
#include "compare/compare.h"

#include <math.h>
#include <stdio.h>

const char *tc_pair_verdict_name(enum tc_pair_verdict verdict)
{
    switch (verdict) {
    case TC_PAIR_INSUFFICIENT:
        return "insufficient evidence";
    case TC_PAIR_MULTIMODAL:
        return "multimodal";
    case TC_PAIR_UNSTABLE:
        return "unstable";
    case TC_PAIR_DIFFERENT:
        return "different";
    case TC_PAIR_BETTER:
        return "better";
    case TC_PAIR_WORSE:
        return "worse";
    case TC_PAIR_SAME:
    case TC_PAIR_VERDICTS:
        break;
    }
    return "no difference shown";
}

const char *tc_unpaired_name(enum tc_unpaired_why why)
{
    switch (why) {
    case TC_UNPAIRED_DEFINITIONS:
        return "definitions differ";
    case TC_UNPAIRED_UNITS:
        return "units differ";
    case TC_UNPAIRED_BASE_ONLY:
        return "only in the base";
    case TC_UNPAIRED_CANDIDATE_ONLY:
        break;
    }
    return "only in the candidate";
}

/* ---- numbers ---- */

/* Digits behind the point: more where a ratio is near 1. */
static int ratio_digits(double ratio)
{
    double size = fabs(ratio);
    return size >= 100 || size < 0.01 ? -1 : size >= 10 ? 1 : fabs(size - 1) < 0.1 ? 3 : 2;
}

static void put_ratio(struct tc_grow *g, double ratio, int digits)
{
    char text[48];
    (void)(digits < 0 ? snprintf(text, sizeof text, "%.3g", ratio)
                      : snprintf(text, sizeof text, "%.*f", digits, ratio));
    tc_grow_str(g, tc_slice_cstr(text));
}

void tc_pair_ratio_put(struct tc_grow *g, const struct tc_pair *p)
{
    int digits = ratio_digits(p->ratio.ratio);
    if (isnan(p->ratio.ratio)) {
        tc_grow_lit(g, "-");
        return;
    }
    put_ratio(g, p->ratio.ratio, digits);
    tc_grow_lit(g, "x");
    /* so few values have no interval of that level */
    if (p->ratio.flag == TC_RATIO_OK && p->verdict != TC_PAIR_INSUFFICIENT) {
        tc_grow_lit(g, " [");
        put_ratio(g, p->ratio.low, digits);
        tc_grow_lit(g, ", ");
        put_ratio(g, p->ratio.high, digits);
        tc_grow_lit(g, "]");
    }
}

void tc_pair_p_put(struct tc_grow *g, double p)
{
    char text[32];
    if (isnan(p)) {
        tc_grow_lit(g, "-");
    } else if (p < 0.0001) {
        tc_grow_lit(g, "<0.0001");
    } else {
        (void)snprintf(text, sizeof text, "%.2g", p);
        tc_grow_str(g, tc_slice_cstr(text));
    }
}

double tc_pair_size(const struct tc_pair *p)
{
    if (p->sides[TC_SIDE_BASE].spread.median == p->sides[TC_SIDE_CANDIDATE].spread.median) {
        return 0;
    }
    return isnan(p->ratio.ratio) || p->ratio.ratio <= 0 ? (double)INFINITY
                                                        : fabs(log(p->ratio.ratio));
}

/* ---- the answer ---- */

enum tc_pair_verdict tc_comparison_verdict(const struct tc_comparison *c)
{
    static const enum tc_pair_verdict order[] = {TC_PAIR_WORSE,      TC_PAIR_BETTER,
                                                 TC_PAIR_DIFFERENT,  TC_PAIR_UNSTABLE,
                                                 TC_PAIR_MULTIMODAL, TC_PAIR_SAME};
    for (size_t n = 0; n < TC_COUNT(order); n++) {
        if (c->counts[order[n]] > 0) {
            return order[n];
        }
    }
    return TC_PAIR_INSUFFICIENT;
}

/* Main metrics first, then the largest. */
static const struct tc_pair *largest(const struct tc_comparison *c, enum tc_pair_verdict verdict)
{
    const struct tc_pair *best = NULL;
    for (size_t n = 0; n < c->pair_count; n++) {
        const struct tc_pair *p = &c->pairs[n];
        if (p->verdict == verdict &&
            (best == NULL || (p->is_main && !best->is_main) ||
             (p->is_main == best->is_main && tc_pair_size(p) > tc_pair_size(best)))) {
            best = p;
        }
    }
    return best;
}

const struct tc_pair *tc_comparison_foremost(const struct tc_comparison *c)
{
    enum tc_pair_verdict verdict = tc_comparison_verdict(c);
    return verdict > TC_PAIR_SAME ? largest(c, verdict) : NULL;
}

/* Whether all points of the comparison have the word. */
static bool is_common(const struct tc_comparison *c, struct tc_slice word)
{
    for (size_t n = 0; n < c->pair_count; n++) {
        if (!tc_point_matches(word, tc_pair_series(&c->pairs[n])->point->text)) {
            return false;
        }
    }
    return true;
}

/* " at concurrency=64": what tells the point from the others. */
static void put_point(struct tc_grow *g, const struct tc_comparison *c, const struct tc_pair *p)
{
    struct tc_slice rest = tc_pair_series(p)->point->text;
    bool any = false;
    while (c->point_count > 1 && rest.len > 0) {
        struct tc_slice word = tc_slice_cut(rest, ' ', &rest);
        if (!is_common(c, word)) {
            tc_grow_format(g, "{}{}", any ? " " : " at ", tc_as_printable(word));
            any = true;
        }
    }
}

static void put_metric(struct tc_grow *g, const struct tc_comparison *c, const struct tc_pair *p)
{
    tc_grow_format(g, "{}", tc_as_printable(tc_pair_series(p)->name));
    put_point(g, c, p);
}

static void put_evidence(struct tc_grow *g, const struct tc_pair *p)
{
    tc_grow_format(g, " (n {}+{}, p ", p->sides[TC_SIDE_BASE].n, p->sides[TC_SIDE_CANDIDATE].n);
    tc_pair_p_put(g, p->p_adjusted);
    tc_grow_lit(g, ")");
}

/* Points that have such a verdict; or, with `or_main`, a main metric. */
static size_t points_with(const struct tc_comparison *c, enum tc_pair_verdict verdict, bool or_main)
{
    const struct tc_point *last = NULL;
    size_t count = 0;
    for (size_t n = 0; n < c->pair_count; n++) {
        const struct tc_point *point = tc_pair_series(&c->pairs[n])->point;
        bool counts = c->pairs[n].verdict == verdict || (or_main && c->pairs[n].is_main);
        if (counts && point != last) {
            count++;
            last = point;
        }
    }
    return count;
}

static void put_difference(struct tc_grow *g, const struct tc_comparison *c,
                           enum tc_pair_verdict verdict)
{
    const struct tc_pair *p = largest(c, verdict);
    const char *word = verdict == TC_PAIR_WORSE    ? "Worse"
                       : verdict == TC_PAIR_BETTER ? "Better"
                                                   : "Different";
    tc_grow_str(g, tc_slice_cstr(word));
    if (c->point_count > 1) {
        tc_grow_format(g, " at {} of {} points", points_with(c, verdict, false),
                       points_with(c, verdict, true));
    }
    tc_grow_lit(g, ": ");
    put_metric(g, c, p);
    if (isnan(p->ratio.ratio)) {
        tc_grow_format(g, " went from {} to {}", tc_as_number(p->sides[TC_SIDE_BASE].spread.median),
                       tc_as_number(p->sides[TC_SIDE_CANDIDATE].spread.median));
    } else {
        tc_grow_lit(g, " is ");
        tc_pair_ratio_put(g, p);
    }
    put_evidence(g, p);
    if (c->counts[verdict] > 1) {
        tc_grow_format(g, ", and {} more", c->counts[verdict] - 1);
    }
    tc_grow_lit(g, ".");
}

static void put_modes(struct tc_grow *g, const struct tc_pair *p)
{
    for (size_t side = 0; side < TC_SIDES; side++) {
        const struct tc_pair_side *s = &p->sides[side];
        if (s->mode_count == 0) {
            continue;
        }
        tc_grow_format(g, "; {} has ", side == TC_SIDE_BASE ? "the base" : "the candidate");
        for (size_t n = 0; n < s->mode_count; n++) {
            const struct tc_mode *m = &s->modes[n];
            tc_grow_format(g, "{}{} at {}",
                           n == 0                   ? ""
                           : n + 1 == s->mode_count ? " and "
                                                    : ", ",
                           tc_as_count((int64_t)m->count, "run"), tc_as_number(m->low));
            if (m->high != m->low) {
                tc_grow_format(g, " to {}", tc_as_number(m->high));
            }
        }
    }
}

/* What too few runs would need. */
static void put_insufficient(struct tc_grow *g, const struct tc_comparison *c)
{
    size_t n1 = c->groups[TC_SIDE_BASE].run_count;
    size_t n2 = c->groups[TC_SIDE_CANDIDATE].run_count;
    const struct tc_pair *p = largest(c, TC_PAIR_INSUFFICIENT);
    size_t needed = p->needed;
    double least = tc_rank_least_p(n1, n2);
    tc_grow_format(g, "No test can decide with {} and {} runs", n1, n2);
    if (least > c->alpha) {
        tc_grow_lit(g, ": even if all of one side were above all of the other, p would be ");
        tc_pair_p_put(g, least);
        tc_grow_format(g, ", and {} is asked for", tc_as_number(c->alpha));
    } else if ((int64_t)(n1 < n2 ? n1 : n2) < c->min_replicates) {
        tc_grow_format(g, ": the contract asks for {} a side", c->min_replicates);
    } else {
        tc_grow_format(g, ": too few of them have the metric ({} and {})", p->sides[TC_SIDE_BASE].n,
                       p->sides[TC_SIDE_CANDIDATE].n);
    }
    tc_grow_format(g, ". {} a side could: {} more of the base, {} of the candidate.", needed,
                   needed > n1 ? needed - n1 : 0, needed > n2 ? needed - n2 : 0);
    if (p->ratio.ratio > 0 && p->ratio.ratio != 1) {
        tc_grow_lit(g, " So far ");
        put_metric(g, c, p);
        tc_grow_lit(g, " differs most: ");
        put_ratio(g, p->ratio.ratio, ratio_digits(p->ratio.ratio));
        tc_grow_lit(g, "x.");
    }
}

static void put_same(struct tc_grow *g, const struct tc_comparison *c)
{
    size_t equal = 0;
    for (size_t n = 0; n < c->pair_count; n++) {
        equal += c->pairs[n].is_equal && c->pairs[n].verdict == TC_PAIR_SAME ? 1 : 0;
    }
    tc_grow_format(g, "No difference shown in {} series at {}", c->counts[TC_PAIR_SAME],
                   tc_as_count((int64_t)c->point_count, "point"));
    if (equal > 0 && equal == c->counts[TC_PAIR_SAME]) {
        tc_grow_lit(g, "; all values are equal");
    } else if (equal > 0) {
        tc_grow_format(g, "; in {} of them all values are equal", equal);
    }
    tc_grow_lit(g, ".");
}

void tc_comparison_answer(const struct tc_comparison *c, struct tc_grow *g)
{
    enum tc_pair_verdict verdict = tc_comparison_verdict(c);
    switch (verdict) {
    case TC_PAIR_WORSE:
        put_difference(g, c, TC_PAIR_WORSE);
        if (c->counts[TC_PAIR_BETTER] > 0) {
            tc_grow_lit(g, " ");
            put_difference(g, c, TC_PAIR_BETTER);
        }
        break;
    case TC_PAIR_BETTER:
    case TC_PAIR_DIFFERENT:
        put_difference(g, c, verdict);
        break;
    case TC_PAIR_UNSTABLE:
        put_metric(g, c, largest(c, verdict));
        tc_grow_lit(g, " is unstable: the sides differ");
        put_evidence(g, largest(c, verdict));
        tc_grow_lit(g, ", but by less than the runs of one side do among themselves.");
        break;
    case TC_PAIR_MULTIMODAL:
        put_metric(g, c, largest(c, verdict));
        tc_grow_lit(g, " has more than one mode, and a median would describe none of them");
        put_modes(g, largest(c, verdict));
        tc_grow_lit(g, ". No other difference is shown.");
        break;
    case TC_PAIR_INSUFFICIENT:
        put_insufficient(g, c);
        break;
    case TC_PAIR_SAME:
    case TC_PAIR_VERDICTS:
        put_same(g, c);
        break;
    }
}
