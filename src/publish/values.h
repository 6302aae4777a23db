/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a query says: one value per run, from the tables as they are or from tables that were made
 * anew; and the number that these values make.
 */
#ifndef TC_PUBLISH_VALUES_H
#define TC_PUBLISH_VALUES_H

#include "base/slice.h"
#include "base/status.h"
#include "run/import.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_STATISTIC_MEDIAN "median"
/* Two values of which one was computed by another machine may differ by rounding. */
#define TC_VALUES_SAME 1e-9

struct tc_run_value {
    char run_id[TC_RUN_ID_MAX + 1];
    double value; /* the median, where the query has several rows of a run */
    int64_t rows;
};

struct tc_values {
    struct tc_run_value *items; /* in the order of the ids */
    size_t count;
    size_t cap;
};

/*
 * Runs the query, which is from outside: it only reads, and within limits. It gives the columns
 * run_id and value. TC_E_USAGE: it does not, or a value is missing; TC_E_LIMIT: too many rows or
 * runs, or it takes too long. The caller frees with tc_values_fini, also after a failure.
 */
TC_CHECKED tc_status tc_values_query(struct tc_warehouse *w, struct tc_slice sql,
                                     struct tc_values *out, struct tc_error *err);
void tc_values_fini(struct tc_values *v);
struct tc_claim;
/* Whether they are those of the claim's runs, of each one and no others, up to a relative
 * difference; out_what says where they are not. */
bool tc_values_are_of(const struct tc_values *v, const struct tc_claim *claim, double tolerance,
                      char out_what[TC_ERROR_MESSAGE_MAX]);

struct tc_statistic {
    double value;
    double low; /* NaN, and the level too: one value has no interval */
    double high;
    double level;  /* that the interval has: less than was asked for if there are too few values */
    double spread; /* as a standard deviation would be; NaN: of one value */
    bool is_multimodal; /* more than one mode, by the dip test; never said of few values */
};

/* The median of the values with its interval. level is that which is asked for. is_outlier has room
 * for a flag per value, or is NULL. */
TC_CHECKED tc_status tc_statistic_make(const double *values, size_t count, double level,
                                       struct tc_statistic *out, bool *is_outlier,
                                       struct tc_error *err);

/* The same up to TC_VALUES_SAME; two that are not known are the same. */
bool tc_values_are_same(double a, double b);

#endif
