/* SPDX-License-Identifier: Apache-2.0 */
#include "server/run_book.h"

#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define T0 (INT64_C(1780000000) * TC_SECOND)
#define MINUTE (60 * TC_SECOND)

static struct tc_run_book *book;
static struct tc_rows *rows;

static int make(void **state)
{
    (void)state;
    book = tc_run_book_create();
    rows = tc_rows_create(TC_TABLE_RUN_SCOPE);
    return book == NULL || rows == NULL ? -1 : 0;
}

static int destroy(void **state)
{
    (void)state;
    tc_run_book_destroy(book);
    tc_rows_destroy(rows);
    return 0;
}

static void note(const char *run, const char *pod_uid, const char *ns, const char *pod,
                 const char *job, const char *node, int64_t at_ns)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = at_ns;
    ev.run_id = tc_slice_cstr(run);
    ev.scope.pod_uid = tc_slice_cstr(pod_uid);
    ev.scope.ns = tc_slice_cstr(ns);
    ev.scope.pod = tc_slice_cstr(pod);
    ev.scope.job = tc_slice_cstr(job);
    ev.scope.node = tc_slice_cstr(node);
    tc_run_book_note(book, &ev);
}

static size_t take(int64_t now_ns, enum tc_run_book_want want)
{
    tc_rows_reset(rows);
    tc_run_book_take(book, now_ns, want, rows);
    return rows->count;
}

/* One of the rows that were taken: how many there are. */
static size_t has(const char *run, const char *kind, const char *name, int64_t from_ns,
                  int64_t to_ns)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        count += tc_slice_eq(tc_rows_get_text(rows, TC_RUN_SCOPE_RUN_ID, i), tc_slice_cstr(run)) &&
                 tc_slice_eq(tc_rows_get_text(rows, TC_RUN_SCOPE_KIND, i), tc_slice_cstr(kind)) &&
                 tc_slice_eq(tc_rows_get_text(rows, TC_RUN_SCOPE_NAME, i), tc_slice_cstr(name)) &&
                 tc_rows_get_int(rows, TC_RUN_SCOPE_START, i) == from_ns / 1000 &&
                 tc_rows_get_int(rows, TC_RUN_SCOPE_END, i) == to_ns / 1000;
    }
    return count;
}

static void every_name_of_an_event_is_the_runs(void **state)
{
    (void)state;
    assert_int_equal(take(T0, TC_RUN_BOOK_ALL), 0);
    note("run-1", "u1", "ml", "p1", "j1", "n1", T0);
    note("run-1", "u1", "ml", "p1", "j1", "n1", T0 + 5 * TC_SECOND);
    note("run-1", "", "", "p2", "", "n2", T0 + 6 * TC_SECOND);
    note("run-2", "", "", "", "", "n1", T0 + 7 * TC_SECOND); /* the same node */
    assert_int_equal(take(T0, TC_RUN_BOOK_DUE), 7);
    assert_int_equal(has("run-1", "pod_uid", "u1", T0, T0 + 5 * TC_SECOND), 1);
    assert_int_equal(has("run-1", "pod", "ml/p1", T0, T0 + 5 * TC_SECOND), 1);
    assert_int_equal(has("run-1", "job", "j1", T0, T0 + 5 * TC_SECOND), 1);
    assert_int_equal(has("run-1", "node", "n1", T0, T0 + 5 * TC_SECOND), 1);
    assert_int_equal(has("run-1", "pod", "p2", T0 + 6 * TC_SECOND, T0 + 6 * TC_SECOND), 1);
    assert_int_equal(has("run-2", "node", "n1", T0 + 7 * TC_SECOND, T0 + 7 * TC_SECOND), 1);
    assert_int_equal(take(T0 + 1000 * MINUTE, TC_RUN_BOOK_ALL), 0); /* each once */
    tc_run_book_retake(book);
    assert_int_equal(take(T0, TC_RUN_BOOK_DUE), 7);
}

static void a_window_that_grows_is_taken_when_it_matters(void **state)
{
    (void)state;
    note("run-1", "", "", "", "", "n1", T0);
    assert_int_equal(take(T0, TC_RUN_BOOK_DUE), 1);
    note("run-1", "", "", "", "", "n1", T0 + MINUTE - 2 * TC_SECOND);
    assert_int_equal(take(T0 + MINUTE, TC_RUN_BOOK_DUE), 0);
    note("run-1", "", "", "", "", "n1", T0 + MINUTE); /* from nothing to a minute */
    assert_int_equal(take(T0 + MINUTE, TC_RUN_BOOK_DUE), 1);
    assert_int_equal(has("run-1", "node", "n1", T0, T0 + MINUTE), 1);
    note("run-1", "", "", "", "", "n1", T0 + 3 * MINUTE - 2 * TC_SECOND);
    assert_int_equal(take(T0 + 3 * MINUTE, TC_RUN_BOOK_DUE), 0);
    /* Nothing came for a minute: it may have ended. */
    assert_int_equal(take(T0 + 4 * MINUTE - 2 * TC_SECOND - 1, TC_RUN_BOOK_DUE), 0);
    assert_int_equal(take(T0 + 4 * MINUTE - 2 * TC_SECOND, TC_RUN_BOOK_DUE), 1);
    note("run-1", "", "", "", "", "n1", T0 + 60 * MINUTE);
    assert_int_equal(take(T0 + 60 * MINUTE, TC_RUN_BOOK_DUE), 1);
    note("run-1", "", "", "", "", "n1", T0 + 65 * MINUTE - 2 * TC_SECOND);
    assert_int_equal(take(T0 + 65 * MINUTE, TC_RUN_BOOK_NOW), 0);
    note("run-1", "", "", "", "", "n1", T0 + 65 * MINUTE);
    assert_int_equal(take(T0 + 65 * MINUTE, TC_RUN_BOOK_DUE), 0);
    assert_int_equal(take(T0 + 65 * MINUTE, TC_RUN_BOOK_NOW), 1);
    note("run-1", "", "", "", "", "n1", T0 - MINUTE); /* late */
    assert_int_equal(take(T0 + 65 * MINUTE, TC_RUN_BOOK_ALL), 1);
    assert_int_equal(has("run-1", "node", "n1", T0 - MINUTE, T0 + 65 * MINUTE), 1);
}

static void what_is_too_long_or_empty_is_left_out(void **state)
{
    (void)state;
    char text[2 * TC_RUN_TEXT_MAX + 3];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    note("", "u1", "", "", "", "n1", T0);
    note(text, "u1", "", "", "", "n1", T0);
    note("run-1", "", "", "", "", text, T0);
    note("run-1", "", text, "p", "", "", T0 + 2 * TC_SECOND);
    assert_int_equal(take(T0, TC_RUN_BOOK_ALL), 0);
}

static void the_oldest_entries_go(void **state)
{
    (void)state;
    size_t taken = 0;
    for (int i = 0; i < 3 * TC_RUN_BOOK_ENTRIES; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "n%d", i);
        note("run-1", "", "", "", "", name, T0 + i * TC_SECOND);
    }
    /* More than a batch: the rest is taken later. */
    for (size_t n = 0; (n = take(T0, TC_RUN_BOOK_ALL)) > 0;) {
        assert_true(n <= TC_ROWS_MAX);
        taken += n;
    }
    assert_in_range(taken, TC_RUN_BOOK_ENTRIES / 2, TC_RUN_BOOK_ENTRIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_name_of_an_event_is_the_runs, make, destroy),
        cmocka_unit_test_setup_teardown(a_window_that_grows_is_taken_when_it_matters, make,
                                        destroy),
        cmocka_unit_test_setup_teardown(what_is_too_long_or_empty_is_left_out, make, destroy),
        cmocka_unit_test_setup_teardown(the_oldest_entries_go, make, destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
