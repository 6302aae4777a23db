/* SPDX-License-Identifier: Apache-2.0 */
#include "base/table/sort.h"

#include <stdbool.h>
#include <string.h>

#define INSERTION_MAX 24
/* Runs in order that are merged: of more, digits take less. */
#define RUNS_MAX 64
#define RADIX_BITS 8
#define RADIX_SIZE 256
/* Pointers that are moved in one piece of a sort. */
#define SORT_PIECE ((size_t)4096)

/* Where runs in order begin, and behind them the end; how many, or RUNS_MAX + 1 for more. */
static size_t find_runs(const struct tc_sort_pair *p, size_t count, size_t starts[RUNS_MAX + 2])
{
    size_t runs = 1;
    starts[0] = 0;
    for (size_t i = 1; i < count && runs <= RUNS_MAX; i++) {
        if (p[i].key < p[i - 1].key) {
            starts[runs++] = i;
        }
    }
    starts[runs] = count;
    return runs;
}

/* Merges [from, middle) and [middle, end); of equal ones the former come first. */
static void merge_two(const struct tc_sort_pair *a, const struct tc_sort_pair *middle,
                      const struct tc_sort_pair *end, struct tc_sort_pair *to)
{
    const struct tc_sort_pair *b = middle;
    while (a < middle && b < end) {
        *to++ = a->key <= b->key ? *a++ : *b++;
    }
    size_t rest = (size_t)(middle - a);
    memcpy(to, a, rest * sizeof *to);
    memcpy(to + rest, b, (size_t)(end - b) * sizeof *to);
}

/* What several senders told, each in order: neighbours are merged until one run is left. */
static void merge_runs(struct tc_sort_pair *pairs, struct tc_sort_pair *scratch,
                       size_t starts[RUNS_MAX + 2], size_t runs)
{
    struct tc_sort_pair *from = pairs;
    struct tc_sort_pair *to = scratch;
    size_t count = starts[runs];
    while (runs > 1) {
        size_t left = 0;
        for (size_t i = 0; i < runs; i += 2) {
            size_t middle = starts[i + 1];
            size_t end = i + 1 < runs ? starts[i + 2] : middle;
            merge_two(from + starts[i], from + middle, from + end, to + starts[i]);
            starts[left++] = starts[i];
        }
        starts[left] = count;
        runs = left;
        struct tc_sort_pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != pairs) {
        memcpy(pairs, from, count * sizeof *pairs);
    }
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
    size_t starts[RUNS_MAX + 2];
    size_t runs = find_runs(pairs, count, starts);
    if (runs == 1) {
        return;
    }
    if (count <= INSERTION_MAX) {
        insertion(pairs, count);
    } else if (runs <= RUNS_MAX) {
        merge_runs(pairs, scratch, starts, runs);
    } else {
        radix(pairs, scratch, count);
    }
}

/* Goes on with merging two runs, by `most` pointers at most; how many. */
static size_t merge(struct tc_sorting *s, size_t most)
{
    const void **from = (s->is_swapped ? s->scratch : s->items) + s->at;
    const void **to = (s->is_swapped ? s->items : s->scratch) + s->at;
    size_t left = s->count - s->at;
    size_t mid = left < s->width ? left : s->width;
    size_t end = left < 2 * s->width ? left : 2 * s->width;
    size_t a = s->a;
    size_t b = s->b;
    size_t count = end - a - b < most ? end - a - b : most;
    for (size_t i = a + b; i < s->a + s->b + count; i++) {
        if (a < mid && (mid + b >= end || s->cmp(from[a], from[mid + b], s->context) <= 0)) {
            to[i] = from[a++];
        } else {
            to[i] = from[mid + b++];
        }
    }
    s->a = a;
    s->b = b;
    if (a + b == end) {
        s->at += end;
        s->a = s->b = 0;
    }
    return count;
}

bool tc_sort_some(struct tc_sorting *s)
{
    s->width = s->width == 0 ? 1 : s->width;
    for (size_t left = SORT_PIECE; s->width < s->count && left > 0;) {
        left -= merge(s, left);
        if (s->at == s->count) {
            s->is_swapped = !s->is_swapped;
            s->width *= 2;
            s->at = 0;
        }
    }
    if (s->width < s->count) {
        return false;
    }
    if (s->is_swapped) {
        memcpy(s->items, s->scratch, s->count * sizeof *s->items);
        s->is_swapped = false;
    }
    return true;
}

void tc_sort_ptrs(const void **items, const void **scratch, size_t count, tc_sort_cmp_fn cmp,
                  void *context)
{
    struct tc_sorting s = {items, scratch, count, cmp, context, .width = 0};
    while (!tc_sort_some(&s)) {
    }
}
