/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

/* 8 groups of 8 ranks, 16 collectives each; every second one hangs. */
void tc_bench_fill_nccl_hang(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    size_t i = 0;
    for (unsigned group = 0; group < 8; group++) {
        struct tc_slice group_name = tc_bench_name(&b, "", group);
        for (unsigned seq = 0; seq < 16; seq++) {
            for (unsigned rank = 0; rank < 8; rank++) {
                unsigned global = group * 128 + rank;
                struct tc_event *ev = tc_bench_put(f, i++, TC_EVENT_NCCL_RECORD, TC_BENCH_START_NS);
                ev->scope.rank = (int32_t)global;
                ev->scope.node = tc_bench_name(&b, "gpu-node-", global / 8);
                ev->scope.pod = tc_bench_name(&b, "train-", global);
                ev->scope.job = TC_LIT("job-1");
                ev->nccl.group = group_name;
                ev->nccl.group_key = tc_nccl_group_key(ev->scope.job, group_name, TC_EMPTY);
                ev->nccl.op = TC_LIT("all_reduce");
                ev->nccl.sizes_in = TC_LIT("[[4096, 5120]]");
                ev->nccl.dtypes_in = TC_LIT("[BFloat16]");
                ev->nccl.seq = 1000 + seq;
                ev->nccl.state = seq % 2 == 1 ? TC_NCCL_STARTED : TC_NCCL_COMPLETED;
            }
        }
    }
    f->verdicts = 64;
    f->span_ns = 7 * 3600 * TC_SECOND; /* past the retention: each window stands alone */
    f->settle_ns = 600 * TC_SECOND;
}
