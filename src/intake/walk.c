/* SPDX-License-Identifier: Apache-2.0 */
#include "intake/walk.h"

#include "base/limits.h"
#include "base/table/grow.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Directories that wait to be read. */
struct dir {
    char *path;
    unsigned depth;
};

struct dirs {
    struct dir *items;
    size_t count;
    size_t cap;
};

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct tc_walk_file *)a)->path, ((const struct tc_walk_file *)b)->path);
}

static size_t count_max(const struct tc_walk *w)
{
    return w->count_max == 0 ? TC_INPUTS_MAX : w->count_max;
}

/* Only the first files in order of path stay. */
static void drop_excess(struct tc_walk *w)
{
    size_t most = count_max(w);
    if (w->count == 0 || (w->count <= most && w->left_out == 0)) {
        return;
    }
    qsort(w->files, w->count, sizeof *w->files, by_path);
    for (; w->count > most; w->count--) {
        free(w->files[w->count - 1].path);
        w->left_out++;
    }
}

/* Takes path. */
static tc_status add_file(struct tc_walk *w, char *path, bool direct)
{
    if (w->count >= 2 * count_max(w)) {
        drop_excess(w); /* now and then, so that memory does not follow the size of the tree */
    }
    if (path == NULL || tc_grow_items(w->files, w->cap, w->count + 1, 2 * count_max(w)) != TC_OK) {
        free(path);
        return TC_E_NOMEM;
    }
    w->files[w->count++] = (struct tc_walk_file){path, direct};
    return TC_OK;
}

/* Takes path. */
static tc_status add_dir(struct dirs *d, char *path, unsigned depth)
{
    if (path == NULL || tc_grow_items(d->items, d->cap, d->count + 1, SIZE_MAX) != TC_OK) {
        free(path);
        return TC_E_NOMEM;
    }
    d->items[d->count++] = (struct dir){path, depth};
    return TC_OK;
}

static char *join(const char *folder, const char *name)
{
    char *path = NULL;
    size_t len = strlen(folder);
    const char *slash = len > 0 && folder[len - 1] == '/' ? "" : "/";
    return asprintf(&path, "%s%s%s", folder, slash, name) < 0 ? NULL : path;
}

/*
 * What an entry is, as far as a walk cares: DT_REG, DT_DIR or DT_UNKNOWN for the rest, which
 * *out_what then names.
 */
static unsigned char entry_kind(const char *path, unsigned char type, const char **out_what)
{
    struct stat st;
    *out_what = "gone";
    if (type == DT_REG || type == DT_DIR) {
        return type;
    }
    if (lstat(path, &st) != 0) {
        return DT_UNKNOWN;
    }
    if (S_ISDIR(st.st_mode)) {
        return DT_DIR;
    }
    bool link = S_ISLNK(st.st_mode);
    /* A link is followed to a file, never to a directory: that could go in circles. */
    if (link && stat(path, &st) != 0) {
        *out_what = "a link that leads nowhere";
        return DT_UNKNOWN;
    }
    *out_what = S_ISDIR(st.st_mode)    ? "a link to a directory"
                : S_ISFIFO(st.st_mode) ? "a pipe"
                : S_ISSOCK(st.st_mode) ? "a socket"
                                       : "a device";
    return S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
}

static void skip_entry(struct tc_walk *w, const char *path, const char *what)
{
    w->skipped++;
    if (w->verbose) {
        w->say("%s: not read: %s", path, what);
    }
}

static tc_status read_entries(struct tc_walk *w, struct dirs *d, const struct dir *now, DIR *stream)
{
    for (const struct dirent *e; (e = readdir(stream)) != NULL;) {
        if (e->d_name[0] == '.') {
            continue;
        }
        char *path = join(now->path, e->d_name);
        if (path == NULL) {
            return TC_E_NOMEM;
        }
        const char *what = NULL;
        unsigned char kind = entry_kind(path, e->d_type, &what);
        if (kind == DT_REG) {
            TC_TRY(add_file(w, path, false));
        } else if (kind == DT_DIR && now->depth + 1 <= TC_DIR_DEPTH_MAX) {
            TC_TRY(add_dir(d, path, now->depth + 1));
        } else {
            if (kind == DT_DIR) {
                w->say("%s: not read: more than %d directories deep", path, TC_DIR_DEPTH_MAX);
                w->failed = true;
            } else {
                skip_entry(w, path, what);
            }
            free(path);
        }
    }
    return TC_OK;
}

static tc_status read_dir(struct tc_walk *w, struct dirs *d, const struct dir *now)
{
    DIR *stream = opendir(now->path);
    if (stream == NULL) {
        char text[128];
        w->say("%s: cannot be opened: %s", now->path, strerror_r(errno, text, sizeof text));
        w->failed = true;
        return TC_OK;
    }
    tc_status status = read_entries(w, d, now, stream);
    (void)closedir(stream);
    return status;
}

static tc_status walk_dir(struct tc_walk *w, const char *path)
{
    struct dirs waiting = {0};
    size_t first = w->count;
    tc_status status = add_dir(&waiting, strdup(path), 1);
    while (status == TC_OK && waiting.count > 0) {
        struct dir now = waiting.items[--waiting.count];
        status = read_dir(w, &waiting, &now);
        free(now.path);
    }
    for (size_t i = 0; i < waiting.count; i++) {
        free(waiting.items[i].path);
    }
    free(waiting.items);
    if (w->left_out == 0 && w->count > first) { /* tc_walk_end sorts what was cut */
        qsort(w->files + first, w->count - first, sizeof *w->files, by_path);
    }
    return status;
}

tc_status tc_walk_add(struct tc_walk *w, const char *path)
{
    struct stat st;
    if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        return walk_dir(w, path);
    }
    /* Whether it exists is found out when it is opened. */
    return add_file(w, strdup(path), true);
}

void tc_walk_end(struct tc_walk *w)
{
    drop_excess(w);
    w->failed = w->failed || w->left_out > 0;
}

void tc_walk_fini(struct tc_walk *w)
{
    for (size_t i = 0; i < w->count; i++) {
        free(w->files[i].path);
    }
    free(w->files);
    *w = (struct tc_walk){0};
}
