/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of the audit log: whatever is done to a line, the log says which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "publish/audit.h"
#include "publish/numbers.h"
#include "support/published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG "ledger/audit.log"
#define LINES 4

static int setup(void **state)
{
    struct pb_room *room = calloc(1, sizeof *room);
    assert_non_null(room);
    (void)snprintf(room->dir, sizeof room->dir, "/tmp/tc_audit_XXXXXX");
    assert_non_null(mkdtemp(room->dir));
    *state = room;
    return 0;
}

static struct tc_audit_chain read_log(const struct pb_room *room)
{
    struct tc_audit_chain chain;
    struct tc_error err = {0};
    if (tc_audit_read(room->dir, NULL, NULL, &chain, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
    return chain;
}

static tc_status append(const struct pb_room *room, int n, struct tc_error *err)
{
    struct tc_audit_chain chain = read_log(room);
    char id[32];
    char claim[32];
    (void)snprintf(id, sizeof id, "num-%016d", n);
    (void)snprintf(claim, sizeof claim, "{\"value\":%d}", n);
    struct tc_audit_entry entry = {.act = TC_LIT(TC_AUDIT_PUBLISH),
                                   .at_ns = INT64_C(1771000000000000000) + n,
                                   .by = TC_LIT("ana@host"),
                                   .number_id = tc_slice_cstr(id),
                                   .claim = tc_slice_cstr(claim)};
    tc_status status = tc_audit_append(room->dir, &chain, &entry, err);
    if (status == TC_OK) {
        assert_int_equal(entry.seq, chain.entries);
        assert_memory_equal(&entry.digest, &chain.head, sizeof chain.head);
    }
    return status;
}

/* A log of LINES entries; its text, for free(). */
static char *fill(const struct pb_room *room, size_t *out_len)
{
    struct tc_error err = {0};
    for (int n = 1; n <= LINES; n++) {
        assert_int_equal(append(room, n, &err), TC_OK);
    }
    struct tc_audit_chain chain = read_log(room);
    assert_int_equal(chain.entries, LINES);
    assert_int_equal(chain.broken_at, 0);
    return pb_slurp(room, LOG, out_len);
}

/* Where the lines begin; at[LINES] is the end. */
static void find_lines(const char *text, size_t len, size_t at[LINES + 1])
{
    size_t line = 0;
    at[0] = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n') {
            at[++line] = i + 1;
        }
    }
    assert_int_equal(line, LINES);
}

static void expect(const struct pb_room *room, uint64_t line, const char *why)
{
    struct tc_audit_chain chain = read_log(room);
    assert_int_equal(chain.broken_at, line);
    if (strstr(chain.why, why) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", chain.why, why);
    }
}

static void a_log_that_is_not_there_is_whole(void **state)
{
    struct tc_audit_chain chain = read_log(*state);
    assert_int_equal(chain.entries, 0);
    assert_int_equal(chain.broken_at, 0);
}

static void a_line_that_was_edited_is_found_by_the_next(void **state)
{
    struct pb_room *room = *state;
    size_t len = 0;
    size_t at[LINES + 1];
    char *text = fill(room, &len);
    find_lines(text, len, at);
    for (size_t line = 0; line + 1 < LINES; line++) {
        char *copy = malloc(len);
        memcpy(copy, text, len);
        char *host = memmem(copy + at[line], at[line + 1] - at[line], "ana", 3);
        assert_non_null(host);
        memcpy(host, "eve", 3);
        pb_write(room, LOG, copy, len);
        expect(room, line + 1, "is damaged");
        pb_mend_sums(copy, len);
        pb_write(room, LOG, copy, len);
        expect(room, line + 2, "does not follow the one before it");
        free(copy);
    }
    free(text);
}

static void a_line_that_was_removed_or_moved_is_found(void **state)
{
    struct pb_room *room = *state;
    size_t len = 0;
    size_t at[LINES + 1];
    char *text = fill(room, &len);
    char *copy = malloc(len);
    find_lines(text, len, at);
    pb_write(room, LOG, text + at[1], len - at[1]);
    expect(room, 1, "lines before it are gone");
    memcpy(copy, text, at[1]);
    memcpy(copy + at[1], text + at[2], len - at[2]);
    pb_write(room, LOG, copy, len - (at[2] - at[1]));
    expect(room, 2, "does not follow");
    /* The second and the third change places. */
    memcpy(copy, text, at[1]);
    memcpy(copy + at[1], text + at[2], at[3] - at[2]);
    memcpy(copy + at[1] + (at[3] - at[2]), text + at[1], at[2] - at[1]);
    memcpy(copy + at[3], text + at[3], len - at[3]);
    pb_write(room, LOG, copy, len);
    expect(room, 2, "does not follow");
    /* A line twice. */
    pb_write(room, LOG, text, len);
    free(copy);
    copy = malloc(2 * len);
    memcpy(copy, text, len);
    memcpy(copy + len, text + at[LINES - 1], len - at[LINES - 1]);
    pb_write(room, LOG, copy, 2 * len - at[LINES - 1]);
    expect(room, LINES + 1, "does not follow");
    free(copy);
    free(text);
}

static void a_broken_log_takes_nothing_more(void **state)
{
    struct pb_room *room = *state;
    struct tc_error err = {0};
    size_t len = 0;
    size_t at[LINES + 1];
    char *text = fill(room, &len);
    find_lines(text, len, at);
    pb_write(room, LOG, text + at[1], len - at[1]);
    assert_int_equal(append(room, 9, &err), TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "the audit log is broken: line 1"));
    size_t after = 0;
    char *left = pb_slurp(room, LOG, &after);
    assert_int_equal(after, len - at[1]);
    free(left);
    free(text);
}

static void a_torn_tail_is_no_entry_and_is_cut_by_the_next(void **state)
{
    struct pb_room *room = *state;
    struct tc_error err = {0};
    size_t len = 0;
    size_t at[LINES + 1];
    char *text = fill(room, &len);
    find_lines(text, len, at);
    for (size_t end = at[LINES - 1]; end < len; end += 7) {
        pb_write(room, LOG, text, end);
        struct tc_audit_chain chain = read_log(room);
        assert_int_equal(chain.entries, LINES - 1);
        assert_int_equal(chain.broken_at, 0);
    }
    assert_int_equal(append(room, LINES, &err), TC_OK);
    size_t again = 0;
    char *same = pb_slurp(room, LOG, &again);
    assert_int_equal(again, len);
    assert_memory_equal(same, text, len);
    free(same);
    free(text);
}

static void what_is_no_entry_breaks_the_chain(void **state)
{
    struct pb_room *room = *state;
    size_t len = 0;
    char *text = fill(room, &len);
    static const char line[] = "0000000000000000 {\"seq\":5,\"act\":\"publish\"}\n";
    char *copy = malloc(len + sizeof line);
    memcpy(copy, text, len);
    memcpy(copy + len, line, sizeof line - 1);
    pb_mend_sums(copy, len + sizeof line - 1);
    pb_write(room, LOG, copy, len + sizeof line - 1);
    expect(room, LINES + 1, "is no entry");
    free(copy);
    free(text);
}

/* ---- what the entries mean together ---- */

static void act(const struct pb_room *room, const char *what, const char *id, const char *reason)
{
    struct tc_audit_chain chain = read_log(room);
    struct tc_error err = {0};
    struct tc_audit_entry entry = {.act = tc_slice_cstr(what),
                                   .at_ns = INT64_C(1771000000000000000) +
                                            (int64_t)chain.entries * 1000000000,
                                   .number_id = tc_slice_cstr(id),
                                   .reason = tc_slice_cstr(reason),
                                   .claim = reason == NULL ? TC_LIT("{\"a\":1}") : TC_EMPTY};
    assert_int_equal(tc_audit_append(room->dir, &chain, &entry, &err), TC_OK);
}

static void the_last_act_on_a_number_counts(void **state)
{
    struct pb_room *room = *state;
    struct tc_numbers numbers;
    struct tc_error err = {0};
    static const char a[] = "num-00000000000000aa";
    static const char b[] = "num-00000000000000bb";
    act(room, TC_AUDIT_PUBLISH, b, NULL);
    act(room, TC_AUDIT_PUBLISH, a, NULL);
    act(room, TC_AUDIT_RETRACT, a, "wrong");
    act(room, TC_AUDIT_RETRACT, a, "wrong again");
    act(room, TC_AUDIT_RETRACT, b, "too early");
    act(room, TC_AUDIT_PUBLISH, b, NULL);
    act(room, "of a newer program", a, "x");
    assert_int_equal(tc_numbers_read(room->dir, &numbers, &err), TC_OK);
    assert_int_equal(numbers.count, 2);
    const struct tc_number *first = tc_numbers_find(&numbers, tc_slice_cstr(a));
    const struct tc_number *second = tc_numbers_find(&numbers, tc_slice_cstr(b));
    assert_true(first->is_retracted);
    assert_true(tc_slice_eq(first->reason, TC_LIT("wrong again")));
    assert_int_equal(first->seq, 2);
    assert_false(second->is_retracted);
    assert_int_equal(second->seq, 6);
    assert_null(tc_numbers_find(&numbers, TC_LIT("num-00000000000000cc")));
    tc_numbers_fini(&numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_log_that_is_not_there_is_whole, setup, pb_teardown),
        cmocka_unit_test_setup_teardown(a_line_that_was_edited_is_found_by_the_next, setup,
                                        pb_teardown),
        cmocka_unit_test_setup_teardown(a_line_that_was_removed_or_moved_is_found, setup,
                                        pb_teardown),
        cmocka_unit_test_setup_teardown(a_broken_log_takes_nothing_more, setup, pb_teardown),
        cmocka_unit_test_setup_teardown(a_torn_tail_is_no_entry_and_is_cut_by_the_next, setup,
                                        pb_teardown),
        cmocka_unit_test_setup_teardown(what_is_no_entry_breaks_the_chain, setup, pb_teardown),
        cmocka_unit_test_setup_teardown(the_last_act_on_a_number_counts, setup, pb_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
