/* SPDX-License-Identifier: Apache-2.0 */
/* One tool's output, or one file, into a capture. */
#include "base/assert.h"
#include "base/clock.h"
#include "base/slice.h"
#include "base/table/grow.h"
#include "cli/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
    return tc_mono_ns() / 1000000;
}

static void say(struct tc_capture *to, const char *what)
{
    (void)snprintf(to->error, sizeof to->error, "%s", what);
}

/* Up to the end of it, the limit, or the deadline (-1: none). False when time is up. */
static bool drain(struct tc_capture *to, int fd, int64_t deadline_ms)
{
    size_t cap = 0;
    while (tc_grow_items(to->bytes, cap, to->len + 1, TC_PROBE_BYTES_MAX) == TC_OK) {
        int64_t left = deadline_ms < 0 ? 0 : deadline_ms - now_ms();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (deadline_ms >= 0 && (left <= 0 || poll(&p, 1, (int)left) == 0)) {
            return false;
        }
        ssize_t n = read(fd, to->bytes + to->len, cap - to->len);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        to->len += (size_t)n;
    }
    return true;
}

static void drop(struct tc_capture *to)
{
    free(to->bytes);
    to->bytes = NULL;
    to->len = 0;
}

void tc_probe_read(struct tc_capture *to, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        say(to, errno == ENOENT ? "not there" : strerror(errno));
        return;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        say(to, "not a regular file");
    } else {
        (void)drain(to, fd, -1);
        if (to->len == 0) {
            drop(to);
            say(to, "empty");
        }
    }
    (void)close(fd);
}

static bool start(const char *const *argv, int out, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    char *args[16];
    size_t n = 0;
    TC_ASSERT(argv[0] != NULL);
    while (argv[n] != NULL && n < 15) {
        memcpy(&args[n], &argv[n], sizeof args[n]);
        n++;
    }
    args[n] = NULL;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        errno = ENOMEM;
        return false;
    }
    int failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    failed |= posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    failed |= posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = failed != 0 ? ENOMEM : posix_spawnp(pid, args[0], &actions, NULL, args, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    errno = error;
    return error == 0;
}

/* How it ended; kills what still runs. */
static int finish(pid_t pid, int64_t deadline_ms)
{
    int status = 0;
    const struct timespec pause = {.tv_nsec = 10000000};
    for (;;) {
        pid_t done = waitpid(pid, &status, WNOHANG);
        if (done == pid) {
            return status;
        }
        if ((done < 0 && errno != EINTR) || now_ms() >= deadline_ms) {
            (void)kill(pid, SIGKILL);
            (void)waitpid(pid, &status, 0);
            return -1;
        }
        (void)nanosleep(&pause, NULL);
    }
}

void tc_probe_run(struct tc_capture *to, const char *const *argv, int seconds)
{
    int ends[2];
    pid_t pid = 0;
    int64_t deadline = now_ms() + (int64_t)seconds * 1000;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        say(to, strerror(errno));
        return;
    }
    if (!start(argv, ends[1], &pid)) {
        say(to, errno == ENOENT ? "not installed" : strerror(errno));
        (void)close(ends[0]);
        (void)close(ends[1]);
        return;
    }
    (void)close(ends[1]);
    bool in_time = drain(to, ends[0], deadline);
    (void)close(ends[0]);
    int status = finish(pid, in_time ? deadline : 0);
    if (!in_time || status < 0) {
        (void)snprintf(to->error, sizeof to->error, "took longer than %d s", seconds);
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        say(to, "not installed");
    } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        (void)snprintf(to->error, sizeof to->error, "ended with status %d",
                       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    } else if (to->len == 0) {
        say(to, "said nothing");
    }
    if (to->error[0] != '\0') {
        drop(to);
    }
}
