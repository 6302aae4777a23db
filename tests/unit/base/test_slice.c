/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/slice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tc_slice s_of(const char *s)
{
    return tc_slice_cstr(s);
}

static void assert_slice(struct tc_slice got, const char *want)
{
    assert_int_equal(got.len, strlen(want));
    assert_true(got.len == 0 || memcmp(got.ptr, want, got.len) == 0);
}

static void slices_are_made_from_literals_strings_and_nothing(void **state)
{
    (void)state;
    assert_slice(TC_LIT("abc"), "abc");
    assert_int_equal(TC_LIT("a\0c").len, 3);
    assert_slice(TC_EMPTY, "");
    assert_slice(tc_slice_cstr(NULL), "");
    assert_slice(tc_slice_make("abcdef", 3), "abc");
}

static void format_macro_prints_nothing_for_nothing_and_bounds_the_rest(void **state)
{
    (void)state;
    char text[16];
    (void)snprintf(text, sizeof text, "<%.*s>", TC_FMT(TC_EMPTY));
    assert_string_equal(text, "<>");
    (void)snprintf(text, sizeof text, "<%.*s>", TC_FMT(tc_slice_make("abcdef", 2)));
    assert_string_equal(text, "<ab>");
    char big[5000];
    char shown[5000];
    memset(big, 'x', sizeof big);
    assert_int_equal(snprintf(shown, sizeof shown, "%.*s", TC_FMT(tc_slice_make(big, 4095))), 4095);
    assert_int_equal(snprintf(shown, sizeof shown, "%.*s", TC_FMT(tc_slice_make(big, 4097))), 4096);
}

static void equality_needs_length_and_bytes(void **state)
{
    (void)state;
    assert_true(tc_slice_eq(s_of("abc"), TC_LIT("abc")));
    assert_false(tc_slice_eq(s_of("abc"), s_of("abd")));
    assert_false(tc_slice_eq(s_of("abc"), s_of("ab")));
    assert_true(tc_slice_eq(TC_EMPTY, s_of("")));
    assert_true(tc_slice_eq_nocase(s_of("AbZ"), s_of("aBz")));
    assert_false(tc_slice_eq_nocase(s_of("ab"), s_of("abc")));
    assert_false(tc_slice_eq_nocase(s_of("a@"), s_of("a`"))); /* the neighbours of A and a */
    assert_false(tc_slice_eq_nocase(s_of("a["), s_of("a{")));
    assert_true(tc_slice_eq_nocase(TC_EMPTY, TC_EMPTY));
}

static void bytes_are_equal_at_every_length_or_one_differs(void **state)
{
    (void)state;
    for (size_t len = 0; len <= 80; len++) {
        char *a = test_malloc(len + 1);
        char *b = test_malloc(len + 1);
        memset(a, 'x', len);
        memset(b, 'x', len);
        assert_true(tc_bytes_eq(a, b, len));
        for (size_t i = 0; i < len; i++) {
            b[i] = 'y';
            assert_false(tc_bytes_eq(a, b, len));
            b[i] = 'x';
        }
        test_free(a);
        test_free(b);
    }
}

static void order_is_bytewise_and_a_prefix_comes_first(void **state)
{
    (void)state;
    assert_true(tc_slice_cmp(s_of("a"), s_of("b")) < 0);
    assert_true(tc_slice_cmp(s_of("b"), s_of("a")) > 0);
    assert_true(tc_slice_cmp(s_of("ab"), s_of("abc")) < 0);
    assert_true(tc_slice_cmp(s_of("abc"), s_of("ab")) > 0);
    assert_int_equal(tc_slice_cmp(s_of("abc"), s_of("abc")), 0);
    assert_int_equal(tc_slice_cmp(TC_EMPTY, TC_EMPTY), 0);
    assert_true(tc_slice_cmp(TC_EMPTY, s_of("a")) < 0);
    assert_true(tc_slice_cmp(s_of("\x7f"), s_of("\x80")) < 0);
}

static void starts_and_ends_at_every_length(void **state)
{
    (void)state;
    assert_true(tc_slice_starts(s_of("abc"), s_of("abc")));
    assert_true(tc_slice_starts(s_of("abc"), s_of("ab")));
    assert_true(tc_slice_starts(s_of("abc"), TC_EMPTY));
    assert_true(tc_slice_starts(TC_EMPTY, TC_EMPTY));
    assert_false(tc_slice_starts(s_of("abc"), s_of("abcd")));
    assert_false(tc_slice_starts(s_of("abc"), s_of("b")));
    assert_true(tc_slice_ends(s_of("abc"), s_of("abc")));
    assert_true(tc_slice_ends(s_of("abc"), s_of("bc")));
    assert_true(tc_slice_ends(s_of("abc"), TC_EMPTY));
    assert_true(tc_slice_ends(TC_EMPTY, TC_EMPTY));
    assert_false(tc_slice_ends(s_of("bc"), s_of("abc")));
    assert_false(tc_slice_ends(s_of("abc"), s_of("b")));
}

static void from_and_head_stop_at_the_end(void **state)
{
    (void)state;
    assert_slice(tc_slice_from(s_of("abc"), 0), "abc");
    assert_slice(tc_slice_from(s_of("abc"), 2), "c");
    assert_slice(tc_slice_from(s_of("abc"), 3), "");
    assert_slice(tc_slice_from(s_of("abc"), SIZE_MAX), "");
    assert_slice(tc_slice_from(TC_EMPTY, 1), "");
    assert_slice(tc_slice_head(s_of("abc"), 0), "");
    assert_slice(tc_slice_head(s_of("abc"), 3), "abc");
    assert_slice(tc_slice_head(s_of("abc"), 4), "abc");
}

static void finding_gives_the_first_place_or_npos(void **state)
{
    (void)state;
    assert_int_equal(tc_slice_find(s_of("xabab"), s_of("ab")), 1);
    assert_int_equal(tc_slice_find(s_of("ab"), s_of("ab")), 0);
    assert_true(tc_slice_find(s_of("a"), s_of("ab")) == TC_NPOS);
    assert_true(tc_slice_find(s_of("xxxa"), s_of("ab")) == TC_NPOS);
    assert_int_equal(tc_slice_find(s_of("abc"), TC_EMPTY), 0);
    assert_int_equal(tc_slice_find(TC_EMPTY, TC_EMPTY), 0);
    assert_true(tc_slice_find(TC_EMPTY, s_of("a")) == TC_NPOS);

    assert_int_equal(tc_slice_find_nocase(s_of("xxAb"), s_of("aB")), 2);
    assert_true(tc_slice_find_nocase(s_of("xxA"), s_of("ab")) == TC_NPOS);
    assert_int_equal(tc_slice_find_nocase(TC_EMPTY, TC_EMPTY), 0);

    assert_int_equal(tc_slice_find_byte(s_of("abc"), 'c'), 2);
    assert_true(tc_slice_find_byte(s_of("abc"), 'd') == TC_NPOS);
    assert_true(tc_slice_find_byte(TC_EMPTY, '\0') == TC_NPOS);

    assert_int_equal(tc_slice_count(TC_EMPTY, 'a'), 0);
    assert_int_equal(tc_slice_count(s_of("banana"), 'a'), 3);
    assert_int_equal(tc_slice_count(s_of("banana"), 'x'), 0);

    assert_true(tc_slice_contains(s_of("abc"), s_of("bc")));
    assert_false(tc_slice_contains(s_of("abc"), s_of("cb")));
}

/* Beyond what a byte of a vector can count, at every length around it. */
static void bytes_are_counted_in_texts_of_any_length(void **state)
{
    (void)state;
    enum { MAX = 255 * 16 * 2 + 40 };
    char *text = malloc(MAX);
    assert_non_null(text);
    memset(text, 'a', MAX);
    for (size_t len = 0; len <= MAX; len += len < 40 || len > MAX - 80 ? 1 : 509) {
        assert_int_equal(tc_slice_count(tc_slice_make(text + MAX - len, len), 'a'), len);
        assert_int_equal(tc_slice_count(tc_slice_make(text, len), 'b'), 0);
    }
    text[0] = text[MAX - 1] = text[4000] = (char)0xff;
    assert_int_equal(tc_slice_count(tc_slice_make(text, MAX), (char)0xff), 3);
    free(text);
}

static void trim_takes_white_space_from_both_ends_only(void **state)
{
    (void)state;
    assert_slice(tc_slice_trim(s_of(" \t\r\n\v\fa b\f\v\n\r\t ")), "a b");
    assert_slice(tc_slice_trim(s_of("a")), "a");
    assert_slice(tc_slice_trim(s_of("  ")), "");
    assert_slice(tc_slice_trim(TC_EMPTY), "");
    assert_int_equal(tc_slice_trim(TC_LIT("\0a\0")).len, 3);
}

static void cut_splits_at_the_first_byte(void **state)
{
    (void)state;
    struct tc_slice rest;
    assert_slice(tc_slice_cut(s_of("a,b,c"), ',', &rest), "a");
    assert_slice(rest, "b,c");
    assert_slice(tc_slice_cut(s_of("abc"), ',', &rest), "abc");
    assert_slice(rest, "");
    assert_slice(tc_slice_cut(s_of(",b"), ',', &rest), "");
    assert_slice(rest, "b");
    assert_slice(tc_slice_cut(s_of("a,"), ',', &rest), "a");
    assert_slice(rest, "");
    assert_slice(tc_slice_cut(TC_EMPTY, ',', &rest), "");
    assert_slice(rest, "");
}

static void unsigned_numbers_up_to_the_last_that_fits(void **state)
{
    (void)state;
    uint64_t v = 7;
    assert_int_equal(tc_slice_u64(s_of("18446744073709551615,"), &v), 20);
    assert_true(v == UINT64_MAX);
    v = 7;
    assert_int_equal(tc_slice_u64(s_of("18446744073709551616"), &v), 0);
    assert_int_equal(tc_slice_u64(s_of("99999999999999999999"), &v), 0);
    assert_int_equal(tc_slice_u64(s_of("x1"), &v), 0);
    assert_int_equal(tc_slice_u64(s_of("-1"), &v), 0);
    assert_int_equal(tc_slice_u64(TC_EMPTY, &v), 0);
    assert_int_equal(v, 7); /* untouched by all of them */
    assert_int_equal(tc_slice_u64(s_of("007x"), &v), 3);
    assert_int_equal(v, 7);
    assert_int_equal(tc_slice_u64(s_of("/0"), &v), 0);
    assert_int_equal(tc_slice_u64(s_of(":0"), &v), 0);
}

static void signed_numbers_to_both_ends(void **state)
{
    (void)state;
    int64_t v = 7;
    assert_int_equal(tc_slice_i64(s_of("9223372036854775807"), &v), 19);
    assert_true(v == INT64_MAX);
    assert_int_equal(tc_slice_i64(s_of("-9223372036854775808"), &v), 20);
    assert_true(v == INT64_MIN);
    v = 7;
    assert_int_equal(tc_slice_i64(s_of("9223372036854775808"), &v), 0);
    assert_int_equal(tc_slice_i64(s_of("-9223372036854775809"), &v), 0);
    assert_int_equal(tc_slice_i64(s_of("-"), &v), 0);
    assert_int_equal(tc_slice_i64(s_of("--1"), &v), 0);
    assert_int_equal(tc_slice_i64(s_of("+1"), &v), 0);
    assert_int_equal(v, 7);
    assert_int_equal(tc_slice_i64(s_of("-0 "), &v), 2);
    assert_int_equal(v, 0);
}

static void hex_numbers_have_at_most_sixteen_digits(void **state)
{
    (void)state;
    uint64_t v = 7;
    assert_int_equal(tc_slice_hex(s_of("fFfFfFfFfFfFfFfF"), &v), 16);
    assert_true(v == UINT64_MAX);
    v = 7;
    assert_int_equal(tc_slice_hex(s_of("00000000000000001"), &v), 0);
    assert_int_equal(tc_slice_hex(s_of("g"), &v), 0);
    assert_int_equal(tc_slice_hex(TC_EMPTY, &v), 0);
    assert_int_equal(v, 7);
    assert_int_equal(tc_slice_hex(s_of("0123456789abcdefg"), &v), 16);
    assert_true(v == 0x0123456789abcdefULL);
    assert_int_equal(tc_slice_hex(s_of("a0:"), &v), 2);
    assert_int_equal(v, 0xa0);
    assert_int_equal(tc_slice_hex(s_of("@"), &v), 0);
    assert_int_equal(tc_slice_hex(s_of("`"), &v), 0);
}

static void whole_numbers_allow_nothing_behind_them(void **state)
{
    (void)state;
    uint64_t u = 7;
    int64_t i = 7;
    assert_true(tc_slice_is_u64(s_of("12"), &u));
    assert_int_equal(u, 12);
    assert_false(tc_slice_is_u64(s_of("12 "), &u));
    assert_false(tc_slice_is_u64(TC_EMPTY, &u));
    assert_false(tc_slice_is_u64(s_of("18446744073709551616"), &u));
    assert_int_equal(u, 12);
    assert_true(tc_slice_is_i64(s_of("-12"), &i));
    assert_int_equal(i, -12);
    assert_false(tc_slice_is_i64(s_of("-12x"), &i));
    assert_false(tc_slice_is_i64(TC_EMPTY, &i));
    assert_false(tc_slice_is_i64(s_of("-"), &i));
    assert_int_equal(i, -12);
}

static void hash_depends_on_bytes_length_and_seed(void **state)
{
    (void)state;
    assert_true(tc_slice_hash(s_of("abc"), 0) == tc_slice_hash(tc_slice_make("abcd", 3), 0));
    assert_true(tc_slice_hash(s_of("abc"), 0) != tc_slice_hash(s_of("abd"), 0));
    assert_true(tc_slice_hash(s_of("abc"), 0) != tc_slice_hash(s_of("abc"), 1));
    assert_true(tc_slice_hash(TC_EMPTY, 5) == tc_slice_hash(s_of(""), 5));
    /* Group keys are written to files: the function must stay the published XXH3. */
    assert_true(tc_slice_hash(TC_EMPTY, 0) == 0x2d06800538d394c2ULL);
}

static void mixing_is_not_symmetric(void **state)
{
    (void)state;
    assert_true(tc_hash_mix(1, 2) != tc_hash_mix(2, 1));
    assert_true(tc_hash_mix(1, 2) == tc_hash_mix(1, 2));
    assert_true(tc_hash_mix(0, 0) != tc_hash_mix(0, 1));
}

static void distance_counts_edits(void **state)
{
    (void)state;
    char longest[TC_DISTANCE_MAX + 1];
    memset(longest, 'a', sizeof longest);
    assert_int_equal(tc_slice_distance(TC_LIT(""), TC_LIT("")), 0);
    assert_int_equal(tc_slice_distance(TC_LIT("abc"), TC_LIT("abc")), 0);
    assert_int_equal(tc_slice_distance(TC_LIT("abc"), TC_LIT("")), 3);
    assert_int_equal(tc_slice_distance(TC_LIT("detect"), TC_LIT("deteckt")), 1);
    assert_int_equal(tc_slice_distance(TC_LIT("abc"), TC_LIT("acb")), 2);
    assert_int_equal(tc_slice_distance(tc_slice_make(longest, TC_DISTANCE_MAX), TC_LIT("a")),
                     TC_DISTANCE_MAX - 1);
    assert_int_equal(tc_slice_distance(tc_slice_make(longest, TC_DISTANCE_MAX + 1), TC_LIT("a")),
                     TC_DISTANCE_MAX);
}

static void a_row_is_found_by_any_member_that_is_a_string(void **state)
{
    (void)state;
    static const struct {
        int number;
        const char *name;
        const char *other;
    } rows[] = {{1, "one", "eins"}, {2, "two", "zwei"}, {3, "two", NULL}};
    assert_int_equal(tc_slice_row(TC_LIT("one"), rows, name), 0);
    assert_int_equal(tc_slice_row(TC_LIT("two"), rows, name), 1); /* the first */
    assert_int_equal(tc_slice_row(TC_LIT("zwei"), rows, other), 1);
    assert_int_equal(tc_slice_row(TC_EMPTY, rows, other), 2);
    assert_int_equal(tc_slice_row(TC_LIT("TWO"), rows, name), TC_COUNT(rows));
    assert_int_equal(tc_slice_row_nocase(TC_LIT("TWO"), rows, name), 1);
    assert_int_equal(tc_slice_row_nocase(TC_LIT("tw"), rows, name), TC_COUNT(rows));
}

static void one_of_several_words_is_enough(void **state)
{
    (void)state;
    struct tc_slice s = TC_LIT("GPU is lost");
    assert_true(tc_slice_contains_any(s, "is found", "is lost"));
    assert_false(tc_slice_contains_any(s, "is found", "is losts"));
    assert_int_equal(tc_slice_which_part(s, (const char *const[]){"x", "lost", "GPU", NULL}), 1);
    assert_int_equal(tc_slice_which_part(s, (const char *const[]){NULL}), -1);
}

static void bytes_are_told_apart_by_kind(void **state)
{
    (void)state;
    for (int i = 0; i < 256; i++) {
        char c = (char)i;
        bool digit = i < 128 && strchr("0123456789", i) != NULL && i != 0;
        bool letter = (i >= 'a' && i <= 'z') || (i >= 'A' && i <= 'Z');
        assert_int_equal(tc_is_digit(c), digit);
        assert_int_equal(tc_is_blank(c), i == ' ' || i == '\t');
        assert_int_equal(tc_is_word(c), digit || letter || i == '_');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_are_made_from_literals_strings_and_nothing),
        cmocka_unit_test(format_macro_prints_nothing_for_nothing_and_bounds_the_rest),
        cmocka_unit_test(equality_needs_length_and_bytes),
        cmocka_unit_test(bytes_are_equal_at_every_length_or_one_differs),
        cmocka_unit_test(order_is_bytewise_and_a_prefix_comes_first),
        cmocka_unit_test(starts_and_ends_at_every_length),
        cmocka_unit_test(from_and_head_stop_at_the_end),
        cmocka_unit_test(finding_gives_the_first_place_or_npos),
        cmocka_unit_test(bytes_are_counted_in_texts_of_any_length),
        cmocka_unit_test(trim_takes_white_space_from_both_ends_only),
        cmocka_unit_test(cut_splits_at_the_first_byte),
        cmocka_unit_test(unsigned_numbers_up_to_the_last_that_fits),
        cmocka_unit_test(signed_numbers_to_both_ends),
        cmocka_unit_test(hex_numbers_have_at_most_sixteen_digits),
        cmocka_unit_test(whole_numbers_allow_nothing_behind_them),
        cmocka_unit_test(hash_depends_on_bytes_length_and_seed),
        cmocka_unit_test(mixing_is_not_symmetric),
        cmocka_unit_test(distance_counts_edits),
        cmocka_unit_test(a_row_is_found_by_any_member_that_is_a_string),
        cmocka_unit_test(one_of_several_words_is_enough),
        cmocka_unit_test(bytes_are_told_apart_by_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
