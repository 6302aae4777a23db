/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting without allocation. tc_sort_keys orders (key, value) pairs by key with
 * the caller's scratch of the same length; equal keys keep their order. Input
 * that is in order already costs one pass.
 */
#ifndef TC_BASE_TABLE_SORT_H
#define TC_BASE_TABLE_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order of two numbers, for comparison functions: < 0, 0 or > 0. */
#define TC_ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

struct tc_sort_pair {
    uint64_t key;
    uint64_t value;
};

/* Borrows both; scratch has room for count pairs and its content is lost. */
void tc_sort_keys(struct tc_sort_pair *pairs, struct tc_sort_pair *scratch, size_t count);

typedef int (*tc_sort_cmp_fn)(const void *a, const void *b, void *context);

/*
 * Stable merge sort of pointers by any order. Borrows both; scratch has room
 * for count pointers. At most count * log2(count) comparisons.
 */
void tc_sort_ptrs(const void **items, const void **scratch, size_t count, tc_sort_cmp_fn cmp,
                  void *context);

/*
 * The same in pieces: set the first five, and call tc_sort_some, which makes a bounded number of
 * comparisons, until it is true. Meanwhile the pointers are in no order.
 */
struct tc_sorting {
    const void **items;
    const void **scratch;
    size_t count;
    tc_sort_cmp_fn cmp;
    void *context;
    size_t width; /* of the runs that are sorted; 0: it has not begun */
    size_t at;    /* where the two runs begin that are merged */
    size_t a;     /* what was taken of each */
    size_t b;
    bool is_swapped; /* scratch has the sorted runs */
};
bool tc_sort_some(struct tc_sorting *s);

#endif
