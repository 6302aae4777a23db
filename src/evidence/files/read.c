/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/io.h"
#include "evidence/files/files_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

struct reading {
    char path[TC__PATH_MAX];
    struct tc_error *err;
    int fd;
    struct tc__file_tail tail;
    ZSTD_DStream *stream;
    XXH3_state_t *sum;
    struct tc_sha256 content;
    char *in;
    char *out;     /* TC__FILE_STEP of it, or the whole content where it is wanted */
    bool whole;    /* `out` is the whole content */
    int to;        /* where the content is written; -1: nowhere */
    uint64_t done; /* bytes of the content so far */
    char *part;    /* a part of the content that is wanted; NULL: none */
    uint64_t part_from;
    size_t part_max;
    size_t part_len;
};

/* What of the bytes from r->done on belongs to the part. */
static void keep_part(struct reading *r, const char *bytes, size_t len)
{
    uint64_t from = r->part_from > r->done ? r->part_from - r->done : 0;
    if (r->part == NULL || from >= len || r->part_len == r->part_max) {
        return;
    }
    size_t room = r->part_max - r->part_len;
    size_t count = len - (size_t)from < room ? len - (size_t)from : room;
    memcpy(r->part + r->part_len, bytes + from, count);
    r->part_len += count;
}

static tc_status damaged(struct reading *r, const char *what)
{
    return tc_fail(r->err, TC_E_MALFORMED, 0, "%s: damaged: %s", r->path, what);
}

static tc_status read_exact(struct reading *r, void *to, size_t len, uint64_t offset)
{
    ssize_t n = tc__read_at(r->fd, to, len, offset);
    if (n < 0) {
        return tc__files_fail(r->err, "cannot read", r->path, errno);
    }
    return (size_t)n == len ? TC_OK : damaged(r, "it ended while it was read");
}

/* Opens the file and checks all that its ends say. */
static tc_status open_file(struct reading *r, const struct tc_digest *digest)
{
    uint8_t head[TC__FILE_HEAD_BYTES];
    uint8_t want[TC__FILE_HEAD_BYTES];
    uint8_t tail[TC__FILE_TAIL_BYTES];
    struct stat st;
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (r->fd < 0) {
        return errno == ENOENT ? tc_fail(r->err, TC_E_NOTFOUND, 0, "%s: not there", r->path)
                               : tc__files_fail(r->err, "cannot open", r->path, errno);
    }
    if (fstat(r->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return damaged(r, "it is no file");
    }
    if (st.st_size < TC__FILE_HEAD_BYTES + TC__FILE_TAIL_BYTES) {
        return damaged(r, "it is shorter than any such file");
    }
    uint64_t body = (uint64_t)st.st_size - TC__FILE_HEAD_BYTES - TC__FILE_TAIL_BYTES;
    TC_TRY(read_exact(r, head, sizeof head, 0));
    TC_TRY(read_exact(r, tail, sizeof tail, TC__FILE_HEAD_BYTES + body));
    tc__file_head(want);
    if (memcmp(head, want, sizeof head) != 0) {
        return damaged(r, "its first bytes are not those of version 1");
    }
    if (!tc__file_tail_read(tail, &r->tail)) {
        return damaged(r, "the checksum of its last bytes does not hold");
    }
    if (r->tail.body_bytes != body || r->tail.raw_bytes > TC_FILES_SIZE_MAX) {
        return damaged(r, "it is longer or shorter than it says");
    }
    if (memcmp(&r->tail.digest, digest, sizeof *digest) != 0) {
        return damaged(r, "it holds other content than its name says");
    }
    (void)XXH3_64bits_update(r->sum, head, sizeof head);
    return TC_OK;
}

/* What one step of compressed bytes gives. *out_left: 0 at the end of the frame. */
static tc_status expand(struct reading *r, size_t len, size_t *out_left)
{
    ZSTD_inBuffer in = {r->in, len, 0};
    size_t made = 1;
    /* A full buffer may hold back more. */
    while (in.pos < in.size || made == TC__FILE_STEP) {
        uint64_t room = r->tail.raw_bytes - r->done;
        size_t step = room < TC__FILE_STEP ? (size_t)room : TC__FILE_STEP;
        size_t before = in.pos;
        ZSTD_outBuffer out = {r->whole ? r->out + r->done : r->out, step, 0};
        if (*out_left == 0) {
            return in.pos < in.size ? damaged(r, "bytes behind its end") : TC_OK;
        }
        *out_left = ZSTD_decompressStream(r->stream, &out, &in);
        if (ZSTD_isError(*out_left)) {
            return damaged(r, "it does not decompress");
        }
        made = out.pos;
        if (made == 0 && in.pos == before) {
            return in.pos < in.size ? damaged(r, "it holds more than it says") : TC_OK;
        }
        tc_sha256_update(&r->content, tc_slice_make(out.dst, made));
        if (r->to >= 0 && !tc_io_write(r->to, tc_slice_make(out.dst, made))) {
            return tc__files_fail(r->err, "cannot write a copy of", r->path, errno);
        }
        keep_part(r, out.dst, made);
        r->done += made;
    }
    return TC_OK;
}

static tc_status read_body(struct reading *r)
{
    struct tc_digest content;
    size_t left = 1;
    for (uint64_t at = 0; at < r->tail.body_bytes;) {
        uint64_t rest = r->tail.body_bytes - at;
        size_t step = rest < TC__FILE_STEP ? (size_t)rest : TC__FILE_STEP;
        TC_TRY(read_exact(r, r->in, step, TC__FILE_HEAD_BYTES + at));
        (void)XXH3_64bits_update(r->sum, r->in, step);
        TC_TRY(expand(r, step, &left));
        at += step;
    }
    if (left != 0 || r->done != r->tail.raw_bytes) {
        return damaged(r, "it holds less than it says");
    }
    if (XXH3_64bits_digest(r->sum) != r->tail.sum) {
        return damaged(r, "its checksum does not hold");
    }
    tc_sha256_final(&r->content, &content);
    if (memcmp(&content, &r->tail.digest, sizeof content) != 0) {
        return damaged(r, "its content has another SHA-256");
    }
    return TC_OK;
}

static tc_status read_all(struct reading *r, const struct tc_digest *digest, uint64_t size_max,
                          bool whole)
{
    r->stream = ZSTD_createDStream();
    r->sum = XXH3_createState();
    r->in = malloc(TC__FILE_STEP);
    if (r->stream == NULL || r->sum == NULL || r->in == NULL) {
        return tc_fail(r->err, TC_E_NOMEM, 0, "no memory to read %s", r->path);
    }
    (void)XXH3_64bits_reset(r->sum);
    tc_sha256_init(&r->content);
    TC_TRY(open_file(r, digest));
    if (whole && r->tail.raw_bytes > size_max) {
        return tc_fail(r->err, TC_E_LIMIT, 0, "%s: %llu bytes; the limit here is %llu", r->path,
                       (unsigned long long)r->tail.raw_bytes, (unsigned long long)size_max);
    }
    r->whole = whole;
    r->out = malloc(whole ? (size_t)r->tail.raw_bytes + 1 : TC__FILE_STEP);
    if (r->out == NULL) {
        return tc_fail(r->err, TC_E_NOMEM, 0, "no memory for the %llu bytes of %s",
                       (unsigned long long)r->tail.raw_bytes, r->path);
    }
    return read_body(r);
}

static void finish(struct reading *r)
{
    (void)ZSTD_freeDStream(r->stream);
    (void)XXH3_freeState(r->sum);
    free(r->in);
    if (r->fd >= 0) {
        (void)close(r->fd);
    }
}

tc_status tc_files_read(struct tc_files *f, const struct tc_digest *digest, uint64_t size_max,
                        char **out_bytes, size_t *out_len, struct tc_error *err)
{
    struct reading r = {.err = err, .fd = -1, .to = -1};
    tc__files_path(f, digest, false, r.path);
    tc_status status = read_all(&r, digest, size_max, true);
    finish(&r);
    if (status != TC_OK) {
        free(r.out);
        return status;
    }
    *out_bytes = r.out;
    *out_len = (size_t)r.done;
    return TC_OK;
}

tc_status tc_files_read_part(struct tc_files *f, const struct tc_digest *digest, uint64_t offset,
                             size_t length, char **out_bytes, size_t *out_len, uint64_t *out_total,
                             struct tc_error *err)
{
    struct reading r = {.err = err, .fd = -1, .to = -1, .part_from = offset, .part_max = length};
    tc__files_path(f, digest, false, r.path);
    r.part = malloc(length + 1);
    tc_status status = r.part == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory to read %s", r.path)
                                      : read_all(&r, digest, 0, false);
    finish(&r);
    free(r.out);
    if (status != TC_OK) {
        free(r.part);
        return status;
    }
    *out_bytes = r.part;
    *out_len = r.part_len;
    *out_total = r.done;
    return TC_OK;
}

static tc_status read_through(struct tc_files *f, const struct tc_digest *digest, int to,
                              uint64_t *out_size, struct tc_error *err)
{
    struct reading r = {.err = err, .fd = -1, .to = to};
    tc__files_path(f, digest, false, r.path);
    tc_status status = read_all(&r, digest, 0, false);
    finish(&r);
    free(r.out);
    if (status == TC_OK && out_size != NULL) {
        *out_size = r.done;
    }
    return status;
}

tc_status tc_files_check(struct tc_files *f, const struct tc_digest *digest, uint64_t *out_size,
                         struct tc_error *err)
{
    return read_through(f, digest, -1, out_size, err);
}

tc_status tc_files_copy(struct tc_files *f, const struct tc_digest *digest, int to,
                        uint64_t *out_size, struct tc_error *err)
{
    return read_through(f, digest, to, out_size, err);
}
