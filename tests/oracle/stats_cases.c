/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of what stdin says, for stats_oracle.py: one case a line, one answer a line. A case is
 * a word, its parameters, and one or two lists of numbers, each after its length:
 *
 *   order LEVEL N x...               median low high level mad scale q10 q90 outliers
 *   rank N base... M candidate...    u p delta method
 *   ratio LEVEL SEED N base... M candidate...   ratio low high flag
 *   adjust N p...                    adjusted...
 *   dip N x...                       dip p
 *   changes ALPHA PERMUTATIONS MIN SEED N x...  (index p before after)...
 *   least ALPHA N M                  least n, least p
 *   dipnull N SAMPLES SEED           dips of uniform numbers that a share of 0.5, 0.2 ... exceed
 */
#include "base/random.h"
#include "stats/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 200000
#define ARENA_BYTES ((size_t)256 << 20)

static double values[VALUES_MAX];
static struct tc_arena arena;

static double read_number(void)
{
    char word[64];
    if (scanf("%63s", word) != 1) {
        (void)fprintf(stderr, "stats_cases: the case ends too early\n");
        exit(2);
    }
    return strtod(word, NULL);
}

static size_t read_values(double *out)
{
    size_t n = (size_t)read_number();
    if (n > VALUES_MAX) {
        (void)fprintf(stderr, "stats_cases: %zu values are too many\n", n);
        exit(2);
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = read_number();
    }
    return n;
}

static bool read_sorted(struct tc_sorted *out)
{
    size_t n = read_values(values);
    return tc_sorted_make(values, n, &arena, out, NULL) == TC_OK;
}

static bool order(void)
{
    struct tc_sorted s;
    double level = read_number();
    if (!read_sorted(&s)) {
        return false;
    }
    struct tc_median_interval i = tc_sorted_median_interval(s, level);
    struct tc_spread spread = tc_sorted_spread(s);
    size_t outliers = 0;
    for (size_t k = 0; k < s.n; k++) {
        outliers += tc_is_outlier(&spread, s.x[k]);
    }
    printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %zu\n", spread.median, i.low, i.high,
           i.level, spread.mad, spread.scale, tc_sorted_quantile(s, 0.1),
           tc_sorted_quantile(s, 0.9), outliers);
    return true;
}

static bool rank(void)
{
    struct tc_sorted base;
    struct tc_sorted candidate;
    struct tc_rank_test t;
    if (!read_sorted(&base) || !read_sorted(&candidate) ||
        tc_rank_test(base, candidate, &arena, &t) != TC_OK) {
        return false;
    }
    printf("%.17g %.17g %.17g %d\n", t.u, t.p, t.delta, (int)t.method);
    return true;
}

static bool ratio(void)
{
    struct tc_sorted base;
    struct tc_sorted candidate;
    struct tc_ratio r;
    double level = read_number();
    uint64_t seed = (uint64_t)read_number();
    if (!read_sorted(&base) || !read_sorted(&candidate) ||
        tc_ratio_of_medians(base, candidate, level, TC_RATIO_DRAWS, seed, &arena, &r) != TC_OK) {
        return false;
    }
    printf("%.17g %.17g %.17g %d\n", r.ratio, r.low, r.high, (int)r.flag);
    return true;
}

static bool adjust(void)
{
    size_t n = read_values(values);
    if (tc_adjust_p(values, n, &arena, values) != TC_OK) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        printf("%.17g ", values[i]);
    }
    printf("\n");
    return true;
}

static bool dip(void)
{
    struct tc_sorted s;
    struct tc_dip d;
    if (!read_sorted(&s) || tc_dip_test(s, &arena, &d) != TC_OK) {
        return false;
    }
    printf("%.17g %.17g\n", d.dip, d.p);
    return true;
}

static bool changes(void)
{
    struct tc_changes_options o = {.alpha = read_number()};
    o.permutations = (uint32_t)read_number();
    o.segment_min = (size_t)read_number();
    o.seed = (uint64_t)read_number();
    struct tc_change *found;
    size_t count;
    size_t n = read_values(values);
    if (tc_changes_find(values, n, &o, &arena, &found, &count, NULL) != TC_OK) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        printf("%zu %.17g %.17g %.17g ", found[i].index, found[i].p, found[i].before,
               found[i].after);
    }
    printf("\n");
    return true;
}

static bool least(void)
{
    double alpha = read_number();
    size_t n = (size_t)read_number();
    size_t m = (size_t)read_number();
    printf("%zu %.17g\n", tc_rank_least_n(alpha), tc_rank_least_p(n, m));
    return true;
}

static bool dipnull(void)
{
    static const double shares[] = {0.9,  0.7,  0.5,   0.3,   0.2,   0.1,    0.05,
                                    0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0001};
    size_t n = (size_t)read_number();
    size_t samples = (size_t)read_number();
    uint64_t state = (uint64_t)read_number();
    double *dips = calloc(samples, sizeof *dips);
    bool ok = dips != NULL && n <= VALUES_MAX;
    for (size_t i = 0; ok && i < samples; i++) {
        struct tc_sorted s;
        struct tc_dip d;
        tc_arena_reset(&arena);
        for (size_t k = 0; k < n; k++) {
            values[k] = tc_random_unit(&state);
        }
        ok = tc_sorted_make(values, n, &arena, &s, NULL) == TC_OK &&
             tc_dip_test(s, &arena, &d) == TC_OK;
        dips[i] = ok ? d.dip : 0;
    }
    struct tc_sorted s;
    tc_arena_reset(&arena);
    ok = ok && tc_sorted_make(dips, samples, &arena, &s, NULL) == TC_OK;
    for (size_t i = 0; ok && i < sizeof shares / sizeof shares[0]; i++) {
        printf("%.17g ", tc_sorted_quantile(s, 1 - shares[i]));
    }
    printf("\n");
    free(dips);
    return ok;
}

int main(void)
{
    static const struct {
        const char *name;
        bool (*answer)(void);
    } cases[] = {{"order", order}, {"rank", rank},       {"ratio", ratio}, {"adjust", adjust},
                 {"dip", dip},     {"changes", changes}, {"least", least}, {"dipnull", dipnull}};
    char word[16];
    void *block = calloc(1, ARENA_BYTES);
    if (block == NULL) {
        return 2;
    }
    tc_arena_init_zeroed(&arena, "cases", block, ARENA_BYTES);
    while (scanf("%15s", word) == 1) {
        tc_arena_reset(&arena);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            if (strcmp(word, cases[i].name) == 0 && !cases[i].answer()) {
                printf("refused\n");
            }
        }
    }
    tc_arena_fini(&arena);
    free(block);
    return 0;
}
