/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon writes of verdicts and of the names of runs: in the ledger, and from there again.
 */
#ifndef TC_SERVER_WAREHOUSE_VERDICT_LEDGER_H
#define TC_SERVER_WAREHOUSE_VERDICT_LEDGER_H

#include "base/json/json.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "warehouse/rows.h"

#include <stdint.h>

/* One row as an object of the ledger, with the line it was made of; adds a line. */
void tc_warehouse_verdict_note(const struct tc_rows *rows, size_t row, struct tc_slice line,
                               int64_t told_ns, struct tc_grow *lines);
/*
 * The row again, from an object of the ledger: as above, but the run is as it was. json is the
 * ledger's, parsers are two since it holds the verdict's line as a text.
 */
TC_CHECKED tc_status tc_warehouse_verdict_again(struct tc_json_parser *parser,
                                                struct tc_json_parser *inner, struct tc_slice json,
                                                struct tc_rows *rows, struct tc_error *err);

#endif
