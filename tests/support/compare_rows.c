/* SPDX-License-Identifier: Apache-2.0 */
#include "support/compare_rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct tc_rows *begin(enum tc_table table)
{
    struct tc_rows *rows = tc_rows_create(table);
    assert_non_null(rows);
    assert_true(tc_rows_add(rows));
    return rows;
}

static void put(struct tc_rows *rows, size_t column, const char *text)
{
    if (text != NULL) {
        assert_int_equal(tc_rows_text(rows, column, tc_slice_cstr(text)), TC_OK);
    }
}

static void add(struct tc_warehouse *w, enum tc_table table, struct tc_rows *rows)
{
    struct tc_error err = {0};
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    assert_int_equal(tc_warehouse_append(w, table, rows, &err), TC_OK);
    assert_int_equal(tc_warehouse_commit(w, &err), TC_OK);
    tc_rows_destroy(rows);
}

static void add_dimension(struct tc_warehouse *w, enum tc_table table, size_t value_column,
                          const char *key)
{
    struct tc_rows *rows = begin(table);
    put(rows, 0, key);
    put(rows, value_column, key);
    add(w, table, rows);
}

static int64_t rows_of(struct tc_warehouse *w, const char *sql, const char *key)
{
    struct tc_bind bind = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(key)};
    struct tc_error err = {0};
    int64_t count = 0;
    assert_int_equal(tc_warehouse_int(w, sql, &bind, 1, 0, &count, &err), TC_OK);
    return count;
}

void cr_add_run(struct tc_warehouse *w, const struct cr_run *run)
{
    struct tc_rows *rows = begin(TC_TABLE_RUN);
    put(rows, TC_RUN_RUN_ID, run->id);
    put(rows, TC_RUN_NAME, run->name);
    put(rows, TC_RUN_REPLICATE_GROUP, run->group);
    put(rows, TC_RUN_STATUS, run->status != NULL ? run->status : "succeeded");
    put(rows, TC_RUN_TOOLS, run->tools != NULL ? run->tools : "[\"vllm\"]");
    put(rows, TC_RUN_VARIABLE, run->variable);
    put(rows, TC_RUN_CASE_ID, run->case_id);
    put(rows, TC_RUN_CLASS, run->benchmark_class);
    put(rows, TC_RUN_SOFTWARE_KEY, run->software);
    put(rows, TC_RUN_HARDWARE_KEY, run->hardware);
    tc_rows_int(rows, TC_RUN_STARTED, (INT64_C(1762000000) + run->started_s) * 1000000);
    if (run->added_s > 0) {
        tc_rows_int(rows, TC_RUN_ADDED, (INT64_C(1762000000) + run->added_s) * 1000000);
    }
    if (run->min_replicates > 0) {
        tc_rows_int(rows, TC_RUN_MIN_REPLICATES, run->min_replicates);
    }
    if (run->confidence > 0) {
        tc_rows_real(rows, TC_RUN_CONFIDENCE_LEVEL, run->confidence);
    }
    if (!run->not_a_replicate) {
        tc_rows_int(rows, TC_RUN_REPLICATE_INDEX, 1);
    }
    add(w, TC_TABLE_RUN, rows);
    if (run->software != NULL &&
        rows_of(w, "SELECT count(*) FROM software_version_dim WHERE software_key = ?",
                run->software) == 0) {
        add_dimension(w, TC_TABLE_SOFTWARE, TC_SOFTWARE_DRIVER, run->software);
    }
    if (run->hardware != NULL &&
        rows_of(w, "SELECT count(*) FROM hardware_topology_dim WHERE hardware_key = ?",
                run->hardware) == 0) {
        add_dimension(w, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MODEL, run->hardware);
    }
}

void cr_add_serving(struct tc_warehouse *w, const struct cr_serving *row)
{
    char text[256];
    struct tc_rows *rows = begin(TC_TABLE_SERVING);
    put(rows, TC_SERVING_RUN_ID, row->run);
    put(rows, TC_SERVING_WORKLOAD_POINT, row->point);
    put(rows, TC_SERVING_TOOL, row->tool != NULL ? row->tool : "vllm");
    if (row->concurrency > 0) {
        tc_rows_real(rows, TC_SERVING_CONCURRENCY, row->concurrency);
    }
    (void)snprintf(text, sizeof text, "{\"ttft_p99_ms\":\"%s\"}",
                   row->definition != NULL ? row->definition : "vllm:p99_ttft_ms");
    put(rows, TC_SERVING_DEFINITIONS, text);
    tc_rows_real(rows, TC_SERVING_TTFT_P99, row->ttft_p99);
    tc_rows_real(rows, TC_SERVING_OUTPUT_TOKENS_PER_S, row->throughput);
    add(w, TC_TABLE_SERVING, rows);
}

void cr_add_training(struct tc_warehouse *w, const char *run, double time_to_train_s)
{
    struct tc_rows *rows = begin(TC_TABLE_TRAINING);
    put(rows, TC_TRAINING_RUN_ID, run);
    put(rows, TC_TRAINING_TOOL, "mllog");
    put(rows, TC_TRAINING_PHASE, "train");
    tc_rows_real(rows, TC_TRAINING_TIME_TO_TRAIN, time_to_train_s);
    add(w, TC_TABLE_TRAINING, rows);
}

void cr_add_slice(struct tc_warehouse *w, const char *run, const char *metric, const char *unit,
                  const char *point, int64_t count, double mean)
{
    struct tc_rows *rows = begin(TC_TABLE_SLICE);
    put(rows, TC_SLICE_RUN_ID, run);
    put(rows, TC_SLICE_FAMILY, "vllm");
    put(rows, TC_SLICE_METRIC, metric);
    put(rows, TC_SLICE_UNIT, unit);
    put(rows, TC_SLICE_POINT, point);
    put(rows, TC_SLICE_JOIN, "given");
    tc_rows_int(rows, TC_SLICE_START, INT64_C(1762000000000000));
    tc_rows_int(rows, TC_SLICE_END, INT64_C(1762000060000000));
    if (count > 0) {
        tc_rows_int(rows, TC_SLICE_COUNT, count);
    }
    tc_rows_real(rows, TC_SLICE_MEAN, mean);
    add(w, TC_TABLE_SLICE, rows);
}
