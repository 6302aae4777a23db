/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

/*
 * 128 pods on 32 nodes: 640 steps, then 64 data loader errors, 32 mounts that failed
 * on 8 nodes, 128 reports of a stall, and 160 samples of GPUs that say nothing here.
 * 64 pods have an error, 16 of these a failed mount on their node as well, which is
 * told as an update, and 16 of the others have only that.
 */
enum { PODS = 128, NODES = 32, STEPS = 5 * PODS, ERRORS = 64, MOUNTS = 32, MOUNT_NODES = 8 };

static void place(struct tc_bench_fixture *f, struct tc_buf *b, struct tc_event *ev, unsigned pod)
{
    ev->scope.node = tc_bench_name(b, "gpu-node-", pod % NODES);
    ev->scope.ns = TC_LIT("training");
    ev->scope.pod = tc_bench_stamped(f, b, "llm-pretrain-worker-", pod);
    ev->scope.job = TC_LIT("llm-pretrain");
    ev->scope.rank = (int32_t)pod;
}

void tc_bench_fill_dataloader_hang(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    unsigned n = 0;
    for (unsigned i = 0; i < STEPS; i++, n++) {
        struct tc_event *ev =
            tc_bench_put(f, n, TC_EVENT_TRAIN_STEP, TC_BENCH_START_NS + n * TC_SECOND / 100);
        place(f, &b, ev, i % PODS);
        ev->train.step = 100 + i / PODS;
        ev->train.phase = TC_LIT("train");
        ev->train.seconds = 1.28;
    }
    int64_t later_ns = TC_BENCH_START_NS + 200 * TC_SECOND;
    for (unsigned i = 0; i < ERRORS; i++, n++) {
        struct tc_event *ev = tc_bench_put(f, n, TC_EVENT_LOADER_ERROR, later_ns + n);
        place(f, &b, ev, i);
        ev->train.error_class = TC_LIT("worker_killed");
        ev->train.message = TC_LIT("DataLoader worker (pid 4711) is killed by signal: Killed.");
    }
    for (unsigned i = 0; i < MOUNTS; i++, n++) {
        struct tc_event *ev = tc_bench_put(f, n, TC_EVENT_K8S_EVENT, later_ns + n);
        ev->scope.node = tc_bench_name(&b, "gpu-node-", i % MOUNT_NODES);
        ev->scope.ns = TC_LIT("training");
        ev->scope.pod = tc_bench_name(&b, "other-", i);
        ev->k8s.object_kind = TC_LIT("Pod");
        ev->k8s.object_name = ev->scope.pod;
        ev->k8s.type = TC_LIT("Warning");
        ev->k8s.reason = TC_LIT("FailedMount");
        ev->k8s.message = TC_LIT("Unable to attach or mount volumes: timed out");
    }
    for (unsigned i = 0; i < PODS; i++, n++) {
        struct tc_event *ev = tc_bench_put(f, n, TC_EVENT_TRAIN_STALL, later_ns + n);
        place(f, &b, ev, i);
        ev->train.step = 104;
        ev->train.seconds = 190;
    }
    for (; n < TC_BENCH_WINDOW; n++) {
        struct tc_event *ev = tc_bench_put(f, n, TC_EVENT_METRIC, later_ns + n);
        ev->scope.node = tc_bench_name(&b, "gpu-node-", n % NODES);
        ev->metric.metric = TC_METRIC_GPU_UTIL;
        ev->metric.value = 100;
    }
    f->verdicts = 64 + 16 + 16;
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = 2 * TC_SECOND;
}
