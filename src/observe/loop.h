/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the loop is in one callback: meanwhile it looks at no socket. Every callback of the loop
 * begins with tc_loop_enter and ends with tc_loop_leave; the times are the histogram
 * tracecore_loop_stall_seconds. The longest is kept twice: by the clock, which also runs while
 * others have the processor, and by the processor time of the thread, which says what the callback
 * itself cost, whatever else the machine does.
 */
#ifndef TC_OBSERVE_LOOP_H
#define TC_OBSERVE_LOOP_H

#include <stdint.h>

/* The loop's thread; not nested. */
void tc_loop_enter(void);
void tc_loop_leave(void);

struct tc_loop_longest {
    int64_t wall_ns;
    int64_t cpu_ns; /* up to a millisecond too much: the thread's clock is read seldom */
};

/* Since the start of the process. Any thread. */
struct tc_loop_longest tc_loop_longest(void);

#endif
