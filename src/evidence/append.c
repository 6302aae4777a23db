/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a batch: compressed into the buffer, written, synced with its group. And the way back:
 * what a group that fails has written is cut off again.
 */
#include "base/time.h"
#include "evidence/pack_priv.h"
#include "evidence/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Free space is looked at after so many bytes. */
#define SPACE_EVERY ((uint64_t)8 << 20)
/* Of a file. Where pages are larger, the kernel gives back those that are whole. */
#define PAGE_BYTES ((uint64_t)4096)

void tc__table_add(struct tc__table *t, uint64_t number, uint64_t offset)
{
    if (t->seen++ % t->stride != 0) {
        return;
    }
    if (t->count == TC__TABLE_MAX) {
        for (size_t i = 0; i < TC__TABLE_MAX / 2; i++) {
            t->entries[i] = t->entries[2 * i];
        }
        t->count = TC__TABLE_MAX / 2;
        t->stride *= 2;
        if ((t->seen - 1) % t->stride != 0) {
            return;
        }
    }
    t->entries[t->count++] = (struct tc__entry){number, offset};
}

/* Forgets entries at or behind `size`. */
static void table_cut(struct tc__table *t, uint64_t size, uint64_t seen)
{
    while (t->count > 0 && t->entries[t->count - 1].offset >= size) {
        t->count--;
    }
    t->seen = seen;
}

/*
 * Whether names in the store's directory still lead to what is open here. Somebody may remove,
 * rename or mount over a directory while it is in use; what is written then nobody finds again.
 */
static tc_status check_place(const struct tc_store *s, struct tc_error *err)
{
    struct stat opened;
    struct stat named;
    bool same = fstat(s->dir_fd, &opened) == 0 && stat(s->dir, &named) == 0 &&
                opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
    bool has_name =
        s->segment.fd < 0 || (fstat(s->segment.fd, &opened) == 0 && opened.st_nlink > 0);
    if (same && has_name) {
        return TC_OK;
    }
    return tc_fail(err, TC_E_IO, 0,
                   "%s: data_dir was removed or replaced while in use: put it back, or restart "
                   "the daemon",
                   s->dir);
}

/* A new segment, begun in the buffer. */
static tc_status begin_segment(struct tc_store *s, const struct tc_batch *batch,
                               struct tc_error *err)
{
    struct tc__segment *g = &s->segment;
    char path[TC__PATH_MAX];
    uint64_t id = 0;
    TC_TRY(check_place(s, err));
    if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id || id == 0) {
        return tc_fail(err, TC_E_IO, 0, "the system gives no random bytes");
    }
    tc__path_segment(path, s->dir, batch->number);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0) {
        return tc__store_io_error(s, errno, "make", path, err);
    }
    g->fd = fd;
    g->is_new = true;
    g->seq = batch->number;
    g->id = id;
    g->created_ns = batch->arrival_ns;
    g->now = (struct tc__mark){0};
    tc__totals_init(&g->now.totals);
    g->durable = g->now;
    g->table.count = 0;
    g->table.seen = 0;
    g->table.stride = 1;
    tc__head_put(s->buffer, &(struct tc__head){.first = batch->number,
                                               .created_ns = batch->arrival_ns,
                                               .id = id,
                                               .version = TC__SEGMENT_VERSION});
    s->buffer_len = TC__HEAD_BYTES;
    return TC_OK;
}

static int flush(struct tc_store *s)
{
    struct tc__segment *g = &s->segment;
    int error = tc__write_all(&s->config.io, g->fd, s->buffer, s->buffer_len);
    if (error == 0) {
        g->now.size += s->buffer_len;
        s->since_space += s->buffer_len;
        s->buffer_len = 0;
    }
    return error;
}

/* A segment of which nothing is durable is as good as none. */
static void drop_segment(struct tc_store *s)
{
    char path[TC__PATH_MAX];
    tc__path_segment(path, s->dir, s->segment.seq);
    (void)unlink(path);
    (void)close(s->segment.fd);
    s->segment.fd = -1;
}

/*
 * The group is lost. After a sync that failed the kernel may have thrown the pages away and call
 * them clean: that file is written no more.
 */
static void lose_group(struct tc_store *s, bool sync_failed)
{
    struct tc__segment *g = &s->segment;
    s->buffer_len = 0;
    s->group_batches = 0;
    s->group_bytes_in = 0;
    if (g->fd < 0) {
        return;
    }
    if (g->durable.size == 0) {
        drop_segment(s);
        return;
    }
    bool cut = s->config.io.truncate(g->fd, (off_t)g->durable.size) == 0;
    if (!cut || sync_failed) {
        /* It ends at its durable length, whatever is in the file. */
        tc__retire_segment(s, true);
        return;
    }
    g->now = g->durable;
    table_cut(&g->table, g->durable.size, g->durable.table_seen);
}

static tc_status fail_group(struct tc_store *s, int error, const char *what, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    tc__path_segment(path, s->dir, s->segment.seq);
    lose_group(s, strcmp(what, "sync") == 0);
    (void)pthread_mutex_lock(&s->shared->mutex);
    s->shared->stats.commit_failures++;
    (void)pthread_mutex_unlock(&s->shared->mutex);
    return tc__store_io_error(s, error, what, path, err);
}

/* The group is in a file that nobody finds: no name is touched, for it may be somebody else's. */
static tc_status fail_displaced(struct tc_store *s, tc_status status)
{
    struct tc__segment *g = &s->segment;
    if (g->durable.size == 0) {
        (void)!s->config.io.truncate(g->fd, 0);
        (void)close(g->fd);
        g->fd = -1;
    }
    lose_group(s, false);
    (void)pthread_mutex_lock(&s->shared->mutex);
    s->shared->stats.commit_failures++;
    (void)pthread_mutex_unlock(&s->shared->mutex);
    return status;
}

/* Compresses one piece into the buffer, which has room. */
static tc_status put_piece(struct tc_store *s, const struct tc_batch *batch, uint64_t at,
                           struct tc_error *err)
{
    struct tc__segment *g = &s->segment;
    uint64_t rest = batch->body.len - at;
    size_t len = rest < TC__PIECE_BODY ? (size_t)rest : TC__PIECE_BODY;
    struct tc__piece p = {
        .number = batch->number,
        .arrival_ns = batch->arrival_ns,
        .body_len = batch->body.len,
        .piece_at = at,
        .piece_len = len,
        .id = g->id,
        .name_len = at == 0 ? (uint32_t)batch->name.len : 0,
        .kind = (uint16_t)batch->kind,
        .is_lz4 = true,
    };
    char *out = s->buffer + s->buffer_len;
    char *payload = out + TC__PIECE_BYTES + p.name_len;
    if (p.name_len > 0) {
        memcpy(out + TC__PIECE_BYTES, batch->name.ptr, p.name_len);
    }
    size_t done = tc__pack_lz4(s->lz4_state, len == 0 ? "" : batch->body.ptr + at, len, payload);
    if (done == 0) {
        return tc_fail(err, TC_E_IO, 0, "cannot compress batch %llu",
                       (unsigned long long)batch->number);
    }
    p.payload_len = done;
    p.payload_sum = tc__sum(out + TC__PIECE_BYTES, p.name_len + done, g->id);
    tc__piece_put(out, &p, g->now.size + s->buffer_len);
    s->buffer_len += (size_t)tc__piece_disk(&p);
    return TC_OK;
}

static tc_status check_batch(const struct tc_store *s, const struct tc_batch *batch,
                             struct tc_error *err)
{
    if (batch->number < tc_store_next_number(s) || batch->number > TC__NUMBER_MAX ||
        batch->kind < TC_BATCH_LOGS_PROTOBUF || batch->kind > TC_BATCH_KIND_LAST) {
        return tc_fail(err, TC_E_USAGE, 0, "batch %llu of kind %d: the next is %llu",
                       (unsigned long long)batch->number, (int)batch->kind,
                       (unsigned long long)tc_store_next_number(s));
    }
    if (batch->name.len > TC_STORE_NAME_MAX || batch->body.len > TC_STORE_BODY_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0,
                       "batch %llu is too large to store: a name may have %zu bytes, a body %llu",
                       (unsigned long long)batch->number, TC_STORE_NAME_MAX,
                       (unsigned long long)TC_STORE_BODY_MAX);
    }
    return TC_OK;
}

static tc_status append(struct tc_store *s, const struct tc_batch *batch, struct tc_error *err)
{
    struct tc__segment *g = &s->segment;
    if (g->fd < 0) {
        TC_TRY(begin_segment(s, batch, err));
    }
    uint64_t offset = g->now.size + s->buffer_len;
    uint64_t at = 0;
    do {
        if (s->buffer_len >= TC__BUFFER_BYTES) {
            int error = flush(s);
            if (error != 0) {
                return fail_group(s, error, "write", err);
            }
        }
        tc_status status = put_piece(s, batch, at, err);
        if (status != TC_OK) {
            lose_group(s, false);
            return status;
        }
        at += TC__PIECE_BODY;
    } while (at < batch->body.len);
    tc__table_add(&g->table, batch->number, offset);
    g->now.table_seen = g->table.seen;
    tc__totals_add(&g->now.totals, batch->number, batch->arrival_ns, batch->body.len);
    s->group_batches++;
    s->group_bytes_in += batch->body.len;
    return TC_OK;
}

tc_status tc_store_append(struct tc_store *s, const struct tc_batch *batch, struct tc_error *err)
{
    TC_TRY(check_batch(s, batch, err));
    /* Used from now on, whatever becomes of it. */
    atomic_store(&s->shared->next_number, batch->number + 1);
    if (atomic_load(&s->shared->full) && !tc_store_has_room(s)) {
        lose_group(s, false);
        return tc_fail(err, TC_E_IO, 0, "no room in %s: less than %llu bytes would stay free%s",
                       s->dir, (unsigned long long)s->config.reserve_bytes,
                       s->shipping.is_on
                           ? "; objects are deleted only when they were copied to evidence.remote"
                           : "");
    }
    struct tc_batch b = *batch;
    b.arrival_ns = b.arrival_ns < 0 ? 0 : b.arrival_ns > TC_TIME_MAX ? TC_TIME_MAX : b.arrival_ns;
    return append(s, &b, err);
}

/* Writes and syncs; on failure the group is lost. */
static tc_status make_durable(struct tc_store *s, struct tc_error *err)
{
    struct tc__segment *g = &s->segment;
    int error = flush(s);
    if (error != 0) {
        return fail_group(s, error, "write", err);
    }
    error = tc__sync_file(&s->config.io, g->fd);
    if (error == 0 && g->is_new) {
        char path[TC__PATH_MAX];
        tc__path(path, s->dir, "open", NULL);
        error = tc__sync_dir(&s->config.io, path);
    }
    /* First, because a directory that is gone cannot be synced either. */
    tc_status status = check_place(s, err);
    if (status != TC_OK) {
        return fail_displaced(s, status);
    }
    if (error != 0) {
        return fail_group(s, error, "sync", err);
    }
    g->is_new = false;
    return TC_OK;
}

/*
 * While segments wait to be sealed, what is written now is read much later. The kernel is told so:
 * its pages are used again for what comes next, where new ones cost it more than the writing does.
 * Segments that are sealed at once are read from memory. The last page is not whole yet and stays.
 */
static void give_back(const struct tc__segment *g, uint64_t from, uint64_t to)
{
    off_t first = (off_t)(from - from % PAGE_BYTES);
    off_t end = (off_t)(to - to % PAGE_BYTES);
    if (end > first) {
        (void)posix_fadvise(g->fd, first, end - first, POSIX_FADV_DONTNEED);
    }
}

static void count_group(struct tc_store *s)
{
    struct tc__segment *g = &s->segment;
    uint64_t from = g->durable.size;
    (void)pthread_mutex_lock(&s->shared->mutex);
    struct tc_store_stats *stats = &s->shared->stats;
    stats->commits++;
    stats->batches += s->group_batches;
    stats->bytes_in += s->group_bytes_in;
    stats->bytes_out += g->now.size - g->durable.size;
    g->durable = g->now;
    s->shared->open = g->durable.totals;
    s->shared->open_bytes = g->durable.size;
    bool waits = s->shared->waiting_count > 0;
    (void)pthread_mutex_unlock(&s->shared->mutex);
    if (waits) {
        give_back(g, from, g->durable.size);
    }
    s->group_batches = 0;
    s->group_bytes_in = 0;
}

static bool seal_is_due(const struct tc_store *s)
{
    const struct tc__segment *g = &s->segment;
    return g->fd >= 0 && g->durable.totals.batches > 0 &&
           (g->durable.size >= s->config.segment_bytes ||
            g->durable.totals.arrival_max - g->created_ns >= s->config.segment_ns);
}

tc_status tc_store_commit(struct tc_store *s, struct tc_error *err)
{
    if (s->group_batches > 0) {
        TC_TRY(make_durable(s, err));
        count_group(s);
    }
    tc__citations_sync(s);
    if (s->since_space >= SPACE_EVERY) {
        s->since_space = 0;
        (void)tc_store_has_room(s);
    }
    if (seal_is_due(s)) {
        tc__rotate(s);
    }
    if (!s->config.seals_apart) {
        tc__seal_all(s);
    }
    return TC_OK;
}
