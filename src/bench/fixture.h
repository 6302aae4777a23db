/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The windows of the detector benchmarks: 1,024 made-up events each, in the
 * shapes of the pattern catalogue. A fixture is built once; moving it to the next
 * window only changes numbers, so the benchmark measures the detector.
 */
#ifndef TC_BENCH_FIXTURE_H
#define TC_BENCH_FIXTURE_H

#include "base/buf.h"
#include "event/event.h"

#include <stddef.h>
#include <stdint.h>

#define TC_BENCH_WINDOW 1024
#define TC_BENCH_START_NS (INT64_C(1780000000) * TC_SECOND)
#define TC_BENCH_TEXT_BYTES ((size_t)256 << 10)

struct tc_bench_fixture {
    struct tc_event events[TC_BENCH_WINDOW];
    char text[TC_BENCH_TEXT_BYTES];    /* the events' strings */
    char *stamps[2 * TC_BENCH_WINDOW]; /* where the number of the window stands in them */
    size_t stamp_count;
    uint64_t window;
    size_t verdicts;    /* expected of each window */
    int64_t span_ns;    /* event time from one window to the next */
    int64_t settle_ns;  /* time to let pass after the last event */
    double metric_step; /* how much every metric grows from one window to the next */
};

struct tc_bench_pattern {
    const char *name; /* of the detector */
    void (*fill)(struct tc_bench_fixture *f);
};

/* One per detector, in detectors.def's order. */
const struct tc_bench_pattern *tc_bench_patterns(size_t *out_count);

/* What makes the window of a pattern: bench_fill_<pattern>.c. The fixture is zeroed. */
#define DETECTOR(pattern) void tc_bench_fill_##pattern(struct tc_bench_fixture *f);
#include "detect/detectors.def"
#undef DETECTOR

/* For the above: an event of the window, ready to be filled in; i < TC_BENCH_WINDOW. */
struct tc_event *tc_bench_put(struct tc_bench_fixture *f, size_t i, enum tc_event_kind kind,
                              int64_t time_ns);
/* Of event i, where there are a hundred per second. */
static inline int64_t tc_bench_dense_ns(unsigned i)
{
    return TC_BENCH_START_NS + i * TC_SECOND / 100;
}
/* Event i: an Xid in the kernel log of a GPU, which is known by its PCI address. */
void tc_bench_kernel_xid(struct tc_bench_fixture *f, struct tc_buf *b, unsigned i, unsigned gpu,
                         int64_t code);
/* "prefix" and a number; b is made over f->text. */
struct tc_slice tc_bench_name(struct tc_buf *b, const char *prefix, unsigned number);
/* The same with the number of the window in front: another thing in each window. */
struct tc_slice tc_bench_stamped(struct tc_bench_fixture *f, struct tc_buf *b, const char *prefix,
                                 unsigned number);

/* Moves the fixture by one window: later, and about other things. */
void tc_bench_next_window(struct tc_bench_fixture *f);

#endif
