/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/table/sort.h"

#include <stdlib.h>
#include <string.h>

#define MOST 3000

static struct tc_sort_pair pairs[MOST];
static struct tc_sort_pair wanted[MOST];
static struct tc_sort_pair scratch[MOST];

static uint64_t next_random(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

/* By key, then by value: the values below are the places, so this is the stable order. */
static int by_key_then_place(const void *a, const void *b)
{
    const struct tc_sort_pair *x = a;
    const struct tc_sort_pair *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->value < y->value ? -1 : x->value > y->value;
}

static void check_keys(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pairs[i].value = i;
    }
    memcpy(wanted, pairs, count * sizeof pairs[0]);
    qsort(wanted, count, sizeof wanted[0], by_key_then_place);
    tc_sort_keys(pairs, scratch, count);
    assert_true(count == 0 || memcmp(pairs, wanted, count * sizeof pairs[0]) == 0);
}

/* Around the switch from insertion to merging and radix sort, and beyond it. */
static const size_t COUNTS[] = {0, 1, 2, 3, 23, 24, 25, 26, 100, 257, MOST};
#define COUNT_COUNT (sizeof COUNTS / sizeof COUNTS[0])

static void random_keys_come_out_as_from_qsort_and_stable(void **state)
{
    (void)state;
    static const uint64_t masks[] = {UINT64_MAX, 0xff,   0x7,           0xff00000000000000ULL,
                                     1,          0xf0f0, 0xffffffffULL, 0x00ff00ff00ff00ffULL};
    uint64_t seed = 1;
    for (size_t m = 0; m < sizeof masks / sizeof masks[0]; m++) {
        for (size_t c = 0; c < COUNT_COUNT; c++) {
            for (size_t i = 0; i < COUNTS[c]; i++) {
                pairs[i].key = next_random(&seed) & masks[m];
            }
            check_keys(COUNTS[c]);
        }
    }
}

static void equal_sorted_and_reversed_keys_come_out_right(void **state)
{
    (void)state;
    for (size_t c = 0; c < COUNT_COUNT; c++) {
        for (size_t i = 0; i < COUNTS[c]; i++) {
            pairs[i].key = 7;
        }
        check_keys(COUNTS[c]);
        for (size_t i = 0; i < COUNTS[c]; i++) {
            pairs[i].key = i;
        }
        check_keys(COUNTS[c]);
        for (size_t i = 0; i < COUNTS[c]; i++) {
            pairs[i].key = UINT64_MAX - i;
        }
        check_keys(COUNTS[c]);
    }
}

static void one_key_out_of_place_is_found_wherever_it_is(void **state)
{
    (void)state;
    for (size_t at = 0; at < 40; at++) {
        for (size_t i = 0; i < 40; i++) {
            pairs[i].key = i * 2 + 10;
        }
        pairs[at].key = at == 0 ? 1000 : 0;
        check_keys(40);
        for (size_t i = 0; i < 40; i++) {
            pairs[i].key = 7;
        }
        pairs[at].key = at == 0 ? 8 : 6;
        check_keys(40);
    }
}

/* As events of several senders come: around the number of runs that are merged. */
static void runs_in_order_come_out_stable(void **state)
{
    (void)state;
    static const size_t runs[] = {2, 3, 5, 8, 63, 64, 65, 66, 100};
    uint64_t seed = 3;
    for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++) {
        for (uint64_t spread = 1; spread <= 1000; spread *= 10) {
            size_t count = 0;
            for (size_t run = 0; run < runs[r]; run++) {
                uint64_t key = next_random(&seed) % 50;
                size_t length = 1 + next_random(&seed) % 30;
                for (size_t i = 0; i < length; i++) {
                    pairs[count++].key = key;
                    key += next_random(&seed) % spread;
                }
            }
            check_keys(count);
        }
    }
}

static void keys_in_order_leave_the_scratch_alone(void **state)
{
    (void)state;
    memset(scratch, 0xaa, sizeof scratch);
    for (size_t i = 0; i < 1000; i++) {
        pairs[i].key = i / 2;
    }
    check_keys(1000);
    for (size_t i = 0; i < 1000; i++) {
        assert_true(scratch[i].key == 0xaaaaaaaaaaaaaaaaULL);
    }
}

struct counted {
    size_t calls;
};

static int by_key(const void *a, const void *b, void *context)
{
    const struct tc_sort_pair *x = a;
    const struct tc_sort_pair *y = b;
    ((struct counted *)context)->calls++;
    return x->key < y->key ? -1 : x->key > y->key;
}

static size_t log2_up(size_t n)
{
    size_t bits = 0;
    while (((size_t)1 << bits) < n) {
        bits++;
    }
    return bits;
}

/* As tc_sort_ptrs does it; none of the pieces is long. */
static void sort_in_pieces(const void **items, const void **spare, size_t n, struct counted *io)
{
    struct tc_sorting s = {items, spare, n, by_key, io, .width = 0};
    size_t before = 0;
    do {
        before = io->calls;
    } while (!tc_sort_some(&s) && io->calls - before <= 4096);
    assert_true(io->calls - before <= 4096);
}

static void pointers_come_out_stable_within_the_promised_comparisons(void **state)
{
    (void)state;
    static const void *items[MOST];
    static const void *spare[MOST];
    uint64_t seed = 3;
    for (size_t c = 0; c < COUNT_COUNT; c++) {
        for (uint64_t mask = 1; mask < 0x10000; mask = mask * 16 + 15) {
            size_t n = COUNTS[c];
            for (size_t i = 0; i < n; i++) {
                pairs[i] = (struct tc_sort_pair){next_random(&seed) & mask, i};
                wanted[i] = pairs[i];
                items[i] = &pairs[i];
            }
            qsort(wanted, n, sizeof wanted[0], by_key_then_place);
            struct counted counted = {0};
            sort_in_pieces(items, spare, n, &counted);
            for (size_t i = 0; i < n; i++) {
                assert_memory_equal(items[i], &wanted[i], sizeof wanted[i]);
            }
            assert_true(counted.calls <= n * log2_up(n));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_keys_come_out_as_from_qsort_and_stable),
        cmocka_unit_test(equal_sorted_and_reversed_keys_come_out_right),
        cmocka_unit_test(one_key_out_of_place_is_found_wherever_it_is),
        cmocka_unit_test(runs_in_order_come_out_stable),
        cmocka_unit_test(keys_in_order_leave_the_scratch_alone),
        cmocka_unit_test(pointers_come_out_stable_within_the_promised_comparisons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
