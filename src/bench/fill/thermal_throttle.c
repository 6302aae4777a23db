/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

#define GPUS 128
#define ROUNDS (TC_BENCH_WINDOW / GPUS)

static void sample(struct tc_bench_fixture *f, struct tc_buf *b, unsigned round, unsigned gpu,
                   enum tc_metric metric, double value)
{
    int64_t time_ns =
        TC_BENCH_START_NS + round / 2 * 65 * TC_SECOND + round % 2 * TC_SECOND + gpu * 1000;
    struct tc_event *ev = tc_bench_put(f, round * GPUS + gpu, TC_EVENT_METRIC, time_ns);
    ev->scope.node = tc_bench_name(b, "gpu-node-", gpu / 2);
    ev->scope.gpu_uuid = tc_bench_name(b, "GPU-00000000-0000-4000-8000-00000000", 1000 + gpu);
    ev->scope.gpu_index = (int32_t)(gpu % 2);
    ev->scope.ns = TC_LIT("training");
    ev->scope.pod = tc_bench_name(b, "llm-pretrain-worker-", gpu / 2);
    ev->metric.metric = (uint16_t)metric;
    ev->metric.value = value;
}

/*
 * 128 GPUs, two per node, with their temperature and reasons four times. On every other node both
 * GPUs are slowed by heat, are told, and are clear again at the end: two verdicts per node.
 */
void tc_bench_fill_thermal_throttle(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    for (unsigned round = 0; round < ROUNDS; round += 2) {
        for (unsigned gpu = 0; gpu < GPUS; gpu++) {
            bool hot = gpu / 2 % 2 == 0 && round < ROUNDS / 2;
            sample(f, &b, round, gpu, TC_METRIC_GPU_TEMP, hot ? 91 : 60);
            sample(f, &b, round + 1, gpu, TC_METRIC_GPU_THROTTLE, hot ? 0x48 : 4);
        }
    }
    f->verdicts = GPUS / 2;
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = 2 * TC_SECOND;
}
