/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into the daemon by tests: file calls that fail on command. TC_FAILING names a file;
 * while it is there, its text "CALL ERRNO NTH" makes every NTH call fail so: CALL is sync or write.
 * Only regular files are concerned, so that sockets and the log go on; with TC_FAILING_ONLY only
 * those whose path has that in it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_uint calls;

static bool is_concerned(int fd)
{
    const char *only = getenv("TC_FAILING_ONLY");
    char name[64];
    char path[4096];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t len = only == NULL ? 0 : readlink(name, path, sizeof path - 1);
    if (only == NULL || len < 0) {
        return only == NULL;
    }
    path[len] = '\0';
    return strstr(path, only) != NULL;
}

static bool fails(const char *call, int fd)
{
    const char *path = getenv("TC_FAILING");
    struct stat st;
    if (path == NULL || fd <= STDERR_FILENO || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        !is_concerned(fd)) {
        return false;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    char line[64] = "";
    bool read = fgets(line, sizeof line, file) != NULL;
    (void)fclose(file);
    if (!read || strncmp(line, call, strlen(call)) != 0) {
        return false;
    }
    char *end = line + strlen(call);
    int number = (int)strtol(end, &end, 10);
    unsigned nth = (unsigned)strtoul(end, NULL, 10);
    if (atomic_fetch_add(&calls, 1) % (nth > 0 ? nth : 1) != 0) {
        return false;
    }
    errno = number;
    return true;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fdatasync(int fd)
{
    return fails("sync", fd) ? -1 : REAL(fdatasync)(fd);
}

int fsync(int fd)
{
    return fails("sync", fd) ? -1 : REAL(fsync)(fd);
}

ssize_t write(int fd, const void *data, size_t len)
{
    return fails("write", fd) ? -1 : REAL(write)(fd, data, len);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    return fails("write", fd) ? -1 : REAL(pwrite)(fd, data, len, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t offset)
{
    return fails("write", fd) ? -1 : REAL(pwrite64)(fd, data, len, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    return fails("write", fd) ? -1 : REAL(writev)(fd, parts, count);
}
