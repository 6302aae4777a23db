/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

ssize_t tc_io_read(int fd, char *out, size_t size)
{
    size_t len = 0;
    ssize_t got = 1;
    while (got != 0 && len < size) {
        got = read(fd, out + len, size - len);
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        len += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)len;
}

ssize_t tc_io_read_path(const char *path, char *out, size_t size)
{
    if (strcmp(path, "-") == 0) {
        return tc_io_read(STDIN_FILENO, out, size);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    ssize_t len = tc_io_read(fd, out, size);
    int error = errno;
    (void)close(fd);
    errno = error;
    return len;
}

bool tc_io_write(int fd, struct tc_slice bytes)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.ptr, bytes.len);
        if (n == 0) {
            errno = EIO;
        }
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        bytes = tc_slice_from(bytes, n > 0 ? (size_t)n : 0);
    }
    return true;
}

tc_status tc_fail_errno(struct tc_error *err, const char *what)
{
    char text[128];
    return tc_fail(err, TC_E_IO, 0, "%s: %s", what, strerror_r(errno, text, sizeof text));
}
