/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

/* 128 Xids on 128 nodes, then 896 pods that fail on them. */
void tc_bench_fill_xid_correlation(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    for (unsigned i = 0; i < 128; i++) {
        struct tc_event *ev =
            tc_bench_put(f, i, TC_EVENT_XID, TC_BENCH_START_NS + i * (TC_SECOND / 100));
        ev->scope.node = tc_bench_name(&b, "gpu-node-", i);
        ev->scope.pci = (struct tc_bdf){0, 0xb3, 0, 0, true};
        ev->xid.code = 79;
        ev->xid.message = TC_LIT("GPU has fallen off the bus.");
    }
    for (unsigned i = 128; i < TC_BENCH_WINDOW; i++) {
        struct tc_event *ev = tc_bench_put(
            f, i, TC_EVENT_POD_STATE, TC_BENCH_START_NS + 40 * TC_SECOND + i * (TC_SECOND / 100));
        ev->scope.node = tc_bench_name(&b, "gpu-node-", i % 128);
        ev->scope.ns = TC_LIT("training");
        ev->scope.pod = tc_bench_stamped(f, &b, "llm-pretrain-worker-", i);
        ev->scope.pod_uid = tc_bench_stamped(f, &b, "5d2c-4000-8000-00000000", i);
        ev->uid = ev->scope.pod_uid;
        ev->pod.phase = TC_LIT("Failed");
        ev->pod.reason = TC_LIT("Error");
        ev->pod.exit_code = 134;
    }
    f->verdicts = 896;
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = TC_SECOND;
}
