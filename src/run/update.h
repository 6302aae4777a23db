/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a run that change after they were written: what depends on other runs, or on a signature.
 */
#ifndef TC_RUN_UPDATE_H
#define TC_RUN_UPDATE_H

#include "base/slice.h"
#include "base/status.h"
#include "warehouse/warehouse.h"

/* Changes one batch of the rows. */
typedef tc_status (*tc_run_edit_fn)(void *context, struct tc_rows *rows);

/*
 * Replaces all rows of a run in a table by the same rows as `edit` leaves them. column is the one
 * that has the run's id. Between tc_warehouse_begin and tc_warehouse_commit of the caller.
 */
TC_CHECKED tc_status tc_run_update(struct tc_warehouse *w, enum tc_table table, size_t column,
                                   struct tc_slice run_id, tc_run_edit_fn edit, void *context,
                                   struct tc_error *err);

#endif
