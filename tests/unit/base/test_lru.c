/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table/lru.h"

#include <stdlib.h>
#include <string.h>

static struct tc_lru_key key_of(uint64_t n)
{
    return (struct tc_lru_key){{n, ~n}};
}

static void put(struct tc_lru *t, uint64_t n, bool expendable)
{
    uint64_t *item = tc_lru_put(t, key_of(n), expendable);
    *item = n;
}

static bool has(const struct tc_lru *t, uint64_t n)
{
    const uint64_t *item = tc_lru_find(t, key_of(n));
    assert_true(item == NULL || *item == n);
    return item != NULL;
}

static void the_one_put_longest_ago_is_forgotten(void **state)
{
    (void)state;
    struct tc_lru t;
    assert_true(tc_lru_init(&t, 3, sizeof(uint64_t)));
    assert_false(has(&t, 1));
    for (uint64_t n = 1; n <= 3; n++) {
        assert_null(tc_lru_leaving(&t));
        put(&t, n, false);
    }
    put(&t, 1, false);
    assert_ptr_equal(tc_lru_leaving(&t), tc_lru_find(&t, key_of(2)));
    put(&t, 4, false);
    assert_true(has(&t, 1) && !has(&t, 2) && has(&t, 3) && has(&t, 4));
    assert_int_equal(t.count, 3);
    assert_int_equal(t.forgotten, 1);
    tc_lru_fini(&t);
}

static void expendable_ones_go_first(void **state)
{
    (void)state;
    struct tc_lru t;
    assert_true(tc_lru_init(&t, 3, sizeof(uint64_t)));
    put(&t, 1, false);
    put(&t, 2, true);
    put(&t, 3, true);
    put(&t, 2, false); /* as good as the others again */
    assert_ptr_equal(tc_lru_leaving(&t), tc_lru_find(&t, key_of(3)));
    put(&t, 4, false);
    assert_true(has(&t, 1) && has(&t, 2) && !has(&t, 3) && has(&t, 4));
    put(&t, 5, true);
    assert_true(!has(&t, 1) && has(&t, 5));
    tc_lru_fini(&t);
}

static void a_new_item_is_zeroed(void **state)
{
    (void)state;
    struct tc_lru t;
    assert_true(tc_lru_init(&t, 1, sizeof(uint64_t)));
    put(&t, 7, false);
    uint64_t *item = tc_lru_put(&t, key_of(8), false);
    assert_int_equal(*item, 0);
    tc_lru_reset(&t);
    assert_int_equal(t.count, 0);
    assert_false(has(&t, 8));
    put(&t, 9, true);
    assert_true(has(&t, 9));
    tc_lru_fini(&t);
}

/* Keys that all want the same few places of the index, against a list that is walked. */
static void many_keys_in_one_run_are_each_found(void **state)
{
    (void)state;
    enum { ROOM = 61, KEYS = 200, STEPS = 4000 };
    static uint64_t put_at[KEYS];
    static bool spare[KEYS];
    struct tc_lru t;
    memset(put_at, 0, sizeof put_at);
    assert_true(tc_lru_init(&t, ROOM, sizeof(uint64_t)));
    uint64_t random = 1;
    for (uint64_t step = 1; step <= STEPS; step++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t n = (size_t)(random >> 33) % KEYS;
        size_t count = 0;
        size_t worst = KEYS;
        for (size_t i = 0; i < KEYS; i++) {
            count += put_at[i] != 0;
            if (put_at[i] != 0 && (worst == KEYS || spare[i] > spare[worst] ||
                                   (spare[i] == spare[worst] && put_at[i] < put_at[worst]))) {
                worst = i;
            }
        }
        if (put_at[n] == 0 && count == ROOM) {
            put_at[worst] = 0;
        }
        put_at[n] = step;
        spare[n] = (random >> 20) % 2 == 0;
        struct tc_lru_key key = {{n % 3, n}};
        *(uint64_t *)tc_lru_put(&t, key, spare[n]) = n;
        for (size_t i = 0; i < KEYS; i++) {
            const uint64_t *item = tc_lru_find(&t, (struct tc_lru_key){{i % 3, i}});
            assert_int_equal(item != NULL, put_at[i] != 0);
            assert_true(item == NULL || *item == i);
        }
    }
    tc_lru_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_one_put_longest_ago_is_forgotten),
        cmocka_unit_test(expendable_ones_go_first),
        cmocka_unit_test(a_new_item_is_zeroed),
        cmocka_unit_test(many_keys_in_one_run_are_each_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
