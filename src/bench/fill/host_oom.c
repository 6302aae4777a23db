/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

#define HEX64 "ec9ee26695deb4cc72bc665efff1cf3a03fdfb12f1303e02fe9252985e084a95"

/*
 * 256 pods on 64 nodes run out of memory: each has the two lines of the kernel and the
 * state of its container, a second later. 256 kills of processes that are in no pod.
 */
enum { PODS = 256, NODES = 64 };

static void kill_of(struct tc_bench_fixture *f, struct tc_buf *b, struct tc_event *ev, unsigned i)
{
    (void)f;
    ev->scope.node = tc_bench_name(b, "gpu-node-", i % NODES);
    ev->scope.pid = 100000 + (int64_t)i;
    ev->oom.process = TC_LIT("pt_main_thread");
    ev->oom.constraint = TC_LIT("CONSTRAINT_MEMCG");
}

void tc_bench_fill_host_oom(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    unsigned n = 0;
    for (unsigned i = 0; i < PODS; i++) {
        int64_t time_ns = TC_BENCH_START_NS + i * TC_SECOND / 100;
        struct tc_event *ev = tc_bench_put(f, n++, TC_EVENT_OOM_KILL, time_ns);
        kill_of(f, &b, ev, i);
        struct tc_slice uid = tc_bench_stamped(f, &b, "6e8e-4c6e-a889-3e427565c740-", i);
        ev->scope.pod_uid = uid;
        ev->oom.cgroup =
            TC_LIT("/kubepods.slice/kubepods-burstable.slice/cri-containerd-" HEX64 ".scope");
        ev->oom.container_id = TC_LIT(HEX64);
        ev->oom.message = TC_LIT("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x");
        ev = tc_bench_put(f, n++, TC_EVENT_OOM_KILL, time_ns + 1000);
        kill_of(f, &b, ev, i);
        ev->oom.anon_rss_kb = 97517568;
        ev->oom.message = TC_LIT("Memory cgroup out of memory: Killed process");
        ev = tc_bench_put(f, n++, TC_EVENT_POD_STATE, time_ns + 3000);
        ev->scope.node = tc_bench_name(&b, "gpu-node-", i % NODES);
        ev->scope.ns = TC_LIT("training");
        ev->scope.pod = tc_bench_name(&b, "llm-pretrain-worker-", i);
        ev->scope.pod_uid = uid;
        ev->pod.phase = TC_LIT("Failed");
        ev->pod.reason = TC_LIT("OOMKilled");
        ev->pod.exit_code = 137;
        ev = tc_bench_put(f, n++, TC_EVENT_OOM_KILL, time_ns + 4000);
        kill_of(f, &b, ev, PODS + i);
        ev->oom.process = TC_LIT("stress");
        ev->oom.constraint = TC_LIT("CONSTRAINT_NONE");
        ev->oom.cgroup = TC_LIT("/system.slice/stress.service");
    }
    f->verdicts = PODS;
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = 2 * TC_SECOND;
}
