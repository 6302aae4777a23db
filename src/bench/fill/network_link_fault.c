/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

/*
 * 128 ports of 32 nodes: three lines of link down and three of link up each, and
 * two samples of error counters. Half of the ports go down often enough for a verdict; none stays
 * down for the minute that would make another.
 */
void tc_bench_fill_network_link_fault(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    struct tc_slice nodes[32];
    for (unsigned i = 0; i < 32; i++) {
        nodes[i] = tc_bench_stamped(f, &b, "gpu-node-", i);
    }
    struct tc_slice devices[4];
    for (unsigned i = 0; i < 4; i++) {
        devices[i] = tc_bench_name(&b, "ens1f0np", i);
    }
    for (unsigned i = 0; i < TC_BENCH_WINDOW; i++) {
        unsigned round = i / 128;
        unsigned port = i % 128;
        int64_t time_ns = TC_BENCH_START_NS + (int64_t)round * 55 * TC_SECOND +
                          (int64_t)(port / 32) * 12 * TC_SECOND +
                          (int64_t)(port % 32) * TC_SECOND / 100;
        bool flaps = port % 2 == 0;
        bool line = round < 6 && (flaps || round < 2);
        struct tc_event *ev =
            tc_bench_put(f, i, line ? TC_EVENT_NETWORK_FAULT : TC_EVENT_METRIC, time_ns);
        ev->scope.node = nodes[port % 32];
        if (line) {
            ev->fault.fault = round % 2 == 0 ? TC_LIT("link_down") : TC_LIT("link_up");
            ev->fault.device = devices[port / 32];
        } else {
            ev->metric.metric = TC_METRIC_NET_RX_ERRORS;
            ev->metric.device = devices[port / 32];
        }
    }
    f->verdicts = 128; /* each begins, and ends when the link has been quiet */
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = 900 * TC_SECOND;
}
