/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of lines in texts of many megabytes: newlines are counted once, up to the farthest
 * place that was asked for, and remembered at steps of TC_LINE_MARKS_STEP or more. Remembers the
 * last few texts; texts shorter than a step are counted each time.
 */
#ifndef TC_BASE_LINE_MARKS_H
#define TC_BASE_LINE_MARKS_H

#include "base/slice.h"

#include <stddef.h>
#include <stdint.h>

#define TC_LINE_MARKS_STEP ((size_t)1 << 20)
#define TC_LINE_MARKS_TEXTS 4
#define TC_LINE_MARKS_MAX 4096

/* Invariant: lines[i] newlines stand before the byte at i * step, for all i < known. */
struct tc_line_marks_text {
    struct tc_slice bytes;
    size_t step;
    size_t known;
    uint64_t lines[TC_LINE_MARKS_MAX];
};

/* Zeroed is empty. */
struct tc_line_marks {
    struct tc_line_marks_text texts[TC_LINE_MARKS_TEXTS];
    size_t next; /* to give way to a new text */
};

/* Newlines before the byte at offset, or in all of the bytes. They must not change or move while
 * the marks are used. NULL: nothing is remembered. */
uint64_t tc_line_marks_count(struct tc_line_marks *m, struct tc_slice bytes, size_t offset);

#endif
