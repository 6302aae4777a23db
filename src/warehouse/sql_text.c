/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/sql_text.h"

#include "base/format.h"

#include <math.h>

void tc_sql_put_text(struct tc_grow *g, struct tc_slice text)
{
    tc_grow_lit(g, "'");
    for (size_t i = 0; i < text.len; i++) {
        tc_grow_str(g, text.ptr[i] == '\'' ? TC_LIT("''") : tc_slice_make(text.ptr + i, 1));
    }
    tc_grow_lit(g, "'");
}

void tc_sql_put_and_real(struct tc_grow *g, const char *column, double value)
{
    if (isnan(value)) {
        tc_grow_format(g, " AND {} IS NULL", column);
    } else {
        tc_grow_format(g, " AND {} = {}", column, value);
    }
}
