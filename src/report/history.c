/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of a report in the order of time: where a metric changed its level, and stayed there. */
#include "compare/trend.h"
#include "report/report_priv.h"

#define MARKS_MAX 2000

/* A run as the axis names it: the day it began, else its id. */
static struct tc_slice name_of(struct tc_report *r, const struct tc_trend *t, size_t run)
{
    const struct tc_answer *runs = &t->group.runs;
    if (!tc_answer_known(runs, run, TC_GROUP_STARTED)) {
        return tc_doc_text(&r->doc, "{}", tc_group_text(&t->group, run, TC_GROUP_RUN_ID));
    }
    char day[64];
    struct tc_buf b = tc_buf_make(day, sizeof day);
    struct tc_slice text = tc_format(&b, "{}", tc_answer_as_value(runs, run, TC_GROUP_STARTED));
    return tc_doc_text(&r->doc, "{}", tc_slice_head(text, sizeof "2026-11-17" - 1));
}

static void put_marks(struct tc_report *r, const struct tc_trend *t,
                      const struct tc_trend_series *item, struct tc_doc_plot *p)
{
    const struct tc_series *s = item->series;
    struct tc_doc_mark *marks = tc_new(&r->arena, struct tc_doc_mark, s->count + 1);
    struct tc_doc_change *changes = tc_new(&r->arena, struct tc_doc_change, item->change_count + 1);
    if (marks == NULL || changes == NULL) {
        return;
    }
    for (size_t i = 0; i < s->count; i++) {
        marks[i] = (struct tc_doc_mark){
            .x = (double)(i + 1), .y = s->values[i], .label = name_of(r, t, s->runs[i])};
    }
    for (size_t i = 0; i < item->change_count; i++) {
        const struct tc_trend_change *c = &item->changes[i];
        changes[i] = (struct tc_doc_change){
            .at = c->at,
            .before = c->before,
            .after = c->after,
            .label = tc_doc_text(&r->doc, "{} from {} on", tc_pair_verdict_name(c->verdict),
                                 tc_group_text(&t->group, s->runs[c->at], TC_GROUP_RUN_ID))};
    }
    p->side_count = 1;
    p->sides[0] =
        (struct tc_doc_side){.name = TC_LIT("runs"), .marks = marks, .mark_count = s->count};
    p->changes = changes;
    p->change_count = item->change_count;
}

static void put_plot(struct tc_report *r, const struct tc_trend *t,
                     const struct tc_trend_series *item)
{
    const struct tc_series *s = item->series;
    struct tc_doc_plot *p = tc_doc_plot(
        &r->doc, TC_DOC_TREND, tc_doc_text(&r->doc, "{}, {}: over time", s->name, s->point->text));
    if (p == NULL) {
        return;
    }
    p->x_name = TC_LIT("runs in the order of time");
    p->y_name = tc_doc_text(&r->doc, "{}{}", s->name, tc_when(s->unit.len > 0, " ({})", s->unit));
    p->describes =
        item->change_count == 0
            ? TC_LIT("No change of its level is found.")
            : tc_doc_text(&r->doc, "Its level changes {}, first at run {}.",
                          tc_as_count((int64_t)item->change_count, "time"),
                          tc_group_text(&t->group, s->runs[item->changes[0].at], TC_GROUP_RUN_ID));
    put_marks(r, t, item, p);
}

/* Those that changed first. */
static void put_plots(struct tc_report *r, const struct tc_trend *t, size_t count_max)
{
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < t->count && count < count_max && !r->doc.failed; i++) {
            const struct tc_trend_series *item = &t->items[i];
            if (item->series->is_main && !item->is_short && item->series->count <= MARKS_MAX &&
                (item->change_count > 0) == (pass == 0)) {
                put_plot(r, t, item);
                count++;
            }
        }
    }
}

void tc__plot_history(struct tc_report *r, size_t count_max)
{
    struct tc_trend t = {.count = 0};
    const struct tc_trend_options options = {.runs = r->want->runs};
    if (r->status != TC_OK || r->sides[0].group->run_count < TC_TREND_MIN) {
        return;
    }
    tc_status status = tc_trend(r->w, &options, &t, r->err);
    if (status == TC_OK) {
        put_plots(r, &t, count_max);
    } else {
        r->status = status;
    }
    tc_trend_fini(&t);
}
