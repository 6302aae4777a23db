/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/loop.h"

#include "base/clock.h"
#include "observe/metrics.h"

#include <stdatomic.h>

/* Asking for the thread's time is a system call: once for so much time will do. */
#define CPU_SAMPLE_NS (TC_SECOND / 1000)

static struct {
    int64_t begin_ns;
    int64_t sampled_ns; /* when cpu_ns was read */
    int64_t cpu_ns; /* of the thread, at the beginning of a callback: this one or shortly before */
    _Atomic int64_t longest_wall_ns;
    _Atomic int64_t longest_cpu_ns;
} loop;

static void keep_longer(_Atomic int64_t *longest, int64_t ns)
{
    if (ns > atomic_load_explicit(longest, memory_order_relaxed)) {
        atomic_store_explicit(longest, ns, memory_order_relaxed);
    }
}

void tc_loop_enter(void)
{
    loop.begin_ns = tc_mono_ns();
    if (loop.begin_ns - loop.sampled_ns >= CPU_SAMPLE_NS) {
        loop.cpu_ns = tc_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        loop.sampled_ns = loop.begin_ns;
    }
}

void tc_loop_leave(void)
{
    int64_t ns = tc_mono_ns() - loop.begin_ns;
    tc_observe(TC_HIST_LOOP_STALL, ns);
    keep_longer(&loop.longest_wall_ns, ns);
    if (ns >= CPU_SAMPLE_NS) {
        keep_longer(&loop.longest_cpu_ns, tc_clock_ns(CLOCK_THREAD_CPUTIME_ID) - loop.cpu_ns);
    }
}

struct tc_loop_longest tc_loop_longest(void)
{
    return (struct tc_loop_longest){
        .wall_ns = atomic_load_explicit(&loop.longest_wall_ns, memory_order_relaxed),
        .cpu_ns = atomic_load_explicit(&loop.longest_cpu_ns, memory_order_relaxed),
    };
}
