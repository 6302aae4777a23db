/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a command by tests: of the calls that change the file system, the one with the
 * number TC_CALL_AT (from 1) ends the process as a power cut would, or fails with the errno
 * TC_CALL_FAILS. TC_CALL_COUNT names a file that gets how many there were.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls;
static bool counting = true;

static long number_of(const char *name)
{
    const char *text = getenv(name);
    return text == NULL ? 0 : strtol(text, NULL, 10);
}

/* True when the call is to fail; errno is set. */
static bool meets(void)
{
    long now = counting ? atomic_fetch_add(&calls, 1) + 1 : 0;
    if (now == 0 || now != number_of("TC_CALL_AT")) {
        return false;
    }
    errno = (int)number_of("TC_CALL_FAILS");
    if (errno == 0) {
        (void)kill(getpid(), SIGKILL);
    }
    return true;
}

static bool meets_fd(int fd)
{
    struct stat st;
    return fd > STDERR_FILENO && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && meets();
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("TC_CALL_COUNT");
    counting = false;
    FILE *file = path == NULL ? NULL : fopen(path, "we");
    if (file != NULL) {
        (void)fprintf(file, "%ld\n", atomic_load(&calls));
        (void)fclose(file);
    }
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fdatasync(int fd)
{
    return meets_fd(fd) ? -1 : REAL(fdatasync)(fd);
}

int fsync(int fd)
{
    return meets_fd(fd) ? -1 : REAL(fsync)(fd);
}

ssize_t write(int fd, const void *data, size_t len)
{
    return meets_fd(fd) ? -1 : REAL(write)(fd, data, len);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    return meets_fd(fd) ? -1 : REAL(pwrite)(fd, data, len, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t offset)
{
    return meets_fd(fd) ? -1 : REAL(pwrite64)(fd, data, len, offset);
}

int ftruncate(int fd, off_t len)
{
    return meets_fd(fd) ? -1 : REAL(ftruncate)(fd, len);
}

int ftruncate64(int fd, off64_t len)
{
    return meets_fd(fd) ? -1 : REAL(ftruncate64)(fd, len);
}

int rename(const char *from, const char *to)
{
    return meets() ? -1 : REAL(rename)(from, to);
}

int unlink(const char *path)
{
    return meets() ? -1 : REAL(unlink)(path);
}

int mkdir(const char *path, mode_t mode)
{
    return meets() ? -1 : REAL(mkdir)(path, mode);
}
