/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of paths. A pattern has so many parts as it has slashes, so links cannot lead in
 * circles. */
#include "base/table/grow.h"
#include "codec/codec.h"
#include "source/files/priv.h"
#include "source/text_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Directories of all patterns. */
#define DIRS_MAX ((size_t)65536)
/* Entries of one directory that are looked at. */
#define ENTRIES_MAX ((size_t)1 << 20)

/* A name that is none would leave the log unread. */
static tc_status check_formats(struct tc_slice names, struct tc_error *err)
{
    while (names.len > 0) {
        struct tc_slice name = tc_slice_cut(names, ',', &names);
        if (tc_codec_by_name(name) == NULL) {
            return tc_fail(err, TC_E_USAGE, 0,
                           "\"%.*s\" is no format; tracecore decode --formats lists them",
                           TC_FMT(name));
        }
    }
    return TC_OK;
}

static tc_status read_words(struct tc__glob *g, struct tc_slice rest, struct tc_error *err)
{
    const struct {
        const char *key;
        struct tc_slice *to;
    } keys[] = {{"format", &g->format}, {"node", &g->node}, {"job", &g->job}, {"tz", &g->tz}};
    while (rest.len > 0) {
        struct tc_slice word = tc_slice_cut(rest, ' ', &rest);
        struct tc_slice value;
        struct tc_slice key = tc_slice_cut(word, '=', &value);
        size_t i = tc_slice_row(key, keys, key);
        if (word.len == 0) {
            continue;
        }
        if (i >= TC_COUNT(keys) || value.len == 0) {
            return tc_fail(err, TC_E_USAGE, 0,
                           "\"%.*s\": behind a path stand format=, node=, job= or tz=; for a blank "
                           "in a path write ?",
                           TC_FMT(word));
        }
        *keys[i].to = value;
    }
    return check_formats(g->format, err);
}

/* A part with {node} or {job} in it has nothing else but plain text. */
static bool is_part(struct tc_slice part)
{
    size_t open = tc_slice_find_byte(part, '{');
    if (open == TC_NPOS) {
        return true;
    }
    struct tc_slice name = tc_slice_from(part, open);
    bool is_known =
        tc_slice_starts(name, TC_LIT("{node}")) || tc_slice_starts(name, TC_LIT("{job}"));
    struct tc_slice after = tc_slice_from(name, tc_slice_find_byte(name, '}') + 1);
    return is_known && tc_slice_find_byte(after, '{') == TC_NPOS &&
           tc_slice_find_byte(part, '*') == TC_NPOS && tc_slice_find_byte(part, '?') == TC_NPOS &&
           tc_slice_find_byte(part, '[') == TC_NPOS;
}

/* Ends each part with a zero, in the copy. */
static tc_status read_parts(struct tc__glob *g, size_t path_len, struct tc_error *err)
{
    char *at = g->text;
    char *end = g->text + path_len;
    if (path_len == 0 || *at != '/' || path_len > TC__FILE_PATH_MAX) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "\"%.*s\": a path begins with /, and has at most %d bytes",
                       (int)(path_len > 256 ? 256 : path_len), g->text, TC__FILE_PATH_MAX);
    }
    *end = '\0';
    while (at < end) {
        char *slash = strchr(at + 1, '/');
        char *until = slash == NULL ? end : slash;
        struct tc_slice part = tc_slice_make(at + 1, (size_t)(until - at - 1));
        if (part.len > 0) {
            if (g->part_count == TC__GLOB_PARTS || !is_part(part)) {
                return tc_fail(err, TC_E_USAGE, 0,
                               "\"%s\": at most %d parts, and {node} or {job} without *, ?, [ or "
                               "another one beside it",
                               g->text, TC__GLOB_PARTS);
            }
            g->parts[g->part_count++] = part;
        }
        at = until;
    }
    for (size_t i = 0; i < g->part_count; i++) { /* after the last message that shows it whole */
        g->text[(size_t)(g->parts[i].ptr - g->text) + g->parts[i].len] = '\0';
    }
    return g->part_count > 0
               ? TC_OK
               : tc_fail(err, TC_E_USAGE, 0, "\"/\" is a folder: write which files in it");
}

tc_status tc__glob_parse(struct tc_slice line, struct tc__glob *out, struct tc_error *err)
{
    struct tc__glob g = {0};
    g.text = tc__text_copy(line);
    if (g.text == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a pattern");
    }
    struct tc_slice rest;
    struct tc_slice path = tc_slice_cut(tc_slice_make(g.text, line.len), ' ', &rest);
    tc_status status = read_words(&g, rest, err);
    status = status == TC_OK ? read_parts(&g, path.len, err) : status;
    if (status != TC_OK) {
        free(g.text);
        return status;
    }
    *out = g;
    return TC_OK;
}

void tc__glob_fini(struct tc__glob *g)
{
    free(g->text);
    *g = (struct tc__glob){0};
}

bool tc__glob_matches(const struct tc__glob *g, size_t i, const char *name,
                      struct tc__matched *io_matched)
{
    struct tc_slice part = g->parts[i];
    size_t open = tc_slice_find_byte(part, '{');
    if (open == TC_NPOS) {
        return fnmatch(part.ptr, name, FNM_PERIOD) == 0;
    }
    struct tc_slice before = tc_slice_head(part, open);
    struct tc_slice after = tc_slice_from(part, tc_slice_find_byte(part, '}') + 1);
    struct tc_slice all = tc_slice_cstr(name);
    char *to = tc_slice_starts(tc_slice_from(part, open), TC_LIT("{node}")) ? io_matched->node
                                                                            : io_matched->job;
    if (all.len <= before.len + after.len || !tc_slice_starts(all, before) ||
        !tc_slice_ends(all, after) || all.ptr[0] == '.') {
        return false;
    }
    size_t len = all.len - before.len - after.len;
    if (len >= sizeof io_matched->node) {
        return false;
    }
    memcpy(to, all.ptr + before.len, len);
    to[len] = '\0';
    return true;
}

/* ---- directories ---- */

void tc__dirs_fini(struct tc__dirs *d)
{
    for (size_t i = 0; i < d->count; i++) {
        free(d->items[i].path);
    }
    free(d->items);
    *d = (struct tc__dirs){0};
}

static tc_status add_dir(struct tc__dirs *d, struct tc__glob *g, const char *parent,
                         const char *name, const struct tc__matched *matched)
{
    char *path = NULL;
    TC_TRY(tc_grow_items(d->items, d->cap, d->count + 1, DIRS_MAX));
    if (asprintf(&path, "%s%s%s", parent, name[0] == '\0' ? "" : "/", name) < 0) {
        return TC_E_NOMEM;
    }
    d->items[d->count++] =
        (struct tc__dir){.path = path, .glob = g, .matched = *matched, .watch = -1};
    return TC_OK;
}

static bool is_plain(struct tc_slice part)
{
    for (size_t i = 0; i < part.len; i++) {
        if (strchr("*?[{\\", part.ptr[i]) != NULL) {
            return false;
        }
    }
    return true;
}

/* The directories in `parent` that part i matches. */
static tc_status descend(struct tc__glob *g, size_t i, const struct tc__dir *parent,
                         struct tc__dirs *out)
{
    if (is_plain(g->parts[i])) {
        return add_dir(out, g, parent->path, g->parts[i].ptr, &parent->matched);
    }
    DIR *dir = opendir(parent->path[0] == '\0' ? "/" : parent->path);
    tc_status status = TC_OK;
    struct dirent *e = NULL;
    for (size_t n = 0; dir != NULL && status == TC_OK && n < ENTRIES_MAX; n++) {
        e = readdir(dir);
        if (e == NULL) {
            break;
        }
        struct tc__matched matched = parent->matched;
        bool may_be = e->d_type == DT_DIR || e->d_type == DT_LNK || e->d_type == DT_UNKNOWN;
        if (may_be && strlen(parent->path) + strlen(e->d_name) < TC__FILE_PATH_MAX &&
            tc__glob_matches(g, i, e->d_name, &matched)) {
            status = add_dir(out, g, parent->path, e->d_name, &matched);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return status;
}

tc_status tc__glob_dirs(struct tc__glob *g, struct tc__dirs *io_dirs)
{
    struct tc__dirs now = {0};
    struct tc__matched none = {{0}, {0}};
    tc_status status = add_dir(&now, g, "", "", &none);
    for (size_t i = 0; i + 1 < g->part_count && status == TC_OK; i++) {
        struct tc__dirs next = {0};
        for (size_t k = 0; k < now.count && status == TC_OK; k++) {
            status = descend(g, i, &now.items[k], &next);
        }
        tc__dirs_fini(&now);
        now = next;
    }
    for (size_t i = 0; i < now.count && status == TC_OK; i++) {
        status = tc_grow_items(io_dirs->items, io_dirs->cap, io_dirs->count + 1, DIRS_MAX);
        if (status == TC_OK) {
            io_dirs->items[io_dirs->count++] = now.items[i];
            now.items[i].path = NULL;
        }
    }
    tc__dirs_fini(&now);
    return status;
}
