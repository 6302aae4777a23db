/* SPDX-License-Identifier: Apache-2.0 */
#include "server/follow/judged.h"

#include "base/slice.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * One line: the name of the format and its version, the number of the batch, its arrival in
 * nanoseconds, and the hash of all before it as 16 hex digits.
 */
#define FILE_NAME "judged"
#define MAGIC "tracecore-judged "
#define VERSION 1
#define LINE_MAX_BYTES 256
#define PATH_BYTES 4096

static tc_status fail_errno(struct tc_error *err, const char *path, const char *what)
{
    char text[128];
    return tc_fail(err, TC_E_IO, 0, "%s: %s: %s", path, what, strerror_r(errno, text, sizeof text));
}

static tc_status make_path(const char *dir, const char *name, char *out, struct tc_error *err)
{
    int n = snprintf(out, PATH_BYTES, "%s/%s", dir, name);
    return n > 0 && n < PATH_BYTES ? TC_OK
                                   : tc_fail(err, TC_E_USAGE, 0, "%s: too long a path", dir);
}

static uint64_t line_hash(const char *line, size_t len)
{
    return tc_slice_hash(tc_slice_make(line, len), VERSION);
}

static size_t make_line(const struct tc_judged *j, char *out)
{
    int n = snprintf(out, LINE_MAX_BYTES, MAGIC "%d %" PRIu64 " %" PRId64 " ", VERSION, j->number,
                     j->arrival_ns);
    n += snprintf(out + n, LINE_MAX_BYTES - (size_t)n, "%016" PRIx64 "\n",
                  line_hash(out, (size_t)n));
    return (size_t)n;
}

/* The line that the program would write for it has to be the one that is there. */
static tc_status parse(const char *path, struct tc_slice line, struct tc_judged *out,
                       struct tc_error *err)
{
    struct tc_slice rest = line;
    struct tc_slice word = tc_slice_cut(rest, ' ', &rest);
    uint64_t version = 0;
    uint64_t number = 0;
    uint64_t arrival = 0;
    bool named = word.len + 1 == sizeof MAGIC - 1 && memcmp(word.ptr, MAGIC, word.len) == 0;
    word = tc_slice_cut(rest, ' ', &rest);
    if (named && tc_slice_is_u64(word, &version) && version > VERSION) {
        return tc_fail(err, TC_E_UNSUPPORTED, 0,
                       "%s: format version %" PRIu64
                       ", this program knows up to %d: use a newer tracecore, or another data_dir",
                       path, version, VERSION);
    }
    word = tc_slice_cut(rest, ' ', &rest);
    struct tc_slice when = tc_slice_cut(rest, ' ', &rest);
    if (tc_slice_is_u64(word, &number) && tc_slice_is_u64(when, &arrival) && arrival <= INT64_MAX) {
        struct tc_judged j = {number, (int64_t)arrival};
        char same[LINE_MAX_BYTES];
        if (tc_slice_eq(line, tc_slice_make(same, make_line(&j, same)))) {
            *out = j;
            return TC_OK;
        }
    }
    return tc_fail(err, TC_E_MALFORMED, 0, "%s: damaged", path);
}

tc_status tc_judged_read(const char *data_dir, struct tc_judged *out_judged, struct tc_error *err)
{
    char path[PATH_BYTES];
    char line[LINE_MAX_BYTES];
    *out_judged = (struct tc_judged){0};
    TC_TRY(make_path(data_dir, FILE_NAME, path, err));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return errno == ENOENT ? TC_OK : fail_errno(err, path, "cannot be read");
    }
    ssize_t n = read(fd, line, sizeof line);
    (void)close(fd);
    return n < 0 ? fail_errno(err, path, "cannot be read")
                 : parse(path, tc_slice_make(line, (size_t)n), out_judged, err);
}

/* Written beside it and put in its place, so that a crash leaves the one or the other. */
tc_status tc_judged_write(const char *data_dir, const struct tc_judged *judged,
                          struct tc_error *err)
{
    char path[PATH_BYTES];
    char fresh[PATH_BYTES];
    char line[LINE_MAX_BYTES];
    size_t len = make_line(judged, line);
    TC_TRY(make_path(data_dir, FILE_NAME, path, err));
    TC_TRY(make_path(data_dir, FILE_NAME ".new", fresh, err));
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return fail_errno(err, fresh, "cannot be written");
    }
    bool ok = write(fd, line, len) == (ssize_t)len && fdatasync(fd) == 0;
    tc_status status = ok ? TC_OK : fail_errno(err, fresh, "cannot be written");
    (void)close(fd);
    if (status == TC_OK && rename(fresh, path) != 0) {
        status = fail_errno(err, path, "cannot be replaced");
    }
    return status;
}
