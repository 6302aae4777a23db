/* SPDX-License-Identifier: Apache-2.0 */
#include "warehouse/ledger.h"

#include "base/digest.h"
#include "base/os/io.h"
#include "base/time.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4352
#define SUFFIX ".log"
/* Of the digest, in hex digits, and the blank behind it. */
#define SUM_BYTES 8
#define HEAD_BYTES (2 * (size_t)SUM_BYTES + 1)
/* Looked at from the end for the last newline. */
#define TAIL_BYTES 4096
#define FILES_MAX ((size_t)1 << 16)

static tc_status failed(struct tc_error *err, const char *path)
{
    return tc_fail(err, TC_E_IO, 0, "%s: %s", path, strerror(errno));
}

static tc_status path_of(const char *data_dir, const char *name, char out[PATH_BYTES],
                         struct tc_error *err)
{
    int len = snprintf(out, PATH_BYTES, "%s/" TC_LEDGER_DIR "/%s" SUFFIX, data_dir, name);
    return len > 0 && len < PATH_BYTES
               ? TC_OK
               : tc_fail(err, TC_E_LIMIT, 0, "the path of the data directory is too long");
}

/* ---- months ---- */

void tc_ledger_month(int64_t ns, char out_name[TC_LEDGER_NAME_MAX])
{
    struct tc_civil c;
    tc_time_to_civil(ns, &c);
    (void)snprintf(out_name, TC_LEDGER_NAME_MAX, TC_LEDGER_VERDICTS "%04d-%02d", (int)c.year,
                   (int)c.month);
}

int64_t tc_ledger_month_end(const char *name)
{
    struct tc_slice rest = tc_slice_cstr(name);
    uint64_t year = 0;
    uint64_t month = 0;
    int64_t ns = INT64_MAX;
    if (!tc_slice_starts(rest, TC_LIT(TC_LEDGER_VERDICTS))) {
        return INT64_MAX;
    }
    rest = tc_slice_from(rest, sizeof TC_LEDGER_VERDICTS - 1);
    if (rest.len != 7 || rest.ptr[4] != '-' || !tc_slice_is_u64(tc_slice_head(rest, 4), &year) ||
        !tc_slice_is_u64(tc_slice_from(rest, 5), &month) || month < 1 || month > 12) {
        return INT64_MAX;
    }
    struct tc_civil next = {.year = (int32_t)(month == 12 ? year + 1 : year),
                            .month = (int32_t)(month == 12 ? 1 : month + 1),
                            .day = 1};
    return tc_time_from_civil(&next, &ns) ? ns : INT64_MAX;
}

/* ---- lines ---- */

static void put_sum(struct tc_buf *b, struct tc_slice json)
{
    struct tc_digest digest;
    struct tc_sha256 h;
    tc_sha256_init(&h);
    tc_sha256_update(&h, json);
    tc_sha256_final(&h, &digest);
    for (size_t i = 0; i < SUM_BYTES; i++) {
        tc_buf_hex(b, digest.bytes[i], 2);
    }
    tc_buf_char(b, ' ');
}

void tc_ledger_add(struct tc_grow *lines, struct tc_slice json)
{
    if (tc_grow_room(lines, HEAD_BYTES + json.len + 1)) {
        put_sum(&lines->buf, json);
        tc_buf_str(&lines->buf, json);
        tc_buf_char(&lines->buf, '\n');
    }
}

static bool is_sound(struct tc_slice line)
{
    char head[HEAD_BYTES];
    struct tc_buf b = tc_buf_make(head, sizeof head);
    if (line.len <= HEAD_BYTES) {
        return false;
    }
    put_sum(&b, tc_slice_from(line, HEAD_BYTES));
    return tc_slice_eq(tc_slice_head(line, HEAD_BYTES), tc_buf_slice(&b));
}

/* ---- writing ---- */

/* Where the last whole line ends. */
static bool find_end(int fd, off_t size, off_t *out)
{
    char tail[TAIL_BYTES];
    off_t at = size;
    while (at > 0) {
        size_t len = at < TAIL_BYTES ? (size_t)at : TAIL_BYTES;
        ssize_t got = pread(fd, tail, len, at - (off_t)len);
        if (got != (ssize_t)len) {
            return false;
        }
        const char *newline = memrchr(tail, '\n', len);
        if (newline != NULL) {
            *out = at - (off_t)len + (newline - tail) + 1;
            return true;
        }
        at -= (off_t)len;
    }
    *out = 0;
    return true;
}

static tc_status write_lines(int fd, const char *path, struct tc_slice lines, struct tc_error *err)
{
    struct stat st;
    off_t end = 0;
    if (flock(fd, LOCK_EX) != 0 || fstat(fd, &st) != 0 || !find_end(fd, st.st_size, &end) ||
        (end < st.st_size && ftruncate(fd, end) != 0) || lseek(fd, end, SEEK_SET) != end) {
        return failed(err, path);
    }
    if (!tc_io_write(fd, lines) || fdatasync(fd) != 0) {
        tc_status status = failed(err, path);
        (void)!ftruncate(fd, end);
        return status;
    }
    return TC_OK;
}

/* The names in a directory, durable. */
static tc_status sync_names(const char *path, struct tc_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = fd >= 0 && fsync(fd) == 0;
    tc_status status = good ? TC_OK : failed(err, path);
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

static tc_status make_dir(const char *data_dir, struct tc_error *err)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/" TC_LEDGER_DIR, data_dir);
    if (mkdir(path, 0700) == 0) {
        return sync_names(data_dir, err);
    }
    return errno == EEXIST ? TC_OK : failed(err, path);
}

tc_status tc_ledger_append(const char *data_dir, const char *name, struct tc_slice lines,
                           struct tc_error *err)
{
    char path[PATH_BYTES];
    char dir[PATH_BYTES];
    TC_TRY(path_of(data_dir, name, path, err));
    TC_TRY(make_dir(data_dir, err));
    bool is_new = access(path, F_OK) != 0;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return failed(err, path);
    }
    tc_status status = write_lines(fd, path, lines, err);
    (void)close(fd);
    (void)snprintf(dir, sizeof dir, "%s/" TC_LEDGER_DIR, data_dir);
    return status == TC_OK && is_new ? sync_names(dir, err) : status;
}

tc_status tc_ledger_record(const char *data_dir, const char *name, struct tc_grow *json,
                           struct tc_error *err)
{
    struct tc_grow lines = {0};
    tc_ledger_add(&lines, tc_grow_slice(json));
    tc_status status = json->failed || lines.failed
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the ledger")
                           : tc_ledger_append(data_dir, name, tc_grow_slice(&lines), err);
    tc_grow_fini(json);
    tc_grow_fini(&lines);
    return status;
}

/* ---- reading ---- */

struct reading {
    int fd;
    const char *path;
    char *text;
    size_t len; /* in text */
    bool ended;
    bool overlong; /* within a line that is longer than any may be */
};

static tc_status fill(struct reading *r, struct tc_error *err)
{
    if (r->len == TC_LEDGER_LINE_MAX) {
        r->len = 0;
        r->overlong = true;
    }
    ssize_t got = tc_io_read(r->fd, r->text + r->len, TC_LEDGER_LINE_MAX - r->len);
    if (got < 0) {
        return failed(err, r->path);
    }
    r->ended = got == 0;
    r->len += (size_t)got;
    return TC_OK;
}

/* The whole lines of what was read; the rest goes to the front. */
static tc_status take_lines(struct reading *r, tc_ledger_fn take, void *context, uint64_t *damaged)
{
    struct tc_slice text = tc_slice_make(r->text, r->len);
    tc_status status = TC_OK;
    for (size_t end; status == TC_OK && (end = tc_slice_find_byte(text, '\n')) != TC_NPOS;) {
        struct tc_slice line = tc_slice_head(text, end);
        text = tc_slice_from(text, end + 1);
        if (r->overlong || !is_sound(line)) {
            r->overlong = false;
            (*damaged)++;
        } else {
            status = take(context, tc_slice_from(line, HEAD_BYTES));
        }
    }
    memmove(r->text, text.ptr, text.len);
    r->len = text.len;
    return status;
}

tc_status tc_ledger_read(const char *data_dir, const char *name, tc_ledger_fn take, void *context,
                         uint64_t *io_damaged, struct tc_error *err)
{
    char path[PATH_BYTES];
    TC_TRY(path_of(data_dir, name, path, err));
    struct reading r = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), .path = path};
    if (r.fd < 0) {
        return errno == ENOENT ? TC_OK : failed(err, path);
    }
    r.text = malloc(TC_LEDGER_LINE_MAX);
    tc_status status =
        r.text == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory to read %s", path) : TC_OK;
    while (status == TC_OK && !r.ended) {
        status = fill(&r, err);
        if (status == TC_OK && r.len > 0) {
            status = take_lines(&r, take, context, io_damaged);
        }
    }
    free(r.text);
    (void)close(r.fd);
    return status;
}

/* ---- the files ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* True, and the name without its suffix, when it is one that is asked for. */
static bool is_asked(const char *file, const char *prefix, char out[TC_LEDGER_NAME_MAX])
{
    size_t len = strlen(file);
    size_t suffix = sizeof SUFFIX - 1;
    if (len <= suffix || len - suffix >= TC_LEDGER_NAME_MAX ||
        strncmp(file, prefix, strlen(prefix)) != 0 || strcmp(file + len - suffix, SUFFIX) != 0) {
        return false;
    }
    memset(out, 0, TC_LEDGER_NAME_MAX);
    memcpy(out, file, len - suffix);
    return true;
}

tc_status tc_ledger_list(const char *data_dir, const char *prefix,
                         char (**out_names)[TC_LEDGER_NAME_MAX], size_t *out_count,
                         struct tc_error *err)
{
    char path[PATH_BYTES];
    char(*names)[TC_LEDGER_NAME_MAX] = NULL;
    size_t count = 0;
    size_t cap = 0;
    tc_status status = TC_OK;
    (void)snprintf(path, sizeof path, "%s/" TC_LEDGER_DIR, data_dir);
    DIR *d = opendir(path);
    if (d == NULL && errno != ENOENT) {
        return failed(err, path);
    }
    for (struct dirent *e; status == TC_OK && d != NULL && (e = readdir(d)) != NULL;) {
        char name[TC_LEDGER_NAME_MAX];
        if (is_asked(e->d_name, prefix, name)) {
            status = tc_grow_items(names, cap, count + 1, FILES_MAX);
            if (status == TC_OK) {
                memcpy(names[count++], name, sizeof name);
            }
        }
    }
    if (d != NULL) {
        (void)closedir(d);
    }
    if (status != TC_OK) {
        free(names);
        return tc_fail(err, status, 0, "%s: too many files, or no memory to list them", path);
    }
    if (count > 1) {
        qsort(names, count, sizeof *names, by_name);
    }
    *out_names = names;
    *out_count = count;
    return TC_OK;
}

tc_status tc_ledger_remove(const char *data_dir, const char *name, struct tc_error *err)
{
    char path[PATH_BYTES];
    TC_TRY(path_of(data_dir, name, path, err));
    return unlink(path) == 0 || errno == ENOENT ? TC_OK : failed(err, path);
}
