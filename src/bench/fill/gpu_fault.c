/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

static void sample(struct tc_bench_fixture *f, struct tc_buf *b, unsigned i, unsigned gpu)
{
    struct tc_event *ev = tc_bench_put(f, i, TC_EVENT_METRIC, tc_bench_dense_ns(i));
    ev->scope.node = tc_bench_name(b, "gpu-node-", gpu / 8);
    ev->scope.gpu_uuid = tc_bench_name(b, "GPU-00000000-0000-4000-8000-00000000", 1000 + gpu);
    ev->scope.gpu_index = (int32_t)(gpu % 8);
    ev->metric.metric = (uint16_t)TC_METRIC_GPU_TEMP;
    ev->metric.value = 61;
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
        tc_bench_kernel_xid(f, &b, 256 + gpu, 2 * gpu, gpu % 2 == 0 ? 79 : 119);
        tc_bench_kernel_xid(f, &b, 512 + gpu, 2 * gpu, 45);
        tc_bench_kernel_xid(f, &b, 768 + gpu, 2 * gpu + 1, 62);
    }
    f->verdicts = 512;
    f->span_ns = 2 * 86400 * TC_SECOND;
    f->settle_ns = 2 * TC_SECOND;
}
