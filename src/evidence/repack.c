/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A segment as it was written, with LZ4, becomes one with zstd: the same batches, names, times and
 * numbers. It is written beside the other (open/SEQ.new), synced a little at a time so that no
 * commit waits for a long sync, and renamed over it when all of it is durable. Nothing of the old
 * one is trusted: every checksum is looked at on the way.
 */
#include "evidence/pack_priv.h"
#include "evidence/store_priv.h"

#define ZSTD_STATIC_LINKING_ONLY /* a compressor in memory of ours never allocates */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

/* Written when there is so much of it. */
#define OUT_BYTES ((size_t)256 << 10)
/* Synced when there is so much of it: what one sync of another file may have to wait for. */
#define SYNC_BYTES ((uint64_t)2 << 20)
/* Bytes of bodies between two pauses: about a millisecond of work. */
#define STEP_BYTES ((uint64_t)256 << 10)

/* What is needed while it lasts: some 3 MiB that are given back. */
struct repack {
    struct tc_store *s;
    const struct tc_store_pause *pause;
    struct tc__scan scan;
    struct tc__segment new;
    struct tc_sha256 sha;
    char path[TC__PATH_MAX];
    char *memory;
    char *body; /* TC__PIECE_MAX */
    char *out;  /* OUT_BYTES and a piece */
    size_t out_len;
    uint64_t unsynced;
    uint64_t since_pause;
    struct ZSTD_CCtx_s *zstd; /* in memory too */
};

static void path_of(char *out, const struct tc_store *s, uint64_t seq)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%020llu.new", (unsigned long long)seq);
    tc__path(out, s->dir, "open", name);
}

static tc_status io_error(struct repack *r, int error, const char *what, struct tc_error *err)
{
    return tc_fail(err, TC_E_IO, 0, "cannot %s %s: %s", what, r->path, strerror(error));
}

static tc_status make_memory(struct repack *r, struct tc_error *err)
{
    int level = r->s->config.compression;
    size_t workspace = ZSTD_estimateCCtxSize(level);
    r->memory = malloc(workspace + OUT_BYTES + TC__WINDOW_BYTES + TC__PIECE_MAX);
    if (r->memory == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to compress a segment anew");
    }
    r->out = r->memory + workspace;
    r->body = r->out + OUT_BYTES + TC__WINDOW_BYTES;
    r->zstd = ZSTD_initStaticCCtx(r->memory, workspace);
    /* Memory of ours comes without the defaults, such as that a frame says how long its content is.
     */
    if (r->zstd == NULL ||
        ZSTD_isError(ZSTD_CCtx_reset(r->zstd, ZSTD_reset_session_and_parameters)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(r->zstd, ZSTD_c_compressionLevel, level))) {
        return tc_fail(err, TC_E_USAGE, 0, "evidence compression level %d is not one of zstd's",
                       level);
    }
    return TC_OK;
}

static tc_status flush(struct repack *r, struct tc_error *err)
{
    const struct tc_store_io *io = &r->s->config.io;
    int error = tc__write_all(io, r->new.fd, r->out, r->out_len);
    if (error != 0) {
        return io_error(r, error, "write", err);
    }
    tc_sha256_update(&r->sha, tc_slice_make(r->out, r->out_len));
    r->new.now.size += r->out_len;
    r->unsynced += r->out_len;
    r->out_len = 0;
    if (r->unsynced >= SYNC_BYTES) {
        r->unsynced = 0;
        error = tc__sync_file(io, r->new.fd);
    }
    return error == 0 ? TC_OK : io_error(r, error, "sync", err);
}

static tc_status damaged(struct repack *r, uint64_t at, struct tc_error *err)
{
    return r->scan.error != 0
               ? tc_fail(err, TC_E_IO, 0, "cannot read segment %llu: %s",
                         (unsigned long long)r->new.seq, strerror(r->scan.error))
               : tc_fail(err, TC_E_MALFORMED, (size_t)at, "segment %llu is damaged at offset %llu",
                         (unsigned long long)r->new.seq, (unsigned long long)at);
}

/* One piece, whose checksum was looked at, from *io_at of the old file to the buffer. */
static tc_status copy_piece(struct repack *r, uint64_t *io_at, struct tc_error *err)
{
    struct tc__piece p;
    uint64_t at = *io_at;
    const char *bytes = NULL;
    if (tc__scan_piece(&r->scan, io_at, &p)) {
        bytes = tc__scan_view(&r->scan, at, tc__piece_disk(&p), true);
    }
    if (bytes == NULL || !p.is_lz4) {
        return damaged(r, at, err);
    }
    const char *name = bytes + TC__PIECE_BYTES;
    if (!tc__unpack_lz4(&p, name + p.name_len, r->body)) {
        return damaged(r, at, err);
    }
    char *out = r->out + r->out_len;
    char *payload = out + TC__PIECE_BYTES + p.name_len;
    memcpy(out + TC__PIECE_BYTES, name, p.name_len);
    size_t done = ZSTD_compress2(r->zstd, payload, TC__PAYLOAD_MAX, r->body, (size_t)p.piece_len);
    if (ZSTD_isError(done)) {
        return tc_fail(err, TC_E_IO, 0, "cannot compress batch %llu: %s",
                       (unsigned long long)p.number, ZSTD_getErrorName(done));
    }
    p.is_lz4 = false;
    p.payload_len = done;
    p.payload_sum = tc__sum(out + TC__PIECE_BYTES, p.name_len + done, p.id);
    tc__piece_put(out, &p, r->new.now.size + r->out_len);
    r->out_len += (size_t)tc__piece_disk(&p);
    r->since_pause += p.piece_len;
    return TC_OK;
}

static tc_status rest(struct repack *r, struct tc_error *err)
{
    if (r->since_pause < STEP_BYTES) {
        return TC_OK;
    }
    r->since_pause = 0;
    if (r->pause->go_on != NULL && !r->pause->go_on(r->pause->context)) {
        return tc_fail(err, TC_E_AGAIN, 0, "sealing was stopped");
    }
    /* Others became full meanwhile: a segment may take minutes while the core is wanted. */
    return tc__too_many_wait(r->s) ? tc_fail(err, TC_E_LIMIT, 0, "too many segments wait") : TC_OK;
}

static tc_status copy_batch(struct repack *r, const struct tc__batch *b, struct tc_error *err)
{
    struct tc__segment *g = &r->new;
    uint64_t offset = g->now.size + r->out_len;
    for (uint64_t at = b->at; at < b->at + b->disk;) {
        TC_TRY(copy_piece(r, &at, err));
        if (r->out_len >= OUT_BYTES) {
            TC_TRY(flush(r, err));
        }
        TC_TRY(rest(r, err));
    }
    tc__table_add(&g->table, b->first.number, offset);
    tc__totals_add(&g->now.totals, b->first.number, b->first.arrival_ns, b->first.body_len);
    return TC_OK;
}

static tc_status copy_batches(struct repack *r, struct tc_error *err)
{
    struct tc__batch b;
    enum tc__found found = TC__FOUND_BATCH;
    while ((found = tc__scan_next(&r->scan, true, &b)) == TC__FOUND_BATCH) {
        TC_TRY(copy_batch(r, &b, err));
    }
    bool is_whole = found == TC__FOUND_END &&
                    memcmp(&r->new.now.totals, &r->scan.end.totals, sizeof r->scan.end.totals) == 0;
    return is_whole ? flush(r, err) : damaged(r, b.at, err);
}

/* The new file, from its header to its end, durable. */
static tc_status write_new(struct repack *r, struct tc_error *err)
{
    struct tc__segment *g = &r->new;
    g->fd = open(r->path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0640);
    if (g->fd < 0) {
        return io_error(r, errno, "make", err);
    }
    struct tc__head head = r->scan.head;
    head.version = TC__SEGMENT_VERSION_ZSTD;
    tc__head_put(r->out, &head);
    r->out_len = TC__HEAD_BYTES;
    TC_TRY(copy_batches(r, err));
    g->durable = g->now;
    return tc__put_end(r->s, g, r->s->scratch, &r->sha, err);
}

/* In the place of the old one, so that the next start, too, finds one or the other. */
static tc_status replace(struct repack *r, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    char folder[TC__PATH_MAX];
    const struct tc_store_io *io = &r->s->config.io;
    tc__path_segment(path, r->s->dir, r->new.seq);
    tc__path(folder, r->s->dir, "open", NULL);
    if (io->rename(r->path, path) != 0) {
        return io_error(r, errno, "rename", err);
    }
    /* Before its line says what it is: a line of bytes that a loss of power undoes helps nobody. */
    int error = tc__sync_dir(io, folder);
    return error == 0 ? TC_OK : io_error(r, error, "sync the folder of", err);
}

tc_status tc__repack(struct tc_store *s, struct tc__segment *io_segment,
                     const struct tc_store_pause *pause, struct tc_sha256 *out_sha,
                     struct tc_error *err)
{
    struct repack *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to compress a segment anew");
    }
    r->s = s;
    r->pause = pause;
    r->new = (struct tc__segment){.fd = -1, .seq = io_segment->seq, .table.stride = 1};
    tc__totals_init(&r->new.now.totals);
    tc_sha256_init(&r->sha);
    path_of(r->path, s, io_segment->seq);
    tc_status status = make_memory(r, err);
    if (status == TC_OK && !tc__scan_open(&r->scan, io_segment->fd, s->window)) {
        status = damaged(r, 0, err);
    }
    r->new.id = r->scan.id;
    status = status == TC_OK ? write_new(r, err) : status;
    status = status == TC_OK ? replace(r, err) : status;
    if (status == TC_OK) {
        (void)close(io_segment->fd);
        *io_segment = r->new;
        *out_sha = r->sha;
    } else if (r->new.fd >= 0) {
        (void)close(r->new.fd);
        (void)unlink(r->path);
    }
    free(r->memory);
    free(r);
    return status;
}

tc_status tc__remove_unfinished(struct tc_store *s, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    tc__path(path, s->dir, "open", NULL);
    DIR *d = opendir(path);
    if (d == NULL) {
        return tc__store_io_error(s, errno, "list", path, err);
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        struct tc_slice name = tc_slice_cstr(e->d_name);
        if (name.len < 64 && tc_slice_ends(name, TC_LIT(".new"))) {
            tc__path(path, s->dir, "open", e->d_name);
            (void)unlink(path);
        }
    }
    (void)closedir(d);
    return TC_OK;
}
