/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmarks of tracecore-bench. Each prints one JSON object per line.
 */
#ifndef TC_BENCH_BENCH_H
#define TC_BENCH_BENCH_H

#include "bench/fixture.h"
#include "cli/output/output.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_bench_options {
    uint64_t windows;  /* of the detector benchmarks */
    bool no_json;      /* detector benchmarks stop at the verdict with all its strings */
    bool no_incidents; /* they stop at the finding with all its strings */
};

struct tc_bench {
    const char *name;
    const char *summary;
    /* False when it could not measure; it has said why. */
    bool (*run)(const struct tc_bench *b, const struct tc_bench_options *o, struct tc_output *out);
    const struct tc_bench_pattern *pattern; /* detector benchmarks only */
};

/* Events of a detector, from decoded events to rendered verdicts in memory. */
bool tc_bench_detector(const struct tc_bench *b, const struct tc_bench_options *o,
                       struct tc_output *out);
/* Time per event from a thousand to ten million events, and over window lengths. */
bool tc_bench_scale(const struct tc_bench *b, const struct tc_bench_options *o,
                    struct tc_output *out);
/* A request of log records, in protobuf or JSON: checked, made into events, detected on. */
bool tc_bench_otlp(const struct tc_bench *b, const struct tc_bench_options *o,
                   struct tc_output *out);
/* Samples into slices: what one costs, and what giving out a window costs for each. */
bool tc_bench_slices(const struct tc_bench *b, const struct tc_bench_options *o,
                     struct tc_output *out);
/* Change points of a long history, with few and many steps in it. */
bool tc_bench_changes(const struct tc_bench *b, const struct tc_bench_options *o,
                      struct tc_output *out);
/* `tracecore --version`, start to exit. */
bool tc_bench_startup(const struct tc_bench *b, const struct tc_bench_options *o,
                      struct tc_output *out);
/* The raw store by compression level, beside plain writes. */
bool tc_bench_evidence(const struct tc_bench *b, const struct tc_bench_options *o,
                       struct tc_output *out);

#endif
