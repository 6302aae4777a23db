/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `tracecore rebuild`: a new database from the evidence and the ledger, compared with
 * the old one, then put in its place. Until the last rename the old one is as it was; what is made
 * lies in a directory of its own, which the next rebuild empties.
 */
#ifndef TC_CLI_REBUILD_REBUILD_H
#define TC_CLI_REBUILD_REBUILD_H

#include "base/json/json.h"
#include "base/table/grow.h"
#include "cli/data.h"
#include "cli/output/progress.h"
#include "evidence/files/files.h"
#include "run/record.h"
#include "server/warehouse/requests.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stdint.h>

#define TC_REBUILD_FILE "warehouse.duckdb"
#define TC_REBUILD_PATH_BYTES (TC_DATA_PATH_BYTES + 512)
#define TC_REBUILD_WORK_BYTES (TC_DATA_PATH_BYTES + 64)
/* Commands in the ledger, files and runs that one rebuild looks at. */
#define TC_REBUILD_LIST_MAX ((size_t)1 << 28)

struct tc_rebuild_args {
    const char *data_dir; /* NULL: the default */
    const char *into;     /* NULL: in place */
    bool dry_run;
    bool drop_old;
    bool json;
    bool quiet;
};

/* How many rows a table has in the one and the other, and how they differ. */
struct tc_rebuild_table {
    bool has_before; /* the old one could be read */
    uint64_t before;
    uint64_t after;
    uint64_t missing;   /* the old one lacked them */
    uint64_t extra;     /* the old one had them, and nothing proves them */
    uint64_t differing; /* in both, with other values */
    uint64_t copied;    /* of `after`: from the old one, for nothing else holds them */
    struct tc_digest digest_before;
    struct tc_digest digest_after;
};

struct tc_rebuild {
    const struct tc_rebuild_args *args;
    char dir[TC_DATA_PATH_BYTES];
    char work[TC_REBUILD_WORK_BYTES]; /* where the new one is made */
    int64_t now_ns;
    int lock_fd; /* of the daemon */
    int runs_fd; /* of imports */
    bool was_there;
    struct tc_warehouse *old;  /* NULL: missing, or cannot be read */
    struct tc_warehouse *made; /* the new one */
    struct tc_files *files;    /* NULL: there are none */
    struct tc_json_parser *parser;
    struct tc_progress progress;
    struct tc_rebuild_table tables[TC_TABLE_COUNT];
    /* What retain has forgotten; INT64_MIN: nothing. */
    int64_t hot_before_us;
    int64_t verdicts_before_us;
    bool has_gone; /* evidence of something that the dimensions describe is gone */
    uint64_t runs_made;
    uint64_t runs_copied;
    uint64_t runs_lost;
    uint64_t ledger_damaged;          /* lines */
    struct tc_grow notes;             /* a line each */
    char kept[TC_REBUILD_PATH_BYTES]; /* where the old one is; empty: nowhere */
};

/* Something worth telling, kept for the report. */
void tc_rebuild_note(struct tc_rebuild *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
TC_CHECKED tc_status tc_rebuild_nomem(struct tc_error *err);

/* ---- place.c: files and directories ---- */

/* Keeps daemons and imports away, opens the old database, makes the directory of the new one. */
TC_CHECKED tc_status tc_rebuild_begin(struct tc_rebuild *r, struct tc_error *err);
/* The old one anew: after damage DuckDB answers nothing any more. */
void tc_rebuild_open_old(struct tc_rebuild *r);
/* Puts the new one where it belongs, durable; it is closed then. */
TC_CHECKED tc_status tc_rebuild_swap(struct tc_rebuild *r, struct tc_error *err);
void tc_rebuild_end(struct tc_rebuild *r);

/* ---- copy.c: what only the old one has ---- */

/* Rows of the old one that fulfil `where`, in a transaction of their own. An old one that cannot be
 * read has none: that is noted. */
TC_CHECKED tc_status tc_rebuild_copy(struct tc_rebuild *r, enum tc_table table, const char *where,
                                     const struct tc_bind *binds, size_t bind_count,
                                     uint64_t *out_rows, struct tc_error *err);
/* All rows of a run, and of the dimensions it stands on. */
TC_CHECKED tc_status tc_rebuild_copy_run(struct tc_rebuild *r, struct tc_slice run,
                                         uint64_t *out_rows, struct tc_error *err);
/* Rows of a dimension whose key the new one does not have. */
TC_CHECKED tc_status tc_rebuild_copy_unknown(struct tc_rebuild *r, enum tc_table table,
                                             const char *column, const char *where,
                                             struct tc_error *err);

/* ---- the steps ---- */

/* published.c: the numbers of the audit log; without one, those of the old database. */
TC_CHECKED tc_status tc_rebuild_published(struct tc_rebuild *r, struct tc_error *err);
/* ledger.c: runs in the order in which they were added, signatures, what was retired. */
TC_CHECKED tc_status tc_rebuild_runs(struct tc_rebuild *r, struct tc_error *err);
/* Runs that are no longer there have no slices and requests either. */
TC_CHECKED tc_status tc_rebuild_forget(struct tc_rebuild *r, struct tc_error *err);
/* run.c: one of them. is_gone: its evidence was removed for its age. */
TC_CHECKED tc_status tc_rebuild_run(struct tc_rebuild *r, const struct tc_run_record *record,
                                    bool is_gone, struct tc_error *err);
/* older.c: runs of a time before there was a ledger; `known` are the manifests that it has, in
 * order. */
TC_CHECKED tc_status tc_rebuild_older(struct tc_rebuild *r, const struct tc_digest *known,
                                      size_t count, struct tc_error *err);
TC_CHECKED tc_status tc_rebuild_verdicts(struct tc_rebuild *r, struct tc_error *err);
/* slices.c: what the daemon made of its evidence. */
TC_CHECKED tc_status tc_rebuild_evidence(struct tc_rebuild *r, struct tc_error *err);
/* requests.c: those of traces that are there. */
TC_CHECKED tc_status tc_rebuild_requests(struct tc_rebuild *r,
                                         const struct tc_warehouse_requests_config *config,
                                         struct tc_error *err);
/* And those of batches before `first`, which are gone. */
TC_CHECKED tc_status tc_rebuild_copy_requests(struct tc_rebuild *r, uint64_t first,
                                              struct tc_error *err);
TC_CHECKED tc_status tc_rebuild_compare(struct tc_rebuild *r, struct tc_error *err);

/* report.c: what was found. True when all tables are the same. */
bool tc_rebuild_is_same(const struct tc_rebuild *r);
void tc_rebuild_report(const struct tc_rebuild *r, struct tc_grow *out);

#endif
