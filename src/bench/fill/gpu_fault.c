/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

static struct tc_event *put(struct tc_bench_fixture *f, unsigned i, enum tc_event_kind kind)
{
    return tc_bench_put(f, i, kind, TC_BENCH_START_NS + i * TC_SECOND / 100);
}

static void sample(struct tc_bench_fixture *f, struct tc_buf *b, unsigned i, unsigned gpu)
{
    struct tc_event *ev = put(f, i, TC_EVENT_METRIC);
    ev->scope.node = tc_bench_name(b, "gpu-node-", gpu / 8);
    ev->scope.gpu_uuid = tc_bench_name(b, "GPU-00000000-0000-4000-8000-00000000", 1000 + gpu);
    ev->scope.gpu_index = (int32_t)(gpu % 8);
    ev->metric.metric = (uint16_t)TC_METRIC_GPU_TEMP;
    ev->metric.value = 61;
}

static void xid(struct tc_bench_fixture *f, struct tc_buf *b, unsigned i, unsigned gpu,
                int64_t code)
{
    struct tc_event *ev = put(f, i, TC_EVENT_XID);
    ev->scope.node = tc_bench_name(b, "gpu-node-", 100 + gpu / 8);
    ev->scope.pci = (struct tc_bdf){.bus = (uint8_t)(16 + gpu % 8), .known = true};
    ev->scope.pid = 4711;
    ev->xid.code = code;
    ev->xid.process = TC_LIT("python");
    ev->xid.message = TC_LIT("pid=4711, name=python");
}

/*
 * 512 GPUs with a fatal Xid in the kernel log, 256 with one of an application, and the scrapes of
 * 256 that are well.
 */
void tc_bench_fill_gpu_fault(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    for (unsigned gpu = 0; gpu < 256; gpu++) {
        sample(f, &b, gpu, gpu);
        xid(f, &b, 256 + gpu, 2 * gpu, gpu % 2 == 0 ? 79 : 119);
        xid(f, &b, 512 + gpu, 2 * gpu, 45);
        xid(f, &b, 768 + gpu, 2 * gpu + 1, 62);
    }
    f->verdicts = 512;
    f->span_ns = 2 * 86400 * TC_SECOND;
    f->settle_ns = 2 * TC_SECOND;
}
