/* SPDX-License-Identifier: Apache-2.0 */
#include "source/files/files.h"

#include "base/clock.h"
#include "base/table/grow.h"
#include "base/table/sort.h"
#include "source/files/priv.h"
#include "source/text_priv.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* What is written shortly after each other is read together. */
#define GATHER_NS (TC_SECOND / 20)
#define EVENTS (IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR)
#define ENTRIES_MAX ((size_t)1 << 20)
/* Rounds of reading between two looks at the directories, while there is more to read. */
#define ROUNDS_MAX 16

/* ---- life ---- */

static void destroy(void *state)
{
    struct tc__files *f = state;
    if (f == NULL) {
        return;
    }
    tc__logs_fini(f);
    tc__dirs_fini(&f->dirs);
    tc__round_destroy(f);
    for (size_t i = 0; i < f->glob_count; i++) {
        tc__glob_fini(&f->globs[i]);
    }
    if (f->inotify_fd >= 0) {
        (void)close(f->inotify_fd);
    }
    free(f->node);
    free(f->tz);
    free(f);
}

static tc_status read_globs(struct tc__files *f, struct tc_slice lines, struct tc_error *err)
{
    while (lines.len > 0) {
        struct tc_slice line = tc_slice_cut(lines, '\n', &lines);
        if (f->glob_count == TC__GLOBS_MAX) {
            return tc_fail(err, TC_E_USAGE, 0, "at most %d paths", TC__GLOBS_MAX);
        }
        TC_TRY(tc__glob_parse(line, &f->globs[f->glob_count], err));
        f->glob_count++;
    }
    return TC_OK;
}

tc_status tc_files_create(const struct tc_files_config *config, void **out_state,
                          struct tc_error *err)
{
    struct tc__files *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for files");
    }
    f->config = *config;
    f->inotify_fd = -1;
    f->node = tc__text_copy(config->node);
    f->tz = tc__text_copy(config->tz);
    tc_status status = f->node == NULL || f->tz == NULL || tc__round_create(f) != TC_OK
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for files")
                           : read_globs(f, config->paths, err);
    if (status != TC_OK) {
        destroy(f);
        return status;
    }
    *out_state = f;
    return TC_OK;
}

/* ---- where it was ---- */

static int by_number(const void *a, const void *b)
{
    const struct tc__gen *x = a;
    const struct tc__gen *y = b;
    return TC_ORDER(x->number, y->number);
}

static void restore(void *of, struct tc_slice stream, struct tc_slice position)
{
    struct tc__files *f = of;
    struct tc__gen gen;
    char path[TC__FILE_PATH_MAX + 1];
    uint64_t number = 0;
    f->was_restored = true;
    if (tc_slice_hex(stream, &number) != stream.len || stream.len == 0 ||
        !tc__position_read(position, &gen, path)) {
        return; /* that there was a first look */
    }
    struct tc__log *log = tc__logs_find(f, tc_slice_cstr(path));
    log = log != NULL ? log : tc__logs_add(f, tc_slice_cstr(path));
    if (log == NULL || tc_grow_items(log->gens, log->cap, log->count + 1, SIZE_MAX) != TC_OK) {
        return;
    }
    gen.number = number;
    log->gens[log->count++] = gen;
    log->gone_ns = tc_mono_ns(); /* until it is found */
    f->last_number = number > f->last_number ? number : f->last_number;
}

static void restore_all(struct tc__files *f)
{
    tc_port_positions(f->port, restore, f);
    for (size_t i = 0; i < f->count; i++) {
        qsort(f->logs[i]->gens, f->logs[i]->count, sizeof *f->logs[i]->gens, by_number);
    }
    /* Numbers grow over restarts too, also where positions were forgotten. */
    uint64_t now = (uint64_t)tc_wall_ns();
    f->last_number = f->last_number < now ? now : f->last_number;
}

/* ---- what there is ---- */

static void watch_dir(struct tc__files *f, struct tc__dir *dir)
{
    dir->watch =
        f->inotify_fd < 0
            ? -1
            : inotify_add_watch(f->inotify_fd, dir->path[0] == '\0' ? "/" : dir->path, EVENTS);
}

/* Directories of all patterns, as they are now. inotify gives one that it knows the same number. */
static void find_dirs(struct tc__files *f)
{
    struct tc__dirs found = {0};
    for (size_t i = 0; i < f->glob_count; i++) {
        if (tc__glob_dirs(&f->globs[i], &found) != TC_OK) {
            f->left_out++;
        }
    }
    for (size_t i = 0; i < found.count; i++) {
        bool is_same = i < f->dirs.count && found.items[i].glob == f->dirs.items[i].glob &&
                       strcmp(found.items[i].path, f->dirs.items[i].path) == 0 &&
                       f->dirs.items[i].watch >= 0;
        if (is_same) {
            found.items[i].watch = f->dirs.items[i].watch;
        } else {
            watch_dir(f, &found.items[i]);
        }
        found.items[i].is_dirty = true;
    }
    tc__dirs_fini(&f->dirs);
    f->dirs = found;
}

/* Compressed files are none that anybody reads; a rotated one belongs to the log it was. */
static bool is_taken_path(const struct tc__files *f, struct tc_slice path)
{
    static const char *const ends[] = {".gz", ".xz", ".bz2", ".zst", ".lz4", ".zip", ".swp", NULL};
    char text[TC__FILE_PATH_MAX + 1];
    for (size_t i = 0; ends[i] != NULL; i++) {
        if (tc_slice_ends(path, tc_slice_cstr(ends[i]))) {
            return false;
        }
    }
    struct tc_slice from = tc__rotated_from(path, text, sizeof text);
    struct tc__stat st;
    char before[TC__FILE_PATH_MAX + 1];
    if (from.len == 0 || from.len >= sizeof before) {
        return true;
    }
    memcpy(before, from.ptr, from.len);
    before[from.len] = '\0';
    return tc__logs_find(f, from) == NULL && !(tc__file_stat(before, &st) && st.is_regular);
}

static void take_name(struct tc__files *f, const struct tc__dir *dir, const char *name)
{
    char text[TC__FILE_PATH_MAX + 2];
    struct tc__matched matched = dir->matched;
    if (!tc__glob_matches(dir->glob, dir->glob->part_count - 1, name, &matched)) {
        return;
    }
    size_t dir_len = strlen(dir->path);
    size_t name_len = strlen(name);
    if (dir_len + 1 + name_len > TC__FILE_PATH_MAX) {
        f->left_out++;
        return;
    }
    memcpy(text, dir->path, dir_len);
    text[dir_len] = '/';
    memcpy(text + dir_len + 1, name, name_len + 1);
    struct tc_slice path = tc_slice_make(text, dir_len + 1 + name_len);
    struct tc__log *log = tc__logs_find(f, path);
    if (log == NULL && is_taken_path(f, path)) {
        log = tc__logs_add(f, path);
        f->left_out += log == NULL;
    }
    if (log != NULL) {
        if (log->glob == NULL) {
            log->glob = dir->glob;
            log->matched = matched;
        }
        log->is_checked = true;
    }
}

static void list_dir(struct tc__files *f, struct tc__dir *dir)
{
    dir->is_dirty = false;
    DIR *d = opendir(dir->path[0] == '\0' ? "/" : dir->path);
    for (size_t i = 0; d != NULL && i < ENTRIES_MAX; i++) {
        const struct dirent *e = readdir(d);
        if (e == NULL) {
            break;
        }
        if (e->d_type != DT_DIR) {
            take_name(f, dir, e->d_name);
        }
    }
    if (d != NULL) {
        (void)closedir(d);
    }
}

static void look(struct tc__files *f, bool is_full)
{
    if (is_full) {
        f->left_out = 0;
        find_dirs(f);
    }
    for (size_t i = 0; i < f->dirs.count; i++) {
        if (f->dirs.items[i].is_dirty) {
            list_dir(f, &f->dirs.items[i]);
        }
    }
    for (size_t i = 0; i < f->count; i++) {
        struct tc__log *log = f->logs[i];
        if (log->glob != NULL && (is_full || log->is_checked)) {
            tc__log_check(f, log);
            log->is_ready = log->is_ready || log->is_lingering;
        }
    }
    f->is_first_look = false;
}

/* ---- what is told of changes ---- */

/* A file that we know is looked at; anything else makes its directory worth a look. */
static void take_event(struct tc__files *f, const struct inotify_event *e)
{
    if ((e->mask & IN_Q_OVERFLOW) != 0) {
        for (size_t i = 0; i < f->dirs.count; i++) {
            f->dirs.items[i].is_dirty = true;
        }
        return;
    }
    for (size_t i = 0; i < f->dirs.count; i++) {
        struct tc__dir *dir = &f->dirs.items[i];
        if (dir->watch == e->wd && e->len > 0) {
            take_name(f, dir, e->name);
        }
    }
}

static void read_events(struct tc__files *f)
{
    char buffer[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
    for (;;) {
        ssize_t n = read(f->inotify_fd, buffer, sizeof buffer);
        if (n <= 0) {
            return;
        }
        for (size_t at = 0; at < (size_t)n;) {
            const struct inotify_event *e = (const struct inotify_event *)(void *)(buffer + at);
            take_event(f, e);
            at += sizeof *e + e->len;
        }
    }
}

/* ---- the thread ---- */

static void tell_health(struct tc__files *f)
{
    uint64_t there = 0;
    uint64_t refused = 0;
    const struct tc__log *one = NULL;
    for (size_t i = 0; i < f->count; i++) {
        there += f->logs[i]->is_there;
        refused += f->logs[i]->is_refused;
        one = f->logs[i]->is_refused ? f->logs[i] : one;
    }
    tc_port_watches(f->port, there);
    if (one != NULL) {
        tc_port_fail(f->port,
                     "%llu of %llu files cannot be opened, %.120s for one: give the daemon's user "
                     "the right to read it",
                     (unsigned long long)refused, (unsigned long long)there, one->path);
    } else if (f->left_out > 0) {
        tc_port_fail(f->port, "%llu files are left out: too many, or too long a path",
                     (unsigned long long)f->left_out);
    } else {
        tc_port_ok(f->port);
    }
}

/* Reads until it is level. False: the daemon ends. */
static bool read_all(struct tc__files *f, bool *out_more)
{
    *out_more = true;
    for (size_t i = 0; i < ROUNDS_MAX && *out_more; i++) {
        if (tc__round_read(f, out_more) != TC_OK) {
            return false;
        }
    }
    tc_port_behind(f->port, *out_more);
    return !tc_port_is_stopping(f->port);
}

static void run(void *state, struct tc_source_port *port)
{
    struct tc__files *f = state;
    int64_t next_look_ns = 0;
    f->port = port;
    f->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    restore_all(f);
    f->is_first_look = !f->was_restored;
    while (!tc_port_is_stopping(port)) {
        int64_t now_ns = tc_mono_ns();
        bool is_full = now_ns >= next_look_ns;
        bool was_first = f->is_first_look;
        bool more = false;
        look(f, is_full);
        if (was_first) {
            tc_port_keep(port, TC_LIT("looked"), TC_LIT("1"));
        }
        if (was_first || f->has_new) {
            tc_port_save(port, true);
            f->has_new = false;
        }
        if (is_full) {
            next_look_ns = now_ns + f->config.poll_ns;
            tc__logs_forget(f, now_ns);
            tell_health(f);
        }
        if (!read_all(f, &more)) {
            return;
        }
        if (!more && tc_port_wait(port, f->inotify_fd, next_look_ns - tc_mono_ns())) {
            (void)tc_port_wait(port, -1, GATHER_NS);
        }
        if (f->inotify_fd >= 0) {
            read_events(f);
        }
    }
}

const struct tc_source_kind tc_source_files = {.name = "files", .run = run, .destroy = destroy};
