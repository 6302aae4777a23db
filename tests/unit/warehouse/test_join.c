/* SPDX-License-Identifier: Apache-2.0 */
/* Runs and rows find each other, whichever comes first. */
#include "base/table/grow.h"
#include "support/warehouse_room.h"
#include "warehouse/duckdb/duckdb_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S INT64_C(1000000)
#define T (INT64_C(1780000000) * S)

static void must(tc_status status, const struct tc_error *err)
{
    if (status != TC_OK) {
        fail_msg("%s", err->message);
    }
}

static void put(struct tc_rows *rows, size_t column, const char *text)
{
    if (text != NULL) {
        assert_int_equal(tc_rows_text(rows, column, tc_slice_cstr(text)), TC_OK);
    }
}

static bool is_begun; /* else each is a transaction of its own */

static void begin(struct tc_warehouse *w)
{
    struct tc_error err = {0};
    must(tc_warehouse_begin(w, &err), &err);
    is_begun = true;
}

static void commit(struct tc_warehouse *w)
{
    struct tc_error err = {0};
    must(tc_warehouse_commit(w, &err), &err);
    is_begun = false;
}

static void write_rows(struct tc_warehouse *w, enum tc_table table, struct tc_rows *rows)
{
    struct tc_error err = {0};
    bool alone = !is_begun;
    if (alone) {
        begin(w);
    }
    must(tc_warehouse_append(w, table, rows, &err), &err);
    if (alone) {
        commit(w);
    }
    tc_rows_destroy(rows);
}

static struct tc_rows *one(enum tc_table table)
{
    struct tc_rows *rows = tc_rows_create(table);
    assert_true(rows != NULL && tc_rows_add(rows));
    return rows;
}

static void name_with(struct tc_warehouse *w, const char *run, const char *kind, const char *name,
                      int64_t from_us, int64_t to_us)
{
    struct tc_rows *rows = one(TC_TABLE_RUN_SCOPE);
    put(rows, TC_RUN_SCOPE_RUN_ID, run);
    put(rows, TC_RUN_SCOPE_KIND, kind);
    put(rows, TC_RUN_SCOPE_NAME, name);
    if (to_us != 0) {
        tc_rows_int(rows, TC_RUN_SCOPE_START, from_us);
        tc_rows_int(rows, TC_RUN_SCOPE_END, to_us);
    }
    write_rows(w, TC_TABLE_RUN_SCOPE, rows);
}

struct place {
    const char *pod_uid;
    const char *ns;
    const char *pod;
    const char *job;
    const char *scheduler; /* of slices */
    const char *node;
};

static void verdict(struct tc_warehouse *w, const char *digest, struct place p, int64_t at_us)
{
    struct tc_rows *rows = one(TC_TABLE_VERDICT);
    put(rows, TC_VERDICT_DIGEST, digest);
    put(rows, TC_VERDICT_POD_UID, p.pod_uid);
    put(rows, TC_VERDICT_POD_NAMESPACE, p.ns);
    put(rows, TC_VERDICT_POD_NAME, p.pod);
    put(rows, TC_VERDICT_JOB_UID, p.job);
    put(rows, TC_VERDICT_NODE, p.node);
    tc_rows_int(rows, TC_VERDICT_FIRST_SEEN, at_us);
    tc_rows_int(rows, TC_VERDICT_TOLD, at_us + 5 * S);
    write_rows(w, TC_TABLE_VERDICT, rows);
}

static void slice(struct tc_warehouse *w, const char *metric, struct place p, int64_t from_us,
                  int64_t to_us)
{
    struct tc_rows *rows = one(TC_TABLE_SLICE);
    put(rows, TC_SLICE_METRIC, metric);
    put(rows, TC_SLICE_POD_UID, p.pod_uid);
    put(rows, TC_SLICE_JOB_UID, p.job);
    put(rows, TC_SLICE_SCHEDULER_RUN_ID, p.scheduler);
    put(rows, TC_SLICE_NODE, p.node);
    tc_rows_int(rows, TC_SLICE_START, from_us);
    tc_rows_int(rows, TC_SLICE_END, to_us);
    write_rows(w, TC_TABLE_SLICE, rows);
}

/* ---- what is there ---- */

static tc_status take_text(void *context, const struct tc_rows *rows)
{
    struct tc_grow *g = context;
    for (size_t i = 0; i < rows->count; i++) {
        for (size_t c = 0; c < rows->column_count; c++) {
            tc_grow_str(g,
                        tc_rows_is_null(rows, c, i) ? TC_LIT("-") : tc_rows_get_text(rows, c, i));
            tc_grow_str(g, c + 1 < rows->column_count ? TC_LIT(" ") : TC_LIT("\n"));
        }
    }
    return TC_OK;
}

/* For free(). */
static char *answer(struct tc_warehouse *w, const char *sql)
{
    struct tc_grow g = {0};
    struct tc_error err = {0};
    struct tc_query query = {.sql = tc_slice_cstr(sql)};
    must(tc_warehouse_query(w, &query, take_text, &g, NULL, &err), &err);
    tc_grow_str(&g, tc_slice_make("", 1));
    assert_false(g.failed);
    return g.buf.data;
}

static void expect(struct tc_warehouse *w, const char *sql, const char *expected)
{
    char *text = answer(w, sql);
    assert_string_equal(text, expected);
    free(text);
}

#define VERDICTS "SELECT verdict_digest, run_id, run_join FROM verdict_fact ORDER BY 1"
#define SLICES "SELECT metric, run_id, run_join FROM telemetry_slice_fact ORDER BY 1"

/* ---- every order ---- */

/* What happens, with names of its own in each order. */
static void step(struct tc_warehouse *w, int what, int order)
{
    char bare[16];
    char full[32];
    char upper[32];
    char other[16];
    char uid[16];
    (void)snprintf(bare, sizeof bare, "n%d", order);
    (void)snprintf(full, sizeof full, "n%d.example.com", order);
    (void)snprintf(upper, sizeof upper, "N%d.Example.com", order);
    (void)snprintf(other, sizeof other, "m%d", order);
    (void)snprintf(uid, sizeof uid, "u%d", order);
    struct place on_node = {.node = full};
    struct place in_pod = {.pod_uid = uid, .node = bare};
    switch (what) {
    case 0:
        name_with(w, "run-a", "node", bare, T, T + 60 * S);
        break;
    case 1:
        name_with(w, "run-b", "node", upper, T + 50 * S, T + 200 * S);
        name_with(w, "run-b", "pod_uid", uid, T + 50 * S, T + 200 * S);
        break;
    case 2:
        verdict(w, "v-in-a", on_node, T + 10 * S);
        verdict(w, "v-in-both", on_node, T + 55 * S);
        verdict(w, "v-of-pod", in_pod, T + 10 * S);
        verdict(w, "v-other-node", (struct place){.node = other}, T + 10 * S);
        break;
    default:
        slice(w, "s-in-a", on_node, T, T + 50 * S);
        slice(w, "s-in-both", on_node, T, T + 60 * S);
        slice(w, "s-in-b", on_node, T + 61 * S, T + 120 * S);
        slice(w, "s-of-pod", in_pod, T + 40 * S, T + 100 * S);
        slice(w, "s-other-node", (struct place){.node = other}, T, T + 60 * S);
        break;
    }
}

/* All 24 orders of two runs, verdicts and slices, with another process in between. */
static void rows_are_equal_in_every_order(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    for (int order = 0; order < 24; order++) {
        int left[] = {0, 1, 2, 3};
        int code = order;
        for (int n = 4; n > 0; n--) {
            int pick = code % n;
            code /= n;
            begin(w);
            step(w, left[pick], order);
            commit(w);
            left[pick] = left[n - 1];
            if (order % 6 == 0 && n == 3) {
                tc_warehouse_close(w);
                w = wh_open(*state, TC_WAREHOUSE_WRITE);
            }
        }
    }
    expect(w,
           "SELECT verdict_digest, run_id, run_join, CAST(count(*) AS VARCHAR) FROM verdict_fact "
           "GROUP BY 1, 2, 3 ORDER BY 1, 2",
           "v-in-a run-a time 24\nv-in-both - - 24\nv-of-pod run-b identity 24\n"
           "v-other-node - - 24\n");
    expect(w,
           "SELECT metric, run_id, run_join, CAST(count(*) AS VARCHAR) FROM telemetry_slice_fact "
           "GROUP BY 1, 2, 3 ORDER BY 1, 2",
           "s-in-a run-a time 24\ns-in-b run-b time 24\ns-in-both - - 24\n"
           "s-of-pod run-b identity 24\ns-other-node - - 24\n");
    expect(w,
           "SELECT verdict_digest, run_id, run_join FROM verdict_fact_said WHERE run_id IS NOT "
           "NULL",
           "");
    expect(w,
           "SELECT metric, run_id, run_join FROM telemetry_slice_fact_said WHERE run_id IS NOT "
           "NULL OR run_join IS NOT NULL",
           "");
    expect(w, "SELECT kind FROM run_pending", "");
    tc_warehouse_close(w);
}

/* ---- names ---- */

static void names_are_tried_from_the_narrowest_on(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    begin(w);
    name_with(w, "run-uid", "pod_uid", "u1", T, T + 60 * S);
    name_with(w, "run-pod", "pod", "ml/p1", T, T + 60 * S);
    name_with(w, "run-bare", "pod", "p1", T, T + 60 * S);
    name_with(w, "run-job", "job", "j1", T, T + 60 * S);
    name_with(w, "run-slurm", "scheduler", "4711", T, T + 60 * S);
    name_with(w, "run-node", "node", "n1", T, T + 60 * S);
    commit(w);
    begin(w);
    verdict(w, "1", (struct place){"u1", "ml", "p1", "j1", NULL, "n1"}, T);
    verdict(w, "2", (struct place){"u2", "ml", "p1", "j1", NULL, "n1"}, T);
    verdict(w, "3", (struct place){"u2", "web", "p1", "j1", NULL, "n1"}, T);
    verdict(w, "4", (struct place){NULL, NULL, "p2", "j1", NULL, "n1"}, T);
    verdict(w, "5", (struct place){NULL, NULL, NULL, "4711", NULL, "n1"}, T);
    verdict(w, "6", (struct place){NULL, NULL, NULL, "j2", NULL, "n1"}, T);
    verdict(w, "7", (struct place){NULL, NULL, NULL, NULL, NULL, NULL}, T);
    commit(w);
    /* j1 is nobody's then: the node decides. */
    name_with(w, "run-later", "node", "n1", T + 3600 * S, T + 3660 * S);
    verdict(w, "8", (struct place){.job = "j1", .node = "n1"}, T + 3600 * S);
    expect(w, VERDICTS,
           "1 run-uid identity\n2 run-pod identity\n3 run-bare identity\n4 run-job identity\n"
           "5 run-slurm identity\n6 run-node time\n7 - -\n8 run-later time\n");
    slice(w, "1", (struct place){.scheduler = "4711", .node = "n1"}, T, T + S);
    slice(w, "2", (struct place){.job = "4711", .node = "n1"}, T, T + S);
    expect(w, SLICES, "1 run-slurm identity\n2 run-slurm identity\n");
    tc_warehouse_close(w);
}

static void domains_of_a_node_must_not_differ(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    name_with(w, "run-a", "node", "n1.a.example", T, T + S);
    name_with(w, "run-ip", "node", "10.0.0.1", T, T + S);
    verdict(w, "1", (struct place){.node = "n1"}, T);
    verdict(w, "2", (struct place){.node = "N1.A.example"}, T);
    verdict(w, "3", (struct place){.node = "n1.b.example"}, T);
    verdict(w, "4", (struct place){.node = "10.0.0.1"}, T);
    verdict(w, "5", (struct place){.node = "10.0.0.2"}, T);
    expect(w, VERDICTS, "1 run-a time\n2 run-a time\n3 - -\n4 run-ip time\n5 - -\n");
    tc_warehouse_close(w);
}

static void what_a_row_says_itself_stays(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    struct tc_rows *rows = one(TC_TABLE_VERDICT);
    put(rows, TC_VERDICT_DIGEST, "1");
    put(rows, TC_VERDICT_RUN_ID, "run-own");
    put(rows, TC_VERDICT_RUN_JOIN, "given");
    put(rows, TC_VERDICT_NODE, "n1");
    tc_rows_int(rows, TC_VERDICT_FIRST_SEEN, T);
    write_rows(w, TC_TABLE_VERDICT, rows);
    rows = one(TC_TABLE_SLICE);
    put(rows, TC_SLICE_METRIC, "m");
    put(rows, TC_SLICE_RUN_ID, "run-own");
    put(rows, TC_SLICE_JOIN, "identity");
    put(rows, TC_SLICE_NODE, "n1");
    tc_rows_int(rows, TC_SLICE_START, T);
    tc_rows_int(rows, TC_SLICE_END, T + S);
    write_rows(w, TC_TABLE_SLICE, rows);
    name_with(w, "run-b", "node", "n1", T, T + S);
    expect(w, VERDICTS, "1 run-own given\n");
    expect(w, SLICES, "m run-own identity\n");
    expect(w, "SELECT metric, run_id, run_join FROM telemetry_slice_fact_said",
           "m run-own identity\n");
    tc_warehouse_close(w);
}

static void a_run_that_is_forgotten_gives_its_rows_back(void **state)
{
    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    struct tc_error err = {0};
    struct tc_slice run = TC_LIT("run-b");
    uint64_t gone = 0;
    name_with(w, "run-a", "node", "n1", T, T + S);
    name_with(w, "run-b", "node", "n1", T, T + S);
    verdict(w, "1", (struct place){.node = "n1"}, T);
    slice(w, "1", (struct place){.node = "n1"}, T, T + S);
    expect(w, VERDICTS, "1 - -\n");
    struct tc_forget what = {.table = TC_TABLE_RUN_SCOPE,
                             .key_column = TC_RUN_SCOPE_RUN_ID,
                             .keys = &run,
                             .key_count = 1,
                             .before_us = INT64_MIN};
    must(tc_warehouse_begin(w, &err), &err);
    must(tc_warehouse_forget(w, &what, &gone, &err), &err);
    must(tc_warehouse_commit(w, &err), &err);
    assert_int_equal(gone, 1);
    expect(w, VERDICTS, "1 run-a time\n");
    expect(w, SLICES, "1 run-a time\n");
    /* Slices of no run are forgotten, those that were found are not. */
    slice(w, "2", (struct place){.node = "n2"}, T, T + S);
    struct tc_forget hot = {.table = TC_TABLE_SLICE,
                            .time_column = TC_SLICE_END,
                            .before_us = T + 100 * S,
                            .null_column = TC_SLICE_RUN_ID,
                            .want_null = true};
    must(tc_warehouse_begin(w, &err), &err);
    must(tc_warehouse_forget(w, &hot, &gone, &err), &err);
    must(tc_warehouse_commit(w, &err), &err);
    expect(w, SLICES, "1 run-a time\n");
    tc_warehouse_close(w);
}

/* Two connections whose transactions overlap: neither sees what the other brings. */
static void transactions_at_the_same_time_meet(void **state)
{
    struct tc_error err = {0};
    for (int first = 0; first < 2; first++) {
        struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
        struct tc_warehouse *other = NULL;
        char node[8];
        (void)snprintf(node, sizeof node, "n%d", first);
        must(tc_warehouse_share(w, &other, &err), &err);
        struct tc_rows *rows = one(TC_TABLE_SLICE);
        put(rows, TC_SLICE_METRIC, node);
        put(rows, TC_SLICE_NODE, node);
        tc_rows_int(rows, TC_SLICE_START, T);
        tc_rows_int(rows, TC_SLICE_END, T + S);
        struct tc_rows *names = one(TC_TABLE_RUN_SCOPE);
        put(names, TC_RUN_SCOPE_RUN_ID, "run-a");
        put(names, TC_RUN_SCOPE_KIND, "node");
        put(names, TC_RUN_SCOPE_NAME, node);
        tc_rows_int(names, TC_RUN_SCOPE_START, T);
        tc_rows_int(names, TC_RUN_SCOPE_END, T + S);
        must(tc_warehouse_begin(w, &err), &err);
        must(tc_warehouse_begin(other, &err), &err);
        must(tc_warehouse_append(w, TC_TABLE_SLICE, rows, &err), &err);
        must(tc_warehouse_append(other, TC_TABLE_RUN_SCOPE, names, &err), &err);
        must(tc_warehouse_commit(first == 0 ? w : other, &err), &err);
        must(tc_warehouse_commit(first == 0 ? other : w, &err), &err);
        expect(w, SLICES, first == 0 ? "n0 run-a time\n" : "n0 run-a time\nn1 run-a time\n");
        tc_rows_destroy(rows);
        tc_rows_destroy(names);
        tc_warehouse_close(other);
        tc_warehouse_close(w);
    }
}

/* A database of version 1: verdicts in a table of their own name, slices without run_found. */
static void an_older_database_gets_its_runs(void **state)
{
    static struct tc_table_info tables[TC_TABLE_RUN_SCOPE];
    struct tc__schema first = {1, tables, TC_TABLE_RUN_SCOPE};
    struct tc_warehouse_config config = wh_config(*state, TC_WAREHOUSE_WRITE);
    struct tc_error err = {0};
    void *engine = NULL;
    memcpy(tables, tc__schema.tables, sizeof tables);
    tables[TC_TABLE_REQUEST].name = "no_such_table_then";
    for (size_t i = 0; i < TC_COUNT(tables); i++) {
        while (i != TC_TABLE_REQUEST && tables[i].columns[tables[i].column_count - 1].since > 1) {
            tables[i].column_count--;
        }
    }
    must(tc__duckdb_open_with(&config, &first, &engine, &err), &err);
    struct tc_rows *rows =
        tc_rows_create_for(tables[TC_TABLE_VERDICT].columns, tables[TC_TABLE_VERDICT].column_count);
    struct tc_rows *slices = one(TC_TABLE_SLICE);
    assert_true(rows != NULL && tc_rows_add(rows));
    put(rows, TC_VERDICT_DIGEST, "old");
    put(rows, TC_VERDICT_NODE, "n1");
    tc_rows_int(rows, TC_VERDICT_FIRST_SEEN, T);
    put(slices, TC_SLICE_METRIC, "old");
    put(slices, TC_SLICE_NODE, "n1");
    tc_rows_int(slices, TC_SLICE_START, T);
    tc_rows_int(slices, TC_SLICE_END, T + S);
    must(tc__engine_duckdb.begin(engine, &err), &err);
    must(tc__engine_duckdb.append(engine, TC_TABLE_VERDICT, rows, &err), &err);
    must(tc__engine_duckdb.append(engine, TC_TABLE_SLICE, slices, &err), &err);
    must(tc__engine_duckdb.commit(engine, &err), &err);
    tc__engine_duckdb.close(engine);
    tc_rows_destroy(rows);
    tc_rows_destroy(slices);

    struct tc_warehouse *w = wh_open(*state, TC_WAREHOUSE_WRITE);
    expect(w, VERDICTS, "old - -\n");
    name_with(w, "run-a", "node", "n1", T, T + S);
    expect(w, VERDICTS, "old run-a time\n");
    expect(w, SLICES, "old run-a time\n");
    tc_warehouse_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_equal_in_every_order, wh_setup, wh_teardown),
        cmocka_unit_test_setup_teardown(names_are_tried_from_the_narrowest_on, wh_setup,
                                        wh_teardown),
        cmocka_unit_test_setup_teardown(domains_of_a_node_must_not_differ, wh_setup, wh_teardown),
        cmocka_unit_test_setup_teardown(what_a_row_says_itself_stays, wh_setup, wh_teardown),
        cmocka_unit_test_setup_teardown(a_run_that_is_forgotten_gives_its_rows_back, wh_setup,
                                        wh_teardown),
        cmocka_unit_test_setup_teardown(transactions_at_the_same_time_meet, wh_setup, wh_teardown),
        cmocka_unit_test_setup_teardown(an_older_database_gets_its_runs, wh_setup, wh_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
