/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What percentiles are taken from when a slice has too many values to keep: bins in the order of
 * the doubles, each all values whose keys agree in their upper bits. A key is exponent, then
 * mantissa, so bins are as wide everywhere, relative to what is in them. At first all bits count
 * and a bin is one value; when there are too many bins, as few of the lower bits are forgotten as
 * will do. What is left depends on the set of the values, never on their order.
 */
#include "telemetry/slices_priv.h"

#include <string.h>

#define KEY_BITS 64

static uint64_t bin_of(uint64_t key, unsigned shift)
{
    return shift >= KEY_BITS ? 0 : key >> shift << shift;
}

/* How many bits have to be forgotten, at least `shift`, so that so many sorted keys are no more
 * than TC__BINS_MAX bins. */
static unsigned shift_for(const struct tc_sort_pair *sorted, size_t count, unsigned shift)
{
    size_t differ[KEY_BITS] = {0}; /* neighbours, by the highest bit that they differ in */
    for (size_t i = 1; i < count; i++) {
        uint64_t bits = sorted[i].key ^ sorted[i - 1].key;
        if (bits != 0) {
            differ[KEY_BITS - 1 - __builtin_clzll(bits)]++;
        }
    }
    size_t bins = 1;
    unsigned at = KEY_BITS;
    while (at > shift && bins + differ[at - 1] <= TC__BINS_MAX) {
        bins += differ[--at];
    }
    return at;
}

/* Puts neighbours of one bin together; how many are left. */
static size_t join_bins(struct tc_sort_pair *bins, size_t count, unsigned shift)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t key = bin_of(bins[i].key, shift);
        if (kept > 0 && bins[kept - 1].key == key) {
            bins[kept - 1].value += bins[i].value;
        } else {
            bins[kept++] = (struct tc_sort_pair){key, bins[i].value};
        }
    }
    return kept;
}

size_t tc__bins_join(struct tc_sort_pair *bins, struct tc_sort_pair *scratch, size_t count,
                     unsigned *io_shift)
{
    tc_sort_keys(bins, scratch, count);
    count = join_bins(bins, count, *io_shift);
    if (count > TC__BINS_MAX) {
        *io_shift = shift_for(bins, count, *io_shift);
        count = join_bins(bins, count, *io_shift);
    }
    return count;
}

/* The value of a bin that is nearest to zero. */
static double value_of_bin(uint64_t key, unsigned shift)
{
    bool is_negative = (key >> (KEY_BITS - 1)) == 0;
    uint64_t low = shift >= KEY_BITS ? UINT64_MAX : (UINT64_C(1) << shift) - 1;
    return tc__value_of(is_negative ? key | low : key);
}

double tc__bins_rank(const struct tc_sort_pair *bins, size_t count, unsigned shift, uint64_t rank)
{
    uint64_t below = 0;
    size_t at = 0;
    while (at + 1 < count && below + bins[at].value < rank) {
        below += bins[at++].value;
    }
    return value_of_bin(bins[at].key, shift);
}

double tc__bins_mean(const struct tc_sort_pair *bins, size_t count, unsigned shift, uint64_t values)
{
    double mean = 0;
    for (size_t i = 0; i < count; i++) {
        mean += value_of_bin(bins[i].key, shift) * ((double)bins[i].value / (double)values);
    }
    return mean;
}
