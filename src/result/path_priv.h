/* SPDX-License-Identifier: Apache-2.0 */
/* Paths one by one, for map.c; readers use those of map.h. */
#ifndef TC_RESULT_PATH_PRIV_H
#define TC_RESULT_PATH_PRIV_H

#include "base/json/json.h"
#include "base/slice.h"

#include <stdbool.h>

/* The value at one path; false when it is missing or null, and *out is untouched then. */
bool tc__path_value(struct tc_json v, struct tc_slice path, struct tc_json *out);
/* The next of several paths; false at the end. Start with a slice of them all. */
bool tc__path_next(struct tc_slice *io_paths, char between, struct tc_slice *out);
/* A number that an int64_t has exactly. */
bool tc__is_whole(double value);

#endif
