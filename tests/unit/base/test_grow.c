/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table/grow.h"

#include <stdlib.h>

static void an_array_keeps_its_items_while_it_grows(void **state)
{
    (void)state;
    uint32_t *items = NULL;
    size_t cap = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        assert_int_equal(tc_grow_items(items, cap, i + 1, 100000), TC_OK);
        items[i] = i;
    }
    for (uint32_t i = 0; i < 100000; i++) {
        assert_int_equal(items[i], i);
    }
    assert_true(cap <= 100000);
    free(items);
}

static void an_array_doubles(void **state)
{
    (void)state;
    uint64_t *items = NULL;
    size_t cap = 0;
    assert_int_equal(tc_grow_items(items, cap, 1000, SIZE_MAX), TC_OK);
    assert_int_equal(cap, 1000);
    assert_int_equal(tc_grow_items(items, cap, 1001, SIZE_MAX), TC_OK);
    assert_int_equal(cap, 2000);
    assert_int_equal(tc_grow_items(items, cap, 5000, SIZE_MAX), TC_OK);
    assert_int_equal(cap, 5000);
    free(items);
}

static void beyond_its_bound_an_array_is_as_it_was(void **state)
{
    (void)state;
    char *items = NULL;
    size_t cap = 0;
    assert_int_equal(tc_grow_items(items, cap, 10, 16), TC_OK);
    assert_int_equal(cap, 16);
    const char *before = items;
    assert_int_equal(tc_grow_items(items, cap, 17, 16), TC_E_LIMIT);
    assert_ptr_equal(items, before);
    assert_int_equal(cap, 16);
    free(items);
}

static void a_size_that_no_memory_has_is_refused(void **state)
{
    (void)state;
    uint64_t *items = NULL;
    size_t cap = 0;
    assert_int_equal(tc_grow_items(items, cap, SIZE_MAX / 4, SIZE_MAX), TC_E_LIMIT);
    assert_null(items);
    assert_int_equal(cap, 0);
}

static void a_text_fails_once_and_for_all(void **state)
{
    (void)state;
    struct tc_grow g = {0};
    tc_grow_lit(&g, "a");
    assert_false(tc_grow_room(&g, TC_GROW_MAX));
    tc_grow_lit(&g, "b");
    assert_true(g.failed);
    assert_true(tc_slice_eq(tc_grow_slice(&g), TC_LIT("a")));
    tc_grow_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_array_keeps_its_items_while_it_grows),
        cmocka_unit_test(an_array_doubles),
        cmocka_unit_test(beyond_its_bound_an_array_is_as_it_was),
        cmocka_unit_test(a_size_that_no_memory_has_is_refused),
        cmocka_unit_test(a_text_fails_once_and_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
