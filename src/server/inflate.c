/* SPDX-License-Identifier: Apache-2.0 */
#include "server/inflate.h"

#define ZLIB_CONST /* zlib reads through a pointer to const */

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

/* 15 bits of window, and gzip's header and trailer around it. */
#define GZIP_WINDOW_BITS (15 + 16)
/* The window that RFC 8878 asks every decoder to have: 8 MiB. */
#define ZSTD_WINDOW_LOG_MAX 23
/* A first guess at the content's size, in sizes of what came. Telemetry shrinks about that much. */
#define GUESS_FACTOR 6
#define FIRST_BYTES_MIN 4096

struct tc_inflater {
    z_stream gzip;
    ZSTD_DCtx *zstd;
};

enum tc_encoding tc_encoding_parse(struct tc_slice name)
{
    if (name.len == 0 || tc_slice_eq_nocase(name, TC_LIT("identity"))) {
        return TC_ENCODING_NONE;
    }
    if (tc_slice_eq_nocase(name, TC_LIT("gzip")) || tc_slice_eq_nocase(name, TC_LIT("x-gzip"))) {
        return TC_ENCODING_GZIP;
    }
    return tc_slice_eq_nocase(name, TC_LIT("zstd")) ? TC_ENCODING_ZSTD : TC_ENCODING_UNKNOWN;
}

struct tc_inflater *tc_inflater_create(void)
{
    struct tc_inflater *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return NULL;
    }
    f->zstd = ZSTD_createDCtx();
    if (f->zstd == NULL || inflateInit2(&f->gzip, GZIP_WINDOW_BITS) != Z_OK) {
        ZSTD_freeDCtx(f->zstd);
        free(f);
        return NULL;
    }
    (void)ZSTD_DCtx_setParameter(f->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
    return f;
}

void tc_inflater_destroy(struct tc_inflater *f)
{
    if (f != NULL) {
        ZSTD_freeDCtx(f->zstd);
        (void)inflateEnd(&f->gzip);
        free(f);
    }
}

static tc_status too_long(struct tc_error *err, size_t bytes_max)
{
    return tc_fail(err, TC_E_LIMIT, 0, "the body is longer than %zu bytes once decompressed",
                   bytes_max);
}

/* Room for more in *io, but for no more than bytes_max and the one byte that shows it is over. */
static tc_status make_room(struct tc_buffer **io, size_t bytes_max, struct tc_error *err)
{
    if ((*io)->len > bytes_max) {
        return too_long(err, bytes_max);
    }
    if ((*io)->len < (*io)->cap) {
        return TC_OK;
    }
    size_t want = (*io)->cap * 2 > bytes_max + 1 ? bytes_max + 1 : (*io)->cap * 2;
    struct tc_buffer *larger = tc_buffer_grow(*io, want);
    if (larger == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a decompressed body");
    }
    *io = larger;
    return TC_OK;
}

/* What may be written now: the buffer's room, up to one byte over the limit. */
static size_t room_in(const struct tc_buffer *b, size_t bytes_max)
{
    size_t end = b->cap < bytes_max + 1 ? b->cap : bytes_max + 1;
    return end > b->len ? end - b->len : 0;
}

/* Several members one after another are one content, as gzip has it. */
static tc_status inflate_gzip(struct tc_inflater *f, struct tc_slice bytes, size_t bytes_max,
                              struct tc_buffer **io, struct tc_error *err)
{
    z_stream *z = &f->gzip;
    if (bytes.len > UINT_MAX || inflateReset(z) != Z_OK) {
        return tc_fail(err, TC_E_LIMIT, 0, "a gzip body of %zu bytes is too long", bytes.len);
    }
    z->next_in = (const Bytef *)bytes.ptr;
    z->avail_in = (uInt)bytes.len;
    for (;;) {
        TC_TRY(make_room(io, bytes_max, err));
        size_t room = room_in(*io, bytes_max);
        z->next_out = (*io)->data + (*io)->len;
        z->avail_out = room > UINT_MAX ? UINT_MAX : (uInt)room;
        uInt before = z->avail_out;
        int rc = inflate(z, Z_NO_FLUSH);
        (*io)->len += before - z->avail_out;
        if (rc == Z_STREAM_END) {
            if (z->avail_in == 0) {
                return (*io)->len > bytes_max ? too_long(err, bytes_max) : TC_OK;
            }
            if (inflateReset(z) != Z_OK) {
                return tc_fail(err, TC_E_MALFORMED, 0, "gzip: cannot go on");
            }
            continue;
        }
        size_t offset = bytes.len - z->avail_in;
        if (rc != Z_OK && rc != Z_BUF_ERROR) {
            return tc_fail(err, TC_E_MALFORMED, offset, "gzip: %s at byte %zu",
                           z->msg == NULL ? "damaged" : z->msg, offset);
        }
        if (z->avail_in == 0 && z->avail_out > 0) {
            return tc_fail(err, TC_E_MALFORMED, offset, "gzip: cut off at byte %zu", offset);
        }
    }
}

static tc_status inflate_zstd(struct tc_inflater *f, struct tc_slice bytes, size_t bytes_max,
                              struct tc_buffer **io, struct tc_error *err)
{
    ZSTD_inBuffer in = {.src = bytes.ptr, .size = bytes.len};
    (void)ZSTD_DCtx_reset(f->zstd, ZSTD_reset_session_only);
    for (;;) {
        TC_TRY(make_room(io, bytes_max, err));
        ZSTD_outBuffer out = {.dst = (*io)->data + (*io)->len, .size = room_in(*io, bytes_max)};
        size_t rest = ZSTD_decompressStream(f->zstd, &out, &in);
        (*io)->len += out.pos;
        if (ZSTD_isError(rest)) {
            return tc_fail(err, TC_E_MALFORMED, in.pos, "zstd: %s at byte %zu",
                           ZSTD_getErrorName(rest), in.pos);
        }
        /* 0: a frame has ended and everything of it is out; another one may follow. */
        if (rest == 0 && in.pos == in.size) {
            return (*io)->len > bytes_max ? too_long(err, bytes_max) : TC_OK;
        }
        if (in.pos == in.size && out.pos < out.size) {
            return tc_fail(err, TC_E_MALFORMED, in.pos, "zstd: cut off at byte %zu", in.pos);
        }
    }
}

/* How much to take at first: what a zstd frame says of itself, else a guess; never over the limit.
 */
static size_t first_size(enum tc_encoding encoding, struct tc_slice bytes, size_t bytes_max)
{
    size_t guess = bytes.len > SIZE_MAX / GUESS_FACTOR ? bytes_max : bytes.len * GUESS_FACTOR;
    if (encoding == TC_ENCODING_ZSTD) {
        unsigned long long said = ZSTD_getFrameContentSize(bytes.ptr, bytes.len);
        /* One byte more, so that the end is seen without growing. A frame may lie: what it says
         * beyond a plausible ratio is not taken in advance. */
        if (said < ZSTD_CONTENTSIZE_ERROR - 1 && said < guess * GUESS_FACTOR) {
            guess = (size_t)said + 1;
        }
    }
    guess = guess < FIRST_BYTES_MIN ? FIRST_BYTES_MIN : guess;
    return guess > bytes_max + 1 ? bytes_max + 1 : guess;
}

tc_status tc_inflate(struct tc_inflater *f, enum tc_encoding encoding, struct tc_slice bytes,
                     struct tc_pool *pool, size_t bytes_max, struct tc_buffer **out,
                     struct tc_error *err)
{
    struct tc_buffer *b = tc_pool_take(pool, first_size(encoding, bytes, bytes_max));
    if (b == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a decompressed body");
    }
    b->len = 0;
    tc_status status = encoding == TC_ENCODING_GZIP ? inflate_gzip(f, bytes, bytes_max, &b, err)
                                                    : inflate_zstd(f, bytes, bytes_max, &b, err);
    if (status != TC_OK) {
        tc_buffer_give(b);
        return status;
    }
    *out = b;
    return TC_OK;
}
