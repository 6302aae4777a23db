/* SPDX-License-Identifier: Apache-2.0 */
/* Slices put in order: nothing is lost or doubled, equal metrics come together. */
#include "warehouse/duckdb/sort_buffer_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct tc__order ORDER = {TC__ORDER_TEXT_DIGITS, 0, 2};

static const struct tc_column COLUMNS[] = {
    {"metric", TC_COLUMN_TEXT, 1, "", ""},
    {"id", TC_COLUMN_INT, 1, "", ""},
    {"last", TC_COLUMN_REAL, 1, "", ""},
};

/* Of the name with two digits after the point are the even ones. */
static void add(struct tc_rows *r, int64_t id, const char *metric)
{
    assert_true(tc_rows_add(r));
    if (metric != NULL) {
        assert_int_equal(tc_rows_text(r, 0, tc_slice_cstr(metric)), TC_OK);
    }
    tc_rows_int(r, 1, id);
    if (id % 5 != 0) {
        tc_rows_real(r, 2, metric != NULL && metric[0] == 'b' ? (double)id + 0.25 : (double)id);
    }
}

struct seen {
    int64_t ids[TC__SORT_BUFFER_ROWS];
    const char *metrics[TC__SORT_BUFFER_ROWS];
    size_t count;
    size_t calls;
    size_t fail_at; /* 0: never */
};

static tc_status see(void *context, const struct tc__pick *picks, size_t count,
                     struct tc_error *err)
{
    struct seen *s = context;
    s->calls++;
    if (s->calls == s->fail_at) {
        return tc_fail(err, TC_E_IO, 0, "told to");
    }
    assert_in_range(count, 1, TC_ROWS_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct tc_rows *r = picks[i].rows;
        s->ids[s->count] = r->columns[1].cells[picks[i].row].integer;
        s->metrics[s->count++] =
            tc_rows_is_null(r, 0, picks[i].row) ? "" : tc_rows_get_text(r, 0, picks[i].row).ptr;
    }
    return TC_OK;
}

static void equal_texts_come_together_in_their_order(void **state)
{
    (void)state;
    static const char *const names[] = {"a1", "b1", "a2", NULL, "b2"};
    struct tc_rows *r = tc_rows_create_for(COLUMNS, 3);
    struct tc__sort_buffer buffer = {0};
    struct seen *s = calloc(1, sizeof *s);
    struct tc_error err;
    bool full = false;
    int64_t id = 0;
    for (size_t batch = 0; batch < 3; batch++) {
        tc_rows_reset(r);
        for (size_t i = 0; i < TC_ROWS_MAX - 48; i++) {
            add(r, id, names[id % 5]);
            id++;
        }
        assert_int_equal(tc__sort_buffer_add(&buffer, r, &full), TC_OK);
        assert_false(full);
    }
    assert_int_equal(tc__sort_buffer_take(&buffer, &ORDER, see, s, &err), TC_OK);
    assert_int_equal(s->count, (size_t)id);
    size_t groups = 1;
    size_t b_groups_end = 0;
    for (size_t i = 1; i < s->count; i++) {
        bool same = strncmp(s->metrics[i], s->metrics[i - 1], 2) == 0;
        assert_true(!same || s->ids[i] > s->ids[i - 1]);
        groups += same ? 0 : 1;
        b_groups_end += s->metrics[i][0] == 'b' && s->metrics[i - 1][0] != 'b' ? 1 : 0;
    }
    assert_int_equal(groups, 5);
    assert_int_equal(b_groups_end, 1); /* those with digits are beside each other */
    /* Empty afterwards, and good for more. */
    assert_int_equal(tc__sort_buffer_take(&buffer, &ORDER, see, s, &err), TC_OK);
    assert_int_equal(s->count, (size_t)id);
    assert_int_equal(tc__sort_buffer_add(&buffer, r, &full), TC_OK);
    assert_int_equal(buffer.row_count, r->count);
    tc__sort_buffer_fini(&buffer);
    tc_rows_destroy(r);
    free(s);
}

static void a_full_pile_takes_no_more_until_it_is_taken(void **state)
{
    (void)state;
    struct tc_rows *r = tc_rows_create_for(COLUMNS, 3);
    struct tc__sort_buffer buffer = {0};
    struct seen *s = calloc(1, sizeof *s);
    struct tc_error err;
    bool full = false;
    add(r, 1, "x");
    for (size_t i = 0; i < TC__SORT_BUFFER_BATCHES; i++) {
        assert_int_equal(tc__sort_buffer_add(&buffer, r, &full), TC_OK);
        assert_false(full);
    }
    assert_int_equal(tc__sort_buffer_add(&buffer, r, &full), TC_OK);
    assert_true(full);
    assert_int_equal(buffer.row_count, TC__SORT_BUFFER_BATCHES);
    s->fail_at = 1;
    assert_int_equal(tc__sort_buffer_take(&buffer, &ORDER, see, s, &err), TC_E_IO);
    assert_int_equal(buffer.row_count, 0);
    assert_int_equal(tc__sort_buffer_add(&buffer, r, &full), TC_OK);
    assert_false(full);
    tc__sort_buffer_fini(&buffer);
    tc_rows_destroy(r);
    free(s);
}

static void much_text_fills_a_pile_as_well(void **state)
{
    (void)state;
    struct tc_rows *r = tc_rows_create_for(COLUMNS, 3);
    struct tc__sort_buffer buffer = {0};
    bool full = false;
    char *text = malloc(TC_ROWS_TEXT_MAX);
    memset(text, 't', TC_ROWS_TEXT_MAX);
    for (int i = 0; i < 3; i++) {
        text[0] = (char)('a' + i);
        tc_rows_reset(r);
        assert_true(tc_rows_add(r));
        assert_int_equal(tc_rows_text(r, 0, tc_slice_make(text, TC_ROWS_TEXT_MAX)), TC_OK);
        assert_int_equal(tc__sort_buffer_add(&buffer, r, &full), TC_OK);
        assert_int_equal(full, i == 2);
    }
    free(text);
    tc__sort_buffer_fini(&buffer);
    tc_rows_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_come_together_in_their_order),
        cmocka_unit_test(a_full_pile_takes_no_more_until_it_is_taken),
        cmocka_unit_test(much_text_fills_a_pile_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
