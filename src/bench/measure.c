/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/measure.h"

#include "base/clock.h"
#include "bench/alloc_count.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

void tc_bench_meter_init(struct tc_bench_meter *m)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    memset(m, 0, sizeof *m);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = PERF_COUNT_HW_INSTRUCTIONS;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    m->perf_fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

void tc_bench_meter_fini(struct tc_bench_meter *m)
{
    if (m->perf_fd >= 0) {
        (void)close(m->perf_fd);
    }
    m->perf_fd = -1;
}

static struct tc_bench_sample now(const struct tc_bench_meter *m)
{
    struct tc_bench_sample s = {0};
    struct tc_alloc_count heap = tc_alloc_count_now();
    if (m->perf_fd >= 0 &&
        read(m->perf_fd, &s.instructions, sizeof s.instructions) != sizeof s.instructions) {
        s.instructions = 0;
    }
    s.ns = (uint64_t)tc_mono_ns();
    s.allocs = heap.calls;
    s.alloc_bytes = heap.bytes;
    return s;
}

void tc_bench_meter_start(struct tc_bench_meter *m)
{
    m->start = now(m);
}

void tc_bench_meter_stop(struct tc_bench_meter *m)
{
    struct tc_bench_sample end = now(m);
    m->sum.ns += end.ns - m->start.ns;
    m->sum.allocs += end.allocs - m->start.allocs;
    m->sum.alloc_bytes += end.alloc_bytes - m->start.alloc_bytes;
    m->sum.instructions += end.instructions - m->start.instructions;
}

void tc_bench_count_on(void)
{
    CALLGRIND_START_INSTRUMENTATION;
}

void tc_bench_count_off(void)
{
    CALLGRIND_STOP_INSTRUMENTATION;
}
