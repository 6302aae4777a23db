/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `tracecore retain`. A plan is made from what is there, printed, and then done in an
 * order in which a crash at any point loses nothing and the next plan takes up what is left:
 * the snapshot is durable before its rows are forgotten; a run's lineage is forgotten before its
 * snapshot is removed; files are removed last, and only those that nothing refers to.
 */
#ifndef TC_CLI_RETAIN_RETAIN_H
#define TC_CLI_RETAIN_RETAIN_H

#include "cli/proof.h"

#define TC_RETAIN_SNAPSHOTS_MAX 4096

/* A directory of data_dir/cold. */
struct tc_retain_snapshot {
    char name[80];
    bool expired;
};

/* A name and whether it stands in a snapshot that stays. */
struct tc_retain_run {
    char *run_id;
    bool stays;
};

struct tc_retain_file {
    struct tc_digest digest;
    uint64_t bytes;
};

struct tc_retain {
    char dir[TC_DATA_PATH_BYTES];
    struct tc_warehouse *w;
    struct tc_files *files; /* NULL: there are none */
    int64_t now_us;
    int64_t hot_before_us;
    int64_t warm_before_us;
    int64_t cold_before_us;
    /* The plan. */
    uint64_t hot_slices;
    uint64_t hot_requests;
    struct tc_answer runs;     /* to be moved: run_id, added_at */
    struct tc_answer verdicts; /* to be moved: verdict_digest */
    uint64_t moved[TC_TABLE_COUNT];
    int64_t slices_before_us;   /* of the snapshot; INT64_MIN: all slices */
    int64_t requests_before_us; /* the same */
    int64_t newest_us;          /* of what is moved */
    uint64_t protected_runs;    /* old enough, but a published number stands on them */
    struct tc_retain_snapshot *snapshots;
    size_t snapshot_count;
    struct tc_retain_run *cold_runs; /* of all snapshots, by name */
    size_t cold_count;
    size_t cold_cap;
    struct tc_answer lineages; /* of runs that are gone: run_id */
    bool *lineage_expired;
    size_t expired_lineages;
    struct tc_retain_file *remove;
    size_t remove_count;
    size_t remove_cap;
    uint64_t remove_bytes;
};

TC_CHECKED tc_status tc_retain_plan(struct tc_retain *r, struct tc_error *err);
/* The cold tier: snapshots, lineages, files. Part of the plan. */
TC_CHECKED tc_status tc_retain_plan_cold(struct tc_retain *r, struct tc_error *err);
/* Whether rows of no run are old. */
bool tc_retain_has_hot(const struct tc_retain *r);
bool tc_retain_is_empty(const struct tc_retain *r);
TC_CHECKED tc_status tc_retain_do(struct tc_retain *r, struct tc_error *err);
void tc_retain_fini(struct tc_retain *r);

/*
 * What it forgets, for a rebuild that does the same again; within a transaction. The ledger calls
 * it so, and names the runs and the times.
 */
#define TC_RETAIN_EVENT "retain"
TC_CHECKED tc_status tc_retain_forget_runs(struct tc_warehouse *w, const struct tc_slice *runs,
                                           size_t count, struct tc_error *err);
TC_CHECKED tc_status tc_retain_forget_lineages(struct tc_warehouse *w, const struct tc_slice *runs,
                                               size_t count, struct tc_error *err);
/* Slices of no run. */
TC_CHECKED tc_status tc_retain_forget_hot(struct tc_warehouse *w, int64_t before_us,
                                          struct tc_error *err);

/* Verdicts told before ? that may be moved. */
#define TC_RETAIN_VERDICTS                                                                  \
    "SELECT verdict_digest FROM verdict_fact WHERE told_at < ? AND verdict_digest IS NOT "  \
    "NULL AND (run_id IS NULL OR run_id NOT IN (SELECT run_id FROM published_number WHERE " \
    "run_id IS NOT NULL)) ORDER BY told_at, verdict_digest"
/* The runs that may be moved, as a query with the time before which they were added. */
#define TC_RETAIN_MOVABLE                                                           \
    "SELECT run_id FROM benchmark_run_fact WHERE added_at < ? AND run_id NOT IN "   \
    "(SELECT run_id FROM published_number WHERE run_id IS NOT NULL) AND "           \
    "(artifact_manifest_digest IS NULL OR artifact_manifest_digest NOT IN (SELECT " \
    "artifact_manifest_digest FROM published_number WHERE artifact_manifest_digest IS NOT NULL))"

#endif
