/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process that died has left in open/: whole batches are kept, a torn tail is cut, damage is
 * copied to quarantine/ and covered by a record that says so.
 */
#include "evidence/store_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Damage may hide numbers that were given out: so many are skipped. */
#define NUMBER_GAP 65536

static void count(struct tc_store *s, uint64_t torn_bytes, uint64_t damaged)
{
    (void)pthread_mutex_lock(&s->shared->mutex);
    s->shared->stats.torn_bytes += torn_bytes;
    s->shared->stats.torn_count += torn_bytes > 0;
    s->shared->stats.damaged += damaged;
    (void)pthread_mutex_unlock(&s->shared->mutex);
}

/* While it is open, numbers are given out by whoever appends: those of older segments are below. */
static void use_number(struct tc_store *s, uint64_t number)
{
    if (!s->is_open && number >= tc_store_next_number(s) && number <= TC__NUMBER_MAX) {
        atomic_store(&s->shared->next_number, number + 1);
    }
}

static int copy_bytes(struct tc_store *s, int from, int to, uint64_t at, uint64_t len)
{
    while (len > 0) {
        size_t step = len < TC__SCRATCH_BYTES ? (size_t)len : TC__SCRATCH_BYTES;
        ssize_t got = tc__read_at(from, s->scratch, step, at);
        if (got <= 0) {
            return got < 0 ? errno : 0;
        }
        int error = tc__write_all(&s->config.io, to, s->scratch, (size_t)got);
        if (error != 0) {
            return error;
        }
        at += (uint64_t)got;
        len -= (uint64_t)got;
    }
    return 0;
}

/* A file in quarantine/, whole and durable. */
static int put_file(struct tc_store *s, const char *name, int from, uint64_t at, uint64_t len,
                    struct tc_slice text)
{
    char path[TC__PATH_MAX];
    tc__path(path, s->dir, "quarantine", name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (fd < 0) {
        return errno;
    }
    int error = from >= 0 ? copy_bytes(s, from, fd, at, len)
                          : tc__write_all(&s->config.io, fd, text.ptr, text.len);
    error = error == 0 ? tc__sync_file(&s->config.io, fd) : error;
    (void)close(fd);
    return error;
}

/* Copies a damaged region to quarantine/, with the reason beside it. 0 or errno. */
static int set_aside(struct tc_store *s, int fd, uint64_t seq, const struct tc__batch *b)
{
    char name[96];
    char text[512];
    char path[TC__PATH_MAX];
    (void)snprintf(name, sizeof name, "%020llu-%llu.damaged", (unsigned long long)seq,
                   (unsigned long long)b->at);
    int len =
        snprintf(text, sizeof text,
                 "segment %020llu.seg, offset %llu, %llu bytes, batch %llu (0: unknown): %s\n",
                 (unsigned long long)seq, (unsigned long long)b->at, (unsigned long long)b->disk,
                 (unsigned long long)b->first.number, b->why);
    int error = put_file(s, name, fd, b->at, b->disk, TC_EMPTY);
    if (error == 0) {
        (void)snprintf(name, sizeof name, "%020llu-%llu.reason", (unsigned long long)seq,
                       (unsigned long long)b->at);
        error = put_file(s, name, -1, 0, 0, tc_slice_make(text, (size_t)len));
    }
    tc__path(path, s->dir, "quarantine", NULL);
    error = error == 0 ? tc__sync_dir(&s->config.io, path) : error;
    if (error == 0) {
        count(s, 0, 1);
    }
    tc__tell(s, "%s/open/%020llu.seg: offset %llu: %s; %llu bytes %s", s->dir,
             (unsigned long long)seq, (unsigned long long)b->at, b->why,
             (unsigned long long)b->disk,
             error == 0 ? "are set aside in quarantine" : "cannot be set aside");
    return error;
}

static int write_at(struct tc_store *s, int fd, uint64_t at, const char *bytes, size_t len)
{
    if (lseek(fd, (off_t)at, SEEK_SET) < 0) {
        return errno;
    }
    int error = tc__write_all(&s->config.io, fd, bytes, len);
    return error != 0 ? error : tc__sync_file(&s->config.io, fd);
}

/* Covers the region with a record that says what it is. Its bytes behind that stay as they were. */
static int cover(struct tc_store *s, struct tc__scan *scan, const struct tc__batch *b)
{
    char header[TC__PIECE_BYTES];
    struct tc__piece p = {
        .kind = TC__KIND_SKIP,
        .number = b->first.number,
        .arrival_ns = b->first.arrival_ns,
        .payload_len = b->disk - TC__PIECE_BYTES,
        .id = scan->id,
    };
    int error = tc__scan_sum(scan, b->at + TC__PIECE_BYTES, p.payload_len, p.id, &p.payload_sum);
    if (error != 0) {
        return error;
    }
    tc__piece_put(header, &p, b->at);
    error = write_at(s, scan->fd, b->at, header, sizeof header);
    scan->window_len = 0;
    return error;
}

tc_status tc__cut_lines(struct tc_store *s, int fd, const char *path, size_t line_bytes,
                        uint64_t *out_size, struct tc_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return tc__store_io_error(s, errno, "read", path, err);
    }
    uint64_t size = (uint64_t)st.st_size;
    uint64_t whole = size / line_bytes * line_bytes;
    for (char last = '\0'; whole > 0; whole -= line_bytes) {
        if (tc__read_at(fd, &last, 1, whole - 1) < 0) {
            return tc__store_io_error(s, errno, "read", path, err);
        }
        if (last != '\0') {
            break;
        }
    }
    if (whole < size) {
        if (s->config.io.truncate(fd, (off_t)whole) != 0) {
            return tc__store_io_error(s, errno, "cut", path, err);
        }
        tc__tell(s, "%s: cut a torn tail of %llu bytes", path, (unsigned long long)(size - whole));
    }
    *out_size = whole;
    return TC_OK;
}

/* The walk over one segment. */
struct walk {
    struct tc__scan scan;
    uint64_t seq;
    uint64_t cut_at; /* where the file is to end */
    int error;       /* of a repair */
};

static void take_bad(struct tc_store *s, struct walk *w, struct tc__batch *b)
{
    use_number(s, b->first.number);
    int error = set_aside(s, w->scan.fd, w->seq, b);
    use_number(s, w->scan.last + NUMBER_GAP);
    if (error == 0 && b->is_tail) {
        w->cut_at = b->at;
    } else if (error == 0 && b->disk >= TC__PIECE_BYTES) {
        error = cover(s, &w->scan, b);
    }
    w->error = w->error == 0 ? error : w->error;
}

/* All batches of the segment, into g's sums. */
static tc_status survey(struct tc_store *s, struct tc__segment *g, struct walk *w,
                        struct tc_error *err)
{
    struct tc__batch b;
    for (;;) {
        switch (tc__scan_next(&w->scan, true, &b)) {
        case TC__FOUND_BATCH:
            if (g->now.totals.batches == 0) {
                g->created_ns = b.first.arrival_ns;
            }
            tc__totals_add(&g->now.totals, b.first.number, b.first.arrival_ns, b.first.body_len);
            tc__table_add(&g->table, b.first.number, b.at);
            break;
        case TC__FOUND_SKIP:
            use_number(s, b.first.number);
            break;
        case TC__FOUND_BAD:
            take_bad(s, w, &b);
            break;
        case TC__FOUND_TORN:
            w->cut_at = b.at;
            use_number(s, b.first.number);
            count(s, b.disk, 0);
            tc__tell(s, "%s/open/%020llu.seg: cut a torn tail of %llu bytes at offset %llu", s->dir,
                     (unsigned long long)w->seq, (unsigned long long)b.disk,
                     (unsigned long long)b.at);
            return TC_OK;
        case TC__FOUND_END:
            return TC_OK;
        case TC__FOUND_IO:
        default:
            return tc_fail(err, TC_E_IO, 0, "cannot read %s/open/%020llu.seg: %s", s->dir,
                           (unsigned long long)w->seq, strerror(w->scan.error));
        }
    }
}

/* The file's own header, where it was damaged: everything in it is known from the batches. */
static int mend_head(struct tc_store *s, const struct tc__segment *g, const struct walk *w)
{
    char bytes[TC__HEAD_BYTES];
    struct tc__batch b = {.disk = TC__HEAD_BYTES, .why = "the file's header is damaged"};
    /* The version that has all kinds of payloads: what it was is not known. */
    struct tc__head head = {.first = w->seq,
                            .created_ns = g->created_ns,
                            .id = w->scan.id,
                            .version = TC__SEGMENT_VERSION};
    int error = set_aside(s, w->scan.fd, w->seq, &b);
    if (error != 0) {
        return error;
    }
    tc__head_put(bytes, &head);
    return write_at(s, w->scan.fd, 0, bytes, sizeof bytes);
}

/* Cuts, syncs and sums up; from here on the segment is as if it had been written by this process.
 */
static int settle(struct tc_store *s, struct tc__segment *g, struct walk *w)
{
    int error = w->error;
    if (error == 0 && !w->scan.has_head) {
        error = mend_head(s, g, w);
    }
    if (error == 0 && w->cut_at < w->scan.size &&
        s->config.io.truncate(g->fd, (off_t)w->cut_at) != 0) {
        error = errno;
    }
    error = error == 0 ? tc__sync_file(&s->config.io, g->fd) : error;
    g->now.size = w->cut_at;
    g->now.table_seen = g->table.seen;
    if (error == 0 && fcntl(g->fd, F_SETFL, O_APPEND) != 0) {
        error = errno;
    }
    g->id = w->scan.id;
    g->durable = g->now;
    return error;
}

/* Nothing in it is a batch. */
static int remove_segment(struct tc_store *s, struct walk *w, const char *path)
{
    struct tc__batch all = {.disk = w->scan.size, .why = "there is no batch in it"};
    bool torn = w->scan.size <= TC__HEAD_BYTES || w->cut_at <= TC__HEAD_BYTES;
    int error = w->error;
    if (error == 0 && !w->scan.has_head && !torn) {
        error = set_aside(s, w->scan.fd, w->seq, &all);
    }
    if (error == 0 && unlink(path) != 0) {
        error = errno;
    }
    return error;
}

tc_status tc__recover_segment(struct tc_store *s, struct tc__segment *g, uint64_t seq,
                              uint64_t cut_at, enum tc__recovered *out, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    tc__path_segment(path, s->dir, seq);
    *g = (struct tc__segment){.fd = open(path, O_RDWR | O_CLOEXEC), .seq = seq};
    if (g->fd < 0) {
        return tc__store_io_error(s, errno, "open", path, err);
    }
    struct walk w = {.seq = seq};
    g->table.stride = 1;
    tc__totals_init(&g->now.totals);
    use_number(s, seq);
    /* What was known to be lost is cut first: see lose_group. */
    bool cut = cut_at == UINT64_MAX || s->config.io.truncate(g->fd, (off_t)cut_at) == 0;
    int error = cut ? 0 : errno;
    if (error == 0 && !tc__scan_open(&w.scan, g->fd, s->window)) {
        error = w.scan.error;
    }
    if (error != 0) {
        (void)close(g->fd);
        g->fd = -1;
        return tc__store_io_error(s, error, "read", path, err);
    }
    w.cut_at = w.scan.size;
    tc_status status = survey(s, g, &w, err);
    if (status == TC_OK) {
        bool empty = g->now.totals.batches == 0;
        use_number(s, g->now.totals.last);
        error = empty ? remove_segment(s, &w, path) : settle(s, g, &w);
        bool ended = w.scan.has_end && w.cut_at == w.scan.size;
        *out = error != 0 ? TC__RECOVERED_WAITS
               : empty    ? TC__RECOVERED_GONE
               : ended    ? TC__RECOVERED_ENDED
                          : TC__RECOVERED;
    }
    if (status != TC_OK || *out == TC__RECOVERED_GONE || *out == TC__RECOVERED_WAITS) {
        (void)close(g->fd);
        g->fd = -1;
    }
    return status;
}

/*
 * A segment that was written no more when the process died: its end says what is in it. Whoever
 * seals it looks at all of it.
 */
static bool is_ended(struct tc_store *s, uint64_t seq, struct tc__unsealed *out)
{
    char path[TC__PATH_MAX];
    struct tc__scan scan;
    tc__path_segment(path, s->dir, seq);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ended = fd >= 0 && tc__scan_open(&scan, fd, s->window) && scan.has_head && scan.has_end;
    if (ended) {
        *out = (struct tc__unsealed){.seq = seq,
                                     .size = scan.size,
                                     .batches = scan.end.totals.batches,
                                     .body_bytes = scan.end.totals.body_bytes};
        use_number(s, scan.end.totals.last);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return ended;
}

/* The last segment is written on if this program wrote it: others have no LZ4 in them. */
static bool may_go_on(const struct tc__segment *g)
{
    char bytes[TC__HEAD_BYTES];
    struct tc__head head;
    return tc__read_at(g->fd, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes &&
           tc__head_get(bytes, &head) && head.version == TC__SEGMENT_VERSION;
}

static tc_status recover_one(struct tc_store *s, uint64_t seq, bool is_last, struct tc_error *err)
{
    struct tc__unsealed w = {.seq = seq};
    enum tc__recovered how = TC__RECOVERED_ENDED;
    if (is_ended(s, seq, &w)) {
        (void)tc__unsealed_add(s, &w);
        return TC_OK;
    }
    struct tc__segment *g = is_last ? &s->segment : &s->other;
    TC_TRY(tc__recover_segment(s, g, seq, UINT64_MAX, &how, err));
    if (how == TC__RECOVERED_GONE) {
        return TC_OK;
    }
    if (is_last && how == TC__RECOVERED && may_go_on(g)) {
        s->shared->open = g->durable.totals;
        s->shared->open_bytes = g->durable.size;
        return TC_OK;
    }
    w.size = g->durable.size;
    w.batches = g->durable.totals.batches;
    w.body_bytes = g->durable.totals.body_bytes;
    (void)tc__unsealed_add(s, &w);
    if (g->fd >= 0) {
        (void)close(g->fd);
        g->fd = -1;
    }
    return TC_OK;
}

tc_status tc__recover(struct tc_store *s, struct tc_error *err)
{
    uint64_t list[TC__OPEN_MAX];
    size_t found = 0;
    TC_TRY(tc__remove_unfinished(s, err));
    int error = tc__list_open(s->dir, list, TC__OPEN_MAX, &found);
    if (error != 0) {
        return tc__store_io_error(s, error, "list", s->dir, err);
    }
    for (size_t i = 0; i < found; i++) {
        TC_TRY(recover_one(s, list[i], i + 1 == found, err));
    }
    if (!s->config.seals_apart) {
        tc__seal_all(s);
    }
    return TC_OK;
}
