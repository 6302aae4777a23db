/* SPDX-License-Identifier: Apache-2.0 */
/* Durations and sizes as people write them, in the configuration and in options. */
#ifndef TC_BASE_UNITS_H
#define TC_BASE_UNITS_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* "5s", "1h30m", "0.5", "250ms"; a number without a unit is seconds. Never negative. */
bool tc_duration_parse(struct tc_slice text, int64_t *out_ns);
/* A time: "2026-11-15T03:00:00Z", or how long before now: "90s", "15m", "2h", "3d". */
bool tc_moment_parse(struct tc_slice text, int64_t now_ns, int64_t *out_ns);

enum tc_size_units {
    TC_SIZE_STRICT, /* "64MiB", "64MB", "1048576": nothing that could mean either */
    TC_SIZE_LOOSE,  /* and "64M" for MiB, and "64mib": what is typed at a shell */
};
bool tc_size_parse(struct tc_slice text, enum tc_size_units units, uint64_t *out_bytes);

/* As they are written, in the largest unit that leaves a whole number: "20ms", "64MiB". */
void tc_buf_duration_exact(struct tc_buf *b, int64_t ns);
void tc_buf_size_exact(struct tc_buf *b, uint64_t bytes);

#endif
