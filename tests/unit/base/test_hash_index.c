/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table/hash_index.h"

#define MANY 10000u

/* Three items each share a hash, and hashes of a stride share slots. */
static uint64_t hash_of(uint32_t item)
{
    return (uint64_t)(item / 3) << 6;
}

static size_t count_of(const struct tc_hash_index *ix, uint64_t hash, uint32_t wanted)
{
    size_t at = 0;
    size_t count = 0;
    for (uint32_t item; (item = tc_hash_index_next(ix, hash, &at)) != TC_HASH_INDEX_NONE;) {
        count += item == wanted;
    }
    return count;
}

static void finds_each_item_once(void **state)
{
    (void)state;
    struct tc_hash_index ix = {0};
    size_t at = 0;
    assert_int_equal(tc_hash_index_next(&ix, 7, &at), TC_HASH_INDEX_NONE);
    for (uint32_t item = 0; item < MANY; item++) {
        assert_int_equal(tc_hash_index_add(&ix, hash_of(item), MANY), TC_OK);
        assert_true(2 * ix.count <= ix.slot_count);
    }
    for (uint32_t item = 0; item < MANY; item++) {
        assert_int_equal(count_of(&ix, hash_of(item), item), 1);
        assert_int_equal(count_of(&ix, hash_of(item) + 1, item), 0);
    }
    tc_hash_index_fini(&ix);
    assert_int_equal(ix.count, 0);
}

static void holds_no_more_than_allowed(void **state)
{
    (void)state;
    struct tc_hash_index ix = {0};
    assert_int_equal(tc_hash_index_add(&ix, 1, 2), TC_OK);
    assert_int_equal(tc_hash_index_add(&ix, 1, 2), TC_OK);
    assert_int_equal(tc_hash_index_add(&ix, 1, 2), TC_E_LIMIT);
    assert_int_equal(ix.count, 2);
    tc_hash_index_fini(&ix);
}

static void is_empty_when_cleared(void **state)
{
    (void)state;
    struct tc_hash_index ix = {0};
    tc_hash_index_clear(&ix);
    for (uint32_t item = 0; item < 100; item++) {
        assert_int_equal(tc_hash_index_add(&ix, item, MANY), TC_OK);
    }
    tc_hash_index_clear(&ix);
    for (uint32_t item = 0; item < 100; item++) {
        assert_int_equal(count_of(&ix, item, item), 0);
    }
    assert_int_equal(tc_hash_index_add(&ix, 5, MANY), TC_OK);
    assert_int_equal(count_of(&ix, 5, 0), 1);
    tc_hash_index_fini(&ix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_item_once),
        cmocka_unit_test(holds_no_more_than_allowed),
        cmocka_unit_test(is_empty_when_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
