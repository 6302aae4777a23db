/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

#define LANES 4
#define RANKS 8
#define ROUNDS (TC_BENCH_WINDOW / LANES / RANKS)
#define PERIOD_NS TC_SECOND
#define LATE_NS (TC_SECOND / 2)

/*
 * Four groups of eight ranks on two nodes, 32 collectives each. In the first half of the window
 * rank 5 of two groups is late: two stragglers, which keep up in the second half.
 */
void tc_bench_fill_straggler(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    struct tc_slice nodes[2] = {tc_bench_name(&b, "gpu-node-", 0),
                                tc_bench_name(&b, "gpu-node-", 1)};
    struct tc_slice groups[LANES];
    for (unsigned g = 0; g < LANES; g++) {
        groups[g] = tc_bench_name(&b, "", g);
    }
    for (unsigned i = 0; i < TC_BENCH_WINDOW; i++) {
        unsigned rank = i % RANKS;
        unsigned lane = i / RANKS % LANES;
        unsigned round = i / RANKS / LANES;
        int64_t start_ns = TC_BENCH_START_NS + round * PERIOD_NS;
        bool late = rank == 5 && lane < 2 && round < ROUNDS / 2;
        bool waits = lane < 2 && round < ROUNDS / 2;
        struct tc_event *ev =
            tc_bench_put(f, i, TC_EVENT_NCCL_RECORD, start_ns + (late ? LATE_NS : 0));
        ev->scope.job = TC_LIT("llm-pretrain");
        ev->scope.node = nodes[rank / 4];
        ev->scope.rank = (int32_t)(lane * RANKS + rank);
        ev->nccl.group = groups[lane];
        ev->nccl.group_key = lane + 1;
        ev->nccl.op = TC_LIT("all_reduce");
        ev->nccl.seq = 10 + round;
        ev->nccl.state = TC_NCCL_COMPLETED;
        ev->nccl.completed_ns = start_ns + (waits ? LATE_NS : 0) + TC_SECOND / 100;
    }
    f->verdicts = 4;
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = 120 * TC_SECOND;
}
