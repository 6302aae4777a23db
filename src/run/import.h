/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run into the warehouse: everything is read and checked first, then the files become evidence,
 * then the rows are written in one transaction. The same inputs again change nothing. A failure or
 * a kill at any point leaves the database as it was, and the files that nothing refers to are
 * removed (at once, or by the next import).
 */
#ifndef TC_RUN_IMPORT_H
#define TC_RUN_IMPORT_H

#include "base/slice.h"
#include "base/status.h"
#include "run/manifest.h"
#include "run/result.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_import_file {
    enum tc_role role;
    const char *path;
    bool found; /* in a directory: told and left out when no reader knows it */
};

struct tc_import {
    const char *data_dir;
    const struct tc_import_file *files; /* a contract at most once */
    size_t file_count;
    const struct tc_reader *reader; /* --format; NULL: from content */
    const char *run_id;             /* NULL: run- and the start of the manifest's digest */
    const char *name;               /* exploratory runs; NULL: of the first result file */
    const char *replicate_group;    /* NULL: the case */
    const char *scheduler_run_id;
    const char *job_uid;
    const char *intent;
    int64_t now_us;
    bool force;   /* contradictions become recorded warnings */
    bool dry_run; /* read and check only */
};

struct tc_import_outcome {
    char run_id[128];
    char manifest_digest[72];
    bool was_there; /* nothing was changed */
    bool publishable;
    uint64_t rows[TC_TABLE_COUNT];
    uint64_t notes; /* recorded */
};

/* What is worth telling while it runs: problems with file, place, field. May be called before an
 * error is returned. */
struct tc_import_sink {
    void *context;
    void (*problem)(void *context, bool error, const char *path, struct tc_slice where,
                    struct tc_slice field, struct tc_slice text);
    void (*progress)(void *context, uint64_t bytes_done, uint64_t bytes_total);
};

TC_CHECKED tc_status tc_import_run(struct tc_warehouse *w, const struct tc_import *import,
                                   const struct tc_import_sink *sink, struct tc_import_outcome *out,
                                   struct tc_error *err);

#endif
