/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for a pull request: GitHub's Markdown. */
#include "base/format.h"
#include "cli/compare/compare.h"

/* Rows of one table: a comment has 65,536 characters at most. */
#define ROWS_MAX 100
#define FACTS_MAX 20

/* Text of files in a cell: nothing of it is markup. */
static void put_cell(struct tc_grow *g, struct tc_slice text)
{
    struct tc_grow printable = {0};
    tc_grow_format(&printable, "{}", tc_as_printable(text));
    struct tc_slice s = tc_grow_slice(&printable);
    for (size_t n = 0; n < s.len; n++) {
        if (tc_slice_find_byte(TC_LIT("\\`*_{}[]<>#|~!@"), s.ptr[n]) != TC_NPOS) {
            tc_grow_lit(g, "\\");
        }
        tc_grow_str(g, tc_slice_make(s.ptr + n, 1));
    }
    g->failed |= printable.failed;
    tc_grow_fini(&printable);
}

static void put_row(struct tc_grow *g, const struct tc_pair *p)
{
    const char *bold = p->verdict == TC_PAIR_WORSE || p->verdict == TC_PAIR_BETTER ? "**" : "";
    tc_grow_format(g, "| {}{}{} | ", bold, tc_pair_verdict_name(p->verdict), bold);
    put_cell(g, tc_pair_series(p)->name);
    tc_grow_lit(g, " | ");
    put_cell(g, tc_pair_series(p)->point->text);
    for (size_t side = 0; side < TC_SIDES; side++) {
        tc_grow_lit(g, " | ");
        tc_compare_median(&p->sides[side], g);
    }
    tc_grow_lit(g, " | ");
    if (p->is_equal) {
        tc_grow_lit(g, "all equal");
    } else if (p->verdict == TC_PAIR_MULTIMODAL) {
        tc_grow_lit(g, "-");
    } else {
        tc_pair_ratio_put(g, p);
    }
    tc_grow_lit(g, " | ");
    tc_pair_p_put(g, p->p_adjusted);
    tc_grow_format(g, " | {}+{} |\n", p->sides[TC_SIDE_BASE].n, p->sides[TC_SIDE_CANDIDATE].n);
}

static void put_table(struct tc_grow *g, const struct tc_comparison *c, bool shown)
{
    size_t rows = 0;
    tc_grow_lit(g, "| verdict | metric | point | base | candidate | ratio | p | n |\n"
                   "| --- | --- | --- | --: | --: | --- | --- | --- |\n");
    for (size_t n = 0; n < c->pair_count; n++) {
        if (tc_compare_is_shown(&c->pairs[n], false) == shown && rows++ < ROWS_MAX) {
            put_row(g, &c->pairs[n]);
        }
    }
    if (rows > ROWS_MAX) {
        tc_grow_format(g, "\n{} more rows: `--json` has all.\n", rows - ROWS_MAX);
    }
}

static void put_differences(struct tc_grow *g, const struct tc_comparison *c)
{
    const struct tc_differences *d = &c->differs;
    tc_grow_lit(g, "\n**What else differs.** ");
    tc_compare_confounded(c, g);
    tc_grow_lit(g, "\n");
    if (d->count > 0) {
        tc_grow_lit(g, "\n| part | field | base | candidate |\n| --- | --- | --- | --- |\n");
    }
    for (size_t n = 0; n < d->count && n < FACTS_MAX; n++) {
        const struct tc_difference *item = &d->items[n];
        tc_grow_format(g, "| {} | ", tc_group_part(item->column));
        put_cell(g, tc_slice_cstr(tc_answer_name(&c->groups[0].runs, item->column)));
        for (size_t side = 0; side < TC_SIDES; side++) {
            struct tc_grow text = {0};
            tc_fact_side_put(&text, &c->groups[side], item->column, &item->sides[side]);
            tc_grow_lit(g, " | ");
            put_cell(g, tc_grow_slice(&text));
            g->failed |= text.failed;
            tc_grow_fini(&text);
        }
        tc_grow_lit(g, " |\n");
    }
}

static void put_group(struct tc_grow *g, const struct tc_comparison *c, size_t side)
{
    struct tc_grow text = {0};
    tc_group_describe(&c->groups[side], &text);
    put_cell(g, tc_grow_slice(&text));
    tc_grow_format(g, " ({})", tc_as_count((int64_t)c->groups[side].run_count, "run"));
    g->failed |= text.failed;
    tc_grow_fini(&text);
}

void tc_compare_markdown(const struct tc_comparison *c, bool all, struct tc_grow *g)
{
    struct tc_grow text = {0};
    tc_grow_lit(g, "### ");
    tc_comparison_answer(c, &text);
    put_cell(g, tc_grow_slice(&text));
    tc_grow_fini(&text);
    tc_grow_lit(g, "\n\nBase: ");
    put_group(g, c, TC_SIDE_BASE);
    tc_grow_lit(g, ". Candidate: ");
    put_group(g, c, TC_SIDE_CANDIDATE);
    tc_grow_lit(g, ".\n\n");
    put_table(g, c, true);
    tc_compare_others(c, false, &text);
    if (text.buf.len > 0) {
        tc_grow_format(g, "\n<details{}><summary>{}</summary>\n\n", all ? " open" : "",
                       tc_grow_slice(&text));
        put_table(g, c, false);
        tc_grow_lit(g, "\n</details>\n");
    }
    tc_grow_fini(&text);
    put_differences(g, c);
    tc_grow_lit(g, "\n");
    tc_comparison_doubts(c, &text);
    struct tc_slice rest = tc_grow_slice(&text);
    while (rest.len > 0) {
        tc_grow_lit(g, "- ");
        put_cell(g, tc_slice_cut(rest, '\n', &rest));
        tc_grow_lit(g, "\n");
    }
    g->failed |= text.failed;
    tc_grow_fini(&text);
}
