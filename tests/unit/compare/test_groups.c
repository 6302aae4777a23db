/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs a word stands for: ids, groups, names, starts, conditions; and what it may not do. */
#include "compare/groups.h"
#include "support/compare_rows.h"
#include "support/warehouse_room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct tc_warehouse *w;

static int setup(void **state)
{
    static const struct cr_run runs[] = {
        {.id = "run-a1", .name = "nightly", .group = "base", .started_s = 30, .software = "570"},
        {.id = "run-a2", .name = "nightly", .group = "base", .started_s = 10, .software = "570"},
        {.id = "run-a3",
         .name = "nightly",
         .group = "base",
         .started_s = 20,
         .software = "570",
         .status = "failed"},
        {.id = "run-b1",
         .name = "nightly",
         .group = "candidate",
         .started_s = 40,
         .software = "580",
         .variable = "driver_stack",
         .min_replicates = 5,
         .confidence = 0.99},
        {.id = "run-b2",
         .name = "nightly",
         .group = "candidate",
         .started_s = 50,
         .software = "580",
         .variable = "driver_stack",
         .min_replicates = 3,
         .confidence = 0.9,
         .not_a_replicate = 1},
        {.id = "run-c1", .name = "it's \"odd\" = 1", .group = "odd", .status = "incomplete"},
        {.id = "run-c2", .name = "it's \"odd\" = 1", .group = "odd", .started_s = 60},
        {.id = "base", .name = "confusing", .group = "run-a1", .started_s = 70},
    };
    int result = wh_setup(state);
    w = wh_open(*state, TC_WAREHOUSE_WRITE);
    for (size_t n = 0; n < TC_COUNT(runs); n++) {
        cr_add_run(w, &runs[n]);
    }
    return result;
}

static int teardown(void **state)
{
    tc_warehouse_close(w);
    return wh_teardown(state);
}

/* The ids that a word means, in order; or the error's message. */
static const char *found(const char *word, unsigned flags, enum tc_group_kind kind)
{
    static char text[512];
    struct tc_group g;
    struct tc_error err = {0};
    size_t len = 0;
    if (tc_group_find(w, tc_slice_cstr(word), flags, &g, &err) != TC_OK) {
        (void)snprintf(text, sizeof text, "%s", err.message);
        return text;
    }
    assert_int_equal(g.kind, kind);
    text[0] = '\0';
    for (size_t n = 0; n < g.run_count; n++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.*s", n == 0 ? "" : " ",
                                TC_FMT(tc_group_text(&g, n, TC_GROUP_RUN_ID)));
    }
    tc_group_fini(&g);
    return text;
}

static void the_surest_meaning_counts(void **state)
{
    (void)state;
    assert_string_equal(found("run-a1", 0, TC_GROUP_RUN), "run-a1");
    assert_string_equal(found("base", 0, TC_GROUP_RUN), "base");
    assert_string_equal(found("candidate", 0, TC_GROUP_REPLICATES), "run-b1 run-b2");
    assert_string_equal(found("nightly", 0, TC_GROUP_NAME), "run-a2 run-a1 run-b1 run-b2");
}

static void a_name_with_quotes_and_operators_is_a_name(void **state)
{
    (void)state;
    assert_string_equal(found("it's \"odd\" = 1", 0, TC_GROUP_NAME), "run-c2");
}

static void the_start_counts_if_it_is_of_one_thing(void **state)
{
    (void)state;
    assert_string_equal(found("run-c2", 0, TC_GROUP_RUN), "run-c2");
    assert_string_equal(found("cand", 0, TC_GROUP_REPLICATES), "run-b1 run-b2");
    assert_string_equal(found("nigh", 0, TC_GROUP_NAME), "run-a2 run-a1 run-b1 run-b2");
    assert_string_equal(found("run-b", 0, TC_GROUP_RUN),
                        "\"run-b\" is the start of 2: run-b1, run-b2; give more of it");
    assert_string_equal(found("run-", 0, TC_GROUP_RUN),
                        "\"run-\" is the start of 7: run-a1, run-a2, run-a3, run-b1, …; give more "
                        "of it");
    assert_string_equal(found("run-%", 0, TC_GROUP_RUN),
                        "there is no run, group or name \"run-%\"; did you mean \"run-a1\"?");
}

static void what_failed_is_left_out_and_counted(void **state)
{
    (void)state;
    struct tc_group g;
    struct tc_error err = {0};
    assert_int_equal(tc_group_find(w, TC_LIT("software_key = '570'"), 0, &g, &err), TC_OK);
    assert_int_equal(g.run_count, 2);
    assert_int_equal(g.left_out, 1);
    tc_group_fini(&g);
    assert_string_equal(found("software_key = '570'", TC_GROUP_WITH_FAILED, TC_GROUP_CONDITION),
                        "run-a2 run-a1 run-a3");
    assert_string_equal(found("run-a3", 0, TC_GROUP_RUN),
                        "\"run-a3\": the run failed or is not complete");
    assert_string_equal(found("status = 'failed' OR status = 'incomplete'", 0, TC_GROUP_CONDITION),
                        "\"status = 'failed' OR status = 'incomplete'\": all runs failed or are "
                        "not complete");
    assert_string_equal(found("run-a3", TC_GROUP_WITH_FAILED, TC_GROUP_RUN), "run-a3");
}

static void conditions_reach_the_dimensions(void **state)
{
    (void)state;
    assert_string_equal(found("driver_version = '580'", 0, TC_GROUP_CONDITION), "run-b1 run-b2");
    assert_string_equal(found("replicate_group IN (SELECT replicate_group FROM benchmark_run_fact "
                              "WHERE run_id = 'run-b1') -- those",
                              0, TC_GROUP_CONDITION),
                        "run-b1 run-b2");
    assert_string_equal(found("name = 'none'", 0, TC_GROUP_CONDITION),
                        "no run fulfils the condition name = 'none'");
}

static void a_condition_is_one_expression_that_reads(void **state)
{
    (void)state;
    static const char *const attacks[] = {
        "1=1) UNION SELECT * FROM benchmark_run_fact WHERE (1=1",
        "1=1) --",
        "1=1) /*",
        "1=1 THEN 1 END FROM benchmark_run_fact --",
        "1=1 THEN 1 WHEN 2=2",
        "1=1; DROP TABLE benchmark_run_fact",
        "1=1); DROP TABLE benchmark_run_fact; SELECT (1",
        "1=1 ORDER BY 1",
        "1=1 LIMIT 1",
        "SELECT true",
        "run_id = 'unfinished",
        "run_id = ?",
        "run_id = $1",
        "length((SELECT content FROM read_text('/etc/passwd'))) > 0",
        "getenv('HOME') = '/root'",
        "run_id = (SELECT 1 FROM '/etc/passwd')",
        "no_such_column = 1",
        "(((",
    };
    for (size_t n = 0; n < TC_COUNT(attacks); n++) {
        struct tc_group g;
        struct tc_error err = {0};
        assert_int_equal(tc_group_find(w, tc_slice_cstr(attacks[n]), 0, &g, &err), TC_E_USAGE);
        assert_non_null(strstr(err.message, "nor is it a condition: "));
    }
    assert_int_equal(wh_count(w, "SELECT count(*) FROM benchmark_run_fact"), 8);
}

static void unknown_words_get_a_suggestion(void **state)
{
    (void)state;
    assert_string_equal(found("candidat3", 0, TC_GROUP_RUN),
                        "there is no run, group or name \"candidat3\"; did you mean "
                        "\"candidate\"?");
    assert_string_equal(found("zzzzzzzzzzzzzz", 0, TC_GROUP_RUN),
                        "there is no run, group or name \"zzzzzzzzzzzzzz\"; `tracecore run list` "
                        "shows those there are");
    assert_string_equal(found("", 0, TC_GROUP_RUN),
                        "which runs? An id, a replicate group, a name, or a condition");
}

static void contracts_are_summed_up(void **state)
{
    (void)state;
    struct tc_group g;
    struct tc_error err = {0};
    struct tc_grow text = {0};
    assert_int_equal(tc_group_find(w, TC_LIT("cand"), 0, &g, &err), TC_OK);
    assert_int_equal(g.min_replicates, 5);
    assert_true(g.confidence_level == 0.99);
    assert_true(tc_slice_eq(g.variable, TC_LIT("driver_stack")));
    assert_int_equal(g.no_replicates, 1);
    tc_group_describe(&g, &text);
    assert_true(tc_slice_eq(tc_grow_slice(&text), TC_LIT("group candidate")));
    tc_grow_fini(&text);
    tc_group_fini(&g);
}

static void columns_belong_to_parts(void **state)
{
    (void)state;
    struct tc_group g;
    struct tc_error err = {0};
    assert_int_equal(tc_group_find(w, TC_LIT("run-a1"), 0, &g, &err), TC_OK);
    assert_int_equal(g.runs.column_count, tc_group_column_count());
    for (size_t c = TC_GROUP_FACTS; c < g.runs.column_count; c++) {
        const char *name = tc_answer_name(&g.runs, c);
        const char *part = tc_group_part(c);
        if (strcmp(name, "driver_version") == 0) {
            assert_string_equal(part, "software");
            assert_true(tc_slice_eq(tc_answer_text(&g.runs, 0, c), TC_LIT("570")));
        } else if (strcmp(name, "gpu_model") == 0) {
            assert_string_equal(part, "hardware");
        } else if (strcmp(name, "zone") == 0) {
            assert_string_equal(part, "cluster");
        } else if (strcmp(name, "model") == 0) {
            assert_string_equal(part, "workload");
        } else if (strcmp(name, "scheduler_path") == 0) {
            assert_string_equal(part, "run");
        }
    }
    tc_group_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_surest_meaning_counts),
        cmocka_unit_test(a_name_with_quotes_and_operators_is_a_name),
        cmocka_unit_test(the_start_counts_if_it_is_of_one_thing),
        cmocka_unit_test(what_failed_is_left_out_and_counted),
        cmocka_unit_test(conditions_reach_the_dimensions),
        cmocka_unit_test(a_condition_is_one_expression_that_reads),
        cmocka_unit_test(unknown_words_get_a_suggestion),
        cmocka_unit_test(contracts_are_summed_up),
        cmocka_unit_test(columns_belong_to_parts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
