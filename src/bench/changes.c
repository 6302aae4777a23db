/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Change points of a history of 10,000 values: of noise, where the tests end early, and with 8, 50
 * and 200 steps in it, each of which takes all permutations.
 */
#include "base/buf.h"
#include "base/random.h"
#include "bench/bench.h"
#include "bench/measure.h"
#include "cli/output/say.h"
#include "stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define VALUES 10000
#define LEVELS 10
#define LEVEL_STEP 3.0

/* Normal noise of deviation 1 on levels that are multiples of LEVEL_STEP. */
static void fill_series(double *out, size_t steps)
{
    uint64_t state = 1;
    for (size_t i = 0; i < VALUES; i++) {
        double radius = sqrt(-2 * log(tc_random_unit(&state)));
        double noise = radius * cos(2 * M_PI * tc_random_unit(&state));
        uint64_t level = tc_random_mix(1 + i * (steps + 1) / VALUES) % LEVELS;
        out[i] = 100 + LEVEL_STEP * (double)level + noise;
    }
}

static bool measure(const double *series, void *block, size_t *out_found, uint64_t *out_ns)
{
    const struct tc_changes_options options = TC_CHANGES_DEFAULT;
    struct tc_bench_meter meter;
    struct tc_arena arena;
    struct tc_change *changes;
    tc_arena_init(&arena, "changes", block, TC_CHANGES_BYTES(VALUES));
    tc_bench_meter_init(&meter);
    tc_bench_meter_start(&meter);
    bool ok = tc_changes_find(series, VALUES, &options, &arena, &changes, out_found, NULL) == TC_OK;
    tc_bench_meter_stop(&meter);
    *out_ns = meter.sum.ns;
    tc_bench_meter_fini(&meter);
    tc_arena_fini(&arena);
    return ok;
}

bool tc_bench_changes(const struct tc_bench *b, const struct tc_bench_options *o,
                      struct tc_output *out)
{
    (void)o;
    static const size_t steps[] = {0, 8, 50, 200};
    double *series = calloc(VALUES, sizeof *series);
    void *block = malloc(TC_CHANGES_BYTES(VALUES));
    bool ok = series != NULL && block != NULL;
    for (size_t i = 0; ok && i < TC_COUNT(steps); i++) {
        size_t found = 0;
        uint64_t ns = 0;
        char text[160];
        fill_series(series, steps[i]);
        ok = measure(series, block, &found, &ns);
        int len = snprintf(text, sizeof text,
                           "{\"bench\":\"%s\",\"values\":%d,\"steps\":%zu,\"found\":%zu,"
                           "\"seconds\":%.3f}\n",
                           b->name, VALUES, steps[i], found, (double)ns / 1e9);
        ok = ok && tc_output_put(out, tc_slice_make(text, (size_t)len));
    }
    if (!ok) {
        tc_say("tracecore-bench", "%s: no memory, or nowhere to print", b->name);
    }
    free(block);
    free(series);
    return ok;
}
