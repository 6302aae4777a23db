/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LITERAL(s)         \
    {                      \
        (s), sizeof(s) - 1 \
    }

/* xorshift64: the same texts on every run. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t naive_next(const struct tc_slice *literals, size_t count, struct tc_slice text,
                         size_t from, unsigned *out_which)
{
    for (size_t at = from; at < text.len; at++) {
        for (size_t i = 0; i < count; i++) {
            if (tc_slice_starts(tc_slice_from(text, at), literals[i])) {
                *out_which = (unsigned)i;
                return at;
            }
        }
    }
    return TC_NPOS;
}

/* Walks all hits of a text with the scan and with the naive search, side by side. */
static size_t compare_walks(const struct tc_scan *s, struct tc_slice text)
{
    size_t hits = 0;
    for (size_t from = 0; from <= text.len;) {
        unsigned which = 77;
        unsigned naive_which = 77;
        size_t at = tc_scan_next(s, text, from, &which);
        size_t naive = naive_next(s->literals, s->count, text, from, &naive_which);
        assert_int_equal(at, naive);
        assert_int_equal(which, naive_which);
        if (at == TC_NPOS) {
            break;
        }
        hits++;
        from = at + 1;
    }
    return hits;
}

/* Every path this machine has; the heap block is exact, so that ASan sees a read outside. */
static size_t check_paths(const struct tc_slice *literals, size_t count, const char *bytes,
                          size_t len)
{
    static const enum tc_scan_path paths[] = {TC_SCAN_SCALAR, TC_SCAN_AVX2};
    size_t hits = 0;
    char *exact = malloc(len == 0 ? 1 : len);
    assert_non_null(exact);
    if (len > 0) {
        memcpy(exact, bytes, len);
    }
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        static const uint8_t buckets[] = {0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7};
        struct tc_scan s;
        tc_scan_init(&s, literals, count);
        if (tc_scan_use(&s, paths[i])) {
            hits += compare_walks(&s, tc_slice_make(exact, len));
        }
        if (count <= sizeof buckets) {
            tc_scan_init_in(&s, literals, buckets, count);
            (void)tc_scan_use(&s, paths[i]);
            (void)compare_walks(&s, tc_slice_make(exact, len));
        }
    }
    free(exact);
    return hits;
}

static void hits_of_random_texts_are_those_of_a_naive_search(void **state)
{
    (void)state;
    static const struct tc_slice literals[] = {
        LITERAL("abab"), LITERAL("aaaaa"), LITERAL("bcabcab"), LITERAL("ccccccccc"),
        LITERAL("abab"), LITERAL("cabd"),  LITERAL("dddd"),    LITERAL("abababab"),
    };
    uint64_t random = 0x9e3779b97f4a7c15ULL;
    char text[700];
    size_t hits = 0;
    for (int round = 0; round < 3000; round++) {
        size_t len = next_random(&random) % sizeof text;
        unsigned letters = 2 + (unsigned)(next_random(&random) % 3);
        for (size_t i = 0; i < len; i++) {
            text[i] = (char)('a' + next_random(&random) % letters);
        }
        size_t count = 1 + next_random(&random) % 8;
        hits += check_paths(literals, count, text, len);
    }
    assert_true(hits > 20000);
}

static void a_literal_is_found_at_every_offset_of_every_length(void **state)
{
    (void)state;
    static const struct tc_slice literals[] = {LITERAL("I/O error"), LITERAL("Xid (")};
    char text[200];
    for (size_t len = 0; len <= sizeof text; len++) {
        memset(text, '.', sizeof text);
        assert_int_equal(check_paths(literals, 2, text, len), 0);
        for (size_t at = 0; at + 5 <= len; at++) {
            memset(text, '.', sizeof text);
            memcpy(text + at, literals[1].ptr, literals[1].len);
            assert_true(check_paths(literals, 2, text, len) >= 1);
        }
    }
}

static void a_literal_cut_by_the_end_of_the_text_is_no_hit(void **state)
{
    (void)state;
    static const struct tc_slice literals[] = {LITERAL("fallen off the bus")};
    char text[100];
    for (size_t pad = 0; pad < 80; pad++) {
        memset(text, 'x', sizeof text);
        memcpy(text + pad, literals[0].ptr, literals[0].len - 1);
        assert_int_equal(check_paths(literals, 1, text, pad + 17), 0);
    }
}

static void bytes_above_127_and_nul_are_ordinary_bytes(void **state)
{
    (void)state;
    static const struct tc_slice literals[] = {{"\xff\xfe\0\x80", 4}, {"\0\0\0\0", 4}};
    char text[256];
    uint64_t random = 42;
    size_t hits = 0;
    for (int round = 0; round < 500; round++) {
        for (size_t i = 0; i < sizeof text; i++) {
            text[i] = "\xff\xfe\0\x80"[next_random(&random) % 4];
        }
        hits += check_paths(literals, 2, text, sizeof text);
    }
    assert_true(hits > 500);
}

static void sixty_four_literals_are_all_found(void **state)
{
    (void)state;
    static char names[TC_SCAN_LITERALS_MAX][8];
    struct tc_slice literals[TC_SCAN_LITERALS_MAX];
    for (size_t i = 0; i < TC_SCAN_LITERALS_MAX; i++) {
        (void)snprintf(names[i], sizeof names[i], "%c%02zu%c", (int)('A' + i % 26), i,
                       (int)('a' + i % 7));
        literals[i] = tc_slice_cstr(names[i]);
    }
    struct tc_scan s;
    tc_scan_init(&s, literals, TC_SCAN_LITERALS_MAX);
    for (size_t i = 0; i < TC_SCAN_LITERALS_MAX; i++) {
        char text[256];
        unsigned which = 0;
        memset(text, ' ', sizeof text);
        memcpy(text + 100, names[i], 4);
        assert_int_equal(tc_scan_next(&s, tc_slice_make(text, sizeof text), 0, &which), 100);
        assert_int_equal(which, i);
    }
}

static void a_start_past_the_end_finds_nothing(void **state)
{
    (void)state;
    static const struct tc_slice literals[] = {LITERAL("abcd")};
    struct tc_scan s;
    unsigned which = 9;
    tc_scan_init(&s, literals, 1);
    assert_int_equal(tc_scan_next(&s, TC_LIT("abcd"), 0, &which), 0);
    assert_int_equal(which, 0);
    which = 9;
    assert_int_equal(tc_scan_next(&s, TC_LIT("abcd"), 1, &which), TC_NPOS);
    assert_int_equal(tc_scan_next(&s, TC_LIT("abcd"), 4, &which), TC_NPOS);
    assert_int_equal(tc_scan_next(&s, TC_LIT("abcd"), 400, &which), TC_NPOS);
    assert_int_equal(tc_scan_next(&s, TC_EMPTY, 0, &which), TC_NPOS);
    assert_int_equal(which, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hits_of_random_texts_are_those_of_a_naive_search),
        cmocka_unit_test(a_literal_is_found_at_every_offset_of_every_length),
        cmocka_unit_test(a_literal_cut_by_the_end_of_the_text_is_no_hit),
        cmocka_unit_test(bytes_above_127_and_nul_are_ordinary_bytes),
        cmocka_unit_test(sixty_four_literals_are_all_found),
        cmocka_unit_test(a_start_past_the_end_finds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
