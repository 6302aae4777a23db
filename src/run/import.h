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
#include "result/result.h"
#include "run/manifest.h"
#include "warehouse/run_claims.h"
#include "warehouse/warehouse.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_import_file {
    enum tc_role role;
    const char *path;
    bool found; /* in a directory: told and left out when no reader knows it */
};

/* A name that the run has in its cluster. */
struct tc_import_name {
    enum tc_run_name kind;
    const char *text;
};

struct tc_import {
    const char *data_dir;
    const struct tc_import_file *files; /* a contract at most once */
    size_t file_count;
    const struct tc_reader *reader; /* --format; NULL: from content */
    const char *run_id;             /* NULL: run- and the start of the digest of its identity */
    const char *name;               /* exploratory runs; NULL: of the first result file */
    const char *replicate_group;    /* NULL: the case */
    const char *scheduler_run_id;
    const char *job_uid;
    const char *intent;
    double gpu_hour_usd;                /* 0: not given */
    const struct tc_import_name *names; /* --node, --pod, --job */
    size_t name_count;
    int64_t now_us;
    bool again;   /* the same bytes are another measurement: a new run, and a replicate */
    bool force;   /* contradictions become recorded warnings */
    bool dry_run; /* read and check only */
    /* Of a rebuild: the files are evidence, and the run is in the ledger, so only rows are written;
     * the caller keeps other imports away. */
    bool is_stored;
    int64_t replicate_index;   /* with is_stored: as it was; 0: the next one */
    const char *stored_run_id; /* with is_stored: as it was */
    uint64_t repetition;       /* with is_stored: as it was */
};

/* Bytes of a run's id, and of a name or another word that is given with it. */
#define TC_RUN_ID_MAX 100
#define TC_RUN_WORDS_MAX 1000

struct tc_import_outcome {
    char run_id[128];
    char manifest_digest[72];
    char name[TC_RUN_WORDS_MAX + 1]; /* cut to fit */
    char benchmark_class[64];
    bool was_there;    /* nothing was changed, but for ... */
    uint64_t put_back; /* ... evidence that was missing or damaged */
    bool publishable;
    uint64_t rows[TC_TABLE_COUNT];
    uint64_t notes; /* recorded */
};

/* What is worth telling while it runs; each may be NULL. Borrows everything. */
struct tc_import_sink {
    void *context;
    /* Opens the warehouse when all is read and nothing is wrong, unless tc_import_run was given
     * one: a failing import makes no database, and none is held while files are read. */
    tc_status (*open)(void *context, struct tc_warehouse **out, struct tc_error *err);
    /* A problem with file (NULL: of none), place and field. Also before an error is returned. */
    void (*problem)(void *context, bool error, const char *path, struct tc_slice where,
                    struct tc_slice field, struct tc_slice text);
    void (*progress)(void *context, uint64_t bytes_done, uint64_t bytes_total);
    /* A file that is part of the run: who read it ("vllm", "prometheus", or TC_IMPORT_KEPT when
     * nobody did), how many rows it gave. */
#define TC_IMPORT_KEPT "kept"
    void (*file)(void *context, const struct tc_import_file *file, const char *reader,
                 uint64_t rows, struct tc_slice digest);
    /* Of a run that is new: its conditions, as benchmark_run_fact has them (run/conditions.h). */
    void (*conditions)(void *context, struct tc_slice json);
    /* And what is not known about it, and what to give for it. */
    void (*unknown)(void *context, const char *what, const char *how);
    /* Of a dry run: the rows that would be written. */
    tc_status (*rows)(void *context, enum tc_table table, const struct tc_rows *rows);
};

/*
 * TC_E_USAGE: it was asked for wrongly. TC_E_MALFORMED, TC_E_LIMIT: contract or files are not
 * acceptable, each told. TC_E_IO: something cannot be read or written. w may be NULL: then
 * sink->open opens it, and leaves it NULL where there is none in a dry run. The warehouse stays the
 * caller's.
 */
TC_CHECKED tc_status tc_import_run(struct tc_warehouse *w, const struct tc_import *want,
                                   const struct tc_import_sink *sink, struct tc_import_outcome *out,
                                   struct tc_error *err);

#endif
