/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/snapshot.h"

#include "base/json/out.h"
#include "base/os/io.h"
#include "cli/data.h"
#include "cli/whole_file.h"
#include "evidence/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP ((size_t)128 << 10)

tc_status tc_snapshot_make_dir(const char *path, struct tc_error *err)
{
    char part[TC_DIRS_PATH_BYTES];
    int error = tc_dirs_make(path, part);
    if (error != 0 && part[0] == '\0') {
        return tc_fail(err, TC_E_USAGE, 0, "the path is %s",
                       error == ENOENT ? "empty" : "too long");
    }
    return error == 0 ? TC_OK : tc_fail(err, TC_E_IO, 0, "%s: %s", part, strerror(error));
}

tc_status tc_snapshot_sync_dir(const char *path, struct tc_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return tc_fail_errno(err, path);
    }
    tc_status status = fsync(fd) == 0 ? TC_OK : tc_fail_errno(err, path);
    (void)close(fd);
    return status;
}

static tc_status digest_file(const char *path, struct tc_snapshot_table *t, struct tc_error *err)
{
    char *block = malloc(STEP);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct tc_sha256 sum;
    ssize_t n = 0;
    if (block == NULL || fd < 0) {
        tc_status status = block == NULL ? tc_fail(err, TC_E_NOMEM, 0, "no memory to read %s", path)
                                         : tc_fail_errno(err, path);
        free(block);
        if (fd >= 0) {
            (void)close(fd);
        }
        return status;
    }
    tc_sha256_init(&sum);
    t->bytes = 0;
    while ((n = tc_io_read(fd, block, STEP)) > 0) {
        tc_sha256_update(&sum, tc_slice_make(block, (size_t)n));
        t->bytes += (uint64_t)n;
    }
    tc_sha256_final(&sum, &t->digest);
    tc_status status = n < 0 ? tc_fail_errno(err, path) : TC_OK;
    (void)close(fd);
    free(block);
    return status;
}

/* One table per line. */
static void put_tables(struct tc_grow *g, const struct tc_snapshot_table *tables, size_t count)
{
    tc_grow_lit(g, "[");
    for (size_t i = 0; i < count; i++) {
        const char *name = tc_table_info(tables[i].table)->name;
        char file[128];
        (void)snprintf(file, sizeof file, "%s.parquet", name);
        tc_grow_str(g, i == 0 ? TC_LIT("\n") : TC_LIT(",\n"));
        struct tc_json_out j = tc_json_object_grow(g);
        tc_json_put_cstr(&j, "table", name);
        tc_json_put_cstr(&j, "file", file);
        tc_json_put_u64(&j, "rows", tables[i].rows);
        tc_json_put_u64(&j, "bytes", tables[i].bytes);
        tc_json_put_digest(&j, "digest", &tables[i].digest);
        tc_json_end_object(&j);
    }
    tc_grow_lit(g, "\n]");
}

static void put_manifest(struct tc_grow *g, const struct tc_snapshot_table *tables, size_t count,
                         int64_t now_us, struct tc_slice retention)
{
    struct tc_grow list = {0};
    struct tc_json_out j = tc_json_out_grow(g);
    put_tables(&list, tables, count);
    tc_json_add_object(&j);
    tc_json_put_u64(&j, "snapshot_version", 1);
    tc_json_put_u64(&j, "schema_version", TC_SCHEMA_VERSION);
    tc_json_put_time(&j, "created_at", now_us * 1000);
    if (retention.len > 0) {
        tc_json_put_raw(&j, "retention", retention);
    }
    tc_json_put_raw(&j, "tables", list.failed ? TC_LIT("[]") : tc_grow_slice(&list));
    (void)tc_json_end_line(&j);
    g->failed |= list.failed;
    tc_grow_fini(&list);
}

static tc_status path_in(char *out, size_t size, const char *dir, const char *name,
                         const char *suffix, struct tc_error *err)
{
    int len = snprintf(out, size, "%s/%s%s", dir, name, suffix);
    return len > 0 && (size_t)len < size ? TC_OK
                                         : tc_fail(err, TC_E_USAGE, 0, "the path is too long");
}

tc_status tc_snapshot_write(struct tc_warehouse *w, const char *dir,
                            struct tc_snapshot_table *tables, size_t count, int64_t now_us,
                            struct tc_slice retention, struct tc_error *err)
{
    char path[TC_DATA_PATH_BYTES];
    struct tc_grow text = {0};
    for (size_t i = 0; i < count; i++) {
        struct tc_snapshot_table *t = &tables[i];
        TC_TRY(path_in(path, sizeof path, dir, tc_table_info(t->table)->name, ".parquet", err));
        TC_TRY(
            tc_warehouse_parquet(w, t->table, t->time_column, t->before_us, path, &t->rows, err));
        TC_TRY(digest_file(path, t, err));
    }
    TC_TRY(path_in(path, sizeof path, dir, TC_SNAPSHOT_MANIFEST, "", err));
    put_manifest(&text, tables, count, now_us, retention);
    tc_status status = text.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the manifest")
                                   : tc_whole_file_write(path, tc_grow_slice(&text), err);
    tc_grow_fini(&text);
    return status == TC_OK ? tc_snapshot_sync_dir(dir, err) : status;
}
