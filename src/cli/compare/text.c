/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a comparison: the answer, what else differs, the numbers, how sure, what next. */
#include "base/format.h"
#include "base/number.h"
#include "cli/compare/compare.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "cli/output/text_table.h"

#include <math.h>

/* Lines of one kind; --json has all. */
#define FACTS_MAX 12
#define UNPAIRED_MAX 8
#define STRIPS_MAX 6
#define STRIP_WIDTH 40

static size_t page_width(void)
{
    return tc_terminal_is_output() ? tc_terminal_columns() : TC_COMPARE_WIDTH;
}

/* ---- who ---- */

/* The days from the first to the last run. */
static void put_days(struct tc_grow *g, const struct tc_group *group)
{
    struct tc_grow days[2] = {{{0}, false}, {{0}, false}};
    size_t ends[2] = {0, group->run_count - 1};
    for (size_t n = 0; n < 2; n++) {
        tc_answer_value(&days[n], &group->runs, ends[n], TC_GROUP_STARTED);
    }
    struct tc_slice first = tc_slice_head(tc_grow_slice(&days[0]), 10);
    struct tc_slice last = tc_slice_head(tc_grow_slice(&days[1]), 10);
    if (tc_slice_eq(first, last)) {
        tc_grow_format(g, "{}", first);
    } else {
        tc_grow_format(g, "{} to {}", first, last);
    }
    g->failed |= days[0].failed || days[1].failed;
    tc_grow_fini(&days[0]);
    tc_grow_fini(&days[1]);
}

static void put_groups(struct tc_grow *g, const struct tc_comparison *c)
{
    static const char *const names[TC_SIDES] = {"base       ", "candidate  "};
    for (size_t side = 0; side < TC_SIDES; side++) {
        struct tc_grow line = {0};
        tc_group_describe(&c->groups[side], &line);
        tc_grow_format(&line, ", {}, ", tc_as_count((int64_t)c->groups[side].run_count, "run"));
        put_days(&line, &c->groups[side]);
        for (size_t n = 0; n < c->sets[side].tool_count; n++) {
            tc_grow_format(&line, ", {}", tc_as_printable(c->sets[side].tools[n].text));
        }
        tc_text_paragraph(g, &line, names[side], "           ");
    }
}

/* ---- what else differs ---- */

static void put_facts(struct tc_grow *g, const struct tc_comparison *c)
{
    const struct tc_differences *d = &c->differs;
    struct tc_text_table t = {.column_count = 4,
                              .width = page_width(),
                              .heads = {"differs", "", "base", "candidate"},
                              .flexible = 2};
    size_t told = 0;
    for (size_t n = 0; n < d->count && told < FACTS_MAX; n++) {
        const struct tc_difference *item = &d->items[n];
        const char *how = item->kind == TC_DIFFERS_WITHIN    ? " (within both)"
                          : item->kind == TC_DIFFERS_UNKNOWN ? " (unknown on one side)"
                          : item->is_expected                ? " (under test)"
                                                             : "";
        tc_text_table_format(&t, "{}", tc_group_part(item->column));
        tc_text_table_format(&t, "{}{}", tc_answer_name(&c->groups[0].runs, item->column), how);
        for (size_t side = 0; side < TC_SIDES; side++) {
            struct tc_grow text = {0};
            tc_fact_side_put(&text, &c->groups[side], item->column, &item->sides[side]);
            tc_text_table_format(&t, "{}", tc_slice_head(tc_grow_slice(&text), 60));
            g->failed |= text.failed;
            tc_grow_fini(&text);
        }
        told++;
    }
    if (told > 0) {
        (void)tc_text_table_print(&t, g, "  ");
    }
    if (d->count > told) {
        tc_grow_format(g, "  and {} more (--json has all)\n", d->count - told);
    }
    tc_text_table_fini(&t);
}

/* ---- the numbers ---- */

static const char *short_verdict(enum tc_pair_verdict verdict)
{
    switch (verdict) {
    case TC_PAIR_INSUFFICIENT:
        return "too few";
    case TC_PAIR_MULTIMODAL:
        return "modes";
    case TC_PAIR_UNSTABLE:
        return "unstable";
    case TC_PAIR_DIFFERENT:
        return "differs";
    case TC_PAIR_BETTER:
        return "better";
    case TC_PAIR_WORSE:
        return "worse";
    case TC_PAIR_SAME:
    case TC_PAIR_VERDICTS:
        break;
    }
    return "-";
}

static void put_cell(struct tc_text_table *t, struct tc_grow *text)
{
    tc_text_table_format(t, "{}", tc_grow_slice(text));
    t->failed |= text->failed;
    tc_grow_fini(text);
}

static void put_row(struct tc_text_table *t, const struct tc_pair *p)
{
    struct tc_grow text = {0};
    bool one_mode = p->verdict != TC_PAIR_MULTIMODAL;
    tc_text_table_format(t, "{}", short_verdict(p->verdict));
    tc_text_table_cell(t, tc_pair_series(p)->name);
    for (size_t side = 0; side < TC_SIDES; side++) {
        tc_compare_median(&p->sides[side], &text);
        put_cell(t, &text);
    }
    if (p->is_equal) {
        tc_grow_lit(&text, "all equal");
    } else if (one_mode) {
        tc_pair_ratio_put(&text, p);
    } else {
        tc_grow_lit(&text, "-");
    }
    put_cell(t, &text);
    tc_pair_p_put(&text, p->p_adjusted);
    put_cell(t, &text);
    tc_text_table_format(t, "{}+{}", p->sides[TC_SIDE_BASE].n, p->sides[TC_SIDE_CANDIDATE].n);
    if (p->is_equal || isnan(p->p_adjusted)) {
        tc_text_table_format(t, "-");
    } else {
        tc_text_table_format(t, "{}", tc_delta_word(p->test.delta));
    }
}

/* The main metrics of a point have a row each; of the others those that are better or worse are
 * named below the table. */
static bool has_row(const struct tc_pair *p, bool all)
{
    return all || p->is_main;
}

/* "also worse: ttft_p90_ms 1.21x, ttft_p95_ms 1.19x (--all has their rows)" */
static void put_also(struct tc_grow *g, const struct tc_pair *pairs, size_t count, bool all,
                     enum tc_pair_verdict verdict)
{
    struct tc_grow line = {0};
    for (size_t n = 0; n < count; n++) {
        const struct tc_pair *p = &pairs[n];
        if (p->verdict == verdict && !has_row(p, all)) {
            tc_grow_format(&line, "{}{}", line.buf.len > 0 ? ", " : "",
                           tc_as_printable(tc_pair_series(p)->name));
            if (isfinite(p->ratio.ratio)) {
                tc_grow_format(&line, " {}x", tc_as_number(p->ratio.ratio));
            }
        }
    }
    if (line.buf.len > 0) {
        tc_text_paragraph(g, &line,
                          verdict == TC_PAIR_WORSE ? "  also worse: " : "  also better: ", "    ");
    }
}

/* Where a picture says more than the row: something differs, or might with more runs. */
static bool has_strip(const struct tc_pair *p, bool all)
{
    bool apart = fabs(p->test.delta) == 1;
    return has_row(p, all) && !p->is_equal && p->sides[TC_SIDE_BASE].n > 0 &&
           p->sides[TC_SIDE_CANDIDATE].n > 0 && p->verdict != TC_PAIR_SAME &&
           (p->verdict != TC_PAIR_INSUFFICIENT || apart);
}

static void put_strip(struct tc_grow *g, const struct tc_pair *p, size_t name_width)
{
    const struct tc_pair_side *a = &p->sides[TC_SIDE_BASE];
    const struct tc_pair_side *b = &p->sides[TC_SIDE_CANDIDATE];
    const struct tc_series *s = tc_pair_series(p);
    double low = fmin(a->low, b->low);
    double high = fmax(a->high, b->high);
    tc_grow_format(g, "  {}  |", tc_as_padded(s->name, name_width));
    tc_strip_plot(g, a->series, b->series, low, high, STRIP_WIDTH, tc_terminal_is_utf8());
    tc_grow_format(g, "|  {} to {} {}\n", tc_as_number(low), tc_as_number(high),
                   tc_as_printable(s->unit));
}

static void put_strips(struct tc_grow *g, const struct tc_pair *pairs, size_t count, bool all)
{
    size_t width = 0;
    size_t told = 0;
    for (size_t n = 0; n < count; n++) {
        size_t len = has_strip(&pairs[n], all) ? tc_pair_series(&pairs[n])->name.len : 0;
        width = len > width ? len : width;
    }
    for (size_t n = 0; n < count && told < STRIPS_MAX; n++) {
        if (has_strip(&pairs[n], all)) {
            tc_grow_str(g, told > 0                ? TC_EMPTY
                           : tc_terminal_is_utf8() ? TC_LIT("  ○ base  ● candidate\n")
                                                   : TC_LIT("  o base  x candidate\n"));
            put_strip(g, &pairs[n], width);
            told++;
        }
    }
}

/* The pairs of one point. */
static void put_point(struct tc_grow *g, const struct tc_pair *pairs, size_t count, bool all)
{
    struct tc_text_table t = {
        .column_count = 8,
        .width = page_width(),
        .heads = {"", "metric", "base", "candidate", "ratio", "p", "n", "effect"},
        .right = {false, false, true, true, false, false, false, false},
        .flexible = 1,
        .flexible_min = 14};
    bool is_shown = false;
    for (size_t n = 0; n < count; n++) {
        is_shown |= tc_compare_is_shown(&pairs[n], all);
        if (has_row(&pairs[n], all)) {
            put_row(&t, &pairs[n]);
        }
    }
    if (is_shown) {
        tc_grow_format(g, "\n{}\n", tc_as_printable(tc_pair_series(pairs)->point->text));
        if (t.cell_count > 0) {
            (void)tc_text_table_print(&t, g, "  ");
        }
        put_also(g, pairs, count, all, TC_PAIR_WORSE);
        put_also(g, pairs, count, all, TC_PAIR_BETTER);
        put_strips(g, pairs, count, all);
    }
    tc_text_table_fini(&t);
}

static void put_points(struct tc_grow *g, const struct tc_comparison *c, bool all)
{
    size_t start = 0;
    while (start < c->pair_count) {
        size_t end = start + 1;
        while (end < c->pair_count &&
               tc_pair_series(&c->pairs[end])->point == tc_pair_series(&c->pairs[start])->point) {
            end++;
        }
        put_point(g, &c->pairs[start], end - start, all);
        start = end;
    }
}

static void put_unpaired(struct tc_grow *g, const struct tc_comparison *c)
{
    if (c->unpaired_count > 0) {
        tc_grow_lit(g, "\nnot compared\n");
    }
    for (size_t n = 0; n < c->unpaired_count && n < UNPAIRED_MAX; n++) {
        const struct tc_unpaired *u = &c->unpaired[n];
        const struct tc_series *one = u->base != NULL ? u->base : u->candidate;
        struct tc_grow line = {0};
        tc_grow_format(&line, "{} at {}: {}", tc_as_printable(one->name),
                       tc_as_printable(one->point->text), tc_unpaired_name(u->why));
        if (u->base != NULL && u->candidate != NULL) {
            bool units = u->why == TC_UNPAIRED_UNITS;
            tc_grow_format(&line, ", {} and {}",
                           tc_as_printable(units ? u->base->unit : u->base->definition),
                           tc_as_printable(units ? u->candidate->unit : u->candidate->definition));
        }
        tc_text_paragraph(g, &line, "  ", "    ");
    }
    if (c->unpaired_count > UNPAIRED_MAX) {
        tc_grow_format(g, "  and {} more (--json has all)\n", c->unpaired_count - UNPAIRED_MAX);
    }
}

/* ---- the whole ---- */

static void put_lines(struct tc_grow *g, struct tc_grow *text)
{
    struct tc_slice rest = tc_grow_slice(text);
    while (rest.len > 0) {
        tc_text_words(g, "", tc_slice_cut(rest, '\n', &rest), "  ");
        tc_grow_lit(g, "\n");
    }
    g->failed |= text->failed;
    tc_grow_fini(text);
}

static void put_next(struct tc_grow *g, const struct tc_comparison *c)
{
    const struct tc_pair *p = tc_comparison_foremost(c);
    if (p != NULL && p->verdict == TC_PAIR_WORSE) {
        tc_grow_format(g, "\nnext: tracecore diagnose {} --against {}\n",
                       tc_compare_typical_run(c, p, TC_SIDE_CANDIDATE),
                       tc_compare_typical_run(c, p, TC_SIDE_BASE));
    }
}

void tc_compare_text(const struct tc_comparison *c, bool all, struct tc_grow *g)
{
    struct tc_grow text = {0};
    tc_comparison_answer(c, &text);
    tc_text_paragraph(g, &text, "", "");
    tc_grow_lit(g, "\n");
    put_groups(g, c);
    tc_compare_confounded(c, &text);
    tc_text_paragraph(g, &text, "", "");
    put_facts(g, c);
    put_points(g, c, all);
    tc_compare_others(c, all, &text);
    if (text.buf.len > 0) {
        tc_grow_format(g, "\n{} (--all shows them)\n", tc_grow_slice(&text));
    }
    tc_grow_fini(&text);
    put_unpaired(g, c);
    tc_grow_lit(g, "\n");
    tc_comparison_doubts(c, &text);
    put_lines(g, &text);
    put_next(g, c);
}
