/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting heap allocations of the whole process by standing in front of the C
 * library's allocator, so that "no allocations" is counted, not believed. Off
 * until asked for; under a sanitizer, which has its own allocator, not available.
 */
#ifndef TC_BENCH_ALLOC_COUNT_H
#define TC_BENCH_ALLOC_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct tc_alloc_count {
    uint64_t calls; /* malloc, calloc, realloc, aligned forms */
    uint64_t bytes; /* asked for */
};

/* False where the process cannot count. */
bool tc_alloc_count_available(void);
/* Since the start of the process. */
struct tc_alloc_count tc_alloc_count_now(void);

#endif
