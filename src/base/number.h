/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people. */
#ifndef TC_BASE_NUMBER_H
#define TC_BASE_NUMBER_H

#include "base/buf.h"
#include "base/format.h"

#include <stdint.h>

/* Four significant digits, thousands with commas; "-" for NaN. */
void tc_buf_number(struct tc_buf *b, double value);
/* All digits, with commas. */
void tc_buf_grouped(struct tc_buf *b, int64_t value);

/* The same as arguments of a format. A ratio is y / x, "-" where there is none. */
struct tc_arg tc_as_number(double value);
struct tc_arg tc_as_ratio(double x, double y);

#endif
