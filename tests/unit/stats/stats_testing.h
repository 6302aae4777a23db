/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the room share: an arena, sorted samples, normal numbers. */
#ifndef TC_TESTS_STATS_TESTING_H
#define TC_TESTS_STATS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define ARENA_BYTES ((size_t)8 << 20)

static struct tc_arena arena;
static void *arena_block;

static inline int open_arena(void **state)
{
    (void)state;
    arena_block = calloc(1, ARENA_BYTES);
    assert_non_null(arena_block);
    tc_arena_init_zeroed(&arena, "test", arena_block, ARENA_BYTES);
    return 0;
}

static inline int close_arena(void **state)
{
    (void)state;
    tc_arena_fini(&arena);
    free(arena_block);
    return 0;
}

static inline struct tc_sorted sorted_of(const double *values, size_t n)
{
    struct tc_sorted s;
    assert_int_equal(tc_sorted_make(values, n, &arena, &s, NULL), TC_OK);
    return s;
}
#define SORTED(...) sorted_of((const double[]){__VA_ARGS__}, COUNT(((const double[]){__VA_ARGS__})))

static inline double draw_normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(tc_random_unit(state)));
    return radius * cos(2 * M_PI * tc_random_unit(state));
}

static inline void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance)) {
        print_error("%.17g is not %.17g\n", value, wanted);
        fail();
    }
}

/* Scratch is given back: nothing but `kept` bytes are left in the arena. */
static inline void assert_given_back(tc_arena_mark before, size_t kept)
{
    assert_in_range(tc_arena_snapshot(&arena), before, before + kept);
}

#endif
