/* SPDX-License-Identifier: Apache-2.0 */
/* A series in one line, a bar for each value or stretch of them. */
#ifndef TC_CLI_TREND_SPARK_LINE_H
#define TC_CLI_TREND_SPARK_LINE_H

#include "base/table/grow.h"

#include <stdbool.h>
#include <stddef.h>

/* At most `width` characters, one per value where there is room. The lowest value is the lowest
 * bar, the highest the highest. */
void tc_spark_line(struct tc_grow *g, const double *values, size_t count, size_t width, bool utf8);

#endif
