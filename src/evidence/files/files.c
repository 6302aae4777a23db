/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/files/files.h"

#include "evidence/dirs.h"
#include "evidence/files/files_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

tc_status tc__files_fail(struct tc_error *err, const char *what, const char *path, int error)
{
    return tc_fail(err, error == ENOMEM ? TC_E_NOMEM : TC_E_IO, 0, "%s %s: %s", what, path,
                   strerror(error));
}

void tc__files_path(const struct tc_files *f, const struct tc_digest *digest, bool folder_only,
                    char *out)
{
    char hex[TC__HEX_BYTES + 1];
    char folder[3];
    tc__hex(hex, digest);
    hex[TC__HEX_BYTES] = '\0';
    memcpy(folder, hex, 2);
    folder[2] = '\0';
    tc__path(out, f->dir, folder, folder_only ? NULL : hex);
}

void tc__files_open_path(const struct tc_files *f, const char *name, const char *suffix, char *out)
{
    char file[TC__JOURNAL_NAME_MAX + 16];
    (void)snprintf(file, sizeof file, "%s%s", name, suffix);
    tc__path(out, f->dir, "open", file);
}

tc_status tc__files_lock(struct tc_files *f, struct tc_error *err)
{
    char path[TC__PATH_MAX];
    tc__path(path, f->dir, "lock", NULL);
    if (f->lock_fd < 0) { /* readers need none, nor the right to make one */
        f->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    while (f->lock_fd < 0 || flock(f->lock_fd, LOCK_EX) != 0) {
        if (f->lock_fd < 0 || errno != EINTR) {
            return tc__files_fail(err, "cannot lock", path, errno);
        }
    }
    return TC_OK;
}

void tc__files_unlock(struct tc_files *f)
{
    (void)flock(f->lock_fd, LOCK_UN);
}

static tc_status open_dir(struct tc_files *f, const char *data_dir, bool create,
                          struct tc_error *err)
{
    char path[TC__PATH_MAX];
    char part[TC_DIRS_PATH_BYTES];
    struct stat st;
    if (!create) {
        if (stat(f->dir, &st) == 0 && S_ISDIR(st.st_mode)) {
            return TC_OK;
        }
        return tc_fail(err, errno == EACCES ? TC_E_IO : TC_E_NOTFOUND, 0, "%s: %s", f->dir,
                       errno == EACCES ? strerror(errno) : "there are no files of runs here");
    }
    tc__path(path, f->dir, "open", NULL);
    int error = tc_dirs_make(path, part);
    error = error == 0 ? tc__sync_dir(&f->io, f->dir) : error;
    error = error == 0 ? tc__sync_dir(&f->io, data_dir) : error;
    return error == 0 ? TC_OK : tc__files_fail(err, "cannot make", path, error);
}

tc_status tc_files_open(const char *data_dir, bool create, struct tc_files **out_files,
                        struct tc_error *err)
{
    struct tc_files *f = calloc(1, sizeof *f);
    if (f == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to open the files of %s", data_dir);
    }
    tc__io_init(&f->io);
    f->lock_fd = -1;
    int len = snprintf(f->dir, sizeof f->dir, "%s/files", data_dir);
    tc_status status = TC_OK;
    if (len < 0 || (size_t)len >= sizeof f->dir) {
        status = tc_fail(err, TC_E_LIMIT, 0, "the name of the data directory is too long");
    } else {
        status = open_dir(f, data_dir, create, err);
    }
    if (status != TC_OK) {
        tc_files_close(f);
        return status;
    }
    *out_files = f;
    return TC_OK;
}

void tc_files_close(struct tc_files *f)
{
    if (f == NULL) {
        return;
    }
    if (f->lock_fd >= 0) {
        (void)close(f->lock_fd);
    }
    free(f);
}

void tc_files_ask(struct tc_files *f, tc_files_needed_fn needed, void *context)
{
    f->needed = needed;
    f->needed_context = context;
}

void tc_files_io(struct tc_files *f, const struct tc_store_io *io)
{
    f->io = *io;
    tc__io_init(&f->io);
}
