/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks measure with: time, heap allocations, instructions.
 */
#ifndef TC_BENCH_MEASURE_H
#define TC_BENCH_MEASURE_H

#include <stdint.h>

struct tc_bench_sample {
    uint64_t ns;
    uint64_t allocs;
    uint64_t alloc_bytes;
    uint64_t instructions; /* user mode; 0 where the machine does not count them */
};

struct tc_bench_meter {
    int perf_fd; /* -1: no instruction counter */
    struct tc_bench_sample start;
    struct tc_bench_sample sum;
};

void tc_bench_meter_init(struct tc_bench_meter *m);
void tc_bench_meter_fini(struct tc_bench_meter *m);
/* What lies between start and stop is added to m->sum. */
void tc_bench_meter_start(struct tc_bench_meter *m);
void tc_bench_meter_stop(struct tc_bench_meter *m);

/* Under callgrind with --instr-atstart=no, instructions are counted between these, and all else
 * runs four times as fast. Without callgrind, or built without its header, nothing happens. */
void tc_bench_count_on(void);
void tc_bench_count_off(void);

#endif
