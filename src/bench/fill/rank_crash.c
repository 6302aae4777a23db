/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fixture.h"

/*
 * 128 jobs of eight ranks end: the stack of one rank, what its peers saw of that, the launcher's
 * report of the first failure and of those that it ended.
 */
enum { JOBS = 128, NODES = 64 };

static struct tc_event *exit_of(struct tc_bench_fixture *f, unsigned n, struct tc_buf *b,
                                unsigned job, int32_t rank)
{
    int64_t time_ns = TC_BENCH_START_NS + job * TC_SECOND / 10 + n % 8 * 1000;
    struct tc_event *ev = tc_bench_put(f, n, TC_EVENT_RANK_EXIT, time_ns);
    ev->scope.node = tc_bench_name(b, "gpu-node-", job % NODES);
    ev->scope.job = tc_bench_stamped(f, b, "pretrain-", job);
    ev->scope.rank = rank;
    return ev;
}

void tc_bench_fill_rank_crash(struct tc_bench_fixture *f)
{
    struct tc_buf b = tc_buf_make(f->text, sizeof f->text);
    unsigned n = 0;
    for (unsigned i = 0; i < JOBS; i++) {
        int32_t first = (int32_t)(i % 8);
        struct tc_event *ev = exit_of(f, n++, &b, i, first);
        ev->exit.told_by = TC_LIT("traceback");
        ev->exit.error = TC_LIT("RuntimeError");
        ev->exit.message = TC_LIT("RuntimeError: CUDA error: an illegal memory access");
        for (int32_t k = 1; k < 4; k++) {
            ev = exit_of(f, n++, &b, i, (first + k) % 8);
            ev->exit.told_by = TC_LIT("traceback");
            ev->exit.error = TC_LIT("torch.distributed.DistBackendError");
            ev->exit.message = TC_LIT("DistBackendError: NCCL error: remote process exited");
        }
        ev = exit_of(f, n++, &b, i, first);
        ev->exit.told_by = TC_LIT("launcher");
        ev->exit.role = TC_LIT("first");
        ev->exit.exit_code = 1;
        ev->exit.message = TC_LIT("exitcode  : 1 (pid: 4711)");
        for (int32_t k = 1; k < 4; k++) {
            ev = exit_of(f, n++, &b, i, (first + k) % 8);
            ev->exit.told_by = TC_LIT("launcher");
            ev->exit.signal = 15;
            ev->exit.message = TC_LIT("exitcode  : -15 (pid: 4712)");
        }
    }
    f->verdicts = JOBS;
    f->span_ns = 3600 * TC_SECOND;
    f->settle_ns = 60 * TC_SECOND;
}
