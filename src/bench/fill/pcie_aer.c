/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

/* 512 uncorrectable errors of 512 devices among 512 samples of healthy links. */
void tc_bench_fill_pcie_aer(struct tc_bench_fixture *f)
{
    static const struct {
        enum tc_metric metric;
        double value;
    } samples[] = {
        {TC_METRIC_GPU_PCIE_GEN, 5},    {TC_METRIC_GPU_PCIE_GEN_MAX, 5},
        {TC_METRIC_GPU_PCIE_WIDTH, 16}, {TC_METRIC_GPU_PCIE_WIDTH_MAX, 16},
        {TC_METRIC_GPU_UTIL, 97},       {TC_METRIC_GPU_PCIE_REPLAYS, 3},
        {TC_METRIC_GPU_TEMP, 61},       {TC_METRIC_GPU_POWER, 640},
    };
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    for (unsigned i = 0; i < TC_BENCH_WINDOW; i++) {
        int64_t time_ns = TC_BENCH_START_NS + i * (TC_SECOND / 100);
        bool error = i % 2 == 0;
        struct tc_event *ev = tc_bench_put(f, i, error ? TC_EVENT_AER : TC_EVENT_METRIC, time_ns);
        if (error) {
            ev->scope.node = tc_bench_stamped(f, &b, "gpu-node-", i);
            ev->scope.pci = (struct tc_bdf){0, 0xb3, 0, 0, true};
            ev->aer.reporter = (struct tc_bdf){0, 0xb2, 1, 0, true};
            ev->aer.severity = i % 4 == 0 ? TC_LIT("fatal") : TC_LIT("nonfatal");
            ev->aer.layer = TC_LIT("transaction");
            ev->aer.errors = TC_LIT("CmpltTO");
            ev->aer.status = 0x4000;
            ev->aer.mask = 0;
        } else {
            ev->scope.node = tc_bench_name(&b, "gpu-node-", i / 128);
            ev->scope.gpu_uuid = tc_bench_name(&b, "GPU-4f1c2a7e-0000-4000-8000-", i / 16);
            ev->scope.gpu_index = (int32_t)(i / 16 % 8);
            ev->metric.metric = (uint16_t)samples[i / 2 % 8].metric;
            ev->metric.value = samples[i / 2 % 8].value;
        }
    }
    f->verdicts = 512;
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = TC_SECOND;
}
