/* SPDX-License-Identifier: Apache-2.0 */
/* What else differs between two groups, and when that makes a comparison confounded. */
#include "compare/differs.h"
#include "support/assert_text.h"
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
static struct tc_group groups[2];
static struct tc_differences d;

static int setup(void **state)
{
    int result = wh_setup(state);
    w = wh_open(*state, TC_WAREHOUSE_WRITE);
    return result;
}

static int teardown(void **state)
{
    tc_differences_fini(&d);
    tc_group_fini(&groups[0]);
    tc_group_fini(&groups[1]);
    tc_warehouse_close(w);
    return wh_teardown(state);
}

static void add(const char *id, const char *group, const char *software, const char *hardware,
                const char *variable, int64_t started_s)
{
    cr_add_run(w, &(struct cr_run){.id = id,
                                   .group = group,
                                   .software = software,
                                   .hardware = hardware,
                                   .variable = variable,
                                   .started_s = started_s});
}

static void find(void)
{
    struct tc_error err = {0};
    assert_int_equal(tc_group_find(w, TC_LIT("base"), 0, &groups[0], &err), TC_OK);
    assert_int_equal(tc_group_find(w, TC_LIT("candidate"), 0, &groups[1], &err), TC_OK);
    assert_int_equal(tc_differences_find(&groups[0], &groups[1], &d, &err), TC_OK);
}

static const struct tc_difference *of(const char *column)
{
    for (size_t n = 0; n < d.count; n++) {
        if (strcmp(tc_answer_name(&groups[0].runs, d.items[n].column), column) == 0) {
            return &d.items[n];
        }
    }
    return NULL;
}

static void one_thing_is_what_is_tested(void **state)
{
    (void)state;
    add("a1", "base", "570", "H100", NULL, 1);
    add("a2", "base", "570", "H100", NULL, 3);
    add("b1", "candidate", "580", "H100", NULL, 2);
    add("b2", "candidate", "580", "H100", NULL, 4);
    find();
    assert_int_equal(d.count, 1);
    assert_non_null(of("driver_version"));
    assert_int_equal(of("driver_version")->kind, TC_DIFFERS_BETWEEN);
    assert_false(of("driver_version")->is_expected);
    assert_false(d.is_confounded);
    assert_true(d.is_interleaved);
    assert_false(d.unknown_software);
    assert_true(d.unknown_cluster);
    struct tc_grow text = {0};
    tc_fact_side_put(&text, &groups[1], of("driver_version")->column,
                     &of("driver_version")->sides[1]);
    assert_text(tc_grow_slice(&text), "580");
    tc_grow_fini(&text);
}

static void two_things_without_a_contract_confound(void **state)
{
    (void)state;
    add("a1", "base", "570", "H100", NULL, 1);
    add("b1", "candidate", "580", "H200", NULL, 2);
    find();
    assert_int_equal(d.count, 2);
    assert_true(d.is_confounded);
    assert_false(d.is_interleaved);
}

static void the_variable_under_test_is_expected(void **state)
{
    (void)state;
    add("a1", "base", "570", "H100", "driver_stack", 1);
    add("b1", "candidate", "580", "H100", "driver_stack", 2);
    find();
    assert_true(of("driver_version")->is_expected);
    assert_false(d.is_confounded);
    assert_text(d.variable, "driver_stack");
}

static void more_than_the_variable_confounds(void **state)
{
    (void)state;
    add("a1", "base", "570", "H100", "driver_stack", 1);
    add("b1", "candidate", "580", "H200", "driver_stack", 2);
    find();
    assert_true(of("driver_version")->is_expected);
    assert_false(of("gpu_model")->is_expected);
    assert_true(d.is_confounded);
}

static void what_varies_within_is_said(void **state)
{
    (void)state;
    add("a1", "base", "570", NULL, NULL, 1);
    add("a2", "base", "580", NULL, NULL, 2);
    add("b1", "candidate", "580", NULL, NULL, 3);
    add("b2", "candidate", "570", NULL, NULL, 4);
    find();
    assert_int_equal(of("driver_version")->kind, TC_DIFFERS_WITHIN);
    assert_false(d.is_confounded);
    struct tc_grow text = {0};
    tc_fact_side_put(&text, &groups[0], of("driver_version")->column,
                     &of("driver_version")->sides[0]);
    assert_text(tc_grow_slice(&text), "570 (1 run), 580 (1 run)");
    tc_grow_fini(&text);
}

static void unknown_is_not_another_value(void **state)
{
    (void)state;
    add("a1", "base", NULL, "H100", NULL, 1);
    add("b1", "candidate", "580", "H100", NULL, 2);
    find();
    assert_int_equal(of("driver_version")->kind, TC_DIFFERS_UNKNOWN);
    assert_false(d.is_confounded);
    assert_false(d.unknown_software);
}

static void many_values_are_counted(void **state)
{
    (void)state;
    for (int n = 0; n < 12; n++) {
        char id[16];
        char key[16];
        (void)snprintf(id, sizeof id, "a%d", n);
        (void)snprintf(key, sizeof key, "5%02d", n);
        add(id, "base", key, NULL, NULL, n);
    }
    add("b1", "candidate", "580", NULL, NULL, 20);
    find();
    assert_int_equal(of("driver_version")->sides[0].value_count, TC_FACT_VALUES_MAX);
    assert_int_equal(of("driver_version")->sides[0].more, 4);
    assert_int_equal(of("driver_version")->kind, TC_DIFFERS_BETWEEN);
}

static void variables_have_their_columns(void **state)
{
    (void)state;
    assert_true(tc_variable_has(TC_LIT("runtime_version"), TC_LIT("server_version")));
    assert_true(tc_variable_has(TC_LIT("storage_stack"), TC_LIT("storage_fabric")));
    assert_false(tc_variable_has(TC_LIT("runtime_version"), TC_LIT("driver_version")));
    assert_false(tc_variable_has(TC_LIT("none"), TC_LIT("driver_version")));
    assert_false(tc_variable_has(TC_EMPTY, TC_EMPTY));
    assert_string_equal(tc_differs_name(TC_DIFFERS_BETWEEN), "between");
    assert_string_equal(tc_differs_name(TC_DIFFERS_WITHIN), "within");
    assert_string_equal(tc_differs_name(TC_DIFFERS_UNKNOWN), "unknown");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_thing_is_what_is_tested),
        TEST(two_things_without_a_contract_confound),
        TEST(the_variable_under_test_is_expected),
        TEST(more_than_the_variable_confounds),
        TEST(what_varies_within_is_said),
        TEST(unknown_is_not_another_value),
        TEST(many_values_are_counted),
        cmocka_unit_test(variables_have_their_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
