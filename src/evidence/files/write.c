/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/files/files_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

/* Result files and logs are read often and written once; beyond 3 the gain is small. */
#define LEVEL 3

struct writing {
    const struct tc_store_io *io;
    const char *path;
    struct tc_error *err;
    int fd;
    ZSTD_CStream *stream;
    char *in;
    char *out;
    XXH3_state_t *sum;
    struct tc_sha256 content;
    struct tc__file_tail tail;
};

static tc_status put(struct writing *w, const void *bytes, size_t len)
{
    int error = tc__write_all(w->io, w->fd, bytes, len);
    return error == 0 ? TC_OK : tc__files_fail(w->err, "cannot write", w->path, error);
}

/* Compresses `bytes`, and the end of the frame when `last`. */
static tc_status compress(struct writing *w, struct tc_slice bytes, bool last)
{
    ZSTD_inBuffer in = {bytes.ptr, bytes.len, 0};
    size_t left = 1;
    w->tail.raw_bytes += bytes.len;
    if (w->tail.raw_bytes > TC_FILES_SIZE_MAX) {
        return tc_fail(w->err, TC_E_LIMIT, 0, "a file of more than %llu GiB; split it",
                       (unsigned long long)(TC_FILES_SIZE_MAX >> 30));
    }
    tc_sha256_update(&w->content, bytes);
    while (last ? left > 0 : in.pos < in.size) {
        ZSTD_outBuffer out = {w->out, TC__FILE_STEP, 0};
        left = ZSTD_compressStream2(w->stream, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) {
            return tc_fail(w->err, TC_E_NOMEM, 0, "cannot compress: %s", ZSTD_getErrorName(left));
        }
        (void)XXH3_64bits_update(w->sum, w->out, out.pos);
        w->tail.body_bytes += out.pos;
        TC_TRY(put(w, w->out, out.pos));
    }
    return TC_OK;
}

static tc_status pump(struct writing *w, int fd)
{
    for (;;) {
        ssize_t n = read(fd, w->in, TC__FILE_STEP);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return tc_fail(w->err, TC_E_IO, 0, "cannot read the file that is to be stored: %s",
                           strerror(errno));
        }
        TC_TRY(compress(w, tc_slice_make(w->in, (size_t)n), n == 0));
        if (n == 0) {
            return TC_OK;
        }
    }
}

static tc_status write_all(struct writing *w, int fd, struct tc_slice bytes)
{
    uint8_t head[TC__FILE_HEAD_BYTES];
    uint8_t tail[TC__FILE_TAIL_BYTES];
    tc__file_head(head);
    (void)XXH3_64bits_reset(w->sum);
    (void)XXH3_64bits_update(w->sum, head, sizeof head);
    tc_sha256_init(&w->content);
    (void)ZSTD_CCtx_setParameter(w->stream, ZSTD_c_compressionLevel, LEVEL);
    (void)ZSTD_CCtx_setParameter(w->stream, ZSTD_c_checksumFlag, 0); /* ours covers more */
    TC_TRY(put(w, head, sizeof head));
    TC_TRY(fd >= 0 ? pump(w, fd) : compress(w, bytes, true));
    tc_sha256_final(&w->content, &w->tail.digest);
    w->tail.sum = XXH3_64bits_digest(w->sum);
    tc__file_tail_write(&w->tail, tail);
    TC_TRY(put(w, tail, sizeof tail));
    int error = tc__sync_file(w->io, w->fd);
    return error == 0 ? TC_OK : tc__files_fail(w->err, "cannot sync", w->path, error);
}

tc_status tc__files_write(struct tc_files *f, const char *path, int fd, struct tc_slice bytes,
                          struct tc__file_tail *out, struct tc_error *err)
{
    struct writing w = {.io = &f->io, .path = path, .err = err};
    w.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (w.fd < 0) {
        return tc__files_fail(err, "cannot make", path, errno);
    }
    w.stream = ZSTD_createCStream();
    w.in = malloc(TC__FILE_STEP);
    w.out = malloc(TC__FILE_STEP);
    w.sum = XXH3_createState();
    tc_status status = TC_OK;
    if (w.stream == NULL || w.in == NULL || w.out == NULL || w.sum == NULL) {
        status = tc_fail(err, TC_E_NOMEM, 0, "no memory to compress a file");
    } else {
        status = write_all(&w, fd, bytes);
    }
    (void)ZSTD_freeCStream(w.stream);
    (void)XXH3_freeState(w.sum);
    free(w.in);
    free(w.out);
    (void)close(w.fd);
    if (status == TC_OK) {
        *out = w.tail;
    }
    return status;
}
