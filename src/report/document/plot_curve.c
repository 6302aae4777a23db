/* SPDX-License-Identifier: Apache-2.0 */
/* Lines over an area: y against x of each side (latency against throughput), and a metric over the
 * history of runs, with the places where it changed. */
#include "base/number.h"
#include "report/document/escape_priv.h"
#include "report/document/plot_priv.h"

#include <math.h>

#define LEFT 60.0
#define RIGHT (TC__PLOT_WIDTH - 16.0)
#define TOP 46.0
#define BOTTOM 260.0
#define HEIGHT 304.0
/* Above the area: what the marks of each side look like. */
#define LEGEND_Y 14.0
#define LEGEND_STEP 130.0

static void put_legend(struct tc_grow *g, const struct tc_doc_plot *p)
{
    for (size_t n = 0; n < p->side_count; n++) {
        double x = LEFT + LEGEND_STEP * (double)n;
        tc_grow_format(g, "<circle class=\"mark side{}\" cx=\"{}\" cy=\"{}\" r=\"4.5\"/>",
                       (uint64_t)n, tc__as_coordinate(x), tc__as_coordinate(LEGEND_Y - 4));
        tc__plot_text(g, "side", "start", x + 10, LEGEND_Y, p->sides[n].name, 16);
    }
}

static bool is_drawn(const struct tc_doc_mark *m)
{
    return isfinite(m->x) && isfinite(m->y);
}

static void put_line(struct tc_grow *g, const struct tc_doc_side *side, size_t number,
                     const struct tc__axis *x, const struct tc__axis *y)
{
    tc_grow_format(g, "<polyline class=\"line side{}\" points=\"", (uint64_t)number);
    for (size_t i = 0; i < side->mark_count; i++) {
        if (is_drawn(&side->marks[i])) {
            tc_grow_format(g, "{},{} ", tc__as_coordinate(tc__axis_place(x, side->marks[i].x)),
                           tc__as_coordinate(tc__axis_place(y, side->marks[i].y)));
        }
    }
    tc_grow_lit(g, "\"/>");
}

static void put_marks(struct tc_grow *g, const struct tc_doc_side *side, size_t number,
                      const struct tc__axis *x, const struct tc__axis *y, bool labelled)
{
    for (size_t i = 0; i < side->mark_count; i++) {
        const struct tc_doc_mark *m = &side->marks[i];
        if (!is_drawn(m)) {
            continue;
        }
        double at_x = tc__axis_place(x, m->x);
        if (m->has_range) {
            tc_grow_format(g, "<line class=\"range\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
                           tc__as_coordinate(at_x), tc__as_coordinate(tc__axis_place(y, m->low)),
                           tc__as_coordinate(at_x), tc__as_coordinate(tc__axis_place(y, m->high)));
        }
        tc__plot_mark(g, at_x, tc__axis_place(y, m->y), number, m->label, tc_as_number(m->y));
        if (labelled) { /* of one side above the mark, of the other below: they seldom cover */
            double at_y = tc__axis_place(y, m->y) + (number == 0 ? 18 : -9);
            tc__plot_text(g, "tick", at_x > RIGHT - 40 ? "end" : "middle", at_x, at_y, m->label,
                          16);
        }
    }
}

double tc__draw_curve(struct tc_grow *g, const struct tc_doc_plot *p)
{
    double low[2] = {0, 0};
    double high[2] = {0, 0};
    if (!tc__plot_bounds(p, &low[0], &high[0], false) ||
        !tc__plot_bounds(p, &low[1], &high[1], true)) {
        tc__plot_text(g, "name", "start", 12, 20, TC_LIT("There are no values."), 64);
        return 32;
    }
    struct tc__axis x = tc__axis_make(fmin(low[0], 0), high[0], LEFT, RIGHT);
    struct tc__axis y = tc__axis_make(fmin(low[1], 0), high[1], BOTTOM, TOP);
    put_legend(g, p);
    tc__axis_left(g, &y, LEFT, RIGHT, p->y_name);
    tc__axis_below(g, &x, BOTTOM, TOP, p->x_name);
    for (size_t n = 0; n < p->side_count; n++) {
        put_line(g, &p->sides[n], n, &x, &y);
    }
    for (size_t n = 0; n < p->side_count; n++) {
        put_marks(g, &p->sides[n], n, &x, &y, true);
    }
    return HEIGHT;
}

static void put_level(struct tc_grow *g, const struct tc__axis *x, const struct tc__axis *y,
                      double from, double to, double value)
{
    tc_grow_format(
        g, "<line class=\"median\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
        tc__as_coordinate(tc__axis_place(x, from)), tc__as_coordinate(tc__axis_place(y, value)),
        tc__as_coordinate(tc__axis_place(x, to)), tc__as_coordinate(tc__axis_place(y, value)));
}

static void put_changes(struct tc_grow *g, const struct tc_doc_plot *p, const struct tc__axis *x,
                        const struct tc__axis *y)
{
    double begin = x->low;
    for (size_t i = 0; i < p->change_count; i++) {
        const struct tc_doc_change *c = &p->changes[i];
        double at = (double)c->at + 0.5;
        double end = i + 1 < p->change_count ? (double)p->changes[i + 1].at + 0.5 : x->high;
        double line_x = tc__axis_place(x, at);
        tc_grow_format(g, "<line class=\"change\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
                       tc__as_coordinate(line_x), tc__as_coordinate(LEGEND_Y - 10),
                       tc__as_coordinate(line_x), tc__as_coordinate(BOTTOM));
        tc__plot_text(g, "tick", line_x > TC__PLOT_WIDTH / 2 ? "end" : "start",
                      line_x + (line_x > TC__PLOT_WIDTH / 2 ? -4 : 4), LEGEND_Y, c->label, 44);
        put_level(g, x, y, begin, at, c->before);
        if (i + 1 == p->change_count) {
            put_level(g, x, y, at, end, c->after);
        }
        begin = at;
    }
}

/* The runs are counted from 1; the first and the last are named. */
double tc__draw_trend(struct tc_grow *g, const struct tc_doc_plot *p)
{
    double low = 0;
    double high = 0;
    const struct tc_doc_side *side = &p->sides[0];
    if (p->side_count == 0 || !tc__plot_bounds(p, &low, &high, true)) {
        tc__plot_text(g, "name", "start", 12, 20, TC_LIT("There are no values."), 64);
        return 32;
    }
    struct tc__axis y = tc__axis_make(low, high, BOTTOM, TOP);
    struct tc__axis x = {
        .low = 0.5, .high = (double)side->mark_count + 0.5, .from = LEFT, .to = RIGHT};
    tc__axis_left(g, &y, LEFT, RIGHT, p->y_name);
    tc__axis_below(g, &x, BOTTOM, TOP, p->x_name);
    tc__plot_text(g, "tick", "start", LEFT, BOTTOM + 17, side->marks[0].label, 28);
    tc__plot_text(g, "tick", "end", RIGHT, BOTTOM + 17, side->marks[side->mark_count - 1].label,
                  28);
    put_line(g, side, 1, &x, &y);
    put_marks(g, side, 1, &x, &y, false);
    put_changes(g, p, &x, &y);
    return HEIGHT;
}
