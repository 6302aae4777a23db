/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs and their outcomes in a warehouse of tests (warehouse_room.h), row by row. Everything
 * asserts.
 */
#ifndef TC_TEST_COMPARE_ROWS_H
#define TC_TEST_COMPARE_ROWS_H

#include "warehouse/warehouse.h"

#include <stdint.h>

/* A run; NULL and 0: the default, which is no value but for status, succeeded. */
struct cr_run {
    const char *id;
    const char *name;
    const char *group;
    const char *status;
    const char *tools;    /* "[\"vllm\"]" by default */
    const char *variable; /* under test */
    const char *case_id;
    const char *software; /* key, and driver_version of a row that is made for it */
    const char *hardware; /* key, and gpu_model */
    const char *benchmark_class;
    int64_t started_s;
    int64_t added_s;
    int64_t min_replicates;
    double confidence;
    int not_a_replicate;
};
void cr_add_run(struct tc_warehouse *w, const struct cr_run *run);

/* A row of serving; definition NULL: that of vllm. A concurrency of 0 is NULL. */
struct cr_serving {
    const char *run;
    const char *point;
    double concurrency;
    const char *tool;
    const char *definition; /* of ttft_p99_ms, the others have the tool's */
    double ttft_p99;        /* NaN is NULL */
    double throughput;
};
void cr_add_serving(struct tc_warehouse *w, const struct cr_serving *row);
void cr_add_training(struct tc_warehouse *w, const char *run, double time_to_train_s);
void cr_add_slice(struct tc_warehouse *w, const char *run, const char *metric, const char *unit,
                  const char *point, int64_t count, double mean);

#endif
