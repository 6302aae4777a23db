/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measurements of benchmark tools that are no row of serving or training: bandwidth by message
 * size, percentiles, the jobs of fio. Two are set beside each other when family, point, scope,
 * metric and unit are the same.
 */
#include "base/format.h"
#include "base/number.h"
#include "cli/run/run.h"

#include <stdlib.h>

/* Lines for people, of each list; --json has all. */
#define LINES_MAX 40

/* The columns of TC_RUN_SLICES_SQL: what makes two the same, then the values. */
enum {
    COL_FAMILY,
    COL_POINT,
    COL_NODE,
    COL_GPU,
    COL_RANK,
    COL_REQUEST_CLASS,
    COL_METRIC,
    COL_UNIT,
    COL_MIN,
    COL_MAX,
    COL_MEAN,
    COL_P50,
    COL_P95,
    COL_P99,
    COL_LAST,
    COL_COUNT,
    KEY_END = COL_MIN,
};

struct slices {
    const struct tc_answer *a;
    const struct tc_answer *b;
    bool json;
    struct tc_grow *values;
    struct tc_grow *odd;
    struct tc_json_out *values_json;
    struct tc_json_out *odd_json;
    struct tc_text_table table;
    uint64_t lines;
    uint64_t lines_left;
    uint64_t equal;
    uint64_t odd_lines;
    uint64_t odd_left;
};

static int compare_cells(const struct tc_answer *a, size_t row_a, const struct tc_answer *b,
                         size_t row_b, size_t column)
{
    bool has_x = tc_answer_known(a, row_a, column);
    bool has_y = tc_answer_known(b, row_b, column);
    if (!has_x || !has_y) {
        return (has_x ? 1 : 0) - (has_y ? 1 : 0);
    }
    if (column == COL_RANK) {
        int64_t x = tc_answer_int(a, row_a, column);
        int64_t y = tc_answer_int(b, row_b, column);
        return (x > y) - (x < y);
    }
    return tc_slice_cmp(tc_answer_text(a, row_a, column), tc_answer_text(b, row_b, column));
}

static int compare_keys(const struct tc_answer *a, size_t row_a, const struct tc_answer *b,
                        size_t row_b, size_t end)
{
    int order = 0;
    for (size_t c = 0; order == 0 && c < end; c++) {
        order = compare_cells(a, row_a, b, row_b, c);
    }
    return order;
}

/* The order of the query, by time, stays among equal keys. */
static int by_keys(const void *x, const void *y, void *context)
{
    const struct tc_answer *s = *(const struct tc_answer **)context;
    size_t a = *(const size_t *)x;
    size_t b = *(const size_t *)y;
    int order = compare_keys(s, a, s, b, KEY_END);
    return order != 0 ? order : (a > b) - (a < b);
}

static size_t *sorted(const struct tc_answer *s)
{
    size_t *order = calloc(s->row_count + 1, sizeof *order);
    for (size_t n = 0; order != NULL && n < s->row_count; n++) {
        order[n] = n;
    }
    if (order != NULL && s->row_count > 1) {
        qsort_r(order, s->row_count, sizeof *order, by_keys, &s);
    }
    return order;
}

/* Family, point and scope in words. */
static void put_point(struct tc_grow *g, const struct tc_answer *s, size_t row, bool family)
{
    static const size_t columns[] = {COL_FAMILY, COL_POINT, COL_NODE,
                                     COL_GPU,    COL_RANK,  COL_REQUEST_CLASS};
    bool any = false;
    for (size_t n = family ? 0 : 1; n < TC_COUNT(columns); n++) {
        if (tc_answer_known(s, row, columns[n])) {
            tc_grow_str(g, any ? TC_LIT(" ") : TC_EMPTY);
            if (columns[n] == COL_RANK) {
                tc_grow_lit(g, "rank=");
            }
            tc_answer_value(g, s, row, columns[n]);
            any = true;
        }
    }
    tc_grow_str(g, any ? TC_EMPTY : TC_LIT("the whole"));
}

/* ---- values ---- */

void tc_run_diff_pair(struct tc_json_out *j, double x, double y)
{
    tc_json_put_f64(j, "a", x);
    tc_json_put_f64(j, "b", y);
    tc_json_put_f64(j, "ratio", y / x); /* null where there is none */
}

static void put_value_json(const struct slices *d, size_t row_a, size_t row_b, size_t column)
{
    struct tc_grow point = {0};
    struct tc_json_out *j = d->values_json;
    put_point(&point, d->a, row_a, false);
    tc_json_add_object(j);
    tc_json_put_some(j, "point", tc_grow_slice(&point));
    tc_json_put_some(j, "family", tc_answer_text(d->a, row_a, COL_FAMILY));
    tc_json_put_some(j, "metric", tc_answer_text(d->a, row_a, COL_METRIC));
    tc_json_put_some(j, "unit", tc_answer_text(d->a, row_a, COL_UNIT));
    tc_json_put_cstr(j, "statistic", tc_answer_name(d->a, column));
    tc_run_diff_pair(j, tc_answer_real(d->a, row_a, column), tc_answer_real(d->b, row_b, column));
    tc_json_end_object(j);
    d->values->failed |= point.failed;
    tc_grow_fini(&point);
}

static void put_value_line(struct slices *d, size_t row_a, size_t row_b, size_t column)
{
    struct tc_grow cell = {0};
    double x = tc_answer_real(d->a, row_a, column);
    double y = tc_answer_real(d->b, row_b, column);
    if (x == y) {
        d->equal++;
        return;
    }
    if (d->lines == LINES_MAX) {
        d->lines_left++;
        return;
    }
    d->lines++;
    tc_text_table_format(
        &d->table, "{}{}", tc_answer_as_value(d->a, row_a, COL_METRIC),
        tc_when(column != COL_LAST && column != COL_MEAN, " {}", tc_answer_name(d->a, column)));
    put_point(&cell, d->a, row_a, false);
    tc_text_table_cell(&d->table, tc_grow_slice(&cell));
    tc_text_table_value(&d->table, d->a, row_a, column);
    tc_text_table_value(&d->table, d->b, row_b, column);
    tc_text_table_format(&d->table, "{}", tc_as_ratio(x, y));
    d->values->failed |= cell.failed;
    tc_grow_fini(&cell);
}

static void compare_pair(struct slices *d, size_t row_a, size_t row_b)
{
    for (size_t c = COL_MIN; c < COL_COUNT; c++) {
        if (!tc_answer_known(d->a, row_a, c) || !tc_answer_known(d->b, row_b, c)) {
            continue;
        }
        if (d->json) {
            put_value_json(d, row_a, row_b, c);
        } else {
            put_value_line(d, row_a, row_b, c);
        }
    }
}

/* All lines of one family, for people. */
static void end_family(struct slices *d, struct tc_slice family)
{
    struct tc_grow *g = d->values;
    if (d->lines > 0 || d->equal > 0) {
        tc_grow_format(g, "\nmeasurements of {}\n", tc_as_printable(family));
    }
    if (d->lines > 0) {
        (void)tc_text_table_print(&d->table, g, "  ");
    }
    if (d->lines_left > 0) {
        tc_grow_format(g, "  and {} more that differ; --json has all\n", d->lines_left);
    }
    if (d->equal > 0) {
        tc_grow_format(g, "  equal: {}{}", d->equal, d->equal == 1 ? " value\n" : " values\n");
    }
    tc_text_table_fini(&d->table);
    d->lines = d->lines_left = d->equal = 0;
}

static void start_family(struct slices *d)
{
    d->table = (struct tc_text_table){.column_count = 5,
                                      .heads = {"metric", "point", "first", "second", "ratio"},
                                      .right = {false, false, true, true, true},
                                      .flexible = 1,
                                      .flexible_min = 20};
}

/* ---- what is not compared ---- */

static void tell_odd(struct slices *d, const struct tc_answer *s, size_t row, bool metric,
                     const char *why)
{
    struct tc_grow point = {0};
    struct tc_grow *g = d->odd;
    if (!d->json && d->odd_lines == LINES_MAX) {
        d->odd_left++;
        return;
    }
    d->odd_lines++;
    put_point(&point, s, row, true);
    if (d->json) {
        tc_json_add_object(d->odd_json);
        tc_json_put_some(d->odd_json, "point", tc_grow_slice(&point));
        if (metric) {
            tc_json_put_some(d->odd_json, "metric", tc_answer_text(s, row, COL_METRIC));
        }
        tc_json_put_cstr(d->odd_json, "why", why);
        tc_json_end_object(d->odd_json);
    } else {
        tc_grow_format(g, "  {}{}: {}\n", tc_grow_slice(&point),
                       tc_when(metric, " {}", tc_answer_as_value(s, row, COL_METRIC)), why);
    }
    g->failed |= point.failed;
    tc_grow_fini(&point);
}

/* How many rows from `first` on have its keys. */
static size_t group_at(const struct tc_answer *s, const size_t *order, size_t first)
{
    size_t count = first < s->row_count ? 1 : 0;
    while (count > 0 && first + count < s->row_count &&
           compare_keys(s, order[first], s, order[first + count], KEY_END) == 0) {
        count++;
    }
    return count;
}

/* A point that only one of them has is told once, not once per metric. */
static void tell_lone(struct slices *d, const struct tc_answer *s, const size_t *order, size_t at,
                      const size_t *last, bool point_in_other, const char *why)
{
    if (point_in_other) {
        tell_odd(d, s, order[at], true, why);
    } else if (last == NULL || compare_keys(s, *last, s, order[at], COL_METRIC) != 0) {
        tell_odd(d, s, order[at], false, why);
    }
}

/* Whether the other one has the point, by what is near in its order. */
static bool has_point(const struct tc_answer *s, size_t row, const struct tc_answer *other,
                      const size_t *order, size_t at)
{
    return (at < other->row_count && compare_keys(s, row, other, order[at], COL_METRIC) == 0) ||
           (at > 0 && compare_keys(s, row, other, order[at - 1], COL_METRIC) == 0);
}

/* Several of one point cannot be told apart: which belongs to which is not for us to guess. */
static void compare_groups(struct slices *d, size_t row_a, size_t count_a, size_t row_b,
                           size_t count_b)
{
    if (count_a == 1 && count_b == 1) {
        compare_pair(d, row_a, row_b);
        return;
    }
    tell_odd(d, d->a, row_a, true,
             count_a > 1 && count_b > 1 ? "more than once in both"
             : count_a > 1              ? "more than once in the first"
                                        : "more than once in the second");
}

static void merge(struct slices *d, const size_t *order_a, const size_t *order_b)
{
    size_t at_a = 0;
    size_t at_b = 0;
    struct tc_slice family = TC_EMPTY;
    while (at_a < d->a->row_count || at_b < d->b->row_count) {
        size_t count_a = group_at(d->a, order_a, at_a);
        size_t count_b = group_at(d->b, order_b, at_b);
        int order = count_a == 0 ? 1
                    : count_b == 0
                        ? -1
                        : compare_keys(d->a, order_a[at_a], d->b, order_b[at_b], KEY_END);
        struct tc_slice now = order <= 0 ? tc_answer_text(d->a, order_a[at_a], COL_FAMILY)
                                         : tc_answer_text(d->b, order_b[at_b], COL_FAMILY);
        if (!d->json && !tc_slice_eq(now, family)) {
            end_family(d, family);
            start_family(d);
        }
        family = now;
        if (order == 0) {
            compare_groups(d, order_a[at_a], count_a, order_b[at_b], count_b);
        } else if (order < 0) {
            tell_lone(d, d->a, order_a, at_a, at_a > 0 ? &order_a[at_a - 1] : NULL,
                      has_point(d->a, order_a[at_a], d->b, order_b, at_b), "only in the first");
        } else {
            tell_lone(d, d->b, order_b, at_b, at_b > 0 ? &order_b[at_b - 1] : NULL,
                      has_point(d->b, order_b[at_b], d->a, order_a, at_a), "only in the second");
        }
        at_a += order <= 0 ? count_a : 0;
        at_b += order >= 0 ? count_b : 0;
    }
    if (!d->json) {
        end_family(d, family);
    }
}

bool tc_run_diff_slices(const struct tc_answer *a, const struct tc_answer *b,
                        struct tc_grow *values, struct tc_grow *odd,
                        struct tc_json_out *values_json, struct tc_json_out *odd_json)
{
    struct slices d = {.a = a,
                       .b = b,
                       .json = values_json != NULL,
                       .values = values,
                       .odd = odd,
                       .values_json = values_json,
                       .odd_json = odd_json};
    size_t *order_a = sorted(a);
    size_t *order_b = sorted(b);
    bool ok = order_a != NULL && order_b != NULL;
    if (ok) {
        merge(&d, order_a, order_b);
    }
    if (d.odd_left > 0) {
        tc_grow_format(odd, "  and {} more; --json has all\n", d.odd_left);
    }
    tc_text_table_fini(&d.table);
    free(order_a);
    free(order_b);
    return ok;
}
