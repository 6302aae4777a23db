/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the store: opening, one body, one digest. */
#include "evidence/evidence_priv.h"
#include "evidence/pack_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* A body buffer larger than this is given back after use. */
#define BODY_KEPT ((size_t)64 << 20)

tc_status tc_evidence_open(const char *dir, struct tc_evidence **out_evidence, struct tc_error *err)
{
    size_t len = strlen(dir);
    char path[TC__PATH_MAX];
    struct stat st;
    if (len == 0 || len >= TC__DIR_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "the store's directory needs a name of 1 to %d bytes",
                       TC__DIR_MAX - 1);
    }
    tc__path(path, dir, "open", NULL);
    if (stat(path, &st) != 0) {
        return errno == ENOENT || errno == ENOTDIR
                   ? tc_fail(err, TC_E_NOTFOUND, 0, "%s: there is no evidence store", dir)
                   : tc_fail(err, TC_E_IO, 0, "cannot open %s: %s", path, strerror(errno));
    }
    struct tc_evidence *e = calloc(1, sizeof *e);
    if (e == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to read evidence");
    }
    memcpy(e->dir, dir, len + 1);
    e->index.fd = -1;
    e->fetched_fd = -1;
    e->window = malloc(TC__WINDOW_BYTES);
    e->decompressor = ZSTD_createDCtx();
    if (e->window == NULL || e->decompressor == NULL) {
        tc_evidence_close(e);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to read evidence");
    }
    *out_evidence = e;
    return TC_OK;
}

void tc_evidence_close(struct tc_evidence *e)
{
    if (e == NULL) {
        return;
    }
    (void)ZSTD_freeDCtx(e->decompressor);
    tc__index_close(&e->index);
    tc__remote_close(e);
    free(e->window);
    free(e->body);
    free(e->cites);
    free(e);
}

static tc_status open_source(struct tc_evidence *e, struct tc__source *out, struct tc_error *err)
{
    out->fd = open(out->path, O_RDONLY | O_CLOEXEC);
    if (out->fd < 0) {
        return errno == ENOENT
                   ? tc_fail(err, TC_E_NOTFOUND, 0, "%s is not there", out->path)
                   : tc_fail(err, TC_E_IO, 0, "cannot open %s: %s", out->path, strerror(errno));
    }
    if (!tc__scan_open(&out->scan, out->fd, e->window)) {
        int error = out->scan.error;
        tc__source_close(out);
        return tc_fail(err, TC_E_IO, 0, "cannot read %s: %s", out->path, strerror(error));
    }
    return TC_OK;
}

tc_status tc__source_segment(struct tc_evidence *e, uint64_t seq, struct tc__source *out,
                             struct tc_error *err)
{
    tc__path_segment(out->path, e->dir, seq);
    out->is_object = false;
    return open_source(e, out, err);
}

tc_status tc__source_object(struct tc_evidence *e, const struct tc__object *o,
                            struct tc__source *out, struct tc_error *err)
{
    char hex[TC__HEX_BYTES];
    tc__hex(hex, &o->digest);
    tc_status status = TC_E_NOTFOUND;
    /* Its line is written before it gets its name: it may be in either place, or on its way. */
    for (size_t i = 0; i < 2 && status == TC_E_NOTFOUND; i++) {
        tc__path_object(out->path, e->dir, hex, false);
        out->is_object = true;
        status = open_source(e, out, err);
        if (status == TC_E_NOTFOUND) {
            status = tc__source_segment(e, o->seq, out, err);
        }
    }
    if (status == TC_E_NOTFOUND && tc__is_shipped(e, o)) {
        return tc__source_remote(e, o, out, err);
    }
    if (status == TC_E_NOTFOUND) {
        tc__path_object(out->path, e->dir, hex, false);
        return tc_fail(err, TC_E_NOTFOUND, 0, "%s is in the index but not there", out->path);
    }
    return status;
}

void tc__source_close(struct tc__source *source)
{
    if (source->fd >= 0) {
        (void)close(source->fd);
        source->fd = -1;
    }
}

/* Room for a body; a large one of before is given back first. */
static bool body_room(struct tc_evidence *e, uint64_t len)
{
    if (e->body_cap >= len && (e->body_cap <= BODY_KEPT || len > BODY_KEPT)) {
        return true;
    }
    free(e->body);
    e->body_cap = 0;
    e->body = malloc(len == 0 ? 1 : (size_t)len);
    if (e->body == NULL) {
        return false;
    }
    e->body_cap = (size_t)len;
    return true;
}

/* One piece into its place. Never more than the header said, whatever the payload holds. */
static bool unpack(struct tc_evidence *e, struct tc__source *source, uint64_t at,
                   const struct tc__piece *p)
{
    const char *bytes = tc__scan_view(&source->scan, at, tc__piece_disk(p), true);
    if (bytes == NULL) {
        return false;
    }
    const char *named = bytes + TC__PIECE_BYTES;
    const char *payload = named + p->name_len;
    size_t len = (size_t)p->payload_len;
    return tc__sum(named, p->name_len + len, p->id) == p->payload_sum &&
           tc__unpack(e->decompressor, p, payload, e->body + p->piece_at);
}

/* The pieces of a batch up to `len` bytes of its body. */
static tc_status read_pieces(struct tc_evidence *e, struct tc__source *source,
                             const struct tc__batch *batch, uint64_t len, struct tc_slice *out,
                             struct tc_error *err)
{
    uint64_t at = batch->at;
    uint64_t end = batch->at + batch->disk;
    uint64_t done = 0;
    if (!body_room(e, len)) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the %llu bytes of batch %llu",
                       (unsigned long long)len, (unsigned long long)batch->first.number);
    }
    while (at < end && (done < len || len == 0)) {
        uint64_t piece_at = at;
        struct tc__piece p;
        if (!tc__scan_piece(&source->scan, &at, &p) || p.number != batch->first.number ||
            p.body_len != batch->first.body_len || p.piece_at > len ||
            p.piece_len > len - p.piece_at || !unpack(e, source, piece_at, &p)) {
            return source->scan.error != 0
                       ? tc_fail(err, TC_E_IO, (size_t)piece_at, "cannot read %s: %s", source->path,
                                 strerror(source->scan.error))
                       : tc_fail(err, TC_E_MALFORMED, (size_t)piece_at,
                                 "%s: offset %llu: batch %llu is damaged", source->path,
                                 (unsigned long long)piece_at,
                                 (unsigned long long)batch->first.number);
        }
        done = p.piece_at + p.piece_len;
    }
    *out = tc_slice_make(e->body, (size_t)len);
    return TC_OK;
}

tc_status tc__read_body(struct tc_evidence *e, struct tc__source *source,
                        const struct tc__batch *batch, struct tc_slice *out, struct tc_error *err)
{
    return read_pieces(e, source, batch, batch->first.body_len, out, err);
}

tc_status tc__read_beginning(struct tc_evidence *e, struct tc__source *source,
                             const struct tc__batch *batch, struct tc_slice *out,
                             struct tc_error *err)
{
    return read_pieces(e, source, batch, batch->first.piece_len, out, err);
}

/* The batch in an open file. TC_E_NOTFOUND: it is not in this one. */
static tc_status body_in(struct tc_evidence *e, struct tc__source *source, uint64_t number,
                         struct tc_slice *out, struct tc_error *err)
{
    struct tc__batch b;
    tc_status status = TC_E_NOTFOUND;
    tc__scan_seek(&source->scan, number);
    for (;;) {
        enum tc__found found = tc__scan_next(&source->scan, false, &b);
        bool is_it = b.first.number == number && number > 0;
        if (found == TC__FOUND_BATCH && is_it) {
            return tc__read_body(e, source, &b, out, err);
        }
        if ((found == TC__FOUND_SKIP || found == TC__FOUND_BAD) && is_it) {
            /* Unless a whole one of that number follows. */
            status = tc_fail(err, TC_E_MALFORMED, (size_t)b.at,
                             "%s: offset %llu: batch %llu is damaged%s", source->path,
                             (unsigned long long)b.at, (unsigned long long)number,
                             found == TC__FOUND_SKIP ? " and was set aside in quarantine" : "");
        }
        if (found == TC__FOUND_IO) {
            return tc_fail(err, TC_E_IO, (size_t)b.at, "cannot read %s: %s", source->path,
                           strerror(source->scan.error));
        }
        if (found == TC__FOUND_END || found == TC__FOUND_TORN ||
            (found == TC__FOUND_BATCH && b.first.number > number)) {
            return status;
        }
    }
}

/* Opened, searched, closed. */
static tc_status body_at(struct tc_evidence *e, const struct tc__object *o, uint64_t seq,
                         uint64_t number, struct tc_slice *out, struct tc_error *err)
{
    struct tc__source source;
    TC_TRY(o != NULL ? tc__source_object(e, o, &source, err)
                     : tc__source_segment(e, seq, &source, err));
    tc_status status = body_in(e, &source, number, out, err);
    tc__source_close(&source);
    return status;
}

static tc_status look_for_body(struct tc_evidence *e, uint64_t number, bool *out_again,
                               struct tc_slice *out, struct tc_error *err)
{
    size_t count = 0;
    struct tc__object o;
    *out_again = false;
    /* First what is open, then the index: what is sealed in between is seen in one of them. */
    int error = tc__list_open(e->dir, e->open, TC__READ_OPEN_MAX, &count);
    error = error == 0 ? tc__index_open(&e->index, e->dir) : error;
    if (error != 0) {
        return tc_fail(err, TC_E_IO, 0, "cannot read %s: %s", e->dir, strerror(error));
    }
    uint64_t line = tc__index_search(&e->index, number);
    bool listed = tc__index_line(&e->index, line, &o) && o.totals.first <= number;
    tc__index_close(&e->index);
    if (listed && o.state == TC__OBJECT_KEPT) {
        return body_at(e, &o, 0, number, out, err);
    }
    if (tc__find_shipped(e, number, &o)) {
        return body_at(e, &o, 0, number, out, err);
    }
    /* The last segment that begins at or before it. */
    for (size_t i = count; i > 0 && !listed; i--) {
        if (e->open[i - 1] > number) {
            continue;
        }
        tc_status status = body_at(e, NULL, e->open[i - 1], number, out, err);
        *out_again = status == TC_E_NOTFOUND && err != NULL && err->status == TC_E_NOTFOUND;
        return status;
    }
    return TC_E_NOTFOUND;
}

tc_status tc_evidence_body(struct tc_evidence *e, uint64_t number, struct tc_slice *out_body,
                           struct tc_error *err)
{
    struct tc_error why = {0};
    bool again = true;
    tc_status status = TC_E_NOTFOUND;
    for (size_t i = 0; i < TC__LOOK_MAX && again; i++) {
        why = (struct tc_error){0};
        status = look_for_body(e, number, &again, out_body, &why);
    }
    if (status == TC_E_NOTFOUND && why.status == TC_OK) {
        return tc_fail(err, TC_E_NOTFOUND, 0, "%s holds no batch %llu", e->dir,
                       (unsigned long long)number);
    }
    if (status != TC_OK && err != NULL) {
        *err = why;
    }
    return status;
}
