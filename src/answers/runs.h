/* SPDX-License-Identifier: Apache-2.0 */
/* The list of runs, newest first. */
#ifndef TC_ANSWERS_RUNS_H
#define TC_ANSWERS_RUNS_H

#include "base/slice.h"
#include "base/status.h"
#include "warehouse/answer.h"

#include <stdbool.h>
#include <stdint.h>

/* The columns of the list. */
enum tc_runs_column {
    TC_RUNS_ID,
    TC_RUNS_NAME,
    TC_RUNS_CLASS,
    TC_RUNS_TYPE,
    TC_RUNS_STATUS,
    TC_RUNS_STARTED,
    TC_RUNS_ADDED,
    TC_RUNS_POINTS,
    TC_RUNS_GROUP,
    TC_RUNS_REPLICATE,
    TC_RUNS_PUBLISHABLE,
    TC_RUNS_INCIDENTS,
};

#define TC_RUNS_CLASSES "exploratory publication_grade realism_grade"

struct tc_runs_want {
    struct tc_slice name; /* empty: any */
    struct tc_slice benchmark_class;
    bool has_since;
    int64_t since_us; /* added then or later */
    int64_t after_us; /* behind the run that was added then and has this id; empty: from the */
    struct tc_slice after_id; /* newest */
    uint64_t rows_max;        /* 0: as many as an answer may have */
};

/* The caller owns *out. */
TC_CHECKED tc_status tc_runs_list(struct tc_warehouse *w, const struct tc_runs_want *want,
                                  struct tc_answer *out, struct tc_error *err);

#endif
