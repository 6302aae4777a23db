/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

/* 256 switches with a fatal SXid, 256 GPUs with Xid 74, 512 samples of healthy links. */
void tc_bench_fill_nvlink_degraded(struct tc_bench_fixture *f)
{
    static const struct {
        enum tc_metric metric;
        double value;
    } samples[] = {
        {TC_METRIC_NVLINK_CRC_FLIT, 12},
        {TC_METRIC_NVLINK_CRC_DATA, 0},
        {TC_METRIC_NVLINK_REPLAYS, 1},
        {TC_METRIC_NVLINK_STATE, 3},
    };
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    for (unsigned i = 0; i < TC_BENCH_WINDOW; i++) {
        static const enum tc_event_kind kinds[] = {TC_EVENT_SXID, TC_EVENT_METRIC, TC_EVENT_XID,
                                                   TC_EVENT_METRIC};
        struct tc_event *ev =
            tc_bench_put(f, i, kinds[i % 4], TC_BENCH_START_NS + i * (TC_SECOND / 100));
        if (ev->kind == TC_EVENT_METRIC) {
            ev->scope.node = tc_bench_name(&b, "gpu-node-", i / 128);
            ev->scope.gpu_uuid = tc_bench_name(&b, "GPU-4f1c2a7e-0000-4000-8000-", i / 16);
            ev->scope.gpu_index = (int32_t)(i / 16 % 8);
            ev->metric.device = tc_bench_name(&b, "", i / 8 % 18);
            ev->metric.metric = (uint16_t)samples[i / 2 % 4].metric;
            ev->metric.value = samples[i / 2 % 4].value;
            continue;
        }
        bool sxid = ev->kind == TC_EVENT_SXID;
        ev->scope.node = tc_bench_stamped(f, &b, "gpu-node-", i);
        ev->scope.pci = (struct tc_bdf){0, 0xc1, 0, 0, true};
        ev->xid.code = sxid ? 20034 : 74;
        ev->xid.severity = sxid ? TC_LIT("fatal") : TC_EMPTY;
        ev->xid.link = i % 18;
        ev->xid.message = sxid ? TC_LIT("Fatal, Link 30 LTSSM Fault Up") : TC_LIT("NVLink error");
    }
    f->verdicts = 512;
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = 30 * TC_SECOND;
}
