/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's clocks, in nanoseconds. For rooms that act in the world: the pure ones are told the
 * time (tools/check_layers.py keeps this header out of them).
 */
#ifndef TC_BASE_CLOCK_H
#define TC_BASE_CLOCK_H

#include "base/time.h"

#include <stdint.h>
#include <time.h>

/* 0 for a clock that the system does not have. */
static inline int64_t tc_clock_ns(clockid_t clock)
{
    struct timespec t = {0};
    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * TC_SECOND + t.tv_nsec;
}

/* Since 1970. It may be set, backwards too. */
static inline int64_t tc_wall_ns(void)
{
    return tc_clock_ns(CLOCK_REALTIME);
}

/* Since some moment; never goes back. For waiting, and for how long something took. */
static inline int64_t tc_mono_ns(void)
{
    return tc_clock_ns(CLOCK_MONOTONIC);
}

/* The same moment for functions that wait; ns >= 0. */
static inline struct timespec tc_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / TC_SECOND, .tv_nsec = ns % TC_SECOND};
}

#endif
