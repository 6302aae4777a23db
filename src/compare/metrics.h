/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of runs (metrics.def): columns of the outcome tables, and what benchmark tools
 * measure besides, which is named `tool:metric`. Which way is better, and which matter first.
 */
#ifndef TC_COMPARE_METRICS_H
#define TC_COMPARE_METRICS_H

#include "base/slice.h"
#include "warehouse/tables.h"

#include <stdbool.h>
#include <stddef.h>

enum tc_better {
    TC_BETTER_NEITHER, /* shown, never judged better or worse */
    TC_BETTER_LOWER,
    TC_BETTER_HIGHER,
};

struct tc_run_metric {
    const char *name; /* of the column, or tool:metric */
    const char *unit; /* NULL: of a tool, whose rows say it */
    enum tc_table table;
    size_t column; /* of an outcome table; of a tool 0 */
    enum tc_better better;
    bool is_main; /* shown without being asked for */
};

/* Those of the outcome tables, in the order of metrics.def. */
const struct tc_run_metric *tc_run_metric_columns(size_t *out_count);
/* By its whole name; NULL: none of ours. */
const struct tc_run_metric *tc_run_metric_find(struct tc_slice name);
/* The column whose name is nearest, for "did you mean"; NULL when none is near. */
const struct tc_run_metric *tc_run_metric_nearest(struct tc_slice name);
/* "lower", "higher" or "neither". */
const char *tc_better_name(enum tc_better better);

/*
 * Whether a name is meant by a pattern: the name itself, what it starts with, or a glob with `*`
 * and `?`. Of a tool's metric also the part behind the colon.
 */
bool tc_run_metric_matches(struct tc_slice pattern, struct tc_slice name);
/* The glob alone: all of the name. Takes no more than the product of the two lengths. */
bool tc_glob_matches(struct tc_slice pattern, struct tc_slice name);

#endif
