/* SPDX-License-Identifier: Apache-2.0 */
/* Names of runs that the daemon learnt, into the ledger and the warehouse, and from the ledger
 * again. */
#ifndef TC_SERVER_WAREHOUSE_RUN_NAMES_H
#define TC_SERVER_WAREHOUSE_RUN_NAMES_H

#include "base/json/json.h"
#include "base/status.h"
#include "warehouse/rows.h"
#include "warehouse/warehouse.h"

/* Rows of run_scope_fact, in a transaction of their own; those that say nothing new are left out.
 */
TC_CHECKED tc_status tc_run_names_write(struct tc_warehouse *w, const char *data_dir,
                                        const struct tc_rows *names, struct tc_error *err);
/* Adds the row of an object of the ledger. TC_E_MALFORMED: it is none. */
TC_CHECKED tc_status tc_run_names_again(struct tc_json_parser *parser, struct tc_slice json,
                                        struct tc_rows *rows, struct tc_error *err);

#endif
