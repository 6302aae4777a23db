/* SPDX-License-Identifier: Apache-2.0 */
#include "net/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char room[64];

static bool first(const char *query, struct tc_slice *key, struct tc_slice *value, bool *bad)
{
    struct tc_slice rest = tc_slice_cstr(query);
    struct tc_buf b = tc_buf_make(room, sizeof room);
    return tc_query_next(&rest, &b, key, value, bad);
}

static void pairs_come_decoded_in_order(void **state)
{
    (void)state;
    struct tc_slice rest = TC_LIT("name=a%2Fb+c&&node=gpu-07&flag");
    struct tc_buf b = tc_buf_make(room, sizeof room);
    struct tc_slice key;
    struct tc_slice value;
    bool bad = true;
    assert_true(tc_query_next(&rest, &b, &key, &value, &bad));
    assert_false(bad);
    assert_true(tc_slice_eq(key, TC_LIT("name")) && tc_slice_eq(value, TC_LIT("a/b c")));
    assert_true(tc_query_next(&rest, &b, &key, &value, &bad));
    assert_true(tc_slice_eq(key, TC_LIT("node")) && tc_slice_eq(value, TC_LIT("gpu-07")));
    assert_true(tc_query_next(&rest, &b, &key, &value, &bad));
    assert_true(tc_slice_eq(key, TC_LIT("flag")) && value.len == 0);
    assert_false(tc_query_next(&rest, &b, &key, &value, &bad));
}

static void control_characters_and_broken_escapes_are_bad(void **state)
{
    (void)state;
    static const char *const bads[] = {"n=%00",
                                       "n=%0a",
                                       "n=%0D",
                                       "n=%7f",
                                       "n=%",
                                       "n=%4",
                                       "n=%zz",
                                       "%09=x",
                                       "n=a\x01"
                                       "b"};
    struct tc_slice key;
    struct tc_slice value;
    bool bad = false;
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        assert_true(first(bads[i], &key, &value, &bad));
        assert_true(bad);
    }
    assert_true(
        first("n=%C3%A9%ff", &key, &value, &bad)); /* bytes that are no ASCII are a name's */
    assert_false(bad);
    assert_int_equal(value.len, 3);
}

static void what_does_not_fit_is_bad(void **state)
{
    (void)state;
    char query[256];
    struct tc_slice key;
    struct tc_slice value;
    bool bad = false;
    memset(query, 'x', sizeof query);
    query[sizeof room] = '\0';
    assert_true(first(query, &key, &value, &bad));
    assert_false(bad);
    query[sizeof room] = 'x';
    query[sizeof room + 1] = '\0';
    assert_true(first(query, &key, &value, &bad));
    assert_true(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_come_decoded_in_order),
        cmocka_unit_test(control_characters_and_broken_escapes_are_bad),
        cmocka_unit_test(what_does_not_fit_is_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
