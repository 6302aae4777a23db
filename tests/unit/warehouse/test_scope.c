/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry slices name their scope by a number: one scope each, whatever happens on the way. */
#include "support/warehouse_room.h"
#include "warehouse/duckdb/scope_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SLICES "SELECT count(*) FROM telemetry_slice_fact"
#define SCOPES "SELECT count(*) FROM telemetry_scope"
/* Slices whose scope is not there, or there twice. */
#define LOST                                                                         \
    "SELECT count(*) FROM telemetry_slice f LEFT JOIN (SELECT scope_id, count(*) n " \
    "FROM telemetry_scope GROUP BY scope_id) s USING (scope_id) WHERE n IS NULL OR n <> 1"

/* ---- maps ---- */

static struct tc__scope_key key_of(uint64_t n)
{
    /* As hashes are; three of them have the same low half. */
    return (struct tc__scope_key){n, n / 3 * UINT64_C(0x9e3779b97f4a7c15)};
}

static void a_map_finds_what_was_put(void **state)
{
    (void)state;
    struct tc__scope_map m = {0};
    assert_int_equal(tc__scope_map_get(&m, key_of(0)), 0);
    for (uint64_t i = 0; i < 20000; i++) {
        assert_int_equal(tc__scope_map_get(&m, key_of(i)), 0);
        assert_int_equal(tc__scope_map_put(&m, key_of(i), (int64_t)i + 1), TC_OK);
    }
    assert_int_equal(m.count, 20000);
    for (uint64_t i = 0; i < 20000; i++) {
        assert_int_equal(tc__scope_map_get(&m, key_of(i)), i + 1);
    }
    tc__scope_map_reset(&m);
    assert_int_equal(tc__scope_map_get(&m, key_of(1)), 0);
    tc__scope_map_reset(&m);
}

static void a_full_map_begins_anew(void **state)
{
    (void)state;
    struct tc__scope_map m = {0};
    size_t most = TC__SCOPE_SLOTS_MAX / 4 * 3;
    for (uint64_t i = 0; i < most; i++) {
        assert_int_equal(tc__scope_map_put(&m, key_of(i), (int64_t)i + 1), TC_OK);
    }
    assert_int_equal(m.count, most);
    assert_int_equal(m.slot_count, TC__SCOPE_SLOTS_MAX);
    assert_int_equal(tc__scope_map_get(&m, key_of(0)), 1);
    assert_int_equal(tc__scope_map_put(&m, key_of(most), 7), TC_OK);
    assert_int_equal(m.count, 1);
    assert_int_equal(m.slot_count, TC__SCOPE_SLOTS_MAX);
    assert_int_equal(tc__scope_map_get(&m, key_of(0)), 0);
    assert_int_equal(tc__scope_map_get(&m, key_of(most)), 7);
    tc__scope_map_reset(&m);
}

/* ---- scopes ---- */

static const size_t TEXTS[] = {
    TC_SLICE_FAMILY,
    TC_SLICE_UNIT,
    TC_SLICE_NODE,
    TC_SLICE_GPU,
    TC_SLICE_JOB_UID,
    TC_SLICE_POD_UID,
    TC_SLICE_SCHEDULER_RUN_ID,
    TC_SLICE_REQUEST_CLASS,
    TC_SLICE_POINT,
    TC_SLICE_JOIN,
    TC_SLICE_SOURCE_DIGEST,
};
#define TEXT_COUNT (sizeof TEXTS / sizeof TEXTS[0])

static void put(struct tc_rows *rows, size_t column, const char *text)
{
    assert_int_equal(tc_rows_text(rows, column, tc_slice_cstr(text)), TC_OK);
}

static void append(struct tc_warehouse *w, const struct tc_rows *rows)
{
    struct tc_error err = {0};
    if (tc_warehouse_append(w, TC_TABLE_SLICE, rows, &err) != TC_OK) {
        fail_msg("append: %s", err.message);
    }
}

static void begin(struct tc_warehouse *w)
{
    struct tc_error err = {0};
    assert_int_equal(tc_warehouse_begin(w, &err), TC_OK);
}

static void commit(struct tc_warehouse *w)
{
    struct tc_error err = {0};
    if (tc_warehouse_commit(w, &err) != TC_OK) {
        fail_msg("commit: %s", err.message);
    }
}

/* One that is a command's, not the daemon's. */
static struct tc_warehouse *open_alone(struct wh_room *room)
{
    struct tc_warehouse_config config = wh_config(room, TC_WAREHOUSE_WRITE);
    struct tc_warehouse *w = NULL;
    struct tc_error err = {0};
    config.own = false;
    if (tc_warehouse_open(&config, &w, &err) != TC_OK) {
        fail_msg("open: %s", err.message);
    }
    return w;
}

/* Every column tells scopes apart by itself; so does NULL from an empty text, and where one text
 * ends and the next begins. */
static void each_column_tells_scopes_apart(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    struct tc_rows *rows = tc_rows_create(TC_TABLE_SLICE);
    static const char *const values[] = {"", "a", "ab", "abcdefgh", "abcdefgh\x01", "abcdefghijkl"};
    size_t value_count = sizeof values / sizeof values[0];
    assert_true(tc_rows_add(rows)); /* all NULL */
    for (size_t t = 0; t < TEXT_COUNT; t++) {
        for (size_t v = 0; v < value_count; v++) {
            assert_true(tc_rows_add(rows));
            put(rows, TEXTS[t], values[v]);
        }
    }
    for (int64_t rank = 0; rank < 3; rank++) {
        assert_true(tc_rows_add(rows));
        tc_rows_int(rows, TC_SLICE_RANK, rank);
    }
    assert_true(tc_rows_add(rows));
    put(rows, TC_SLICE_FAMILY, "ab");
    put(rows, TC_SLICE_UNIT, "c");
    assert_true(tc_rows_add(rows));
    put(rows, TC_SLICE_FAMILY, "a");
    put(rows, TC_SLICE_UNIT, "bc");
    int64_t distinct = (int64_t)rows->count;
    begin(w);
    append(w, rows);
    append(w, rows);
    assert_int_equal(wh_count(w, SCOPES), distinct);
    assert_int_equal(wh_count(w, SLICES), 2 * distinct);
    append(w, rows);
    commit(w);
    assert_int_equal(wh_count(w, SCOPES), distinct);
    assert_int_equal(wh_count(w, "SELECT count(*) FROM (SELECT DISTINCT family, unit, node_name, "
                                 "gpu_uuid, rank_id, job_uid, pod_uid, scheduler_run_id, "
                                 "request_class, point, run_join, source_digest FROM "
                                 "telemetry_slice_fact)"),
                     distinct);
    assert_int_equal(wh_count(w, LOST), 0);
    tc_rows_destroy(rows);
    tc_warehouse_close(w);
}

static void scopes_are_known_again_after_reopening(void **state)
{
    struct wh_room *room = *state;
    for (int i = 1; i <= 3; i++) {
        struct tc_warehouse *w = i == 2 ? open_alone(room) : wh_open(room, TC_WAREHOUSE_WRITE);
        wh_add_slices(w, 0, 5000);
        assert_int_equal(wh_count(w, SCOPES), 512);
        assert_int_equal(wh_count(w, SLICES), 5000 * i);
        tc_warehouse_close(w);
    }
}

/* Slices of GPUs that nobody had before. */
static void append_new(struct tc_warehouse *w, const char *prefix, size_t count)
{
    struct tc_rows *rows = tc_rows_create(TC_TABLE_SLICE);
    char text[64];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(text, sizeof text, "%s-%zu", prefix, i);
        assert_true(tc_rows_add(rows));
        put(rows, TC_SLICE_METRIC, "m");
        put(rows, TC_SLICE_GPU, text);
        if (rows->count == TC_ROWS_MAX || i + 1 == count) {
            append(w, rows);
            tc_rows_reset(rows);
        }
    }
    tc_rows_destroy(rows);
}

/* Numbers that a rolled back transaction had are not given to others, nor do they stay in use. */
static void a_rollback_takes_its_scopes_with_it(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    begin(w);
    append_new(w, "gone", 3000);
    assert_int_equal(wh_count(w, SCOPES), 3000);
    tc_warehouse_rollback(w);
    assert_int_equal(wh_count(w, SCOPES), 0);
    begin(w);
    append_new(w, "gone", 1000);
    append_new(w, "new", 1000);
    commit(w);
    assert_int_equal(wh_count(w, SCOPES), 2000);
    assert_int_equal(wh_count(w, SLICES), 2000);
    tc_warehouse_close(w);
    w = wh_open(room, TC_WAREHOUSE_WRITE);
    begin(w);
    append_new(w, "later", 1000);
    append_new(w, "new", 1000);
    commit(w);
    assert_int_equal(wh_count(w, SCOPES), 3000);
    assert_int_equal(wh_count(w, SLICES), 4000);
    assert_int_equal(wh_count(w, LOST), 0);
    tc_warehouse_close(w);
}

/* A process that asked for numbers, rolled back, used others and died. */
static void write_and_die(struct wh_room *room, const char *prefix)
{
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    begin(w);
    append_new(w, "gone", 10);
    tc_warehouse_rollback(w);
    begin(w);
    append_new(w, prefix, 10);
    commit(w);
    _exit(0); /* as a kill: nothing is closed, the log is all there is */
}

static void a_crash_gives_no_number_twice(void **state)
{
    struct wh_room *room = *state;
    for (int i = 0; i < 2; i++) {
        int ended = -1;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            write_and_die(room, i == 0 ? "first" : "second");
        }
        assert_int_equal(waitpid(pid, &ended, 0), pid);
        assert_int_equal(ended, 0);
    }
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    assert_int_equal(wh_count(w, SLICES), 20);
    begin(w);
    append_new(w, "later", 10);
    commit(w);
    assert_int_equal(wh_count(w, SLICES), 30);
    assert_int_equal(wh_count(w, SCOPES), 30);
    assert_int_equal(wh_count(w, LOST), 0);
    tc_warehouse_close(w);
}

/* More than one block of numbers. */
static void there_are_numbers_enough(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse *w = wh_open(room, TC_WAREHOUSE_WRITE);
    begin(w);
    append_new(w, "many", 150000);
    commit(w);
    assert_int_equal(wh_count(w, SCOPES), 150000);
    assert_int_equal(wh_count(w, "SELECT count(DISTINCT gpu_uuid) FROM telemetry_slice_fact"),
                     150000);
    assert_int_equal(wh_count(w, LOST), 0);
    tc_warehouse_close(w);
}

/* Two at once may both bring a scope: it is there twice then, and no slice is. */
static void two_writers_do_not_disturb_each_other(void **state)
{
    struct wh_room *room = *state;
    struct tc_error err = {0};
    struct tc_warehouse *a = wh_open(room, TC_WAREHOUSE_WRITE);
    struct tc_warehouse *b = NULL;
    assert_int_equal(tc_warehouse_share(a, &b, &err), TC_OK);
    begin(a);
    begin(b);
    append_new(a, "both", 100);
    append_new(b, "both", 100);
    append_new(b, "one", 100);
    commit(b);
    append_new(a, "one", 100);
    commit(a);
    assert_int_equal(wh_count(a, SCOPES), 400);
    assert_int_equal(wh_count(a, SLICES), 400);
    assert_int_equal(
        wh_count(a, "SELECT count(*) FROM telemetry_slice_fact WHERE gpu_uuid = 'both-7'"), 2);
    assert_int_equal(wh_count(a, LOST), 0);
    tc_warehouse_close(b);
    tc_warehouse_close(a);
}

static uint64_t forget_gpu(struct tc_warehouse *w, const char *gpu)
{
    struct tc_error err = {0};
    struct tc_slice key = tc_slice_cstr(gpu);
    struct tc_forget what = {.table = TC_TABLE_SLICE,
                             .key_column = TC_SLICE_GPU,
                             .keys = &key,
                             .key_count = 1,
                             .before_us = INT64_MIN};
    uint64_t gone = 0;
    begin(w);
    if (tc_warehouse_forget(w, &what, &gone, &err) != TC_OK) {
        fail_msg("forget: %s", err.message);
    }
    commit(w);
    return gone;
}

/* A command that forgets is alone, and the scopes go too; in the daemon somebody may just be
 * writing, so they go when it is started next. */
static void scopes_go_with_their_last_slice(void **state)
{
    struct wh_room *room = *state;
    struct tc_warehouse *w = open_alone(room);
    begin(w);
    append_new(w, "g", 10);
    append_new(w, "g", 5);
    commit(w);
    assert_int_equal(forget_gpu(w, "nobody"), 0);
    assert_int_equal(wh_count(w, SCOPES), 10);
    assert_int_equal(forget_gpu(w, "g-2"), 2);
    assert_int_equal(wh_count(w, SCOPES), 9);
    assert_int_equal(wh_count(w, SLICES), 13);
    begin(w);
    append_new(w, "g", 3); /* the one that went comes back */
    commit(w);
    assert_int_equal(wh_count(w, SCOPES), 10);
    assert_int_equal(wh_count(w, SLICES), 16);
    assert_int_equal(wh_count(w, LOST), 0);
    tc_warehouse_close(w);
    w = wh_open(room, TC_WAREHOUSE_WRITE);
    assert_int_equal(forget_gpu(w, "g-9"), 1);
    assert_int_equal(wh_count(w, SLICES), 15);
    assert_int_equal(wh_count(w, SCOPES), 10);
    tc_warehouse_close(w);
    w = open_alone(room);
    assert_int_equal(wh_count(w, SCOPES), 10);
    tc_warehouse_close(w);
    w = wh_open(room, TC_WAREHOUSE_WRITE);
    assert_int_equal(wh_count(w, SCOPES), 9);
    assert_int_equal(wh_count(w, SLICES), 15);
    tc_warehouse_close(w);
}

#define T(f) cmocka_unit_test_setup_teardown(f, wh_setup, wh_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: the processes that it makes have no DuckDB of before in them. */
        T(a_crash_gives_no_number_twice),
        cmocka_unit_test(a_map_finds_what_was_put),
        cmocka_unit_test(a_full_map_begins_anew),
        T(each_column_tells_scopes_apart),
        T(scopes_are_known_again_after_reopening),
        T(a_rollback_takes_its_scopes_with_it),
        T(there_are_numbers_enough),
        T(two_writers_do_not_disturb_each_other),
        T(scopes_go_with_their_last_slice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
