/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warehouse with every allocation of ours failing in turn: no crash, no leak, a status that
 * says so, and either all rows of a transaction or none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/faulty.h"
#include "support/warehouse_room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX 2000
#define ROWS 5

static tc_status ignore(void *context, const struct tc_rows *rows)
{
    (void)context;
    (void)rows;
    return TC_OK;
}

/* What is written. */
struct written {
    struct tc_rows *slices;
    struct tc_rows *requests;
    struct tc_rows *runs;
};

static tc_status append_all(struct tc_warehouse *w, const struct written *all, struct tc_error *err)
{
    TC_TRY(tc_warehouse_begin(w, err));
    TC_TRY(tc_warehouse_append(w, TC_TABLE_SLICE, all->slices, err));
    TC_TRY(tc_warehouse_append(w, TC_TABLE_REQUEST, all->requests, err));
    TC_TRY(tc_warehouse_append(w, TC_TABLE_RUN, all->runs, err));
    return tc_warehouse_commit(w, err);
}

static tc_status read_all(struct tc_warehouse *w, const char *path, struct tc_error *err)
{
    uint64_t rows = 0;
    struct tc_bind bind = {.type = TC_COLUMN_INT, .as.integer = 1};
    struct tc_query query = {.sql = TC_LIT("SELECT [?], run_id FROM telemetry_slice_fact"),
                             .binds = &bind,
                             .bind_count = 1,
                             .untrusted = true};
    TC_TRY(tc_warehouse_query(w, &query, ignore, NULL, NULL, err));
    return tc_warehouse_parquet(w, TC_TABLE_SLICE, 0, INT64_MIN, path, &rows, err);
}

/* *out_written: whether the commit went through. */
static tc_status scenario(struct wh_room *room, const struct written *all, bool *out_written,
                          struct tc_error *err)
{
    struct tc_warehouse_config config = wh_config(room, TC_WAREHOUSE_WRITE);
    struct tc_warehouse *w = NULL;
    struct tc_warehouse *other = NULL;
    char path[200];
    (void)snprintf(path, sizeof path, "%s/out.parquet", room->dir);
    TC_TRY(tc_warehouse_open(&config, &w, err));
    tc_status status = append_all(w, all, err);
    *out_written = status == TC_OK;
    if (status == TC_OK) {
        status = read_all(w, path, err);
    }
    if (status == TC_OK) {
        status = tc_warehouse_share(w, &other, err);
    }
    tc_warehouse_close(other);
    tc_warehouse_close(w);
    return status;
}

static struct tc_rows *make_rows(enum tc_table table, size_t key)
{
    struct tc_rows *rows = tc_rows_create(table);
    assert_non_null(rows);
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(tc_rows_add(rows));
        assert_int_equal(tc_rows_text(rows, key, TC_LIT("run-0123456789abcdef")), TC_OK);
    }
    return rows;
}

static long calls_of(struct wh_room *room, const struct written *all)
{
    struct tc_error err = {0};
    bool committed = false;
    *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .fail_at = -1};
    assert_int_equal(scenario(room, all, &committed, &err), TC_OK);
    tc_faulty_plan->fault = FAULT_NONE;
    return tc_faulty_plan->calls;
}

static void every_allocation_fails_in_turn(void **state)
{
    struct wh_room *room = *state;
    const struct written all = {make_rows(TC_TABLE_SLICE, TC_SLICE_RUN_ID),
                                make_rows(TC_TABLE_REQUEST, TC_REQUEST_RUN_ID),
                                make_rows(TC_TABLE_RUN, TC_RUN_RUN_ID)};
    int64_t written = 2 * ROWS;
    /* Twice: the first makes the database. */
    (void)calls_of(room, &all);
    long calls = calls_of(room, &all);
    assert_in_range(calls, 10, CALLS_MAX);
    for (long at = 0; at < calls; at++) {
        struct tc_error err = {0};
        bool committed = false;
        if (!tc_faulty_is_chosen(at)) {
            continue;
        }
        *tc_faulty_plan = (struct plan){.fault = FAULT_ALLOC, .fail_at = at};
        tc_status status = scenario(room, &all, &committed, &err);
        tc_faulty_plan->fault = FAULT_NONE;
        assert_true(tc_faulty_plan->hit);
        assert_true(status != TC_OK && err.message[0] != '\0');
        written += committed ? ROWS : 0;
    }
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_READ);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM telemetry_slice_fact"), written);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM serving_request_fact"), written);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM benchmark_run_fact"), written);
    tc_warehouse_close(w);
    tc_rows_destroy(all.slices);
    tc_rows_destroy(all.requests);
    tc_rows_destroy(all.runs);
}

static int setup(void **state)
{
    return tc_faulty_init() == 0 ? wh_setup(state) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_allocation_fails_in_turn, setup, wh_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
