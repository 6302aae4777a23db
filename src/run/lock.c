/* SPDX-License-Identifier: Apache-2.0 */
#include "run/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 4096
/* How long another import is waited for: a minute. */
#define LOCK_PAUSE_NS 20000000
#define LOCK_TRIES 3000

tc_status tc_runs_lock(const char *data_dir, int *out_fd, struct tc_error *err)
{
    char path[PATH_BYTES];
    char text[128];
    int len = snprintf(path, sizeof path, "%s/runs.lock", data_dir);
    int fd = len > 0 && (size_t)len < sizeof path
                 ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : -1;
    if (fd < 0) {
        return tc_fail(err, TC_E_IO, 0, "%s: cannot be opened: %s", path,
                       strerror_r(errno, text, sizeof text));
    }
    for (unsigned tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
        if ((errno != EWOULDBLOCK && errno != EINTR) || tries == LOCK_TRIES) {
            (void)close(fd);
            return tc_fail(err, TC_E_IO, 0, "%s: another import is still writing; try again later",
                           path);
        }
        (void)nanosleep(&pause, NULL);
    }
    *out_fd = fd;
    return TC_OK;
}
