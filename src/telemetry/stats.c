/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of one series in one window, exactly: from all of its samples. Everything follows
 * the order of time and value, so that the order in which samples came does not show.
 */
#include "telemetry/slices_priv.h"

#include "base/time.h"

#include <math.h>

/* Samples of one time in the order of their values. */
static void sort_ties(struct tc_sort_pair *samples, struct tc_sort_pair *scratch, size_t count)
{
    for (size_t start = 0; start < count;) {
        uint64_t time = samples[start].key;
        size_t end = start + 1;
        while (end < count && samples[end].key == time) {
            end++;
        }
        if (end - start > 1) {
            for (size_t i = start; i < end; i++) {
                samples[i].key = tc__key_of(tc__double_of(samples[i].value));
            }
            tc_sort_keys(&samples[start], scratch, end - start);
            for (size_t i = start; i < end; i++) {
                samples[i].key = time;
            }
        }
        start = end;
    }
}

size_t tc__samples_sort(struct tc_sort_pair *samples, struct tc_sort_pair *scratch, size_t count)
{
    size_t kept = 0;
    tc_sort_keys(samples, scratch, count);
    sort_ties(samples, scratch, count);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || samples[kept - 1].key != samples[i].key ||
            tc__double_of(samples[kept - 1].value) != tc__double_of(samples[i].value)) {
            samples[kept++] = samples[i];
        }
    }
    return kept;
}

bool tc__rise(int64_t base_ns, double base, int64_t time_ns, double *io_value)
{
    if (base_ns == TC_TIME_NONE || time_ns <= base_ns || *io_value < base) {
        return false;
    }
    *io_value = (*io_value - base) / ((double)(time_ns - base_ns) / (double)TC_SECOND);
    return isfinite(*io_value);
}

/* Nearest rank: the smallest value that at least p of a hundred are not above. */
static double rank_of(const struct tc_sort_pair *sorted, uint64_t count, unsigned percent)
{
    uint64_t rank = (count * percent + 99) / 100;
    return tc__value_of(sorted[rank - 1].key);
}

/* Of sorted values; each is divided first where their sum is too large for a double. */
static double mean_of(const struct tc_sort_pair *sorted, uint64_t count)
{
    double sum = 0;
    double parts = 0;
    for (uint64_t i = 0; i < count; i++) {
        double value = tc__value_of(sorted[i].key);
        sum += value;
        parts += value / (double)count;
    }
    return isfinite(sum) ? sum / (double)count : parts;
}

void tc__stats_of(struct tc__series *series, struct tc_sort_pair *samples,
                  struct tc_sort_pair *scratch, size_t count, struct tc__stats *out)
{
    for (size_t i = 0; i < count; i++) {
        int64_t time_ns = (int64_t)samples[i].key;
        double sample = tc__double_of(samples[i].value);
        double value = sample;
        bool known = true;
        out->samples++;
        if (series->type == TC_SAMPLE_COUNTER) {
            known = tc__rise(series->base_ns, series->base, time_ns, &value);
            series->base_ns = time_ns;
            series->base = sample;
        }
        out->last = series->type == TC_SAMPLE_DELTA ? (double)NAN : sample;
        if (known) { /* never behind i: what is still to be read is not overwritten */
            samples[out->values++].key = tc__key_of(value + 0.0);
        }
    }
    if (out->values == 0) {
        return;
    }
    tc_sort_keys(samples, scratch, out->values);
    out->min = tc__value_of(samples[0].key);
    out->max = tc__value_of(samples[out->values - 1].key);
    out->mean = mean_of(samples, out->values);
    out->p50 = rank_of(samples, out->values, 50);
    out->p95 = rank_of(samples, out->values, 95);
    out->p99 = rank_of(samples, out->values, 99);
}
