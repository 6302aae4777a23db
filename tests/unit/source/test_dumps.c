/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/files/dumps.h"

#include "unit/source/source_testing.h"

#define ONE "{\"version\":\"2.4\",\"entries\":[1]}"
#define TWO "\x80\x02}q\x00."

static struct world *w;
static struct tc_error err;

static int begin(void **state)
{
    (void)state;
    w = world_create();
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (w->port != NULL) {
        world_stop(w);
    }
    world_destroy(w);
    return 0;
}

static void start(void)
{
    char lines[1600];
    void *state = NULL;
    int n = snprintf(lines, sizeof lines, "%s\n", world_path(w, "{job}/trace_*"));
    struct tc_dumps_config config = {.paths = tc_slice_make(lines, (size_t)n),
                                     .poll_ns = TC_SECOND / 20};
    assert_int_equal(tc_dumps_create(&config, &state, &err), TC_OK);
    world_start(w, &tc_source_dumps, state);
    (void)await_health(w, TC_SOURCE_OK);
}

static void await_chunks(size_t count)
{
    int64_t until_ns = tc_mono_ns() + PATIENCE_NS;
    while (w->chunks < count && tc_mono_ns() < until_ns) {
        (void)usleep(2000);
    }
    assert_int_equal(w->chunks, count);
}

/* Long enough for two looks. */
static void let_it_look(void)
{
    struct tc_source_health h;
    tc_port_health(w->port, &h);
    (void)usleep(200000);
}

static void a_dump_is_taken_once_it_is_whole(void **state)
{
    (void)state;
    assert_int_equal(mkdir(world_path(w, "job-17"), 0700), 0);
    append(w, "job-17/trace_0", "{\"version\":");
    append(w, "job-17/other", ONE);
    write_to(world_path(w, "job-17/trace_1"), "w", TWO, sizeof TWO - 2); /* without its end */
    append(w, "job-17/trace_2", "");
    start();
    let_it_look();
    assert_int_equal(w->chunks, 0);
    append(w, "job-17/trace_0", "\"2.4\",\"entries\":[1]}");
    await_text(w, ONE);
    write_to(world_path(w, "job-17/trace_1"), "a", ".", 1);
    await_chunks(2);
    world_stop(w);
    char expected[512];
    (void)snprintf(expected, sizeof expected, "%s||job-17||\n%s||job-17||\n",
                   world_path(w, "job-17/trace_0"), world_path(w, "job-17/trace_1"));
    assert_true(tc_slice_eq(tc_grow_slice(&w->notes), tc_slice_cstr(expected)));
}

static void each_is_taken_once_over_restarts(void **state)
{
    (void)state;
    assert_int_equal(mkdir(world_path(w, "a"), 0700), 0);
    append(w, "a/trace_0", ONE);
    start();
    await_chunks(1);
    let_it_look();
    world_stop(w);
    append(w, "a/trace_1", ONE);
    start();
    await_chunks(2);
    let_it_look();
    assert_int_equal(w->chunks, 2);
    write_to(world_path(w, "a/trace_0"), "w", "[1,2]", 5); /* another dump of the same rank */
    await_chunks(3);
}

static void killed_before_it_is_durable_it_is_taken_again(void **state)
{
    (void)state;
    assert_int_equal(mkdir(world_path(w, "a"), 0700), 0);
    append(w, "a/trace_0", ONE);
    w->puts_left = 0;
    start();
    assert_int_equal(pthread_join(w->thread, NULL), 0);
    w->kind->destroy(w->state);
    tc_port_destroy(w->port);
    w->puts_left = -1;
    start();
    await_text(w, ONE);
}

static void whole_documents_are_told_from_torn_ones(void **state)
{
    (void)state;
    assert_true(tc_dump_is_whole(TC_LIT(ONE)));
    assert_true(tc_dump_is_whole(TC_LIT("[1]\n")));
    assert_true(tc_dump_is_whole(tc_slice_make(TWO, sizeof TWO - 1)));
    assert_false(tc_dump_is_whole(tc_slice_make(TWO, sizeof TWO - 2)));
    assert_false(tc_dump_is_whole(TC_LIT("{\"a\":1")));
    assert_false(tc_dump_is_whole(TC_LIT("hello.")));
    assert_false(tc_dump_is_whole(TC_LIT("{")));
    assert_false(tc_dump_is_whole(TC_EMPTY));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_dump_is_taken_once_it_is_whole),
        TEST(each_is_taken_once_over_restarts),
        TEST(killed_before_it_is_durable_it_is_taken_again),
        cmocka_unit_test(whole_documents_are_told_from_torn_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
