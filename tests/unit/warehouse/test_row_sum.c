/* SPDX-License-Identifier: Apache-2.0 */
/* A digest of many rows: their order and their batches do not matter, all else does. */
#include "warehouse/row_sum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct tc_column COLUMNS[] = {
    {"name", TC_COLUMN_TEXT, 1, "", ""},
    {"other", TC_COLUMN_TEXT, 1, "", ""},
    {"value", TC_COLUMN_REAL, 1, "", ""},
};

static void add(struct tc_row_sum *s, const char *name, const char *other, double value)
{
    struct tc_rows *r = tc_rows_create_for(COLUMNS, TC_COUNT(COLUMNS));
    assert_non_null(r);
    assert_true(tc_rows_add(r));
    if (name != NULL) {
        assert_int_equal(tc_rows_text(r, 0, tc_slice_cstr(name)), TC_OK);
    }
    assert_int_equal(tc_rows_text(r, 1, tc_slice_cstr(other)), TC_OK);
    tc_rows_real(r, 2, value);
    tc_row_sum_add(s, r);
    tc_rows_destroy(r);
}

static void the_order_and_the_parts_do_not_matter(void **state)
{
    struct tc_row_sum a = {0};
    struct tc_row_sum b = {0};
    struct tc_row_sum rest = {0};
    struct tc_digest digests[2];
    (void)state;
    add(&a, "x", "y", 1);
    add(&a, "x", "z", 2);
    add(&a, NULL, "z", 2);
    add(&rest, NULL, "z", 2);
    add(&b, "x", "z", 2);
    add(&b, "x", "y", 1);
    assert_false(tc_row_sum_eq(&a, &b));
    tc_row_sum_join(&b, &rest);
    assert_true(tc_row_sum_eq(&a, &b));
    assert_int_equal(b.rows, 3);
    tc_row_sum_digest(&a, &digests[0]);
    tc_row_sum_digest(&b, &digests[1]);
    assert_memory_equal(&digests[0], &digests[1], sizeof digests[0]);
}

static void every_value_and_every_copy_matters(void **state)
{
    static const struct {
        const char *name;
        const char *other;
        double value;
    } others[] = {{"xy", "z", 1}, {"x", "yz", 2}, {"", "xyz", 1}, {NULL, "xyz", 1}, {"x", "yz", 0}};
    (void)state;
    struct tc_row_sum one = {0};
    struct tc_row_sum two = {0};
    add(&one, "x", "yz", 1);
    for (size_t i = 0; i < TC_COUNT(others); i++) {
        struct tc_row_sum s = {0};
        add(&s, others[i].name, others[i].other, others[i].value);
        assert_false(tc_row_sum_eq(&one, &s));
    }
    add(&two, "x", "yz", 1);
    assert_true(tc_row_sum_eq(&one, &two));
    add(&two, "x", "yz", 1);
    assert_false(tc_row_sum_eq(&one, &two));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_and_the_parts_do_not_matter),
        cmocka_unit_test(every_value_and_every_copy_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
