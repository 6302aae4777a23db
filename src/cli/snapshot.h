/* SPDX-License-Identifier: Apache-2.0 */
/* Tables as Parquet files in a directory, with a manifest.json of their digests beside them. */
#ifndef TC_CLI_SNAPSHOT_H
#define TC_CLI_SNAPSHOT_H

#include "base/digest.h"
#include "base/table/grow.h"
#include "warehouse/warehouse.h"

#include <stdint.h>

#define TC_SNAPSHOT_MANIFEST "manifest.json"

struct tc_snapshot_table {
    enum tc_table table;
    size_t time_column;
    int64_t before_us; /* INT64_MIN: all rows */
    /* Made. */
    uint64_t rows;
    uint64_t bytes;
    struct tc_digest digest;
};

/*
 * Writes the files DIR/<table>.parquet and then the manifest, each durable and whole under its name
 * or not there. dir is absolute: a daemon may be the one that writes. `retention` is a member
 * of the manifest, as JSON, or empty.
 */
TC_CHECKED tc_status tc_snapshot_write(struct tc_warehouse *w, const char *dir,
                                       struct tc_snapshot_table *tables, size_t count,
                                       int64_t now_us, struct tc_slice retention,
                                       struct tc_error *err);
/* Makes a directory and those above it, mode 0700. */
TC_CHECKED tc_status tc_snapshot_make_dir(const char *path, struct tc_error *err);
TC_CHECKED tc_status tc_snapshot_sync_dir(const char *path, struct tc_error *err);

#endif
