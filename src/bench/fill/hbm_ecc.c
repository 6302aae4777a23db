/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

static void sample(struct tc_bench_fixture *f, struct tc_buf *b, unsigned i, unsigned gpu,
                   enum tc_metric metric, double value)
{
    struct tc_event *ev = tc_bench_put(f, i, TC_EVENT_METRIC, tc_bench_dense_ns(i));
    ev->scope.node = tc_bench_name(b, "gpu-node-", gpu / 8);
    ev->scope.gpu_uuid = tc_bench_name(b, "GPU-00000000-0000-4000-8000-00000000", 1000 + gpu);
    ev->scope.gpu_index = (int32_t)(gpu % 8);
    ev->scope.ns = TC_LIT("training");
    ev->scope.pod = tc_bench_name(b, "llm-pretrain-worker-", gpu / 8);
    ev->metric.metric = (uint16_t)metric;
    ev->metric.value = value;
}

/*
 * 256 GPUs whose counter of uncorrectable errors is one higher at the end of the window than at
 * its beginning, a trickle of corrected ones, temperatures; 128 GPUs with an Xid 48 in the kernel
 * log, and Xids of applications.
 */
void tc_bench_fill_hbm_ecc(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    for (unsigned gpu = 0; gpu < 256; gpu++) {
        sample(f, &b, gpu, gpu, TC_METRIC_GPU_ECC_DBE, 0);
        sample(f, &b, 256 + gpu, gpu, gpu % 2 == 0 ? TC_METRIC_GPU_ECC_SBE : TC_METRIC_GPU_TEMP,
               40);
        tc_bench_kernel_xid(f, &b, 512 + gpu, gpu / 2, gpu % 2 == 0 ? 48 : 31);
        sample(f, &b, 768 + gpu, gpu, TC_METRIC_GPU_ECC_DBE, 1);
    }
    f->metric_step = 1;
    f->verdicts = 256 + 128;
    f->span_ns = 2 * 86400 * TC_SECOND;
    f->settle_ns = 2 * TC_SECOND;
}
