/* SPDX-License-Identifier: Apache-2.0 */
/* Plots as SVG, in the user units of a drawing TC__PLOT_WIDTH wide. */
#ifndef TC_REPORT_DOCUMENT_PLOT_PRIV_H
#define TC_REPORT_DOCUMENT_PLOT_PRIV_H

#include "base/format.h"
#include "base/table/grow.h"
#include "report/document/document.h"

#include <stdbool.h>
#include <stddef.h>

/* Narrow, so that its letters can be read on a telephone, where it is made smaller. */
#define TC__PLOT_WIDTH 480.0

/* An axis with ticks at round numbers: from `low` on, `count` of them, `step` apart. */
struct tc__axis {
    double low;
    double high;
    double step;
    size_t tick_count;
    int decimals;
    double from; /* in the drawing: where low is, and where high is */
    double to;
};

/* Covers low to high; values that are equal get some room. */
struct tc__axis tc__axis_make(double low, double high, double from, double to);
/* The place of a value, inside the drawing whatever it is. */
double tc__axis_place(const struct tc__axis *axis, double value);
/* A coordinate: one decimal. */
struct tc_arg tc__as_coordinate(double value);

/* The line with its ticks below the drawing, at y, and the name below them. `top`: lines go up to
 * there from the ticks. */
void tc__axis_below(struct tc_grow *g, const struct tc__axis *axis, double y, double top,
                    struct tc_slice name);
/* The same at the left, at x; lines go right to `right`. */
void tc__axis_left(struct tc_grow *g, const struct tc__axis *axis, double x, double right,
                   struct tc_slice name);

/* Of all marks of a plot that are finite; false when there is none. */
bool tc__plot_bounds(const struct tc_doc_plot *p, double *out_low, double *out_high, bool of_y);
/* One mark: hollow of the first side, filled of the second. `says` is seen under the pointer. */
void tc__plot_mark(struct tc_grow *g, double x, double y, size_t side, struct tc_slice says,
                   struct tc_arg value);
/* Text at a place; anchor is start, middle or end. Cut when longer than characters_max. */
void tc__plot_text(struct tc_grow *g, const char *css_class, const char *anchor, double x, double y,
                   struct tc_slice text, size_t characters_max);

/* The <svg> of a plot. `number` tells its ids from those of others. */
void tc__plot_svg(struct tc_grow *g, const struct tc_doc_plot *p, size_t number);
/* What is inside of it; the height it takes. */
double tc__draw_strip(struct tc_grow *g, const struct tc_doc_plot *p);
double tc__draw_curve(struct tc_grow *g, const struct tc_doc_plot *p);
double tc__draw_trend(struct tc_grow *g, const struct tc_doc_plot *p);

#endif
