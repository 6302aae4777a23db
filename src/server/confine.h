/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After its start the process gives up what it does not need: with Landlock, writing anywhere but
 * in a few folders; with seccomp, system calls that only an intruder would want. Where the kernel
 * has neither, nothing happens. For the calling thread and those that it starts: call it before any
 * other.
 */
#ifndef TC_SERVER_CONFINE_H
#define TC_SERVER_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

struct tc_confined {
    bool files; /* Landlock holds */
    bool calls; /* the filter of system calls holds */
};

/* The folders exist; NULL among them is none. What cannot be had is false, and nothing is closed
 * in part. */
struct tc_confined tc_confine(const char *const *folders, size_t count);

#endif
