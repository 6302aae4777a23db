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

static int make(void **state)
{
    (void)state;
    book = tc_run_book_create();
    return book == NULL ? -1 : 0;
}

static int destroy(void **state)
{
    (void)state;
    tc_run_book_destroy(book);
    return 0;
}

static void note(const char *run, const char *pod_uid, const char *pod, const char *job,
                 const char *node, int64_t at_ns)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.time_ns = at_ns;
    ev.run_id = tc_slice_cstr(run);
    ev.scope.pod_uid = tc_slice_cstr(pod_uid);
    ev.scope.ns = TC_LIT("ml");
    ev.scope.pod = tc_slice_cstr(pod);
    ev.scope.job = tc_slice_cstr(job);
    ev.scope.node = tc_slice_cstr(node);
    tc_run_book_note(book, &ev);
}

static enum tc_run_join find(const char *pod_uid, const char *pod, const char *job,
                             const char *node, int64_t at_ns, char *out_run)
{
    struct tc_run_question q = {
        .pod_uid = tc_slice_cstr(pod_uid),
        .ns = TC_LIT("ml"),
        .pod = tc_slice_cstr(pod),
        .job = tc_slice_cstr(job),
        .node = tc_slice_cstr(node),
        .from_ns = at_ns,
        .to_ns = at_ns,
    };
    return tc_run_book_find(book, &q, out_run);
}

static void pods_and_jobs_are_identity_and_nodes_are_time(void **state)
{
    (void)state;
    char run[TC_RUN_TEXT_MAX];
    assert_int_equal(find("u1", "p", "j", "n", T0, run), TC_RUN_NONE); /* nothing is known */
    note("run-1", "u1", "p1", "j1", "n1", T0);
    assert_int_equal(find("u1", "", "", "", T0, run), TC_RUN_IDENTITY);
    assert_string_equal(run, "run-1");
    assert_int_equal(find("", "p1", "", "", T0, run), TC_RUN_IDENTITY);
    assert_int_equal(find("", "", "j1", "", T0, run), TC_RUN_IDENTITY);
    assert_int_equal(find("", "", "", "n1", T0, run), TC_RUN_TIME);
    assert_string_equal(run, "run-1");
    assert_int_equal(find("u2", "p2", "j2", "n2", T0, run), TC_RUN_NONE);
    assert_string_equal(run, "");
    /* A pod that is known counts before a node that is. */
    note("run-2", "u2", "", "", "n2", T0);
    assert_int_equal(find("u1", "", "", "n2", T0, run), TC_RUN_IDENTITY);
    assert_string_equal(run, "run-1");
}

static void names_are_used_again(void **state)
{
    (void)state;
    char run[TC_RUN_TEXT_MAX];
    note("run-1", "", "", "train", "n1", T0);
    assert_int_equal(find("", "", "train", "n1", T0 + 10 * MINUTE, run), TC_RUN_IDENTITY);
    assert_int_equal(find("", "", "train", "n1", T0 + 11 * MINUTE, run), TC_RUN_NONE);
    assert_int_equal(find("", "", "train", "n1", T0 - 11 * MINUTE, run), TC_RUN_NONE);
    note("run-2", "", "", "train", "n1", T0 + 60 * MINUTE);
    assert_int_equal(find("", "", "train", "", T0 + 60 * MINUTE, run), TC_RUN_IDENTITY);
    assert_string_equal(run, "run-2");
    assert_int_equal(find("", "", "", "n1", T0 + 60 * MINUTE, run), TC_RUN_TIME);
    assert_string_equal(run, "run-2");
}

static void a_shared_node_says_nothing(void **state)
{
    (void)state;
    char run[TC_RUN_TEXT_MAX];
    note("run-1", "u1", "", "", "n1", T0);
    note("run-2", "u2", "", "", "n1", T0 + MINUTE);
    note("run-1", "u1", "", "", "n1", T0 + 2 * MINUTE);
    assert_int_equal(find("", "", "", "n1", T0 + 2 * MINUTE, run), TC_RUN_NONE);
    assert_int_equal(find("u1", "", "", "n1", T0 + 2 * MINUTE, run), TC_RUN_IDENTITY);
    /* Alone again for a while. */
    for (int i = 3; i < 30; i++) {
        note("run-1", "u1", "", "", "n1", T0 + i * MINUTE);
    }
    assert_int_equal(find("", "", "", "n1", T0 + 29 * MINUTE, run), TC_RUN_TIME);
    assert_string_equal(run, "run-1");
}

static void names_that_are_too_long_are_left_out(void **state)
{
    (void)state;
    char run[TC_RUN_TEXT_MAX];
    char text[TC_RUN_TEXT_MAX + 1];
    memset(text, 'x', sizeof text);
    text[TC_RUN_TEXT_MAX] = '\0';
    note(text, "u1", "", "", "", T0);
    assert_int_equal(find("u1", "", "", "", T0, run), TC_RUN_NONE);
    note("run-1", text, "", "", "", T0);
    assert_int_equal(find(text, "", "", "", T0, run), TC_RUN_NONE);
    text[TC_RUN_TEXT_MAX - 1] = '\0';
    note(text, text, "", "", "", T0);
    assert_int_equal(find(text, "", "", "", T0, run), TC_RUN_IDENTITY);
    assert_string_equal(run, text);
}

static void it_is_bounded(void **state)
{
    (void)state;
    char run[TC_RUN_TEXT_MAX];
    char uid[32];
    char name[32];
    unsigned found = 0;
    const unsigned count = 4 * TC_RUN_BOOK_ENTRIES;
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(uid, sizeof uid, "uid-%u", i);
        (void)snprintf(name, sizeof name, "run-%u", i);
        note(name, uid, "", "", "", T0 + (int64_t)i * 1000000);
    }
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(uid, sizeof uid, "uid-%u", i);
        (void)snprintf(name, sizeof name, "run-%u", i);
        if (find(uid, "", "", "", T0, run) == TC_RUN_IDENTITY) {
            assert_string_equal(run, name);
            found++;
        }
    }
    assert_true(found > TC_RUN_BOOK_ENTRIES / 2 && found <= TC_RUN_BOOK_ENTRIES);
    /* The latest is there. */
    assert_int_equal(find(uid, "", "", "", T0, run), TC_RUN_IDENTITY);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, destroy)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pods_and_jobs_are_identity_and_nodes_are_time),
        TEST(names_are_used_again),
        TEST(a_shared_node_says_nothing),
        TEST(names_that_are_too_long_are_left_out),
        TEST(it_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
