/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of SQL that people are shown and may run again, so values stand in it and not `?`. */
#ifndef TC_WAREHOUSE_SQL_TEXT_H
#define TC_WAREHOUSE_SQL_TEXT_H

#include "base/slice.h"
#include "base/table/grow.h"

/* A literal: in quotes, with those in it doubled. */
void tc_sql_put_text(struct tc_grow *g, struct tc_slice text);
/* " AND column = value"; IS NULL for NaN. */
void tc_sql_put_and_real(struct tc_grow *g, const char *column, double value);

#endif
