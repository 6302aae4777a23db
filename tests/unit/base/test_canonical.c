/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors of RFC 8785, and what its rules refuse. Numbers and order of names against Node's own
 * are in tests/canonical/oracle.mjs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/canonical.h"

#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tc_error err;

static void assert_canonical_n(const char *json, size_t len, const char *want)
{
    char *text = NULL;
    size_t text_len = 0;
    memset(&err, 0, sizeof err);
    if (tc_canonical_text(tc_slice_make(json, len), &text, &text_len, &err) != TC_OK) {
        fail_msg("%s: %s", json, err.message);
    }
    if (text_len != strlen(want) || memcmp(text, want, text_len) != 0) {
        fail_msg("%s gives %.*s, not %s", json, (int)text_len, text, want);
    }
    char *again = NULL;
    size_t again_len = 0;
    assert_int_equal(tc_canonical_text(tc_slice_make(text, text_len), &again, &again_len, &err),
                     TC_OK);
    assert_int_equal(again_len, text_len);
    assert_memory_equal(again, text, text_len);
    free(again);
    free(text);
}

static void assert_canonical(const char *json, const char *want)
{
    assert_canonical_n(json, strlen(json), want);
}

static void assert_refused(const char *json, tc_status status, const char *why)
{
    char *text = NULL;
    size_t len = 0;
    memset(&err, 0, sizeof err);
    assert_int_equal(tc_canonical_text(tc_slice_cstr(json), &text, &len, &err), status);
    assert_null(text);
    if (strstr(err.message, why) == NULL) {
        fail_msg("%s: \"%s\" does not say \"%s\"", json, err.message, why);
    }
}

static void numbers_of_appendix_b(void **state)
{
    (void)state;
    static const struct {
        uint64_t bits;
        const char *text;
    } table[] = {
        {0x0000000000000000, "0"},
        {0x8000000000000000, "0"},
        {0x0000000000000001, "5e-324"},
        {0x8000000000000001, "-5e-324"},
        {0x7fefffffffffffff, "1.7976931348623157e+308"},
        {0xffefffffffffffff, "-1.7976931348623157e+308"},
        {0x4340000000000000, "9007199254740992"},
        {0xc340000000000000, "-9007199254740992"},
        {0x4430000000000000, "295147905179352830000"},
        {0x44b52d02c7e14af5, "9.999999999999997e+22"},
        {0x44b52d02c7e14af6, "1e+23"},
        {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
        {0x444b1ae4d6e2ef4e, "999999999999999700000"},
        {0x444b1ae4d6e2ef4f, "999999999999999900000"},
        {0x444b1ae4d6e2ef50, "1e+21"},
        {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
        {0x3eb0c6f7a0b5ed8d, "0.000001"},
        {0x41b3de4355555553, "333333333.3333332"},
        {0x41b3de4355555554, "333333333.33333325"},
        {0x41b3de4355555555, "333333333.3333333"},
        {0x41b3de4355555556, "333333333.3333334"},
        {0x41b3de4355555557, "333333333.33333343"},
        {0xbecbf647612f3696, "-0.0000033333333333333333"},
        {0x43143ff3c1cb0959, "1424953923781206.2"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[TC_ECMA_MAX];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        double value = 0;
        memcpy(&value, &table[i].bits, sizeof value);
        tc_buf_ecma(&b, value);
        assert_int_equal(b.len, strlen(table[i].text));
        assert_memory_equal(b.data, table[i].text, b.len);
        assert_canonical(table[i].text, table[i].text);
    }
}

static void the_longest_number_fits(void **state)
{
    (void)state;
    char text[TC_ECMA_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_ecma(&b, -2.2250738585072014e-308);
    assert_false(b.overflowed);
    assert_true(tc_slice_eq(tc_buf_slice(&b), TC_LIT("-2.2250738585072014e-308")));
    tc_buf_reset(&b);
    tc_buf_ecma(&b, -1.2345678901234567e-6); /* all digits behind zeros */
    assert_false(b.overflowed);
    assert_int_equal(b.len, TC_ECMA_MAX);
}

static void the_example_of_section_3_2_2(void **state)
{
    (void)state;
    assert_canonical("{\n"
                     "  \"numbers\": [333333333.33333329, 1E30, 4.50,\n"
                     "              2e-3, 0.000000000000000000000000001],\n"
                     "  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
                     "  \"literals\": [null, true, false]\n"
                     "}",
                     "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,"
                     "0.002,1e-27],\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

static void the_order_of_section_3_2_3(void **state)
{
    (void)state;
    assert_canonical("{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,"
                     "\"\\u0080\":6,\"\\u00f6\":7}",
                     "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":1,"
                     "\"\xf0\x9f\x98\x80\":5,\"\xef\xac\xb3\":3}");
    assert_canonical("[56,{\"d\":true,\"10\":null,\"1\":[ ]}]",
                     "[56,{\"1\":[],\"10\":null,\"d\":true}]");
    assert_canonical("{\"aa\":1,\"a\":2,\"\":3,\"a\\u0000\":4}",
                     "{\"\":3,\"a\":2,\"a\\u0000\":4,\"aa\":1}");
}

static void strings_are_escaped_only_where_they_must_be(void **state)
{
    (void)state;
    assert_canonical("\"\\u0008\\u0009\\u000a\\u000b\\u000c\\u000d\\u0000\\u001F\\u007f\\u2028\"",
                     "\"\\b\\t\\n\\u000b\\f\\r\\u0000\\u001f\x7f\xe2\x80\xa8\"");
    assert_canonical("\"\\u003c\\u002f\\u0061\"", "\"</a\"");
    assert_canonical("\"\\uD834\\uDD1E\"", "\"\xf0\x9d\x84\x9e\"");
    assert_canonical("\"\\ud7ff\\ue000\\uffff\"", "\"\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\"");
}

static void scalars_stand_alone(void **state)
{
    (void)state;
    assert_canonical(" null ", "null");
    assert_canonical("true", "true");
    assert_canonical("false", "false");
    assert_canonical("\"\"", "\"\"");
    assert_canonical("{ }", "{}");
    assert_canonical("[ ]", "[]");
    assert_canonical("-0", "0");
    assert_canonical("-0.0e5", "0");
    assert_canonical("1.0", "1");
    assert_canonical("100e-2", "1");
}

static void integers_are_doubles_or_refused(void **state)
{
    (void)state;
    assert_canonical("9007199254740993e0", "9007199254740992"); /* no integer as written */
    assert_canonical("9007199254740992", "9007199254740992");
    assert_canonical("9007199254740994", "9007199254740994");
    assert_canonical("18446744073709551616", "18446744073709552000"); /* 2^64 */
    assert_canonical("9223372036854775808", "9223372036854776000");   /* 2^63, unsigned */
    assert_canonical("-9223372036854775808", "-9223372036854776000");
    assert_canonical("{\"a\":100000000000000000000,\"b\":\"100000000000000000001\"}",
                     "{\"a\":100000000000000000000,\"b\":\"100000000000000000001\"}");
    assert_canonical("[-100000000000000000000,1000000000000000000000]",
                     "[-100000000000000000000,1e+21]");
    assert_refused("9007199254740993", TC_E_MALFORMED, "the document: an integer that no double");
    assert_refused("{\"a\":[0,-9007199254740993]}", TC_E_MALFORMED, "/a/1: an integer");
    assert_refused("[9223372036854775809]", TC_E_MALFORMED, "/0: an integer");
    assert_refused("[18446744073709551615]", TC_E_MALFORMED, "byte 1: an integer");
    assert_refused("[ 18446744073709551617]", TC_E_MALFORMED, "byte 2: an integer");
    assert_refused("[-100000000000000000001]", TC_E_MALFORMED, "integer");
    assert_refused("[00000000000000000000000001]", TC_E_MALFORMED, "");
    assert_refused("1e999", TC_E_MALFORMED, "");
}

static void integers_of_hundreds_of_digits(void **state)
{
    (void)state;
    char text[512];
    memset(text, '0', sizeof text);
    text[0] = '1';
    text[23] = '\0'; /* 1e22 is a double */
    assert_canonical(text, "1e+22");
    text[23] = '0';
    text[24] = '\0'; /* 1e23 is none */
    assert_refused(text, TC_E_MALFORMED, "integer");
    text[24] = '0';
    text[400] = '\0';
    assert_refused(text, TC_E_MALFORMED, "very long");
    (void)snprintf(text, sizeof text, "%.0f", 1.7976931348623157e308);
    assert_canonical(text, "1.7976931348623157e+308");
}

static void names_that_occur_twice_are_refused(void **state)
{
    (void)state;
    assert_refused("{\"a\":1,\"a\":1}", TC_E_MALFORMED, "/a: the name occurs twice");
    assert_refused("[0,{\"x\":{\"b\":1,\"a\":2,\"\\u0062\":3}}]", TC_E_MALFORMED,
                   "/1/x/b: the name");
    assert_canonical("{\"a\":{\"a\":1},\"b\":{\"a\":1}}", "{\"a\":{\"a\":1},\"b\":{\"a\":1}}");
}

static void half_a_surrogate_pair_is_refused(void **state)
{
    (void)state;
    assert_refused("[\"\\ud800\"]", TC_E_MALFORMED, "");
    assert_refused("[\"\\udc00\"]", TC_E_MALFORMED, "");
    assert_refused("[\"x\\udfff y\"]", TC_E_MALFORMED, "");
    assert_refused("[\"\\ud800\\u0041\"]", TC_E_MALFORMED, "");
    assert_refused("[\"\\ud800\\ud800\"]", TC_E_MALFORMED, "");
    assert_refused("[\"\\ude00\\ud83d\"]", TC_E_MALFORMED, "");
    assert_refused("{\"\\udead\":1}", TC_E_MALFORMED, "");
    assert_refused("\"\xed\xa0\x80\"", TC_E_MALFORMED, "");
    assert_refused("\"\xff\"", TC_E_MALFORMED, "");
    assert_refused("\"a\nb\"", TC_E_MALFORMED, "");
}

static void what_is_no_json_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "[1,]",
                                      "{\"a\":1,}",
                                      "{'a':1}",
                                      "[1] 2",
                                      "[1",
                                      "nul",
                                      "01",
                                      "+1",
                                      ".5",
                                      "[NaN]",
                                      "\"",
                                      "\"\\",
                                      "{\"a\"}",
                                      "[--99999999999999999999]",
                                      "99999999999999999999 99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_refused(bad[i], TC_E_MALFORMED, "");
    }
}

static void depth_is_bounded(void **state)
{
    (void)state;
    char text[2 * TC_JSON_DEPTH_MAX + 8];
    for (int levels = TC_JSON_DEPTH_MAX - 2; levels <= TC_JSON_DEPTH_MAX + 2; levels++) {
        char *out = NULL;
        size_t len = 0;
        memset(text, '[', (size_t)levels);
        memset(text + levels, ']', (size_t)levels);
        tc_status got =
            tc_canonical_text(tc_slice_make(text, 2 * (size_t)levels), &out, &len, &err);
        assert_true(got == TC_OK || got == TC_E_LIMIT);
        assert_true(levels > TC_JSON_DEPTH_MAX - 1 || got == TC_OK);
        assert_true(levels < TC_JSON_DEPTH_MAX + 1 || got == TC_E_LIMIT);
        free(out);
    }
}

static void a_small_buffer_is_a_limit_not_half_a_text(void **state)
{
    (void)state;
    struct tc_json_parser *parser = tc_json_parser_create();
    struct tc_json root;
    char memory[32];
    const char want[] = "{\"a\":[1,2],\"b\":null}";
    assert_int_equal(tc_json_parse(parser, TC_LIT("{\"b\":null,\"a\":[1,2]}"), &root, &err), TC_OK);
    for (size_t cap = 0; cap < sizeof memory; cap++) {
        struct tc_buf b = tc_buf_make(memory, cap);
        tc_status got = tc_canonical_value(root, &b, &err);
        assert_int_equal(got, cap < sizeof want - 1 ? TC_E_LIMIT : TC_OK);
        if (got == TC_OK) {
            assert_int_equal(b.len, sizeof want - 1);
            assert_memory_equal(memory, want, b.len);
        }
    }
    tc_json_parser_destroy(parser);
}

static void a_text_that_grows_has_room(void **state)
{
    (void)state;
    char *json = malloc(5 * 1000 + 2);
    struct tc_buf b = tc_buf_make(json, 5 * 1000 + 2);
    tc_buf_char(&b, '[');
    for (int i = 0; i < 1000; i++) {
        tc_buf_put(&b, i == 0 ? "9e20" : ",9e20", i == 0 ? 4 : 5);
    }
    tc_buf_char(&b, ']');
    char *text = NULL;
    size_t len = 0;
    assert_int_equal(tc_canonical_text(tc_buf_slice(&b), &text, &len, &err), TC_OK);
    assert_int_equal(len, 22 * 1000 + 1);
    assert_true(len <= TC_CANONICAL_GROWTH * b.len);
    free(text);
    free(json);
}

static void equal_specs_have_one_digest(void **state)
{
    (void)state;
    static const char *const same[] = {
        "{\"model\":\"m\",\"mix\":[{\"in\":128,\"share\":0.5}],\"lr\":0.000001}",
        " { \"mix\" : [ { \"share\" : 5e-1 , \"in\" : 1.28E2 } ] , "
        "\"lr\":1e-6,\n\"model\":\"\\u006d\"}",
    };
    struct tc_digest a;
    struct tc_digest b;
    assert_int_equal(tc_canonical_digest(tc_slice_cstr(same[0]), &a, &err), TC_OK);
    assert_int_equal(tc_canonical_digest(tc_slice_cstr(same[1]), &b, &err), TC_OK);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(tc_canonical_digest(TC_LIT("{\"model\":\"n\"}"), &b, &err), TC_OK);
    assert_memory_not_equal(&a, &b, sizeof a);
    assert_int_equal(tc_canonical_digest(TC_LIT("{"), &b, &err), TC_E_MALFORMED);
    assert_int_equal(tc_canonical_digest(TC_LIT("{}"), &a, &err), TC_OK);
    char text[80];
    struct tc_buf t = tc_buf_make(text, sizeof text);
    tc_buf_digest(&t, &a); /* sha256sum of the two bytes */
    assert_true(tc_slice_eq(
        tc_buf_slice(&t),
        TC_LIT("sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")));
}

static void a_long_place_is_cut(void **state)
{
    (void)state;
    char json[2048];
    struct tc_buf b = tc_buf_make(json, sizeof json);
    for (int i = 0; i < 20; i++) {
        tc_buf_lit(&b, "{\"a\\nname that is longer than the place for it in a message\":");
    }
    tc_buf_lit(&b, "9007199254740993");
    for (int i = 0; i < 20; i++) {
        tc_buf_char(&b, '}');
    }
    char *text = NULL;
    size_t len = 0;
    assert_int_equal(tc_canonical_text(tc_buf_slice(&b), &text, &len, &err), TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "/a\\x0aname that is"));
    assert_non_null(strstr(err.message, "no double"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_appendix_b),
        cmocka_unit_test(the_longest_number_fits),
        cmocka_unit_test(the_example_of_section_3_2_2),
        cmocka_unit_test(the_order_of_section_3_2_3),
        cmocka_unit_test(strings_are_escaped_only_where_they_must_be),
        cmocka_unit_test(scalars_stand_alone),
        cmocka_unit_test(integers_are_doubles_or_refused),
        cmocka_unit_test(integers_of_hundreds_of_digits),
        cmocka_unit_test(names_that_occur_twice_are_refused),
        cmocka_unit_test(half_a_surrogate_pair_is_refused),
        cmocka_unit_test(what_is_no_json_is_refused),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(a_small_buffer_is_a_limit_not_half_a_text),
        cmocka_unit_test(a_text_that_grows_has_room),
        cmocka_unit_test(equal_specs_have_one_digest),
        cmocka_unit_test(a_long_place_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
