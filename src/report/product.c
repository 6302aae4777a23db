/* SPDX-License-Identifier: Apache-2.0 */
/* For those who decide: the impact on latency, throughput, reliability or cost, what users will
 * notice, how sure that is, and the next step. Nothing is said that was not measured. */
#include "report/report_priv.h"

#include <string.h>

#define PLOTS_MAX 2

enum kind { LATENCY, THROUGHPUT, RELIABILITY, COST, KINDS };

static const char *const KIND_NAMES[KINDS] = {"latency", "throughput", "reliability", "cost"};

static const struct impact {
    const char *metric;
    enum kind kind;
    const char *before;
    const char *between;
} IMPACTS[] = {
#define IMPACT(metric, kind, before, between) {metric, kind, before, between},
#include "report/impacts.def"
#undef IMPACT
};

static const struct impact *impact_of(const struct tc_series *s)
{
    size_t i = tc_slice_row(s->name, IMPACTS, metric);
    return i < TC_COUNT(IMPACTS) ? &IMPACTS[i] : NULL;
}

/* The pair that stands for a kind: the first in rank. NULL: none of its metrics was measured. */
static const struct tc_pair *pair_of(const struct tc__pairs *ranked, enum kind kind)
{
    for (size_t i = 0; i < ranked->count; i++) {
        const struct impact *impact = impact_of(tc_pair_series(ranked->items[i]));
        if (impact != NULL && impact->kind == kind) {
            return ranked->items[i];
        }
    }
    return NULL;
}

static void put_impact(struct tc_report *r, const struct tc__pairs *ranked)
{
    struct tc_doc *d = &r->doc;
    struct tc_doc_table *t = tc_doc_table(
        d, TC_LIT("The largest change of each kind, at the point where it is largest"));
    tc_doc_column(d, t, TC_LIT("impact on"), false);
    tc_doc_column(d, t, TC_LIT("measured as"), false);
    tc_doc_column(d, t, TC_LIT("base"), true);
    tc_doc_column(d, t, TC_LIT("candidate"), true);
    tc_doc_column(d, t, TC_LIT("candidate / base"), true);
    tc_doc_column(d, t, TC_LIT("verdict"), false);
    for (int kind = 0; kind < KINDS && !d->failed; kind++) {
        const struct tc_pair *pair = pair_of(ranked, (enum kind)kind);
        tc_doc_row(d, t);
        tc_doc_stress(d, tc_doc_cell(d, t), "{}", KIND_NAMES[kind]);
        if (pair == NULL) {
            tc_doc_say(d, tc_doc_cell(d, t), "not measured");
            continue;
        }
        tc__say_series(r, tc_doc_cell(d, t), tc_pair_series(pair));
        tc__say_median(r, tc_doc_cell(d, t), pair, TC_SIDE_BASE);
        tc__say_median(r, tc_doc_cell(d, t), pair, TC_SIDE_CANDIDATE);
        tc__say_change(r, tc_doc_cell(d, t), pair);
        tc__say_verdict(r, tc_doc_cell(d, t), pair);
    }
}

/* ---- what users will notice ---- */

static void put_sentence(struct tc_report *r, const struct tc_pair *pair,
                         const struct impact *impact)
{
    struct tc_doc *d = &r->doc;
    struct tc_doc_number n;
    struct tc_doc_spans *s = tc_doc_item(d);
    tc_doc_say(d, s, "{}", impact->before);
    tc__say_median(r, s, pair, TC_SIDE_CANDIDATE);
    tc_doc_say(d, s, "{}", impact->between);
    tc__say_median(r, s, pair, TC_SIDE_BASE);
    if (tc__difference(r, pair, &n)) {
        tc_doc_say(d, s, ": ");
        (void)tc_doc_add_number(d, s, &n);
    }
    tc_doc_say(d, s, ". Measured at ");
    tc_doc_add(d, s, TC_DOC_CODE, tc_pair_series(pair)->point->text);
    tc_doc_say(d, s, "; the verdict is ");
    tc_doc_stress(d, s, "{}", tc_pair_verdict_name(pair->verdict));
    tc_doc_say(d, s, ".");
}

static void put_users(struct tc_report *r, const struct tc__pairs *ranked)
{
    struct tc_doc *d = &r->doc;
    size_t said = 0;
    for (size_t i = 0; i < TC_COUNT(IMPACTS); i++) {
        for (size_t n = 0; n < ranked->count; n++) {
            const struct tc_pair *pair = ranked->items[n];
            if (impact_of(tc_pair_series(pair)) == &IMPACTS[i]) {
                if (tc__is_judged(pair)) {
                    put_sentence(r, pair, &IMPACTS[i]);
                    said++;
                }
                break; /* the first in rank stands for the metric */
            }
        }
    }
    if (said > 0) {
        return;
    }
    struct tc_doc_spans *s = tc_doc_paragraph(d);
    if (tc_comparison_verdict(&r->comparison) == TC_PAIR_SAME) {
        tc_doc_say(d, s, "None that this benchmark can show.");
    } else {
        tc_doc_say(d, s,
                   "None can be stated yet: no difference in a metric that users feel has "
                   "been shown.");
    }
}

/* ---- the next step ---- */

static void step_repeat(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    size_t needed = 0;
    for (size_t i = 0; i < r->comparison.pair_count; i++) {
        size_t one = r->comparison.pairs[i].needed;
        needed = one > needed ? one : needed;
    }
    for (size_t n = 0; n < TC_SIDES; n++) {
        size_t have = r->sides[n].group->run_count;
        if (needed > have) {
            tc_doc_say(
                d, tc_doc_item(d), "Measure {} more of the {}: {} are there, {} could decide.",
                tc_as_count((int64_t)(needed - have), "run"), r->sides[n].name, have, needed);
        }
    }
}

static void put_next(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    const struct tc_comparison *c = &r->comparison;
    enum tc_pair_verdict verdict = tc_comparison_verdict(c);
    if (c->differs.is_confounded) {
        tc_doc_say(d, tc_doc_item(d),
                   "Measure again with only the variable under test changed: "
                   "until then the change cannot be credited or blamed.");
    }
    switch (verdict) {
    case TC_PAIR_INSUFFICIENT:
        step_repeat(r);
        return;
    case TC_PAIR_MULTIMODAL:
    case TC_PAIR_UNSTABLE:
        tc_doc_say(d, tc_doc_item(d),
                   "Find out what makes runs of one side differ, then measure "
                   "again.");
        return;
    case TC_PAIR_WORSE:
        tc_doc_say(d, tc_doc_item(d),
                   "Decide whether the change is worth it, before it ships. The "
                   "report for engineering has the hypothesis and the "
                   "experiment that tests it:");
        break;
    case TC_PAIR_SAME:
    case TC_PAIR_DIFFERENT:
    case TC_PAIR_BETTER:
    case TC_PAIR_VERDICTS:
        tc_doc_say(d, tc_doc_item(d),
                   "To claim a number outside, publish it: this report is a view, "
                   "not a claim.");
        return;
    }
    struct tc_grow g = {0};
    tc_grow_lit(&g, "tracecore report ");
    tc__command_put(&g, r->want->base);
    tc_grow_lit(&g, " ");
    tc__command_put(&g, r->want->runs);
    tc_grow_lit(&g, " --for engineering");
    tc__command_end(r, &g);
}

/* ---- all of it ---- */

static void put_one_side(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    tc_doc_heading(d, 2, TC_LIT("What was measured"));
    tc__part_series(r);
    tc__plot_curve(r);
    tc_doc_heading(d, 2, TC_LIT("Expected user impact"));
    tc_doc_say(d, tc_doc_paragraph(d),
               "None can be stated: impact is a difference, and there is no "
               "base to compare with.");
    tc_doc_heading(d, 2, TC_LIT("Confidence"));
    tc__part_doubts(r);
    tc_doc_heading(d, 2, TC_LIT("Next step"));
    tc_doc_say(d, tc_doc_item(d), "Name what it should be compared with:");
    struct tc_grow g = {0};
    tc_grow_lit(&g, "tracecore report BASE ");
    tc__command_put(&g, r->want->runs);
    tc_grow_lit(&g, " --for product");
    tc__command_end(r, &g);
}

void tc__product(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    tc__head(r);
    if (!tc__is_comparison(r)) {
        put_one_side(r);
        return;
    }
    struct tc__pairs ranked = tc__pairs_ranked(r);
    tc_doc_heading(d, 2, TC_LIT("Impact"));
    put_impact(r, &ranked);
    tc_doc_heading(d, 2, TC_LIT("Expected user impact"));
    put_users(r, &ranked);
    tc__plot_pairs(r, &ranked, PLOTS_MAX);
    tc_doc_heading(d, 2, TC_LIT("Confidence"));
    tc__part_doubts(r);
    tc_doc_heading(d, 2, TC_LIT("Next step"));
    put_next(r);
}
