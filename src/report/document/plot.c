/* SPDX-License-Identifier: Apache-2.0 */
#include "report/document/plot_priv.h"

#include "report/document/escape_priv.h"

#include <math.h>

#define MARK_RADIUS 4.5

bool tc__plot_bounds(const struct tc_doc_plot *p, double *out_low, double *out_high, bool of_y)
{
    bool any = false;
    for (size_t n = 0; n < p->side_count; n++) {
        for (size_t i = 0; i < p->sides[n].mark_count; i++) {
            const struct tc_doc_mark *m = &p->sides[n].marks[i];
            double low = !of_y ? m->x : m->has_range ? fmin(m->y, m->low) : m->y;
            double high = !of_y ? m->x : m->has_range ? fmax(m->y, m->high) : m->y;
            if (!isfinite(low) || !isfinite(high)) {
                continue;
            }
            *out_low = any ? fmin(*out_low, low) : low;
            *out_high = any ? fmax(*out_high, high) : high;
            any = true;
        }
    }
    return any;
}

void tc__plot_mark(struct tc_grow *g, double x, double y, size_t side, struct tc_slice says,
                   struct tc_arg value)
{
    tc_grow_format(g, "<circle class=\"mark side{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"><title>",
                   (uint64_t)side, tc__as_coordinate(x), tc__as_coordinate(y),
                   tc__as_coordinate(MARK_RADIUS));
    tc__html_text(g, says);
    tc_grow_format(g, "{}{}</title></circle>", says.len > 0 ? ": " : "", value);
}

/* The beginning of a text, with an ellipsis when it goes on. */
static struct tc_slice cut_text(struct tc_slice text, size_t characters_max)
{
    size_t characters = 0;
    for (size_t i = 0; i < text.len; i++) {
        characters += ((unsigned char)text.ptr[i] & 0xc0) != 0x80;
        if (characters > characters_max) {
            return tc_slice_make(text.ptr, i);
        }
    }
    return text;
}

void tc__plot_text(struct tc_grow *g, const char *css_class, const char *anchor, double x, double y,
                   struct tc_slice text, size_t characters_max)
{
    struct tc_slice shown = cut_text(text, characters_max);
    tc_grow_format(g, "<text class=\"{}\" text-anchor=\"{}\" x=\"{}\" y=\"{}\">", css_class, anchor,
                   tc__as_coordinate(x), tc__as_coordinate(y));
    tc__html_text(g, shown);
    tc_grow_str(g, shown.len < text.len ? TC_LIT("…</text>") : TC_LIT("</text>"));
}

void tc__plot_svg(struct tc_grow *g, const struct tc_doc_plot *p, size_t number)
{
    struct tc_grow inside = {0};
    double height = 0;
    switch (p->kind) {
    case TC_DOC_STRIP:
        height = tc__draw_strip(&inside, p);
        break;
    case TC_DOC_CURVE:
        height = tc__draw_curve(&inside, p);
        break;
    case TC_DOC_TREND:
        height = tc__draw_trend(&inside, p);
        break;
    }
    tc_grow_format(g,
                   "<svg role=\"img\" viewBox=\"0 0 {} {}\" aria-labelledby=\"plot{}t plot{}d\">"
                   "<title id=\"plot{}t\">",
                   tc__as_coordinate(TC__PLOT_WIDTH), tc__as_coordinate(height), (uint64_t)number,
                   (uint64_t)number, (uint64_t)number);
    tc__html_text(g, p->title);
    tc_grow_format(g, "</title><desc id=\"plot{}d\">", (uint64_t)number);
    tc__html_text(g, p->describes);
    tc_grow_lit(g, "</desc>");
    tc_grow_str(g, tc_grow_slice(&inside));
    tc_grow_lit(g, "</svg>");
    g->failed = g->failed || inside.failed;
    tc_grow_fini(&inside);
}
