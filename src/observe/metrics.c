/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/metrics.h"

#include "base/assert.h"
#include "base/format.h"
#include "base/time.h"
#include "detect/detector.h"
#include "observe/metrics_priv.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct row {
    const char *name;
    const char *labels;
    const char *help;
    bool is_gauge;
};

static const struct row ROWS[TC_COUNTER_COUNT] = {
#define COUNTER(id, row_name, row_labels, row_help) \
    [TC_COUNT_##id] = {.name = (row_name), .labels = (row_labels), .help = (row_help)},
#define GAUGE(id, row_name, row_labels, row_help) \
    [TC_COUNT_##                                  \
        id] = {.name = (row_name), .labels = (row_labels), .help = (row_help), .is_gauge = true},
#include "observe/metrics.def"
#undef COUNTER
#undef GAUGE
};

static const struct row PATTERN_ROWS[TC_PATTERN_METRIC_COUNT] = {
#define PATTERN_COUNTER(id, row_name, row_help) \
    [TC_PATTERN_##id] = {.name = (row_name), .help = (row_help)},
#define PATTERN_GAUGE(id, row_name, row_help) \
    [TC_PATTERN_##id] = {.name = (row_name), .help = (row_help), .is_gauge = true},
#include "observe/metrics_patterns.def"
#undef PATTERN_COUNTER
#undef PATTERN_GAUGE
};

static const struct row HISTOGRAM_ROWS[TC_HISTOGRAM_COUNT] = {
#define HISTOGRAM(id, row_name, row_labels, row_help) \
    [TC_HIST_##id] = {.name = (row_name), .labels = (row_labels), .help = (row_help)},
#include "observe/metrics_histograms.def"
#undef HISTOGRAM
};

/* What Prometheus clients commonly use; 50 ms is the promise about detection. */
static const struct {
    int64_t ns;
    const char *le;
} BUCKETS[] = {
    {500000, "0.0005"},   {1000000, "0.001"},     {2500000, "0.0025"}, {5000000, "0.005"},
    {10000000, "0.01"},   {25000000, "0.025"},    {50000000, "0.05"},  {100000000, "0.1"},
    {250000000, "0.25"},  {500000000, "0.5"},     {TC_SECOND, "1"},    {TC_SECOND * 5 / 2, "2.5"},
    {TC_SECOND * 5, "5"}, {TC_SECOND * 10, "10"},
};
#define BUCKET_COUNT TC_COUNT(BUCKETS)

static struct {
    atomic_uint_fast64_t values[TC_COUNTER_COUNT];
    atomic_uint_fast64_t patterns[TC__PATTERNS_MAX][TC_PATTERN_METRIC_COUNT];
    struct {
        atomic_uint_fast64_t buckets[BUCKET_COUNT + 1]; /* the last: longer than all of them */
        atomic_uint_fast64_t sum_ns;
    } histograms[TC_HISTOGRAM_COUNT];
    void (*_Atomic refresh)(void);
    struct {
        void (*_Atomic write)(void *context, struct tc_buf *b);
        void *_Atomic context;
    } more[TC_METRICS_PARTS];
} metrics;

void tc_count(enum tc_counter c, uint64_t by)
{
    TC_ASSERT(c < TC_COUNTER_COUNT);
    atomic_fetch_add_explicit(&metrics.values[c], by, memory_order_relaxed);
}

void tc_counter_set(enum tc_counter c, uint64_t value)
{
    TC_ASSERT(c < TC_COUNTER_COUNT);
    atomic_store_explicit(&metrics.values[c], value, memory_order_relaxed);
}

void tc_gauge(enum tc_counter c, int64_t value)
{
    tc_counter_set(c, (uint64_t)value);
}

uint64_t tc_counter_value(enum tc_counter c)
{
    TC_ASSERT(c < TC_COUNTER_COUNT);
    return atomic_load_explicit(&metrics.values[c], memory_order_relaxed);
}

void tc_pattern_count(size_t detector, enum tc_pattern_metric m, uint64_t by)
{
    TC_ASSERT(m < TC_PATTERN_METRIC_COUNT);
    if (detector < TC__PATTERNS_MAX) {
        atomic_fetch_add_explicit(&metrics.patterns[detector][m], by, memory_order_relaxed);
    }
}

void tc_pattern_set(size_t detector, enum tc_pattern_metric m, uint64_t value)
{
    TC_ASSERT(m < TC_PATTERN_METRIC_COUNT);
    if (detector < TC__PATTERNS_MAX) {
        atomic_store_explicit(&metrics.patterns[detector][m], value, memory_order_relaxed);
    }
}

uint64_t tc_pattern_value(size_t detector, enum tc_pattern_metric m)
{
    TC_ASSERT(m < TC_PATTERN_METRIC_COUNT);
    return detector < TC__PATTERNS_MAX
               ? atomic_load_explicit(&metrics.patterns[detector][m], memory_order_relaxed)
               : 0;
}

size_t tc_pattern_index(struct tc_slice name)
{
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    for (size_t i = 0; i < count; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(all[i]->name))) {
            return i;
        }
    }
    return SIZE_MAX;
}

void tc_metrics_source(void (*refresh)(void))
{
    atomic_store(&metrics.refresh, refresh);
}

void tc_metrics_more(enum tc_metrics_part part, void (*write)(void *context, struct tc_buf *b),
                     void *context)
{
    TC_ASSERT(part < TC_METRICS_PARTS);
    atomic_store(&metrics.more[part].context, context);
    atomic_store(&metrics.more[part].write, write);
}

void tc_observe(enum tc_histogram h, int64_t ns)
{
    TC_ASSERT(h < TC_HISTOGRAM_COUNT);
    size_t at = 0;
    ns = ns < 0 ? 0 : ns;
    while (at < BUCKET_COUNT && ns > BUCKETS[at].ns) {
        at++;
    }
    atomic_fetch_add_explicit(&metrics.histograms[h].buckets[at], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&metrics.histograms[h].sum_ns, (uint64_t)ns, memory_order_relaxed);
}

void tc__metrics_head(struct tc_buf *b, const char *name, const char *type, const char *help)
{
    (void)tc_format(b, "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void tc__metrics_seconds(struct tc_buf *b, uint64_t ns)
{
    char text[48];
    (void)snprintf(text, sizeof text, "%" PRIu64 ".%09" PRIu64, ns / (uint64_t)TC_SECOND,
                   ns % (uint64_t)TC_SECOND);
    tc_buf_str(b, tc_slice_cstr(text));
}

void tc__metrics_series(struct tc_buf *b, const char *name, const char *suffix, const char *labels,
                        const char *key, const char *value)
{
    (void)tc_format(b, "{}{}", name, suffix);
    bool has_labels = labels != NULL && labels[0] != '\0';
    if (has_labels || key != NULL) {
        tc_buf_char(b, '{');
        tc_buf_str(b, has_labels ? tc_slice_cstr(labels) : TC_EMPTY);
        if (key != NULL) {
            (void)tc_format(b, "{}{}=\"{}\"", has_labels ? "," : "", key, value);
        }
        tc_buf_char(b, '}');
    }
    tc_buf_char(b, ' ');
}

static void put_value(struct tc_buf *b, bool is_gauge, uint64_t value)
{
    if (is_gauge) {
        tc_buf_i64(b, (int64_t)value);
    } else {
        tc_buf_u64(b, value);
    }
    tc_buf_char(b, '\n');
}

static bool is_first_of_name(size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (strcmp(ROWS[i].name, ROWS[at].name) == 0) {
            return false;
        }
    }
    return true;
}

/* All rows of a name behind its first, since the format wants them together. */
static void put_name(struct tc_buf *b, size_t first)
{
    const struct row *head = &ROWS[first];
    tc__metrics_head(b, head->name, head->is_gauge ? "gauge" : "counter", head->help);
    for (size_t i = first; i < TC_COUNTER_COUNT; i++) {
        if (strcmp(ROWS[i].name, head->name) == 0) {
            tc__metrics_series(b, ROWS[i].name, "", ROWS[i].labels, NULL, NULL);
            put_value(b, ROWS[i].is_gauge, tc_counter_value((enum tc_counter)i));
        }
    }
}

static void put_patterns(struct tc_buf *b)
{
    size_t count = 0;
    const struct tc_detector *const *all = tc_detectors(&count);
    TC_ASSERT(count <= TC__PATTERNS_MAX);
    for (size_t m = 0; m < TC_PATTERN_METRIC_COUNT; m++) {
        const struct row *row = &PATTERN_ROWS[m];
        tc__metrics_head(b, row->name, row->is_gauge ? "gauge" : "counter", row->help);
        for (size_t i = 0; i < count; i++) {
            tc__metrics_series(b, row->name, "", NULL, "pattern", all[i]->name);
            put_value(b, row->is_gauge, tc_pattern_value(i, (enum tc_pattern_metric)m));
        }
    }
}

/* The count is the sum of the buckets, so that the lines agree while others observe. */
static void put_histogram(struct tc_buf *b, enum tc_histogram h)
{
    const struct row *row = &HISTOGRAM_ROWS[h];
    uint64_t count = 0;
    tc__metrics_head(b, row->name, "histogram", row->help);
    for (size_t i = 0; i <= BUCKET_COUNT; i++) {
        count += atomic_load_explicit(&metrics.histograms[h].buckets[i], memory_order_relaxed);
        tc__metrics_series(b, row->name, "_bucket", row->labels, "le",
                           i < BUCKET_COUNT ? BUCKETS[i].le : "+Inf");
        put_value(b, false, count);
    }
    tc__metrics_series(b, row->name, "_sum", row->labels, NULL, NULL);
    tc__metrics_seconds(b,
                        atomic_load_explicit(&metrics.histograms[h].sum_ns, memory_order_relaxed));
    tc_buf_char(b, '\n');
    tc__metrics_series(b, row->name, "_count", row->labels, NULL, NULL);
    put_value(b, false, count);
}

void tc_metrics_render(struct tc_buf *b)
{
    void (*refresh)(void) = atomic_load(&metrics.refresh);
    if (refresh != NULL) {
        refresh();
    }
    tc_gauge(TC_COUNT_BUILD_INFO, 1);
    for (size_t i = 0; i < TC_COUNTER_COUNT; i++) {
        if (is_first_of_name(i)) {
            put_name(b, i);
        }
    }
    put_patterns(b);
    tc__metrics_verdicts(b);
    tc__metrics_alerts(b);
    for (size_t h = 0; h < TC_HISTOGRAM_COUNT; h++) {
        put_histogram(b, (enum tc_histogram)h);
    }
    tc__metrics_process(b);
    for (size_t part = 0; part < TC_METRICS_PARTS; part++) {
        void (*write)(void *context, struct tc_buf *b) = atomic_load(&metrics.more[part].write);
        if (write != NULL) {
            write(atomic_load(&metrics.more[part].context), b);
        }
    }
}
