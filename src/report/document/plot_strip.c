/* SPDX-License-Identifier: Apache-2.0 */
/* Every replicate a mark; the median and its interval behind them; one axis for all sides. */
#include "base/number.h"
#include "report/document/number_priv.h"
#include "report/document/plot_priv.h"

#include <math.h>

#define LEFT 12.0
#define RIGHT (TC__PLOT_WIDTH - 12.0)
#define LANE 64.0
#define LANE_MIDDLE 40.0
/* Marks that would cover each other are moved up and down. */
#define NEAR 7.0
#define MOVE 6.0
#define MOVES_MAX 3
/* With more marks than this that is not done. */
#define MARKS_MOVED_MAX 500

static double moved(const struct tc_doc_side *side, const struct tc__axis *axis, size_t mark)
{
    size_t before = 0;
    double x = tc__axis_place(axis, side->marks[mark].x);
    for (size_t i = 0; i < mark && mark < MARKS_MOVED_MAX; i++) {
        before += fabs(tc__axis_place(axis, side->marks[i].x) - x) < NEAR;
    }
    size_t step = (before + 1) / 2 % (MOVES_MAX + 1);
    return (before % 2 == 0 ? MOVE : -MOVE) * (double)step;
}

static void put_middle(struct tc_grow *g, const struct tc_doc_number *n,
                       const struct tc__axis *axis, double y)
{
    char data[3 * TC__NUMBER_TEXT];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    double x = tc__axis_place(axis, n->value);
    if (n->has_interval) {
        double low = tc__axis_place(axis, n->interval.low);
        double high = tc__axis_place(axis, n->interval.high);
        tc_grow_format(g, "<rect class=\"interval\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"20\"/>",
                       tc__as_coordinate(low), tc__as_coordinate(y - 10),
                       tc__as_coordinate(fmax(high - low, 1)));
    }
    tc_grow_format(g, "<line class=\"median\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
                   tc__as_coordinate(x), tc__as_coordinate(y - 15), tc__as_coordinate(x),
                   tc__as_coordinate(y + 15));
    tc_buf_lit(&b, "median ");
    tc__number_value(&b, n);
    if (n->has_interval) {
        tc_buf_lit(&b, ", ");
        tc__number_interval(&b, n);
    }
    tc_buf_lit(&b, ", n ");
    tc__number_runs(&b, n);
    tc__plot_text(g, "tick", "end", RIGHT, y - LANE_MIDDLE + 16, tc_buf_slice(&b), 58);
}

/* The median and its interval may be outside of the marks: an interval of few runs is wide. */
static void include_middles(const struct tc_doc_plot *p, double *io_low, double *io_high)
{
    for (size_t n = 0; n < p->side_count; n++) {
        const struct tc_doc_number *m = p->sides[n].middle;
        if (m != NULL && m->has_interval) {
            *io_low = fmin(*io_low, m->interval.low);
            *io_high = fmax(*io_high, m->interval.high);
        }
    }
}

double tc__draw_strip(struct tc_grow *g, const struct tc_doc_plot *p)
{
    double low = 0;
    double high = 0;
    double bottom = LANE * (double)p->side_count;
    if (!tc__plot_bounds(p, &low, &high, false)) {
        tc__plot_text(g, "name", "start", LEFT, 20, TC_LIT("There are no values."), 64);
        return 32;
    }
    include_middles(p, &low, &high);
    struct tc__axis axis = tc__axis_make(low, high, LEFT, RIGHT);
    tc__axis_below(g, &axis, bottom + 4, 24, p->x_name);
    for (size_t n = 0; n < p->side_count; n++) {
        const struct tc_doc_side *side = &p->sides[n];
        double y = LANE * (double)n + LANE_MIDDLE;
        tc__plot_text(g, "side", "start", LEFT, y - LANE_MIDDLE + 16, side->name, 22);
        if (side->middle != NULL) {
            put_middle(g, side->middle, &axis, y);
        }
        for (size_t i = 0; i < side->mark_count; i++) {
            if (isfinite(side->marks[i].x)) {
                tc__plot_mark(g, tc__axis_place(&axis, side->marks[i].x), y + moved(side, &axis, i),
                              n, side->marks[i].label, tc_as_number(side->marks[i].x));
            }
        }
    }
    return bottom + 44;
}
