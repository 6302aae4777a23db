/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/yaml/json.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    const char *yaml;
    const char *json; /* NULL: refused */
};

static void check(const struct pair *p)
{
    char *json = NULL;
    size_t len = 0;
    struct tc_error err = {.message = ""};
    tc_status status = tc_yaml_to_json(tc_slice_cstr(p->yaml), &json, &len, &err);
    if (p->json == NULL) {
        if (status == TC_OK) {
            fail_msg("<%s> was read as %s", p->yaml, json);
        }
        assert_null(json);
        assert_true(strncmp(err.message, "line ", 5) == 0);
        return;
    }
    if (status != TC_OK) {
        fail_msg("<%s>: %s", p->yaml, err.message);
    }
    assert_string_equal(json, p->json);
    assert_int_equal(len, strlen(json));
    free(json);
}

#define CHECK_ALL(pairs)                                              \
    for (size_t i = 0; i < sizeof(pairs) / sizeof((pairs)[0]); i++) { \
        check(&(pairs)[i]);                                           \
    }

static void core_scalars_are_resolved(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {"", "null"},
        {"# nothing\n", "null"},
        {"~", "null"},
        {"Null", "null"},
        {"nUll", "\"nUll\""},
        {"TRUE", "true"},
        {"tRue", "\"tRue\""},
        {"yes", "\"yes\""},
        {"off", "\"off\""},
        {"0", "0"},
        {"-0", "-0"},
        {"+12", "12"},
        {"007", "7"},
        {"0o17", "15"},
        {"0x1F", "31"},
        {"0b1", "\"0b1\""},
        {"1_000", "\"1_000\""},
        {"1.5", "1.5"},
        {"1.50", "1.50"},
        {"1.", "1"},
        {".5", "0.5"},
        {"+.5e1", "5"},
        {"1e3", "1e3"},
        {"1E+03", "1E+03"},
        {"1e", "\"1e\""},
        {"1e400", "null"},
        {".inf", "null"},
        {"-.INF", "null"},
        {".nan", "null"},
        {"-.nan", "\"-.nan\""},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551616", "1.8446744073709552e+19"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"-9223372036854775809", "-9.223372036854776e+18"},
        {"0xfffffffffffffffff", NULL},
        {"1:30", "\"1:30\""},
        {"2026-11-16", "\"2026-11-16\""},
        {"'12'", "\"12\""},
        {"\"a\\tb\"", "\"a\\tb\""},
        {"!!str 12", "\"12\""},
        {"!!int 12", "12"},
        {"!!float 12", "12"},
        {"!!int x", NULL},
        {"!!bool x", NULL},
        {"! 12", "\"12\""},
        {"!mine 12", NULL},
        {"!!python/object:os.system x", NULL},
        {"!!binary aGk=", NULL},
    };
    CHECK_ALL(pairs);
}

static void collections_nest_and_keep_their_order(void **state)
{
    (void)state;
    static const struct pair pairs[] = {
        {"b: 1\na: 2\n", "{\"b\":1,\"a\":2}"},
        {"a:\n- 1\n- b: ~\n  c: {}\n- []\n", "{\"a\":[1,{\"b\":null,\"c\":{}},[]]}"},
        {"{a: [1, 2], \"b\\n\": x}", "{\"a\":[1,2],\"b\\n\":\"x\"}"},
        {"true: 1\n1.0: 2\n~: 3\n", "{\"true\":1,\"1.0\":2,\"~\":3}"},
        {"a:\nb:\n", "{\"a\":null,\"b\":null}"},
        {"a: |\n  x\n  y\n", "{\"a\":\"x\\ny\\n\"}"},
        {"a: >-\n  x\n  y\n", "{\"a\":\"x y\"}"},
        {"--- {a: 1}\n...\n", "{\"a\":1}"},
        {"? [1]\n: 2\n", NULL},
        {"a: 1\n---\nb: 2\n", NULL},
        {"a: [1\n", NULL},
        {"a: b: c\n", NULL},
        {"\ta: 1\n", NULL},
        {"%YAML 1.1\n---\na: 1\n", NULL},
        {"a: \xff\n", NULL},
        {"!!set {a, b}", NULL},
        {"!!map {a: 1}", "{\"a\":1}"},
        {"{\"json\": [1, 2.5e-3, true, null, \"\\u0041\"]}",
         "{\"json\":[1,2.5e-3,true,null,\"A\"]}"},
    };
    CHECK_ALL(pairs);
}

static void a_key_twice_is_refused(void **state)
{
    (void)state;
    static const struct pair core[] = {
        {"a: 1\nb: 2\na: 3\n", NULL},
        {"x: {a: 1, \"a\": 3}\n", NULL},
        {"x: {a: 1}\ny: {a: 3}\n", "{\"x\":{\"a\":1},\"y\":{\"a\":3}}"},
        {"<<: 1\n", "{\"<<\":1}"},
    };
    CHECK_ALL(core);
    char *json = NULL;
    size_t len = 0;
    struct tc_error err;
    assert_int_equal(tc_yaml_to_json(TC_LIT("x:\n  a: 1\n  b: 2\n  a: 3\n"), &json, &len, &err),
                     TC_E_MALFORMED);
    assert_string_equal(err.message, "line 4, column 3: a key that is there already");
}

static void aliases_are_copies(void **state)
{
    (void)state;
    static const struct pair both[] = {
        {"a: &x [1, 2]\nb: *x\n", "{\"a\":[1,2],\"b\":[1,2]}"},
        {"a: &x 1\nb: [*x, *x]\n", "{\"a\":1,\"b\":[1,1]}"},
        {"a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}"},
        {"a: &x\nb: *x\n", "{\"a\":null,\"b\":null}"},
        {"a: *x\n", NULL},
        {"a: &x [*x]\n", NULL},
        {"a: &x 1\n*x : 2\n", NULL},
        {"&k a: 1\n", NULL},
        {"&k <<: 1\n", NULL},
    };
    CHECK_ALL(both);
}

static tc_status try_text(const char *text, size_t len)
{
    char *json = NULL;
    size_t json_len = 0;
    tc_status status = tc_yaml_to_json(tc_slice_make(text, len), &json, &json_len, NULL);
    free(json);
    return status;
}

static void aliases_cannot_make_a_small_text_large(void **state)
{
    (void)state;
    char text[1024];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_buf_lit(&b, "a0: &a0 [x,x,x,x,x,x,x,x]\n");
    for (unsigned i = 1; i < 9; i++) {
        char line[80];
        (void)snprintf(line, sizeof line, "a%u: &a%u [*a%u,*a%u,*a%u,*a%u,*a%u,*a%u,*a%u,*a%u]\n",
                       i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
        tc_buf_str(&b, tc_slice_cstr(line));
        tc_status status = try_text(text, b.len);
        /* Eight to the power of i + 1 elements of four bytes. */
        assert_int_equal(status, i < 6 ? TC_OK : TC_E_LIMIT);
    }
}

static void depth_has_a_limit_and_so_has_what_aliases_add(void **state)
{
    (void)state;
    char text[4 * TC_JSON_DEPTH_MAX + 64];
    for (size_t depth = TC_JSON_DEPTH_MAX - 1; depth <= TC_JSON_DEPTH_MAX + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(try_text(text, 2 * depth),
                         depth <= TC_JSON_DEPTH_MAX ? TC_OK : TC_E_LIMIT);
        /* A list of half the depth, named; then the rest of the levels around its alias. */
        struct tc_buf b = tc_buf_make(text, sizeof text);
        tc_buf_lit(&b, "- &x ");
        size_t half = TC_JSON_DEPTH_MAX / 2;
        for (size_t i = 0; i < 2 * half; i++) {
            tc_buf_char(&b, i < half ? '[' : ']');
        }
        tc_buf_lit(&b, "\n- ");
        for (size_t i = 0; i < depth - half - 1; i++) {
            tc_buf_char(&b, '[');
        }
        tc_buf_lit(&b, " *x ");
        for (size_t i = 0; i < depth - half - 1; i++) {
            tc_buf_char(&b, ']');
        }
        assert_false(b.overflowed);
        assert_int_equal(try_text(text, b.len), depth <= TC_JSON_DEPTH_MAX ? TC_OK : TC_E_LIMIT);
    }
}

static void sizes_have_limits(void **state)
{
    (void)state;
    size_t len = TC_YAML_TEXT_MAX + 1;
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, '\n', len);
    assert_int_equal(try_text(text, len), TC_E_LIMIT);
    /* Members of one mapping. */
    struct tc_buf b = tc_buf_make(text, len);
    for (uint64_t i = 0; i <= (1U << 20); i++) {
        if (i == 1U << 20) {
            assert_int_equal(try_text(text, b.len), TC_OK);
        }
        tc_buf_u64(&b, i);
        tc_buf_lit(&b, ": 1\n");
    }
    assert_int_equal(try_text(text, b.len), TC_E_LIMIT);
    /* Anchors. */
    tc_buf_reset(&b);
    for (size_t i = 0; i <= 1024; i++) {
        if (i == 1024) {
            assert_int_equal(try_text(text, b.len), TC_OK);
        }
        tc_buf_lit(&b, "- &x 1\n");
    }
    assert_int_equal(try_text(text, b.len), TC_E_LIMIT);
    /* Aliases, each in an entry of its own: the screen bounds how many one entry may have. */
    tc_buf_reset(&b);
    tc_buf_lit(&b, "x: &x 1\n");
    for (uint64_t i = 0; i <= 65536; i++) {
        if (i == 65536) {
            assert_int_equal(try_text(text, b.len), TC_OK);
        }
        tc_buf_u64(&b, i);
        tc_buf_lit(&b, ": *x\n");
    }
    assert_int_equal(try_text(text, b.len), TC_E_LIMIT);
    free(text);
}

static void messages_name_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        const char *start;
    } cases[] = {
        {"a: 1\nb: !mine 2\n", "line 2, column 10: a tag that is not read"},
        {"a: 1\nb: [1\n", "line 3, column 1: "},
        {"a: 1\n%b\n", "line 2, column 1: directives are not read"},
        {"a: 1\nb: \x01\n", "line 2, column 4: a control character"},
        {"a: *b\n", "line 1, column 5: an alias of nothing that was named before"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *json = NULL;
        size_t len = 0;
        struct tc_error err = {.message = ""};
        assert_int_not_equal(tc_yaml_to_json(tc_slice_cstr(cases[i].yaml), &json, &len, &err),
                             TC_OK);
        if (strncmp(err.message, cases[i].start, strlen(cases[i].start)) != 0) {
            fail_msg("%s", err.message);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core_scalars_are_resolved),
        cmocka_unit_test(collections_nest_and_keep_their_order),
        cmocka_unit_test(a_key_twice_is_refused),
        cmocka_unit_test(aliases_are_copies),
        cmocka_unit_test(aliases_cannot_make_a_small_text_large),
        cmocka_unit_test(depth_has_a_limit_and_so_has_what_aliases_add),
        cmocka_unit_test(sizes_have_limits),
        cmocka_unit_test(messages_name_line_and_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
