/* SPDX-License-Identifier: Apache-2.0 */
/* The value of --since. */
#ifndef TC_CLI_SINCE_H
#define TC_CLI_SINCE_H

#include <stdbool.h>
#include <stdint.h>

/* A time, or how long ago: 90s, 15m, 2h, 3d. False when it is neither. */
bool tc_since_parse(const char *text, int64_t *out_ns);
/* The same, with the present given. */
bool tc_since_parse_at(const char *text, int64_t now_ns, int64_t *out_ns);

#endif
