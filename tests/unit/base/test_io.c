/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* A pipe gives what is there, not what was asked for. */
static void reading_goes_on_to_the_end_or_the_room(void **state)
{
    (void)state;
    int ends[2];
    char out[16] = {0};
    assert_int_equal(pipe(ends), 0);
    assert_true(tc_io_write(ends[1], TC_LIT("abcdef")));
    assert_int_equal(tc_io_read(ends[0], out, 4), 4);
    assert_true(tc_io_write(ends[1], TC_LIT("gh")));
    (void)close(ends[1]);
    assert_int_equal(tc_io_read(ends[0], out + 4, sizeof out - 4), 4);
    assert_string_equal(out, "abcdefgh");
    assert_int_equal(tc_io_read(ends[0], out, sizeof out), 0);
    (void)close(ends[0]);
    assert_int_equal(tc_io_read(ends[0], out, sizeof out), -1);
    assert_int_equal(errno, EBADF);
}

static void a_file_is_read_by_its_path(void **state)
{
    (void)state;
    char path[] = "/tmp/tracecore-io-XXXXXX";
    char out[8];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && tc_io_write(fd, TC_LIT("text")));
    (void)close(fd);
    assert_int_equal(tc_io_read_path(path, out, sizeof out), 4);
    assert_memory_equal(out, "text", 4);
    assert_int_equal(tc_io_read_path(path, out, 2), 2);
    (void)unlink(path);
    assert_int_equal(tc_io_read_path(path, out, sizeof out), -1);
    assert_int_equal(errno, ENOENT);
}

static void a_failed_write_says_why(void **state)
{
    (void)state;
    struct tc_error err;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(tc_io_write(fd, TC_EMPTY));
    assert_false(tc_io_write(fd, TC_LIT("text")));
    assert_int_equal(tc_fail_errno(&err, "cannot be kept"), TC_E_IO);
    assert_string_equal(err.message, "cannot be kept: No space left on device");
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_goes_on_to_the_end_or_the_room),
        cmocka_unit_test(a_file_is_read_by_its_path),
        cmocka_unit_test(a_failed_write_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
