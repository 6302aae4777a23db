/* SPDX-License-Identifier: Apache-2.0 */
/* Tables written to Parquet files. */
#include "base/os/io.h"
#include "warehouse/duckdb/duckdb_priv.h"
#include "warehouse/duckdb/sql_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SQL_MAX 1024
#define COPY_BLOCK ((size_t)1 << 20)

static tc_status io_fail(struct tc_error *err, const char *doing, const char *path)
{
    return tc_fail(err, TC_E_IO, 0, "cannot %s %s: %s", doing, path, strerror(errno));
}

/* Durable: the file, or the folder that names it. */
static tc_status sync_path(const char *path, struct tc_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool fine = fd >= 0 && fsync(fd) == 0;
    int why = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    errno = why;
    return fine ? TC_OK : io_fail(err, "sync", path);
}

/* The folder of path: "." when it names none. */
static void folder_of(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        (void)snprintf(out, size, ".");
    } else {
        (void)snprintf(out, size, "%.*s", (int)(slash == path ? 1 : slash - path), path);
    }
}

static tc_status copy_bytes(int from, int to, const char *name, struct tc_error *err)
{
    char *block = malloc(COPY_BLOCK);
    ssize_t got = 0;
    if (block == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory to copy a file");
    }
    do {
        got = tc_io_read(from, block, COPY_BLOCK);
    } while (got > 0 && tc_io_write(to, tc_slice_make(block, (size_t)got)));
    tc_status status = got == 0 ? TC_OK : io_fail(err, "write", name);
    free(block);
    return status;
}

/* To another file system: a copy beside the target, which then takes its name. */
static tc_status move_over(const char *made, const char *path, struct tc_error *err)
{
    char beside[TC__DUCKDB_PATH_MAX + 16];
    if (snprintf(beside, sizeof beside, "%s.XXXXXX", path) >= (int)sizeof beside) {
        return tc_fail(err, TC_E_LIMIT, 0, "the path is too long: %s", path);
    }
    int from = open(made, O_RDONLY | O_CLOEXEC);
    if (from < 0) {
        return io_fail(err, "open", made);
    }
    int to = mkostemp(beside, O_CLOEXEC);
    tc_status status = to < 0 ? io_fail(err, "make a file beside", path) : TC_OK;
    if (status == TC_OK) {
        status = copy_bytes(from, to, beside, err);
    }
    if (status == TC_OK && (fchmod(to, 0644) != 0 || fsync(to) != 0 || rename(beside, path) != 0)) {
        status = io_fail(err, "write", path);
    }
    if (to >= 0) {
        (void)close(to);
        if (status != TC_OK) {
            (void)unlink(beside);
        }
    }
    (void)close(from);
    return status;
}

/* From the folder that SQL may write to into its place. */
static tc_status put_in_place(const char *made, const char *path, struct tc_error *err)
{
    char folder[TC__DUCKDB_PATH_MAX];
    TC_TRY(sync_path(made, err));
    if (rename(made, path) != 0) {
        if (errno != EXDEV) {
            return io_fail(err, "write", path);
        }
        TC_TRY(move_over(made, path, err));
    }
    folder_of(path, folder, sizeof folder);
    return sync_path(folder, err);
}

static tc_status copy_to(struct tc__duckdb *d, const struct tc_table_info *info,
                         const char *time_name, int64_t before_us, const char *made,
                         uint64_t *out_rows, struct tc_error *err)
{
    char sql[TC__DUCKDB_PATH_MAX * 2 + SQL_MAX];
    struct tc_buf b = tc_buf_make(sql, sizeof sql);
    bool cut = false;
    (void)tc_format(
        &b, "COPY (SELECT * FROM \"{}\"{}) TO '{}' (FORMAT parquet, COMPRESSION zstd)", info->name,
        tc_when(before_us != INT64_MIN, " WHERE \"{}\" < make_timestamp({})", time_name, before_us),
        tc__sql_quoted(tc_slice_cstr(made)));
    if (b.overflowed) {
        return tc_fail(err, TC_E_LIMIT, 0, "the path of the data directory is too long");
    }
    struct tc_query query = {.sql = tc_buf_slice(&b)};
    int64_t count = 0;
    tc_status status = tc__duckdb_query(d, &query, tc__duckdb_take_int, &count, &cut, err);
    *out_rows = (uint64_t)count;
    /* The text is ours: it is not the caller's usage that was wrong. */
    return status == TC_E_USAGE ? TC_E_IO : status;
}

tc_status tc__duckdb_parquet(void *engine, enum tc_table table, size_t time_column,
                             int64_t before_us, const char *path, uint64_t *out_rows,
                             struct tc_error *err)
{
    struct tc__duckdb *d = engine;
    const struct tc_table_info *info = &d->base->schema->tables[table];
    char folder[TC__DUCKDB_PATH_MAX + 32];
    char made[TC__DUCKDB_PATH_MAX + 128];
    (void)snprintf(folder, sizeof folder, "%s/" TC__DUCKDB_OUT_DIR, d->base->data_dir);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return io_fail(err, "make", folder);
    }
    (void)snprintf(made, sizeof made, "%s/%ld-%u.parquet", folder, (long)getpid(),
                   atomic_fetch_add(&d->base->exports, 1));
    const char *time_name = before_us == INT64_MIN ? NULL : info->columns[time_column].name;
    tc_status status = copy_to(d, info, time_name, before_us, made, out_rows, err);
    if (status == TC_OK) {
        status = put_in_place(made, path, err);
    }
    (void)unlink(made);
    (void)rmdir(folder); /* when it is empty: another export may run */
    return status;
}
