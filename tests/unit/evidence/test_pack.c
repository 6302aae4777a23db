/* SPDX-License-Identifier: Apache-2.0 */
/* What pack_lz4.c writes: liblz4 unpacks it to the same bytes, and it is never longer than the
 * format needs at worst. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/slice.h"
#include "evidence/pack_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *table;

static int make_table(void **state)
{
    (void)state;
    table = malloc(tc__lz4_state_bytes());
    memset(table, 0xff, tc__lz4_state_bytes()); /* of whatever was packed before */
    return table == NULL ? -1 : 0;
}

static int free_table(void **state)
{
    (void)state;
    free(table);
    return 0;
}

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Packs and unpacks in memory of exactly the sizes that there have to be: the sanitizer sees a byte
 * too many. Returns the length. */
static size_t check(const char *bytes, size_t len)
{
    char *in = malloc(len + (len == 0));
    char *packed = malloc(len + len / 255 + 16);
    char *out = malloc(len + (len == 0));
    assert_true(in != NULL && packed != NULL && out != NULL);
    memcpy(in, bytes, len);
    size_t done = tc__pack_lz4(table, in, len, packed);
    assert_in_range(done, 1, len + len / 255 + 16);
    char *exact = malloc(done);
    memcpy(exact, packed, done);
    struct tc__piece p = {.piece_len = len, .payload_len = done, .is_lz4 = true};
    assert_true(tc__unpack_lz4(&p, exact, out));
    assert_true(tc_slice_eq(tc_slice_make(out, len), tc_slice_make(bytes, len)));
    free(exact);
    free(out);
    free(packed);
    free(in);
    return done;
}

static void every_length_comes_back(void **state)
{
    (void)state;
    char bytes[700];
    uint64_t seed = 7;
    for (unsigned letters = 1; letters <= 256; letters *= 4) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (char)(draw(&seed) % letters);
        }
        for (size_t len = 0; len <= sizeof bytes; len++) {
            (void)check(bytes, len);
        }
    }
}

/* Runs of bytes by chance, of few letters, of one, and copies of what came before. */
static void any_mixture_comes_back(void **state)
{
    (void)state;
    size_t len = TC__PIECE_MAX;
    char *bytes = malloc(len);
    assert_non_null(bytes);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t s = seed * UINT64_C(0x9e3779b97f4a7c15);
        size_t longest = (size_t)1 << (2 + seed % 9);
        size_t size = seed == 40 ? len : 1 + (size_t)(draw(&s) % (len / 8));
        for (size_t at = 0; at < size;) {
            uint64_t kind = draw(&s) % 4;
            size_t run = 1 + (size_t)(draw(&s) % longest);
            size_t back = 1 + (size_t)(draw(&s) % 70000);
            run = run < size - at ? run : size - at;
            for (size_t i = 0; i < run; i++, at++) {
                bytes[at] = kind == 0   ? (char)draw(&s)
                            : kind == 1 ? (char)('a' + draw(&s) % 3)
                            : kind == 2 ? 'z'
                                        : (at < back ? 'y' : bytes[at - back]);
            }
        }
        (void)check(bytes, size);
    }
    free(bytes);
}

/* The distance of a match is at most 65,535: what is the same further back is not referred to. */
static void matches_reach_as_far_as_the_format(void **state)
{
    (void)state;
    enum { LONG = 4096 };
    size_t room = 65535 + 2 * LONG + 64;
    char *bytes = malloc(room);
    uint64_t seed = 3;
    assert_non_null(bytes);
    for (size_t distance = 65520; distance <= 65550; distance++) {
        for (size_t i = 0; i < room; i++) {
            bytes[i] = (char)draw(&seed);
        }
        memcpy(bytes + distance, bytes, LONG);
        size_t done = check(bytes, distance + LONG + 40);
        assert_true(distance > 65535 || done < distance + LONG);
    }
    free(bytes);
}

/* Records of one shape that differ in numbers of one length: what it is made for. */
static void records_of_one_shape_become_short(void **state)
{
    (void)state;
    size_t len = 0;
    char *bytes = malloc((size_t)1 << 20);
    uint64_t seed = 11;
    assert_non_null(bytes);
    for (size_t i = 0; i < 2000; i++) {
        len += (size_t)sprintf(bytes + len,
                               "time=%06u node=gpu-17.cluster message=\"GPU has fallen off the "
                               "bus\" pid=%03u severity=error\n",
                               (unsigned)(draw(&seed) % 1000000), (unsigned)(draw(&seed) % 1000));
    }
    assert_in_range(check(bytes, len), 1, len / 4);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_length_comes_back, make_table, free_table),
        cmocka_unit_test_setup_teardown(any_mixture_comes_back, make_table, free_table),
        cmocka_unit_test_setup_teardown(matches_reach_as_far_as_the_format, make_table, free_table),
        cmocka_unit_test_setup_teardown(records_of_one_shape_become_short, make_table, free_table),
    };
    return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
