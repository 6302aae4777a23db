/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of one series in one window. Everything follows the order of time and value, so that
 * the order in which samples came does not show.
 */
#include "telemetry/slices_priv.h"

#include "base/time.h"

#include <math.h>
#include <string.h>

/* Keys that sort as the doubles do. */
static uint64_t key_of(double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return (bits >> 63) != 0 ? ~bits : bits | UINT64_C(1) << 63;
}

static double value_of(uint64_t key)
{
    uint64_t bits = (key >> 63) != 0 ? key & ~(UINT64_C(1) << 63) : ~key;
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Samples of one time in the order of their values. */
static void sort_ties(const struct tc__entry *entries, struct tc_sort_pair *pairs,
                      struct tc_sort_pair *scratch, size_t count)
{
    for (size_t start = 0; start < count;) {
        int64_t time_ns = entries[pairs[start].value].time_ns;
        size_t end = start + 1;
        while (end < count && entries[pairs[end].value].time_ns == time_ns) {
            end++;
        }
        if (end - start > 1) {
            for (size_t i = start; i < end; i++) {
                pairs[i].key = key_of(entries[pairs[i].value].value);
            }
            tc_sort_keys(&pairs[start], scratch, end - start);
        }
        start = end;
    }
}

/* The rise per second since the base; false when there is none to tell. */
static bool rise(const struct tc__series *series, const struct tc__entry *e, double *out)
{
    if (series->base_ns == TC_TIME_NONE || e->time_ns <= series->base_ns ||
        e->value < series->base) {
        return false;
    }
    *out = (e->value - series->base) / ((double)(e->time_ns - series->base_ns) / (double)TC_SECOND);
    return isfinite(*out);
}

/* Nearest rank: the smallest value that at least p of a hundred are not above. */
static double rank_of(const struct tc_sort_pair *sorted, uint64_t count, unsigned percent)
{
    uint64_t rank = (count * percent + 99) / 100;
    return value_of(sorted[rank - 1].key);
}

/* Of sorted values; each is divided first where their sum is too large for a double. */
static double mean_of(const struct tc_sort_pair *sorted, uint64_t count)
{
    double sum = 0;
    double parts = 0;
    for (uint64_t i = 0; i < count; i++) {
        double value = value_of(sorted[i].key);
        sum += value;
        parts += value / (double)count;
    }
    return isfinite(sum) ? sum / (double)count : parts;
}

void tc__stats_of(struct tc__series *series, const struct tc__entry *entries,
                  struct tc_sort_pair *pairs, struct tc_sort_pair *scratch, size_t count,
                  struct tc__stats *out)
{
    const struct tc__entry *before = NULL;
    *out = (struct tc__stats){.min = (double)NAN,
                              .max = (double)NAN,
                              .mean = (double)NAN,
                              .p50 = (double)NAN,
                              .p95 = (double)NAN,
                              .p99 = (double)NAN,
                              .last = (double)NAN};
    sort_ties(entries, pairs, scratch, count);
    for (size_t i = 0; i < count; i++) {
        const struct tc__entry *e = &entries[pairs[i].value];
        double value = e->value;
        bool known = true;
        if (before != NULL && before->time_ns == e->time_ns && before->value == e->value) {
            out->duplicates++;
            continue;
        }
        before = e;
        out->samples++;
        if (series->type == TC_SAMPLE_COUNTER) {
            known = rise(series, e, &value);
            series->base_ns = e->time_ns;
            series->base = e->value;
        }
        out->last = series->type == TC_SAMPLE_DELTA ? (double)NAN : e->value;
        if (known) { /* never behind i: what is still to be read is not overwritten */
            pairs[out->values++].key = key_of(value + 0.0);
        }
    }
    if (out->values == 0) {
        return;
    }
    tc_sort_keys(pairs, scratch, out->values);
    out->min = value_of(pairs[0].key);
    out->max = value_of(pairs[out->values - 1].key);
    out->mean = mean_of(pairs, out->values);
    out->p50 = rank_of(pairs, out->values, 50);
    out->p95 = rank_of(pairs, out->values, 95);
    out->p99 = rank_of(pairs, out->values, 99);
}
