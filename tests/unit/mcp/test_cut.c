/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are too long for a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json/json.h"
#include "mcp/mcp_priv.h"
#include "support/assert_text.h"

#include <stdlib.h>
#include <string.h>

static tc_status cut(const char *text, size_t max, struct tc_grow *out, struct tc__cut *told)
{
    out->buf.len = 0;
    return tc__cut_json(tc_slice_cstr(text), max, out, told);
}

static void what_fits_stays_but_for_blanks(void **state)
{
    struct tc_grow g = {0};
    struct tc__cut told;
    (void)state;
    assert_int_equal(
        cut(" { \"a\" : [ 1.50 , -2e3,\ntrue,null ], \"b c\" : \" x \\\" \" }\n", 4096, &g, &told),
        TC_OK);
    assert_text(tc_grow_slice(&g), "{\"a\":[1.50,-2e3,true,null],\"b c\":\" x \\\" \"}");
    assert_int_equal(told.list_count + told.text_count, 0);
    assert_int_equal(cut("{}", 4096, &g, &told), TC_OK);
    assert_text(tc_grow_slice(&g), "{}");
    tc_grow_fini(&g);
}

static void what_is_no_object_is_refused(void **state)
{
    struct tc_grow g = {0};
    struct tc__cut told;
    (void)state;
    assert_int_equal(cut("", 4096, &g, &told), TC_E_MALFORMED);
    assert_int_equal(cut("[1]", 4096, &g, &told), TC_E_MALFORMED);
    assert_int_equal(cut("{\"a\":[1}", 4096, &g, &told), TC_E_MALFORMED);
    assert_int_equal(cut("{\"a\":[1}}", 4096, &g, &told), TC_E_MALFORMED);
    assert_int_equal(cut("{\"a\":[,]}", 4096, &g, &told), TC_E_MALFORMED);
    assert_int_equal(cut("{\"a\":1", 4096, &g, &told), TC_E_MALFORMED);
    assert_int_equal(cut("}", 4096, &g, &told), TC_E_MALFORMED);
    tc_grow_fini(&g);
}

/* {"rows":[...n times {"v":"xxxx"}...],"last":1} */
static char *many(size_t rows, size_t bytes)
{
    struct tc_grow g = {0};
    tc_grow_lit(&g, "{\"rows\":[");
    for (size_t i = 0; i < rows; i++) {
        tc_grow_str(&g, i > 0 ? TC_LIT(",{\"v\":\"") : TC_LIT("{\"v\":\""));
        for (size_t k = 0; k < bytes; k++) {
            tc_grow_lit(&g, "x");
        }
        tc_grow_lit(&g, "\"}");
    }
    tc_grow_str(&g, tc_slice_make("],\"last\":1}", sizeof "],\"last\":1}"));
    return g.buf.data;
}

static void lists_keep_their_first_items(void **state)
{
    struct tc_grow g = {0};
    struct tc__cut told;
    char *text = many(1000, 20);
    (void)state;
    assert_int_equal(cut(text, 4096, &g, &told), TC_OK);
    assert_true(g.buf.len <= 4096);
    assert_int_equal(told.list_count, 1);
    assert_string_equal(told.names[0], "rows");
    assert_int_equal(told.shown[0], 64);
    assert_int_equal(told.total[0], 1000);
    assert_true(tc_slice_ends(
        tc_grow_slice(&g),
        TC_LIT("],\"last\":1,\"cut\":[{\"list\":\"rows\",\"shown\":64,\"of\":1000}]}")));
    free(text);
    tc_grow_fini(&g);
}

static void minor_items_go_first(void **state)
{
    struct tc_grow text = {0};
    struct tc_grow g = {0};
    struct tc__cut told;
    (void)state;
    tc_grow_lit(&text, "{\"series\":[");
    for (int i = 0; i < 100; i++) {
        tc_grow_str(&text, i % 10 == 5 ? TC_LIT("{\"main\":true,\"of\":\"the first rank\"}")
                                       : TC_LIT("{\"main\":false,\"of\":\"the others, long\"}"));
        tc_grow_str(&text, i < 99 ? TC_LIT(" , ") : TC_EMPTY);
    }
    tc_grow_str(&text, tc_slice_make(" ] }", 5));
    assert_int_equal(cut(text.buf.data, 2048, &g, &told), TC_OK);
    assert_int_equal(told.shown[0], 10);
    assert_int_equal(told.total[0], 100);
    assert_false(tc_slice_contains(tc_grow_slice(&g), TC_LIT("the others")));
    assert_true(tc_slice_starts(tc_grow_slice(&g), TC_LIT("{\"series\":[{\"main\":true,")));
    tc_grow_fini(&text);
    tc_grow_fini(&g);
}

static void texts_are_cut_at_whole_characters(void **state)
{
    struct tc_grow g = {0};
    struct tc__cut told;
    struct tc_json_parser *parser = tc_json_parser_create();
    static const char *const units[] = {"\xe4\xb8\x96", "\\ud83d\\ude00", "\\n", "\\u0041"};
    (void)state;
    for (size_t u = 0; u < TC_COUNT(units); u++) {
        for (size_t shift = 0; shift < 12; shift++) {
            struct tc_grow text = {0};
            struct tc_json root;
            struct tc_error err;
            tc_grow_str(&text, tc_slice_head(TC_LIT("{\"t\":\"aaaaaaaaaaaa"), 6 + shift));
            for (int i = 0; i < 3000; i++) {
                tc_grow_str(&text, tc_slice_cstr(units[u]));
            }
            tc_grow_str(&text, tc_slice_make("\"}", 3));
            assert_int_equal(cut(text.buf.data, 4096, &g, &told), TC_OK);
            assert_int_equal(told.text_count, 1);
            assert_int_equal(tc_json_parse(parser, tc_grow_slice(&g), &root, &err), TC_OK);
            tc_grow_fini(&text);
        }
    }
    tc_json_parser_destroy(parser);
    tc_grow_fini(&g);
}

static void many_members_are_a_limit(void **state)
{
    struct tc_grow text = {0};
    struct tc_grow g = {0};
    struct tc__cut told;
    (void)state;
    for (int i = 0; i < 2000; i++) {
        tc_grow_str(&text, i == 0 ? TC_LIT("{\"k\":1") : TC_LIT(",\"k\":1"));
    }
    tc_grow_str(&text, tc_slice_make("}", 2));
    assert_int_equal(cut(text.buf.data, 4096, &g, &told), TC_E_LIMIT);
    assert_int_equal(g.buf.len, 0);
    tc_grow_fini(&text);
    tc_grow_fini(&g);
}

static void depth_has_a_bound(void **state)
{
    char text[256] = "{\"a\":";
    struct tc_grow g = {0};
    struct tc__cut told;
    (void)state;
    memset(text + 5, '[', 64);
    assert_int_equal(cut(text, 4096, &g, &told), TC_E_MALFORMED);
    tc_grow_fini(&g);
}

static void items_that_fit_are_counted(void **state)
{
    char *text = many(100, 100);
    (void)state;
    size_t fit = tc__items_that_fit(tc_slice_cstr(text), 1200);
    assert_true(fit >= 8 && fit <= 11);
    assert_true(tc__items_that_fit(tc_slice_cstr(text), 1 << 20) == SIZE_MAX);
    assert_int_equal(tc__items_that_fit(tc_slice_cstr(text), 50), 0);
    assert_int_equal(
        tc__items_that_fit(TC_LIT("{\"columns\":[1,2],\"rows\":[\"aaaaaaaa\",\"bbbbbbbb\"]}"), 45),
        1);
    assert_true(tc__items_that_fit(TC_LIT("{\"a\":\"long enough\"}"), 4) == SIZE_MAX);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_stays_but_for_blanks),
        cmocka_unit_test(what_is_no_object_is_refused),
        cmocka_unit_test(lists_keep_their_first_items),
        cmocka_unit_test(minor_items_go_first),
        cmocka_unit_test(texts_are_cut_at_whole_characters),
        cmocka_unit_test(many_members_are_a_limit),
        cmocka_unit_test(depth_has_a_bound),
        cmocka_unit_test(items_that_fit_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
