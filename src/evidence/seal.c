/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a segment to an object: its table and end record; its batches compressed anew; its line in
 * the index; its name. In that order, so that whenever the process dies the segment is in open/ or
 * the object has its line, and an object never changes.
 */
#include "base/assert.h"
#include "evidence/store_priv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Commits between two attempts at what failed. */
#define SEAL_WAIT 64
/* So many segments may wait to be compressed anew, and together take this part of keep_bytes. */
#define WAITING_MAX 64
#define WAITING_PART 4

static_assert(TC__SCRATCH_BYTES >= TC__PIECE_BYTES + TC__TABLE_BYTES_MAX, "a table fits");

/* ---- the segments that wait ---- */

bool tc__unsealed_add(struct tc_store *s, const struct tc__unsealed *w)
{
    struct tc__shared *shared = s->shared;
    (void)pthread_mutex_lock(&shared->mutex);
    bool has_room = shared->waiting_count < TC__OPEN_MAX;
    if (has_room) {
        shared->waiting[shared->waiting_count++] = *w;
        shared->waiting_bytes += w->size;
    }
    (void)pthread_mutex_unlock(&shared->mutex);
    return has_room;
}

/* The oldest; false when none waits. */
static bool first_unsealed(struct tc_store *s, struct tc__unsealed *out)
{
    struct tc__shared *shared = s->shared;
    (void)pthread_mutex_lock(&shared->mutex);
    bool any = shared->waiting_count > 0;
    if (any) {
        *out = shared->waiting[0];
    }
    (void)pthread_mutex_unlock(&shared->mutex);
    return any;
}

static void remove_unsealed(struct tc_store *s, uint64_t seq)
{
    struct tc__shared *shared = s->shared;
    (void)pthread_mutex_lock(&shared->mutex);
    struct tc__unsealed *w = shared->waiting;
    TC_ASSERT(shared->waiting_count > 0 && w->seq == seq);
    shared->waiting_bytes -= w->size;
    shared->waiting_count--;
    memmove(w, w + 1, shared->waiting_count * sizeof *w);
    (void)pthread_mutex_unlock(&shared->mutex);
}

bool tc__too_many_wait(struct tc_store *s)
{
    struct tc__shared *shared = s->shared;
    (void)pthread_mutex_lock(&shared->mutex);
    bool too_many = shared->waiting_count > WAITING_MAX ||
                    (shared->waiting_count > 1 && s->config.keep_bytes > 0 &&
                     shared->waiting_bytes > s->config.keep_bytes / WAITING_PART);
    (void)pthread_mutex_unlock(&shared->mutex);
    return too_many;
}

void tc__retire_segment(struct tc_store *s, bool needs_cut)
{
    struct tc__segment *g = &s->segment;
    /* Where the list is full the next start finds the file. */
    (void)tc__unsealed_add(s, &(struct tc__unsealed){.seq = g->seq,
                                                     .size = g->durable.size,
                                                     .needs_cut = needs_cut,
                                                     .batches = g->durable.totals.batches,
                                                     .body_bytes = g->durable.totals.body_bytes});
    (void)pthread_mutex_lock(&s->shared->mutex);
    s->shared->open = (struct tc__totals){0};
    s->shared->open_bytes = 0;
    (void)pthread_mutex_unlock(&s->shared->mutex);
    (void)close(g->fd);
    g->fd = -1;
}

/* ---- its end ---- */

tc_status tc__put_end(struct tc_store *s, struct tc__segment *g, char *buffer,
                      struct tc_sha256 *sha, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    struct tc__end end = {
        .totals = g->durable.totals,
        .id = g->id,
        .table_at = g->durable.size,
        .entries = g->table.count,
    };
    char *table = buffer + TC__PIECE_BYTES;
    size_t len = g->table.count * TC__ENTRY_BYTES;
    for (size_t i = 0; i < g->table.count; i++) {
        tc__entry_put(table + i * TC__ENTRY_BYTES, &g->table.entries[i]);
    }
    tc__end_put(table + len, &end);
    len += TC__END_BYTES;
    struct tc__piece p = {
        .kind = TC__KIND_TABLE,
        .payload_len = len,
        .payload_sum = tc__sum(table, len, g->id),
        .id = g->id,
    };
    tc__piece_put(buffer, &p, g->durable.size);
    len += TC__PIECE_BYTES;
    int error = tc__write_all(&s->config.io, g->fd, buffer, len);
    const char *what = error == 0 ? "sync" : "write";
    error = error == 0 ? tc__sync_file(&s->config.io, g->fd) : error;
    if (error != 0) {
        tc__path_segment(path, s->dir, g->seq);
        return tc__store_io_error(s, error, what, path, err);
    }
    if (sha != NULL) {
        tc_sha256_update(sha, tc_slice_make(buffer, len));
    }
    g->durable.size += len;
    return TC_OK;
}

void tc__rotate(struct tc_store *s)
{
    struct tc_error err;
    (void)pthread_mutex_lock(&s->shared->mutex);
    bool has_room = s->shared->waiting_count < TC__OPEN_MAX - 1;
    (void)pthread_mutex_unlock(&s->shared->mutex);
    if (!has_room) {
        return; /* it goes on growing */
    }
    /* Readers find batches by the table, and the next start need not read all of it. Without one,
     * what stands behind the batches is cut when it is sealed. */
    tc_status status = tc__put_end(s, &s->segment, s->buffer, NULL, &err);
    tc__retire_segment(s, status != TC_OK);
}

/* ---- the object ---- */

/* Gives the segment its name as an object. */
static tc_status move(struct tc_store *s, const struct tc__segment *g, const char *hex,
                      struct tc_error *err)
{
    char from[TC__PATH_MAX];
    char to[TC__PATH_MAX];
    char folder[TC__PATH_MAX];
    char parent[TC__PATH_MAX];
    tc__path_segment(from, s->dir, g->seq);
    tc__path_object(to, s->dir, hex, false);
    tc__path_object(folder, s->dir, hex, true);
    tc__path(parent, s->dir, "objects", NULL);
    bool made = mkdir(folder, 0750) == 0;
    int error = made || errno == EEXIST ? 0 : errno;
    if (error == 0 && made) {
        error = tc__sync_dir(&s->config.io, parent);
    }
    if (error != 0) {
        return tc__store_io_error(s, error, "make directory", folder, err);
    }
    if (s->config.io.rename(from, to) != 0) {
        return tc__store_io_error(s, errno, "rename", from, err);
    }
    /* Not before: what is in open/ must stay writable to be recovered. */
    (void)fchmod(g->fd, 0444);
    tc__path(parent, s->dir, "open", NULL);
    /* It has its name. Where that cannot be made durable the next start may find it in open/ again
     * and seals it once more. */
    (void)tc__sync_dir(&s->config.io, folder);
    (void)tc__sync_dir(&s->config.io, parent);
    return TC_OK;
}

static int hash(struct tc_store *s, const struct tc__segment *g, struct tc_sha256 *out)
{
    tc_sha256_init(out);
    for (uint64_t done = 0; done < g->durable.size;) {
        ssize_t got = tc__read_at(g->fd, s->scratch, TC__SCRATCH_BYTES, done);
        if (got <= 0) {
            return got < 0 ? errno : EIO;
        }
        tc_sha256_update(out, tc_slice_make(s->scratch, (size_t)got));
        done += (uint64_t)got;
    }
    return 0;
}

/* From the bytes of a segment that is whole: its line and its name. */
static tc_status make_object(struct tc_store *s, const struct tc__segment *g,
                             const struct tc_sha256 *sha, struct tc_error *err)
{
    char hex[TC__HEX_BYTES];
    struct tc__object o = {.state = TC__OBJECT_KEPT,
                           .totals = g->durable.totals,
                           .seq = g->seq,
                           .file_bytes = g->durable.size};
    struct tc_sha256 all = *sha;
    tc_sha256_final(&all, &o.digest);
    tc__hex(hex, &o.digest);
    TC_TRY(tc__objects_add(s, &o, err));
    return move(s, g, hex, err);
}

/* As it was written, but for what recovery repairs. *out_gone: there was no batch in it. */
static tc_status seal_as_it_is(struct tc_store *s, const struct tc__unsealed *w, bool *out_gone,
                               struct tc_error *err)
{
    struct tc__segment *g = &s->other;
    struct tc_sha256 sha;
    enum tc__recovered how = TC__RECOVERED;
    TC_TRY(tc__recover_segment(s, g, w->seq, w->needs_cut ? w->size : UINT64_MAX, &how, err));
    if (how == TC__RECOVERED_WAITS) {
        return tc_fail(err, TC_E_IO, 0, "a damaged segment in %s/open cannot be repaired", s->dir);
    }
    *out_gone = how == TC__RECOVERED_GONE;
    if (*out_gone) {
        return TC_OK;
    }
    tc_status status =
        how == TC__RECOVERED_ENDED ? TC_OK : tc__put_end(s, g, s->scratch, NULL, err);
    int error = status == TC_OK ? hash(s, g, &sha) : 0;
    if (error != 0) {
        char path[TC__PATH_MAX];
        tc__path_segment(path, s->dir, g->seq);
        status = tc__store_io_error(s, error, "read", path, err);
    }
    status = status == TC_OK ? make_object(s, g, &sha, err) : status;
    (void)close(g->fd);
    g->fd = -1;
    return status;
}

/*
 * The segment, if it is one to be compressed anew: with its end, and of the version that has LZ4.
 * What lies between is checked by whoever reads it.
 */
static bool open_ended(struct tc_store *s, struct tc__segment *g, const struct tc__unsealed *w)
{
    char path[TC__PATH_MAX];
    struct tc__scan scan;
    tc__path_segment(path, s->dir, w->seq);
    *g = (struct tc__segment){.fd = -1, .seq = w->seq};
    if (w->needs_cut) {
        return false;
    }
    g->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (g->fd >= 0 && tc__scan_open(&scan, g->fd, s->window) && scan.has_head && scan.has_end &&
        scan.head.version > TC__SEGMENT_VERSION_ZSTD) {
        return true;
    }
    if (g->fd >= 0) {
        (void)close(g->fd);
        g->fd = -1;
    }
    return false;
}

/* Compressed anew and sealed. TC_E_NOTFOUND: it is to be sealed as it is. */
static tc_status seal_packed(struct tc_store *s, const struct tc__unsealed *w,
                             const struct tc_store_pause *pause, struct tc_error *err)
{
    struct tc__segment *g = &s->other;
    struct tc_sha256 sha;
    if (tc__too_many_wait(s) || !open_ended(s, g, w)) {
        return TC_E_NOTFOUND;
    }
    tc_status status = tc__repack(s, g, pause, &sha, err);
    if (status == TC_OK) {
        status = make_object(s, g, &sha, err);
    } else if (status != TC_E_AGAIN) {
        status = TC_E_NOTFOUND;
    }
    (void)close(g->fd);
    g->fd = -1;
    return status;
}

tc_status tc_store_seal(struct tc_store *s, const struct tc_store_pause *pause, bool *out_sealed,
                        struct tc_error *err)
{
    struct tc__unsealed w;
    bool gone = false;
    *out_sealed = false;
    if (!first_unsealed(s, &w)) {
        return atomic_exchange(&s->shared->is_news, false) ? tc__keep(s, err) : TC_OK;
    }
    tc_status status = seal_packed(s, &w, pause, err);
    bool as_it_is = status == TC_E_NOTFOUND;
    if (as_it_is) {
        status = seal_as_it_is(s, &w, &gone, err);
    }
    if (status == TC_E_AGAIN) {
        return status;
    }
    if (status == TC_OK) {
        remove_unsealed(s, w.seq);
    }
    (void)pthread_mutex_lock(&s->shared->mutex);
    struct tc_store_stats *stats = &s->shared->stats;
    stats->sealed += status == TC_OK && !gone;
    stats->sealed_hot += status == TC_OK && !gone && as_it_is;
    stats->seal_failures += status != TC_OK;
    (void)pthread_mutex_unlock(&s->shared->mutex);
    TC_TRY(status);
    *out_sealed = true;
    return tc__keep(s, err);
}

void tc__seal_all(struct tc_store *s)
{
    struct tc_store_pause never = {0};
    struct tc_error err;
    bool more = true;
    if (s->seal_wait > 0) {
        s->seal_wait--;
        return;
    }
    while (more) {
        if (tc_store_seal(s, &never, &more, &err) != TC_OK) {
            s->seal_wait = SEAL_WAIT;
            return;
        }
    }
}
