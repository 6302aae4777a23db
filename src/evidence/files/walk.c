/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/files/files_priv.h"

#include "base/table/grow.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Files of one of the 256 folders. */
#define FOLDER_MAX ((size_t)1 << 20)

struct walk {
    const struct tc_files *files;
    void (*odd)(void *context, const char *path);
    void *context;
    struct tc_digest *digests; /* of one folder */
    size_t count;
    size_t cap;
};

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct tc_digest));
}

static void tell_odd(const struct walk *w, const char *folder, const char *name)
{
    char path[TC__PATH_MAX];
    if (w->odd != NULL) {
        int len = snprintf(path, sizeof path, "%s%s%s/%s", w->files->dir,
                           folder[0] == '\0' ? "" : "/", folder, name);
        if (len > 0 && (size_t)len < sizeof path) {
            w->odd(w->context, path);
        }
    }
}

static tc_status note(struct walk *w, const struct tc_digest *digest, struct tc_error *err)
{
    if (tc_grow_items(w->digests, w->cap, w->count + 1, FOLDER_MAX) != TC_OK) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to list %s", w->files->dir);
    }
    w->digests[w->count++] = *digest;
    return TC_OK;
}

static bool lower_hex(const char *name)
{
    for (; *name != '\0'; name++) {
        if ((*name < '0' || *name > '9') && (*name < 'a' || *name > 'f')) {
            return false;
        }
    }
    return true;
}

static tc_status list_folder(struct walk *w, const char *folder, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    tc_status status = TC_OK;
    w->count = 0;
    tc__path(path, w->files->dir, folder, NULL);
    DIR *d = opendir(path);
    if (d == NULL) {
        return errno == ENOENT ? TC_OK : tc__files_fail(err, "cannot read", path, errno);
    }
    for (struct dirent *e; status == TC_OK && (e = readdir(d)) != NULL;) {
        struct tc_digest digest;
        if (e->d_name[0] == '.') {
            continue;
        }
        if (lower_hex(e->d_name) && tc_digest_from_hex(tc_slice_cstr(e->d_name), &digest) &&
            memcmp(e->d_name, folder, 2) == 0) {
            status = note(w, &digest, err);
        } else {
            tell_odd(w, folder, e->d_name);
        }
    }
    (void)closedir(d);
    if (w->count > 1) {
        qsort(w->digests, w->count, sizeof *w->digests, by_digest);
    }
    return status;
}

/* Names beside the folders. */
static tc_status look_at_top(const struct walk *w, struct tc_error *err)
{
    DIR *d = opendir(w->files->dir);
    if (d == NULL) {
        return tc__files_fail(err, "cannot read", w->files->dir, errno);
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        bool folder = strlen(e->d_name) == 2 && lower_hex(e->d_name);
        if (e->d_name[0] != '.' && !folder && strcmp(e->d_name, "open") != 0 &&
            strcmp(e->d_name, "lock") != 0) {
            tell_odd(w, "", e->d_name);
        }
    }
    (void)closedir(d);
    return TC_OK;
}

static tc_status tell_folder(struct walk *w,
                             tc_status (*take)(void *context, const struct tc_files_info *info))
{
    char path[TC__PATH_MAX];
    tc_status status = TC_OK;
    for (size_t i = 0; i < w->count && status == TC_OK; i++) {
        struct tc_files_info info = {.digest = w->digests[i]};
        struct stat st;
        tc__files_path(w->files, &info.digest, false, path);
        if (lstat(path, &st) != 0) {
            continue; /* removed meanwhile */
        }
        info.disk_bytes = (uint64_t)st.st_size;
        info.modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        status = take(w->context, &info);
    }
    return status;
}

tc_status tc_files_walk(struct tc_files *f,
                        tc_status (*take)(void *context, const struct tc_files_info *info),
                        void (*odd)(void *context, const char *path), void *context,
                        struct tc_error *err)
{
    struct walk w = {.files = f, .odd = odd, .context = context};
    tc_status status = look_at_top(&w, err);
    for (unsigned i = 0; i < 256 && status == TC_OK; i++) {
        char folder[3];
        (void)snprintf(folder, sizeof folder, "%02x", i);
        status = list_folder(&w, folder, err);
        if (status == TC_OK) {
            status = tell_folder(&w, take);
        }
    }
    free(w.digests);
    return status;
}
