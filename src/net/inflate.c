/* SPDX-License-Identifier: Apache-2.0 */
#include "net/inflate.h"

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

/* A piece of content that is only measured. */
#define PIECE_BYTES ((size_t)64 << 10)

struct tc_inflater {
    z_stream gzip;
    ZSTD_DCtx *zstd;
    unsigned char piece[PIECE_BYTES];
};

/*
 * Where content goes: to the end of a buffer, or nowhere, when only its length is wanted.
 * Invariant: len is all that came so far.
 */
struct target {
    struct tc_buffer *buffer; /* NULL: it is measured */
    unsigned char *piece;
    size_t len;
    size_t bytes_max;
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

/* Where the next bytes may go, up to one byte over the limit. TC_E_NOMEM: the pool is spent. */
static tc_status make_room(struct target *t, unsigned char **out, size_t *out_room,
                           struct tc_error *err)
{
    size_t left = t->len > t->bytes_max ? 0 : t->bytes_max + 1 - t->len;
    if (left == 0) {
        return too_long(err, t->bytes_max);
    }
    if (t->buffer == NULL) {
        *out = t->piece;
        *out_room = left < PIECE_BYTES ? left : PIECE_BYTES;
        return TC_OK;
    }
    if (t->len == t->buffer->cap) {
        size_t want = left < t->buffer->cap ? t->bytes_max + 1 : t->buffer->cap * 2;
        t->buffer->len = t->len;
        struct tc_buffer *larger = tc_buffer_grow(t->buffer, want);
        if (larger == NULL) {
            return tc_fail(err, TC_E_NOMEM, 0, "no memory for a decompressed body");
        }
        t->buffer = larger;
    }
    size_t room = t->buffer->cap - t->len;
    *out = t->buffer->data + t->len;
    *out_room = room < left ? room : left;
    return TC_OK;
}

static tc_status done(const struct target *t, struct tc_error *err)
{
    return t->len > t->bytes_max ? too_long(err, t->bytes_max) : TC_OK;
}

/* Several members one after another are one content, as gzip has it. */
static tc_status inflate_gzip(struct tc_inflater *f, struct tc_slice bytes, struct target *t,
                              struct tc_error *err)
{
    z_stream *z = &f->gzip;
    if (bytes.len > UINT_MAX || inflateReset(z) != Z_OK) {
        return tc_fail(err, TC_E_LIMIT, 0, "a gzip body of %zu bytes is too long", bytes.len);
    }
    z->next_in = (const Bytef *)bytes.ptr;
    z->avail_in = (uInt)bytes.len;
    for (;;) {
        size_t room = 0;
        TC_TRY(make_room(t, &z->next_out, &room, err));
        z->avail_out = room > UINT_MAX ? UINT_MAX : (uInt)room;
        uInt before = z->avail_out;
        int rc = inflate(z, Z_NO_FLUSH);
        t->len += before - z->avail_out;
        if (rc == Z_STREAM_END) {
            if (z->avail_in == 0) {
                return done(t, err);
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

static tc_status inflate_zstd(struct tc_inflater *f, struct tc_slice bytes, struct target *t,
                              struct tc_error *err)
{
    ZSTD_inBuffer in = {.src = bytes.ptr, .size = bytes.len};
    (void)ZSTD_DCtx_reset(f->zstd, ZSTD_reset_session_only);
    for (;;) {
        ZSTD_outBuffer out = {0};
        unsigned char *to = NULL;
        TC_TRY(make_room(t, &to, &out.size, err));
        out.dst = to;
        size_t rest = ZSTD_decompressStream(f->zstd, &out, &in);
        t->len += out.pos;
        if (ZSTD_isError(rest)) {
            return tc_fail(err, TC_E_MALFORMED, in.pos, "zstd: %s at byte %zu",
                           ZSTD_getErrorName(rest), in.pos);
        }
        /* 0: a frame has ended and everything of it is out; another one may follow. */
        if (rest == 0 && in.pos == in.size) {
            return done(t, err);
        }
        if (in.pos == in.size && out.pos < out.size) {
            return tc_fail(err, TC_E_MALFORMED, in.pos, "zstd: cut off at byte %zu", in.pos);
        }
    }
}

static tc_status inflate_to(struct tc_inflater *f, enum tc_encoding encoding, struct tc_slice bytes,
                            struct target *t, struct tc_error *err)
{
    return encoding == TC_ENCODING_GZIP ? inflate_gzip(f, bytes, t, err)
                                        : inflate_zstd(f, bytes, t, err);
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

/*
 * Growing needs the old buffer and the new one at once. Where the pool has not got both, the length
 * is measured first: a bomb is told to be one, and the rest takes what it needs and no more.
 */
static tc_status measured(struct tc_inflater *f, enum tc_encoding encoding, struct tc_slice bytes,
                          struct tc_pool *pool, struct target *t, struct tc_error *err)
{
    tc_buffer_give(t->buffer);
    *t = (struct target){.piece = f->piece, .bytes_max = t->bytes_max};
    TC_TRY(inflate_to(f, encoding, bytes, t, err));
    size_t wanted = t->len + 1;
    t->buffer = tc_pool_take(pool, wanted);
    t->len = 0;
    if (t->buffer == NULL) {
        return tc_fail(err, TC_E_NOMEM, wanted, "no memory for a decompressed body");
    }
    return inflate_to(f, encoding, bytes, t, err);
}

tc_status tc_inflate(struct tc_inflater *f, enum tc_encoding encoding, struct tc_slice bytes,
                     struct tc_pool *pool, size_t bytes_max, struct tc_buffer **out,
                     struct tc_error *err)
{
    struct target t = {.bytes_max = bytes_max};
    t.buffer = tc_pool_take(pool, first_size(encoding, bytes, bytes_max));
    tc_status status = t.buffer == NULL ? TC_E_NOMEM : inflate_to(f, encoding, bytes, &t, err);
    if (status == TC_E_NOMEM) {
        status = measured(f, encoding, bytes, pool, &t, err);
    }
    if (status != TC_OK) {
        tc_buffer_give(t.buffer);
        return status;
    }
    t.buffer->len = t.len;
    *out = t.buffer;
    return TC_OK;
}
