/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a long command has come, on one line of standard error. Only when that
 * is a terminal, only after a second, at most five times a second; the line is
 * taken away again at the end.
 */
#ifndef TC_CLI_OUTPUT_PROGRESS_H
#define TC_CLI_OUTPUT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_progress {
    bool enabled;
    bool visible;
    int64_t next_ns; /* of the monotonic clock: not before */
    size_t files;
    size_t files_total;
    uint64_t bytes;
    uint64_t bytes_total; /* of rows: how many */
    bool is_rows;
};

/* Does nothing, ever, when not wanted or standard error is no terminal. */
void tc_progress_init(struct tc_progress *p, bool wanted, size_t files_total, uint64_t bytes_total);
/* The same of rows, which are added in the place of bytes. */
void tc_progress_init_rows(struct tc_progress *p, bool wanted, uint64_t rows_total);
void tc_progress_add(struct tc_progress *p, uint64_t bytes, size_t files);
/* Takes the line away: before any other message, and at the end. */
void tc_progress_clear(struct tc_progress *p);

#endif
