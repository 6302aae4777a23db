/* SPDX-License-Identifier: Apache-2.0 */
/* Benjamini and Hochberg, 1995: the i-th smallest of m becomes the least of p m / j over j >= i. */
#include "base/table/sort.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

tc_status tc_adjust_p(const double *p, size_t count, struct tc_arena *arena, double *out)
{
    if (count == 0) {
        return TC_OK;
    }
    tc_arena_mark mark = tc_arena_snapshot(arena);
    struct tc_sort_pair *pairs = tc_new(arena, struct tc_sort_pair, count);
    struct tc_sort_pair *scratch = tc_new(arena, struct tc_sort_pair, count);
    if (pairs == NULL || scratch == NULL) {
        return TC_E_NOMEM;
    }
    size_t tests = 0;
    for (size_t i = 0; i < count; i++) {
        if (p[i] < 0 || p[i] > 1) {
            tc_arena_rewind(arena, mark);
            return TC_E_MALFORMED;
        }
        if (!isnan(p[i])) {
            double positive = p[i] + 0.0; /* its bits are in the order of the values */
            memcpy(&pairs[tests].key, &positive, sizeof positive);
            pairs[tests++].value = i;
        }
    }
    tc_sort_keys(pairs, scratch, tests);
    memmove(out, p, count * sizeof *p);
    double least = 1;
    for (size_t i = tests; i > 0; i--) {
        double *at = &out[pairs[i - 1].value];
        double adjusted = *at * (double)tests / (double)i;
        least = adjusted < least ? adjusted : least;
        *at = least;
    }
    tc_arena_rewind(arena, mark);
    return TC_OK;
}
