/* SPDX-License-Identifier: Apache-2.0 */
/* Which metrics a run is judged by: those that its contract lists first. */
#ifndef TC_RUN_JUDGED_H
#define TC_RUN_JUDGED_H

#include "base/slice.h"
#include "base/status.h"
#include "base/table/grow.h"
#include "evidence/files/files.h"
#include "warehouse/warehouse.h"

/*
 * The columns of spec.metrics.*.primary of the run's contract, separated by blanks; nothing when
 * the run has no contract, or its file is not kept any more.
 */
TC_CHECKED tc_status tc_run_judged_by(struct tc_warehouse *w, const char *data_dir,
                                      struct tc_slice run_id, struct tc_grow *out,
                                      struct tc_error *err);

#endif
