/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the readers of serving benchmarks share: the point of a row, what all rows of a file have in
 * common, and values that tools write where they measured nothing.
 */
#ifndef TC_RUN_RESULT_MAP_SERVING_H
#define TC_RUN_RESULT_MAP_SERVING_H

#include "run/result_map.h"

/* A length or a size that every request had; 0: not known, or not the same for all. */
struct tc_serving_point {
    double input_tokens;
    double output_tokens;
    struct tc_slice dataset;
    struct tc_slice more; /* "key=value" pairs; may be empty */
};

/* "in=1024 out=128 dataset=random" into the row's workload_point and into memory of the result. */
struct tc_slice tc_serving_set_point(struct tc_result *r, struct tc_result_row *row,
                                     const struct tc_serving_point *point);

/* Facts that hold for a run only if they hold for all of its rows. Start with {0}. */
struct tc_serving_common {
    size_t rows;
    double input_tokens;
    double output_tokens;
    char dataset[128];
    bool input_differs;
    bool output_differs;
    bool dataset_differs;
};
void tc_serving_common_add(struct tc_serving_common *c, const struct tc_serving_point *point);
/* Into the facts of the workload. */
void tc_serving_common_tell(struct tc_result *r, const struct tc_serving_common *c);

/* Concurrency and request rate of a row from a tool's members; "inf" is NULL. Tells how load was
 * made: closed_loop, open_loop, or burst when neither is limited. */
void tc_serving_load(struct tc_result *r, struct tc_result_row *row, struct tc_json object,
                     const char *concurrency, const char *rate);

/* Started, ended: of the row and of the run. TC_TIME_NONE: not known. */
void tc_serving_times(struct tc_result *r, struct tc_result_row *row, int64_t started_ns,
                      int64_t ended_ns);

/* For tools that write 0 for a mean over nothing: a whole group of columns from a mean on becomes
 * NULL when the mean is 0. */
void tc_serving_drop_zero(struct tc_result *r, struct tc_result_row *row, size_t mean_column);

/* TC_E_MALFORMED that names the field unless the row has at least one completed request. */
TC_CHECKED tc_status tc_serving_require_completed(const struct tc_result_row *row,
                                                  const char *field, struct tc_error *err);

#endif
