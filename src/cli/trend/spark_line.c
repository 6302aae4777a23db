/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trend/spark_line.h"

#include "base/slice.h"

#define LEVELS 8

static const char *const BARS[2][LEVELS] = {
    {"_", ".", "-", "~", "=", "+", "*", "#"},
    {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
};

/* The value of a stretch that is farthest from the middle of all: a spike stays to be seen. */
static double of_stretch(const double *values, size_t start, size_t end, double middle)
{
    double best = values[start];
    for (size_t n = start + 1; n < end; n++) {
        double a = values[n] - middle;
        double b = best - middle;
        best = (a < 0 ? -a : a) > (b < 0 ? -b : b) ? values[n] : best;
    }
    return best;
}

void tc_spark_line(struct tc_grow *g, const double *values, size_t count, size_t width, bool utf8)
{
    if (count == 0 || width == 0) {
        return;
    }
    double low = values[0];
    double high = values[0];
    for (size_t n = 1; n < count; n++) {
        low = values[n] < low ? values[n] : low;
        high = values[n] > high ? values[n] : high;
    }
    size_t bars = count < width ? count : width;
    for (size_t n = 0; n < bars; n++) {
        double value =
            of_stretch(values, n * count / bars, (n + 1) * count / bars, low + (high - low) / 2);
        double place = high > low ? (value - low) / (high - low) : 0;
        size_t level = (size_t)(place * (LEVELS - 1) + 0.5);
        tc_grow_str(g, tc_slice_cstr(BARS[utf8 ? 1 : 0][level]));
    }
}
