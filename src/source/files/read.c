/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds of reading: from every log that may have something a chunk of whole lines, all put
 * together, so that thousands of files that trickle become durable at once. Older generations of a
 * log are read to their end before newer ones, so lines arrive in the order they were written.
 */
#include "base/clock.h"
#include "base/format.h"
#include "source/files/priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of one log, so many rotated files are waited for; the others are done at their end. */
#define LINGERING_MAX 4

/* A chunk, and what becomes of its generation once it is durable. */
struct piece {
    struct tc__log *log;
    uint64_t number; /* of the generation: their places in the log may change */
    uint64_t offset;
    int64_t mtime_ns;
    struct tc__gen after; /* finger and finger_len */
    char stream[24];
    char position[TC_SOURCE_POSITION_MAX];
};

struct tc__round {
    char buffer[TC_SOURCE_PUT_BYTES];
    size_t used;
    struct tc_source_chunk chunks[TC_SOURCE_PUT_MAX];
    struct piece pieces[TC_SOURCE_PUT_MAX];
    size_t count;
};

tc_status tc__round_create(struct tc__files *f)
{
    f->round = calloc(1, sizeof *f->round);
    return f->round == NULL ? TC_E_NOMEM : TC_OK;
}

void tc__round_destroy(struct tc__files *f)
{
    free(f->round);
    f->round = NULL;
}

/* ---- one file ---- */

/* How many bytes of what was read are whole lines. */
static size_t whole_lines(struct tc__files *f, struct tc_slice bytes, bool is_last)
{
    const char *newline = bytes.len == 0 ? NULL : memrchr(bytes.ptr, '\n', bytes.len);
    if (newline != NULL) {
        return (size_t)(newline - bytes.ptr) + 1;
    }
    if (bytes.len >= f->config.line_max) {
        tc_port_lost(f->port, 1);
        return f->config.line_max;
    }
    return is_last ? bytes.len : 0;
}

static uint64_t count_lines(struct tc_slice bytes)
{
    uint64_t lines = 0;
    for (const char *at = bytes.ptr, *end = bytes.ptr + bytes.len; at < end; lines++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline == NULL ? end : newline + 1;
    }
    return lines;
}

static ssize_t read_at(int fd, char *out, size_t size, uint64_t offset)
{
    ssize_t n = 0;
    do {
        n = pread(fd, out, size, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* A program that goes on where it was in a file that was cut leaves a hole, which may be huge. */
static bool skip_hole(struct tc__gen *g, struct tc_slice bytes)
{
    if (bytes.len == 0 || bytes.ptr[0] != '\0') {
        return false;
    }
    off_t data = lseek(g->fd, (off_t)g->offset, SEEK_DATA);
    if (data < 0 || (uint64_t)data <= g->offset) {
        return false;
    }
    g->offset = (uint64_t)data;
    return true;
}

static struct tc_slice text_or(const char *text, struct tc_slice otherwise)
{
    return text[0] != '\0' ? tc_slice_cstr(text) : otherwise;
}

static void add_chunk(struct tc__files *f, struct tc__log *log, const struct tc__gen *g,
                      const struct tc__gen *after, struct tc_slice body)
{
    struct tc__round *r = f->round;
    struct piece *p = &r->pieces[r->count];
    *p = (struct piece){.log = log,
                        .number = g->number,
                        .offset = g->offset + body.len,
                        .mtime_ns = after->mtime_ns,
                        .after = *after};
    struct tc_buf stream = tc_buf_make(p->stream, sizeof p->stream);
    struct tc_buf position = tc_buf_make(p->position, sizeof p->position);
    tc_buf_hex(&stream, g->number, 16);
    tc__position_write(&position, log, after, p->offset);
    r->chunks[r->count++] = (struct tc_source_chunk){
        .name = tc_slice_cstr(log->path),
        .format = log->glob->format,
        .node = text_or(log->matched.node,
                        log->glob->node.len > 0 ? log->glob->node : tc_slice_cstr(f->node)),
        .job = text_or(log->matched.job, log->glob->job),
        .tz = log->glob->tz.len > 0 ? log->glob->tz : tc_slice_cstr(f->tz),
        .stream = tc_buf_slice(&stream),
        .position = tc_buf_slice(&position),
        .body = body,
        .records = count_lines(body)};
    r->used += body.len;
}

enum outcome { NOTHING, TAKEN, CUT, FULL };

/*
 * Reads on in one file. What was read counts only if the file still begins as it did afterwards:
 * one that was cut and has grown again meanwhile gives other bytes at this place.
 */
static enum outcome read_gen(struct tc__files *f, struct tc__log *log, struct tc__gen *g,
                             bool is_last)
{
    struct tc__round *r = f->round;
    struct tc__stat st;
    struct tc_slice bytes = TC_EMPTY;
    char head[TC__FINGER_MAX];
    size_t room = sizeof r->buffer - r->used;
    room = room < TC_SOURCE_CHUNK_MAX ? room : TC_SOURCE_CHUNK_MAX;
    if (room < f->config.line_max || r->count == TC_SOURCE_PUT_MAX) {
        return FULL;
    }
    if (!tc__fd_stat(g->fd, &st)) {
        return NOTHING;
    }
    do { /* at most twice: the byte that a hole ends at is none */
        ssize_t n = read_at(g->fd, r->buffer + r->used, room, g->offset);
        bytes = tc_slice_make(r->buffer + r->used, n < 0 ? 0 : (size_t)n);
    } while (skip_hole(g, bytes));
    size_t len = tc__finger_read(g->fd, head);
    if (st.size < g->offset || !tc__finger_fits(g, head, len)) {
        return CUT;
    }
    bool is_all = g->offset + bytes.len >= st.size;
    bytes.len = whole_lines(f, bytes, is_last && is_all);
    struct tc__gen after = *g;
    after.mtime_ns = st.mtime_ns;
    tc__finger_extend(&after, head, len);
    g->is_at_end = is_all;
    g->seen_ns = st.mtime_ns;
    if (bytes.len == 0) {
        g->finger = after.finger;
        g->finger_len = after.finger_len;
        return NOTHING;
    }
    add_chunk(f, log, g, &after, bytes);
    return TAKEN;
}

/* ---- one log ---- */

static bool is_draining(const struct tc__gen *g)
{
    return g->state == TC__GEN_DRAINING && g->fd >= 0;
}

/* How many rotated files there are after this one; SIZE_MAX: in all. */
static size_t drains_after(const struct tc__log *log, size_t i)
{
    size_t count = 0;
    for (size_t k = i + 1; k < log->count; k++) { /* SIZE_MAX + 1 is 0 */
        count += is_draining(&log->gens[k]);
    }
    return count;
}

static bool is_waited_for(const struct tc__log *log, size_t i, int64_t now_ns)
{
    return now_ns - log->gens[i].gone_ns < TC__LINGER_NS && drains_after(log, i) < LINGERING_MAX;
}

/* A rotated file. True: there is nothing of it left to read now. */
static bool drain(struct tc__files *f, struct tc__log *log, size_t i, int64_t now_ns, bool *io_full)
{
    struct tc__gen *g = &log->gens[i];
    bool is_waited = is_waited_for(log, i, now_ns);
    switch (read_gen(f, log, g, !is_waited)) {
    case TAKEN:
        return false;
    case FULL:
        *io_full = true;
        return false;
    case CUT:
        tc__gen_close(f, g);
        g->state = TC__GEN_DONE;
        return true;
    case NOTHING:
        break;
    }
    if (!is_waited) {
        tc__gen_close(f, g);
        g->state = TC__GEN_DONE;
    }
    return true;
}

/* A file that was empty has its first bytes: others may have come and gone before them, and are
 * read first. True: there are some. */
static bool has_others(struct tc__files *f, struct tc__log *log)
{
    char head[TC__FINGER_MAX];
    struct tc__gen *g = tc__log_current(log);
    size_t len = g->finger_len > 0 ? 0 : tc__finger_read(g->fd, head);
    if (len == 0) {
        return false;
    }
    size_t before = drains_after(log, SIZE_MAX);
    tc__finger_extend(g, head, len);
    tc__log_rotate(f, log);
    return drains_after(log, SIZE_MAX) > before;
}

/* The file at the path. */
static void read_current(struct tc__files *f, struct tc__log *log, bool *io_full)
{
    struct tc__gen *g = tc__log_current(log);
    if (g == NULL) {
        return;
    }
    if (!tc__gen_open(f, log, g)) {
        log->is_checked = true;
        log->is_refused = errno == EACCES || errno == EPERM || errno == EMFILE || errno == ENFILE;
        return;
    }
    log->is_refused = false;
    if (has_others(f, log)) {
        log->is_ready = true;
        return;
    }
    switch (read_gen(f, log, tc__log_current(log), false)) {
    case TAKEN:
        log->is_ready = true; /* there may be more */
        break;
    case FULL:
        *io_full = true;
        break;
    case CUT:
        tc__log_cut(f, log);
        log->is_ready = true;
        break;
    case NOTHING:
        break;
    }
}

/* One chunk at most of each log, so that a large one does not keep the others waiting. */
static void read_log(struct tc__files *f, struct tc__log *log, int64_t now_ns, bool *io_full)
{
    bool lingers = false;
    log->is_ready = false;
    log->read_ns = now_ns;
    for (size_t i = 0; i < log->count && !*io_full; i++) {
        if (!is_draining(&log->gens[i])) {
            continue;
        }
        if (!drain(f, log, i, now_ns, io_full)) {
            log->is_ready = true;
            return;
        }
        lingers = lingers || is_draining(&log->gens[i]);
    }
    read_current(f, log, io_full);
    log->is_lingering = lingers;
    log->is_ready = log->is_ready || *io_full;
}

/* ---- the round ---- */

static struct tc__gen *gen_by_number(struct tc__log *log, uint64_t number)
{
    for (size_t i = log->count; i > 0; i--) {
        if (log->gens[i - 1].number == number) {
            return &log->gens[i - 1];
        }
    }
    return NULL;
}

static void take_effect(struct tc__round *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct piece *p = &r->pieces[i];
        struct tc__gen *g = gen_by_number(p->log, p->number);
        if (g != NULL) {
            g->offset = p->offset;
            g->finger = p->after.finger;
            g->finger_len = p->after.finger_len;
            g->mtime_ns = p->mtime_ns;
            g->is_kept = true;
        }
    }
}

/* Files at their end give their descriptors, those that were read longest ago first. */
static void close_some(struct tc__files *f, int64_t now_ns)
{
    for (int64_t idle_ns = 600 * TC_SECOND; f->open_count > f->config.open_max && idle_ns > 0;
         idle_ns /= 4) {
        for (size_t i = 0; i < f->count && f->open_count > f->config.open_max; i++) {
            struct tc__log *log = f->logs[i];
            struct tc__gen *g = tc__log_current(log);
            if (g != NULL && g->fd >= 0 && g->is_at_end && now_ns - log->read_ns >= idle_ns) {
                tc__gen_close(f, g);
            }
        }
    }
}

tc_status tc__round_read(struct tc__files *f, bool *out_more)
{
    struct tc__round *r = f->round;
    int64_t now_ns = tc_mono_ns();
    bool is_full = false;
    bool more = false;
    r->count = r->used = 0;
    size_t first = f->turn < f->count ? f->turn : 0;
    for (size_t i = 0; i < f->count; i++) {
        size_t at = (first + i) % f->count;
        struct tc__log *log = f->logs[at];
        if (log->is_ready && !is_full && log->glob != NULL) {
            read_log(f, log, now_ns, &is_full);
            f->turn = is_full ? at : f->turn;
        }
        more = more || (log->is_ready && log->glob != NULL);
    }
    close_some(f, now_ns);
    TC_TRY(tc_port_put(f->port, r->chunks, r->count));
    take_effect(r);
    *out_more = more && r->count > 0;
    return TC_OK;
}
