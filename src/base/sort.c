/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include <stdbool.h>
#include <string.h>

#define INSERTION_MAX 24
#define RADIX_BITS 8
#define RADIX_SIZE 256

static bool in_order(const struct tc_sort_pair *p, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (p[i].key < p[i - 1].key) {
            return false;
        }
    }
    return true;
}

static void insertion(struct tc_sort_pair *p, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct tc_sort_pair x = p[i];
        size_t j = i;
        for (; j > 0 && p[j - 1].key > x.key; j--) {
            p[j] = p[j - 1];
        }
        p[j] = x;
    }
}

/* Least significant digit first; digits in which all keys agree are skipped. */
static void radix(struct tc_sort_pair *pairs, struct tc_sort_pair *scratch, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 1; i < count; i++) {
        all |= pairs[i].key ^ pairs[0].key;
    }
    struct tc_sort_pair *from = pairs;
    struct tc_sort_pair *to = scratch;
    for (unsigned shift = 0; shift < 64; shift += RADIX_BITS) {
        if (((all >> shift) & (RADIX_SIZE - 1)) == 0) {
            continue;
        }
        size_t start[RADIX_SIZE] = {0};
        for (size_t i = 0; i < count; i++) {
            start[(from[i].key >> shift) & (RADIX_SIZE - 1)]++;
        }
        size_t sum = 0;
        for (size_t d = 0; d < RADIX_SIZE; d++) {
            size_t n = start[d];
            start[d] = sum;
            sum += n;
        }
        for (size_t i = 0; i < count; i++) {
            to[start[(from[i].key >> shift) & (RADIX_SIZE - 1)]++] = from[i];
        }
        struct tc_sort_pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != pairs) {
        memcpy(pairs, from, count * sizeof *pairs);
    }
}

void tc_sort_keys(struct tc_sort_pair *pairs, struct tc_sort_pair *scratch, size_t count)
{
    if (in_order(pairs, count)) {
        return;
    }
    if (count <= INSERTION_MAX) {
        insertion(pairs, count);
    } else {
        radix(pairs, scratch, count);
    }
}

/* Merges the sorted runs [0, mid) and [mid, count) of from into to. */
static void merge(const void **to, const void **from, size_t mid, size_t count, tc_sort_cmp_fn cmp,
                  void *context)
{
    size_t a = 0;
    size_t b = mid;
    for (size_t i = 0; i < count; i++) {
        if (a < mid && (b >= count || cmp(from[a], from[b], context) <= 0)) {
            to[i] = from[a++];
        } else {
            to[i] = from[b++];
        }
    }
}

void tc_sort_ptrs(const void **items, const void **scratch, size_t count, tc_sort_cmp_fn cmp,
                  void *context)
{
    const void **from = items;
    const void **to = scratch;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t left = count - at;
            size_t mid = left < width ? left : width;
            size_t len = left < 2 * width ? left : 2 * width;
            merge(to + at, from + at, mid, len, cmp, context);
        }
        const void **swap = from;
        from = to;
        to = swap;
    }
    if (from != items && count > 0) {
        memcpy(items, from, count * sizeof *items);
    }
}
