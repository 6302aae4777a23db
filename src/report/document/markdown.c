/* SPDX-License-Identifier: Apache-2.0 */
#include "base/number.h"
#include "report/document/escape_priv.h"
#include "report/document/markdown_priv.h"
#include "report/document/number_priv.h"
#include "report/document/plot_priv.h"
#include "report/document/render.h"

#include <math.h>
#include <string.h>

void tc__md_number(struct tc_grow *g, const struct tc_doc_number *n, enum tc__md_number_part part,
                   enum tc__md_place place)
{
    char data[TC__NUMBER_TEXT];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    switch (part) {
    case TC__MD_VALUE:
        tc__number_value(&b, n);
        break;
    case TC__MD_INTERVAL:
        if (!n->has_interval) {
            tc__md_text(g, n->why, place);
            return;
        }
        tc__number_interval(&b, n);
        break;
    case TC__MD_RUNS:
        tc__number_runs(&b, n);
        break;
    case TC__MD_ID:
        tc__md_code(g, n->id, place);
        return;
    }
    tc__md_text(g, tc_buf_slice(&b), place);
}

static void put_number(struct tc_grow *g, const struct tc_doc_number *n, enum tc__md_place place)
{
    tc_grow_lit(g, "**");
    tc__md_number(g, n, TC__MD_VALUE, TC__MD_INLINE);
    tc_grow_lit(g, "** (");
    tc__md_number(g, n, TC__MD_INTERVAL, place);
    tc_grow_lit(g, "; n ");
    tc__md_number(g, n, TC__MD_RUNS, place);
    tc_grow_lit(g, "; ");
    tc__md_number(g, n, TC__MD_ID, place);
    tc_grow_lit(g, ")");
}

void tc__md_spans(struct tc_grow *g, const struct tc_doc_spans *spans, enum tc__md_place place)
{
    for (const struct tc_doc_span *s = spans->first; s != NULL; s = s->next) {
        switch (s->kind) {
        case TC_DOC_TEXT:
            tc__md_text(g, s->text, place);
            break;
        case TC_DOC_STRONG:
            tc_grow_lit(g, "**");
            tc__md_text(g, tc_slice_trim(s->text), TC__MD_CELL);
            tc_grow_lit(g, "**");
            tc_grow_str(g, tc_slice_ends(s->text, TC_LIT(" ")) ? TC_LIT(" ") : TC_EMPTY);
            break;
        case TC_DOC_CODE:
            tc__md_code(g, s->text, place);
            break;
        case TC_DOC_NUMBER:
            put_number(g, s->number, place == TC__MD_LINE_START ? TC__MD_INLINE : place);
            break;
        }
        place = place == TC__MD_LINE_START ? TC__MD_INLINE : place;
    }
}

/* ---- plots: marks of text ---- */

#define STRIP_WIDTH 60

/* Which column of the strip a value is in. */
static size_t strip_column(double value, double low, double high)
{
    double part = (value - low) / (high - low);
    part = !isfinite(part) ? 0.5 : part < 0 ? 0 : part > 1 ? 1 : part;
    return (size_t)(part * (STRIP_WIDTH - 1) + 0.5);
}

static void put_strip_side(struct tc_grow *g, const struct tc_doc_side *side, double low,
                           double high)
{
    char line[STRIP_WIDTH + 1];
    unsigned counts[STRIP_WIDTH] = {0};
    memset(line, ' ', STRIP_WIDTH);
    for (size_t i = 0; i < side->mark_count; i++) {
        if (isfinite(side->marks[i].x)) {
            counts[strip_column(side->marks[i].x, low, high)]++;
        }
    }
    for (size_t i = 0; i < STRIP_WIDTH; i++) {
        line[i] = counts[i] == 0   ? ' '
                  : counts[i] == 1 ? 'o'
                  : counts[i] < 10 ? (char)('0' + counts[i])
                                   : '+';
    }
    if (side->middle != NULL) {
        size_t at = strip_column(side->middle->value, low, high);
        line[at] = line[at] == ' ' ? '|' : line[at];
    }
    tc_grow_str(g, tc_slice_make(line, STRIP_WIDTH));
    tc_grow_format(g, "  {}\n", tc_as_printable(side->name));
}

static void put_strip(struct tc_grow *g, const struct tc_doc_plot *p)
{
    double low = 0;
    double high = 0;
    struct tc_grow text = {0};
    if (!tc__plot_bounds(p, &low, &high, false)) {
        tc_grow_lit(g, "There are no values.\n");
        return;
    }
    tc_grow_format(&text, "{}: {} to {}\n", tc_as_printable(p->x_name), tc_as_number(low),
                   tc_as_number(high));
    for (size_t n = 0; n < p->side_count; n++) {
        put_strip_side(&text, &p->sides[n], low, high);
    }
    tc_grow_lit(&text, "o one run, 2 two runs at one place, | the median\n");
    g->failed = g->failed || text.failed;
    tc__md_block(g, tc_grow_slice(&text), "text");
    tc_grow_fini(&text);
}

static void put_plot(struct tc_grow *g, const struct tc_doc_plot *p)
{
    tc_grow_lit(g, "**");
    tc__md_text(g, tc_slice_trim(p->title), TC__MD_INLINE);
    tc_grow_lit(g, "**. ");
    tc__md_text(g, p->describes, TC__MD_INLINE);
    tc_grow_lit(g, "\n");
    if (p->kind == TC_DOC_STRIP) {
        tc_grow_lit(g, "\n");
        put_strip(g, p);
    }
}

/* ---- blocks ---- */

static void put_block(struct tc_grow *g, const struct tc_doc_block *b)
{
    switch (b->kind) {
    case TC_DOC_HEADING:
        tc_grow_str(g, b->level == 2 ? TC_LIT("## ") : TC_LIT("### "));
        tc__md_text(g, b->text, TC__MD_INLINE);
        tc_grow_lit(g, "\n");
        break;
    case TC_DOC_PARAGRAPH:
        tc__md_spans(g, &b->spans, TC__MD_LINE_START);
        tc_grow_lit(g, "\n");
        break;
    case TC_DOC_ITEM:
        tc_grow_lit(g, "- ");
        tc__md_spans(g, &b->spans, TC__MD_LINE_START);
        tc_grow_lit(g, "\n");
        break;
    case TC_DOC_NOTE:
        tc_grow_lit(g, "> ");
        tc__md_spans(g, &b->spans, TC__MD_LINE_START);
        tc_grow_lit(g, "\n");
        break;
    case TC_DOC_COMMAND:
        tc__md_block(g, b->text, "sh");
        break;
    case TC_DOC_TABLE:
        tc__md_table(g, b->table);
        break;
    case TC_DOC_PLOT:
        put_plot(g, b->plot);
        break;
    }
}

static void put_entry(struct tc_grow *g, const struct tc_doc *d, const struct tc_doc_lineage *l)
{
    const struct tc_doc_lineage *first = tc_doc_lineage_same_query(d, l);
    tc_grow_lit(g, "- ");
    tc__md_code(g, l->id, TC__MD_INLINE);
    tc_grow_lit(g, " ");
    tc__md_text(g, l->what, TC__MD_INLINE);
    tc_grow_str(g, l->is_published ? TC_LIT("; published") : TC_LIT("; not published"));
    for (size_t i = 0; i < TC_DOC_SIDES_MAX && l->bases[i] != NULL; i++) {
        tc_grow_str(g, i == 0 ? TC_LIT("; runs of ") : TC_LIT(" and "));
        tc__md_text(g, l->bases[i]->name, TC__MD_INLINE);
    }
    if (first != l) {
        tc_grow_lit(g, "; query of ");
        tc__md_code(g, first->id, TC__MD_INLINE);
        tc_grow_lit(g, "\n");
        return;
    }
    tc_grow_lit(g, "; query ");
    tc__md_code(g, l->query_digest, TC__MD_INLINE);
    tc_grow_lit(g, "\n\n  ");
    tc__md_code(g, l->query, TC__MD_INLINE);
    tc_grow_lit(g, "\n\n");
}

static void put_basis(struct tc_grow *g, const struct tc_doc_basis *b)
{
    tc_grow_lit(g, "\n### Runs of ");
    tc__md_text(g, b->name, TC__MD_INLINE);
    tc_grow_lit(g, "\n\n| run | manifest | workload spec |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < b->run_count; i++) {
        const struct tc_slice parts[] = {b->runs[i].run_id, b->runs[i].manifest_digest,
                                         b->runs[i].spec_digest};
        tc__md_code_row(g, parts, TC_COUNT(parts));
    }
    if (b->source_count > 0) {
        tc_grow_lit(g, "\n| run | file | SHA-256 | where in it |\n| --- | --- | --- | --- |\n");
    }
    for (size_t i = 0; i < b->source_count; i++) {
        const struct tc_slice parts[] = {b->sources[i].run_id, b->sources[i].name,
                                         b->sources[i].digest, b->sources[i].pointer};
        tc__md_code_row(g, parts, TC_COUNT(parts));
    }
}

static void put_lineage(struct tc_grow *g, const struct tc_doc *d)
{
    tc_grow_lit(g, "\n## Lineage of the numbers\n\n" TC__LINEAGE_WORDS "\n\n");
    for (const struct tc_doc_lineage *l = d->first_lineage; l != NULL; l = l->next) {
        put_entry(g, d, l);
    }
    for (const struct tc_doc_basis *b = d->first_basis; b != NULL; b = b->next) {
        put_basis(g, b);
    }
}

void tc_doc_markdown(const struct tc_doc *d, struct tc_grow *g)
{
    const struct tc_doc_block *before = NULL;
    tc_grow_lit(g, "# ");
    tc__md_text(g, d->title, TC__MD_INLINE);
    tc_grow_lit(g, "\n\n");
    tc__md_spans(g, &d->answer, TC__MD_LINE_START);
    tc_grow_str(g, d->answer.first == NULL ? TC_EMPTY : TC_LIT("\n"));
    if (d->first_fact != NULL) {
        tc_grow_lit(g, "\n| | |\n| --- | --- |\n");
    }
    for (const struct tc_doc_fact *f = d->first_fact; f != NULL; f = f->next) {
        tc_grow_lit(g, "| ");
        tc__md_text(g, f->name, TC__MD_CELL);
        tc_grow_lit(g, " | ");
        tc__md_spans(g, &f->spans, TC__MD_CELL);
        tc_grow_lit(g, " |\n");
    }
    for (const struct tc_doc_block *b = d->first; b != NULL; b = b->next) {
        bool is_next_item = before != NULL && before->kind == b->kind && b->kind == TC_DOC_ITEM;
        tc_grow_str(g, is_next_item ? TC_EMPTY : TC_LIT("\n"));
        put_block(g, b);
        before = b;
    }
    if (d->first_lineage != NULL) {
        put_lineage(g, d);
    }
    tc_grow_lit(g, "\nWritten by tracecore ");
    tc__md_text(g, d->version, TC__MD_INLINE);
    tc_grow_lit(g, " for ");
    tc__md_text(g, d->audience, TC__MD_INLINE);
    tc_grow_lit(g, ".\n");
}
