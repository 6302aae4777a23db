/* SPDX-License-Identifier: Apache-2.0 */
#include "directory_testing.h"

#include "base/os/block.h"
#include "base/time.h"
#include "directory/view.h"

#include <stdio.h>

#define T0 (INT64_C(1780000000) * TC_SECOND)
#define STATEMENTS_MAX 131072

static void note_pod(struct tc_directory *d, int n, int64_t time_ns)
{
    char pod[32];
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    (void)snprintf(pod, sizeof pod, "worker-%d", n);
    ev.time_ns = time_ns;
    ev.scope.node = TC_LIT("node-1");
    ev.scope.ns = TC_LIT("train");
    ev.scope.pod = tc_slice_cstr(pod);
    tc_directory_note(d, &ev);
}

/* Pods come and go for months: what is said no more makes room. */
static void statements_not_made_for_longest_are_forgotten(void **state)
{
    (void)state;
    struct tc_directory *d = tc_directory_create(TC_STATEMENTS_LATEST);
    assert_non_null(d);
    note_pod(d, -1, TC_TIME_NONE);
    for (int i = 0; i < STATEMENTS_MAX * 3; i++) {
        note_pod(d, i, T0 + i);
        if (i % 1000 == 0) {
            note_pod(d, 0, T0 + i);
        }
    }
    assert_int_equal(counts_of(d).statements_dropped, 0);
    assert_true(counts_of(d).statements <= STATEMENTS_MAX);
    assert_int_equal(counts_of(d).statements_forgotten + counts_of(d).statements,
                     STATEMENTS_MAX * 3 + 1);
    /* What is still said is still known, and so is what always holds. */
    size_t before = counts_of(d).statements;
    note_pod(d, 0, T0 + STATEMENTS_MAX * 3);
    note_pod(d, -1, TC_TIME_NONE);
    assert_int_equal(counts_of(d).statements, before);
    tc_directory_destroy(d);
}

static void without_that_what_does_not_fit_is_counted(void **state)
{
    (void)state;
    struct tc_directory *d = tc_directory_create(TC_STATEMENTS_FIRST);
    assert_non_null(d);
    for (int i = 0; i < STATEMENTS_MAX + 10; i++) {
        note_pod(d, i, T0 + i);
    }
    assert_int_equal(counts_of(d).statements_dropped, 10);
    assert_int_equal(counts_of(d).statements, STATEMENTS_MAX);
    assert_int_equal(counts_of(d).statements_forgotten, 0);
    tc_directory_destroy(d);
}

/* Nothing is kept where nobody links; a name of a file that is no name of a cluster is none. */
static void statements_are_kept_where_they_are_asked_for(void **state)
{
    static char text[257] = {0};
    struct tc_directory *d = *state;
    note_pod(d, 1, T0);
    assert_int_equal(counts_of(d).statements, 0);
    struct tc_directory *keeps = tc_directory_create(TC_STATEMENTS_FIRST);
    assert_non_null(keeps);
    struct tc_scope scope = TC_SCOPE_NONE;
    scope.node = TC_LIT("node-1");
    note_scope(keeps, TC_EVENT_METRIC, scope, T0); /* ties nothing together */
    assert_int_equal(counts_of(keeps).statements, 0);
    scope.pod = tc_slice_make(text, sizeof text);
    note_scope(keeps, TC_EVENT_METRIC, scope, T0);
    assert_int_equal(counts_of(keeps).statements, 0);
    assert_int_equal(counts_of(keeps).statements_dropped, 1);
    tc_directory_destroy(keeps);
}

static void a_statement_is_new_or_older_or_nothing_changes(void **state)
{
    (void)state;
    struct tc_directory *d = tc_directory_create(TC_STATEMENTS_FIRST);
    assert_non_null(d);
    note_pod(d, 1, T0);
    uint64_t version = tc_directory_version(d);
    note_pod(d, 1, T0 + 1);
    assert_int_equal(tc_directory_version(d), version);
    note_pod(d, 1, T0 - 1);
    assert_int_equal(tc_directory_version(d), version + 1);
    note_pod(d, 2, T0);
    assert_int_equal(tc_directory_version(d), version + 2);
    tc_directory_reset(d);
    assert_int_equal(counts_of(d).statements, 0);
    tc_directory_destroy(d);
}

static bool is_always_spent(void *context)
{
    ++*(size_t *)context;
    return true;
}

/* Between events, a little before there is no room, it is made in pieces, with the same result. */
static void room_is_made_in_pieces(void **state)
{
    (void)state;
    struct tc_directory *whole = tc_directory_create(TC_STATEMENTS_LATEST);
    struct tc_directory *pieces = tc_directory_create(TC_STATEMENTS_LATEST);
    assert_true(whole != NULL && pieces != NULL);
    size_t asked = 0;
    size_t calls = 0;
    const struct tc_turn turn = {is_always_spent, &asked};
    for (int i = 1; i < STATEMENTS_MAX + 2; i++) {
        note_pod(whole, i, T0 + i);
        note_pod(pieces, i, T0 + i);
        assert_int_equal(tc_directory_keep_room(whole, NULL), TC_OK);
        while (tc_directory_keep_room(pieces, &turn) == TC_E_AGAIN) {
            calls++;
        }
    }
    assert_true(calls > STATEMENTS_MAX / 256);
    assert_int_equal(asked, calls);
    struct tc_directory_counts a;
    struct tc_directory_counts b;
    tc_directory_counts(whole, &a);
    tc_directory_counts(pieces, &b);
    assert_true(a.statements_forgotten > 0 && a.statements < STATEMENTS_MAX);
    assert_memory_equal(&a, &b, sizeof a);
    tc_directory_destroy(whole);
    tc_directory_destroy(pieces);
}

/* A view borrows the directory's text: after room was made it is of no use. */
static void a_view_is_usable_until_statements_move(void **state)
{
    (void)state;
    struct tc_directory *d = tc_directory_create(TC_STATEMENTS_LATEST);
    struct tc_block *block = tc_block_new((size_t)64 << 20);
    assert_true(d != NULL && block != NULL);
    struct tc_arena arena;
    tc_arena_init_zeroed(&arena, "view", block->bytes, block->size);
    note_pod(d, 1, T0);
    struct tc_view view;
    assert_true(tc_view_begin(&view, d, NULL, 0, 0, &arena));
    assert_int_equal(tc_view_make(&view, NULL), TC_OK);
    assert_int_equal(view.statement_count, 1);
    assert_text(view.statements[0].scope.pod, "worker-1");
    assert_true(tc_view_is_usable(&view, d));
    for (int i = 2; i < STATEMENTS_MAX + 2; i++) {
        note_pod(d, i, T0 + i);
    }
    assert_false(tc_view_is_usable(&view, d));
    tc_arena_fini(&arena);
    tc_block_free(block);
    tc_directory_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_not_made_for_longest_are_forgotten),
        cmocka_unit_test(without_that_what_does_not_fit_is_counted),
        cmocka_unit_test_setup_teardown(statements_are_kept_where_they_are_asked_for, set_up,
                                        tear_down),
        cmocka_unit_test(a_statement_is_new_or_older_or_nothing_changes),
        cmocka_unit_test(room_is_made_in_pieces),
        cmocka_unit_test(a_view_is_usable_until_statements_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
