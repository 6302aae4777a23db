/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparisons of runs: how fast, and how often right.
 *
 *   bench_compare [--runs N] [--dir DIR] [--json]
 *
 * Fills a warehouse with N runs (10,000) of 50 metrics, half of them base and half candidate, and
 * compares the halves, reading included. Exits 1 when that takes more than two seconds.
 *
 *   bench_compare --power [--comparisons N] [--json]
 *
 * Simulates comparisons (2,000) of 10 runs a side that do not differ, and counts what is called
 * different; then of sides that differ by 5 % in one metric, and counts what is found. Exits 1 when
 * there are more false alarms than docs/statistics.md promises. The noise is like that of the
 * samples: lognormal, with what the metrics of one run share, and runs that are off altogether.
 */
#include "bench_common.h"

#include "base/format.h"
#include "base/random.h"
#include "compare/compare.h"

#include <math.h>

#define RUNS_DEFAULT 10000
#define COMPARISONS_DEFAULT 2000
#define LIMIT_SECONDS 2.0
#define TIMES 5
#define BATCH TC_ROWS_MAX
#define SLICES_PER_RUN 12

/* ---- chance ---- */

static uint64_t chance = 42;

static double random_normal(void)
{
    double radius = sqrt(-2 * log(tc_random_unit(&chance)));
    return radius * cos(6.283185307179586 * tc_random_unit(&chance));
}

/* ---- speed ---- */

static void put_text(struct tc_rows *rows, size_t column, const char *text)
{
    if (tc_rows_text(rows, column, tc_slice_cstr(text)) != TC_OK) {
        die("rows", "no room for text");
    }
}

static void put_run(struct tc_rows *rows, const char *id, size_t n)
{
    put_text(rows, TC_RUN_RUN_ID, id);
    put_text(rows, TC_RUN_NAME, "bench");
    put_text(rows, TC_RUN_REPLICATE_GROUP, n % 2 == 0 ? "base" : "candidate");
    put_text(rows, TC_RUN_STATUS, "succeeded");
    put_text(rows, TC_RUN_TOOLS, "[\"vllm\"]");
    tc_rows_int(rows, TC_RUN_REPLICATE_INDEX, (int64_t)(n / 2 + 1));
    tc_rows_int(rows, TC_RUN_STARTED, INT64_C(1762000000000000) + (int64_t)n * 3600000000);
}

/* The definitions of all columns, as a reader writes them. */
static const char *definitions(void)
{
    static char text[8192];
    size_t count = 0;
    const struct tc_run_metric *metrics = tc_run_metric_columns(&count);
    struct tc_buf b = tc_buf_make(text, sizeof text - 1);
    for (size_t n = 0; n < count && metrics[n].table == TC_TABLE_SERVING; n++) {
        (void)tc_format(&b, "{}\"{}\":\"vllm:{}\"", n == 0 ? "{" : ",", metrics[n].name,
                        metrics[n].name);
    }
    tc_buf_lit(&b, "}");
    text[b.len] = '\0';
    return text;
}

static void put_outcome(struct tc_rows *rows, const char *id)
{
    size_t count = 0;
    const struct tc_run_metric *metrics = tc_run_metric_columns(&count);
    const struct tc_table_info *table = tc_table_info(TC_TABLE_SERVING);
    put_text(rows, TC_SERVING_RUN_ID, id);
    put_text(rows, TC_SERVING_TOOL, "vllm");
    put_text(rows, TC_SERVING_WORKLOAD_POINT, "in=1024 out=128");
    tc_rows_real(rows, TC_SERVING_CONCURRENCY, 64);
    put_text(rows, TC_SERVING_DEFINITIONS, definitions());
    for (size_t n = 0; n < count && metrics[n].table == TC_TABLE_SERVING; n++) {
        double value = 1000 * exp(0.03 * random_normal());
        if (table->columns[metrics[n].column].type == TC_COLUMN_INT) {
            tc_rows_int(rows, metrics[n].column, (int64_t)value);
        } else {
            tc_rows_real(rows, metrics[n].column, value);
        }
    }
}

static void put_slice(struct tc_rows *rows, const char *id, size_t n)
{
    char name[32];
    (void)snprintf(name, sizeof name, "metric_%zu", n);
    put_text(rows, TC_SLICE_RUN_ID, id);
    put_text(rows, TC_SLICE_FAMILY, "vllm");
    put_text(rows, TC_SLICE_METRIC, name);
    put_text(rows, TC_SLICE_UNIT, "ms");
    put_text(rows, TC_SLICE_JOIN, "given");
    tc_rows_int(rows, TC_SLICE_COUNT, 60);
    tc_rows_int(rows, TC_SLICE_START, INT64_C(1762000000000000));
    tc_rows_int(rows, TC_SLICE_END, INT64_C(1762000060000000));
    tc_rows_real(rows, TC_SLICE_MEAN, 1000 * exp(0.03 * random_normal()));
}

static void flush(struct tc_warehouse *w, enum tc_table table, struct tc_rows *rows, bool all)
{
    struct tc_error err;
    if (all || rows->count + SLICES_PER_RUN > BATCH) {
        must(tc_warehouse_append(w, table, rows, &err), "append", &err);
        tc_rows_reset(rows);
    }
}

static void fill(const char *dir, size_t count)
{
    struct tc_warehouse *w = open_in(dir, TC_WAREHOUSE_WRITE);
    struct tc_rows *runs = tc_rows_create(TC_TABLE_RUN);
    struct tc_rows *outcomes = tc_rows_create(TC_TABLE_SERVING);
    struct tc_rows *slices = tc_rows_create(TC_TABLE_SLICE);
    struct tc_error err;
    must(tc_warehouse_begin(w, &err), "begin", &err);
    for (size_t n = 0; n < count; n++) {
        char id[32];
        (void)snprintf(id, sizeof id, "run-%016llx",
                       (unsigned long long)tc_random_mix(n * UINT64_C(0x9e3779b97f4a7c15)));
        (void)tc_rows_add(runs);
        put_run(runs, id, n);
        (void)tc_rows_add(outcomes);
        put_outcome(outcomes, id);
        for (size_t k = 0; k < SLICES_PER_RUN; k++) {
            (void)tc_rows_add(slices);
            put_slice(slices, id, k);
        }
        flush(w, TC_TABLE_RUN, runs, n + 1 == count);
        flush(w, TC_TABLE_SERVING, outcomes, n + 1 == count);
        flush(w, TC_TABLE_SLICE, slices, n + 1 == count);
    }
    must(tc_warehouse_commit(w, &err), "commit", &err);
    tc_rows_destroy(runs);
    tc_rows_destroy(outcomes);
    tc_rows_destroy(slices);
    tc_warehouse_close(w);
}

/* Opens, compares and closes, as a command does. */
static size_t compare_once(const char *dir)
{
    static const struct tc_compare_options options = {0};
    struct tc_warehouse *w = open_in(dir, TC_WAREHOUSE_READ);
    struct tc_comparison c;
    struct tc_error err;
    must(tc_compare(w, TC_LIT("base"), TC_LIT("candidate"), &options, &c, &err), "compare", &err);
    size_t pairs = c.pair_count;
    tc_comparison_fini(&c);
    tc_warehouse_close(w);
    return pairs;
}

static void measure_speed(char *dir, size_t runs)
{
    int64_t took_ns[TIMES];
    struct spent spent = {0, 0};
    size_t pairs = 0;
    char base[500];
    if (mkdtemp(dir) == NULL) {
        die(dir, "cannot be made");
    }
    (void)snprintf(base, sizeof base, "%s/compare", dir);
    fill(base, runs);
    for (int n = 0; n < TIMES; n++) {
        struct spent begin = spent_now();
        pairs = compare_once(base);
        took_ns[n] = tc_mono_ns() - begin.wall_ns;
        add_since(&spent, begin);
    }
    qsort(took_ns, TIMES, sizeof took_ns[0], compare_ns);
    double seconds = (double)took_ns[TIMES / 2] / 1e9;
    double cpu = (double)spent.cpu_ns / TIMES / 1e9;
    if (as_json) {
        printf("{\"bench\":\"compare\",\"runs\":%zu,\"metrics\":%zu,\"p50_s\":%.3f,\"max_s\":%.3f,"
               "\"cpu_s\":%.3f}\n",
               runs, pairs, seconds, (double)took_ns[TIMES - 1] / 1e9, cpu);
    } else {
        printf("compare %zu runs x %zu metrics: p50 %.2f s, max %.2f s, processor %.2f s\n", runs,
               pairs, seconds, (double)took_ns[TIMES - 1] / 1e9, cpu);
    }
    /* Of a machine that others use too, the processor's time says more. */
    if (runs >= RUNS_DEFAULT && fmin(seconds, cpu) > LIMIT_SECONDS) {
        breach("compare", seconds, LIMIT_SECONDS, "s at the median");
    }
    remove_folder(dir);
}

/* ---- how often right ---- */

#define METRICS 18
#define POINTS 2
#define SERIES (METRICS * POINTS)
#define RUNS_MAX 64

/* Spread between runs (standard deviation of the logarithm), as in the samples: of examples with
 * vLLM, of MLPerf logs and of others. The first of each point are main metrics. */
static const struct {
    double spread;
    bool is_main;
} KINDS[METRICS] = {
    {0.015, true},  {0.045, true},  {0.005, true},  {0.012, true},  {0.004, true},  {0.020, true},
    {0.020, false}, {0.025, false}, {0.030, false}, {0.006, false}, {0.008, false}, {0.010, false},
    {0.015, false}, {0.050, false}, {0.100, false}, {0.003, false}, {0.003, false}, {0.001, false},
};
#define SHARED 0.5    /* of the variance: what all metrics of a run have in common */
#define RUNS_OFF 0.03 /* of all runs: slower altogether ... */
#define OFF_MOST 0.3  /* ... by up to this */

struct world {
    struct tc_series series[TC_SIDES][SERIES];
    struct tc_point points[POINTS];
    double values[TC_SIDES][SERIES][RUNS_MAX];
    uint32_t runs[RUNS_MAX];
};

static void draw_run(struct world *w, size_t side, size_t run, double shift, double shift_spread)
{
    double common = random_normal();
    double off = tc_random_unit(&chance) < RUNS_OFF ? OFF_MOST * tc_random_unit(&chance) : 0;
    for (size_t n = 0; n < SERIES; n++) {
        double spread = n == 0 && shift_spread > 0 ? shift_spread : KINDS[n % METRICS].spread;
        double noise = sqrt(SHARED) * common + sqrt(1 - SHARED) * random_normal();
        double moved = side == TC_SIDE_CANDIDATE && n == 0 ? log(1 + shift) : 0;
        w->values[side][n][run] = 100 * exp(spread * noise + moved + off);
    }
}

static void draw(struct world *w, size_t runs, double shift, double shift_spread)
{
    for (size_t side = 0; side < TC_SIDES; side++) {
        for (size_t run = 0; run < runs; run++) {
            draw_run(w, side, run, shift, shift_spread);
        }
        for (size_t n = 0; n < SERIES; n++) {
            w->series[side][n] = (struct tc_series){.name = TC_LIT("m"),
                                                    .order = n % METRICS,
                                                    .point = &w->points[n / METRICS],
                                                    .better = TC_BETTER_LOWER,
                                                    .is_main = KINDS[n % METRICS].is_main,
                                                    .count = runs,
                                                    .values = w->values[side][n],
                                                    .runs = w->runs};
        }
    }
}

static bool is_called(const struct tc_pair *p)
{
    return p->verdict == TC_PAIR_BETTER || p->verdict == TC_PAIR_WORSE ||
           p->verdict == TC_PAIR_UNSTABLE;
}

struct score {
    size_t tests;
    size_t raw;         /* p of the test at most alpha */
    size_t comparisons; /* with any call */
    size_t found;       /* the first metric was called worse */
    size_t multimodal;
};

static void score_one(struct world *w, size_t runs, struct score *s)
{
    static const struct tc_compare_options options = {.draws = 100}; /* no interval is used */
    struct tc_comparison c = {0};
    struct tc_error err;
    bool any = false;
    for (size_t side = 0; side < TC_SIDES; side++) {
        c.sets[side].series = w->series[side];
        c.sets[side].series_count = SERIES;
        c.groups[side].run_count = runs;
    }
    must(tc_compare_sets(&c, &options, &err), "compare", &err);
    for (size_t n = 0; n < c.pair_count; n++) {
        s->tests++;
        s->raw += c.pairs[n].test.p <= c.alpha ? 1 : 0;
        s->multimodal += c.pairs[n].verdict == TC_PAIR_MULTIMODAL ? 1 : 0;
        any |= is_called(&c.pairs[n]);
    }
    s->comparisons += any ? 1 : 0;
    s->found += c.pairs[0].verdict == TC_PAIR_WORSE ? 1 : 0;
    free(c.pairs);
    free(c.unpaired);
}

static struct score simulate(struct world *w, size_t comparisons, size_t runs, double shift,
                             double spread)
{
    struct score s = {0};
    for (size_t n = 0; n < comparisons; n++) {
        draw(w, runs, shift, spread);
        score_one(w, runs, &s);
    }
    return s;
}

static double percent(size_t part, size_t whole)
{
    return 100 * (double)part / (double)whole;
}

/* Sides that do not differ. */
static void measure_same(struct world *w, size_t comparisons, size_t runs)
{
    struct score same = simulate(w, comparisons, runs, 0, 0);
    double raw = percent(same.raw, same.tests);
    double any = percent(same.comparisons, comparisons);
    double modes = percent(same.multimodal, same.tests);
    printf(as_json ? "{\"bench\":\"compare\",\"comparisons\":%zu,\"series\":%d,\"runs\":%zu,"
                     "\"p_below_alpha_pct\":%.2f,\"any_false_call_pct\":%.2f,"
                     "\"multimodal_pct\":%.2f}\n"
                   : "A/A: %zu comparisons of %d series, %zu runs a side: p up to 0.05 in %.2f %% "
                     "of tests; any false call after correction in %.2f %% of comparisons; "
                     "%.2f %% called multimodal\n",
           comparisons, SERIES, runs, raw, any, modes);
    (void)fflush(stdout);
    if (runs >= 10 && (raw < 2 || raw > 5.5)) {
        breach("p up to 0.05 where nothing differs", raw, 5.5, "% of tests");
    }
    if (any > 5.5) {
        breach("comparisons with a false call", any, 5.5, "%");
    }
}

static void measure_power(size_t comparisons)
{
    static const size_t sizes[] = {4, 5, 6, 8, 10, 15, 20};
    static const double spreads[] = {0.01, 0.02, 0.05};
    static struct world w;
    for (size_t n = 0; n < RUNS_MAX; n++) {
        w.runs[n] = (uint32_t)n;
    }
    for (size_t n = 0; n < POINTS; n++) {
        w.points[n] = (struct tc_point){
            .text = TC_LIT("p"), .concurrency = (double)(n + 1), .request_rate = (double)NAN};
    }
    measure_same(&w, comparisons, 10);
    measure_same(&w, comparisons, 5);
    measure_same(&w, comparisons, 4);
    for (size_t n = 0; n < TC_COUNT(sizes); n++) {
        for (size_t k = 0; k < TC_COUNT(spreads); k++) {
            struct score s = simulate(&w, comparisons / 4, sizes[n], 0.05, spreads[k]);
            printf(as_json ? "{\"bench\":\"compare\",\"runs\":%zu,\"spread_pct\":%.0f,"
                             "\"shift_pct\":5,\"found_pct\":%.1f}\n"
                           : "5 %% worse in one of the metrics: %2zu runs a side, spread %.0f %%: "
                             "found in %.1f %%\n",
                   sizes[n], 100 * spreads[k], percent(s.found, comparisons / 4));
            (void)fflush(stdout);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"runs", required_argument, NULL, 'r'},
                                            {"comparisons", required_argument, NULL, 'r'},
                                            {"dir", required_argument, NULL, 'd'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"power", no_argument, NULL, 'p'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    char dir[400] = "/tmp/tc_bench_XXXXXX";
    uint64_t count = 0;
    bool power = false;
    int option = 0;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'r' && tc_slice_is_u64(tc_slice_cstr(optarg), &count) && count >= 8) {
            continue;
        }
        if (option == 'd') {
            (void)snprintf(dir, sizeof dir, "%s/tc_bench_XXXXXX", optarg);
        } else if (option == 'j') {
            as_json = true;
        } else if (option == 'p') {
            power = true;
        } else {
            (void)fprintf(option == 'h' ? stdout : stderr,
                          "usage: %s [--runs N] [--dir DIR] [--json]\n"
                          "       %s --power [--comparisons N] [--json]\n",
                          argv[0], argv[0]);
            return option == 'h' ? 0 : 2;
        }
    }
    if (power) {
        measure_power(count > 0 ? count : COMPARISONS_DEFAULT);
    } else {
        measure_speed(dir, count > 0 ? count : RUNS_DEFAULT);
    }
    return status;
}
