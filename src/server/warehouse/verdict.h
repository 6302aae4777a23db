/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict's line as a row of verdict_fact. */
#ifndef TC_SERVER_WAREHOUSE_VERDICT_H
#define TC_SERVER_WAREHOUSE_VERDICT_H

#include "base/json/json.h"
#include "base/slice.h"
#include "base/status.h"
#include "server/run_book.h"
#include "warehouse/rows.h"

#include <stdint.h>

/*
 * Adds one row to rows of TC_TABLE_VERDICT, which have room. told_ns: when we told it. runs may be
 * NULL. TC_E_MALFORMED: the line is no verdict; the row is not there then.
 */
TC_CHECKED tc_status tc_warehouse_verdict_row(struct tc_json_parser *parser, struct tc_slice line,
                                              int64_t told_ns, struct tc_run_book *runs,
                                              struct tc_rows *rows, struct tc_error *err);

#endif
