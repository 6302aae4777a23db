/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Efficiency of scaling: the throughput of a GPU at some scale against that at the fewest GPUs of
 * the same case, tool and phase. A function of all rows of the case, so that the order in which
 * runs are added makes no difference.
 */
#ifndef TC_RUN_SCALING_PRIV_H
#define TC_RUN_SCALING_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "run/import_priv.h"
#include "warehouse/warehouse.h"

#include <stddef.h>
#include <stdint.h>

/* Tools and phases of one case; more are left out. */
#define TC__SCALING_MAX 256

struct tc__scaling {
    struct tc__scaling_base {
        uint64_t key; /* hash of tool and phase */
        int64_t gpus_min;
        int64_t gpus_max;
        double per_gpu; /* sum over the rows with gpus_min */
        uint64_t rows;
    } bases[TC__SCALING_MAX];
    size_t count;
};

/* Takes a row of training_outcome_fact into account. */
void tc__scaling_add(struct tc__scaling *s, const struct tc_rows *rows, size_t row);
/* Of a row, when all are taken; NaN: not known. */
double tc__scaling_of(const struct tc__scaling *s, const struct tc_rows *rows, size_t row);
extern const struct tc__definition tc__scaling_definition;
/* Brings the rows of all runs of this one's case up to date. */
TC_CHECKED tc_status tc__scaling_settle(struct tc_warehouse *w, struct tc_slice run_id,
                                        struct tc_error *err);

#endif
