/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that reports for several audiences have. */
#include "report/report_priv.h"

#include <string.h>

/* Rows of a table; more are counted. */
#define ROWS_MAX 60

/* ---- how sure it is ---- */

void tc__part_doubts(struct tc_report *r)
{
    struct tc_grow g = {0};
    struct tc_slice rest;
    if (!tc__is_comparison(r)) {
        struct tc_doc_spans *s = tc_doc_item(&r->doc);
        tc_doc_say(&r->doc, s, "{}. A run is a replicate; requests of one run are not.",
                   tc_as_count((int64_t)r->sides[0].group->run_count, "run"));
        return;
    }
    tc_comparison_doubts(&r->comparison, &g);
    r->doc.failed = r->doc.failed || g.failed;
    rest = tc_grow_slice(&g);
    while (rest.len > 0) {
        struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
        if (line.len > 0) {
            tc_doc_say(&r->doc, tc_doc_item(&r->doc), "{}", line);
        }
    }
    tc_grow_fini(&g);
}

/* ---- what else differs ---- */

static void put_values(struct tc_report *r, struct tc_doc_spans *spans, size_t side, size_t column,
                       const struct tc_fact_side *values)
{
    struct tc_grow g = {0};
    tc_fact_side_put(&g, r->sides[side].group, column, values);
    r->doc.failed = r->doc.failed || g.failed;
    tc_doc_add(&r->doc, spans, TC_DOC_CODE, tc_doc_text(&r->doc, "{}", tc_grow_slice(&g)));
    tc_grow_fini(&g);
}

static const char *difference_word(const struct tc_difference *d)
{
    switch (d->kind) {
    case TC_DIFFERS_BETWEEN:
        return d->is_expected ? "the variable under test" : "differs besides";
    case TC_DIFFERS_WITHIN:
        return "differs within a side";
    case TC_DIFFERS_UNKNOWN:
        break;
    }
    return "not known on a side";
}

void tc__part_differences(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    const struct tc_differences *all = &r->comparison.differs;
    if (all->count == 0) {
        tc_doc_say(d, tc_doc_paragraph(d), "Nothing that is recorded of the runs differs.");
    } else {
        struct tc_doc_table *t = tc_doc_table(d, TC_LIT("What differs besides the numbers"));
        tc_doc_column(d, t, TC_LIT("what"), false);
        tc_doc_column(d, t, TC_LIT("part"), false);
        tc_doc_column(d, t, TC_LIT("base"), false);
        tc_doc_column(d, t, TC_LIT("candidate"), false);
        tc_doc_column(d, t, TC_LIT(""), false);
        for (size_t i = 0; i < all->count && i < ROWS_MAX; i++) {
            const struct tc_difference *one = &all->items[i];
            tc_doc_row(d, t);
            tc_doc_add(d, tc_doc_cell(d, t), TC_DOC_CODE,
                       tc_slice_cstr(tc_answer_name(&r->sides[0].group->runs, one->column)));
            tc_doc_say(d, tc_doc_cell(d, t), "{}", tc_group_part(one->column));
            for (size_t n = 0; n < TC_SIDES; n++) {
                put_values(r, tc_doc_cell(d, t), n, one->column, &one->sides[n]);
            }
            tc_doc_say(d, tc_doc_cell(d, t), "{}", difference_word(one));
        }
    }
    tc__part_unknown(r);
}

void tc__part_unknown(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    const struct tc_differences *all = &r->comparison.differs;
    if (all->unknown_software || all->unknown_hardware || all->unknown_cluster) {
        struct tc_doc_spans *s = tc_doc_note(d);
        tc_doc_say(d, s,
                   "Nothing is known of the{}{}{} of these runs, so a difference there would "
                   "not be seen: add the output of ",
                   all->unknown_software ? " software" : "",
                   all->unknown_hardware ? all->unknown_software ? ", hardware" : " hardware" : "",
                   all->unknown_cluster ? all->unknown_software || all->unknown_hardware
                                              ? " and cluster"
                                              : " cluster"
                                        : "");
        tc_doc_add(d, s, TC_DOC_CODE, TC_LIT("tracecore probe"));
        tc_doc_say(d, s, " to them.");
    }
}

/* ---- the metrics of one side ---- */

void tc__part_series(struct tc_report *r)
{
    struct tc_doc *d = &r->doc;
    const struct tc_series_set *set = r->sides[0].set;
    size_t left = 0;
    size_t rows = 0;
    struct tc_doc_table *t = tc_doc_table(d, TC_LIT("Medians of the main metrics over runs"));
    tc_doc_column(d, t, TC_LIT("metric"), false);
    tc_doc_column(d, t, TC_LIT("median"), true);
    tc_doc_column(d, t, TC_LIT("definition"), false);
    for (size_t i = 0; i < set->series_count && !d->failed; i++) {
        const struct tc_series *s = &set->series[i];
        if (!s->is_main || s->count == 0 || rows == ROWS_MAX) {
            left += s->count > 0;
            continue;
        }
        tc_doc_row(d, t);
        rows++;
        tc__say_series(r, tc_doc_cell(d, t), s);
        tc__say_value(r, tc_doc_cell(d, t), 0, s);
        tc_doc_add(d, tc_doc_cell(d, t), TC_DOC_CODE, s->definition);
    }
    if (left > 0) {
        tc_doc_say(d, tc_doc_paragraph(d), "{} more metrics at all points are in:", left);
        struct tc_grow g = {0};
        tc_grow_lit(&g, "tracecore run show ");
        tc__command_put(&g, tc_group_text(r->sides[0].group, 0, TC_GROUP_RUN_ID));
        tc__command_end(r, &g);
    }
}

/* ---- commands ---- */

static bool is_plain_word(struct tc_slice word)
{
    for (size_t i = 0; i < word.len; i++) {
        if (!tc_is_word(word.ptr[i]) && strchr("./:=@%+,-", word.ptr[i]) == NULL) {
            return false;
        }
    }
    return word.len > 0 && word.ptr[0] != '-';
}

void tc__command_put(struct tc_grow *g, struct tc_slice word)
{
    if (is_plain_word(word)) {
        tc_grow_str(g, word);
        return;
    }
    tc_grow_lit(g, "'");
    for (size_t i = 0; i < word.len; i++) {
        tc_grow_str(g, word.ptr[i] == '\'' ? TC_LIT("'\\''") : tc_slice_make(word.ptr + i, 1));
    }
    tc_grow_lit(g, "'");
}

void tc__command_end(struct tc_report *r, struct tc_grow *g)
{
    r->doc.failed = r->doc.failed || g->failed;
    tc_doc_command(&r->doc, tc_doc_text(&r->doc, "{}", tc_grow_slice(g)));
    tc_grow_fini(g);
}

void tc__command_compare(struct tc_report *r, struct tc_grow *g, const struct tc_pair *pair)
{
    tc_grow_lit(g, "tracecore compare ");
    tc__command_put(g, r->want->base);
    tc_grow_lit(g, " ");
    tc__command_put(g, r->want->runs);
    if (pair != NULL) {
        tc_grow_lit(g, " --metric ");
        tc__command_put(g, tc_pair_series(pair)->name);
        tc_grow_lit(g, " --point ");
        tc__command_put(g, tc_pair_series(pair)->point->text);
    }
    tc_grow_lit(g, "\n");
}

/* ---- what is known of the runs ---- */

/* The value that all runs of a side have; empty: not known, or not the same. */
static struct tc_slice common_value(struct tc_report *r, size_t side, size_t column)
{
    const struct tc_group *g = r->sides[side].group;
    struct tc_grow first = {0};
    struct tc_grow other = {0};
    struct tc_slice value = TC_EMPTY;
    bool same = g->run_count > 0 && tc_answer_known(&g->runs, 0, column);
    if (same) {
        tc_answer_value(&first, &g->runs, 0, column);
    }
    for (size_t i = 1; same && i < g->run_count; i++) {
        tc_grow_fini(&other);
        tc_answer_value(&other, &g->runs, i, column);
        same = tc_slice_eq(tc_grow_slice(&first), tc_grow_slice(&other));
    }
    if (same) {
        value = tc_doc_text(&r->doc, "{}", tc_grow_slice(&first));
    }
    r->doc.failed = r->doc.failed || first.failed || other.failed;
    tc_grow_fini(&first);
    tc_grow_fini(&other);
    return value;
}

static void put_fact_row(struct tc_report *r, struct tc_doc_table *t, size_t column,
                         const struct tc_slice values[TC_SIDES])
{
    struct tc_doc *d = &r->doc;
    tc_doc_row(d, t);
    tc_doc_say(d, tc_doc_cell(d, t), "{}", tc_answer_name(&r->sides[0].group->runs, column));
    for (size_t n = 0; n < TC_SIDES && n < r->side_count; n++) {
        struct tc_doc_spans *cell = tc_doc_cell(d, t);
        if (values[n].len > 0) {
            tc_doc_add(d, cell, TC_DOC_CODE, values[n]);
        } else {
            tc_doc_say(d, cell, "not known, or not one");
        }
    }
}

size_t tc__facts_table(struct tc_report *r, const char *part, const char *caption)
{
    struct tc_doc *d = &r->doc;
    struct tc_doc_table *t = NULL;
    size_t rows = 0;
    for (size_t column = TC_GROUP_FACTS; column < tc_group_column_count(); column++) {
        struct tc_slice values[TC_SIDES] = {TC_EMPTY, TC_EMPTY};
        bool any = false;
        for (size_t n = 0;
             n < TC_SIDES && n < r->side_count && strcmp(tc_group_part(column), part) == 0; n++) {
            values[n] = common_value(r, n, column);
            any = any || values[n].len > 0;
        }
        if (!any || d->failed) {
            continue;
        }
        if (t == NULL) {
            t = tc_doc_table(d, tc_slice_cstr(caption));
            tc_doc_column(d, t, TC_LIT("what"), false);
            for (size_t n = 0; n < r->side_count; n++) {
                tc_doc_column(d, t, r->sides[n].name, false);
            }
        }
        rows++;
        put_fact_row(r, t, column, values);
    }
    return rows;
}

/* ---- the minimal repro ---- */

static void put_point(struct tc_report *r, const struct tc_series *s)
{
    struct tc_doc *d = &r->doc;
    struct tc_doc_spans *p = tc_doc_paragraph(d);
    const struct tc_group *g = tc__subject(r)->group;
    tc_doc_say(d, p, "{}",
               tc__is_comparison(r) ? "The smallest load that shows it is "
                                    : "The load of the first of its main metrics is ");
    tc__say_series(r, p, s);
    tc_doc_say(d, p, ", as ");
    tc_doc_add(d, p, TC_DOC_CODE, s->definition);
    tc_doc_say(d, p, " defines it. ");
    if (tc_group_text(g, 0, TC_GROUP_CONTRACT).len > 0) {
        tc_doc_say(d, p, "The contract ");
        tc_doc_add(d, p, TC_DOC_CODE, tc_group_text(g, 0, TC_GROUP_CONTRACT));
        tc_doc_say(d, p, " holds the workload, the trials and what is kept fixed.");
    } else {
        tc_doc_say(d, p,
                   "There is no contract: the table of the workload has what is known of it.");
    }
}

/* The commands that give the number again, and the bytes that it stands on. */
static void put_commands(struct tc_report *r, const struct tc_pair *pair)
{
    struct tc_grow g = {0};
    const struct tc__side *subject = tc__subject(r);
    if (tc__is_comparison(r)) {
        tc_grow_lit(&g, "# the same number from the tables\n");
        tc__command_compare(r, &g, pair);
    }
    tc_grow_lit(&g, "# all that is known of a run, and its files\ntracecore run show ");
    tc__command_put(&g, tc_group_text(subject->group, 0, TC_GROUP_RUN_ID));
    if (subject->basis->source_count > 0) {
        tc_grow_lit(&g, "\n# the tool's own result, byte for byte\ntracecore evidence cat ");
        tc__command_put(&g, subject->basis->sources[0].digest);
    }
    tc_grow_lit(&g, "\n# after running the load again: add its result as a replicate\n"
                    "tracecore run add --name ");
    tc__command_put(&g, tc_group_text(subject->group, 0, TC_GROUP_RUN_NAME));
    tc_grow_lit(&g, " --result FILE");
    tc__command_end(r, &g);
}

void tc__part_repro(struct tc_report *r, bool with_workload)
{
    const struct tc_pair *pair = NULL;
    const struct tc_series *s = NULL;
    if (tc__is_comparison(r)) {
        struct tc__pairs ranked = tc__pairs_ranked(r);
        pair = ranked.count > 0 ? ranked.items[0] : NULL;
        s = pair == NULL ? NULL : tc_pair_series(pair);
    } else {
        s = tc__first_main(r);
    }
    tc_doc_heading(&r->doc, 2, TC_LIT("Minimal repro"));
    if (s != NULL) {
        put_point(r, s);
    }
    if (with_workload) {
        (void)tc__facts_table(r, "workload", "The workload");
    }
    put_commands(r, pair);
}
