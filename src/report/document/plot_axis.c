/* SPDX-License-Identifier: Apache-2.0 */
#include "report/document/plot_priv.h"

#include <math.h>
#include <stdio.h>

#define TICKS_WANTED 4.0
#define TICKS_MAX 12
/* Labels with more decimals, or of larger values, are written with an exponent. */
#define DECIMALS_MAX 6
#define LARGE 1e7

/* 1, 2 or 5 times a power of ten, at least as large as the value. */
static double round_up(double value)
{
    double power = pow(10, floor(log10(value)));
    double digit = value / power;
    return (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10) * power;
}

struct tc__axis tc__axis_make(double low, double high, double from, double to)
{
    struct tc__axis a = {.low = low, .high = high, .from = from, .to = to};
    double span = high - low;
    if (!isfinite(span)) { /* beyond what can be drawn to scale */
        return a;
    }
    if (!(span > fabs(high) * 1e-9)) {
        span = high == 0 ? 1 : fabs(high) * 0.1;
        low -= span / 2;
        high += span / 2;
    }
    double step = round_up(span / TICKS_WANTED);
    double first = floor(low / step) * step;
    if (!isfinite(first) || !isfinite(first + TICKS_MAX * step)) {
        return a;
    }
    a.step = step;
    a.low = first;
    double steps = ceil((high - a.low) / a.step - 1e-9);
    a.tick_count = steps < TICKS_MAX ? (size_t)steps + 1 : TICKS_MAX;
    a.high = a.low + (double)(a.tick_count - 1) * a.step;
    double digits = -floor(log10(a.step) + 1e-9);
    a.decimals = digits > 0 && digits < 100 ? (int)digits : 0;
    return a;
}

double tc__axis_place(const struct tc__axis *axis, double value)
{
    double part = (value - axis->low) / (axis->high - axis->low);
    part = !isfinite(part) ? 0.5 : part < 0 ? 0 : part > 1 ? 1 : part;
    return axis->from + part * (axis->to - axis->from);
}

static void write_coordinate(struct tc_buf *b, const struct tc_arg *arg)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%.1f", arg->real);
    tc_buf_str(b, tc_slice_cstr(text));
}

struct tc_arg tc__as_coordinate(double value)
{
    return (struct tc_arg){.write = write_coordinate, .real = value};
}

/* The number of decimals is in limit; more of them than can be are an exponent. */
static void write_tick(struct tc_buf *b, const struct tc_arg *arg)
{
    char text[64];
    if (arg->limit > DECIMALS_MAX) {
        (void)snprintf(text, sizeof text, "%.4g", arg->real);
    } else {
        (void)snprintf(text, sizeof text, "%.*f", (int)arg->limit, arg->real);
    }
    tc_buf_str(b, tc_slice_cstr(text));
}

/* The value of a tick, as its label. */
static struct tc_arg as_tick(const struct tc__axis *axis, size_t tick)
{
    double value = axis->low + (double)tick * axis->step;
    bool is_plain =
        axis->decimals <= DECIMALS_MAX && fabs(axis->high) < LARGE && fabs(axis->low) < LARGE;
    value = fabs(value) < axis->step * 1e-6 ? 0 : value;
    return (struct tc_arg){.write = write_tick,
                           .real = value,
                           .limit = is_plain ? (size_t)axis->decimals : DECIMALS_MAX + 1};
}

void tc__axis_below(struct tc_grow *g, const struct tc__axis *axis, double y, double top,
                    struct tc_slice name)
{
    for (size_t i = 0; i < axis->tick_count; i++) {
        double x = tc__axis_place(axis, axis->low + (double)i * axis->step);
        const char *anchor = i == 0 ? "start" : i + 1 == axis->tick_count ? "end" : "middle";
        tc_grow_format(g, "<line class=\"grid\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
                       tc__as_coordinate(x), tc__as_coordinate(top), tc__as_coordinate(x),
                       tc__as_coordinate(y + 4));
        tc_grow_format(g, "<text class=\"tick\" text-anchor=\"{}\" x=\"{}\" y=\"{}\">{}</text>",
                       anchor, tc__as_coordinate(x), tc__as_coordinate(y + 17), as_tick(axis, i));
    }
    tc_grow_format(g, "<line class=\"axis\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
                   tc__as_coordinate(axis->from), tc__as_coordinate(y), tc__as_coordinate(axis->to),
                   tc__as_coordinate(y));
    tc__plot_text(g, "name", "middle", (axis->from + axis->to) / 2, y + 33, name, 64);
}

void tc__axis_left(struct tc_grow *g, const struct tc__axis *axis, double x, double right,
                   struct tc_slice name)
{
    for (size_t i = 0; i < axis->tick_count; i++) {
        double y = tc__axis_place(axis, axis->low + (double)i * axis->step);
        tc_grow_format(g, "<line class=\"grid\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
                       tc__as_coordinate(x - 4), tc__as_coordinate(y), tc__as_coordinate(right),
                       tc__as_coordinate(y));
        tc_grow_format(g, "<text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{}\">{}</text>",
                       tc__as_coordinate(x - 8), tc__as_coordinate(y + 4), as_tick(axis, i));
    }
    tc__plot_text(g, "name", "start", 4, axis->to - 12, name, 64);
}
