/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sample costs the slicer: of 8,192 series (1,024 GPUs with eight metrics each) that were
 * seen before, with labels as Prometheus writes them (one text), as OTLP has them (one by one), and
 * as an event of the daemon; and what giving the window out costs for each sample in it.
 */
#include "telemetry/slices.h"
#include "base/buf.h"
#include "base/format.h"
#include "base/time.h"
#include "bench/alloc_count.h"
#include "bench/bench.h"
#include "bench/measure.h"
#include "cli/output/say.h"
#include "event/event.h"

#include <stdio.h>
#include <stdlib.h>

#define SERIES 8192
#define GPUS 1024
#define METRICS (SERIES / GPUS)
#define LABELS 6
#define TEXT_BYTES 512
/* Four scrapes per window, as every 15 s. */
#define SCRAPES 4
#define WINDOWS 64
#define T0 (INT64_C(1762000020) * TC_SECOND)
#define SCRAPE_NS (15 * TC_SECOND)

enum how { BY_TEXT, BY_LABELS, BY_EVENT, HOW_COUNT };

struct bench_run {
    struct tc_slices *slices;
    struct tc_sample *samples;
    struct tc_sample_label *labels; /* LABELS for each series */
    struct tc_event *events;
    char *bytes;
    int64_t now_ns;
    uint64_t rows;
};

static const struct {
    const char *name;
    enum tc_metric metric;
} METRIC_OF[METRICS] = {
    {"DCGM_FI_DEV_GPU_TEMP", TC_METRIC_GPU_TEMP},
    {"DCGM_FI_DEV_POWER_USAGE", TC_METRIC_GPU_POWER},
    {"DCGM_FI_DEV_GPU_UTIL", TC_METRIC_GPU_UTIL},
    {"DCGM_FI_DEV_SM_CLOCK", TC_METRIC_GPU_SM_CLOCK},
    {"DCGM_FI_DEV_MEMORY_TEMP", TC_METRIC_GPU_MEM_TEMP},
    {"DCGM_FI_DEV_XID_ERRORS", TC_METRIC_GPU_XID_LAST},
    {"DCGM_FI_DEV_PCIE_REPLAY_COUNTER", TC_METRIC_GPU_PCIE_REPLAYS},
    {"DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", TC_METRIC_NVLINK_BANDWIDTH},
};

/* A label of the text that is being written: its value lies there. */
static void put_label(struct tc_buf *b, struct tc_sample_label *out, const char *key,
                      const char *value, unsigned number)
{
    (void)tc_format(b, "{}=\"", key);
    size_t at = b->len;
    (void)tc_format(b, "{}{}", value, number);
    *out = (struct tc_sample_label){tc_slice_cstr(key), tc_buf_since(b, at)};
    tc_buf_lit(b, "\",");
}

static void fill_series(struct bench_run *run, unsigned n, struct tc_buf *b)
{
    unsigned gpu = n / METRICS;
    struct tc_sample_label *labels = &run->labels[(size_t)n * LABELS];
    struct tc_slice name = tc_slice_cstr(METRIC_OF[n % METRICS].name);
    size_t start = b->len;
    tc_buf_str(b, name);
    tc_buf_char(b, '{');
    put_label(b, &labels[0], "gpu", "", gpu % 8);
    put_label(b, &labels[1], "UUID", "GPU-2f0a11c4-2b5d-6b20-f903-55834143", gpu);
    put_label(b, &labels[2], "device", "nvidia", gpu % 8);
    put_label(b, &labels[3], "modelName", "NVIDIA H100 80GB HBM", 3);
    put_label(b, &labels[4], "Hostname", "gpu-node-", gpu / 8);
    put_label(b, &labels[5], "pod", "trainer-", gpu / 8);
    tc_buf_char(b, '}');
    run->samples[n] = (struct tc_sample){.name = name,
                                         .identity = tc_buf_since(b, start),
                                         .type = TC_SAMPLE_GAUGE,
                                         .start_ns = TC_TIME_NONE,
                                         .value = gpu,
                                         .labels = labels,
                                         .label_count = LABELS};
    struct tc_event *ev = &run->events[n];
    tc_event_init(ev, TC_EVENT_METRIC);
    ev->scope.node = labels[4].value;
    ev->scope.gpu_uuid = labels[1].value;
    ev->scope.pod = labels[5].value;
    ev->scope.gpu_index = (int32_t)(gpu % 8);
    ev->metric.metric = (uint16_t)METRIC_OF[n % METRICS].metric;
    ev->metric.value = gpu;
}

static void add_scrape(struct bench_run *run, enum how how)
{
    static const struct tc_series_scope known = {.rank = -1};
    for (size_t i = 0; i < SERIES; i++) {
        if (how == BY_EVENT) {
            run->events[i].time_ns = run->now_ns;
            tc_slices_add_event(run->slices, &run->events[i], &known);
        } else {
            tc_slices_add(run->slices, &run->samples[i], run->now_ns, &known);
        }
    }
    run->now_ns += SCRAPE_NS;
}

static tc_status take(void *context, const struct tc_rows *rows)
{
    struct bench_run *run = context;
    run->rows += rows->count;
    return TC_OK;
}

/* The best counts: whatever else the machine does only adds. Allocations of all are added. */
static void keep_best(struct tc_bench_sample *io, const struct tc_bench_sample *now)
{
    uint64_t allocs = io->allocs + now->allocs;
    if (io->ns == 0 || now->ns < io->ns) {
        *io = *now;
    }
    io->allocs = allocs;
}

static bool measure(struct bench_run *run, enum how how, struct tc_bench_sample *out_add,
                    struct tc_bench_sample *out_flush)
{
    struct tc_bench_meter meter;
    bool ok = true;
    *out_add = (struct tc_bench_sample){0};
    *out_flush = (struct tc_bench_sample){0};
    tc_bench_meter_init(&meter);
    for (int window = 0; ok && window < WINDOWS; window++) {
        for (int i = 0; i < SCRAPES; i++) {
            meter.sum = (struct tc_bench_sample){0};
            tc_bench_meter_start(&meter);
            add_scrape(run, how);
            tc_bench_meter_stop(&meter);
            if (window > 0) { /* the first meets its series for the first time */
                keep_best(out_add, &meter.sum);
            }
        }
        meter.sum = (struct tc_bench_sample){0};
        tc_bench_meter_start(&meter);
        ok = tc_slices_flush(run->slices, run->now_ns, take, run, NULL) == TC_OK;
        tc_bench_meter_stop(&meter);
        if (window > 0) {
            keep_best(out_flush, &meter.sum);
        }
    }
    tc_bench_meter_fini(&meter);
    return ok;
}

/* samples: of the best one, and of all that allocations were counted of. */
static int print_part(char *text, size_t room, const char *name, const struct tc_bench_sample *s,
                      double samples, double all)
{
    int len =
        snprintf(text, room, ",\"%s\":{\"ns_per_sample\":%.1f", name, (double)s->ns / samples);
    if (tc_alloc_count_available()) {
        len += snprintf(text + len, room - (size_t)len, ",\"allocs_per_sample\":%.4g",
                        (double)s->allocs / all);
    }
    if (s->instructions > 0) {
        len += snprintf(text + len, room - (size_t)len, ",\"instructions_per_sample\":%.1f",
                        (double)s->instructions / samples);
    }
    return len + snprintf(text + len, room - (size_t)len, "}");
}

static bool open_run(struct bench_run *run)
{
    struct tc_slices_config config = TC_SLICES_CONFIG_DEFAULT;
    *run = (struct bench_run){.samples = calloc(SERIES, sizeof *run->samples),
                              .labels = calloc((size_t)SERIES * LABELS, sizeof *run->labels),
                              .events = calloc(SERIES, sizeof *run->events),
                              .bytes = malloc((size_t)SERIES * TEXT_BYTES),
                              .now_ns = T0};
    if (run->samples == NULL || run->labels == NULL || run->events == NULL || run->bytes == NULL ||
        tc_slices_create(&config, &run->slices, NULL) != TC_OK) {
        return false;
    }
    struct tc_buf b = tc_buf_make(run->bytes, (size_t)SERIES * TEXT_BYTES);
    for (unsigned i = 0; i < SERIES; i++) {
        fill_series(run, i, &b);
    }
    return !b.overflowed;
}

static bool print(const char *name, const struct bench_run *run, const struct tc_bench_sample *add,
                  const struct tc_bench_sample *flush, struct tc_output *out)
{
    static const char *const names[HOW_COUNT] = {"text", "labels", "event"};
    const double all = (double)SERIES * SCRAPES * (WINDOWS - 1);
    char text[1024];
    int len = snprintf(text, sizeof text, "{\"bench\":\"%s\",\"series\":%d,\"rows\":%llu", name,
                       SERIES, (unsigned long long)run->rows);
    for (unsigned how = 0; how < HOW_COUNT; how++) {
        len += print_part(text + len, sizeof text - (size_t)len, names[how], &add[how],
                          (double)SERIES, all);
    }
    len += print_part(text + len, sizeof text - (size_t)len, "flush", flush,
                      (double)SERIES * SCRAPES, all);
    len += snprintf(text + len, sizeof text - (size_t)len, "}\n");
    return tc_output_put(out, tc_slice_make(text, (size_t)len));
}

bool tc_bench_slices(const struct tc_bench *b, const struct tc_bench_options *o,
                     struct tc_output *out)
{
    (void)o;
    struct tc_bench_sample add[HOW_COUNT];
    struct tc_bench_sample flush[HOW_COUNT];
    struct bench_run run;
    bool ok = open_run(&run);
    for (unsigned how = 0; ok && how < HOW_COUNT; how++) {
        for (size_t i = 0; how == BY_LABELS && i < SERIES; i++) {
            run.samples[i].identity = TC_EMPTY;
        }
        ok = measure(&run, (enum how)how, &add[how], &flush[how]);
    }
    if (!ok) {
        tc_say("tracecore-bench", "%s: no memory", b->name);
    }
    ok = ok && print(b->name, &run, add, &flush[BY_TEXT], out);
    tc_slices_destroy(run.slices);
    free(run.bytes);
    free(run.events);
    free(run.labels);
    free(run.samples);
    return ok;
}
