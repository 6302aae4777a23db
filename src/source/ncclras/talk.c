/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of the protocol of NCCL's RAS service, line by line:
 *
 *   > CLIENT PROTOCOL 2          < SERVER PROTOCOL 2
 *   > TIMEOUT 5                  < OK
 *   > VERBOSE STATUS             < the report, until the service closes the connection
 *
 * Another version of the protocol is no reason to stop, as for `ncclras`.
 */
#include "base/clock.h"
#include "source/ncclras/priv.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024
#define READ_BYTES ((size_t)16 << 10)

static void close_talk(struct tc__ras_talk *t, enum tc__ras_step step)
{
    if (t->fd >= 0) {
        (void)close(t->fd);
        t->fd = -1;
    }
    t->step = step;
}

static void fail(struct tc__ras_talk *t, const char *why)
{
    (void)snprintf(t->why, sizeof t->why, "%s", why);
    close_talk(t, TC__RAS_FAILED);
}

static void fail_errno(struct tc__ras_talk *t, int error)
{
    char text[128];
    fail(t, strerror_r(error, text, sizeof text));
}

void tc__ras_talk_end(struct tc__ras_talk *t)
{
    close_talk(t, t->step);
    if (t->list != NULL) {
        freeaddrinfo(t->list);
        t->list = NULL;
    }
    tc_grow_fini(&t->got);
}

/* To the next of its addresses; `error` is why the last one did not answer. */
static void connect_next(struct tc__ras_talk *t, int error)
{
    while (t->next != NULL) {
        const struct addrinfo *a = t->next;
        t->next = a->ai_next;
        close_talk(t, TC__RAS_CONNECT);
        t->fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (t->fd < 0 || connect(t->fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS) {
            if (t->fd >= 0) {
                return;
            }
        }
        error = errno;
    }
    if (error == ECONNREFUSED) {
        close_talk(t, TC__RAS_NO_JOB);
    } else {
        fail_errno(t, error);
    }
}

static void begin(struct tc__ras_talk *t)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    t->fd = -1;
    t->step = TC__RAS_CONNECT;
    int error = getaddrinfo(t->at->host, t->at->port, &hints, &t->list);
    if (error != 0) {
        t->list = NULL;
        fail(t, gai_strerror(error));
        return;
    }
    t->next = t->list;
    connect_next(t, ENOENT);
}

/* A line is shorter than any buffer of a socket. */
static void say(struct tc__ras_talk *t, const char *line, enum tc__ras_step next)
{
    ssize_t len = (ssize_t)strlen(line);
    tc_grow_fini(&t->got);
    t->step = next;
    if (send(t->fd, line, (size_t)len, MSG_NOSIGNAL) != len) {
        fail(t, "takes no command");
    }
}

static void connected(struct tc__ras_talk *t)
{
    int error = 0;
    socklen_t len = sizeof error;
    (void)getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error != 0) {
        connect_next(t, error);
    } else {
        say(t, "CLIENT PROTOCOL 2\n", TC__RAS_HELLO);
    }
}

/* The answer to a command, once its line is whole. */
static void answered(struct tc__ras_talk *t, int64_t timeout_ns)
{
    struct tc_slice line = tc_grow_slice(&t->got);
    if (line.len > LINE_MAX_BYTES) {
        fail(t, "answers with something else than NCCL's RAS service does");
        return;
    }
    if (!tc_slice_ends(line, TC_LIT("\n"))) {
        return;
    }
    line = tc_slice_trim(line);
    if (t->step == TC__RAS_HELLO &&
        tc_slice_eq_nocase(tc_slice_head(line, 16), TC_LIT("SERVER PROTOCOL "))) {
        t->is_ras = true;
        char command[48];
        int64_t seconds = timeout_ns / TC_SECOND / 2;
        (void)snprintf(command, sizeof command, "TIMEOUT %lld\n",
                       (long long)(seconds < 1 ? 1 : seconds));
        say(t, command, TC__RAS_TIMEOUT);
    } else if (t->step == TC__RAS_TIMEOUT && tc_slice_eq_nocase(line, TC_LIT("OK"))) {
        say(t, "VERBOSE STATUS\n", TC__RAS_REPORT);
    } else {
        fail(t, "answers with something else than NCCL's RAS service does");
    }
}

static void hear(struct tc__ras_talk *t, int64_t timeout_ns)
{
    char bytes[READ_BYTES];
    ssize_t n = recv(t->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n < 0) {
        fail_errno(t, errno);
        return;
    }
    if (n == 0) {
        if (t->step == TC__RAS_REPORT) {
            close_talk(t, TC__RAS_DONE);
        } else {
            fail(t, "closed the connection");
        }
        return;
    }
    if (tc_grow_slice(&t->got).len + (size_t)n > TC__RAS_ANSWER_MAX) {
        fail(t, "answers with more than 1 MiB");
        return;
    }
    tc_grow_str(&t->got, tc_slice_make(bytes, (size_t)n));
    if (t->got.failed) {
        fail(t, "no memory for its answer");
    } else if (t->step != TC__RAS_REPORT) {
        answered(t, timeout_ns);
    }
}

/* Those that go on; how many. The stop descriptor is behind them. */
static size_t gather(struct tc__ras_talk *talks, size_t count, struct pollfd *fds, size_t *which)
{
    size_t open = 0;
    for (size_t i = 0; i < count; i++) {
        if (talks[i].step < TC__RAS_DONE) {
            short events = talks[i].step == TC__RAS_CONNECT ? POLLOUT : POLLIN;
            which[open] = i;
            fds[open++] = (struct pollfd){.fd = talks[i].fd, .events = events};
        }
    }
    return open;
}

bool tc__ras_talk_all(struct tc__ras_talk *talks, size_t count, int64_t timeout_ns, int stop_fd)
{
    struct pollfd fds[TC_NCCLRAS_TARGETS_MAX + 1];
    size_t which[TC_NCCLRAS_TARGETS_MAX];
    size_t open = 0;
    for (size_t i = 0; i < count; i++) {
        begin(&talks[i]);
    }
    int64_t until_ns = tc_mono_ns() + timeout_ns;
    while ((open = gather(talks, count, fds, which)) > 0) {
        int64_t left_ns = until_ns - tc_mono_ns();
        struct timespec wait = tc_timespec(left_ns > 0 ? left_ns : 0);
        fds[open] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
        (void)ppoll(fds, open + 1, &wait, NULL);
        if (fds[open].revents != 0) {
            return false;
        }
        for (size_t i = 0; i < open; i++) {
            struct tc__ras_talk *t = &talks[which[i]];
            if (left_ns <= 0) {
                fail(t, "gives no report in time");
            } else if (fds[i].revents != 0 && t->step == TC__RAS_CONNECT) {
                connected(t);
            } else if (fds[i].revents != 0) {
                hear(t, timeout_ns);
            }
        }
    }
    return true;
}
