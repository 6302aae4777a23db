/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/json.h"

#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

static struct tc_json_parser *parser;

static int setup(void **state)
{
    (void)state;
    parser = tc_json_parser_create();
    return parser == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    tc_json_parser_destroy(parser);
    return 0;
}

static struct tc_json parse(const char *text)
{
    struct tc_json root = {0};
    struct tc_error err = {0};
    if (tc_json_parse(parser, tc_slice_cstr(text), &root, &err) != TC_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    return root;
}

static void assert_string(struct tc_json v, struct tc_slice want)
{
    struct tc_slice got;
    assert_true(tc_json_string(v, &got));
    assert_true(tc_slice_eq(got, want));
}

static void every_type_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum tc_json_type type;
    } cases[] = {
        {"null", TC_JSON_NULL},
        {"true", TC_JSON_BOOL},
        {"false", TC_JSON_BOOL},
        {"0", TC_JSON_INT},
        {"9223372036854775807", TC_JSON_INT},
        {"-9223372036854775808", TC_JSON_INT},
        {"9223372036854775808", TC_JSON_UINT},
        {"18446744073709551615", TC_JSON_UINT},
        {"1.0", TC_JSON_DOUBLE},
        {"1e3", TC_JSON_DOUBLE},
        {"\"\"", TC_JSON_STRING},
        {"[]", TC_JSON_ARRAY},
        {"{}", TC_JSON_OBJECT},
        {" \t\r\n7 ", TC_JSON_INT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(tc_json_type(parse(cases[i].text)), cases[i].type);
    }
}

static void what_is_not_json_is_malformed_and_leaves_the_result_alone(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        " ",
        "{",
        "[",
        "[1",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\"}",
        "{a:1}",
        "nul",
        "tru",
        "01",
        "+1",
        "1.",
        ".5",
        "1e",
        "--1",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "[1 2]",
        "1 2",
        "{}{}",
        "\"a\nb\"",
        "\"\xff\"",
        "]",
        "1e999",
        "\"\xed\xa0\x80\"",
        "NaN",
        "Infinity",
        "18446744073709551616999",
        "'a'",
        "// x\n1",
        "\"\\ud800\"",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_json root = {NULL, 77};
        struct tc_error err = {0};
        tc_status status = tc_json_parse(parser, tc_slice_cstr(cases[i]), &root, &err);
        if (status != TC_E_MALFORMED) {
            fail_msg("%s: status %d", cases[i], status);
        }
        assert_int_equal(err.status, TC_E_MALFORMED);
        assert_true(strlen(err.message) > 0);
        assert_int_equal(root.at, 77);
        assert_int_equal(tc_json_parse(parser, tc_slice_cstr(cases[i]), &root, NULL),
                         TC_E_MALFORMED);
    }
    assert_int_equal(tc_json_type(parse("1")), TC_JSON_INT); /* the parser goes on after errors */
}

static tc_status parse_nested(size_t levels, struct tc_error *err)
{
    char text[2 * TC_JSON_DEPTH_MAX + 64];
    struct tc_json root;
    memset(text, '[', levels);
    memset(text + levels, ']', levels);
    return tc_json_parse(parser, tc_slice_make(text, 2 * levels), &root, err);
}

static void nesting_up_to_the_limit_and_one_more(void **state)
{
    (void)state;
    struct tc_error err = {0};
    assert_int_equal(parse_nested(TC_JSON_DEPTH_MAX, &err), TC_OK);
    assert_int_equal(parse_nested(TC_JSON_DEPTH_MAX + 1, &err), TC_E_LIMIT);
    assert_int_equal(err.status, TC_E_LIMIT);
}

/* A document that makes the parser grow must not make it forget the depth. */
static void the_depth_limit_survives_growth(void **state)
{
    (void)state;
    struct tc_error err = {0};
    size_t len = 100000;
    char *big = malloc(len);
    assert_non_null(big);
    memset(big, ' ', len);
    big[0] = '[';
    big[len - 1] = ']';
    struct tc_json root;
    assert_int_equal(tc_json_parse(parser, tc_slice_make(big, len), &root, &err), TC_OK);
    memset(big + 1000, '[', TC_JSON_DEPTH_MAX + 1);
    memset(big + 2000, ']', TC_JSON_DEPTH_MAX + 1);
    assert_int_equal(tc_json_parse(parser, tc_slice_make(big, len), &root, &err), TC_E_LIMIT);
    free(big);
    assert_int_equal(parse_nested(TC_JSON_DEPTH_MAX + 1, &err), TC_E_LIMIT);
    assert_int_equal(parse_nested(TC_JSON_DEPTH_MAX, &err), TC_OK);
}

static void a_document_above_the_limit_is_refused_unread(void **state)
{
    (void)state;
    struct tc_json root;
    struct tc_error err = {0};
    /* The length alone decides: the bytes are never looked at. */
    struct tc_slice s = tc_slice_make("1", TC_JSON_DOCUMENT_MAX + 1);
    assert_int_equal(tc_json_parse(parser, s, &root, &err), TC_E_LIMIT);
    assert_int_equal(err.status, TC_E_LIMIT);
}

/* On the heap, so that AddressSanitizer sees it when the parser reads behind the text. */
static void text_needs_no_room_behind_it(void **state)
{
    (void)state;
    for (size_t len = 2; len < 200; len++) {
        char *text = malloc(len);
        struct tc_json root;
        assert_non_null(text);
        memset(text, 'x', len);
        text[0] = '"';
        text[len - 1] = '"';
        assert_int_equal(tc_json_parse(parser, tc_slice_make(text, len), &root, NULL), TC_OK);
        free(text);
        struct tc_slice s;
        assert_true(tc_json_string(root, &s)); /* it was copied */
        assert_int_equal(s.len, len - 2);
    }
}

static void members_are_found_by_name(void **state)
{
    (void)state;
    struct tc_json v = {0};
    struct tc_json root = parse("{\"a\":1,\"b\":\"x\",\"a\":2,\"\":3,\"c\\n\":4,\"n\":null}");
    int64_t i = 0;
    assert_true(tc_json_get(root, TC_LIT("a"), &v));
    assert_true(tc_json_int(v, &i));
    assert_int_equal(i, 1); /* the first of them */
    assert_true(tc_json_get(root, TC_LIT(""), &v));
    assert_true(tc_json_get(root, TC_EMPTY, &v));
    assert_true(tc_json_get(root, TC_LIT("n"), &v));
    assert_int_equal(tc_json_type(v), TC_JSON_NULL);
    size_t at = v.at;
    assert_false(tc_json_get(root, TC_LIT("A"), &v));
    assert_false(tc_json_get(parse("[1]"), TC_LIT("a"), &v));
    assert_false(tc_json_get(parse("1"), TC_LIT("a"), &v));
    assert_int_equal(v.at, at);
}

static void strings_are_unescaped_and_may_hold_anything(void **state)
{
    (void)state;
    assert_string(parse("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\""), TC_LIT("a\"\\/\b\f\n\r\t"));
    assert_string(parse("\"\\u0000x\\u00e9\\ud83d\\udca5\""),
                  TC_LIT("\0x\xc3\xa9\xf0\x9f\x92\xa5"));
    assert_string(parse("\"\xc3\xa9\""), TC_LIT("\xc3\xa9"));
}

static void readers_refuse_other_types_and_leave_the_result_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {"null", "true",  "5",  "9223372036854775808",
                                        "5.5",  "\"s\"", "[]", "{}"};
    static const struct {
        bool string, boolean, number, integer;
    } want[] = {
        {false, false, false, false}, {false, true, false, false},  {false, false, true, true},
        {false, false, true, false},  {false, false, true, false},  {true, false, false, false},
        {false, false, false, false}, {false, false, false, false},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct tc_json v = parse(texts[i]);
        struct tc_slice s = TC_LIT("kept");
        bool b = false;
        double d = 77;
        int64_t n = 77;
        assert_int_equal(tc_json_string(v, &s), want[i].string);
        assert_int_equal(tc_json_bool(v, &b), want[i].boolean);
        assert_int_equal(tc_json_double(v, &d), want[i].number);
        assert_int_equal(tc_json_int(v, &n), want[i].integer);
        assert_true(want[i].string || tc_slice_eq(s, TC_LIT("kept")));
        assert_true(want[i].number || d == 77);
        assert_true(want[i].integer || n == 77);
    }
}

static void integers_come_as_numbers_whole_doubles_and_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"1e3", true, 1000},
        {"-2.0", true, -2},
        {"2.5", false, 0},
        {"9.1e18", true, 9100000000000000000},
        {"9.3e18", false, 0},
        {"-9.3e18", false, 0},
        {"1e300", false, 0},
        {"\"12\"", true, 12},
        {"\"-9223372036854775808\"", true, INT64_MIN},
        {"\"9223372036854775808\"", false, 0},
        {"\"12x\"", false, 0},
        {"\"\"", false, 0},
        {"\"1.0\"", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t v = 77;
        assert_int_equal(tc_json_int(parse(cases[i].text), &v), cases[i].ok);
        assert_true(v == (cases[i].ok ? cases[i].value : 77));
    }
}

static void members_of_another_type_count_as_absent(void **state)
{
    (void)state;
    struct tc_json root = parse("{\"s\":\"x\",\"i\":5,\"t\":\"7\",\"a\":[]}");
    assert_true(tc_slice_eq(tc_json_get_string(root, TC_LIT("s")), TC_LIT("x")));
    assert_int_equal(tc_json_get_string(root, TC_LIT("i")).len, 0);
    assert_int_equal(tc_json_get_string(root, TC_LIT("no")).len, 0);
    assert_int_equal(tc_json_get_int(root, TC_LIT("i"), -1), 5);
    assert_int_equal(tc_json_get_int(root, TC_LIT("t"), -1), 7);
    assert_int_equal(tc_json_get_int(root, TC_LIT("s"), -1), -1);
    assert_int_equal(tc_json_get_int(root, TC_LIT("no"), -2), -2);
    assert_int_equal(tc_json_get_int(root, TC_LIT("a"), -3), -3);
}

static void walking_visits_members_and_elements_in_order(void **state)
{
    (void)state;
    struct tc_json root = parse("{\"a\":1,\"b\":[10,[20,21],{\"x\":0},30],\"c\":{},\"d\":[]}");
    static const char *const keys[] = {"a", "b", "c", "d"};
    struct tc_json_iter it = tc_json_iter_make(root);
    struct tc_json v;
    struct tc_slice key;
    struct tc_json list = {0};
    size_t n = 0;
    while (tc_json_iter_next(&it, &key, &v)) {
        assert_true(n < 4 && tc_slice_eq(key, tc_slice_cstr(keys[n])));
        if (n == 1) {
            list = v;
        } else if (n > 1) {
            struct tc_json_iter inner = tc_json_iter_make(v);
            assert_false(tc_json_iter_next(&inner, &key, &v));
        }
        n++;
    }
    assert_int_equal(n, 4);
    assert_false(tc_json_iter_next(&it, &key, &v)); /* and stays at its end */

    static const enum tc_json_type types[] = {TC_JSON_INT, TC_JSON_ARRAY, TC_JSON_OBJECT,
                                              TC_JSON_INT};
    it = tc_json_iter_make(list);
    for (n = 0; tc_json_iter_next(&it, &key, &v); n++) {
        assert_true(n < 4 && key.len == 0);
        assert_int_equal(tc_json_type(v), types[n]);
    }
    assert_int_equal(n, 4);
    it = tc_json_iter_make(list);
    assert_true(tc_json_iter_next(&it, NULL, &v)); /* without asking for the key */
}

static void walking_a_scalar_ends_at_once(void **state)
{
    (void)state;
    static const char *const texts[] = {"null", "true", "5", "5.5", "\"s\""};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct tc_json_iter it = tc_json_iter_make(parse(texts[i]));
        struct tc_json v;
        assert_false(tc_json_iter_next(&it, NULL, &v));
    }
}

static void destroying_nothing_is_fine(void **state)
{
    (void)state;
    tc_json_parser_destroy(NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_type_is_told),
        TEST(what_is_not_json_is_malformed_and_leaves_the_result_alone),
        TEST(nesting_up_to_the_limit_and_one_more),
        TEST(the_depth_limit_survives_growth),
        TEST(a_document_above_the_limit_is_refused_unread),
        TEST(text_needs_no_room_behind_it),
        TEST(members_are_found_by_name),
        TEST(strings_are_unescaped_and_may_hold_anything),
        TEST(readers_refuse_other_types_and_leave_the_result_alone),
        TEST(integers_come_as_numbers_whole_doubles_and_strings),
        TEST(members_of_another_type_count_as_absent),
        TEST(walking_visits_members_and_elements_in_order),
        TEST(walking_a_scalar_ends_at_once),
        TEST(destroying_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
