/* SPDX-License-Identifier: Apache-2.0 */
/* A document as one HTML file: no script, nothing from elsewhere, and a policy that allows none. */
#include "report/document/html_priv.h"

#include "base/base64.h"
#include "base/digest.h"
#include "report/document/escape_priv.h"
#include "report/document/number_priv.h"
#include "report/document/plot_priv.h"
#include "report/document/render.h"

static void put_element(struct tc_grow *g, const char *tag, struct tc_slice text)
{
    tc_grow_format(g, "<{}>", tag);
    tc__html_text(g, text);
    tc_grow_format(g, "</{}>", tag);
}

/* In a table its parts stand below each other; in a sentence all but the value are in brackets. */
static void put_number(struct tc_grow *g, const struct tc_doc_number *n, bool in_table)
{
    char data[TC__NUMBER_TEXT];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    tc_grow_lit(g, "<span class=\"value\">");
    tc__number_value(&b, n);
    tc__html_text(g, tc_buf_slice(&b));
    tc_grow_format(g, "</span> <span class=\"range{}\">{}", n->has_interval ? "" : " none",
                   in_table ? "" : "(");
    tc_buf_reset(&b);
    tc__number_interval(&b, n);
    tc__html_text(g, n->has_interval ? tc_buf_slice(&b) : n->why);
    tc_buf_reset(&b);
    tc__number_runs(&b, n);
    tc_grow_format(g, "{}</span> <span class=\"runs\">n {}{} <a class=\"id\" href=\"#",
                   in_table ? "" : ";", tc_buf_slice(&b), in_table ? "" : ";");
    tc__html_text(g, n->id);
    tc_grow_lit(g, "\">");
    tc__html_text(g, n->id);
    tc_grow_format(g, "</a>{}</span>", in_table ? "" : ")");
}

void tc__html_spans(struct tc_grow *g, const struct tc_doc_spans *spans, bool in_table)
{
    for (const struct tc_doc_span *s = spans->first; s != NULL; s = s->next) {
        switch (s->kind) {
        case TC_DOC_TEXT: /* an element of its own: the direction of one does not turn others */
            put_element(g, "bdi", s->text);
            break;
        case TC_DOC_STRONG:
            put_element(g, "strong", s->text);
            break;
        case TC_DOC_CODE:
            tc_grow_lit(g, "<bdi>");
            put_element(g, "code", s->text);
            tc_grow_lit(g, "</bdi>");
            break;
        case TC_DOC_NUMBER:
            put_number(g, s->number, in_table);
            break;
        }
    }
}

static void put_spans_in(struct tc_grow *g, const char *tag, const char *css_class,
                         const struct tc_doc_spans *spans)
{
    tc_grow_format(g, "<{}{}{}{}>", tag, css_class == NULL ? "" : " class=\"",
                   css_class == NULL ? "" : css_class, css_class == NULL ? "" : "\"");
    tc__html_spans(g, spans, false);
    tc_grow_format(g, "</{}>\n", tag);
}

static void put_plot(struct tc_grow *g, const struct tc_doc_plot *p, size_t number)
{
    tc_grow_lit(g, "<figure>");
    put_element(g, "figcaption", p->title);
    tc__plot_svg(g, p, number);
    tc_grow_lit(g, "</figure>\n");
}

static void put_block(struct tc_grow *g, const struct tc_doc_block *b, size_t number)
{
    switch (b->kind) {
    case TC_DOC_HEADING:
        put_element(g, b->level == 2 ? "h2" : "h3", b->text);
        tc_grow_lit(g, "\n");
        break;
    case TC_DOC_PARAGRAPH:
        put_spans_in(g, "p", NULL, &b->spans);
        break;
    case TC_DOC_ITEM:
        put_spans_in(g, "li", NULL, &b->spans);
        break;
    case TC_DOC_NOTE:
        put_spans_in(g, "p", "note", &b->spans);
        break;
    case TC_DOC_COMMAND:
        tc_grow_lit(g, "<pre>");
        tc__html_lines(g, b->text);
        tc_grow_lit(g, "</pre>\n");
        break;
    case TC_DOC_TABLE:
        tc__html_table(g, b->table);
        break;
    case TC_DOC_PLOT:
        put_plot(g, b->plot, number);
        break;
    }
}

/* Items that follow each other are in one list, plots in one grid. */
static void put_blocks(struct tc_grow *g, const struct tc_doc_block *b)
{
    size_t number = 0;
    enum tc_doc_block_kind before = TC_DOC_PARAGRAPH;
    for (; b != NULL; b = b->next) {
        if (b->kind != before && b->kind == TC_DOC_ITEM) {
            tc_grow_lit(g, "<ul>\n");
        } else if (b->kind != before && b->kind == TC_DOC_PLOT) {
            tc_grow_lit(g, "<div class=\"plots\">\n");
        }
        put_block(g, b, number++);
        bool is_last = b->next == NULL || b->next->kind != b->kind;
        if (is_last && b->kind == TC_DOC_ITEM) {
            tc_grow_lit(g, "</ul>\n");
        } else if (is_last && b->kind == TC_DOC_PLOT) {
            tc_grow_lit(g, "</div>\n");
        }
        before = b->kind;
    }
}

static void put_head(struct tc_grow *g, const struct tc_doc *d)
{
    struct tc_digest digest;
    char text[TC_BASE64_LEN(TC_DIGEST_BYTES)];
    struct tc_sha256 hash;
    tc_sha256_init(&hash);
    for (size_t i = 0; tc__html_style[i] != NULL; i++) {
        tc_sha256_update(&hash, tc_slice_cstr(tc__html_style[i]));
    }
    tc_sha256_final(&hash, &digest);
    char *end =
        tc_base64_put(text, tc_slice_make((const char *)digest.bytes, sizeof digest.bytes), true);
    tc_grow_format(g,
                   "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "style-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta name=\"referrer\" content=\"no-referrer\">\n"
                   "<meta name=\"generator\" content=\"tracecore\">\n",
                   tc_slice_make(text, (size_t)(end - text)));
    put_element(g, "title", d->title);
    tc_grow_lit(g, "\n<style>");
    for (size_t i = 0; tc__html_style[i] != NULL; i++) {
        tc_grow_str(g, tc_slice_cstr(tc__html_style[i]));
    }
    tc_grow_lit(g, "</style>\n</head>\n");
}

static void put_facts(struct tc_grow *g, const struct tc_doc_fact *f)
{
    tc_grow_str(g, f == NULL ? TC_EMPTY : TC_LIT("<dl>\n"));
    for (const struct tc_doc_fact *one = f; one != NULL; one = one->next) {
        put_element(g, "dt", one->name);
        put_spans_in(g, "dd", NULL, &one->spans);
    }
    tc_grow_str(g, f == NULL ? TC_EMPTY : TC_LIT("</dl>\n"));
}

void tc_doc_html(const struct tc_doc *d, struct tc_grow *g)
{
    put_head(g, d);
    tc_grow_lit(g, "<body>\n<main>\n<header>\n<p class=\"kicker\">For ");
    tc__html_text(g, d->audience);
    tc_grow_lit(g, "</p>\n");
    put_element(g, "h1", d->title);
    tc_grow_lit(g, "\n");
    if (d->answer.first != NULL) {
        put_spans_in(g, "p", "answer", &d->answer);
    }
    put_facts(g, d->first_fact);
    tc_grow_lit(g, "</header>\n");
    put_blocks(g, d->first);
    if (d->first_lineage != NULL) {
        tc__html_lineage(g, d);
    }
    tc_grow_lit(g, "<footer>Written by tracecore ");
    tc__html_text(g, d->version);
    tc_grow_lit(g, ".</footer>\n</main>\n</body>\n</html>\n");
}
