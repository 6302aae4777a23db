/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telemetry slices as a fleet of 1,024 GPUs on 128 nodes makes them: 20 metrics, windows of 60 s
 * with 12 samples, four jobs at a time that are followed by four others. Values have the digits
 * that exporters give; percentiles are samples. The same numbers every time.
 */
#ifndef TC_BENCH_WAREHOUSE_FLEET_H
#define TC_BENCH_WAREHOUSE_FLEET_H

#include "warehouse/rows.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLEET_NODES 128
#define FLEET_NODE_GPUS 8
#define FLEET_GPUS (FLEET_NODES * FLEET_NODE_GPUS)
#define FLEET_METRICS 20
#define FLEET_JOBS 4                                      /* at a time */
#define FLEET_SERIES ((size_t)FLEET_GPUS * FLEET_METRICS) /* rows of one window */
#define FLEET_EPOCH 122                                   /* windows of one job */
#define FLEET_SAMPLES 12
#define FLEET_START_US INT64_C(1762000000000000)
#define FLEET_WINDOW_US INT64_C(60000000)

struct fleet_metric {
    const char *name;
    const char *unit;
    double base;
    double spread;
    double digits; /* samples are multiples of 1 / digits */
    int is_rate;   /* a counter: its rise per second, over the seconds between two scrapes */
};

static const struct fleet_metric FLEET[FLEET_METRICS] = {
    {"gpu_temperature", "C", 61, 6, 1, 0},
    {"memory_temperature", "C", 72, 7, 1, 0},
    {"power_usage", "W", 540, 120, 1000, 0},
    {"gpu_utilization", "%", 95, 5, 1, 0},
    {"memory_copy_utilization", "%", 41, 9, 1, 0},
    {"sm_clock", "MHz", 1755, 90, 1, 0},
    {"memory_clock", "MHz", 2619, 0, 1, 0},
    {"fb_used", "MiB", 71234, 40, 1, 0},
    {"fb_free", "MiB", 9876, 40, 1, 0},
    {"sm_active", "ratio", 0.81, 0.1, 1000000, 0},
    {"sm_occupancy", "ratio", 0.34, 0.1, 1000000, 0},
    {"tensor_active", "ratio", 0.42, 0.1, 1000000, 0},
    {"dram_active", "ratio", 0.37, 0.1, 1000000, 0},
    {"pcie_tx_bytes", "B/s", 1.1e9, 3e8, 1, 0},
    {"pcie_rx_bytes", "B/s", 2.3e9, 5e8, 1, 0},
    {"nvlink_tx_bytes", "B/s", 9.1e10, 2e10, 1, 0},
    {"nvlink_rx_bytes", "B/s", 9.2e10, 2e10, 1, 0},
    {"energy_consumption", "J", 540, 60, 1000, 1},
    {"ecc_sbe_volatile", "errors", 0, 0, 1, 1},
    {"xid_errors", "", 0, 0, 1, 0},
};

/* A row before it is one: what a slicer has at hand. */
struct fleet_row {
    int64_t start_us;
    uint32_t gpu; /* in the fleet */
    uint32_t metric;
    uint32_t job;
    double min, max, mean, p50, p95, p99, last;
};

struct fleet {
    uint64_t state;
    size_t next; /* row */
    char nodes[FLEET_NODES][24];
    char gpus[FLEET_GPUS][48];
};

static inline uint64_t fleet_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline void fleet_init(struct fleet *f)
{
    f->state = UINT64_C(0x2545f4914f6cdd1d);
    f->next = 0;
    for (unsigned i = 0; i < FLEET_NODES; i++) {
        (void)snprintf(f->nodes[i], sizeof f->nodes[i], "gpu-h100-r%02u-n%02u", i / 16, i % 16);
    }
    for (unsigned i = 0; i < FLEET_GPUS; i++) {
        uint64_t a = fleet_random(&f->state);
        uint64_t b = fleet_random(&f->state);
        (void)snprintf(f->gpus[i], sizeof f->gpus[i], "GPU-%08x-%04x-%04x-%04x-%012llx",
                       (unsigned)(a >> 32), (unsigned)(a & 0xffff), (unsigned)(a >> 16 & 0xffff),
                       (unsigned)(b & 0xffff), (unsigned long long)(b >> 16));
    }
}

static inline void fleet_run_id(char *out, size_t size, uint32_t job)
{
    uint64_t state = (job + 1) * UINT64_C(0x9e3779b97f4a7c15);
    (void)snprintf(out, size, "run-%016llx", (unsigned long long)fleet_random(&state));
}

static inline int fleet_compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The next row, as exporters are scraped: node by node, metric by metric, GPU by GPU. */
static inline void fleet_next(struct fleet *f, struct fleet_row *out)
{
    size_t window = f->next / FLEET_SERIES;
    size_t series = f->next % FLEET_SERIES;
    size_t node = series / (FLEET_METRICS * FLEET_NODE_GPUS);
    size_t metric = series / FLEET_NODE_GPUS % FLEET_METRICS;
    const struct fleet_metric *m = &FLEET[metric];
    double samples[FLEET_SAMPLES];
    double sum = 0;
    f->next++;
    out->start_us = FLEET_START_US + (int64_t)window * FLEET_WINDOW_US;
    out->gpu = (uint32_t)(node * FLEET_NODE_GPUS + series % FLEET_NODE_GPUS);
    out->metric = (uint32_t)metric;
    out->job = (uint32_t)(window / FLEET_EPOCH * FLEET_JOBS + node / (FLEET_NODES / FLEET_JOBS));
    /* Each GPU has a level of its own; 17 of them are worse than the others in every second epoch.
     */
    double level =
        m->base + m->spread * ((double)(out->gpu * 2654435761U >> 16 & 0xff) / 256 - 0.5);
    if (out->gpu % 61 == 7 && window / FLEET_EPOCH % 2 == 1) {
        level -= m->spread;
    }
    for (int i = 0; i < FLEET_SAMPLES; i++) {
        double noise = (double)(fleet_random(&f->state) >> 40) / (1 << 24) - 0.5;
        double value = m->spread == 0 ? m->base : level + m->spread * 0.3 * noise;
        double whole = (double)(int64_t)(value * m->digits);
        samples[i] = m->is_rate != 0 ? whole / m->digits / 5.0 : whole / m->digits;
        sum += samples[i];
    }
    out->last = samples[FLEET_SAMPLES - 1];
    qsort(samples, FLEET_SAMPLES, sizeof samples[0], fleet_compare);
    out->min = samples[0];
    out->max = samples[FLEET_SAMPLES - 1];
    out->p50 = samples[5];
    out->p95 = samples[11];
    out->p99 = samples[11];
    out->mean = sum / FLEET_SAMPLES;
}

#endif
