/* SPDX-License-Identifier: Apache-2.0 */
/* Generations of a log: what tells one file from another, and where its reading goes on. */
#include "base/format.h"
#include "base/os/io.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "source/files/priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define STAT_MASK (STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MTIME | STATX_CTIME | STATX_BTIME)

static int64_t time_of(const struct statx_timestamp *t)
{
    return t->tv_sec > TC_TIME_MAX / TC_SECOND || t->tv_sec < 0
               ? 0
               : (int64_t)t->tv_sec * TC_SECOND + t->tv_nsec;
}

static void take_stat(const struct statx *sx, struct tc__stat *out)
{
    *out = (struct tc__stat){
        .id = {.device = makedev(sx->stx_dev_major, sx->stx_dev_minor),
               .inode = sx->stx_ino,
               .born_ns = (sx->stx_mask & STATX_BTIME) != 0 ? time_of(&sx->stx_btime) : 0},
        .size = sx->stx_size,
        .mtime_ns = time_of(&sx->stx_mtime),
        .changed_ns = time_of(&sx->stx_ctime),
        .is_regular = S_ISREG(sx->stx_mode)};
}

bool tc__file_stat(const char *path, struct tc__stat *out)
{
    struct statx sx;
    if (statx(AT_FDCWD, path, 0, STAT_MASK, &sx) != 0) {
        return false;
    }
    take_stat(&sx, out);
    return true;
}

bool tc__fd_stat(int fd, struct tc__stat *out)
{
    struct statx sx;
    if (statx(fd, "", AT_EMPTY_PATH, STAT_MASK, &sx) != 0) {
        return false;
    }
    take_stat(&sx, out);
    return true;
}

bool tc__id_eq(const struct tc__file_id *a, const struct tc__file_id *b)
{
    return a->device == b->device && a->inode == b->inode &&
           (a->born_ns == b->born_ns || a->born_ns == 0 || b->born_ns == 0);
}

/* ---- the first bytes ---- */

size_t tc__finger_read(int fd, char out[TC__FINGER_MAX])
{
    size_t len = 0;
    while (len < TC__FINGER_MAX) {
        ssize_t n = pread(fd, out + len, TC__FINGER_MAX - len, (off_t)len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        len += (size_t)n;
    }
    return len;
}

bool tc__finger_fits(const struct tc__gen *g, const char *head, size_t len)
{
    return len >= g->finger_len &&
           tc_slice_hash(tc_slice_make(head, g->finger_len), 0) == g->finger;
}

void tc__finger_extend(struct tc__gen *g, const char *head, size_t len)
{
    if (len > g->finger_len || g->finger_len == 0) {
        g->finger_len = (uint32_t)len;
        g->finger = tc_slice_hash(tc_slice_make(head, len), 0);
    }
}

/* ---- generations of a log ---- */

struct tc__gen *tc__log_current(struct tc__log *log)
{
    struct tc__gen *last = log->count == 0 ? NULL : &log->gens[log->count - 1];
    return last != NULL && last->state == TC__GEN_CURRENT ? last : NULL;
}

/* Whether a generation is read after a file that was found: the current one, and others that were
 * found and are newer. */
static bool is_after(const struct tc__gen *g, const struct tc__stat *st)
{
    return g->state == TC__GEN_CURRENT ||
           (g->state == TC__GEN_DRAINING && g->offset == 0 && g->mtime_ns > st->mtime_ns);
}

struct tc__gen *tc__gen_add(struct tc__files *f, struct tc__log *log, enum tc__gen_state state,
                            const struct tc__stat *st)
{
    if (tc_grow_items(log->gens, log->cap, log->count + 1, SIZE_MAX) != TC_OK) {
        return NULL;
    }
    size_t at = log->count++;
    while (at > 0 && state != TC__GEN_CURRENT && is_after(&log->gens[at - 1], st)) {
        log->gens[at] = log->gens[at - 1];
        at--;
    }
    log->gens[at] = (struct tc__gen){.number = ++f->last_number,
                                     .state = state,
                                     .id = st->id,
                                     .mtime_ns = st->mtime_ns,
                                     .fd = -1};
    tc__finger_extend(&log->gens[at], "", 0);
    return &log->gens[at];
}

void tc__gen_close(struct tc__files *f, struct tc__gen *g)
{
    if (g->fd >= 0) {
        (void)close(g->fd);
        g->fd = -1;
        f->open_count--;
    }
}

bool tc__gen_open(struct tc__files *f, const struct tc__log *log, struct tc__gen *g)
{
    struct tc__stat st;
    if (g->fd >= 0) {
        return true;
    }
    if (g->state != TC__GEN_CURRENT) {
        return false;
    }
    int fd = open(log->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    if (!tc__fd_stat(fd, &st) || !st.is_regular || !tc__id_eq(&st.id, &g->id)) {
        (void)close(fd);
        errno = EAGAIN; /* another file is there by now: the next look finds it */
        return false;
    }
    g->fd = fd;
    f->open_count++;
    return true;
}

static void drop_gen(struct tc__files *f, struct tc__log *log, size_t i)
{
    struct tc__gen *g = &log->gens[i];
    tc__gen_close(f, g);
    if (g->is_kept) {
        char stream[24];
        struct tc_buf b = tc_buf_make(stream, sizeof stream);
        tc_buf_hex(&b, g->number, 16);
        tc_port_keep(f->port, tc_buf_slice(&b), TC_EMPTY);
    }
    memmove(g, g + 1, (log->count - i - 1) * sizeof *g);
    log->count--;
}

void tc__log_prune(struct tc__files *f, struct tc__log *log)
{
    for (size_t i = 0; i < log->count && log->count > TC__GENS_MAX;) {
        if (log->gens[i].state == TC__GEN_DONE) {
            drop_gen(f, log, i);
        } else {
            i++;
        }
    }
}

/* ---- positions ---- */

/* A path may have any byte but zero; a position has no blanks and no control characters. */
static void write_path(struct tc_buf *b, const char *path)
{
    for (; *path != '\0'; path++) {
        unsigned char c = (unsigned char)*path;
        if (c <= ' ' || c == '%' || c >= 0x7f) {
            tc_buf_char(b, '%');
            tc_buf_hex(b, c, 2);
        } else {
            tc_buf_char(b, (char)c);
        }
    }
}

static bool read_path(struct tc_slice text, char out[TC__FILE_PATH_MAX + 1])
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint64_t byte = (unsigned char)text.ptr[i];
        if (text.ptr[i] == '%') {
            if (i + 2 >= text.len || tc_slice_hex(tc_slice_make(text.ptr + i + 1, 2), &byte) != 2) {
                return false;
            }
            i += 2;
        }
        if (byte == 0 || len == TC__FILE_PATH_MAX) {
            return false;
        }
        out[len++] = (char)byte;
    }
    out[len] = '\0';
    return len > 0;
}

void tc__position_write(struct tc_buf *b, const struct tc__log *log, const struct tc__gen *g,
                        uint64_t offset)
{
    (void)tc_format(b, "{} {} {} {} {} {} {} ", g->id.device, g->id.inode, g->id.born_ns, offset,
                    (uint64_t)g->finger_len, g->finger, g->mtime_ns);
    write_path(b, log->path);
}

bool tc__position_read(struct tc_slice text, struct tc__gen *out, char path[TC__FILE_PATH_MAX + 1])
{
    uint64_t n[7];
    for (size_t i = 0; i < TC_COUNT(n); i++) {
        if (!tc_slice_is_u64(tc_slice_cut(text, ' ', &text), &n[i])) {
            return false;
        }
    }
    if (n[2] > INT64_MAX || n[3] > INT64_MAX || n[4] > TC__FINGER_MAX || n[6] > INT64_MAX) {
        return false;
    }
    *out = (struct tc__gen){.state = TC__GEN_RESTORED,
                            .id = {n[0], n[1], (int64_t)n[2]},
                            .offset = n[3],
                            .finger_len = (uint32_t)n[4],
                            .finger = n[5],
                            .mtime_ns = (int64_t)n[6],
                            .fd = -1,
                            .is_kept = true};
    return read_path(text, path);
}
