/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/move_file_priv.h"

#include "base/os/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BLOCK ((size_t)1 << 20)

static tc_status io_fail(struct tc_error *err, const char *doing, const char *path)
{
    return tc_fail(err, TC_E_IO, 0, "cannot %s %s: %s", doing, path, strerror(errno));
}

/* Durable: the file, or the folder that names it. */
static tc_status sync_path(const char *path, struct tc_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool fine = fd >= 0 && fsync(fd) == 0;
    int why = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    errno = why;
    return fine ? TC_OK : io_fail(err, "sync", path);
}

/* The folder of path: "." when it names none. */
static void folder_of(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        (void)snprintf(out, size, ".");
    } else {
        (void)snprintf(out, size, "%.*s", (int)(slash == path ? 1 : slash - path), path);
    }
}

static tc_status copy_bytes(int from, int to, const char *name, struct tc_error *err)
{
    char *block = malloc(COPY_BLOCK);
    ssize_t got = 0;
    if (block == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to copy a file");
    }
    do {
        got = tc_io_read(from, block, COPY_BLOCK);
    } while (got > 0 && tc_io_write(to, tc_slice_make(block, (size_t)got)));
    tc_status status = got == 0 ? TC_OK : io_fail(err, "write", name);
    free(block);
    return status;
}

/* To another file system: a copy beside the target, which then takes its name. */
static tc_status move_over(const char *made, const char *path, struct tc_error *err)
{
    char beside[PATH_MAX + 16];
    if (snprintf(beside, sizeof beside, "%s.XXXXXX", path) >= (int)sizeof beside) {
        return tc_fail(err, TC_E_LIMIT, 0, "the path is too long: %s", path);
    }
    int from = open(made, O_RDONLY | O_CLOEXEC);
    if (from < 0) {
        return io_fail(err, "open", made);
    }
    int to = mkostemp(beside, O_CLOEXEC);
    tc_status status = to < 0 ? io_fail(err, "make a file beside", path) : TC_OK;
    if (status == TC_OK) {
        status = copy_bytes(from, to, beside, err);
    }
    if (status == TC_OK && (fchmod(to, 0644) != 0 || fsync(to) != 0 || rename(beside, path) != 0)) {
        status = io_fail(err, "write", path);
    }
    if (to >= 0) {
        (void)close(to);
        if (status != TC_OK) {
            (void)unlink(beside);
        }
    }
    (void)close(from);
    return status;
}

tc_status tc__move_file(const char *made, const char *path, struct tc_error *err)
{
    char folder[PATH_MAX];
    TC_TRY(sync_path(made, err));
    if (rename(made, path) != 0) {
        if (errno != EXDEV) {
            return io_fail(err, "write", path);
        }
        TC_TRY(move_over(made, path, err));
    }
    folder_of(path, folder, sizeof folder);
    return sync_path(folder, err);
}
