/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address space for the worst case, as arenas of hundreds of MiB are given it: all zero, and pages
 * that are never used cost no memory. It is mapped, and unmapped when it is freed. malloc would map
 * it too, but only until a block of that size was freed once (M_MMAP_THRESHOLD in mallopt(3)): then
 * it keeps the next one, and zeroes all of it. Under AddressSanitizer it ends in a page that nobody
 * may touch. The handle is of the heap: a block that is lost is found as a leak.
 */
#ifndef TC_BASE_OS_BLOCK_H
#define TC_BASE_OS_BLOCK_H

#include <stddef.h>

struct tc_block {
    unsigned char *bytes;
    size_t size;
};

/* NULL when there is no memory. */
struct tc_block *tc_block_new(size_t size);
/* All zero again, as new: what was used is given back, which takes less than to write zeros. */
void tc_block_clear(struct tc_block *b);
/* Takes NULL too. */
void tc_block_free(struct tc_block *b);

#endif
