/* SPDX-License-Identifier: Apache-2.0 */
/* Who else may be at work, where the new database is made, and how it takes the old one's place. */
#include "base/clock.h"
#include "base/os/tree.h"
#include "base/time.h"
#include "cli/rebuild/rebuild.h"
#include "run/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How long another command that has the database open is waited for. */
#define WAIT_NS (20 * TC_SECOND)
/* A command that was about to open the old file finds it taken so long, and opens the new one. */
#define HAND_OVER_NS (50 * TC_SECOND / 1000)
/* Old databases that are kept under the name of one second. */
#define KEPT_PER_SECOND_MAX 99

static tc_status failed(struct tc_error *err, const char *path)
{
    return tc_fail(err, TC_E_IO, 0, "%s: %s", path, strerror(errno));
}

/* ---- directories ---- */

static tc_status sync_path(const char *path, struct tc_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    tc_status status = fd >= 0 && fsync(fd) == 0 ? TC_OK : failed(err, path);
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

/* ---- the old one ---- */

static tc_status open_old(struct tc_rebuild *r, struct tc_error *err)
{
    struct tc_warehouse_config config = {
        .data_dir = r->dir, .mode = TC_WAREHOUSE_READ, .wait_ns = WAIT_NS, .own = true};
    return tc_warehouse_open(&config, &r->old, err);
}

void tc_rebuild_open_old(struct tc_rebuild *r)
{
    struct tc_error ignored;
    tc_warehouse_close(r->old);
    r->old = NULL;
    if (open_old(r, &ignored) != TC_OK) {
        r->old = NULL;
    }
}

/* What is in its log belongs to it, and is taken in: the file alone is renamed. One that cannot be
 * opened is left as it is. */
static void take_in_log(const struct tc_rebuild *r)
{
    char path[TC_REBUILD_PATH_BYTES];
    struct tc_warehouse *w = NULL;
    struct tc_error ignored;
    struct tc_warehouse_config config = {
        .data_dir = r->dir, .mode = TC_WAREHOUSE_WRITE, .wait_ns = WAIT_NS, .own = true};
    (void)snprintf(path, sizeof path, "%s/" TC_REBUILD_FILE ".wal", r->dir);
    if (access(path, F_OK) == 0 && tc_warehouse_open(&config, &w, &ignored) == TC_OK) {
        tc_warehouse_close(w);
    }
}

static tc_status look_at_old(struct tc_rebuild *r, struct tc_error *err)
{
    char path[TC_REBUILD_PATH_BYTES];
    struct stat st;
    struct tc_error why = {0};
    (void)snprintf(path, sizeof path, "%s/" TC_REBUILD_FILE, r->dir);
    r->was_there = lstat(path, &st) == 0;
    if (!r->was_there) {
        return errno == ENOENT ? TC_OK : failed(err, path);
    }
    if (!S_ISREG(st.st_mode)) {
        return tc_fail(err, TC_E_USAGE, 0, "%s: not a file; move it away first", path);
    }
    take_in_log(r);
    tc_status status = open_old(r, &why);
    if (status == TC_E_UNSUPPORTED || status == TC_E_NOMEM ||
        strstr(why.message, "is in use by") != NULL) {
        *err = why;
        return status;
    }
    if (status != TC_OK && status != TC_E_NOTFOUND) {
        tc_rebuild_note(r, "the old database cannot be read: %s", why.message);
    }
    return TC_OK;
}

/* ---- the new one ---- */

static tc_status make_new(struct tc_rebuild *r, struct tc_error *err)
{
    struct tc_warehouse_config config = {
        .data_dir = r->work, .mode = TC_WAREHOUSE_WRITE, .wait_ns = WAIT_NS, .own = true};
    if (r->args->into != NULL && access(r->args->into, F_OK) == 0) {
        return tc_fail(err, TC_E_USAGE, 0, "%s is there already; name another file for --into",
                       r->args->into);
    }
    (void)snprintf(r->work, sizeof r->work, "%s%s", r->args->into != NULL ? r->args->into : r->dir,
                   r->args->into != NULL ? ".rebuild" : "/warehouse.rebuild");
    TC_TRY(tc_tree_remove(r->work, err));
    return tc_warehouse_open(&config, &r->made, err);
}

tc_status tc_rebuild_begin(struct tc_rebuild *r, struct tc_error *err)
{
    struct stat st;
    if (stat(r->dir, &st) != 0 || !S_ISDIR(st.st_mode)) {
        return tc_fail(err, TC_E_NOTFOUND, 0,
                       "%s: there is no such directory; --data-dir names the one to rebuild",
                       r->dir);
    }
    TC_TRY(tc_data_lock(r->dir, "rebuild", &r->lock_fd, err));
    TC_TRY(tc_runs_lock(r->dir, &r->runs_fd, err));
    TC_TRY(look_at_old(r, err));
    tc_status status = tc_files_open(r->dir, false, &r->files, err);
    if (status != TC_OK && status != TC_E_NOTFOUND) {
        return status;
    }
    return make_new(r, err);
}

/* ---- the change ---- */

/*
 * A second name for the old file, so that it is never without one:
 * warehouse.duckdb.before-rebuild-20261117T120000Z, and with -2, -3, ... where a rebuild of the
 * same second has left one.
 */
static tc_status name_kept(struct tc_rebuild *r, const char *path, struct tc_error *err)
{
    char stamp[32];
    time_t seconds = (time_t)(r->now_ns / TC_SECOND);
    struct tm tm;
    (void)gmtime_r(&seconds, &tm);
    (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
    int length = snprintf(r->kept, sizeof r->kept, "%s/" TC_REBUILD_FILE ".before-rebuild-%s",
                          r->dir, stamp);
    for (unsigned again = 2; link(path, r->kept) != 0; again++) {
        if (errno != EEXIST || again > KEPT_PER_SECOND_MAX) {
            tc_status status = failed(err, r->kept);
            r->kept[0] = '\0';
            return status;
        }
        (void)snprintf(r->kept + length, sizeof r->kept - (size_t)length, "-%u", again);
    }
    return TC_OK;
}

static tc_status keep_old(struct tc_rebuild *r, const char *path, struct tc_error *err)
{
    char log[TC_REBUILD_PATH_BYTES + 8];
    char kept_log[TC_REBUILD_PATH_BYTES + 8];
    TC_TRY(name_kept(r, path, err));
    /* Only of one that could not be opened: else it was taken in. */
    (void)snprintf(log, sizeof log, "%s.wal", path);
    (void)snprintf(kept_log, sizeof kept_log, "%s.wal", r->kept);
    if (link(log, kept_log) != 0 && errno != ENOENT) {
        return failed(err, kept_log);
    }
    return TC_OK;
}

static tc_status replace(struct tc_rebuild *r, const char *made, struct tc_error *err)
{
    char path[TC_REBUILD_PATH_BYTES];
    char log[TC_REBUILD_PATH_BYTES + 8];
    (void)snprintf(path, sizeof path, "%s/" TC_REBUILD_FILE, r->dir);
    (void)snprintf(log, sizeof log, "%s.wal", path);
    if (!r->was_there && access(path, F_OK) == 0) {
        return tc_fail(err, TC_E_IO, 0, "%s: another command has made it meanwhile; try again",
                       path);
    }
    if (r->was_there && !r->args->drop_old) {
        TC_TRY(keep_old(r, path, err));
        TC_TRY(sync_path(r->dir, err));
    }
    if (unlink(log) != 0 && errno != ENOENT) {
        return failed(err, log);
    }
    if (rename(made, path) != 0) {
        return failed(err, path);
    }
    return sync_path(r->dir, err);
}

static tc_status put_into(const struct tc_rebuild *r, const char *made, struct tc_error *err)
{
    char dir[TC_REBUILD_PATH_BYTES];
    (void)snprintf(dir, sizeof dir, "%s", r->args->into);
    char *slash = strrchr(dir, '/');
    if (slash == NULL) {
        (void)snprintf(dir, sizeof dir, ".");
    } else {
        slash[slash == dir ? 1 : 0] = '\0';
    }
    return rename(made, r->args->into) == 0 ? sync_path(dir, err) : failed(err, r->args->into);
}

tc_status tc_rebuild_swap(struct tc_rebuild *r, struct tc_error *err)
{
    char made[TC_REBUILD_PATH_BYTES + 32];
    char log[TC_REBUILD_PATH_BYTES + 40];
    (void)snprintf(made, sizeof made, "%s/" TC_REBUILD_FILE, r->work);
    (void)snprintf(log, sizeof log, "%s.wal", made);
    tc_warehouse_close(r->made); /* takes in its log */
    r->made = NULL;
    if (access(log, F_OK) == 0) {
        return tc_fail(err, TC_E_IO, 0, "%s: DuckDB did not take in its log; nothing was changed",
                       log);
    }
    TC_TRY(sync_path(made, err));
    return r->args->into != NULL ? put_into(r, made, err) : replace(r, made, err);
}

void tc_rebuild_end(struct tc_rebuild *r)
{
    struct tc_error ignored;
    const struct timespec pause = tc_timespec(HAND_OVER_NS);
    tc_warehouse_close(r->made);
    if (r->work[0] != '\0') {
        (void)!tc_tree_remove(r->work, &ignored);
    }
    if (r->old != NULL) {
        (void)nanosleep(&pause, NULL);
        tc_warehouse_close(r->old);
    }
    tc_files_close(r->files);
    if (r->runs_fd >= 0) {
        (void)close(r->runs_fd);
    }
    if (r->lock_fd >= 0) {
        (void)close(r->lock_fd);
    }
}
