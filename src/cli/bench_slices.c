/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sample costs the slicer: of 8,192 series (1,024 GPUs with eight metrics each) that were
 * seen before, with labels as Prometheus writes them (one text), as OTLP has them (one by one), and
 * as an event of the daemon; and what giving the window out costs for each sample in it.
 */
#include "base/buf.h"
#include "base/time.h"
#include "cli/alloc_count.h"
#include "cli/bench.h"
#include "cli/bench_measure.h"
#include "cli/say.h"
#include "event/event.h"
#include "telemetry/slices.h"

#include <stdio.h>
#include <stdlib.h>

#define SERIES 8192
#define GPUS 1024
#define METRICS (SERIES / GPUS)
#define LABELS 6
#define TEXT_BYTES 512
/* Four scrapes a window, as every 15 s. */
#define SCRAPES 4
#define WINDOWS 64
#define T0 (INT64_C(1762000020) * TC_SECOND)
#define SCRAPE_NS (15 * TC_SECOND)

struct series {
    struct tc_sample text;   /* by its text */
    struct tc_sample labels; /* by its labels */
    struct tc_event event;
    struct tc_sample_label pairs[LABELS];
    char bytes[TEXT_BYTES];
};

enum how { BY_TEXT, BY_LABELS, BY_EVENT, HOW_COUNT };

struct bench_run {
    struct tc_slices *slices;
    struct series *series;
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
    tc_buf_str(b, tc_slice_cstr(key));
    tc_buf_lit(b, "=\"");
    size_t at = b->len;
    tc_buf_str(b, tc_slice_cstr(value));
    tc_buf_u64(b, number);
    *out = (struct tc_sample_label){tc_slice_cstr(key), tc_buf_since(b, at)};
    tc_buf_lit(b, "\",");
}

static void fill_series(struct series *s, unsigned n)
{
    unsigned gpu = n / METRICS;
    struct tc_buf b = tc_buf_make(s->bytes, sizeof s->bytes);
    struct tc_slice name = tc_slice_cstr(METRIC_OF[n % METRICS].name);
    tc_buf_str(&b, name);
    tc_buf_char(&b, '{');
    put_label(&b, &s->pairs[0], "gpu", "", gpu % 8);
    put_label(&b, &s->pairs[1], "UUID", "GPU-2f0a11c4-2b5d-6b20-f903-55834143", gpu);
    put_label(&b, &s->pairs[2], "device", "nvidia", gpu % 8);
    put_label(&b, &s->pairs[3], "modelName", "NVIDIA H100 80GB HBM", 3);
    put_label(&b, &s->pairs[4], "Hostname", "gpu-node-", gpu / 8);
    put_label(&b, &s->pairs[5], "pod", "trainer-", gpu / 8);
    tc_buf_char(&b, '}');
    s->text = (struct tc_sample){.name = name,
                                 .identity = tc_buf_slice(&b),
                                 .type = TC_SAMPLE_GAUGE,
                                 .start_ns = TC_TIME_NONE,
                                 .value = gpu,
                                 .labels = s->pairs,
                                 .label_count = LABELS};
    s->labels = s->text;
    s->labels.identity = TC_EMPTY;
    tc_event_init(&s->event, TC_EVENT_METRIC);
    s->event.scope.node = s->pairs[4].value;
    s->event.scope.gpu_uuid = s->pairs[1].value;
    s->event.scope.pod = s->pairs[5].value;
    s->event.scope.gpu_index = (int32_t)(gpu % 8);
    s->event.metric.metric = (uint16_t)METRIC_OF[n % METRICS].metric;
    s->event.metric.value = gpu;
}

static void add_scrape(struct bench_run *run, enum how how)
{
    static const struct tc_series_scope known = {.rank = -1};
    for (size_t i = 0; i < SERIES; i++) {
        struct series *s = &run->series[i];
        switch (how) {
        case BY_TEXT:
            tc_slices_add(run->slices, &s->text, run->now_ns, &known);
            break;
        case BY_LABELS:
            tc_slices_add(run->slices, &s->labels, run->now_ns, &known);
            break;
        case BY_EVENT:
            s->event.time_ns = run->now_ns;
            tc_slices_add_event(run->slices, &s->event, &known);
            break;
        case HOW_COUNT:
            break;
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

/* Windows of one kind; the best window counts: whatever else the machine does only adds. */
static bool measure(struct bench_run *run, enum how how, struct tc_bench_sample *out_add,
                    struct tc_bench_sample *out_flush)
{
    struct tc_bench_meter meter;
    bool ok = true;
    tc_bench_meter_init(&meter);
    for (int window = 0; ok && window < WINDOWS; window++) {
        struct tc_bench_sample *const outs[] = {out_add, out_flush};
        for (int part = 0; ok && part < 2; part++) {
            meter.sum = (struct tc_bench_sample){0};
            tc_bench_meter_start(&meter);
            for (int i = 0; part == 0 && i < SCRAPES; i++) {
                add_scrape(run, how);
            }
            if (part == 1) {
                ok = tc_slices_flush(run->slices, run->now_ns, take, run, NULL) == TC_OK;
            }
            tc_bench_meter_stop(&meter);
            /* The first window meets its series for the first time. */
            if (window == 1 || (window > 1 && meter.sum.ns < outs[part]->ns)) {
                uint64_t allocs = window == 1 ? 0 : outs[part]->allocs;
                meter.sum.allocs += allocs;
                *outs[part] = meter.sum;
            } else if (window > 1) {
                outs[part]->allocs += meter.sum.allocs;
            }
        }
    }
    tc_bench_meter_fini(&meter);
    return ok;
}

static int print_part(char *text, size_t room, const char *name, const struct tc_bench_sample *s)
{
    const double samples = (double)SERIES * SCRAPES;
    int len =
        snprintf(text, room, ",\"%s\":{\"ns_per_sample\":%.1f", name, (double)s->ns / samples);
    if (tc_alloc_count_available()) {
        len += snprintf(text + len, room - (size_t)len, ",\"allocs_per_sample\":%.4g",
                        (double)s->allocs / (samples * (WINDOWS - 1)));
    }
    if (s->instructions > 0) {
        len += snprintf(text + len, room - (size_t)len, ",\"instructions_per_sample\":%.1f",
                        (double)s->instructions / samples);
    }
    return len + snprintf(text + len, room - (size_t)len, "}");
}

bool tc_bench_slices(const struct tc_bench *b, const struct tc_bench_options *o,
                     struct tc_output *out)
{
    (void)o;
    static const char *const names[HOW_COUNT] = {"text", "labels", "event"};
    struct tc_slices_config config = TC_SLICES_CONFIG_DEFAULT;
    struct tc_bench_sample add[HOW_COUNT];
    struct tc_bench_sample flush[HOW_COUNT];
    struct bench_run run = {.series = calloc(SERIES, sizeof *run.series), .now_ns = T0};
    bool ok = run.series != NULL && tc_slices_create(&config, &run.slices, NULL) == TC_OK;
    for (unsigned i = 0; ok && i < SERIES; i++) {
        fill_series(&run.series[i], i);
    }
    for (unsigned how = 0; ok && how < HOW_COUNT; how++) {
        ok = measure(&run, (enum how)how, &add[how], &flush[how]);
    }
    if (!ok) {
        tc_say("bench", "%s: no memory", b->name);
    } else {
        char text[1024];
        int len = snprintf(text, sizeof text, "{\"bench\":\"%s\",\"series\":%d,\"rows\":%llu",
                           b->name, SERIES, (unsigned long long)run.rows);
        for (unsigned how = 0; how < HOW_COUNT; how++) {
            len += print_part(text + len, sizeof text - (size_t)len, names[how], &add[how]);
        }
        len += print_part(text + len, sizeof text - (size_t)len, "flush", &flush[BY_TEXT]);
        len += snprintf(text + len, sizeof text - (size_t)len, "}\n");
        ok = tc_output_put(out, tc_slice_make(text, (size_t)len));
    }
    tc_slices_destroy(run.slices);
    free(run.series);
    return ok;
}
