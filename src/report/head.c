/* SPDX-License-Identifier: Apache-2.0 */
/* The top of a report: its title, the answer in a sentence, and what it stands on. */
#include "base/time.h"
#include "report/report_priv.h"

static struct tc_slice describe(struct tc_report *r, const struct tc_group *group)
{
    struct tc_grow g = {0};
    tc_group_describe(group, &g);
    r->doc.failed = r->doc.failed || g.failed;
    struct tc_slice text = tc_doc_text(&r->doc, "{}", tc_grow_slice(&g));
    tc_grow_fini(&g);
    return text;
}

/* When a run began, to the second. */
static struct tc_arg started(const struct tc_group *g, size_t run)
{
    int64_t us = tc_answer_int(&g->runs, run, TC_GROUP_STARTED);
    return tc_as_time(us / 1000000 * TC_SECOND);
}

/* Who was measured, and how often. */
static void put_side(struct tc_report *r, const struct tc__side *side)
{
    struct tc_doc *d = &r->doc;
    struct tc_doc_spans *s = tc_doc_fact(d, side->name);
    const struct tc_group *g = side->group;
    tc_doc_say(d, s, "{}: ", tc_as_count((int64_t)g->run_count, "run"));
    tc_doc_add(d, s, TC_DOC_CODE, describe(r, g));
    if (g->left_out > 0) {
        tc_doc_say(d, s, "; {} left out: failed or not complete", g->left_out);
    }
    if (g->run_count > 0 && tc_answer_known(&g->runs, 0, TC_GROUP_STARTED)) {
        tc_doc_say(d, s, "; from {} to {}", started(g, 0), started(g, g->run_count - 1));
    }
}

static void put_contract(struct tc_report *r)
{
    const struct tc_group *g = tc__subject(r)->group;
    struct tc_slice contract = tc_group_text(g, 0, TC_GROUP_CONTRACT);
    struct tc_doc_spans *s = tc_doc_fact(&r->doc, TC_LIT("contract"));
    if (contract.len > 0) {
        tc_doc_add(&r->doc, s, TC_DOC_CODE, contract);
    } else {
        tc_doc_say(&r->doc, s, "none: exploratory; its numbers may be looked at, not claimed");
    }
    if (g->variable.len > 0) {
        s = tc_doc_fact(&r->doc, TC_LIT("variable under test"));
        tc_doc_add(&r->doc, s, TC_DOC_CODE, g->variable);
    }
}

/* ---- the answer ---- */

static void answer_difference(struct tc_report *r, const struct tc_pair *pair)
{
    struct tc_doc *d = &r->doc;
    struct tc_doc_spans *s = &d->answer;
    struct tc_doc_number n;
    const struct tc_comparison *c = &r->comparison;
    tc_doc_stress(d, s, "{}: ",
                  pair->verdict == TC_PAIR_WORSE    ? "Worse"
                  : pair->verdict == TC_PAIR_BETTER ? "Better"
                                                    : "Different");
    tc__say_series(r, s, tc_pair_series(pair));
    if (tc__ratio(r, pair, &n)) {
        tc_doc_say(d, s, " is ");
        (void)tc_doc_add_number(d, s, &n);
        tc_doc_say(d, s, " that of the base.");
    } else {
        tc_doc_say(d, s, " went from ");
        tc__say_median(r, s, pair, TC_SIDE_BASE);
        tc_doc_say(d, s, " to ");
        tc__say_median(r, s, pair, TC_SIDE_CANDIDATE);
        tc_doc_say(d, s, ".");
    }
    tc_doc_say(d, s,
               " Of {} metrics at all points, {} are worse, {} are better, and {} show no "
               "difference.",
               c->pair_count, c->counts[TC_PAIR_WORSE], c->counts[TC_PAIR_BETTER],
               c->counts[TC_PAIR_SAME]);
}

static void answer_undecided(struct tc_report *r, enum tc_pair_verdict verdict)
{
    struct tc_doc *d = &r->doc;
    const struct tc_comparison *c = &r->comparison;
    struct tc_doc_spans *s = &d->answer;
    size_t needed = 0;
    for (size_t i = 0; i < c->pair_count; i++) {
        needed = c->pairs[i].needed > needed ? c->pairs[i].needed : needed;
    }
    switch (verdict) {
    case TC_PAIR_UNSTABLE:
        tc_doc_stress(d, s, "Unstable: ");
        tc_doc_say(d, s,
                   "the sides differ, but by less than the runs of one side do among "
                   "themselves. Nothing can be claimed.");
        return;
    case TC_PAIR_MULTIMODAL:
        tc_doc_stress(d, s, "Multimodal: ");
        tc_doc_say(d, s,
                   "the runs of a side fall into groups that a median does not describe. "
                   "Find out what tells them apart first.");
        return;
    case TC_PAIR_INSUFFICIENT:
        tc_doc_stress(d, s, "Insufficient evidence: ");
        tc_doc_say(d, s, "with {} and {} runs no test can tell a difference from chance.{}",
                   c->groups[TC_SIDE_BASE].run_count, c->groups[TC_SIDE_CANDIDATE].run_count,
                   tc_when(needed > 0, " {} a side could.", needed));
        return;
    case TC_PAIR_SAME:
    case TC_PAIR_DIFFERENT:
    case TC_PAIR_BETTER:
    case TC_PAIR_WORSE:
    case TC_PAIR_VERDICTS:
        break;
    }
    tc_doc_stress(d, s, "No difference shown ");
    tc_doc_say(d, s,
               "in {} metrics. That is no proof that there is none: a smaller one than this "
               "number of runs can show stays hidden.",
               c->pair_count);
}

const struct tc_series *tc__first_main(const struct tc_report *r)
{
    const struct tc_series_set *set = r->sides[0].set;
    const struct tc_series *first = NULL;
    for (size_t i = 0; i < set->series_count; i++) {
        const struct tc_series *s = &set->series[i];
        if (s->count > 0 && (first == NULL || (s->is_main && !first->is_main))) {
            first = s;
        }
    }
    return first;
}

/* Of one side: its first main metric, or that there is none. */
static void answer_one_side(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    struct tc_doc_number n;
    const struct tc_series *first = tc__first_main(r);
    if (first != NULL && !tc__has_modes(r, first) && tc__median(r, 0, first, &n)) {
        tc_doc_say(d, &d->answer,
                   "{}: ", tc_as_count((int64_t)r->sides[0].group->run_count, "run"));
        tc__say_series(r, &d->answer, first);
        tc_doc_say(d, &d->answer, " is ");
        (void)tc_doc_add_number(d, &d->answer, &n);
        tc_doc_say(d, &d->answer, ". There is no base: whether that is good is not judged.");
    }
}

void tc__head(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    if (!tc__is_comparison(r)) {
        d->title = tc_doc_text(d, "Report on {}", r->sides[0].group->text);
        answer_one_side(r);
    } else {
        const struct tc_comparison *c = &r->comparison;
        const struct tc_pair *foremost = tc_comparison_foremost(c);
        d->title = tc_doc_text(d, "{} against {}", c->groups[TC_SIDE_CANDIDATE].text,
                               c->groups[TC_SIDE_BASE].text);
        if (foremost != NULL && tc__is_judged(foremost)) {
            answer_difference(r, foremost);
        } else {
            answer_undecided(r, tc_comparison_verdict(c));
        }
        if (c->differs.is_confounded) {
            tc_doc_say(d, &d->answer,
                       " More than the variable under test differs, so what caused "
                       "it cannot be told from this comparison.");
        }
    }
    for (size_t n = 0; n < r->side_count; n++) {
        put_side(r, &r->sides[n]);
    }
    put_contract(r);
}
