/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hartigan's dip (Hartigan and Hartigan, 1985): the largest distance between the empirical
 * distribution function and the nearest one with a single mode, which is convex before its mode and
 * concave behind it. An interval that holds the mode is narrowed: in it, the function has a
 * greatest convex minorant (from below) and a least concave majorant (from above). Where these are
 * farthest apart is the next, smaller interval; what was left out on either side has to follow the
 * minorant or the majorant, and how far it is from that is a lower bound of the dip. It ends when a
 * straight line through the interval is no worse than that bound.
 *
 * In here heights are counts of values, and a distance of d is a dip of d / 2n.
 */
#include "stats/stats.h"
#include "stats/stats_priv.h"

#include <math.h>
#include <stdlib.h>

/* Digits a rounded value has at most, as people and programs write them. */
#define DIGITS_MAX 12

enum side { BELOW, ABOVE };

/* Where the distribution function steps. */
struct step {
    double x;
    double f[2];    /* values below x; and with those at x */
    double hull[2]; /* greatest convex minorant; least concave majorant */
};

/* Whether all values are whole multiples of 10^exponent, as far as doubles tell. */
static bool are_multiples(struct tc_sorted s, int exponent)
{
    double power = pow(10, abs(exponent));
    for (size_t i = 0; i < s.n; i++) {
        double q = exponent < 0 ? s.x[i] * power : s.x[i] / power;
        if (!(fabs(q - rint(q)) <= fabs(q) * 0x1p-50)) {
            return false;
        }
    }
    return true;
}

/* The decimal unit that all values are rounded to, or 0 if they look like none. */
static double rounding_unit(struct tc_sorted s)
{
    double largest = fmax(fabs(s.x[0]), fabs(s.x[s.n - 1]));
    int first = largest > 0 ? (int)floor(log10(largest)) : 0;
    for (int e = first; e > first - DIGITS_MAX; e--) {
        if (are_multiples(s, e)) {
            return pow(10, e);
        }
    }
    return 0;
}

/*
 * The steps, with x from 0 to 1; none if all values are equal. Equal values are spread evenly over
 * the unit they were rounded to: rounding must not look like modes. Without a unit they are one
 * step. Returns how many.
 */
static size_t make_steps(struct tc_sorted s, struct step *out)
{
    bool tied = false;
    for (size_t i = 1; i < s.n; i++) {
        tied = tied || s.x[i] == s.x[i - 1];
    }
    double unit = tied ? rounding_unit(s) : 0;
    double halved = isfinite(s.x[s.n - 1] - s.x[0]) ? 1 : 0.5; /* so that the range is a double */
    double range = s.x[s.n - 1] * halved - s.x[0] * halved;
    size_t count = 0;
    for (size_t i = 0, end; i < s.n && range > 0; i = end) {
        for (end = i + 1; end < s.n && s.x[end] == s.x[i]; end++) {
        }
        double x = (s.x[i] * halved - s.x[0] * halved) / range;
        size_t pieces = unit > 0 ? end - i : 1;
        size_t each = (end - i) / pieces;
        for (size_t k = 0; k < pieces; k++) {
            double share = ((double)k + 0.5) / (double)pieces;
            out[count++] = (struct step){
                .x = x + (share - 0.5) * (unit * halved / range),
                .f = {(double)(i + k * each), (double)(i + (k + 1) * each)},
            };
        }
    }
    return count;
}

/* Fills one hull from first to last: its vertices by a chain, the rest on the lines between them.
 * chain has room for all of them, and its length comes back. */
static size_t fill_hull(struct step *s, size_t first, size_t last, enum side side, size_t *chain)
{
    const double bend = side == BELOW ? 1 : -1;
    size_t n = 0;
    for (size_t k = first; k <= last; k++) {
        for (; n >= 2; n--) {
            const struct step *a = &s[chain[n - 2]];
            const struct step *b = &s[chain[n - 1]];
            double before = (b->f[side] - a->f[side]) * (s[k].x - b->x);
            double behind = (s[k].f[side] - b->f[side]) * (b->x - a->x);
            if (bend * (behind - before) > 0) {
                break;
            }
        }
        chain[n++] = k;
    }
    s[last].hull[side] = s[last].f[side];
    for (size_t v = 0; v + 1 < n; v++) {
        const struct step *a = &s[chain[v]];
        const struct step *b = &s[chain[v + 1]];
        double slope = (b->f[side] - a->f[side]) / (b->x - a->x);
        for (size_t k = chain[v]; k < chain[v + 1]; k++) {
            s[k].hull[side] = a->f[side] + slope * (s[k].x - a->x);
        }
    }
    return n;
}

struct hull {
    size_t *at; /* its vertices, as indexes of steps */
    size_t n;
};

static double gap_at(const struct step *s, size_t k)
{
    return s[k].hull[ABOVE] - s[k].hull[BELOW];
}

/*
 * Where the hulls are farthest apart: at a vertex of one of them. Only vertices are looked at, for
 * the gap may be the same along a line, and between vertices the interval would not get smaller.
 */
static size_t find_widest(const struct step *s, const struct hull *below, const struct hull *above)
{
    size_t widest = below->at[0];
    for (size_t v = 0; v < below->n + above->n; v++) {
        size_t k = v < below->n ? below->at[v] : above->at[v - below->n];
        widest = gap_at(s, k) > gap_at(s, widest) ? k : widest;
    }
    return widest;
}

static double measure_dip(struct step *s, size_t count, struct hull below, struct hull above)
{
    double dip = 1;
    size_t first = 0;
    size_t last = count - 1;
    while (first < last) {
        below.n = fill_hull(s, first, last, BELOW, below.at);
        above.n = fill_hull(s, first, last, ABOVE, above.at);
        size_t widest = find_widest(s, &below, &above);
        if (gap_at(s, widest) <= dip) {
            break;
        }
        size_t v = below.n - 1;
        while (below.at[v] > widest) {
            v--;
        }
        size_t w = 0;
        while (above.at[w] < widest) {
            w++;
        }
        for (size_t k = first; k < below.at[v]; k++) {
            dip = fmax(dip, s[k].f[ABOVE] - s[k].hull[BELOW]);
        }
        for (size_t k = above.at[w] + 1; k <= last; k++) {
            dip = fmax(dip, s[k].hull[ABOVE] - s[k].f[BELOW]);
        }
        first = below.at[v];
        last = above.at[w];
    }
    return dip;
}

tc_status tc_dip_test(struct tc_sorted s, struct tc_arena *arena, struct tc_dip *out)
{
    if (s.n < TC_DIP_MIN) {
        *out = (struct tc_dip){(double)NAN, (double)NAN};
        return TC_OK;
    }
    tc_arena_mark mark = tc_arena_snapshot(arena);
    struct step *steps = tc_new(arena, struct step, s.n);
    struct hull below = {.at = tc_new(arena, size_t, s.n)};
    struct hull above = {.at = tc_new(arena, size_t, s.n)};
    if (steps == NULL || below.at == NULL || above.at == NULL) {
        return TC_E_NOMEM;
    }
    size_t count = make_steps(s, steps);
    double dip = count > 0 ? measure_dip(steps, count, below, above) : 1;
    tc_arena_rewind(arena, mark);
    out->dip = dip / (2 * (double)s.n);
    out->p = tc__dip_p(out->dip, s.n);
    return TC_OK;
}
