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
    struct tc_directory *d = tc_directory_create(TC_STATEMENTS_LATEST, 1);
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
    struct tc_directory *d = tc_directory_create(TC_STATEMENTS_FIRST, 1);
    assert_non_null(d);
    for (int i = 0; i < STATEMENTS_MAX + 10; i++) {
        note_pod(d, i, T0 + i);
    }
    assert_int_equal(tc_directory_keep_room(d, NULL), TC_OK);
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
    struct tc_directory *keeps = tc_directory_create(TC_STATEMENTS_FIRST, 1);
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
    struct tc_directory *d = tc_directory_create(TC_STATEMENTS_FIRST, 1);
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
    struct tc_directory *whole = tc_directory_create(TC_STATEMENTS_LATEST, 1);
    struct tc_directory *pieces = tc_directory_create(TC_STATEMENTS_LATEST, 1);
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

#define NODES_MAX 32768
#define NODES_CROWDED (NODES_MAX - NODES_MAX / 64)

/* A table is made room in when a sixty-fourth of it is free, and not before. */
static void room_is_made_a_little_before_there_is_none(void **state)
{
    struct tc_directory *d = *state;
    char name[32];
    for (int i = 0; i < NODES_CROWDED; i++) {
        assert_int_equal(tc_directory_keep_room(d, NULL), TC_OK);
        assert_int_equal(counts_of(d).nodes_forgotten, 0);
        (void)snprintf(name, sizeof name, "node-%d", i);
        (void)tc_directory_node(d, tc_slice_cstr(name));
    }
    assert_int_equal(tc_directory_keep_room(d, NULL), TC_OK);
    assert_true(counts_of(d).nodes_forgotten > 0);
}

/* So it is when names are long and it is their text that fills it. */
static void room_is_made_for_long_names_too(void **state)
{
    struct tc_directory *d = *state;
    char name[240];
    int count = 0;
    for (; counts_of(d).nodes_forgotten == 0; count++) {
        (void)snprintf(name, sizeof name, "%0239d", count);
        (void)tc_directory_node(d, tc_slice_cstr(name));
        assert_int_equal(counts_of(d).nodes_forgotten, 0); /* not when there is none */
        assert_int_equal(tc_directory_keep_room(d, NULL), TC_OK);
    }
    assert_true(count < NODES_CROWDED);
}

/* What the last event was about has moved: nobody gets at it by the old place. */
static void what_moved_is_let_go_of(void **state)
{
    struct tc_directory *d = *state;
    for (int i = 0; counts_of(d).gpus_forgotten == 0; i++) {
        char node[32];
        struct tc_scope scope = TC_SCOPE_NONE;
        (void)snprintf(node, sizeof node, "node-%d", i % 1000);
        scope.node = tc_slice_cstr(node);
        scope.gpu_index = i / 1000;
        note_scope(d, TC_EVENT_METRIC, scope, T0);
        assert_non_null(tc_directory_event_gpu(d));
        assert_int_equal(tc_directory_keep_room(d, NULL), TC_OK);
    }
    assert_null(tc_directory_event_gpu(d));
}

#define VIEWED 10000

static struct tc_view make_view(struct tc_directory *d, struct tc_arena *arena,
                                const struct tc_turn *turn, size_t *io_calls)
{
    struct tc_view view;
    tc_status status = TC_E_AGAIN;
    assert_true(tc_view_begin(&view, d, NULL, 0, 0, arena));
    while (status == TC_E_AGAIN) {
        assert_true(view.stage == TC_VIEW_MADE || !tc_view_is_usable(&view, d));
        status = tc_view_make(&view, turn);
        ++*io_calls;
    }
    assert_int_equal(status, TC_OK);
    assert_true(tc_view_is_usable(&view, d));
    return view;
}

/* Who runs where is worked out in pieces, with the same result, and is of no use before. */
static void a_view_is_made_in_pieces(void **state)
{
    (void)state;
    struct tc_directory *d = tc_directory_create(TC_STATEMENTS_LATEST, 1);
    struct tc_block *blocks[2];
    struct tc_arena arenas[2];
    assert_non_null(d);
    for (int i = 0; i < VIEWED; i++) {
        note_pod(d, i, T0 + i * 7919 % VIEWED); /* in no order */
    }
    for (size_t i = 0; i < 2; i++) {
        blocks[i] = tc_block_new((size_t)96 << 20);
        assert_non_null(blocks[i]);
        tc_arena_init_zeroed(&arenas[i], "view", blocks[i]->bytes, blocks[i]->size);
    }
    size_t calls = 0;
    size_t asked = 0;
    const struct tc_turn turn = {is_always_spent, &asked};
    struct tc_view whole = make_view(d, &arenas[0], NULL, &calls);
    assert_int_equal(calls, 1);
    struct tc_view pieces = make_view(d, &arenas[1], &turn, &calls);
    /* Five passes, 256 at a time; and the sort, some thousand at a time. */
    assert_true(calls > VIEWED / 256 * 5 + 14 * VIEWED / 4096);
    assert_int_equal(pieces.statement_count, VIEWED);
    for (size_t i = 0; i < VIEWED; i++) {
        assert_true(pieces.statements[i].first_ns == T0 + (int64_t)i);
        assert_int_equal(pieces.statements[i].pod, whole.statements[i].pod);
        assert_int_equal(pieces.statements[i].node, whole.statements[i].node);
        struct tc_map_iter it = tc_view_of_thing(&pieces, pieces.statements[i].pod);
        assert_int_equal(tc_map_next(&pieces.by_thing, &it), i + 1);
    }
    for (size_t i = 0; i < 2; i++) {
        tc_arena_fini(&arenas[i]);
        tc_block_free(blocks[i]);
    }
    tc_directory_destroy(d);
}

/* A view borrows the directory's text: after room was made it is of no use. */
static void a_view_is_usable_until_statements_move(void **state)
{
    const bool *with_turns = *state; /* whether room is made before there is none */
    struct tc_directory *d = tc_directory_create(TC_STATEMENTS_LATEST, 1);
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
    for (int i = 2; counts_of(d).statements_forgotten == 0; i++) {
        assert_true(tc_view_is_usable(&view, d));
        note_pod(d, i, T0 + i);
        if (*with_turns) {
            assert_int_equal(tc_directory_keep_room(d, NULL), TC_OK);
        }
    }
    assert_false(tc_view_is_usable(&view, d));
    tc_arena_fini(&arena);
    tc_block_free(block);
    tc_directory_destroy(d);
}

int main(void)
{
    static bool turns[] = {false, true};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_not_made_for_longest_are_forgotten),
        cmocka_unit_test(without_that_what_does_not_fit_is_counted),
        cmocka_unit_test_setup_teardown(statements_are_kept_where_they_are_asked_for, set_up,
                                        tear_down),
        cmocka_unit_test(a_statement_is_new_or_older_or_nothing_changes),
        cmocka_unit_test(room_is_made_in_pieces),
        cmocka_unit_test_setup_teardown(room_is_made_a_little_before_there_is_none, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(room_is_made_for_long_names_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_moved_is_let_go_of, set_up, tear_down),
        cmocka_unit_test(a_view_is_made_in_pieces),
        cmocka_unit_test_prestate(a_view_is_usable_until_statements_move, &turns[0]),
        cmocka_unit_test_prestate(a_view_is_usable_until_statements_move, &turns[1]),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
