/* SPDX-License-Identifier: Apache-2.0 */
/* How sure a comparison is, and what speaks against it: one sentence a line. */
#include "base/format.h"
#include "base/number.h"
#include "compare/compare.h"

#include <math.h>
#include <stdio.h>

static const char *const SIDE[TC_SIDES] = {"the base", "the candidate"};

static void put_method(struct tc_grow *g, const struct tc_comparison *c)
{
    size_t tested = c->main_tested + c->other_tested;
    tc_grow_format(g, "{} % confidence; a run is a replicate", tc_as_number(100 * c->confidence));
    if (tested > 0) {
        tc_grow_format(
            g, "; Mann-Whitney rank test, p corrected for {}",
            tc_as_count((int64_t)(c->main_tested > 0 ? c->main_tested : tested), "test"));
        if (c->main_tested > 0 && c->other_tested > 0) {
            tc_grow_format(g, " of main metrics, and for {} of the others", c->other_tested);
        }
        tc_grow_lit(g, " (Benjamini-Hochberg)");
    }
    tc_grow_lit(g, ".\n");
}

/* Whether a difference of one metric alone could pass the correction with so many runs. */
static bool can_pass_alone(const struct tc_comparison *c, size_t n1, size_t n2)
{
    double share = c->other_tested > 0 ? TC_COMPARE_MAIN_SHARE : 1;
    return tc_rank_least_p(n1, n2) * (double)c->main_tested / share <= c->alpha;
}

static void put_power(struct tc_grow *g, const struct tc_comparison *c)
{
    size_t n1 = c->groups[TC_SIDE_BASE].run_count;
    size_t n2 = c->groups[TC_SIDE_CANDIDATE].run_count;
    size_t needed = n1 < n2 ? n1 : n2;
    if (c->main_tested < 2 || can_pass_alone(c, n1, n2)) {
        return;
    }
    while (!can_pass_alone(c, needed, needed)) {
        needed++;
    }
    tc_grow_format(g,
                   "With {} and {} runs a difference in one of {} tests alone passes only if the "
                   "sides lie farther apart than their runs do: {} runs a side could do without, "
                   "or fewer metrics (--metric).\n",
                   n1, n2, c->main_tested, needed);
}

/* What the intervals still allow where no difference is shown. */
static void put_excluded(struct tc_grow *g, const struct tc_comparison *c)
{
    double low = 1;
    double high = 1;
    size_t count = 0;
    char text[96];
    for (size_t n = 0; n < c->pair_count; n++) {
        const struct tc_pair *p = &c->pairs[n];
        if (p->is_main && p->verdict == TC_PAIR_SAME && p->ratio.flag == TC_RATIO_OK) {
            low = fmin(low, p->ratio.low);
            high = fmax(high, p->ratio.high);
            count++;
        }
    }
    if (count == 0 || c->counts[TC_PAIR_SAME] == 0) {
        return;
    }
    (void)snprintf(text, sizeof text, "%.3fx to %.3fx", low, high);
    tc_grow_format(g,
                   "No difference shown is not the same as equal: the intervals of main metrics "
                   "still allow {}.\n",
                   text);
}

static void put_order(struct tc_grow *g, const struct tc_comparison *c)
{
    if (c->differs.shared > 0) {
        tc_grow_format(g, "{} on both sides: they say nothing of a difference.\n",
                       tc_when(true, "{} {}", tc_as_count((int64_t)c->differs.shared, "run"),
                               c->differs.shared == 1 ? "is" : "are"));
    } else if (!c->differs.is_interleaved) {
        tc_grow_lit(g,
                    "One side was measured as a whole before the other: what changed in "
                    "between by itself cannot be told from the change; alternating runs could.\n");
    }
}

static void put_runs(struct tc_grow *g, const struct tc_comparison *c)
{
    for (size_t side = 0; side < TC_SIDES; side++) {
        const struct tc_group *group = &c->groups[side];
        if (group->left_out > 0) {
            tc_grow_format(g, "{} of {} left out: failed, or not complete.\n",
                           tc_as_count((int64_t)group->left_out, "run"), SIDE[side]);
        }
        if (group->no_replicates > 0) {
            tc_grow_format(g,
                           "{} of {} not a replicate of its case (forced, or not of its "
                           "contract).\n",
                           tc_as_count((int64_t)group->no_replicates, "run"), SIDE[side]);
        }
    }
}

static void put_values(struct tc_grow *g, const struct tc_comparison *c)
{
    size_t outliers = 0;
    size_t merged = 0;
    size_t bad = 0;
    for (size_t n = 0; n < c->pair_count; n++) {
        for (size_t side = 0; side < TC_SIDES; side++) {
            const struct tc_pair_side *s = &c->pairs[n].sides[side];
            outliers += s->outliers;
            merged += s->series->merged > 0 ? 1 : 0;
            bad += s->series->not_finite;
        }
    }
    if (outliers > 0) {
        tc_grow_format(g, "{} flagged (by MAD) and kept.\n",
                       tc_as_count((int64_t)outliers, "outlier"));
    }
    if (merged > 0) {
        tc_grow_lit(g, "Runs have several rows of one point; the median of them counts once.\n");
    }
    if (bad > 0) {
        tc_grow_format(
            g, "{} no number and left out.\n",
            tc_when(true, "{} {}", tc_as_count((int64_t)bad, "value"), bad == 1 ? "is" : "are"));
    }
}

void tc_comparison_doubts(const struct tc_comparison *c, struct tc_grow *g)
{
    put_method(g, c);
    put_power(g, c);
    put_excluded(g, c);
    put_order(g, c);
    put_runs(g, c);
    put_values(g, c);
}
