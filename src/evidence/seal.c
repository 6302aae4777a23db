/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a segment to an object: its table and end record, its line in the index, its name. In that
 * order, so that whenever the process dies the segment is in open/ or the object has its line.
 */
#include "evidence/store_priv.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* Commits between two attempts at what failed. */
#define SEAL_WAIT 64

/* Writes table and end record behind the batches and syncs. */
static tc_status put_end(struct tc_store *s, struct tc__segment *g, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    struct tc__end end = {
        .totals = g->durable.totals,
        .id = g->id,
        .table_at = g->durable.size,
        .entries = g->table.count,
    };
    char *table = s->buffer + TC__PIECE_BYTES;
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
    tc__piece_put(s->buffer, &p, g->durable.size);
    len += TC__PIECE_BYTES;
    int error = tc__write_all(&s->config.io, g->fd, s->buffer, len);
    const char *what = error == 0 ? "sync" : "write";
    error = error == 0 ? tc__sync_file(&s->config.io, g->fd) : error;
    if (error != 0) {
        tc__path_segment(path, s->dir, g->seq);
        /* What stands there now is cut when it is tried again. */
        if (s->abandoned_count < TC__ABANDONED_MAX) {
            s->abandoned[s->abandoned_count++] = (struct tc__abandoned){g->seq, g->durable.size};
        }
        return tc__store_io_error(s, error, what, path, err);
    }
    tc_sha256_update(&g->durable.sha, tc_slice_make(s->buffer, len));
    g->durable.size += len;
    return TC_OK;
}

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

static tc_status seal(struct tc_store *s, struct tc__segment *g, bool has_end, struct tc_error *err)
{
    char hex[TC__HEX_BYTES];
    struct tc__object o = {.state = TC__OBJECT_KEPT, .totals = g->durable.totals, .seq = g->seq};
    if (!has_end) {
        TC_TRY(put_end(s, g, err));
    }
    struct tc_sha256 sha = g->durable.sha;
    tc_sha256_final(&sha, &o.digest);
    o.file_bytes = g->durable.size;
    tc__hex(hex, &o.digest);
    TC_TRY(tc__objects_add(s, &o, err));
    return move(s, g, hex, err);
}

tc_status tc__seal(struct tc_store *s, struct tc__segment *g, bool has_end, struct tc_error *err)
{
    tc_status status = seal(s, g, has_end, err);
    (void)close(g->fd);
    g->fd = -1;
    (void)pthread_mutex_lock(&s->shared->mutex);
    struct tc_store_stats *stats = &s->shared->stats;
    stats->sealed += status == TC_OK;
    stats->seal_failures += status != TC_OK;
    tc__store_count_kept(s);
    (void)pthread_mutex_unlock(&s->shared->mutex);
    return status;
}

/* Makes objects of what was left in open/, oldest first: the index is in the order of batches. */
static tc_status seal_leftovers(struct tc_store *s, struct tc_error *err)
{
    uint64_t list[TC__OPEN_MAX];
    size_t count = 0;
    int error = tc__list_open(s->dir, list, TC__OPEN_MAX, &count);
    if (error != 0) {
        return tc__store_io_error(s, error, "list", s->dir, err);
    }
    for (size_t i = 0; i < count; i++) {
        enum tc__recovered how = TC__RECOVERED;
        if (s->segment.fd >= 0 && list[i] == s->segment.seq) {
            continue;
        }
        TC_TRY(tc__recover_segment(s, &s->other, list[i], &how, err));
        if (how == TC__RECOVERED_WAITS) {
            return tc_fail(err, TC_E_IO, 0, "a damaged segment in %s/open cannot be repaired",
                           s->dir);
        }
        if (how != TC__RECOVERED_GONE) {
            TC_TRY(tc__seal(s, &s->other, how == TC__RECOVERED_ENDED, err));
        }
        s->leftovers -= s->leftovers > 0;
    }
    s->leftovers = 0;
    return TC_OK;
}

void tc__tidy(struct tc_store *s, bool seal_is_due)
{
    struct tc_error err;
    if (s->seal_wait > 0) {
        s->seal_wait--;
    }
    if (s->leftovers > 0 && s->seal_wait == 0 && seal_leftovers(s, &err) != TC_OK) {
        s->seal_wait = SEAL_WAIT;
    }
    if (!seal_is_due || s->leftovers >= TC__OPEN_MAX - 1) {
        return;
    }
    if (s->leftovers > 0) {
        /* It waits behind the others. */
        (void)close(s->segment.fd);
        s->segment.fd = -1;
        s->leftovers++;
        return;
    }
    if (tc__seal(s, &s->segment, false, &err) != TC_OK) {
        s->leftovers++;
        s->seal_wait = SEAL_WAIT;
        return;
    }
    if (tc__keep(s, &err) != TC_OK) {
        s->seal_wait = SEAL_WAIT;
    }
}
