/* SPDX-License-Identifier: Apache-2.0 */
/* The plots of a report, from the same series as its tables. */
#include "report/report_priv.h"

#include <math.h>
#include <string.h>

#define MARKS_MAX 1000

/* ---- every run of each side ---- */

static struct tc_doc_side strip_side(struct tc_report *r, size_t side, const struct tc_series *s,
                                     bool has_modes)
{
    struct tc_doc_number n;
    size_t count = s->count < MARKS_MAX ? s->count : MARKS_MAX;
    struct tc_doc_mark *marks = tc_new(&r->arena, struct tc_doc_mark, count + 1);
    struct tc_doc_side out = {.name = r->sides[side].name};
    if (marks == NULL) {
        return out;
    }
    for (size_t i = 0; i < count; i++) {
        marks[i] = (struct tc_doc_mark){.x = s->values[i],
                                        .label = r->sides[side].basis->runs[s->runs[i]].run_id};
    }
    out.marks = marks;
    out.mark_count = count;
    struct tc_doc_number *middle = tc_new(&r->arena, struct tc_doc_number, 1);
    if (middle != NULL && !has_modes && tc__median(r, side, s, &n)) {
        *middle = n;
        out.middle = middle;
    }
    return out;
}

static struct tc_slice with_unit(struct tc_report *r, const struct tc_series *s)
{
    return tc_doc_text(&r->doc, "{}{}", s->name, tc_when(s->unit.len > 0, " ({})", s->unit));
}

static struct tc_doc_plot *begin_strip(struct tc_report *r, const struct tc_series *s)
{
    struct tc_doc_plot *p =
        tc_doc_plot(&r->doc, TC_DOC_STRIP, tc_doc_text(&r->doc, "{}, {}", s->name, s->point->text));
    if (p != NULL) {
        p->x_name = with_unit(r, s);
    }
    return p;
}

/* How the two sides lie to each other, for those who do not see it. */
static const char *describe_sides(const struct tc_pair *pair)
{
    const struct tc_pair_side *base = &pair->sides[TC_SIDE_BASE];
    const struct tc_pair_side *candidate = &pair->sides[TC_SIDE_CANDIDATE];
    if (candidate->low > base->high) {
        return "Every run of the candidate is above every run of the base.";
    }
    if (candidate->high < base->low) {
        return "Every run of the candidate is below every run of the base.";
    }
    return "The runs of both sides overlap.";
}

void tc__plot_pairs(struct tc_report *r, const struct tc__pairs *pairs, size_t count_max)
{
    size_t count = 0;
    for (size_t i = 0; i < pairs->count && count < count_max && !r->doc.failed; i++) {
        const struct tc_pair *pair = pairs->items[i];
        if (!pair->is_main && !tc__is_judged(pair)) {
            continue;
        }
        struct tc_doc_plot *p = begin_strip(r, tc_pair_series(pair));
        if (p != NULL) {
            p->describes = tc_slice_cstr(describe_sides(pair));
            p->side_count = TC_SIDES;
            for (size_t n = 0; n < TC_SIDES; n++) {
                p->sides[n] = strip_side(r, n, pair->sides[n].series, tc__side_has_modes(pair, n));
            }
        }
        count++;
    }
}

void tc__plot_series(struct tc_report *r, size_t count_max)
{
    const struct tc_series_set *set = r->sides[0].set;
    size_t count = 0;
    for (size_t i = 0; i < set->series_count && count < count_max && !r->doc.failed; i++) {
        const struct tc_series *s = &set->series[i];
        if (!s->is_main || s->count < 2) {
            continue;
        }
        struct tc_doc_plot *p = begin_strip(r, s);
        if (p != NULL) {
            p->describes = TC_LIT("Every run is a mark; the line is the median.");
            p->side_count = 1;
            p->sides[0] = strip_side(r, 0, s, tc__has_modes(r, s));
        }
        count++;
    }
}

/* ---- latency against throughput ---- */

#define CURVE_POINTS_MAX 64
#define CURVE_X "output_token_throughput"

/* What is drawn over throughput, the first that is there. */
static const char *const CURVE_Y[] = {"ttft_p99_ms", "e2e_p99_ms", "tpot_p50_ms", "e2e_p50_ms"};

static const struct tc_series *series_at(const struct tc_series_set *set,
                                         const struct tc_point *point, const char *name)
{
    for (size_t i = 0; i < set->series_count; i++) {
        if (set->series[i].point == point && set->series[i].count > 0 &&
            tc_slice_eq(set->series[i].name, tc_slice_cstr(name))) {
            return &set->series[i];
        }
    }
    return NULL;
}

/* The same load, but for how many requests at a time. */
static bool is_on_curve(const struct tc_point *p, const struct tc_point *first)
{
    return p->table == TC_TABLE_SERVING && isfinite(p->concurrency) &&
           tc_slice_eq(p->key, first->key) &&
           (p->request_rate == first->request_rate ||
            (isnan(p->request_rate) && isnan(first->request_rate)));
}

/* Marks of one side, by concurrency. */
static size_t curve_marks(struct tc_report *r, size_t side, const struct tc_point *first,
                          const char *y_name, struct tc_doc_mark *marks)
{
    const struct tc_series_set *set = r->sides[side].set;
    double last = -1;
    size_t count = 0;
    for (;;) {
        const struct tc_point *next = NULL;
        for (size_t i = 0; i < set->point_count; i++) {
            const struct tc_point *p = &set->points[i];
            if (is_on_curve(p, first) && p->concurrency > last &&
                (next == NULL || p->concurrency < next->concurrency)) {
                next = p;
            }
        }
        if (next == NULL || count == CURVE_POINTS_MAX) {
            return count;
        }
        last = next->concurrency;
        struct tc_doc_number x;
        struct tc_doc_number y;
        const struct tc_series *sx = series_at(set, next, CURVE_X);
        const struct tc_series *sy = series_at(set, next, y_name);
        if (sx != NULL && sy != NULL && !tc__has_modes(r, sx) && !tc__has_modes(r, sy) &&
            tc__median(r, side, sx, &x) && tc__median(r, side, sy, &y)) {
            marks[count++] = (struct tc_doc_mark){.x = x.value,
                                                  .y = y.value,
                                                  .low = y.interval.low,
                                                  .high = y.interval.high,
                                                  .has_range = y.has_interval,
                                                  .label = tc_doc_text(&r->doc, "{}", last)};
        }
    }
}

/* The first load of the subject that was measured at two concurrencies or more. */
static const struct tc_point *find_curve(const struct tc_series_set *set)
{
    for (size_t i = 0; i < set->point_count; i++) {
        size_t count = 0;
        for (size_t n = 0; n < set->point_count; n++) {
            count += is_on_curve(&set->points[n], &set->points[i]);
        }
        if (count > 1) {
            return &set->points[i];
        }
    }
    return NULL;
}

static const char *curve_latency(const struct tc_series_set *set, const struct tc_point *first)
{
    for (size_t i = 0; i < TC_COUNT(CURVE_Y); i++) {
        if (series_at(set, first, CURVE_Y[i]) != NULL) {
            return CURVE_Y[i];
        }
    }
    return NULL;
}

void tc__plot_curve(struct tc_report *r)
{
    const struct tc_series_set *set = tc__subject(r)->set;
    const struct tc_point *first = find_curve(set);
    const char *y_name = first == NULL ? NULL : curve_latency(set, first);
    if (y_name == NULL || series_at(set, first, CURVE_X) == NULL) {
        return;
    }
    struct tc_doc_side sides[TC_SIDES] = {{.mark_count = 0}};
    for (size_t n = 0; n < r->side_count; n++) {
        struct tc_doc_mark *marks = tc_new(&r->arena, struct tc_doc_mark, CURVE_POINTS_MAX);
        if (marks == NULL) {
            return;
        }
        sides[n] = (struct tc_doc_side){.name = r->sides[n].name, .marks = marks};
        sides[n].mark_count = curve_marks(r, n, first, y_name, marks);
    }
    struct tc_doc_plot *p = tc_doc_plot(&r->doc, TC_DOC_CURVE,
                                        tc_doc_text(&r->doc, "Latency against throughput{}{}",
                                                    first->key.len > 0 ? ", " : "", first->key));
    if (p != NULL) {
        p->describes = TC_LIT("Medians at each concurrency, which is the number at the mark; lines "
                              "up and down are the interval of the latency.");
        p->x_name = TC_LIT(CURVE_X " (tokens/s)");
        p->y_name = tc_doc_text(&r->doc, "{} (ms)", y_name);
        p->side_count = r->side_count;
        memcpy(p->sides, sides, sizeof sides);
    }
}
