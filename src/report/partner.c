/* SPDX-License-Identifier: Apache-2.0 */
/* For those who own a part of the stack: what is ours, what is theirs, the minimal repro and the
 * smallest change that can be acted on. */
#include "report/report_priv.h"

#include <string.h>

#define PLOTS_MAX 2
#define ROWS_MAX 8

static void put_evidence(struct tc_report *r)
{
    tc_doc_heading(&r->doc, 2, TC_LIT("What was measured"));
    if (!tc__is_comparison(r)) {
        tc__part_series(r);
        tc__plot_series(r, PLOTS_MAX);
        return;
    }
    struct tc__pairs ranked = tc__pairs_ranked(r);
    size_t judged = 0;
    while (judged < ranked.count && judged < ROWS_MAX && tc__is_judged(ranked.items[judged])) {
        judged++;
    }
    if (judged > 0) {
        tc__pairs_table(r, ranked.items, judged, "The metrics that differ most");
    } else {
        tc__pairs_table(r, ranked.items, ranked.count < ROWS_MAX ? ranked.count : ROWS_MAX,
                        "No difference has been shown; the metrics that come nearest to one");
    }
    tc__plot_pairs(r, &ranked, PLOTS_MAX);
    tc__plot_curve(r);
}

static void put_ours(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    tc_doc_heading(d, 2, TC_LIT("What is ours"));
    tc_doc_say(d, tc_doc_paragraph(d),
               "The workload, how it was driven and where it ran: what we chose, and can change.");
    size_t rows = tc__facts_table(r, "workload", "Workload");
    rows += tc__facts_table(r, "run", "Harness");
    rows += tc__facts_table(r, "cluster", "Cluster");
    if (rows == 0) {
        tc_doc_say(d, tc_doc_note(d), "Nothing of it is recorded with these runs.");
    }
}

static void put_upstream(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    tc_doc_heading(d, 2, TC_LIT("What is upstream"));
    tc_doc_say(d, tc_doc_paragraph(d),
               "The software and hardware that others make, in the versions that were measured.");
    size_t rows = tc__facts_table(r, "software", "Software");
    rows += tc__facts_table(r, "hardware", "Hardware");
    if (rows == 0) {
        struct tc_doc_spans *s = tc_doc_note(d);
        tc_doc_say(d, s,
                   "Versions are not recorded with these runs; without them nobody upstream "
                   "can act. Add the output of ");
        tc_doc_add(d, s, TC_DOC_CODE, TC_LIT("tracecore probe"));
        tc_doc_say(d, s, " to a run.");
    }
}

/* Those that differ between the sides. */
static size_t count_between(const struct tc_differences *all, size_t *out_last)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i].kind == TC_DIFFERS_BETWEEN) {
            *out_last = i;
            count++;
        }
    }
    return count;
}

static void put_change(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    const struct tc_differences *all = &r->comparison.differs;
    size_t last = 0;
    size_t count = count_between(all, &last);
    tc_doc_heading(d, 2, TC_LIT("The smallest change to act on"));
    struct tc_doc_spans *s = tc_doc_paragraph(d);
    if (count == 1) {
        tc_doc_say(d, s, "One thing differs between the sides: ");
        tc_doc_add(
            d, s, TC_DOC_CODE,
            tc_slice_cstr(tc_answer_name(&r->sides[0].group->runs, all->items[last].column)));
        tc_doc_say(d, s, ". If the difference goes away when it is set back, it is the cause.");
    } else if (count == 0) {
        tc_doc_say(d, s,
                   "Nothing that is recorded differs between the sides, so no change can be "
                   "named yet. Record the versions and the topology, and measure again.");
    } else {
        tc_doc_say(d, s,
                   "{} things differ between the sides. Set one of them back at a time, and "
                   "measure again: until then none of them can be named as the cause.",
                   count);
    }
    if (all->count > 0) {
        tc__part_differences(r);
    } else {
        tc__part_unknown(r);
    }
}

void tc__partner(struct tc_report *r)
{
    tc__head(r);
    put_evidence(r);
    put_ours(r);
    put_upstream(r);
    if (tc__is_comparison(r)) {
        put_change(r);
    }
    tc__part_repro(r, false);
    tc_doc_heading(&r->doc, 2, TC_LIT("How sure this is"));
    tc__part_doubts(r);
}
