/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the HTML page, and the list of lineage ids at its end. */
#include "report/document/escape_priv.h"
#include "report/document/html_priv.h"
#include "report/document/number_priv.h"

/* With more columns the rows become blocks on a narrow screen. */
#define NARROW_COLUMNS 2

static void put_head(struct tc_grow *g, const struct tc_doc_table *t)
{
    tc_grow_lit(g, "<thead><tr>");
    for (size_t i = 0; i < t->column_count; i++) {
        tc_grow_lit(g, "<th scope=\"col\">");
        tc__html_text(g, t->heads[i]);
        tc_grow_lit(g, "</th>");
    }
    tc_grow_lit(g, "</tr></thead>");
}

static void put_row(struct tc_grow *g, const struct tc_doc_table *t, const struct tc_doc_row *row)
{
    tc_grow_lit(g, "<tr>");
    for (size_t i = 0; i < t->column_count; i++) {
        if (i == 0) {
            tc_grow_lit(g, "<th scope=\"row\">");
        } else {
            tc_grow_format(g, "<td{} data-head=\"", t->is_number[i] ? " class=\"number\"" : "");
            tc__html_text(g, t->heads[i]);
            tc_grow_lit(g, "\">");
        }
        if (i < row->cell_count) {
            tc__html_spans(g, &row->cells[i], t->is_number[i]);
        }
        tc_grow_str(g, i == 0 ? TC_LIT("</th>") : TC_LIT("</td>"));
    }
    tc_grow_lit(g, "</tr>\n");
}

void tc__html_table(struct tc_grow *g, const struct tc_doc_table *t)
{
    tc_grow_format(g, "<div class=\"scroll\"><table{}>",
                   t->column_count > NARROW_COLUMNS ? " class=\"wide\"" : "");
    if (t->caption.len > 0) {
        tc_grow_lit(g, "<caption>");
        tc__html_text(g, t->caption);
        tc_grow_lit(g, "</caption>");
    }
    put_head(g, t);
    tc_grow_lit(g, "<tbody>\n");
    for (const struct tc_doc_row *row = t->first; row != NULL; row = row->next) {
        put_row(g, t, row);
    }
    tc_grow_lit(g, "</tbody></table></div>\n");
}

/* ---- lineage ---- */

static void put_code(struct tc_grow *g, struct tc_slice text)
{
    tc_grow_lit(g, "<code>");
    tc__html_text(g, text);
    tc_grow_lit(g, "</code>");
}

static void put_entry(struct tc_grow *g, const struct tc_doc *d, const struct tc_doc_lineage *l)
{
    const struct tc_doc_lineage *first = tc_doc_lineage_same_query(d, l);
    tc_grow_lit(g, "<li id=\"");
    tc__html_text(g, l->id);
    tc_grow_lit(g, "\">");
    put_code(g, l->id);
    tc_grow_lit(g, " ");
    tc__html_text(g, l->what);
    tc_grow_str(g, l->is_published ? TC_LIT("; published") : TC_LIT("; not published"));
    for (size_t i = 0; i < TC_DOC_SIDES_MAX && l->bases[i] != NULL; i++) {
        tc_grow_str(g, i == 0 ? TC_LIT("; runs of ") : TC_LIT(" and "));
        tc__html_text(g, l->bases[i]->name);
    }
    if (first != l) {
        tc_grow_lit(g, "; query of ");
        put_code(g, first->id);
    } else {
        tc_grow_lit(g, "<details><summary>query ");
        put_code(g, l->query_digest);
        tc_grow_lit(g, "</summary><pre>");
        tc__html_lines(g, l->query);
        tc_grow_lit(g, "</pre></details>");
    }
    tc_grow_lit(g, "</li>\n");
}

/* Columns whose cells are code: their heads begin a table. */
static void put_code_heads(struct tc_grow *g, const char *const *heads, size_t count)
{
    tc_grow_lit(g, "<div class=\"scroll\"><table class=\"wide\"><thead><tr>");
    for (size_t i = 0; i < count; i++) {
        tc_grow_format(g, "<th scope=\"col\">{}</th>", heads[i]);
    }
    tc_grow_lit(g, "</tr></thead><tbody>\n");
}

static void put_code_cells(struct tc_grow *g, const char *const *heads,
                           const struct tc_slice *cells, size_t count)
{
    tc_grow_lit(g, "<tr>");
    for (size_t i = 0; i < count; i++) {
        tc_grow_format(g, "<td data-head=\"{}\">", heads[i]);
        if (cells[i].len > 0) {
            put_code(g, cells[i]);
        } else {
            tc_grow_lit(g, "-");
        }
        tc_grow_lit(g, "</td>");
    }
    tc_grow_lit(g, "</tr>\n");
}

static void put_basis(struct tc_grow *g, const struct tc_doc_basis *b)
{
    static const char *const RUN[] = {"run", "manifest", "workload spec"};
    static const char *const SOURCE[] = {"run", "file", "SHA-256", "where in it"};
    tc_grow_lit(g, "<h3>Runs of ");
    tc__html_text(g, b->name);
    tc_grow_lit(g, "</h3>\n");
    put_code_heads(g, RUN, TC_COUNT(RUN));
    for (size_t i = 0; i < b->run_count; i++) {
        const struct tc_slice cells[] = {b->runs[i].run_id, b->runs[i].manifest_digest,
                                         b->runs[i].spec_digest};
        put_code_cells(g, RUN, cells, TC_COUNT(cells));
    }
    tc_grow_lit(g, "</tbody></table></div>\n");
    if (b->source_count == 0) {
        return;
    }
    tc_grow_format(g, "<details><summary>{}</summary>",
                   tc_as_count((int64_t)b->source_count, "source"));
    put_code_heads(g, SOURCE, TC_COUNT(SOURCE));
    for (size_t i = 0; i < b->source_count; i++) {
        const struct tc_slice cells[] = {b->sources[i].run_id, b->sources[i].name,
                                         b->sources[i].digest, b->sources[i].pointer};
        put_code_cells(g, SOURCE, cells, TC_COUNT(cells));
    }
    tc_grow_lit(g, "</tbody></table></div></details>\n");
}

void tc__html_lineage(struct tc_grow *g, const struct tc_doc *d)
{
    tc_grow_lit(
        g, "<section class=\"lineage\">\n<h2>Lineage of the numbers</h2>\n<p>" TC__LINEAGE_WORDS
           "</p>\n<ul>\n");
    for (const struct tc_doc_lineage *l = d->first_lineage; l != NULL; l = l->next) {
        put_entry(g, d, l);
    }
    tc_grow_lit(g, "</ul>\n");
    for (const struct tc_doc_basis *b = d->first_basis; b != NULL; b = b->next) {
        put_basis(g, b);
    }
    tc_grow_lit(g, "</section>\n");
}
