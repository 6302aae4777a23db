/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotation. A file may be renamed and a new one made, copied and cut to nothing, or deleted and
 * made anew, once or several times between two looks. Where the older ones went is found among the
 * files beside the log whose names are those of rotated ones: by what the system tells them apart
 * by (a renamed file), by their first bytes (a copy), and what is newer than all that was read is
 * one that came and went in between.
 */
#include "base/clock.h"
#include "base/table/grow.h"
#include "base/table/sort.h"
#include "source/files/priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fewer first bytes than this make nothing a copy. */
#define FINGER_MIN 16
/* Looks at what lies beside a log while it is being rotated. */
#define LOOKS_MAX 32

/* ---- names ---- */

/* What stands between the digits of a date. */
static bool is_between(char c)
{
    return c != '\0' && strchr("-_.:TZ+", c) != NULL;
}

/* "1", "20261118", "2026-11-18T01-02-03.000", "old": digits and what stands between them. */
static bool is_mark(struct tc_slice mark)
{
    bool has_digit = false;
    if (tc_slice_is_any(mark, "old", "bak", "prev", "save")) {
        return true;
    }
    for (size_t i = 0; i < mark.len; i++) {
        bool is_digit = tc_is_digit(mark.ptr[i]);
        has_digit = has_digit || is_digit;
        if (!is_digit && !is_between(mark.ptr[i])) {
            return false;
        }
    }
    return has_digit;
}

static bool is_joint(char c)
{
    return c == '.' || c == '-' || c == '_';
}

bool tc__is_rotated(struct tc_slice base, struct tc_slice name)
{
    if (name.len > base.len + 1 && tc_slice_starts(name, base) && is_joint(name.ptr[base.len])) {
        return is_mark(tc_slice_from(name, base.len + 1));
    }
    /* "app-2026-11-18.log" of "app.log" */
    size_t dot = tc_slice_find_last(base, TC_LIT("."));
    if (dot == TC_NPOS || dot == 0) {
        return false;
    }
    struct tc_slice stem = tc_slice_head(base, dot);
    struct tc_slice end = tc_slice_from(base, dot);
    if (name.len <= base.len + 1 || !tc_slice_starts(name, stem) || !tc_slice_ends(name, end) ||
        !is_joint(name.ptr[stem.len])) {
        return false;
    }
    return is_mark(tc_slice_make(name.ptr + stem.len + 1, name.len - base.len - 1));
}

/* Tries each joint as the place where the mark begins. */
struct tc_slice tc__rotated_from(struct tc_slice name, char *out, size_t size)
{
    struct tc_slice path = name;
    struct tc_slice base = tc_path_base(path);
    size_t dot = tc_slice_find_last(base, TC_LIT("."));
    for (size_t i = 1; i < base.len; i++) {
        if (!is_joint(base.ptr[i])) {
            continue;
        }
        struct tc_slice rest = tc_slice_from(base, i + 1);
        if (is_mark(rest)) {
            return tc_slice_head(path, path.len - base.len + i);
        }
        if (dot != TC_NPOS && dot > i + 1 &&
            is_mark(tc_slice_make(base.ptr + i + 1, dot - i - 1))) {
            int n = snprintf(out, size, "%.*s%.*s", (int)(path.len - base.len + i), path.ptr,
                             (int)(base.len - dot), base.ptr + dot);
            return n > 0 && (size_t)n < size ? tc_slice_make(out, (size_t)n) : TC_EMPTY;
        }
    }
    return TC_EMPTY;
}

/* ---- what lies beside a log ---- */

struct sibling {
    char name[256];
    struct tc__stat st;
};

struct beside {
    struct sibling *items;
    size_t count;
    size_t cap;
};

static int by_mtime(const void *a, const void *b)
{
    const struct sibling *x = a;
    const struct sibling *y = b;
    return x->st.mtime_ns != y->st.mtime_ns ? TC_ORDER(x->st.mtime_ns, y->st.mtime_ns)
                                            : strcmp(y->name, x->name); /* ".2" before ".1" */
}

static struct tc_slice folder_of(const struct tc__log *log)
{
    struct tc_slice path = tc_slice_cstr(log->path);
    return tc_slice_head(path, path.len - tc_path_base(path).len);
}

static void path_beside(const struct tc__log *log, const char *name, char *out, size_t size)
{
    (void)snprintf(out, size, "%.*s%s", TC_FMT(folder_of(log)), name);
}

/* The oldest first. What there is no memory for is not found. */
static void list_beside(const struct tc__log *log, struct beside *out)
{
    char path[TC__FILE_PATH_MAX + 260];
    struct tc_slice base = tc_path_base(tc_slice_cstr(log->path));
    out->count = 0;
    path_beside(log, "", path, sizeof path);
    DIR *dir = opendir(path);
    for (struct dirent *e = NULL; dir != NULL && (e = readdir(dir)) != NULL;) {
        if (!tc__is_rotated(base, tc_slice_cstr(e->d_name)) || out->count == TC__SIBLINGS_MAX) {
            continue;
        }
        if (tc_grow_items(out->items, out->cap, out->count + 1, TC__SIBLINGS_MAX) != TC_OK) {
            break;
        }
        struct sibling *s = &out->items[out->count];
        path_beside(log, e->d_name, path, sizeof path);
        if (tc__file_stat(path, &s->st) && s->st.is_regular) {
            (void)snprintf(s->name, sizeof s->name, "%s", e->d_name);
            out->count++;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    if (out->count > 0) {
        qsort(out->items, out->count, sizeof *out->items, by_mtime);
    }
}

static bool beside_eq(const struct beside *a, const struct beside *b)
{
    for (size_t i = 0; i < a->count && a->count == b->count; i++) {
        if (!tc__id_eq(&a->items[i].st.id, &b->items[i].st.id) ||
            strcmp(a->items[i].name, b->items[i].name) != 0) {
            return false;
        }
    }
    return a->count == b->count;
}

static bool is_looked_for(const struct tc__gen *g)
{
    return g->fd < 0 && (g->state == TC__GEN_RESTORED || g->state == TC__GEN_DRAINING);
}

/* The generation goes on in that file. Takes fd. */
static void go_on_in(struct tc__files *f, struct tc__log *log, struct tc__gen *g, int fd,
                     const struct tc__stat *st)
{
    g->id = st->id;
    g->fd = fd;
    g->state = TC__GEN_DRAINING;
    g->gone_ns = g->gone_ns == 0 ? tc_mono_ns() : g->gone_ns;
    f->open_count++;
    log->is_ready = true;
}

/* The newest whose file it is, or of which it is a copy; NULL: it is of none. Of copies the one
 * that shares most of its beginning counts. */
static struct tc__gen *find_gen(struct tc__log *log, const struct tc__stat *st, const char *head,
                                size_t len)
{
    struct tc__gen *copied = NULL;
    for (size_t i = log->count; i > 0; i--) {
        struct tc__gen *g = &log->gens[i - 1];
        if (!tc__finger_fits(g, head, len)) {
            continue;
        }
        if (tc__id_eq(&g->id, &st->id)) {
            return g;
        }
        if (g->finger_len >= FINGER_MIN && (copied == NULL || g->finger_len > copied->finger_len)) {
            copied = g;
        }
    }
    return copied;
}

/* When the log was last written to, as far as it was read; before that, when it was first seen. */
static int64_t last_mtime(const struct tc__log *log)
{
    int64_t last_ns = log->count == 0 ? INT64_MAX : log->gens[0].mtime_ns;
    for (size_t i = 0; i < log->count; i++) {
        const struct tc__gen *g = &log->gens[i];
        last_ns = g->offset > 0 && g->mtime_ns > last_ns ? g->mtime_ns : last_ns;
    }
    return last_ns;
}

/* Whether it is a copy of the current file that is not finished: fewer bytes than its finger has.
 */
static bool begins_current(struct tc__log *log, const char *head, size_t len)
{
    char current[TC__FINGER_MAX];
    const struct tc__gen *g = tc__log_current(log);
    return g != NULL && g->fd >= 0 && tc__finger_read(g->fd, current) >= len &&
           memcmp(head, current, len) == 0;
}

/* A start that comes shortly after a rotation: who writes to the file, not to a copy of it, may not
 * have noticed. */
static bool may_grow(const struct tc__gen *g, const struct tc__stat *st)
{
    return tc__id_eq(&g->id, &st->id) && tc_wall_ns() - st->changed_ns < TC__LINGER_NS;
}

/* One file beside the log. newer_ns: what was written before that was read, or is not ours. */
static void look_at(struct tc__files *f, struct tc__log *log, const struct sibling *s,
                    int64_t newer_ns)
{
    char path[TC__FILE_PATH_MAX + 260];
    char head[TC__FINGER_MAX];
    struct tc__stat st;
    path_beside(log, s->name, path, sizeof path);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    if (!tc__fd_stat(fd, &st) || !st.is_regular || st.size == 0) {
        (void)close(fd);
        return;
    }
    size_t len = tc__finger_read(fd, head);
    struct tc__gen *g = find_gen(log, &st, head, len);
    if (g != NULL) {
        if (is_looked_for(g) && (st.size > g->offset || may_grow(g, &st))) {
            go_on_in(f, log, g, fd, &st);
        } else {
            (void)close(fd);
        }
        return;
    }
    bool is_unseen = st.mtime_ns >= newer_ns && !begins_current(log, head, len);
    struct tc__gen *fresh = is_unseen ? tc__gen_add(f, log, TC__GEN_DRAINING, &st) : NULL;
    if (fresh == NULL) {
        (void)close(fd);
        return;
    }
    tc__finger_extend(fresh, head, len);
    go_on_in(f, log, fresh, fd, &st);
}

/* Those whose file is nowhere are at their end, as far as we can read. */
static void give_up(struct tc__log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        if (is_looked_for(&log->gens[i])) {
            log->gens[i].state = TC__GEN_DONE;
        }
    }
}

void tc__log_rotate(struct tc__files *f, struct tc__log *log)
{
    struct beside beside = {0};
    struct beside after = {0};
    int64_t newer_ns = last_mtime(log);
    list_beside(log, &beside);
    /* A file that is renamed while names are read or files are opened may be missed: all are looked
     * at again until nothing has moved meanwhile. */
    for (int tries = 0; tries < LOOKS_MAX; tries++) {
        for (size_t i = 0; i < beside.count; i++) {
            look_at(f, log, &beside.items[i], newer_ns);
        }
        list_beside(log, &after);
        bool is_same = beside_eq(&beside, &after);
        struct beside now = after;
        after = beside;
        beside = now;
        if (is_same) {
            break;
        }
    }
    free(beside.items);
    free(after.items);
    give_up(log);
    tc__log_prune(f, log);
}

/* ---- the look at a path ---- */

/* What was current is rotated away. An open file is read to its end; another has to be found. */
static void retire_current(struct tc__log *log)
{
    struct tc__gen *g = tc__log_current(log);
    if (g != NULL) {
        g->state = TC__GEN_DRAINING;
        g->gone_ns = tc_mono_ns();
        log->is_ready = true;
    }
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

/*
 * A file at the path that is none of the generations: a new one, whose first bytes are noted before
 * anything else, so that a copy of it is known as one. It is the file that was opened: the one of
 * the look before may be rotated by now, is no longer current, and would be read after others that
 * are newer.
 */
static void begin_current(struct tc__files *f, struct tc__log *log, const struct tc__stat *st)
{
    char head[TC__FINGER_MAX];
    struct tc__stat opened = *st;
    int fd = open(log->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool is_gone = fd < 0 && errno == ENOENT;
    log->is_refused = fd < 0 && !is_gone;
    if (is_gone || (fd >= 0 && (!tc__fd_stat(fd, &opened) || !opened.is_regular))) {
        log->is_checked = true; /* another file is there by now, or none */
        close_fd(fd);
        return;
    }
    struct tc__gen *g = tc__gen_add(f, log, TC__GEN_CURRENT, &opened);
    if (g == NULL) {
        close_fd(fd);
        return;
    }
    log->is_ready = true;
    if (fd >= 0) {
        g->fd = fd;
        f->open_count++;
        tc__finger_extend(g, head, tc__finger_read(fd, head));
    }
}

/* The generation that the file at the path is: it was restored, or has come back. */
static bool resume_current(struct tc__files *f, struct tc__log *log)
{
    char head[TC__FINGER_MAX];
    struct tc__stat st;
    int fd = open(log->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool is_open = fd >= 0 && tc__fd_stat(fd, &st);
    size_t len = is_open ? tc__finger_read(fd, head) : 0;
    for (size_t i = log->count; i > 0 && is_open; i--) {
        struct tc__gen g = log->gens[i - 1];
        if (!tc__id_eq(&g.id, &st.id) || st.size < g.offset || !tc__finger_fits(&g, head, len)) {
            continue;
        }
        memmove(&log->gens[i - 1], &log->gens[i], (log->count - i) * sizeof g);
        tc__gen_close(f, &g);
        g.fd = fd;
        f->open_count++;
        g.state = TC__GEN_CURRENT;
        log->gens[log->count - 1] = g;
        log->is_ready = true;
        return true;
    }
    close_fd(fd);
    return false;
}

/* A log that was not known before: that it was seen, and where its reading begins, is remembered
 * before its first bytes are stored, so that what is rotated until then is looked for. */
static void keep_first(struct tc__files *f, struct tc__log *log, const struct tc__stat *st)
{
    char position[TC_SOURCE_POSITION_MAX];
    char stream[24];
    struct tc_buf b = tc_buf_make(position, sizeof position);
    struct tc_buf s = tc_buf_make(stream, sizeof stream);
    struct tc__gen *g = tc__log_current(log);
    if (g == NULL) {
        return;
    }
    g->offset = f->is_first_look && f->config.from_end && g->finger_len > 0 ? st->size : 0;
    g->is_kept = true;
    f->has_new = true;
    tc_buf_hex(&s, g->number, 16);
    tc__position_write(&b, log, g, g->offset);
    tc_port_keep(f->port, tc_buf_slice(&s), tc_buf_slice(&b));
}

static bool has_restored(const struct tc__log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        if (log->gens[i].state == TC__GEN_RESTORED) {
            return true;
        }
    }
    return false;
}

/* Whether another log is that very file: a link, or two patterns. */
static bool is_other_log(const struct tc__files *f, const struct tc__log *log,
                         const struct tc__stat *st)
{
    for (size_t i = 0; i < f->count; i++) {
        struct tc__log *other = f->logs[i];
        const struct tc__gen *g = other == log || other->is_alias ? NULL : tc__log_current(other);
        if (g != NULL && g->id.inode == st->id.inode && tc__id_eq(&g->id, &st->id)) {
            return true;
        }
    }
    return false;
}

/* Asked again only after some file has gone: it may have been the other one. */
static bool is_alias(const struct tc__files *f, struct tc__log *log, const struct tc__stat *st)
{
    if (!log->is_alias || log->gone_seen != f->gone_count) {
        log->is_alias = is_other_log(f, log, st);
        log->gone_seen = f->gone_count;
    }
    return log->is_alias;
}

/* The file is known by another path, which no pattern matches any more: a folder was renamed, or
 * the configuration names it in another way. */
static void adopt(const struct tc__files *f, struct tc__log *log, const struct tc__stat *st)
{
    for (size_t i = 0; i < f->count && log->count == 0; i++) {
        struct tc__log *other = f->logs[i];
        for (size_t k = 0; k < other->count && other->glob == NULL; k++) {
            if (tc__id_eq(&other->gens[k].id, &st->id)) {
                log->gens = other->gens;
                log->count = other->count;
                log->cap = other->cap;
                other->gens = NULL;
                other->count = other->cap = 0;
            }
        }
    }
}

/* Another file, or another generation of it, is at the path. */
static void replace_current(struct tc__files *f, struct tc__log *log, const struct tc__stat *st)
{
    bool is_new = log->count == 0;
    retire_current(log);
    if (is_new || !resume_current(f, log)) {
        begin_current(f, log, st);
    }
    if (!is_new) {
        tc__log_rotate(f, log);
    }
}

static void note_gone(struct tc__files *f, struct tc__log *log)
{
    f->gone_count += log->is_there;
    log->is_there = false;
    log->gone_ns = log->gone_ns == 0 ? tc_mono_ns() : log->gone_ns;
    if (tc__log_current(log) != NULL || has_restored(log)) {
        retire_current(log);
        tc__log_rotate(f, log);
    }
}

void tc__log_check(struct tc__files *f, struct tc__log *log)
{
    struct tc__stat st;
    log->is_checked = false;
    if (!tc__file_stat(log->path, &st) || !st.is_regular) {
        note_gone(f, log);
        return;
    }
    log->is_there = true;
    log->gone_ns = 0;
    struct tc__gen *g = tc__log_current(log);
    if (g != NULL && tc__id_eq(&g->id, &st.id) && st.size >= g->offset) {
        log->is_ready = log->is_ready || st.size > g->offset || g->seen_ns != st.mtime_ns;
        return; /* cut and grown again is noticed by the reading */
    }
    if (g == NULL && is_alias(f, log, &st)) {
        return;
    }
    if (log->count == 0) {
        adopt(f, log, &st);
    }
    bool is_new = log->count == 0;
    if (g != NULL && tc__id_eq(&g->id, &st.id)) {
        tc__gen_close(f, g); /* cut: its bytes are elsewhere, if anywhere */
    }
    replace_current(f, log, &st);
    if (is_new) {
        keep_first(f, log, &st);
    }
}

void tc__log_cut(struct tc__files *f, struct tc__log *log)
{
    struct tc__stat st;
    struct tc__gen *g = tc__log_current(log);
    if (g == NULL || !tc__file_stat(log->path, &st) || !st.is_regular) {
        log->is_checked = true;
        return;
    }
    tc__gen_close(f, g);
    replace_current(f, log, &st);
}
