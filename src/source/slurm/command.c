/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One command, without a shell, in a process group of its own: whatever it starts ends with it.
 */
#include "base/clock.h"
#include "source/slurm/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What is shown of what it says on standard error. */
#define COMPLAINT_MAX 300
#define READ_BYTES ((size_t)16 << 10)
#define VALUE_MAX 4096

/* Of our environment a command gets what it needs to find its libraries and Slurm. */
static const char *const PASSED[] = {"PATH", "LD_LIBRARY_PATH", "SLURM_CONF", "SLURM_CLUSTERS"};

struct environment {
    char values[TC_COUNT(PASSED)][VALUE_MAX];
    char *list[TC_COUNT(PASSED) + 4];
};

/* Dates in UTC and in the form of ISO 8601, messages in English, whatever this host is set to. */
static void make_environment(struct environment *e)
{
    static char zone[] = "TZ=UTC";
    static char form[] = "SLURM_TIME_FORMAT=standard";
    static char language[] = "LC_ALL=C";
    size_t count = 0;
    e->list[count++] = zone;
    e->list[count++] = form;
    e->list[count++] = language;
    for (size_t i = 0; i < TC_COUNT(PASSED); i++) {
        const char *value = getenv(PASSED[i]);
        int n = value == NULL ? -1 : snprintf(e->values[i], VALUE_MAX, "%s=%s", PASSED[i], value);
        if (n > 0 && n < VALUE_MAX) {
            e->list[count++] = e->values[i];
        }
    }
    e->list[count] = NULL;
}

struct running {
    pid_t pid;
    int pid_fd; /* readable once it has ended */
    int out;
    int err;
    char complaint[COMPLAINT_MAX];
    size_t complaint_len;
};

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static int spawn_with(const char *const *args, int out, int err, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    struct environment env;
    sigset_t none;
    sigset_t all;
    char *argv[TC__COMMAND_ARGS_MAX];
    size_t count = 0;
    for (; count + 1 < TC__COMMAND_ARGS_MAX && args[count] != NULL; count++) {
        memcpy(&argv[count], &args[count], sizeof argv[0]);
    }
    argv[count] = NULL;
    make_environment(&env);
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return ENOMEM;
    }
    if (posix_spawnattr_init(&attr) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    int failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    failed |= posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    failed |= posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    failed |= posix_spawnattr_setpgroup(&attr, 0);
    failed |= posix_spawnattr_setsigmask(&attr, &none);
    failed |= posix_spawnattr_setsigdefault(&attr, &all);
    failed |= posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                  POSIX_SPAWN_SETSIGDEF);
    int error = failed != 0 ? ENOMEM : posix_spawnp(pid, argv[0], &actions, &attr, argv, env.list);
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* The error, or 0. */
static int start(const char *const *args, struct running *r)
{
    int out[2] = {-1, -1};
    int err[2] = {-1, -1};
    *r = (struct running){.pid_fd = -1, .out = -1, .err = -1};
    int error = pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 ? errno : 0;
    error = error == 0 ? spawn_with(args, out[1], err[1], &r->pid) : error;
    close_fd(&out[1]);
    close_fd(&err[1]);
    if (error != 0) {
        close_fd(&out[0]);
        close_fd(&err[0]);
        return error;
    }
    r->out = out[0];
    r->err = err[0];
    (void)fcntl(r->out, F_SETFL, O_NONBLOCK);
    (void)fcntl(r->err, F_SETFL, O_NONBLOCK);
    r->pid_fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    return r->pid_fd < 0 ? errno : 0;
}

/* All that there is now; TC_E_LIMIT when it is too much. */
static tc_status read_out(struct running *r, size_t max, struct tc_grow *out)
{
    while (r->out >= 0) {
        if (!tc_grow_room(out, READ_BYTES)) {
            return TC_E_NOMEM;
        }
        char bytes[READ_BYTES];
        ssize_t n = read(r->out, bytes, sizeof bytes);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return TC_OK;
        }
        if (n <= 0) {
            close_fd(&r->out);
            return TC_OK;
        }
        if (tc_grow_slice(out).len + (size_t)n > max) {
            return TC_E_LIMIT;
        }
        tc_grow_str(out, tc_slice_make(bytes, (size_t)n));
    }
    return TC_OK;
}

/* Its beginning is kept; a read at a time, so that an endless one takes no more than its turn. */
static void read_complaint(struct running *r)
{
    char bytes[1024];
    ssize_t n = r->err < 0 ? -1 : read(r->err, bytes, sizeof bytes);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        close_fd(&r->err);
    }
    for (ssize_t i = 0; i < n && r->complaint_len + 1 < sizeof r->complaint; i++) {
        bool is_text = bytes[i] >= ' ' && bytes[i] < 0x7f;
        r->complaint[r->complaint_len++] = is_text ? bytes[i] : ' ';
    }
}

/* Until it has ended: TC_OK. TC_E_AGAIN: the daemon ends. */
static tc_status follow(struct running *r, const struct tc__command *c, struct tc_grow *out,
                        struct tc_error *err)
{
    int64_t until_ns = tc_mono_ns() + c->timeout_ns;
    for (;;) {
        int64_t left_ns = until_ns - tc_mono_ns();
        struct pollfd fds[] = {{.fd = r->out, .events = POLLIN},
                               {.fd = r->err, .events = POLLIN},
                               {.fd = r->pid_fd, .events = POLLIN},
                               {.fd = c->stop_fd, .events = POLLIN}};
        if (left_ns <= 0) {
            return tc_fail(err, TC_E_IO, 0, "%s: no end after %lld ms: killed", c->args[0],
                           (long long)(c->timeout_ns / 1000000));
        }
        struct timespec wait = tc_timespec(left_ns);
        (void)ppoll(fds, TC_COUNT(fds), &wait, NULL);
        if (fds[3].revents != 0) {
            return TC_E_AGAIN;
        }
        read_complaint(r);
        tc_status status = read_out(r, c->bytes_max, out);
        if (status != TC_OK) {
            return tc_fail(err, status, 0, "%s: %s", c->args[0],
                           status == TC_E_LIMIT ? "prints too much: killed" : "no memory");
        }
        if (fds[2].revents != 0) {
            return TC_OK;
        }
    }
}

/* Ends it and all that it started: its number cannot be another's before it was waited for. */
static int finish(struct running *r)
{
    int status = 0;
    (void)kill(-r->pid, SIGKILL);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR) {
    }
    close_fd(&r->out);
    close_fd(&r->err);
    close_fd(&r->pid_fd);
    return status;
}

static tc_status judge(const struct running *r, const char *name, int status, struct tc_error *err)
{
    struct tc_slice said = tc_slice_trim(tc_slice_make(r->complaint, r->complaint_len));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return TC_OK;
    }
    bool is_signal = WIFSIGNALED(status);
    return tc_fail(
        err, TC_E_IO, 0, "%s: ended with %s %d%s%.*s", name, is_signal ? "signal" : "status",
        is_signal ? WTERMSIG(status) : WEXITSTATUS(status), said.len > 0 ? ": " : "", TC_FMT(said));
}

tc_status tc__command_run(const struct tc__command *c, struct tc_grow *out, struct tc_error *err)
{
    struct running r;
    char text[128];
    int error = start(c->args, &r);
    if (error != 0) {
        if (r.pid > 0) {
            (void)finish(&r);
        }
        return tc_fail(err, TC_E_IO, 0, "%s: %s", c->args[0], strerror_r(error, text, sizeof text));
    }
    tc_status status = follow(&r, c, out, err);
    int ended = finish(&r);
    return status == TC_OK ? judge(&r, c->args[0], ended, err) : status;
}

bool tc__command_is_there(const char *name)
{
    char path[VALUE_MAX];
    if (strchr(name, '/') != NULL) {
        return access(name, X_OK) == 0;
    }
    for (struct tc_slice rest = tc_slice_cstr(getenv("PATH")); rest.len > 0;) {
        struct tc_slice folder = tc_slice_cut(rest, ':', &rest);
        int n = snprintf(path, sizeof path, "%.*s/%s", TC_FMT(folder), name);
        if (folder.len > 0 && n > 0 && (size_t)n < sizeof path && access(path, X_OK) == 0) {
            return true;
        }
    }
    return false;
}
