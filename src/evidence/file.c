/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/file_priv.h"

#include "base/assert.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Digits of SEQ: any 64-bit number, so that names sort as numbers do. */
#define SEQ_DIGITS 20

void tc__io_init(struct tc_store_io *io)
{
    io->write = io->write == NULL ? write : io->write;
    io->rename = io->rename == NULL ? rename : io->rename;
    io->truncate = io->truncate == NULL ? ftruncate : io->truncate;
    io->unlink = io->unlink == NULL ? unlink : io->unlink;
    /* Which call syncs depends on what: io->sync stays NULL. */
}

int tc__write_all(const struct tc_store_io *io, int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len > 0) {
        ssize_t n = io->write(fd, p, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0 ? ENOSPC : errno;
        }
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

int tc__sync_file(const struct tc_store_io *io, int fd)
{
    int result = io->sync != NULL ? io->sync(fd) : fdatasync(fd);
    return result == 0 ? 0 : errno;
}

int tc__sync_dir(const struct tc_store_io *io, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    int result = io->sync != NULL ? io->sync(fd) : fsync(fd);
    int error = result == 0 ? 0 : errno;
    (void)close(fd);
    return error;
}

ssize_t tc__read_at(int fd, void *data, size_t len, uint64_t offset)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = pread(fd, (char *)data + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -1;
        }
        if (n == 0) {
            break;
        }
        done += (size_t)n;
    }
    return (ssize_t)done;
}

int tc__make_dir(const char *path)
{
    return mkdir(path, 0750) == 0 || errno == EEXIST ? 0 : errno;
}

void tc__path(char *out, const char *dir, const char *a, const char *b)
{
    int len =
        snprintf(out, TC__PATH_MAX, "%s/%s%s%s", dir, a, b == NULL ? "" : "/", b == NULL ? "" : b);
    TC_ASSERT(len > 0 && len < TC__PATH_MAX);
}

void tc__path_segment(char *out, const char *dir, uint64_t seq)
{
    int len =
        snprintf(out, TC__PATH_MAX, "%s/open/%0*llu.seg", dir, SEQ_DIGITS, (unsigned long long)seq);
    TC_ASSERT(len > 0 && len < TC__PATH_MAX);
}

void tc__path_object(char *out, const char *dir, const char *hex, bool folder_only)
{
    int len = snprintf(out, TC__PATH_MAX, "%s/objects/%.2s%s%.*s", dir, hex, folder_only ? "" : "/",
                       folder_only ? 0 : TC__HEX_BYTES, hex);
    TC_ASSERT(len > 0 && len < TC__PATH_MAX);
}

void tc__hex(char *out, const struct tc_digest *d)
{
    (void)tc_put_hex_bytes(out, d->bytes, TC_DIGEST_BYTES);
}

void tc__digits(char *out, uint64_t value)
{
    char digits[TC_PUT_U64_MAX];
    const char *end = tc_put_u64(digits, value);
    memcpy(out, digits, (size_t)(end - digits));
}

static bool parse_seq(const char *name, uint64_t *out)
{
    struct tc_slice s = tc_slice_cstr(name);
    return s.len == SEQ_DIGITS + 4 && tc_slice_ends(s, TC_LIT(".seg")) &&
           tc_slice_is_u64(tc_slice_head(s, SEQ_DIGITS), out);
}

/* Puts seq where it belongs; when there is no room the largest is left out. */
static void insert(uint64_t *list, size_t max, size_t *count, uint64_t seq)
{
    size_t at = *count;
    while (at > 0 && list[at - 1] > seq) {
        at--;
    }
    if (at == max) {
        return;
    }
    size_t keep = *count < max ? *count : max - 1;
    memmove(list + at + 1, list + at, (keep - at) * sizeof *list);
    list[at] = seq;
    *count = keep + 1;
}

int tc__list_open(const char *dir, uint64_t *out, size_t max, size_t *out_count)
{
    char path[TC__PATH_MAX];
    tc__path(path, dir, "open", NULL);
    DIR *d = opendir(path);
    if (d == NULL) {
        return errno;
    }
    *out_count = 0;
    errno = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL; errno = 0) {
        uint64_t seq = 0;
        if (parse_seq(e->d_name, &seq)) {
            insert(out, max, out_count, seq);
        }
    }
    int error = errno;
    (void)closedir(d);
    return error;
}

static bool list_folder(const char *path, bool (*take)(void *context, const struct tc_digest *d),
                        void *context, int *out_error)
{
    DIR *d = opendir(path);
    bool more = true;
    if (d == NULL) {
        *out_error = errno;
        return false;
    }
    errno = 0;
    for (struct dirent *e; more && (e = readdir(d)) != NULL; errno = 0) {
        struct tc_digest digest;
        if (tc_digest_from_hex(tc_slice_cstr(e->d_name), &digest)) {
            more = take(context, &digest);
            errno = 0;
        }
    }
    *out_error = errno;
    (void)closedir(d);
    return more && *out_error == 0;
}

int tc__list_objects(const char *dir, bool (*take)(void *context, const struct tc_digest *digest),
                     void *context)
{
    char path[TC__PATH_MAX];
    int error = 0;
    tc__path(path, dir, "objects", NULL);
    DIR *d = opendir(path);
    if (d == NULL) {
        return errno == ENOENT ? 0 : errno;
    }
    bool more = true;
    errno = 0;
    for (struct dirent *e; more && (e = readdir(d)) != NULL; errno = 0) {
        uint64_t value = 0;
        struct tc_slice name = tc_slice_cstr(e->d_name);
        if (name.len == 2 && tc_slice_hex(name, &value) == 2) {
            tc__path_object(path, dir, e->d_name, true);
            more = list_folder(path, take, context, &error);
        }
    }
    error = more ? errno : error;
    (void)closedir(d);
    return error;
}
