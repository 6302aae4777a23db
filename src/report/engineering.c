/* SPDX-License-Identifier: Apache-2.0 */
/* For those who find the cause: metrics, traces, the narrow hypothesis, the minimal repro, the
 * proposed experiment. */
#include "report/report_priv.h"

#define ROWS_MAX 40
#define PLOTS_MAX 6
#define HISTORIES_MAX 2

/* The pairs that say something, and the main ones that do not. */
static void put_pairs(struct tc_report *r, const struct tc__pairs *ranked)
{
    struct tc_doc *d = &r->doc;
    const struct tc_pair **changed = tc_new(&r->arena, const struct tc_pair *, ranked->count + 1);
    const struct tc_pair **rest = tc_new(&r->arena, const struct tc_pair *, ranked->count + 1);
    size_t changed_count = 0;
    size_t rest_count = 0;
    size_t hidden = 0;
    for (size_t i = 0; changed != NULL && rest != NULL && i < ranked->count; i++) {
        const struct tc_pair *p = ranked->items[i];
        if (p->verdict > TC_PAIR_SAME && changed_count < ROWS_MAX) {
            changed[changed_count++] = p;
        } else if (p->verdict <= TC_PAIR_SAME && p->is_main && rest_count < ROWS_MAX) {
            rest[rest_count++] = p;
        } else {
            hidden++;
        }
    }
    if (changed_count > 0) {
        tc__pairs_table(r, changed, changed_count, "Metrics that differ");
    }
    if (rest_count > 0) {
        tc__pairs_table(r, rest, rest_count, "Main metrics without a difference that is shown");
    }
    if (hidden > 0) {
        tc_doc_say(d, tc_doc_paragraph(d),
                   "{} more metrics at all points, none of them main or "
                   "different, are in:",
                   hidden);
        struct tc_grow g = {0};
        tc__command_compare(r, &g, NULL);
        tc__command_end(r, &g);
    }
}

static void put_unpaired(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    const struct tc_comparison *c = &r->comparison;
    size_t main_count = 0;
    for (size_t i = 0; i < c->unpaired_count; i++) {
        const struct tc_unpaired *u = &c->unpaired[i];
        const struct tc_series *s = u->base != NULL ? u->base : u->candidate;
        if (s->is_main && main_count++ < 10) {
            struct tc_doc_spans *item = tc_doc_item(d);
            tc_doc_say(d, item, "Not compared: ");
            tc__say_series(r, item, s);
            tc_doc_say(d, item, ": {}.", tc_unpaired_name(u->why));
        }
    }
}

static void put_metrics(struct tc_report *r)
{
    tc_doc_heading(&r->doc, 2, TC_LIT("Metrics"));
    if (!tc__is_comparison(r)) {
        tc__part_series(r);
        tc__plot_series(r, PLOTS_MAX);
        tc__plot_curve(r);
        tc__plot_history(r, HISTORIES_MAX);
        return;
    }
    struct tc__pairs ranked = tc__pairs_ranked(r);
    put_pairs(r, &ranked);
    put_unpaired(r);
    tc__plot_pairs(r, &ranked, PLOTS_MAX);
    tc__plot_curve(r);
}

void tc__engineering(struct tc_report *r)
{
    tc__head(r);
    put_metrics(r);
    if (tc__is_comparison(r)) {
        tc_doc_heading(&r->doc, 2, TC_LIT("What else differs"));
        tc__part_differences(r);
    }
    tc__part_cause(r);
    tc__part_traces(r);
    tc__part_repro(r, true);
    tc_doc_heading(&r->doc, 2, TC_LIT("How sure this is"));
    tc__part_doubts(r);
}
