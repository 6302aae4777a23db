/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict's line as a row of verdict_fact, and which of them are there. */
#ifndef TC_WAREHOUSE_VERDICTS_H
#define TC_WAREHOUSE_VERDICTS_H

#include "base/json/json.h"
#include "base/slice.h"
#include "base/status.h"
#include "warehouse/rows.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Adds one row to rows of TC_TABLE_VERDICT, which have room. told_ns: when we told it.
 * TC_E_MALFORMED: the line is no verdict; the row is not there then.
 */
TC_CHECKED tc_status tc_warehouse_verdict_row(struct tc_json_parser *parser, struct tc_slice line,
                                              int64_t told_ns, struct tc_rows *rows,
                                              struct tc_error *err);

/* Rows of one question. */
#define TC_WAREHOUSE_VERDICTS_MAX 256
/* Which of at most TC_WAREHOUSE_VERDICTS_MAX rows the warehouse has, or are there twice. */
TC_CHECKED tc_status tc_warehouse_verdicts_known(struct tc_warehouse *w, const struct tc_rows *rows,
                                                 bool out_known[TC_WAREHOUSE_VERDICTS_MAX],
                                                 struct tc_error *err);

#endif
