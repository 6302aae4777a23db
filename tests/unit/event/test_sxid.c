/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/sxid.h"

#include <string.h>

static void codes_ascend_and_each_is_found(void **state)
{
    (void)state;
    size_t count = 0;
    const struct tc_sxid *table = tc_sxid_table(&count);
    assert_true(count > 80);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || table[i].code > table[i - 1].code);
        assert_ptr_equal(tc_sxid_find(table[i].code), &table[i]);
        assert_in_range(strlen(table[i].name), 4, 60);
    }
    assert_null(tc_sxid_find(-1));
    assert_null(tc_sxid_find(11111));
    assert_null(tc_sxid_find(INT64_MAX));
    assert_null(tc_sxid_find(INT64_C(20034) + (INT64_C(1) << 32)));
}

static void reach_is_that_of_the_guide(void **state)
{
    (void)state;
    static const struct {
        int64_t code;
        enum tc_sxid_reach reach;
    } rows[] = {
        {20034, TC_SXID_LINK},     {11001, TC_SXID_LINK},     {24007, TC_SXID_LINK},
        {22003, TC_SXID_FABRIC},   {23017, TC_SXID_FABRIC},   {10003, TC_SXID_FABRIC},
        {12028, TC_SXID_NONFATAL}, {20012, TC_SXID_NONFATAL}, {22012, TC_SXID_NONFATAL},
        {11012, TC_SXID_NONFATAL}, {10004, TC_SXID_NONFATAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(tc_sxid_find(rows[i].code)->reach, rows[i].reach);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_ascend_and_each_is_found),
        cmocka_unit_test(reach_is_that_of_the_guide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
