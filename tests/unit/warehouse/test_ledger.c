/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "support/warehouse_room.h"
#include "warehouse/ledger.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct seen {
    char text[4096];
    size_t count;
};

static tc_status note(void *context, struct tc_slice json)
{
    struct seen *seen = context;
    size_t len = strlen(seen->text);
    (void)snprintf(seen->text + len, sizeof seen->text - len, "%.*s;", TC_FMT(json));
    seen->count++;
    return TC_OK;
}

static void append(struct wh_room *room, const char *json)
{
    struct tc_grow lines = {0};
    struct tc_error err;
    tc_ledger_add(&lines, tc_slice_cstr(json));
    assert_int_equal(tc_ledger_append(room->dir, "test", tc_grow_slice(&lines), &err), TC_OK);
    tc_grow_fini(&lines);
}

static struct seen read_back(struct wh_room *room, uint64_t damaged_wanted)
{
    struct seen seen = {0};
    struct tc_error err;
    uint64_t damaged = 0;
    assert_int_equal(tc_ledger_read(room->dir, "test", note, &seen, &damaged, &err), TC_OK);
    assert_int_equal(damaged, damaged_wanted);
    return seen;
}

static void path_of(struct wh_room *room, char *out, size_t size)
{
    (void)snprintf(out, size, "%s/ledger/test.log", room->dir);
}

static void lines_come_back_in_their_order(void **state)
{
    struct wh_room *room = *state;
    assert_int_equal(read_back(room, 0).count, 0);
    append(room, "{\"a\":1}");
    append(room, "{\"b\":2}");
    assert_string_equal(read_back(room, 0).text, "{\"a\":1};{\"b\":2};");
}

static void a_line_that_a_crash_cut_is_taken_away_by_the_next(void **state)
{
    struct wh_room *room = *state;
    char path[256];
    struct stat st;
    append(room, "{\"a\":1}");
    append(room, "{\"b\":2}");
    path_of(room, path, sizeof path);
    assert_int_equal(stat(path, &st), 0);
    off_t first = st.st_size / 2;
    for (off_t len = st.st_size - 1; len >= first; len--) {
        assert_int_equal(truncate(path, len), 0);
        assert_string_equal(read_back(room, 0).text, "{\"a\":1};");
    }
    assert_int_equal(truncate(path, st.st_size - 3), 0);
    assert_int_equal(truncate(path, st.st_size + 5000), 0); /* zeros, as after a loss of power */
    append(room, "{\"c\":3}");
    assert_string_equal(read_back(room, 0).text, "{\"a\":1};{\"c\":3};");
}

static void a_line_that_was_changed_is_counted_and_left_out(void **state)
{
    struct wh_room *room = *state;
    char path[256];
    append(room, "{\"a\":1}");
    append(room, "{\"b\":2}");
    append(room, "{\"c\":3}");
    path_of(room, path, sizeof path);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "9", 1, 17 + 8 + 17 + 5), 1);
    (void)close(fd);
    assert_string_equal(read_back(room, 1).text, "{\"a\":1};{\"c\":3};");
}

static void months_have_names_that_sort(void **state)
{
    (void)state;
    char name[TC_LEDGER_NAME_MAX];
    int64_t ns = 0;
    assert_true(tc_time_parse(TC_LIT("2026-12-31T23:59:59Z"), 0, &ns) > 0);
    tc_ledger_month(ns, name);
    assert_string_equal(name, "verdicts-2026-12");
    assert_int_equal(tc_ledger_month_end(name), ns + TC_SECOND);
    assert_int_equal(tc_ledger_month_end("verdicts-2026-13"), INT64_MAX);
    assert_int_equal(tc_ledger_month_end("commands"), INT64_MAX);
}

static void files_are_listed_by_their_beginning(void **state)
{
    struct wh_room *room = *state;
    char(*names)[TC_LEDGER_NAME_MAX] = NULL;
    size_t count = 7;
    struct tc_error err;
    assert_int_equal(tc_ledger_list(room->dir, "t", &names, &count, &err), TC_OK);
    assert_int_equal(count, 0);
    append(room, "{}");
    assert_int_equal(tc_ledger_list(room->dir, "verdicts-", &names, &count, &err), TC_OK);
    assert_int_equal(count, 0);
    free(names);
    assert_int_equal(tc_ledger_list(room->dir, "t", &names, &count, &err), TC_OK);
    assert_int_equal(count, 1);
    assert_string_equal(names[0], "test");
    free(names);
    assert_int_equal(tc_ledger_remove(room->dir, "test", &err), TC_OK);
    assert_int_equal(read_back(room, 0).count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_come_back_in_their_order, wh_setup, wh_teardown),
        cmocka_unit_test_setup_teardown(a_line_that_a_crash_cut_is_taken_away_by_the_next, wh_setup,
                                        wh_teardown),
        cmocka_unit_test_setup_teardown(a_line_that_was_changed_is_counted_and_left_out, wh_setup,
                                        wh_teardown),
        cmocka_unit_test(months_have_names_that_sort),
        cmocka_unit_test_setup_teardown(files_are_listed_by_their_beginning, wh_setup, wh_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
