/* SPDX-License-Identifier: Apache-2.0 */
/* The pivot on a warehouse: points, what stands out among its peers, a node and its evidence. */
#include "diagnose/pivot.h"

#include "diagnose/base.h"
#include "diagnose/diagnose.h"
#include "support/warehouse_room.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define START_US INT64_C(1772589600000000)
#define MINUTE_US INT64_C(60000000)

static struct tc_warehouse *w;

static void put_text(struct tc_rows *rows, size_t column, const char *text)
{
    if (text != NULL) {
        assert_int_equal(tc_rows_text(rows, column, tc_slice_cstr(text)), TC_OK);
    }
}

static void append(enum tc_table table, struct tc_rows *rows)
{
    struct tc_error err;
    assert_int_equal(tc_warehouse_append(w, table, rows, &err), TC_OK);
    tc_rows_destroy(rows);
}

static void add_run(const char *id, const char *name, int64_t start_us, double p99)
{
    struct tc_rows *rows = tc_rows_create(TC_TABLE_RUN);
    assert_true(tc_rows_add(rows));
    put_text(rows, TC_RUN_RUN_ID, id);
    put_text(rows, TC_RUN_NAME, name);
    put_text(rows, TC_RUN_CASE_ID, "case-1");
    put_text(rows, TC_RUN_STATUS, "succeeded");
    put_text(rows, TC_RUN_REPLICATE_GROUP, "group-1");
    put_text(rows, TC_RUN_TOOLS, "[\"vllm\"]");
    tc_rows_int(rows, TC_RUN_STARTED, start_us);
    append(TC_TABLE_RUN, rows);
    rows = tc_rows_create(TC_TABLE_SERVING);
    for (int concurrency = 16; concurrency <= 64; concurrency += 48) {
        assert_true(tc_rows_add(rows));
        put_text(rows, TC_SERVING_RUN_ID, id);
        put_text(rows, TC_SERVING_TOOL, "vllm");
        put_text(rows, TC_SERVING_DEFINITIONS,
                 "{\"e2e_p99_ms\":\"vllm:p99\",\"e2e_mean_ms\":\"vllm:mean\"}");
        put_text(rows, TC_SERVING_WORKLOAD_POINT, "in=8 out=8");
        tc_rows_real(rows, TC_SERVING_CONCURRENCY, concurrency);
        tc_rows_int(rows, TC_SERVING_STARTED, start_us + (concurrency == 64 ? 5 : 0) * MINUTE_US);
        tc_rows_int(rows, TC_SERVING_ENDED, start_us + (concurrency == 64 ? 10 : 5) * MINUTE_US);
        tc_rows_real(rows, TC_SERVING_E2E_P99, concurrency == 64 ? p99 : 100);
        tc_rows_real(rows, TC_SERVING_E2E_MEAN, 50);
    }
    append(TC_TABLE_SERVING, rows);
}

/* Ten minutes of one metric of a GPU, in two files: `late` from the sixth minute on, where what
 * changes is lower in the file that has fewer of them. */
static void add_gpu(const char *run, int64_t start_us, const char *metric, const char *node,
                    int gpu, double early, double late)
{
    struct tc_rows *rows = tc_rows_create(TC_TABLE_SLICE);
    char uuid[40];
    (void)snprintf(uuid, sizeof uuid, "GPU-%s-%d", node, gpu);
    for (int minute = 0; minute < 10; minute++) {
        bool fewer = minute % 3 == 0; /* two of the last five */
        double value = minute < 5 ? early : early == late ? late : late + (fewer ? -60 : 40);
        assert_true(tc_rows_add(rows));
        put_text(rows, TC_SLICE_RUN_ID, run);
        tc_rows_int(rows, TC_SLICE_START, start_us + minute * MINUTE_US);
        tc_rows_int(rows, TC_SLICE_END, start_us + (minute + 1) * MINUTE_US);
        put_text(rows, TC_SLICE_FAMILY, "dcgm");
        put_text(rows, TC_SLICE_METRIC, metric);
        put_text(rows, TC_SLICE_NODE, node);
        put_text(rows, TC_SLICE_GPU, uuid);
        put_text(rows, TC_SLICE_JOIN, strcmp(node, "n3") == 0 ? "time" : "given");
        put_text(rows, TC_SLICE_SOURCE_DIGEST, fewer ? "sha256:0" : "sha256:1");
        tc_rows_int(rows, TC_SLICE_COUNT, 4);
        tc_rows_real(rows, TC_SLICE_MEAN, value);
        tc_rows_real(rows, TC_SLICE_MIN, value);
        tc_rows_real(rows, TC_SLICE_MAX, value);
    }
    append(TC_TABLE_SLICE, rows);
}

static void add_verdict(const char *run, const char *node, int64_t seen_us)
{
    struct tc_rows *rows = tc_rows_create(TC_TABLE_VERDICT);
    assert_true(tc_rows_add(rows));
    put_text(rows, TC_VERDICT_INCIDENT_ID, "incident-1");
    put_text(rows, TC_VERDICT_PATTERN, "thermal_throttle");
    put_text(rows, TC_VERDICT_HEADLINE, "hot");
    put_text(rows, TC_VERDICT_RUN_ID, run);
    put_text(rows, TC_VERDICT_NODE, node);
    tc_rows_int(rows, TC_VERDICT_FIRST_SEEN, seen_us);
    append(TC_TABLE_VERDICT, rows);
}

static int fill(void **state)
{
    struct tc_error err;
    assert_int_equal(wh_setup(state), 0);
    w = wh_open(*state, TC_WAREHOUSE_WRITE);
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
    static const char *const nodes[] = {"n1", "n2", "n3"};
    add_run("run-base", "night", START_US, 200);
    add_run("run-slow", "night", START_US + 60 * MINUTE_US, 500);
    for (int n = 0; n < 3; n++) {
        for (int gpu = 0; gpu < 2; gpu++) {
            bool hot = n == 1 && gpu == 1;
            add_gpu("run-base", START_US, "gpu_sm_clock", nodes[n], gpu, 1980, 1980);
            add_gpu("run-slow", START_US + 60 * MINUTE_US, "gpu_sm_clock", nodes[n], gpu, 1980,
                    hot ? 1200 : 1980);
        }
    }
    /* Only two of them have this: they are set against the base's six. */
    add_gpu("run-slow", START_US + 60 * MINUTE_US, "gpu_temperature", "n3", 0, 60, 60);
    add_gpu("run-slow", START_US + 60 * MINUTE_US, "gpu_temperature", "n3", 1, 80, 80);
    for (int n = 0; n < 3; n++) {
        for (int gpu = 0; gpu < 2; gpu++) {
            add_gpu("run-base", START_US, "gpu_temperature", nodes[n], gpu, 60 + gpu, 60 + gpu);
        }
    }
    add_verdict("run-slow", "n2", START_US + 66 * MINUTE_US);
    assert_int_equal(tc_warehouse_commit(w, &err), TC_OK);
    return 0;
}

static int drop(void **state)
{
    tc_warehouse_close(w);
    return wh_teardown(state);
}

struct found {
    struct tc_group run;
    struct tc_group base;
    struct tc_points points;
};

static struct found find(const char *base)
{
    struct found f = {0};
    struct tc_error err = {0};
    assert_int_equal(tc_one_run_find(w, TC_LIT("run-slow"), &f.run, &err), TC_OK);
    assert_int_equal(tc_base_find(w, &f.run, tc_slice_cstr(base), &f.base, &err), TC_OK);
    assert_int_equal(tc_points_read(w, &f.run, &f.base, &f.points, &err), TC_OK);
    return f;
}

static void forget(struct found *f)
{
    tc_points_fini(&f->points);
    tc_group_fini(&f->run);
    tc_group_fini(&f->base);
}

static void the_worst_point_comes_first_with_its_time(void **state)
{
    (void)state;
    struct found f = find("run-base");
    assert_int_equal(f.points.point_count, 2);
    assert_true(f.points.points[0].worst == 2.5);
    assert_true(f.points.points[1].worst == 1);
    assert_int_equal(f.points.points[0].started_us, START_US + 65 * MINUTE_US);
    const struct tc_outcome *p99 = tc_points_outcome(&f.points, 0, "e2e_p99_ms");
    assert_true(p99 != NULL && p99->is_worse && p99->run == 500 && p99->base == 200);
    const struct tc_outcome *mean = tc_points_outcome(&f.points, 0, "e2e_mean_ms");
    assert_true(mean != NULL && !mean->is_worse && mean->ratio == 1);
    assert_null(tc_points_outcome(&f.points, 0, "itl_p99_ms"));
    forget(&f);
}

static void a_base_is_never_the_run_itself(void **state)
{
    (void)state;
    static const char *const words[] = {"night", "group-1", "", "name = 'night'", "run-base"};
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        struct found f = find(words[i]);
        assert_int_equal(f.base.run_count, 1);
        assert_memory_equal(tc_group_text(&f.base, 0, TC_GROUP_RUN_ID).ptr, "run-base", 8);
        assert_memory_equal(tc_base_word(&f.base).ptr, i == 2 ? "run-base" : words[i],
                            strlen(i == 2 ? "run-base" : words[i]));
        forget(&f);
    }
    struct tc_group run;
    struct tc_group base;
    struct tc_error err = {0};
    assert_int_equal(tc_one_run_find(w, TC_LIT("run-slow"), &run, &err), TC_OK);
    assert_int_equal(tc_base_find(w, &run, TC_LIT("run-slow"), &base, &err), TC_E_USAGE);
    assert_non_null(strstr(err.message, "the run itself"));
    tc_group_fini(&run);
    assert_int_equal(tc_one_run_find(w, TC_LIT("night"), &run, &err), TC_E_NOTFOUND);
    assert_non_null(strstr(err.message, "means 2 runs"));
}

static struct tc_pivot look(const struct found *f, size_t point, const char *node)
{
    struct tc_pivot p;
    struct tc_error err = {0};
    struct tc_pivot_want want = {.run_id = tc_group_text(&f->run, 0, TC_GROUP_RUN_ID),
                                 .base = &f->base,
                                 .point = point < f->points.point_count ? &f->points.points[point]
                                                                        : NULL,
                                 .node = tc_slice_cstr(node)};
    assert_int_equal(tc_pivot_read(w, &want, &p, &err), TC_OK);
    return p;
}

static void what_stands_out_does_so_in_the_time_of_the_point(void **state)
{
    (void)state;
    struct found f = find("run-base");
    struct tc_pivot p = look(&f, 0, NULL);
    assert_int_equal(p.read, 8);
    assert_int_equal(p.unjudged, 0);
    assert_int_equal(p.series_count, 2);
    assert_memory_equal(p.series[0].gpu.ptr, "GPU-n2-1", 8);
    assert_true(p.series[0].z < -30 && p.series[0].value == 1200 && p.series[0].median == 1980);
    assert_int_equal(p.series[0].peers, TC_PEERS_RUN);
    assert_int_equal(p.series[0].peer_count, 6);
    assert_false(p.series[0].is_fuzzy);
    /* With two of a kind, the base's are the peers. */
    assert_memory_equal(p.series[1].gpu.ptr, "GPU-n3-1", 8);
    assert_int_equal(p.series[1].peers, TC_PEERS_BASE);
    assert_int_equal(p.series[1].peer_count, 6);
    assert_true(p.series[1].is_fuzzy);
    assert_int_equal(p.incidents.row_count, 1);
    tc_pivot_fini(&p);
    /* In the first five minutes all clocks were the same, and the incident was still to come. */
    p = look(&f, 1, NULL);
    assert_int_equal(p.series_count, 1);
    assert_memory_equal(p.series[0].gpu.ptr, "GPU-n3-1", 8);
    assert_int_equal(p.incidents.row_count, 0);
    tc_pivot_fini(&p);
    forget(&f);
}

static void a_node_is_shown_whole(void **state)
{
    (void)state;
    struct found f = find("run-base");
    struct tc_pivot p = look(&f, 0, "n2");
    assert_int_equal(p.series_count, 2);
    assert_memory_equal(p.series[0].gpu.ptr, "GPU-n2-1", 8);
    assert_true(p.series[1].z == 0);
    assert_memory_equal(p.series[1].digest.ptr, "sha256:1", 8);
    assert_int_equal(p.incidents.row_count, 1);
    tc_pivot_fini(&p);
    p = look(&f, 99, "n1");
    assert_int_equal(p.series_count, 2);
    assert_int_equal(p.incidents.row_count, 0);
    tc_pivot_fini(&p);
    p = look(&f, 0, "nowhere");
    assert_int_equal(p.series_count, 0);
    tc_pivot_fini(&p);
    forget(&f);
}

/* The tail doubled; of all checks only the detector's verdict and the clock have something, and
 * that is another playbook's. */
static void a_verdict_is_evidence_of_its_check(void **state)
{
    struct tc_diagnosis *d = NULL;
    struct tc_error err = {0};
    (void)state;
    struct found f = find("run-base");
    assert_int_equal(tc_diagnose(w, TC_LIT("run-slow"), &f.base, &d, &err), TC_OK);
    assert_int_equal(d->playbooks[0].recognised, TC_RECOGNISED_YES);
    assert_false(d->has_answer);
    assert_int_equal(d->hypothesis_count, 1);
    assert_string_equal(tc_check_name(d->hypotheses[0].check->info), "thermal");
    assert_memory_equal(d->hypotheses[0].check->verdict.ptr, "incident-1", 10);
    assert_memory_equal(d->hypotheses[0].check->where.node.ptr, "n2", 2);
    assert_int_equal(d->hypotheses[0].confidence, TC_SURENESS_LOW);
    struct tc_grow text = {0};
    tc_hypothesis_experiment(d, &d->hypotheses[0], &text);
    assert_non_null(memmem(text.buf.data, text.buf.len, "cordon n2", 9));
    tc_grow_fini(&text);
    tc_diagnosis_destroy(d);
    assert_int_equal(tc_diagnose(w, TC_LIT("run-none"), NULL, &d, &err), TC_E_NOTFOUND);
    forget(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_point_comes_first_with_its_time),
        cmocka_unit_test(a_base_is_never_the_run_itself),
        cmocka_unit_test(what_stands_out_does_so_in_the_time_of_the_point),
        cmocka_unit_test(a_node_is_shown_whole),
        cmocka_unit_test(a_verdict_is_evidence_of_its_check),
    };
    return cmocka_run_group_tests(tests, fill, drop);
}
