/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/kmsg.h"

#include "unit/source/source_testing.h"

#include <fcntl.h>

#define R1 "6,1,1000,-;one\n"
#define R2 "6,2,2000,-;two\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n"
#define R3 "4,3,3000,-,caller=T1;three\n"
#define R9 "6,9,9000,-;nine\n"

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

static void start_at(const char *path, const char *boot)
{
    void *state = NULL;
    struct tc_kmsg_config config = {
        .path = path, .node = TC_LIT("gpu-07"), .boot = tc_slice_cstr(boot)};
    assert_int_equal(tc_kmsg_create(&config, &state, &err), TC_OK);
    world_start(w, &tc_source_kmsg, state);
}

static void start(const char *boot)
{
    start_at(world_path(w, "kmsg"), boot);
}

static void records_are_taken_with_their_properties(void **state)
{
    (void)state;
    append(w, "kmsg", R1 R2);
    start("boot-a");
    await_text(w, R1 R2);
    append(w, "kmsg", R3);
    await_text(w, R1 R2 R3);
    world_stop(w);
    assert_int_equal(w->health.records, 3);
    assert_int_equal(w->health.lost, 0);
    assert_string_equal(w->kept[0].position, "boot-a 3");
}

static void a_restart_skips_what_was_stored(void **state)
{
    (void)state;
    append(w, "kmsg", R1 R2);
    start("boot-a");
    await_text(w, R1 R2);
    world_stop(w);
    append(w, "kmsg", R3);
    start("boot-a");
    await_text(w, R1 R2 R3);
    world_stop(w);
    assert_int_equal(w->health.records, 1);
}

/* Numbers begin again at each boot. */
static void another_boot_is_read_from_its_beginning(void **state)
{
    (void)state;
    append(w, "kmsg", R1 R2 R3);
    start("boot-a");
    await_text(w, R1 R2 R3);
    world_stop(w);
    write_to(world_path(w, "kmsg"), "w", R1, sizeof R1 - 1);
    start("boot-b");
    await_text(w, R1 R2 R3 R1);
}

static void overwritten_records_are_counted(void **state)
{
    (void)state;
    append(w, "kmsg", R1 R3);
    start("boot-a");
    await_text(w, R1 R3);
    world_stop(w);
    assert_int_equal(w->health.lost, 1);
    write_to(world_path(w, "kmsg"), "w", R9, sizeof R9 - 1); /* 4 to 8 are gone */
    start("boot-a");
    await_text(w, R1 R3 R9);
    world_stop(w);
    assert_int_equal(w->health.lost, 5);
}

static void what_is_no_record_is_left_out(void **state)
{
    (void)state;
    static char text[20000];
    memset(text, 'x', sizeof text - 1);
    append(w, "kmsg", "hello\n,1,\n6;1\n" R1);
    start("boot-a");
    await_text(w, R1);
    append(w, "kmsg", text); /* a line without end */
    append(w, "kmsg", "\n" R2);
    await_text(w, R1 R2);
}

static void a_fifo_stands_in_for_the_device(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(world_path(w, "kmsg"), 0600), 0);
    start("boot-a");
    int fd = open(world_path(w, "kmsg"), O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, R1 "6,2,", sizeof R1 + 3), sizeof R1 + 3);
    await_text(w, R1);
    assert_int_equal(write(fd, "2000,-;two\n", 11), 11);
    (void)close(fd);
    await_text(w, R1 "6,2,2000,-;two\n");
}

static void what_is_not_there_is_said(void **state)
{
    (void)state;
    start("boot-a");
    struct tc_source_health h = await_health(w, TC_SOURCE_FAILING);
    assert_non_null(strstr(h.error, "No such file"));
    assert_int_equal(h.errors, 1);
}

/* Where there is one that we may read: its records have numbers that grow. */
static void the_kernels_own_log_is_read(void **state)
{
    (void)state;
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char record[8192];
    ssize_t n = fd < 0 ? -1 : read(fd, record, sizeof record);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (n <= 0) {
        skip();
    }
    start_at("/dev/kmsg", "boot-a");
    int64_t until_ns = tc_mono_ns() + PATIENCE_NS;
    while (w->chunks == 0 && tc_mono_ns() < until_ns) {
        (void)usleep(2000);
    }
    world_stop(w);
    assert_true(w->chunks > 0);
    assert_true(w->health.records > 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(records_are_taken_with_their_properties),
        TEST(a_restart_skips_what_was_stored),
        TEST(another_boot_is_read_from_its_beginning),
        TEST(overwritten_records_are_counted),
        TEST(what_is_no_record_is_left_out),
        TEST(a_fifo_stands_in_for_the_device),
        TEST(what_is_not_there_is_said),
        TEST(the_kernels_own_log_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
