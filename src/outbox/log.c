/* SPDX-License-Identifier: Apache-2.0 */
/* The log as a file: found, walked, appended to. */
#include "base/assert.h"
#include "outbox/outbox_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Holds the largest record whole. */
#define SCAN_BYTES (TC_OUTBOX_RECORD_MAX + ((size_t)64 << 10))

/* ---- walking ------------------------------------------------------------------------------- */

tc_status tc__outbox_scan_init(struct tc__outbox_scan *s)
{
    *s = (struct tc__outbox_scan){.fd = -1, .buf = malloc(SCAN_BYTES)};
    return s->buf == NULL ? TC_E_NOMEM : TC_OK;
}

void tc__outbox_scan_fini(struct tc__outbox_scan *s)
{
    free(s->buf);
    s->buf = NULL;
}

void tc__outbox_scan_begin(struct tc__outbox_scan *s, int fd, uint64_t at, uint64_t end)
{
    s->fd = fd;
    s->at = at;
    s->end = end;
    s->base = at;
    s->have = 0;
    s->newer = 0;
    s->bad = false;
    s->damaged = 0;
}

/* Makes buf begin at `at` and hold as much as there is room for. */
static tc_status refill(struct tc__outbox_scan *s)
{
    size_t skip = (size_t)(s->at - s->base);
    TC_ASSERT(skip <= s->have);
    memmove(s->buf, s->buf + skip, s->have - skip);
    s->base = s->at;
    s->have -= skip;
    while (s->have < SCAN_BYTES && s->base + s->have < s->end) {
        uint64_t left = s->end - s->base - s->have;
        size_t room = SCAN_BYTES - s->have;
        ssize_t n = pread(s->fd, s->buf + s->have, left < room ? (size_t)left : room,
                          (off_t)(s->base + s->have));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return TC_E_IO;
        }
        if (n == 0) {
            s->end = s->base + s->have; /* shorter than was said: torn there */
        }
        s->have += (size_t)n;
    }
    return TC_OK;
}

static void pass_over(struct tc__outbox_scan *s, size_t len)
{
    if (!s->bad) {
        s->bad = true;
        s->bad_at = s->at;
    }
    s->at += len;
}

bool tc__outbox_scan_next(struct tc__outbox_scan *s, struct tc__record *out, tc_status *out_status)
{
    *out_status = TC_OK;
    while (s->at < s->end) {
        struct tc_slice rest =
            tc_slice_make(s->buf + (s->at - s->base), s->have - (size_t)(s->at - s->base));
        bool all = s->base + s->have >= s->end;
        enum tc__record_found found = rest.len == 0 ? TC__RECORD_TORN : tc__record_read(rest, out);
        if (found == TC__RECORD_TORN && !all) {
            *out_status = refill(s);
            if (*out_status != TC_OK) {
                return false;
            }
            continue;
        }
        if (found == TC__RECORD_GOOD) {
            s->damaged += s->bad;
            s->bad = false;
            out->at = s->at;
            s->at += out->len;
            return true;
        }
        s->newer = found == TC__RECORD_NONE ? tc__record_newer(rest) : 0;
        if (s->newer > 0) {
            *out_status = TC_E_UNSUPPORTED;
            return false;
        }
        pass_over(s, found == TC__RECORD_SPOILED ? out->len
                     : found == TC__RECORD_TORN  ? rest.len
                                                 : tc__record_seek(rest));
    }
    return false;
}

/* ---- files --------------------------------------------------------------------------------- */

void tc__log_name(char *out, uint64_t seq, const char *suffix)
{
    (void)snprintf(out, TC__LOG_NAME_MAX, "%08" PRIu64 ".%s", seq, suffix);
}

/* The number of a log's name; false for other files. */
static bool parse_name(const char *name, uint64_t *out_seq, bool *out_unfinished)
{
    struct tc_slice rest;
    struct tc_slice number = tc_slice_cut(tc_slice_cstr(name), '.', &rest);
    *out_unfinished = tc_slice_eq(rest, TC_LIT("tmp"));
    return tc_slice_is_u64(number, out_seq) &&
           (*out_unfinished || tc_slice_eq(rest, TC_LIT("log")));
}

/* The newest log is whole: it got its name when it was. Others are what a crash left behind. */
static tc_status choose(int dir_fd, bool take_away, uint64_t *io_newest)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return TC_E_IO;
    }
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        uint64_t seq = 0;
        bool unfinished = false;
        if (!parse_name(e->d_name, &seq, &unfinished)) {
            continue;
        }
        if (take_away && (unfinished || seq < *io_newest)) {
            (void)unlinkat(dir_fd, e->d_name, 0);
        } else if (!unfinished && seq > *io_newest) {
            *io_newest = seq;
        }
    }
    (void)closedir(dir);
    return TC_OK;
}

/* That the newest log begins with a record that this program can read, or with none. */
static tc_status check_version(int dir_fd, uint64_t newest, const char *dir, struct tc_error *err)
{
    char name[TC__LOG_NAME_MAX];
    char bytes[TC__RECORD_HEAD_BYTES];
    tc__log_name(name, newest, "log");
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : pread(fd, bytes, sizeof bytes, 0);
    if (fd >= 0) {
        (void)close(fd);
    }
    unsigned version = n < 0 ? 0 : tc__record_newer(tc_slice_make(bytes, (size_t)n));
    return version == 0 ? TC_OK : tc__log_refuse(dir, newest, version, err);
}

tc_status tc__log_refuse(const char *dir, uint64_t seq, unsigned version, struct tc_error *err)
{
    char name[TC__LOG_NAME_MAX];
    tc__log_name(name, seq, "log");
    return tc_fail(err, TC_E_UNSUPPORTED, 0,
                   "%s/%s: format version %u, this program knows up to 2: use a newer tracecore, "
                   "or another data_dir",
                   dir, name, version);
}

tc_status tc_outbox_check_version(const char *dir, struct tc_error *err)
{
    uint64_t newest = 0;
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0) {
        return TC_OK; /* there is none yet, or opening the outbox says what is wrong */
    }
    tc_status status = TC_OK;
    if (choose(dir_fd, false, &newest) == TC_OK && newest > 0) {
        status = check_version(dir_fd, newest, dir, err);
    }
    (void)close(dir_fd);
    return status;
}

static tc_status open_newest(struct tc__log *log, const struct tc_outbox_io *io, const char *dir,
                             struct tc_error *err)
{
    uint64_t newest = 0;
    if (choose(log->dir_fd, false, &newest) != TC_OK ||
        choose(log->dir_fd, true, &newest) != TC_OK) {
        return tc_fail(err, TC_E_IO, 0, "%s: cannot be read: %s", dir, strerror(errno));
    }
    log->seq = newest == 0 ? 1 : newest;
    char name[TC__LOG_NAME_MAX];
    tc__log_name(name, log->seq, "log");
    log->fd = openat(log->dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat st;
    if (log->fd < 0 || fstat(log->fd, &st) != 0 || (newest == 0 && io->sync(log->dir_fd) != 0)) {
        return tc_fail(err, TC_E_IO, 0, "%s/%s: cannot be opened: %s", dir, name, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return tc_fail(err, TC_E_IO, 0, "%s/%s: is no file; take it away", dir, name);
    }
    log->end = (uint64_t)st.st_size;
    log->size = log->end;
    return TC_OK;
}

tc_status tc__log_open(struct tc__log *log, const struct tc_outbox_io *io, const char *dir,
                       struct tc_error *err)
{
    *log = (struct tc__log){.dir_fd = -1, .fd = -1};
    if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
        return tc_fail(err, TC_E_IO, 0, "%s: cannot be made: %s; is data_dir writable?", dir,
                       strerror(errno));
    }
    log->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (log->dir_fd < 0) {
        return tc_fail(err, TC_E_IO, 0, "%s: %s", dir, strerror(errno));
    }
    tc_status status = open_newest(log, io, dir, err);
    if (status != TC_OK) {
        tc__log_close(log);
    }
    return status;
}

void tc__log_close(struct tc__log *log)
{
    if (log->fd >= 0) {
        if (log->size > log->end && ftruncate(log->fd, (off_t)log->end) == 0) {
            log->size = log->end;
        }
        (void)close(log->fd);
    }
    if (log->dir_fd >= 0) {
        (void)close(log->dir_fd);
    }
    log->fd = -1;
    log->dir_fd = -1;
}

tc_status tc__log_append(struct tc__log *log, const struct tc_outbox_io *io, struct tc_slice bytes,
                         bool durable, struct tc_error *err)
{
    for (size_t done = 0; done < bytes.len;) {
        ssize_t n =
            io->pwrite(log->fd, bytes.ptr + done, bytes.len - done, (off_t)(log->end + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            int code = n == 0 ? ENOSPC : errno;
            /* What is behind the end is cut at the next start in any case. */
            (void)!ftruncate(log->fd, (off_t)log->end);
            return tc_fail(err, TC_E_IO, 0, "the log cannot be written: %s", strerror(code));
        }
        done += (size_t)n;
    }
    if (durable && io->sync(log->fd) != 0) {
        /* Written again by the next try: after a failed sync the kernel may have given up on it. */
        return tc_fail(err, TC_E_IO, 0, "the log cannot be synced: %s", strerror(errno));
    }
    log->end += bytes.len;
    log->size = log->end > log->size ? log->end : log->size;
    return TC_OK;
}

bool tc__log_prepare(struct tc__log *log, const struct tc_outbox_io *io, char *scratch)
{
    if (log->size - log->end > TC__LOG_AHEAD / 2) {
        return true;
    }
    size_t left = (size_t)(log->end + TC__LOG_AHEAD - log->size);
    memset(scratch, 0, left);
    while (left > 0) {
        ssize_t n = io->pwrite(log->fd, scratch, left, (off_t)log->size);
        if (n <= 0) {
            return n < 0 && errno == EINTR;
        }
        log->size += (uint64_t)n;
        left -= (size_t)n;
    }
    return io->sync(log->fd) == 0;
}

tc_status tc__log_content_end(const struct tc__log *log, uint64_t from, uint64_t *out_end)
{
    char buf[4096];
    uint64_t end = from;
    for (uint64_t at = from; at < log->size;) {
        ssize_t n = pread(log->fd, buf, sizeof buf, (off_t)at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return TC_E_IO;
        }
        if (n == 0) {
            break;
        }
        for (size_t i = 0; i < (size_t)n; i++) {
            end = buf[i] != 0 ? at + i + 1 : end;
        }
        at += (uint64_t)n;
    }
    *out_end = end;
    return TC_OK;
}
