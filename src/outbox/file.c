/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NDJSON file. A regular file gets each group with one write and is cut back when that fails; a
 * stream (standard output, a FIFO) takes what it can and goes on later. It is looked for anew
 * before each group, so that moving it away is all a rotation needs.
 */
#include "outbox/outbox_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe that polls as writable takes this much without blocking. */
#define STREAM_CHUNK 4096
#define STREAM_WAIT_MS 100

void tc__file_init(struct tc__file *f)
{
    *f = (struct tc__file){.fd = -1};
}

void tc__file_close(struct tc__file *f)
{
    if (f->fd > STDERR_FILENO) {
        (void)close(f->fd);
    }
    f->fd = -1;
}

static tc_status refuse(const struct tc__file *f, const char *what, int code, struct tc_error *err)
{
    return tc_fail(err, TC_E_IO, 0, "%s: cannot be %s: %s", f->path, what, strerror(code));
}

bool tc__file_is_current(const struct tc__file *f)
{
    struct stat st;
    return f->fd >= 0 && (strcmp(f->path, "-") == 0 ||
                          (stat(f->path, &st) == 0 && (uint64_t)st.st_dev == f->dev &&
                           (uint64_t)st.st_ino == f->ino));
}

bool tc__file_shrank(struct tc__file *f)
{
    struct stat st;
    bool shrank =
        f->fd >= 0 && f->regular && fstat(f->fd, &st) == 0 && (uint64_t)st.st_size < f->size;
    if (shrank) {
        f->size = (uint64_t)st.st_size;
    }
    return shrank;
}

tc_status tc__file_open(struct tc__file *f, struct tc_error *err)
{
    if (tc__file_is_current(f)) {
        return TC_OK;
    }
    tc__file_close(f);
    f->partial = 0;
    f->readable = false;
    if (strcmp(f->path, "-") == 0) {
        f->fd = STDOUT_FILENO;
    } else {
        f->fd =
            open(f->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
        f->readable = f->fd >= 0;
        if (f->fd < 0 && errno == EACCES) {
            f->fd = open(f->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        }
    }
    struct stat st;
    if (f->fd < 0 || fstat(f->fd, &st) != 0) {
        return refuse(f, "opened", errno, err);
    }
    f->dev = (uint64_t)st.st_dev;
    f->ino = (uint64_t)st.st_ino;
    f->size = (uint64_t)st.st_size;
    f->regular = S_ISREG(st.st_mode);
    char last = '\n';
    f->needs_end = f->regular && f->readable && f->size > 0 &&
                   pread(f->fd, &last, 1, st.st_size - 1) == 1 && last != '\n';
    return TC_OK;
}

/* Takes what a failed write left of a group away again. */
static void cut_back(struct tc__file *f, uint64_t before, size_t written)
{
    struct stat st;
    if (written == 0) {
        return;
    }
    bool alone = fstat(f->fd, &st) == 0 && (uint64_t)st.st_size == before + written;
    if (!alone || ftruncate(f->fd, (off_t)before) != 0) {
        f->needs_end = true; /* a torn line stays: it gets an end at least */
    }
}

static tc_status append_regular(struct tc__file *f, const struct tc_outbox_io *io,
                                struct tc_slice lines, struct tc_error *err)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0) {
        return refuse(f, "written", errno, err);
    }
    if (f->needs_end && io->write(f->fd, "\n", 1) != 1) {
        return refuse(f, "written", errno, err);
    }
    uint64_t before = (uint64_t)st.st_size + f->needs_end;
    f->needs_end = false;
    for (size_t done = 0; done < lines.len;) {
        ssize_t n = io->write(f->fd, lines.ptr + done, lines.len - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            int code = n == 0 ? ENOSPC : errno;
            cut_back(f, before, done);
            return refuse(f, "written", code, err);
        }
        done += (size_t)n;
    }
    f->size = before + lines.len;
    return TC_OK;
}

static tc_status append_stream(struct tc__file *f, const struct tc_outbox_io *io,
                               struct tc_slice lines, struct tc_error *err)
{
    while (f->partial < lines.len) {
        struct pollfd ready = {.fd = f->fd, .events = POLLOUT};
        int count = poll(&ready, 1, STREAM_WAIT_MS);
        if (count == 0) {
            return tc_fail(err, TC_E_IO, 0, "%s: its reader does not read", f->path);
        }
        size_t left = lines.len - f->partial;
        size_t chunk = left < STREAM_CHUNK ? left : STREAM_CHUNK;
        ssize_t n = count < 0 ? -1 : io->write(f->fd, lines.ptr + f->partial, chunk);
        if (n < 0 && errno != EINTR && errno != EAGAIN) {
            return refuse(f, "written", errno, err);
        }
        f->partial += n > 0 ? (size_t)n : 0;
    }
    f->partial = 0;
    return TC_OK;
}

tc_status tc__file_append(struct tc__file *f, const struct tc_outbox_io *io, struct tc_slice lines,
                          struct tc_error *err)
{
    return f->regular ? append_regular(f, io, lines, err) : append_stream(f, io, lines, err);
}

tc_status tc__file_sync(struct tc__file *f, const struct tc_outbox_io *io, struct tc_error *err)
{
    if (f->regular && io->sync(f->fd) != 0) {
        return refuse(f, "synced", errno, err);
    }
    return TC_OK;
}
