/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

/* 64 node conditions, 820 evictions on those nodes, 140 events about nothing. */
void tc_bench_fill_pod_evicted(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    for (unsigned i = 0; i < 64; i++) {
        struct tc_event *ev =
            tc_bench_put(f, i, TC_EVENT_NODE_CONDITION, TC_BENCH_START_NS + i * TC_SECOND / 100);
        ev->scope.node = tc_bench_name(&b, "gpu-node-", i);
        ev->k8s.type = TC_LIT("MemoryPressure");
        ev->k8s.status = TC_LIT("True");
        ev->k8s.reason = TC_LIT("KubeletHasInsufficientMemory");
        ev->k8s.message = TC_LIT("kubelet has insufficient memory available");
    }
    for (unsigned i = 64; i < TC_BENCH_WINDOW; i++) {
        bool evicted = i < 64 + 820;
        struct tc_event *ev = tc_bench_put(
            f, i, TC_EVENT_K8S_EVENT, TC_BENCH_START_NS + 30 * TC_SECOND + i * TC_SECOND / 100);
        ev->scope.node = tc_bench_name(&b, "gpu-node-", i % 64);
        ev->scope.ns = TC_LIT("training");
        ev->scope.pod = tc_bench_stamped(f, &b, "llm-pretrain-worker-", i);
        ev->uid = tc_bench_stamped(f, &b, "7f3d-4000-8000-00000000", i);
        ev->k8s.object_kind = TC_LIT("Pod");
        ev->k8s.object_name = ev->scope.pod;
        ev->k8s.type = evicted ? TC_LIT("Warning") : TC_LIT("Normal");
        ev->k8s.reason = evicted ? TC_LIT("Evicted") : TC_LIT("Scheduled");
        ev->k8s.message = evicted ? TC_LIT("The node was low on resource: memory. Threshold "
                                           "quantity: 100Mi, available: 84Mi. ")
                                  : TC_LIT("Successfully assigned the pod");
    }
    f->verdicts = 820;
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = TC_SECOND;
}
