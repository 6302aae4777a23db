/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/compare/compare.h"

#include "base/slice.h"

#define WIDTH_MAX 256

static const char *const SIGNS[2][4] = {
    {" ", "o", "x", "*"},
    {" ", "○", "●", "◉"},
};

static void mark(unsigned char *cells, size_t width, const struct tc_series *s, double low,
                 double high, unsigned char bit)
{
    for (size_t n = 0; n < s->count; n++) {
        double place = high > low ? (s->values[n] - low) / (high - low) : 0.5;
        place = place < 0 ? 0 : place > 1 ? 1 : place;
        cells[(size_t)(place * (double)(width - 1) + 0.5)] |= bit;
    }
}

void tc_strip_plot(struct tc_grow *g, const struct tc_series *base,
                   const struct tc_series *candidate, double low, double high, size_t width,
                   bool utf8)
{
    unsigned char cells[WIDTH_MAX] = {0};
    width = width < 2 ? 2 : width > WIDTH_MAX ? WIDTH_MAX : width;
    mark(cells, width, base, low, high, 1);
    mark(cells, width, candidate, low, high, 2);
    for (size_t n = 0; n < width; n++) {
        tc_grow_str(g, tc_slice_cstr(SIGNS[utf8 ? 1 : 0][cells[n]]));
    }
}
