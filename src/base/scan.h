/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Search for many literals at once in a large text, where hits are rare: how a
 * log of many gigabytes is read at the speed of memory. A vector filter on the
 * first four bytes of every literal (nibble tables, 32 positions per step) passes
 * some 3 % of the places of a log on, a table of prefixes few of those, and each of
 * these is compared in full, so a reported hit is always true. Machines without AVX2
 * take the scalar filter.
 *
 * The filter is sharp when the literals start with bytes that are rare in the
 * text: choose "I/O error" rather than "error". docs/decisions/0002 says why
 * this and not a regular-expression library.
 */
#ifndef TC_BASE_SCAN_H
#define TC_BASE_SCAN_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_SCAN_LITERALS_MAX 64
#define TC_SCAN_PREFIX 4 /* bytes the filter looks at: the least length of a literal */
#define TC_SCAN_BUCKETS 8
#define TC_SCAN_PRINTS 16384 /* bits of the table of prefixes: one in 250 is set */

enum tc_scan_path { TC_SCAN_SCALAR, TC_SCAN_AVX2 };

/*
 * Invariant: bit b of bytes[i][c] is set when a literal of bucket b has byte c at
 * position i; low and high are the same for the two nibbles of c, so the product
 * of the nibble tables lets through everything that bytes does, and some more. The bit of prints
 * that the first bytes of a literal hash to is set.
 */
struct tc_scan {
    const struct tc_slice *literals;
    size_t count;
    enum tc_scan_path path;
    uint64_t members[TC_SCAN_BUCKETS];       /* the literals of each bucket, as bits */
    uint32_t prefixes[TC_SCAN_LITERALS_MAX]; /* the first bytes of each literal */
    uint8_t low[TC_SCAN_PREFIX][16];
    uint8_t high[TC_SCAN_PREFIX][16];
    uint8_t bytes[TC_SCAN_PREFIX][256];
    uint64_t prints[TC_SCAN_PRINTS / 64];
};

/*
 * Sets up a search, in well under a microsecond, on the fastest path of this machine. Borrows
 * literals for the scan's whole life: 1 to TC_SCAN_LITERALS_MAX of them, each of at
 * least TC_SCAN_PREFIX bytes.
 */
void tc_scan_init(struct tc_scan *s, const struct tc_slice *literals, size_t count);
/* The same with the bucket of each literal, below TC_SCAN_BUCKETS. What is found does not depend on
 * them, only how fast. Borrows buckets until return. */
void tc_scan_init_in(struct tc_scan *s, const struct tc_slice *literals, const uint8_t *buckets,
                     size_t count);

/* Chooses the path, for tests and benchmarks; false when this machine does not have it. */
bool tc_scan_use(struct tc_scan *s, enum tc_scan_path path);

/*
 * The offset of the first literal that starts at or after `from`, or TC_NPOS.
 * *out_which is its index; of several at one place, the lowest. It is untouched
 * when there is none. Reads nothing outside text.
 */
size_t tc_scan_next(const struct tc_scan *s, struct tc_slice text, size_t from,
                    unsigned *out_which);

#endif
