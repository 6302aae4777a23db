/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison as people ask for it: judged by what the candidate's contract lists. */
#ifndef TC_ANSWERS_COMPARE_H
#define TC_ANSWERS_COMPARE_H

#include "base/slice.h"
#include "base/status.h"
#include "compare/compare.h"
#include "warehouse/warehouse.h"

/*
 * tc_compare with the main metrics of the first contract of the candidate's runs; those of options
 * are not read. data_dir is where the contract's file is. The caller owns *out.
 */
TC_CHECKED tc_status tc_compare_judged(struct tc_warehouse *w, const char *data_dir,
                                       struct tc_slice base, struct tc_slice candidate,
                                       const struct tc_compare_options *options,
                                       struct tc_comparison *out, struct tc_error *err);

#endif
