/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that fail on demand, for tests/fault: the linker puts these in front of our own
 * calls of malloc, calloc, realloc and write. The plan is shared with children.
 */
#ifndef TC_TESTS_FAULTY_H
#define TC_TESTS_FAULTY_H

#include <stdbool.h>

enum fault { FAULT_NONE, FAULT_ALLOC, FAULT_WRITE };

/* How many calls there were, and which one fails. */
struct plan {
    enum fault fault;
    int write_fd; /* writes that count: to this, or to all but standard error when negative */
    long fail_at;
    long calls;
    bool hit;
};

extern struct plan *tc_faulty_plan;

/*
 * Which calls are worth failing. A run that counts (fail_at -1) notes from where each call came:
 * the four functions that led to it. Calls from the same place fail alike, so a test fails the
 * first and the last of each place. Call it after the run that counted; the places are of the last
 * one.
 */
bool tc_faulty_is_chosen(long call);

/* Makes the plan; 0, or -1 when there is no memory for it. */
int tc_faulty_init(void);

#endif
