/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "warehouse/daemon/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_CAP ((size_t)64 << 10)
/* A frame, and the beginning of the next. */
#define BYTES_MAX (2 * (TC_WIRE_HEAD_BYTES + TC_WIRE_BODY_MAX))
/* A frame this long is seldom: its memory is not kept. */
#define KEEP_CAP ((size_t)4 << 20)
/* A daemon whose queue of connections is full is asked again after this, so often. */
#define FULL_WAIT_US 10000
#define FULL_TRIES 200
/* For the other side to take a frame when we are about to leave. */
#define LEAVE_GRACE TC_SECOND

static tc_status fail_errno(struct tc_error *err, const char *what)
{
    char text[128];
    return tc_fail(err, TC_E_IO, 0, "the warehouse's socket: %s: %s", what,
                   strerror_r(errno, text, sizeof text));
}

/* ---- frames ---- */

void tc_wire_link_fini(struct tc_wire_link *l)
{
    if (l->fd >= 0) {
        (void)close(l->fd);
    }
    free(l->in);
    *l = (struct tc_wire_link){.fd = -1, .wake_fd = -1};
}

/* Waits until the socket can be used. TC_E_LIMIT: woken up. */
static tc_status wait_for(const struct tc_wire_link *l, short events, bool may_wake,
                          int64_t until_ns, struct tc_error *err)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = l->fd, .events = events},
                                {.fd = may_wake ? l->wake_fd : -1, .events = POLLIN}};
        int wait_ms = -1;
        if (until_ns != 0) {
            int64_t left_ms = (until_ns - tc_mono_ns()) / 1000000;
            wait_ms = left_ms < 0 ? 0 : left_ms > 60000 ? 60000 : (int)left_ms + 1;
        }
        int ready = poll(fds, 2, wait_ms);
        if (ready < 0 && errno != EINTR) {
            return fail_errno(err, "cannot be waited for");
        }
        if (ready > 0 && (fds[1].revents & POLLIN) != 0) {
            return tc_fail(err, TC_E_LIMIT, 0, "interrupted");
        }
        if (ready > 0 && fds[0].revents != 0) {
            return TC_OK;
        }
        if (ready == 0 && until_ns != 0 && tc_mono_ns() >= until_ns) {
            return tc_fail(err, TC_E_IO, 0, "the warehouse's socket: no answer in time");
        }
    }
}

/* Room for more, at most twice of what came already: what is announced only costs nothing. */
static tc_status make_room(struct tc_wire_link *l, struct tc_error *err)
{
    return tc_grow_items(l->in, l->cap, l->have == 0 ? FIRST_CAP : l->have + 1, BYTES_MAX) == TC_OK
               ? TC_OK
               : tc_fail(err, TC_E_NOMEM, 0, "no memory for a message of more than %zu bytes",
                         l->have);
}

/* The frame that was given out is over. */
static void forget_given(struct tc_wire_link *l)
{
    size_t rest = l->have - l->given;
    if (l->given > 0 && rest > 0) {
        memmove(l->in, l->in + l->given, rest);
    }
    l->have = rest;
    l->given = 0;
    if (l->cap > KEEP_CAP && l->have == 0) {
        free(l->in);
        l->in = NULL;
        l->cap = 0;
    }
}

static tc_status read_some(struct tc_wire_link *l, struct tc_error *err)
{
    ssize_t n = recv(l->fd, l->in + l->have, l->cap - l->have, MSG_DONTWAIT);
    if (n > 0) {
        l->have += (size_t)n;
        return TC_OK;
    }
    if (n < 0) {
        bool again = errno == EAGAIN || errno == EINTR;
        return again ? TC_OK : fail_errno(err, "cannot be read");
    }
    return l->have == 0
               ? tc_fail(err, TC_E_NOTFOUND, 0, "the warehouse's socket: closed by the other side")
               : tc_fail(err, TC_E_IO, 0,
                         "the warehouse's socket: closed by the other side in a message");
}

tc_status tc_wire_read(struct tc_wire_link *l, int64_t timeout_ns, enum tc_wire_kind *out_kind,
                       struct tc_slice *out_body, struct tc_error *err)
{
    int64_t until_ns = timeout_ns == 0 ? 0 : tc_mono_ns() + timeout_ns;
    forget_given(l);
    for (;;) {
        size_t want = TC_WIRE_HEAD_BYTES;
        uint32_t head[2] = {0, 0};
        if (l->have >= TC_WIRE_HEAD_BYTES) {
            memcpy(head, l->in, sizeof head);
            if (head[0] > TC_WIRE_BODY_MAX) {
                return tc_fail(err, TC_E_MALFORMED, 0,
                               "the warehouse's socket: a message of %u bytes, more than %zu",
                               head[0], TC_WIRE_BODY_MAX);
            }
            want += head[0];
            if (l->have >= want) {
                *out_kind = (enum tc_wire_kind)head[1];
                *out_body = tc_slice_make(l->in + TC_WIRE_HEAD_BYTES, head[0]);
                l->given = want;
                return TC_OK;
            }
        }
        TC_TRY(make_room(l, err));
        TC_TRY(wait_for(l, POLLIN, true, until_ns, err));
        TC_TRY(read_some(l, err));
    }
}

tc_status tc_wire_write(struct tc_wire_link *l, const struct tc_wire_out *frame, int64_t timeout_ns,
                        struct tc_error *err)
{
    size_t done = 0;
    bool leaving = false;
    int64_t until_ns = tc_mono_ns() + timeout_ns;
    while (done < frame->len) {
        ssize_t n = send(l->fd, frame->data + done, frame->len - done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) {
            done += (size_t)n;
            until_ns = leaving ? until_ns : tc_mono_ns() + timeout_ns;
            continue;
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return fail_errno(err, "cannot be written to");
        }
        tc_status status = wait_for(l, POLLOUT, l->leaves && !leaving, until_ns, err);
        if (status == TC_E_LIMIT) {
            leaving = true;
            until_ns = tc_mono_ns() + (timeout_ns < LEAVE_GRACE ? timeout_ns : LEAVE_GRACE);
            continue;
        }
        TC_TRY(status);
    }
    return TC_OK;
}

struct tc_slice tc_wire_pending(const struct tc_wire_link *l)
{
    return tc_slice_from(tc_slice_make(l->in, l->have), l->given);
}

bool tc_wire_is_bare(struct tc_slice bytes, enum tc_wire_kind kind)
{
    uint32_t head[2] = {0, 0};
    if (bytes.len < sizeof head) {
        return false;
    }
    memcpy(head, bytes.ptr, sizeof head);
    return head[0] == 0 && head[1] == (uint32_t)kind;
}

/* ---- the address ---- */

/* *out_dir_fd must stay open while the address is used; -1: not needed. */
static tc_status make_address(const char *data_dir, struct sockaddr_un *out, int *out_dir_fd,
                              struct tc_error *err)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    *out_dir_fd = -1;
    int len = snprintf(out->sun_path, sizeof out->sun_path, "%s/%s", data_dir, TC_WIRE_SOCKET);
    if (len >= 0 && (size_t)len < sizeof out->sun_path) {
        return TC_OK;
    }
    int fd = open(data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        tc_status status = errno == ENOENT || errno == ENOTDIR ? TC_E_NOTFOUND : TC_E_IO;
        char text[128];
        return tc_fail(err, status, 0, "%s: %s", data_dir, strerror_r(errno, text, sizeof text));
    }
    (void)snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d/%s", fd, TC_WIRE_SOCKET);
    *out_dir_fd = fd;
    return TC_OK;
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

static int connect_patiently(int fd, const struct sockaddr_un *address)
{
    for (unsigned i = 0; i < FULL_TRIES; i++) {
        if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0) {
            return 0;
        }
        if (errno != EAGAIN && errno != EINTR) {
            return errno;
        }
        (void)poll(NULL, 0, FULL_WAIT_US / 1000);
    }
    return EAGAIN;
}

tc_status tc_wire_connect(const char *data_dir, int *out_fd, struct tc_error *err)
{
    struct sockaddr_un address;
    int dir_fd = -1;
    TC_TRY(make_address(data_dir, &address, &dir_fd, err));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int code = fd < 0 ? errno : connect_patiently(fd, &address);
    close_fd(dir_fd);
    if (code == 0) {
        *out_fd = fd;
        return TC_OK;
    }
    close_fd(fd);
    bool none = code == ENOENT || code == ECONNREFUSED || code == ENOTDIR || code == ENOTSOCK ||
                code == EPROTOTYPE;
    char text[128];
    return tc_fail(err, none ? TC_E_NOTFOUND : TC_E_IO, 0, "%s/%s: %s", data_dir, TC_WIRE_SOCKET,
                   strerror_r(code, text, sizeof text));
}

tc_status tc_wire_listen(const char *data_dir, int backlog, int *out_fd, struct tc_error *err)
{
    struct sockaddr_un address;
    int dir_fd = -1;
    TC_TRY(make_address(data_dir, &address, &dir_fd, err));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* Before anybody can connect it belongs to us alone: the mode is set between bind and listen.
     */
    bool ok = fd >= 0 && (unlink(address.sun_path) == 0 || errno == ENOENT) &&
              bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
              chmod(address.sun_path, 0600) == 0 && listen(fd, backlog) == 0;
    int code = errno;
    close_fd(dir_fd);
    if (ok) {
        *out_fd = fd;
        return TC_OK;
    }
    close_fd(fd);
    char text[128];
    return tc_fail(err, TC_E_IO, 0, "%s/%s: cannot listen: %s", data_dir, TC_WIRE_SOCKET,
                   strerror_r(code, text, sizeof text));
}

void tc_wire_unlink(const char *data_dir)
{
    struct sockaddr_un address;
    int dir_fd = -1;
    if (make_address(data_dir, &address, &dir_fd, NULL) == TC_OK) {
        (void)unlink(address.sun_path);
        close_fd(dir_fd);
    }
}
