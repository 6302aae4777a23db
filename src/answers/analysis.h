/* SPDX-License-Identifier: Apache-2.0 */
/* Why a run is slow, as people ask for it. */
#ifndef TC_ANSWERS_ANALYSIS_H
#define TC_ANSWERS_ANALYSIS_H

#include "base/slice.h"
#include "base/status.h"
#include "compare/groups.h"
#include "diagnose/diagnose.h"
#include "warehouse/warehouse.h"

/*
 * Diagnoses a run (of tc_one_run_find) against the runs that a word means. An empty word: earlier
 * runs of its case, and having none is no failure. The caller destroys *out and then ends *base,
 * which it borrows: that is to be all zero, and is to be ended after a failure too.
 */
TC_CHECKED tc_status tc_diagnose_against(struct tc_warehouse *w, const struct tc_group *run,
                                         struct tc_slice against, struct tc_group *base,
                                         struct tc_diagnosis **out, struct tc_error *err);

#endif
