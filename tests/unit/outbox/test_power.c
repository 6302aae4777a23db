/* SPDX-License-Identifier: Apache-2.0 */
/* What a loss of power leaves behind: a log and a file of verdicts that have grown by zeros. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/outbox/outbox_testing.h"

static void put_some(unsigned from, unsigned to)
{
    for (unsigned n = from; n < to; n++) {
        assert_int_equal(put_one(box, n, 1), TC_OK);
    }
}

static void add_zeros(const char *path, off_t count)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size + count), 0);
}

/* What a loss of power leaves: the log is whole up to there, and has grown by zeros. */
static void zeros_behind_the_log_are_cut(void **state)
{
    (void)state;
    char path[128];
    struct tc_outbox_config config = plain_config();
    config.file_path = NULL;
    (void)start_box(&config);
    put_some(0, 3);
    tc_outbox_close(box, WAIT_LONG);
    log_path(path, sizeof path, 1);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    unsigned last = 3;
    for (off_t len = st.st_size; len >= 0; len--) {
        assert_int_equal(truncate(path, len), 0);
        add_zeros(path, 9000);
        unsigned count = open_box(&config).count;
        assert_true(count == last || count + 1 == last);
        last = count;
        struct tc_outbox_stats stats;
        tc_outbox_stats(box, &stats);
        assert_int_equal(stats.damaged, 0);
        tc_outbox_close(box, 0);
        struct stat now;
        assert_int_equal(stat(path, &now), 0);
        assert_true(now.st_size <= st.st_size);
    }
    assert_int_equal(last, 0);
}

/* The same of the file of verdicts: whole lines stay, a part of one and zeros go, at the start. */
static void zeros_behind_the_file_are_cut(void **state)
{
    (void)state;
    static const off_t zeros[] = {1, 511, 4096, TC_OUTBOX_RECORD_MAX + 70000};
    struct tc_outbox_config config = plain_config();
    static char line[8192];
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++) {
        for (unsigned part = 0; part < 3; part++) {
            assert_int_equal(make_folder(NULL), 0);
            config.dir = outbox_dir;
            (void)open_box(&config);
            put_some(0, 3);
            tc_outbox_close(box, 0); /* in the log only, with no cursor */
            size_t len = verdict_line(line, sizeof line, 0, 1);
            append_text(file_path, line);
            append_text(file_path, "\n");
            len = verdict_line(line, sizeof line, 1, 1);
            line[part == 0 ? 0 : part == 1 ? len / 2 : len] = '\0';
            append_text(file_path, line);
            add_zeros(file_path, zeros[i]);
            (void)start_box(&config);
            put_some(3, 4);
            tc_outbox_close(box, WAIT_LONG);
            assert_lines(file_path, 0, 4);
            assert_int_equal(drop_folder(NULL), 0);
        }
    }
    assert_int_equal(make_folder(NULL), 0);
}

/* Also where everything was delivered, and no new verdict comes. */
static void zeros_behind_a_delivered_file_are_cut_at_the_start(void **state)
{
    (void)state;
    struct tc_outbox_config config = plain_config();
    (void)start_box(&config);
    put_some(0, 2);
    tc_outbox_close(box, WAIT_LONG);
    add_zeros(file_path, 4096);
    (void)start_box(&config);
    tc_outbox_close(box, WAIT_LONG);
    assert_lines(file_path, 0, 2);
    struct stat st;
    char line[256];
    assert_int_equal(stat(file_path, &st), 0);
    assert_int_equal(st.st_size, 2 * (verdict_line(line, sizeof line, 0, 1) + 1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        TEST(zeros_behind_the_log_are_cut),
        TEST(zeros_behind_the_file_are_cut),
        TEST(zeros_behind_a_delivered_file_are_cut_at_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
