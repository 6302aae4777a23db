/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

#define JOBS 32

/*
 * 32 jobs with 8 ranks each begin a checkpoint; half of the jobs end it, the others run into a
 * server that does not answer. Around that, steps end and disks are scraped.
 */
void tc_bench_fill_checkpoint_stall(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    unsigned i = 0;
    for (unsigned k = 0; k < 2 * JOBS * 8; k++, i++) {
        unsigned writer = k % (JOBS * 8);
        unsigned job = writer / 8;
        bool begin = k < JOBS * 8;
        bool stalls = job % 2 == 0;
        int64_t time_ns = TC_BENCH_START_NS + (begin ? 0 : 60 * TC_SECOND) + k * TC_SECOND / 1000;
        struct tc_event *ev = tc_bench_put(
            f, i, begin || !stalls ? TC_EVENT_CHECKPOINT : TC_EVENT_TRAIN_STEP, time_ns);
        ev->scope.job = tc_bench_stamped(f, &b, "llm-pretrain-", job);
        ev->scope.node = tc_bench_name(&b, "gpu-node-", job);
        ev->scope.rank = (int32_t)(writer % 8);
        ev->train.step = begin || !stalls ? 1000 : 900;
        ev->train.state = begin ? TC_LIT("begin") : TC_LIT("end");
        ev->train.path = TC_LIT("/ckpt/llm-pretrain");
    }
    for (unsigned k = 0; k < JOBS; k++, i++) {
        struct tc_event *ev = tc_bench_put(
            f, i, TC_EVENT_STORAGE_ERROR, TC_BENCH_START_NS + 70 * TC_SECOND + k * TC_SECOND / 100);
        ev->scope.node = tc_bench_name(&b, "gpu-node-", k);
        ev->fault.fault = TC_LIT("nfs_not_responding");
        ev->fault.device = TC_LIT("10.0.0.5");
        ev->fault.message = TC_LIT("nfs: server 10.0.0.5 not responding, still trying");
    }
    for (; i < TC_BENCH_WINDOW; i++) {
        struct tc_event *ev = tc_bench_put(
            f, i, TC_EVENT_METRIC, TC_BENCH_START_NS + 80 * TC_SECOND + i * TC_SECOND / 100);
        ev->scope.node = tc_bench_name(&b, "gpu-node-", i / 2 % JOBS);
        ev->metric.metric = i % 2 == 0 ? TC_METRIC_STORAGE_WRITES : TC_METRIC_STORAGE_WRITE_SECONDS;
        ev->metric.device = TC_LIT("nvme0n1");
        ev->metric.value = i;
    }
    f->verdicts = JOBS / 2;
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = 1200 * TC_SECOND;
    f->metric_step = 100;
}
