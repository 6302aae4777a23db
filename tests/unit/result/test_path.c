/* SPDX-License-Identifier: Apache-2.0 */
/* Paths with alternatives, keys that a document is known by, and facts by their table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "result/map.h"
#include "result/result_priv.h"
#include "unit/result/result_testing.h"

static const char DOCUMENT[] =
    "{\"a\": {\"b\": 3, \"n\": null, \"t\": \"7\"}, \"list\": [10, {\"x\": \"word\"}], \"e\": \"\","
    " \"on\": true, \"big\": 1.5, \"fio version\": \"fio-3\", \"gpus\": 8, \"none\": 0}";

static struct tc_json_parser *parser;
static struct tc_json root;

static int set_up(void **state)
{
    (void)state;
    parser = tc_json_parser_create();
    return tc_json_parse(parser, tc_slice_cstr(DOCUMENT), &root, NULL) == TC_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    tc_json_parser_destroy(parser);
    return 0;
}

static void the_first_path_that_has_it_counts(void **state)
{
    (void)state;
    struct tc_json v;
    double number = 0;
    int64_t integer = 0;
    assert_true(tc_map_number_at(root, "e|a/n|a/b|big", &number) && number == 3);
    assert_true(tc_map_number_at(root, "a/t", &number) && number == 7);
    assert_false(tc_map_number_at(root, "e|missing|list", &number));
    assert_true(tc_map_int_at(root, "big|list/0", &integer) && integer == 10);
    assert_false(tc_map_int_at(root, "big", &integer));
    assert_true(tc_slice_eq(tc_map_string_at(root, "e|a/b|list/1/x"), TC_LIT("word")));
    assert_int_equal(tc_map_string_at(root, "e").len, 0);
    assert_true(tc_map_at(root, "", &v));
    assert_false(tc_map_at(root, "a/n|list/2|list/x", &v));
}

static void a_document_is_known_by_its_keys(void **state)
{
    (void)state;
    static const char *const has[] = {
        "a",      "a/b, list/1/x", "zz|a", "a{}, list[]",       "a/n?",     "!zz",
        "!zz|yy", "list/1/x=word", "!a/n", "fio version, a|zz", "!zz{}, e", ""};
    static const char *const lacks[] = {"zz",    "a, zz",       "a/n", "a[]",   "list{}", "!a",
                                        "!zz|a", "list/1/x=wo", "zz?", "a/b{}", "a=3",    "!a/n?"};
    for (size_t i = 0; i < TC_COUNT(has); i++) {
        if (!tc_map_has(root, has[i])) {
            fail_msg("'%s' is not found", has[i]);
        }
    }
    for (size_t i = 0; i < TC_COUNT(lacks); i++) {
        if (tc_map_has(root, lacks[i])) {
            fail_msg("'%s' is found", lacks[i]);
        }
    }
}

static void a_point_has_the_last_names_of_its_paths(void **state)
{
    (void)state;
    char data[128];
    struct tc_buf b = tc_buf_make(data, sizeof data);
    tc_map_point(&b, root, "a/b,zz,on,a/n,list/1/x,big");
    assert_true(tc_slice_eq(tc_buf_slice(&b), TC_LIT("b=3 on=true x=word big=1.5")));
}

static void facts_go_where_their_table_says(void **state)
{
    (void)state;
    static const struct tc_fact FACTS[] = {
        TC_VALUE("a/b", COMPLETED),
        TC_VALUE("gpus", COMPLETED), /* there already */
        TC_VALUE("on", ERRORS),      /* no number: a note */
        TC_VALUE_IN("big", DURATION_S, "ms"),
        TC_FACT("e|list/1/x", WORKLOAD, MODEL),
        TC_FACT("a/b,big", WORKLOAD, DEPLOYMENT),
        TC_FACT("=succeeded", RUN, STATUS),
        TC_FACT("gpus", HARDWARE, GPU_COUNT),
        TC_FACT("none", HARDWARE, NODE_COUNT),
        TC_SINGLE_NAMED("a/t", "seven", "tokens", "tokens_seen"),
        TC_FACTS_END,
    };
    struct tc_result *r = tc__result_create(&tc_reader_vllm);
    assert_non_null(r);
    struct tc_result_row *row = tc_result_add(r, TC_TABLE_SERVING, "%s", "");
    tc_map_values(row, root, FACTS);
    tc_map_facts(r, root, FACTS);
    tc_map_singles(r, TC_EMPTY, root, FACTS, NULL);
    assert_real(row, TC_SERVING_COMPLETED, 3);
    assert_string_equal(row->definitions[TC_SERVING_COMPLETED]->field, "a.b");
    assert_string_equal(row->definitions[TC_SERVING_COMPLETED]->measures, "completed");
    assert_string_equal(row->definitions[TC_SERVING_COMPLETED]->source_unit, "requests");
    assert_real(row, TC_SERVING_DURATION_S, 0.0015);
    assert_unknown(row, TC_SERVING_ERRORS);
    assert_true(has_note(r, "is no number", false));
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL, "word");
    assert_fact(r, TC_TABLE_WORKLOAD, TC_WORKLOAD_DEPLOYMENT, "b=3 big=1.5");
    assert_fact(r, TC_TABLE_RUN, TC_RUN_STATUS, "succeeded");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_COUNT, "8");
    assert_fact(r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, "");
    assert_real(find_slice(r, "seven", "", 0), TC_SLICE_LAST, 7);
    assert_int_equal(tc_result_rows(r), 2);
    tc_result_destroy(r);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_first_path_that_has_it_counts),
        TEST(a_document_is_known_by_its_keys),
        TEST(a_point_has_the_last_names_of_its_paths),
        TEST(facts_go_where_their_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
