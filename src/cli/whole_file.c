/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/whole_file.h"

#include "base/os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static tc_status write_to(int fd, const char *name, struct tc_slice bytes, bool durable,
                          struct tc_error *err)
{
    tc_status status =
        tc_io_write(fd, bytes) && (!durable || fsync(fd) == 0) ? TC_OK : tc_fail_errno(err, name);
    if (close(fd) != 0 && status == TC_OK) {
        status = tc_fail_errno(err, name);
    }
    return status;
}

static tc_status write_beside(const char *path, struct tc_slice bytes, struct tc_error *err)
{
    char beside[PATH_MAX + 32];
    if (snprintf(beside, sizeof beside, "%s.tmp-%ld", path, (long)getpid()) >= (int)sizeof beside) {
        return tc_fail(err, TC_E_USAGE, 0, "the path is too long");
    }
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
        return tc_fail_errno(err, beside);
    }
    tc_status status = write_to(fd, path, bytes, true, err);
    if (status == TC_OK && rename(beside, path) != 0) {
        status = tc_fail_errno(err, path);
    }
    if (status != TC_OK) {
        (void)unlink(beside);
    }
    return status;
}

tc_status tc_whole_file_write(const char *path, struct tc_slice bytes, struct tc_error *err)
{
    char real[PATH_MAX];
    struct stat st;
    if (stat(path, &st) != 0) {
        return errno == ENOENT ? write_beside(path, bytes, err) : tc_fail_errno(err, path);
    }
    if (S_ISREG(st.st_mode)) {
        return realpath(path, real) != NULL ? write_beside(real, bytes, err)
                                            : tc_fail_errno(err, path);
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd < 0 ? tc_fail_errno(err, path) : write_to(fd, path, bytes, false, err);
}
