/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/time.h"
#include "source/files/files.h"
#include "source/files/priv.h"

#include "unit/source/source_testing.h"

#include <fcntl.h>

/* Two fingers of which less than FINGER_MIN bytes are shared: lines begin with a number. */
#define A "1 the first line of this log\n"
#define B "2 and another one behind it\n"
#define C "3 which is the third of them\n"
#define D "4 and here is one more, the fourth\n"

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

static void start_on(const char *pattern, bool from_end)
{
    char lines[1600];
    void *state = NULL;
    int n = snprintf(lines, sizeof lines, "%s\n", world_path(w, pattern));
    struct tc_files_config config = {.paths = tc_slice_make(lines, (size_t)n),
                                     .node = TC_LIT("here"),
                                     .tz = TC_LIT("+00:00"),
                                     .from_end = from_end,
                                     .poll_ns = TC_SECOND / 20,
                                     .line_max = 4096,
                                     .open_max = 64};
    assert_int_equal(tc_files_create(&config, &state, &err), TC_OK);
    world_start(w, &tc_source_files, state);
}

static void start(void)
{
    start_on("*.log", false);
    (void)await_health(w, TC_SOURCE_OK);
}

static void move(const char *from, const char *to)
{
    assert_int_equal(rename(world_path(w, from), world_path(w, to)), 0);
}

/* A copy, and the original cut to nothing. */
static void copy_and_cut(const char *from, const char *to)
{
    static char bytes[65536];
    FILE *f = fopen(world_path(w, from), "r");
    assert_non_null(f);
    size_t len = fread(bytes, 1, sizeof bytes, f);
    (void)fclose(f);
    write_to(world_path(w, to), "w", bytes, len);
    assert_int_equal(truncate(world_path(w, from), 0), 0);
}

static void a_line_is_taken_when_it_ends(void **state)
{
    (void)state;
    append(w, "a.log", A "2 and another");
    start();
    await_text(w, A);
    append(w, "a.log", " one behind it\n");
    await_text(w, A B);
}

static void a_start_goes_on_where_the_last_one_was(void **state)
{
    (void)state;
    append(w, "a.log", A);
    start();
    await_text(w, A);
    world_stop(w);
    append(w, "a.log", B);
    start();
    await_text(w, A B);
    append(w, "a.log", C);
    await_text(w, A B C);
}

/* Killed before the put is durable, and right after. */
static void a_kill_at_a_put_loses_and_doubles_nothing(void **state)
{
    (void)state;
    for (int durable = 0; durable < 2; durable++) {
        append(w, durable ? "b.log" : "a.log", A);
        w->puts_left = 0;
        w->dies_durable = durable;
        start_on("*.log", false);
        assert_int_equal(pthread_join(w->thread, NULL), 0);
        w->kind->destroy(w->state);
        tc_port_destroy(w->port);
        w->puts_left = -1;
        start();
        await_text(w, durable ? A A : A);
        world_stop(w);
    }
}

static void a_renamed_file_is_read_to_its_end(void **state)
{
    (void)state;
    append(w, "a.log", A);
    start();
    await_text(w, A);
    move("a.log", "a.log.1");
    append(w, "a.log.1", B); /* its writer has not noticed */
    append(w, "a.log", C);
    await_text(w, A B C);
}

static void a_file_that_was_renamed_while_it_was_down_may_still_grow(void **state)
{
    (void)state;
    append(w, "a.log", A);
    start();
    await_text(w, A);
    world_stop(w);
    move("a.log", "a.log.1");
    append(w, "a.log", B);
    start();
    await_text(w, A B);
    append(w, "a.log.1", C); /* its writer has not noticed */
    await_text(w, A B C);
}

static void several_rotations_while_it_is_down_are_found(void **state)
{
    (void)state;
    append(w, "a.log", A);
    start();
    await_text(w, A);
    world_stop(w);
    append(w, "a.log", B);
    move("a.log", "a.log.2");
    append(w, "a.log", C);
    move("a.log", "a.log.1");
    append(w, "a.log", D);
    start();
    await_text(w, A B C D);
    world_stop(w);
    start(); /* and are known from then on */
    append(w, "a.log", A);
    await_text(w, A B C D A);
}

static void the_rest_of_a_file_that_was_copied_and_cut_is_in_the_copy(void **state)
{
    (void)state;
    append(w, "a.log", A);
    start();
    await_text(w, A);
    world_stop(w);
    append(w, "a.log", B);
    copy_and_cut("a.log", "a.log.1");
    append(w, "a.log", C);
    start();
    await_text(w, A B C);
    copy_and_cut("a.log", "a.log.2"); /* nothing of it is unread */
    append(w, "a.log", D);
    await_text(w, A B C D);
}

static void copies_that_came_while_it_was_down_are_found(void **state)
{
    (void)state;
    append(w, "a.log", A);
    start();
    await_text(w, A);
    world_stop(w);
    copy_and_cut("a.log", "a.log.3");
    append(w, "a.log", B);
    copy_and_cut("a.log", "a.log.2");
    append(w, "a.log", C);
    copy_and_cut("a.log", "a.log.1");
    append(w, "a.log", D);
    start();
    await_text(w, A B C D);
}

/* Grown beyond where it was read to: only its first bytes tell. */
static void a_file_that_was_cut_and_has_grown_is_read_anew(void **state)
{
    (void)state;
    append(w, "a.log", A);
    start();
    await_text(w, A);
    world_stop(w);
    assert_int_equal(truncate(world_path(w, "a.log"), 0), 0);
    append(w, "a.log", B C);
    start();
    await_text(w, A B C);
}

static void a_file_that_was_deleted_and_made_anew_is_another(void **state)
{
    (void)state;
    append(w, "a.log", A);
    start();
    await_text(w, A);
    world_stop(w);
    assert_int_equal(unlink(world_path(w, "a.log")), 0);
    append(w, "a.log", B C); /* it may have the same inode */
    start();
    await_text(w, A B C);
    assert_int_equal(unlink(world_path(w, "a.log")), 0);
    append(w, "a.log", A);
    await_text(w, A B C A);
}

static void a_file_that_comes_back_is_known(void **state)
{
    (void)state;
    append(w, "a.log", A);
    start();
    await_text(w, A);
    move("a.log", "a.away");
    append(w, "b.log", B);
    await_text(w, A B);
    move("a.away", "a.log");
    append(w, "a.log", C);
    await_text(w, A B C);
}

static void an_endless_line_is_cut_and_counted(void **state)
{
    (void)state;
    static char text[4096 * 2 + 16];
    memset(text, 'x', 4096 * 2);
    text[0] = '1';
    (void)snprintf(text + 4096 * 2, 16, "end\n");
    append(w, "a.log", text);
    start();
    await_text(w, text);
    world_stop(w);
    assert_int_equal(w->health.lost, 0); /* it had an end */
    text[4096 * 2] = '\0';
    append(w, "b.log", text);
    tc_grow_fini(&w->text);
    start();
    await_text(w, text);
    world_stop(w);
    assert_int_equal(w->health.lost, 2);
}

static void zero_bytes_are_bytes(void **state)
{
    (void)state;
    static const char text[] = "1 a\0b\n\0\0\n";
    write_to(world_path(w, "a.log"), "w", text, sizeof text - 1);
    start();
    int64_t until_ns = tc_mono_ns() + PATIENCE_NS;
    while (w->chunks == 0 && tc_mono_ns() < until_ns) {
        (void)usleep(2000);
    }
    world_stop(w);
    assert_int_equal(w->text.buf.len, sizeof text - 1);
    assert_memory_equal(w->text.buf.data, text, sizeof text - 1);
}

/* A program that goes on behind a truncation leaves a hole in front. */
static void a_hole_is_skipped(void **state)
{
    (void)state;
    int fd = open(world_path(w, "a.log"), O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, A, sizeof A - 1, (off_t)1 << 30), sizeof A - 1);
    (void)close(fd);
    start();
    await_text(w, A);
}

static void names_may_be_anything(void **state)
{
    (void)state;
    append(w, "new\nline %41 \xff.log", A);
    start();
    await_text(w, A);
    world_stop(w);
    append(w, "new\nline %41 \xff.log", B);
    start();
    await_text(w, A B);
}

static void what_is_no_log_is_left_alone(void **state)
{
    (void)state;
    append(w, "a.log", A);
    append(w, "b.log.gz", B);
    append(w, ".hidden.log", B);
    append(w, "a.log.1", B); /* rotated before anybody looked */
    assert_int_equal(mkfifo(world_path(w, "fifo.log"), 0600), 0);
    assert_int_equal(mkdir(world_path(w, "dir.log"), 0700), 0);
    assert_int_equal(symlink("loop.log", world_path(w, "loop.log")), 0);
    assert_int_equal(symlink(".", world_path(w, "self")), 0);
    assert_int_equal(link(world_path(w, "a.log"), world_path(w, "c.log")), 0);
    assert_int_equal(symlink("a.log", world_path(w, "d.log")), 0);
    start_on("*", false);
    await_text(w, A);
    append(w, "a.log", C);
    await_text(w, A C);
    world_stop(w);
    start_on("*/*/*.log", false); /* self/self/a.log */
    append(w, "a.log", D);
    await_text(w, A C D);
}

static void a_file_of_before_may_be_left_out(void **state)
{
    (void)state;
    append(w, "a.log", A);
    start_on("*.log", true);
    (void)await_health(w, TC_SOURCE_OK);
    append(w, "a.log", B);
    await_text(w, B);
    append(w, "b.log", C); /* it was not there */
    await_text(w, B C);
    world_stop(w);
    append(w, "c.log", D); /* nor was this */
    start_on("*.log", true);
    await_text(w, B C D);
}

static void paths_name_nodes_and_jobs(void **state)
{
    (void)state;
    assert_int_equal(mkdir(world_path(w, "gpu-07"), 0700), 0);
    append(w, "gpu-07/job_17.log", A);
    start_on("{node}/job_{job}.log format=kmsg tz=+02:00", false);
    await_text(w, A);
    world_stop(w);
    char expected[256];
    (void)snprintf(expected, sizeof expected, "%s|gpu-07|17|kmsg|+02:00\n",
                   world_path(w, "gpu-07/job_17.log"));
    assert_true(tc_slice_eq(tc_grow_slice(&w->notes), tc_slice_cstr(expected)));
}

static void many_files_need_few_descriptors(void **state)
{
    (void)state;
    char name[32];
    for (int i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof name, "%03d.log", i);
        append(w, name, A);
    }
    start();
    int64_t until_ns = tc_mono_ns() + PATIENCE_NS;
    while (w->chunks < 300 && tc_mono_ns() < until_ns) {
        (void)usleep(2000);
    }
    append(w, "000.log", B);
    while (w->chunks < 301 && tc_mono_ns() < until_ns) {
        (void)usleep(2000);
    }
    world_stop(w);
    assert_int_equal(w->chunks, 301);
    assert_int_equal(w->text.buf.len, 300 * (sizeof A - 1) + sizeof B - 1);
}

static void rotated_names_are_told_from_others(void **state)
{
    (void)state;
    static const char *const rotated[] = {"app.log.1",
                                          "app.log.10",
                                          "app.log-20261118",
                                          "app.log.old",
                                          "app.log_2",
                                          "app-2026-11-18.log",
                                          "app.log.2026-11-18T01:02:03Z",
                                          "app.1.log"};
    static const char *const others[] = {"app.log",     "app.log.gz", "app.log.1.gz", "app.logs",
                                         "app.log.err", "app.log.",   "app-x.log",    "apps.log.1",
                                         "app-.log",    "log"};
    char text[64];
    for (size_t i = 0; i < TC_COUNT(rotated); i++) {
        struct tc_slice name = tc_slice_cstr(rotated[i]);
        assert_true(tc__is_rotated(TC_LIT("app.log"), name));
        struct tc_slice from = tc__rotated_from(name, text, sizeof text);
        assert_true(tc_slice_eq(from, TC_LIT("app.log")));
    }
    for (size_t i = 0; i < TC_COUNT(others); i++) {
        assert_false(tc__is_rotated(TC_LIT("app.log"), tc_slice_cstr(others[i])));
    }
    assert_int_equal(tc__rotated_from(TC_LIT("/x.1/app.log"), text, sizeof text).len, 0);
}

static void patterns_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "relative/*.log", "/",   "/a frmat=kmsg", "/a node=", "/{job}{node}", "/{pod}/a.log",
        "/{node}*.log",   "/a b"};
    struct tc__glob g;
    for (size_t i = 0; i < TC_COUNT(wrong); i++) {
        assert_int_equal(tc__glob_parse(tc_slice_cstr(wrong[i]), &g, &err), TC_E_USAGE);
    }
    assert_int_equal(tc__glob_parse(TC_LIT("/a//b/*.log  node=n"), &g, &err), TC_OK);
    assert_int_equal(g.part_count, 3);
    assert_true(tc_slice_eq(g.node, TC_LIT("n")));
    tc__glob_fini(&g);
}

static void positions_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "1 2 3 4 5 6 7",
                                        "1 2 3 4 5 6 7 ",
                                        "1 2 3 4 5 6 x /a",
                                        "1 2 3 4 1025 6 7 /a",
                                        "1 2 3 9223372036854775808 5 6 7 /a",
                                        "1 2 3 4 5 6 7 /a%00",
                                        "1 2 3 4 5 6 7 /a%4"};
    struct tc__gen gen;
    char path[TC__FILE_PATH_MAX + 1];
    for (size_t i = 0; i < TC_COUNT(wrong); i++) {
        assert_false(tc__position_read(tc_slice_cstr(wrong[i]), &gen, path));
    }
    assert_true(tc__position_read(TC_LIT("1 2 3 4 1024 6 7 /a%41%0a"), &gen, path));
    assert_string_equal(path, "/aA\n");
    assert_int_equal(gen.offset, 4);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_line_is_taken_when_it_ends),
        TEST(a_start_goes_on_where_the_last_one_was),
        TEST(a_kill_at_a_put_loses_and_doubles_nothing),
        TEST(a_renamed_file_is_read_to_its_end),
        TEST(a_file_that_was_renamed_while_it_was_down_may_still_grow),
        TEST(several_rotations_while_it_is_down_are_found),
        TEST(the_rest_of_a_file_that_was_copied_and_cut_is_in_the_copy),
        TEST(copies_that_came_while_it_was_down_are_found),
        TEST(a_file_that_was_cut_and_has_grown_is_read_anew),
        TEST(a_file_that_was_deleted_and_made_anew_is_another),
        TEST(a_file_that_comes_back_is_known),
        TEST(an_endless_line_is_cut_and_counted),
        TEST(zero_bytes_are_bytes),
        TEST(a_hole_is_skipped),
        TEST(names_may_be_anything),
        TEST(what_is_no_log_is_left_alone),
        TEST(a_file_of_before_may_be_left_out),
        TEST(paths_name_nodes_and_jobs),
        TEST(many_files_need_few_descriptors),
        cmocka_unit_test(rotated_names_are_told_from_others),
        cmocka_unit_test(patterns_that_are_none_are_refused),
        cmocka_unit_test(positions_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
