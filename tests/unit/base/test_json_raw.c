/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/raw.h"

#include "base/buf.h"
#include "base/json/json.h"

#include <stdlib.h>
#include <string.h>

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static void assert_slice(struct tc_slice got, const char *want)
{
    assert_int_equal(got.len, strlen(want));
    assert_true(got.len == 0 || memcmp(got.ptr, want, got.len) == 0);
}

static void a_value_is_cut_out_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *value;
        size_t end;
    } cases[] = {
        {"1", "1", 1},
        {"  -1.5e3 ,", "-1.5e3", 8},
        {"true]", "true", 4},
        {"null}", "null", 4},
        {"12:", "12", 2},
        {"\t\r\n\"a\"", "\"a\"", 6},
        {"\"a\\\"b\",", "\"a\\\"b\"", 6},
        {"\"a\\\\\",\"", "\"a\\\\\"", 5},
        {"\"\\\\\\\"\"", "\"\\\\\\\"\"", 6},
        {"\"\"", "\"\"", 2},
        {"[]", "[]", 2},
        {"[1,[2,\"]\"],{}] 3", "[1,[2,\"]\"],{}]", 14},
        {"{\"}\":[\"{\"]}x", "{\"}\":[\"{\"]}", 11},
        {"{\"a\\\"}\":1}", "{\"a\\\"}\":1}", 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_slice got = TC_EMPTY;
        size_t at = 0;
        assert_true(tc_json_raw_value(tc_slice_cstr(cases[i].text), &at, &got));
        assert_slice(got, cases[i].value);
        assert_int_equal(at, cases[i].end);
    }
}

static void what_does_not_end_is_no_value(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",  "  ", ",",    "]", "}",      ":",       "\"",  "\"a",        "\"a\\",  "\"a\\\"",
        "[", "[1", "[\"]", "{", "{\"a\"", "{\"a\":", "[[]", "{\"a\":\"}", "[1,[2]", "{\"a\":{}"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct tc_slice got = TC_LIT("kept");
        size_t at = 0;
        assert_false(tc_json_raw_value(tc_slice_cstr(cases[i]), &at, &got));
        assert_int_equal(at, 0);
        assert_slice(got, "kept");
    }
}

/* The elements of the text, joined by '|'. */
static void assert_elements(const char *text, const char *want)
{
    char joined[256];
    struct tc_buf b = tc_buf_make(joined, sizeof joined);
    struct tc_slice value;
    for (size_t at = 0; tc_json_raw_element(tc_slice_cstr(text), &at, &value);) {
        if (b.len > 0) {
            tc_buf_char(&b, '|');
        }
        tc_buf_str(&b, value);
    }
    assert_slice(tc_buf_slice(&b), want);
}

static void elements_come_one_by_one(void **state)
{
    (void)state;
    assert_elements("[1,2,3]", "1|2|3");
    assert_elements(" [ 1 , \"a,b\" , [2,3] , {\"x\":[4]} ] ", "1|\"a,b\"|[2,3]|{\"x\":[4]}");
    assert_elements("[]", "");
    assert_elements("[ ]", "");
    assert_elements("[1]", "1");
}

static void a_torn_last_element_is_not_given(void **state)
{
    (void)state;
    assert_elements("[1,2", "1"); /* 2 may have been 23 */
    assert_elements("[1,tru", "1");
    assert_elements("[1,2 ", "1|2");
    assert_elements("[1,2,", "1|2");
    assert_elements("[1,\"a", "1");
    assert_elements("[1,\"a\"", "1|\"a\"");
    assert_elements("[1,{\"a\":1", "1");
    assert_elements("[1,{}", "1|{}");
    assert_elements("[", "");
    assert_elements("[1", "");
}

static void what_is_no_array_has_no_elements(void **state)
{
    (void)state;
    assert_elements("", "");
    assert_elements("1", "");
    assert_elements("{\"a\":1}", "");
    assert_elements("\"[1]\"", "");
    assert_elements("[1 2]", "1");
    assert_elements("[1,]", "1");
    assert_elements("[1}2]", "1");
}

static void assert_members(const char *text, const char *want)
{
    char joined[256];
    struct tc_buf b = tc_buf_make(joined, sizeof joined);
    struct tc_slice key;
    struct tc_slice value;
    for (size_t at = 0; tc_json_raw_member(tc_slice_cstr(text), &at, &key, &value);) {
        if (b.len > 0) {
            tc_buf_char(&b, '|');
        }
        tc_buf_str(&b, key);
        tc_buf_char(&b, '=');
        tc_buf_str(&b, value);
    }
    assert_slice(tc_buf_slice(&b), want);
}

static void members_come_one_by_one(void **state)
{
    (void)state;
    assert_members("{\"a\":1,\"b\":[2,3]}", "a=1|b=[2,3]");
    assert_members(" { \"a\\\"\" : \"x\" , \"\" : {} } ", "a\\\"=\"x\"|={}");
    assert_members("{}", "");
}

static void a_torn_or_strange_member_ends_the_walk(void **state)
{
    (void)state;
    assert_members("{\"a\":1,\"b\":2", "a=1");
    assert_members("{\"a\":1,\"b\":2 ", "a=1|b=2");
    assert_members("{\"a\":1,\"b\":", "a=1");
    assert_members("{\"a\":1,\"b\"", "a=1");
    assert_members("{\"a\":1,\"b", "a=1");
    assert_members("{\"a\":1,", "a=1");
    assert_members("{\"a\":1,b:2}", "a=1");
    assert_members("{\"a\":1,2:2}", "a=1");
    assert_members("{\"a\":1,[]:2}", "a=1");
    assert_members("{\"a\" 1}", "");
    assert_members("{\"a\":}", "");
    assert_members("{\"a\":1 \"b\":2}", "a=1");
    assert_members("[\"a\",1]", "");
    assert_members("", "");
}

static void get_finds_the_first_member_of_a_name(void **state)
{
    (void)state;
    struct tc_slice object = TC_LIT("{\"a\":1,\"b\":{\"c\":2},\"a\":3,\"e\\n\":4}");
    struct tc_slice value = TC_LIT("kept");
    assert_true(tc_json_raw_get(object, TC_LIT("a"), &value));
    assert_slice(value, "1");
    assert_true(tc_json_raw_get(object, TC_LIT("b"), &value));
    assert_slice(value, "{\"c\":2}");
    assert_true(tc_json_raw_get(object, TC_LIT("e\\n"), &value)); /* not unescaped */
    assert_slice(value, "4");
    assert_false(tc_json_raw_get(object, TC_LIT("e\n"), &value));
    assert_false(tc_json_raw_get(object, TC_LIT("c"), &value));
    assert_false(tc_json_raw_get(TC_EMPTY, TC_LIT("a"), &value));
    assert_slice(value, "4");
}

static void random_space(struct tc_buf *b, uint64_t *seed)
{
    static const char spaces[] = " \t\r\n";
    while (next_random(seed) % 4 == 0) {
        tc_buf_char(b, spaces[next_random(seed) % 4]);
    }
}

static void random_string(struct tc_buf *b, uint64_t *seed)
{
    static const char chars[] = "ab\\\"{}[],: \n\x01";
    char text[12];
    size_t len = next_random(seed) % sizeof text;
    for (size_t i = 0; i < len; i++) {
        text[i] = chars[next_random(seed) % (sizeof chars - 1)];
    }
    tc_buf_json(b, tc_slice_make(text, len));
}

static void random_scalar(struct tc_buf *b, uint64_t *seed)
{
    switch (next_random(seed) % 6) {
    case 0:
        tc_buf_lit(b, "null");
        break;
    case 1:
        tc_buf_lit(b, "true");
        break;
    case 2:
        tc_buf_i64(b, (int64_t)next_random(seed));
        break;
    case 3:
        tc_buf_lit(b, "-1.5e-3");
        break;
    default:
        random_string(b, seed);
        break;
    }
}

/* A random document, without recursion: a stack of open brackets. */
static void random_document(struct tc_buf *b, uint64_t *seed)
{
    char open[12];
    size_t depth = 0;
    bool first = true;
    do {
        random_space(b, seed);
        bool close = depth > 0 && next_random(seed) % 4 == 0;
        if (close) {
            tc_buf_char(b, open[--depth] == '[' ? ']' : '}');
            first = false;
            continue;
        }
        if (depth > 0 && !first) {
            tc_buf_char(b, ',');
            random_space(b, seed);
        }
        if (depth > 0 && open[depth - 1] == '{') {
            random_string(b, seed);
            random_space(b, seed);
            tc_buf_char(b, ':');
            random_space(b, seed);
        }
        first = false;
        if (depth < sizeof open && (depth == 0 || next_random(seed) % 3 == 0)) {
            open[depth] = next_random(seed) % 2 == 0 ? '[' : '{';
            tc_buf_char(b, open[depth++]);
            first = true;
        } else {
            random_scalar(b, seed);
        }
    } while (depth > 0);
    random_space(b, seed);
}

/* Cuts the text in pieces and holds each against what the parser proper found there. */
static void compare(struct tc_json_parser *whole, struct tc_json_parser *part, struct tc_slice text)
{
    struct tc_json root;
    struct tc_json want;
    struct tc_json got;
    struct tc_slice want_key;
    assert_int_equal(tc_json_parse(whole, text, &root, NULL), TC_OK);
    bool object = tc_json_type(root) == TC_JSON_OBJECT;
    struct tc_json_iter it = tc_json_iter_make(root);
    size_t at = 0;
    while (tc_json_iter_next(&it, &want_key, &want)) {
        struct tc_slice key = TC_EMPTY;
        struct tc_slice value;
        if (object) {
            assert_true(tc_json_raw_member(text, &at, &key, &value));
            struct tc_slice quoted = tc_slice_make(key.ptr - 1, key.len + 2);
            assert_int_equal(tc_json_parse(part, quoted, &got, NULL), TC_OK);
            assert_true(tc_json_string(got, &key));
            assert_true(tc_slice_eq(key, want_key));
        } else {
            assert_true(tc_json_raw_element(text, &at, &value));
        }
        assert_int_equal(tc_json_parse(part, value, &got, NULL), TC_OK);
        assert_int_equal(tc_json_type(got), tc_json_type(want));
        struct tc_slice a;
        struct tc_slice b;
        int64_t x = 0;
        int64_t y = 0;
        if (tc_json_string(want, &a)) {
            assert_true(tc_json_string(got, &b) && tc_slice_eq(a, b));
        } else if (tc_json_int(want, &x)) {
            assert_true(tc_json_int(got, &y) && x == y);
        }
    }
    struct tc_slice key;
    struct tc_slice value;
    assert_false(object ? tc_json_raw_member(text, &at, &key, &value)
                        : tc_json_raw_element(text, &at, &value));
}

static void random_documents_are_cut_where_the_parser_cuts_them(void **state)
{
    (void)state;
    static char text[1 << 16];
    struct tc_json_parser *whole = tc_json_parser_create();
    struct tc_json_parser *part = tc_json_parser_create();
    assert_non_null(whole);
    assert_non_null(part);
    uint64_t seed = 7;
    for (int i = 0; i < 5000; i++) {
        struct tc_buf b = tc_buf_make(text, sizeof text);
        random_document(&b, &seed);
        assert_false(b.overflowed);
        compare(whole, part, tc_buf_slice(&b));
    }
    tc_json_parser_destroy(whole);
    tc_json_parser_destroy(part);
}

/* Exact copies on the heap: AddressSanitizer sees a read behind the end. */
static void no_cut_of_a_document_is_read_past_its_end(void **state)
{
    (void)state;
    static const char whole[] = "{\"a\\\\\":[1,\"x\\\"]\",{\"b\":null}],\"c\":-1.5,\"\":[]}";
    for (size_t len = 0; len < sizeof whole; len++) {
        char *text = malloc(len == 0 ? 1 : len);
        assert_non_null(text);
        memcpy(text, whole, len);
        struct tc_slice s = tc_slice_make(text, len);
        struct tc_slice key;
        struct tc_slice value;
        size_t last = 0;
        for (size_t at = 0; tc_json_raw_member(s, &at, &key, &value); last = at) {
            assert_true(at > last && at <= len);
        }
        for (size_t at = 0; tc_json_raw_element(s, &at, &value);) {
            assert_true(at <= len);
        }
        (void)tc_json_raw_get(s, TC_LIT("c"), &value);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_cut_out_whole),
        cmocka_unit_test(what_does_not_end_is_no_value),
        cmocka_unit_test(elements_come_one_by_one),
        cmocka_unit_test(a_torn_last_element_is_not_given),
        cmocka_unit_test(what_is_no_array_has_no_elements),
        cmocka_unit_test(members_come_one_by_one),
        cmocka_unit_test(a_torn_or_strange_member_ends_the_walk),
        cmocka_unit_test(get_finds_the_first_member_of_a_name),
        cmocka_unit_test(random_documents_are_cut_where_the_parser_cuts_them),
        cmocka_unit_test(no_cut_of_a_document_is_read_past_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
