/* SPDX-License-Identifier: Apache-2.0 */
/* What is old: slices of no run, runs and verdicts. */
#include "cli/retain/retain.h"

#include <stdlib.h>
#include <string.h>

static struct tc_bind bind_time(int64_t us)
{
    return (struct tc_bind){.type = TC_COLUMN_TIME, .as.integer = us};
}

static tc_status count(struct tc_retain *r, const char *sql, int64_t before_us, uint64_t *out,
                       struct tc_error *err)
{
    struct tc_bind before = bind_time(before_us);
    int64_t n = 0;
    TC_TRY(tc_warehouse_int(r->w, sql, &before, 1, 0, &n, err));
    *out = (uint64_t)n;
    return TC_OK;
}

static tc_status plan_rows(struct tc_retain *r, struct tc_error *err)
{
    static const struct {
        enum tc_table table;
        const char *sql;
    } tables[] = {
        {TC_TABLE_SERVING,
         "SELECT count(*) FROM serving_outcome_fact WHERE run_id IN (" TC_RETAIN_MOVABLE ")"},
        {TC_TABLE_REQUEST,
         "SELECT count(*) FROM serving_request_fact WHERE run_id IN (" TC_RETAIN_MOVABLE ")"},
        {TC_TABLE_TRAINING,
         "SELECT count(*) FROM training_outcome_fact WHERE run_id IN (" TC_RETAIN_MOVABLE ")"},
        {TC_TABLE_SLICE,
         "SELECT count(*) FROM telemetry_slice_fact WHERE run_id IN (" TC_RETAIN_MOVABLE ")"},
    };
    for (size_t i = 0; i < TC_COUNT(tables); i++) {
        TC_TRY(count(r, tables[i].sql, r->warm_before_us, &r->moved[tables[i].table], err));
    }
    r->moved[TC_TABLE_RUN] = r->runs.row_count;
    r->moved[TC_TABLE_VERDICT] = r->verdicts.row_count;
    return TC_OK;
}

/* Up to where the snapshot needs rows of a large table: past the last one that is moved. The query
 * gives its time, how many there are, and of how many the time is known. */
static tc_status plan_until(struct tc_retain *r, const char *sql, int64_t *out_us,
                            struct tc_error *err)
{
    struct tc_bind before = bind_time(r->warm_before_us);
    struct tc_answer set;
    *out_us = INT64_MIN;
    TC_TRY(tc_answer_query(r->w, sql, &before, 1, &set, err));
    bool timed = set.row_count == 1 && tc_answer_known(&set, 0, 0) &&
                 tc_answer_int(&set, 0, 1) == tc_answer_int(&set, 0, 2);
    if (timed && tc_answer_type(&set, 0) == TC_COLUMN_TIME) {
        *out_us = tc_answer_int(&set, 0, 0) + 1;
    }
    tc_answer_fini(&set);
    return TC_OK;
}

/* A snapshot is as old as the youngest thing that was moved into it. */
static void plan_newest(struct tc_retain *r)
{
    r->newest_us = INT64_MIN;
    for (size_t i = 0; i < r->runs.row_count; i++) {
        int64_t added = tc_answer_int(&r->runs, i, 1);
        r->newest_us = added > r->newest_us ? added : r->newest_us;
    }
    if (r->verdicts.row_count > 0 || r->newest_us == INT64_MIN) {
        r->newest_us = r->warm_before_us;
    }
}

tc_status tc_retain_plan(struct tc_retain *r, struct tc_error *err)
{
    struct tc_bind warm = bind_time(r->warm_before_us);
    uint64_t old = 0;
    TC_TRY(count(
        r, "SELECT count(*) FROM telemetry_slice_fact WHERE run_id IS NULL AND window_end < ?",
        r->hot_before_us, &r->hot_slices, err));
    TC_TRY(count(
        r, "SELECT count(*) FROM serving_request_fact WHERE run_id IS NULL AND started_at < ?",
        r->hot_before_us, &r->hot_requests, err));
    TC_TRY(tc_answer_query(r->w,
                           "SELECT run_id, added_at FROM benchmark_run_fact WHERE run_id IN "
                           "(" TC_RETAIN_MOVABLE ") ORDER BY added_at, run_id",
                           &warm, 1, &r->runs, err));
    TC_TRY(tc_answer_query(r->w, TC_RETAIN_VERDICTS, &warm, 1, &r->verdicts, err));
    TC_TRY(count(r, "SELECT count(*) FROM benchmark_run_fact WHERE added_at < ?", r->warm_before_us,
                 &old, err));
    r->protected_runs = old - r->runs.row_count;
    if (r->runs.cut || r->verdicts.cut) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "more than %d runs or verdicts are old; use a larger "
                       "--warm-days first",
                       TC_ANSWER_ROWS_MAX);
    }
    TC_TRY(plan_rows(r, err));
    TC_TRY(plan_until(r,
                      "SELECT max(window_start), count(*), count(window_start) FROM "
                      "telemetry_slice_fact WHERE run_id IN (" TC_RETAIN_MOVABLE ")",
                      &r->slices_before_us, err));
    TC_TRY(plan_until(r,
                      "SELECT max(started_at), count(*), count(started_at) FROM "
                      "serving_request_fact WHERE run_id IN (" TC_RETAIN_MOVABLE ")",
                      &r->requests_before_us, err));
    plan_newest(r);
    return tc_retain_plan_cold(r, err);
}

bool tc_retain_has_hot(const struct tc_retain *r)
{
    return r->hot_slices > 0 || r->hot_requests > 0;
}

bool tc_retain_is_empty(const struct tc_retain *r)
{
    size_t expired = 0;
    for (size_t i = 0; i < r->snapshot_count; i++) {
        expired += r->snapshots[i].expired;
    }
    return !tc_retain_has_hot(r) && r->runs.row_count == 0 && r->verdicts.row_count == 0 &&
           expired == 0 && r->expired_lineages == 0 && r->remove_count == 0;
}

void tc_retain_fini(struct tc_retain *r)
{
    tc_answer_fini(&r->runs);
    tc_answer_fini(&r->verdicts);
    tc_answer_fini(&r->lineages);
    for (size_t i = 0; i < r->cold_count; i++) {
        free(r->cold_runs[i].run_id);
    }
    free(r->cold_runs);
    free(r->snapshots);
    free(r->lineage_expired);
    free(r->remove);
    tc_files_close(r->files);
    tc_warehouse_close(r->w);
}
