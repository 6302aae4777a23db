/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a crash the last cursor may be older than the file: some lines are there already, and the
 * last may be torn. This finds out which, so that each verdict is in the file once, also when the
 * file was renamed or emptied since.
 */
#include "observe/log.h"
#include "outbox/outbox_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* When it is not known where the lines begin, this much of the end of a file is looked at. */
#define TAIL_MAX ((uint64_t)64 << 20)
/* A renamed file is looked for among so many names. */
#define NAMES_MAX 65536
/* A longer line is none of ours. */
#define LINE_ROOM (TC_OUTBOX_RECORD_MAX + 1)

/* Where the zeros at the end of a file begin; its size when there are none. */
static tc_status find_zeros(int fd, uint64_t size, uint64_t *out)
{
    char bytes[4096];
    while (size > 0) {
        size_t step = size < sizeof bytes ? (size_t)size : sizeof bytes;
        ssize_t got = pread(fd, bytes, step, (off_t)(size - step));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got != (ssize_t)step) {
            return TC_E_IO;
        }
        while (step > 0 && bytes[step - 1] == '\0') {
            step--;
            size--;
        }
        if (step > 0) {
            break;
        }
    }
    *out = size;
    return TC_OK;
}

void tc__file_cut_zeros(const char *path)
{
    struct stat st;
    uint64_t end = 0;
    /* Opening a FIFO and closing it again would end its reader. */
    if (strcmp(path, "-") == 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        return;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        find_zeros(fd, (uint64_t)st.st_size, &end) == TC_OK && end < (uint64_t)st.st_size &&
        ftruncate(fd, (off_t)end) == 0) {
        tc_log_fields(TC_LOG_WARN, "a torn tail of zeros was cut off the file of verdicts",
                      TC_LOG_CSTR("file", path), TC_LOG_NUMBER("bytes", st.st_size - (int64_t)end));
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

struct resume {
    tc__file_expect_fn expect;
    void *context;
    struct tc_slice json; /* the next one that may be there */
    bool has_json;
    uint64_t found;
    char *buf;
    size_t have;
    bool skipping; /* inside of a line that is too long */
};

static void take_line(struct resume *r, struct tc_slice line)
{
    if (r->has_json && !r->skipping && tc_slice_eq(line, r->json)) {
        r->found++;
        r->has_json = r->expect(r->context, &r->json);
    }
    r->skipping = false;
}

/* Takes the whole lines of the buffer; what is left begins it then. */
static void take_lines(struct resume *r)
{
    struct tc_slice rest = tc_slice_make(r->buf, r->have);
    for (size_t end; (end = tc_slice_find_byte(rest, '\n')) != TC_NPOS;) {
        take_line(r, tc_slice_head(rest, end));
        rest = tc_slice_from(rest, end + 1);
    }
    memmove(r->buf, rest.ptr, rest.len);
    r->have = rest.len;
    if (r->have == LINE_ROOM) {
        r->have = 0;
        r->skipping = true;
    }
}

/* Reads a file to its end. *out_torn: bytes of a last line without an end. */
static tc_status read_lines(struct resume *r, int fd, uint64_t from, uint64_t *out_end)
{
    uint64_t at = from;
    r->have = 0;
    r->skipping = false;
    for (;;) {
        ssize_t n = pread(fd, r->buf + r->have, LINE_ROOM - r->have, (off_t)at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return TC_E_IO;
        }
        if (n == 0) {
            *out_end = at;
            return TC_OK;
        }
        at += (uint64_t)n;
        r->have += (size_t)n;
        take_lines(r);
    }
}

/* Looks through one file; *out_open_end: it ends in a torn line that is not ours. */
static tc_status look(struct resume *r, int fd, uint64_t from, bool *out_open_end)
{
    uint64_t end = 0;
    TC_TRY(read_lines(r, fd, from, &end));
    struct tc_slice torn = tc_slice_make(r->buf, r->have);
    *out_open_end = torn.len > 0 || r->skipping;
    if (torn.len > 0 && !r->skipping && r->has_json && tc_slice_starts(r->json, torn) &&
        ftruncate(fd, (off_t)(end - torn.len)) == 0) {
        *out_open_end = false;
    }
    return TC_OK;
}

/* Opens the file of that inode in the directory of `path`, whatever its name is now; -1: none. */
static int find_renamed(const char *path, const struct tc__cursor *last)
{
    char folder[TC__PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)len, len == 0 ? "" : path);
    DIR *dir = opendir(len == 0 ? "." : folder);
    int found = -1;
    size_t names = 0;
    for (const struct dirent *e; dir != NULL && found < 0 && names < NAMES_MAX; names++) {
        e = readdir(dir);
        if (e == NULL) {
            break;
        }
        struct stat st;
        if ((uint64_t)e->d_ino == last->ino &&
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            (uint64_t)st.st_dev == last->dev && (uint64_t)st.st_ino == last->ino) {
            found = openat(dirfd(dir), e->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return found;
}

static tc_status look_at_renamed(struct resume *r, const struct tc__file *f,
                                 const struct tc__cursor *last)
{
    struct stat st;
    int fd = find_renamed(f->path, last);
    if (fd < 0) {
        return TC_OK;
    }
    bool open_end = false;
    tc_status status = TC_OK;
    if (fstat(fd, &st) == 0 && (uint64_t)st.st_size >= last->size) {
        status = look(r, fd, last->size, &open_end);
    }
    (void)close(fd);
    return status;
}

static tc_status look_at_both(struct resume *r, struct tc__file *f, const struct tc__cursor *last)
{
    bool same = last->ino != 0 && f->ino == last->ino && f->dev == last->dev;
    uint64_t from = f->size > TAIL_MAX ? f->size - TAIL_MAX : 0;
    if (same && f->size >= last->size) {
        from = last->size;
    } else if (last->ino != 0 && !same) {
        TC_TRY(look_at_renamed(r, f, last));
    }
    TC_TRY(look(r, f->fd, from, &f->needs_end));
    struct stat st;
    if (fstat(f->fd, &st) == 0) {
        f->size = (uint64_t)st.st_size;
    }
    return TC_OK;
}

tc_status tc__file_resume(struct tc__file *f, const struct tc__cursor *last,
                          tc__file_expect_fn expect, void *context, uint64_t *out_found,
                          struct tc_error *err)
{
    struct resume r = {.expect = expect, .context = context};
    *out_found = 0;
    if (!f->regular || !f->readable) {
        return TC_OK;
    }
    r.buf = malloc(LINE_ROOM);
    if (r.buf == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to look at %s", f->path);
    }
    r.has_json = expect(context, &r.json);
    tc_status status = look_at_both(&r, f, last);
    free(r.buf);
    *out_found = r.found;
    return status == TC_OK
               ? TC_OK
               : tc_fail(err, status, 0, "%s: cannot be read: %s", f->path, strerror(errno));
}
