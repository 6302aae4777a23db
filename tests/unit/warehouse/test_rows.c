/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of rows: what is set comes out, what is not is NULL, and nothing grows past its bound. */
#include "warehouse/rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct tc_column COLUMNS[] = {
    {"name", TC_COLUMN_TEXT, 1, "", ""},  {"count", TC_COLUMN_INT, 1, "", ""},
    {"value", TC_COLUMN_REAL, 1, "", ""}, {"good", TC_COLUMN_BOOL, 1, "", ""},
    {"at", TC_COLUMN_TIME, 1, "", ""},
};
enum { NAME, COUNT, VALUE, GOOD, AT, COLUMN_COUNT };

static struct tc_rows *make(void)
{
    struct tc_rows *r = tc_rows_create_for(COLUMNS, COLUMN_COUNT);
    assert_non_null(r);
    return r;
}

static void a_new_row_is_null_and_keeps_what_is_set(void **state)
{
    (void)state;
    struct tc_rows *r = make();
    assert_true(tc_rows_add(r));
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        assert_true(tc_rows_is_null(r, i, 0));
    }
    assert_int_equal(tc_rows_text(r, NAME, TC_LIT("")), TC_OK);
    tc_rows_int(r, COUNT, INT64_MIN);
    tc_rows_real(r, VALUE, -0.5);
    tc_rows_int(r, GOOD, 7);
    tc_rows_int(r, AT, INT64_C(1762000000000000));
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        assert_false(tc_rows_is_null(r, i, 0));
    }
    assert_int_equal(tc_rows_get_text(r, NAME, 0).len, 0);
    assert_true(r->columns[COUNT].cells[0].integer == INT64_MIN);
    assert_true(r->columns[VALUE].cells[0].real == -0.5);
    assert_int_equal(r->columns[GOOD].cells[0].integer, 1);
    tc_rows_destroy(r);
}

static void what_is_no_number_is_null(void **state)
{
    (void)state;
    struct tc_rows *r = make();
    const double none[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < 3; i++) {
        assert_true(tc_rows_add(r));
        tc_rows_real(r, VALUE, none[i]);
        assert_true(tc_rows_is_null(r, VALUE, i));
    }
    tc_rows_destroy(r);
}

static void a_cell_is_copied_as_it_is(void **state)
{
    (void)state;
    struct tc_rows *from = make();
    struct tc_rows *to = make();
    assert_true(tc_rows_add(from)); /* all NULL */
    assert_true(tc_rows_add(from));
    assert_int_equal(tc_rows_text(from, NAME, TC_LIT("abcdef")), TC_OK);
    tc_rows_int(from, COUNT, INT64_MIN);
    tc_rows_any_real(from, VALUE, (double)NAN);
    tc_rows_int(from, GOOD, 1);
    tc_rows_int(from, AT, 7);
    for (size_t row = 0; row < 2; row++) {
        assert_true(tc_rows_add(to));
        for (size_t c = 0; c < COLUMN_COUNT; c++) {
            assert_int_equal(tc_rows_copy_cell(to, c, from, c, row, TC_ROWS_TEXT_MAX), TC_OK);
            assert_int_equal(tc_rows_is_null(to, c, row), row == 0);
        }
    }
    assert_true(tc_slice_eq(tc_rows_get_text(to, NAME, 1), TC_LIT("abcdef")));
    assert_true(to->columns[COUNT].cells[1].integer == INT64_MIN);
    assert_true(isnan(to->columns[VALUE].cells[1].real));
    assert_int_equal(to->columns[GOOD].cells[1].integer, 1);
    assert_int_equal(to->columns[AT].cells[1].integer, 7);
    tc_rows_destroy(from);
    tc_rows_destroy(to);
}

static void a_text_is_copied_up_to_the_bound(void **state)
{
    (void)state;
    struct tc_rows *from = make();
    struct tc_rows *to = make();
    static const struct {
        size_t max;
        const char *text;
    } cases[] = {
        {0, ""}, {3, "abc"}, {5, "abc\xc3\xa4"}, {4, "abc\xef\xbf\xbd"}, {6, "abc\xc3\xa4"}};
    assert_true(tc_rows_add(from));
    assert_int_equal(tc_rows_text(from, NAME, TC_LIT("abc\xc3\xa4")), TC_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(tc_rows_add(to));
        assert_int_equal(tc_rows_copy_cell(to, NAME, from, NAME, 0, cases[i].max), TC_OK);
        assert_true(tc_slice_eq(tc_rows_get_text(to, NAME, i), tc_slice_cstr(cases[i].text)));
    }
    tc_rows_destroy(from);
    tc_rows_destroy(to);
}

static void a_batch_has_so_many_rows_and_can_be_used_again(void **state)
{
    (void)state;
    struct tc_rows *r = make();
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < TC_ROWS_MAX; i++) {
            assert_true(tc_rows_add(r));
            if (round == 0) {
                tc_rows_int(r, COUNT, (int64_t)i);
            }
        }
        assert_false(tc_rows_add(r));
        assert_int_equal(r->count, TC_ROWS_MAX);
        /* What was there before does not shine through. */
        assert_int_equal(tc_rows_is_null(r, COUNT, TC_ROWS_MAX - 1), round == 1);
        tc_rows_reset(r);
        assert_int_equal(r->count, 0);
    }
    tc_rows_destroy(r);
}

static void text_grows_up_to_its_bound(void **state)
{
    (void)state;
    struct tc_rows *r = make();
    size_t half = TC_ROWS_TEXT_MAX / 2;
    char *text = malloc(half + 1);
    assert_non_null(text);
    memset(text, 'x', half + 1);
    assert_true(tc_rows_add(r));
    assert_int_equal(tc_rows_text(r, NAME, tc_slice_make(text, half)), TC_OK);
    assert_true(tc_rows_add(r));
    assert_int_equal(tc_rows_text(r, NAME, tc_slice_make(text, half + 1)), TC_E_LIMIT);
    assert_true(tc_rows_is_null(r, NAME, 1));
    assert_int_equal(tc_rows_text(r, NAME, tc_slice_make(text, half)), TC_OK);
    assert_int_equal(r->text_len, TC_ROWS_TEXT_MAX);
    assert_int_equal(tc_rows_text(r, NAME, TC_LIT("y")), TC_E_LIMIT);
    assert_int_equal(tc_rows_get_text(r, NAME, 1).len, half);
    assert_int_equal(tc_rows_get_text(r, NAME, 1).ptr[half - 1], 'x');
    free(text);
    tc_rows_destroy(r);
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *out;
    } cases[] = {
        {"plain", "plain"},
        {"Gr\xc3\xbc\xc3\x9f", "Gr\xc3\xbc\xc3\x9f"},
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"\xc3", "\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\xf0\x9f\x98\x80!", "\xf0\x9f\x98\x80!"},
        {"long enough for words \x80", "long enough for words \xef\xbf\xbd"},
    };
    struct tc_rows *r = make();
    size_t column = 0;
    size_t row = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(tc_rows_add(r));
        assert_int_equal(tc_rows_text(r, NAME, tc_slice_cstr(cases[i].in)), TC_OK);
        struct tc_slice out = tc_rows_get_text(r, NAME, i);
        assert_int_equal(out.len, strlen(cases[i].out));
        assert_memory_equal(out.ptr, cases[i].out, out.len);
    }
    assert_true(tc_rows_are_sound(r, &column, &row));
    /* Raw, as off the socket. */
    r->text[0] = '\xfe';
    assert_false(tc_rows_are_sound(r, &column, &row));
    assert_int_equal(column, NAME);
    assert_int_equal(row, 0);
    tc_rows_destroy(r);
}

static void times_are_of_the_years_1_to_9999(void **state)
{
    (void)state;
    const int64_t low = INT64_C(-62135596800) * 1000000;
    const int64_t high = INT64_C(253402300800) * 1000000 - 1;
    const struct {
        int64_t us;
        bool sound;
    } cases[] = {{0, true},         {low, true},        {low - 1, false},  {high, true},
                 {high + 1, false}, {INT64_MAX, false}, {INT64_MIN, false}};
    struct tc_rows *r = make();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t column = 0;
        size_t row = 0;
        tc_rows_reset(r);
        assert_true(tc_rows_add(r));
        tc_rows_int(r, AT, cases[i].us);
        assert_int_equal(tc_rows_are_sound(r, &column, &row), cases[i].sound);
        assert_int_equal(column, cases[i].sound ? 0 : AT);
    }
    tc_rows_destroy(r);
}

static void long_names_are_cut(void **state)
{
    (void)state;
    char name[100];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct tc_column column = {name, TC_COLUMN_INT, 1, "", ""};
    struct tc_rows *r = tc_rows_create_for(&column, 1);
    assert_non_null(r);
    assert_int_equal(strlen(r->columns[0].name), 63);
    tc_rows_destroy(r);
    r = tc_rows_create_for(NULL, 0);
    assert_non_null(r);
    assert_true(tc_rows_add(r));
    tc_rows_destroy(r);
    tc_rows_destroy(NULL);
}

static void rows_that_grow_keep_every_cell(void **state)
{
    (void)state;
    struct tc_rows *r = tc_rows_create_growing(COLUMNS, COLUMN_COUNT, 5000, 1 << 20);
    assert_non_null(r);
    for (size_t i = 0; i < 5000; i++) {
        assert_true(tc_rows_add(r));
        if (i % 3 == 0) {
            tc_rows_int(r, COUNT, (int64_t)i);
        }
    }
    assert_false(tc_rows_add(r));
    assert_int_equal(r->count, 5000);
    tc_rows_seek(r, 1);
    tc_rows_int(r, COUNT, -1);
    assert_int_equal(tc_rows_text(r, NAME, TC_LIT("late")), TC_OK);
    tc_rows_seek(r, 3);
    tc_rows_null(r, COUNT);
    for (size_t i = 0; i < 5000; i++) {
        int64_t want = i == 1 ? -1 : i == 3 || i % 3 != 0 ? 0 : (int64_t)i;
        assert_int_equal(tc_rows_get_int(r, COUNT, i), want);
        assert_int_equal(tc_rows_is_null(r, COUNT, i), i != 1 && (i == 3 || i % 3 != 0));
    }
    assert_true(tc_slice_eq(tc_rows_get_text(r, NAME, 1), TC_LIT("late")));
    struct tc_rows *copy = tc_rows_create_like(r, 1, 16);
    assert_non_null(copy);
    assert_true(tc_rows_add(copy));
    assert_int_equal(tc_rows_copy_row(copy, r, 1, SIZE_MAX), TC_OK);
    assert_int_equal(tc_rows_get_int(copy, COUNT, 0), -1);
    assert_true(tc_slice_eq(tc_rows_get_text(copy, NAME, 0), TC_LIT("late")));
    assert_false(tc_rows_add(copy));
    tc_rows_destroy(copy);
    tc_rows_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_row_is_null_and_keeps_what_is_set),
        cmocka_unit_test(what_is_no_number_is_null),
        cmocka_unit_test(a_cell_is_copied_as_it_is),
        cmocka_unit_test(a_text_is_copied_up_to_the_bound),
        cmocka_unit_test(a_batch_has_so_many_rows_and_can_be_used_again),
        cmocka_unit_test(text_grows_up_to_its_bound),
        cmocka_unit_test(bytes_that_are_not_utf8_are_replaced),
        cmocka_unit_test(times_are_of_the_years_1_to_9999),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(rows_that_grow_keep_every_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
