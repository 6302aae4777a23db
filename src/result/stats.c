/* SPDX-License-Identifier: Apache-2.0 */
#include "result/stats_priv.h"

#include "base/assert.h"
#include "base/table/grow.h"

#include <math.h>
#include <stdlib.h>

void tc__stats_add(struct tc__stats *s, double value)
{
    if (s->status == TC_OK) {
        s->status = tc_grow_items(s->values, s->cap, s->count + 1, TC__STATS_MAX);
    }
    if (s->status == TC_OK) {
        s->values[s->count++] = value;
        s->sorted = false;
    }
}

void tc__stats_add_json(struct tc__stats *s, struct tc_json v, double factor)
{
    double value = 0;
    bool is_list = tc_json_type(v) == TC_JSON_ARRAY;
    struct tc_json_iter it = tc_json_iter_make(v);
    struct tc_json item;
    if (tc_map_number(v, &value)) {
        tc__stats_add(s, value * factor);
    }
    while (is_list && tc_json_iter_next(&it, NULL, &item)) {
        if (tc_map_number(item, &value)) {
            tc__stats_add(s, value * factor);
        }
    }
}

void tc__stats_fini(struct tc__stats *s)
{
    free(s->values);
    *s = (struct tc__stats){.values = NULL};
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(struct tc__stats *s)
{
    TC_ASSERT(s->count > 0);
    if (!s->sorted) {
        qsort(s->values, s->count, sizeof *s->values, compare);
        s->sorted = true;
    }
}

double tc__stats_mean(const struct tc__stats *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->count; i++) {
        sum += s->values[i];
    }
    return sum / (double)s->count;
}

double tc__stats_min(struct tc__stats *s)
{
    sort(s);
    return s->values[0];
}

double tc__stats_max(struct tc__stats *s)
{
    sort(s);
    return s->values[s->count - 1];
}

double tc__stats_rank(struct tc__stats *s, size_t rank)
{
    sort(s);
    TC_ASSERT(rank < s->count);
    return s->values[rank];
}

double tc__stats_percentile(struct tc__stats *s, double p)
{
    sort(s);
    double rank = p * (double)(s->count - 1);
    size_t low = (size_t)floor(rank);
    size_t high = low + 1 < s->count ? low + 1 : low;
    double part = rank - (double)low;
    return s->values[low] + (s->values[high] - s->values[low]) * part;
}

double tc__stats_at(struct tc__stats *s, enum tc_stat stat)
{
    static const double PARTS[] = {
        [TC_STAT_P50] = 0.5, [TC_STAT_P90] = 0.9, [TC_STAT_P95] = 0.95, [TC_STAT_P99] = 0.99};
    return stat == TC_STAT_MEAN  ? tc__stats_mean(s)
           : stat == TC_STAT_MIN ? tc__stats_min(s)
           : stat == TC_STAT_MAX ? tc__stats_max(s)
                                 : tc__stats_percentile(s, PARTS[stat]);
}

void tc__stats_slice(struct tc__stats *s, struct tc_result_row *row,
                     const struct tc_definition *definition)
{
    if (s->count == 0) {
        return;
    }
    tc_result_int(row, TC_SLICE_COUNT, (int64_t)s->count, NULL);
    for (size_t i = 0; i < TC_STAT_STD; i++) {
        if (tc_stat_slice_columns[i] != TC_MAP_NO_COLUMN) {
            tc_result_real(row, tc_stat_slice_columns[i], tc__stats_at(s, (enum tc_stat)i),
                           definition);
        }
    }
}
