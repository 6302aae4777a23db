/* SPDX-License-Identifier: Apache-2.0 */
/* Tables written to Parquet files. */
#include "warehouse/duckdb/duckdb_priv.h"
#include "warehouse/duckdb/sql_priv.h"
#include "warehouse/move_file_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SQL_MAX 1024

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
        return tc_fail(err, TC_E_IO, 0, "cannot make %s: %s", folder, strerror(errno));
    }
    (void)snprintf(made, sizeof made, "%s/%ld-%u.parquet", folder, (long)getpid(),
                   atomic_fetch_add(&d->base->exports, 1));
    const char *time_name = before_us == INT64_MIN ? NULL : info->columns[time_column].name;
    tc_status status = copy_to(d, info, time_name, before_us, made, out_rows, err);
    if (status == TC_OK) {
        status = tc__move_file(made, path, err);
    }
    (void)unlink(made);
    (void)rmdir(folder); /* when it is empty: another export may run */
    return status;
}
