/* SPDX-License-Identifier: Apache-2.0 */
/* The plan, step by step; each leaves the data such that the next plan can go on. */
#include "base/time.h"
#include "cli/output/say.h"
#include "cli/retain/retain.h"
#include "cli/snapshot.h"
#include "run/evidence_refs.h"
#include "warehouse/ledger.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES (TC_DATA_PATH_BYTES + 256)
#define MONTH_US (INT64_C(31) * 86400 * 1000000)

/* ---- directories ---- */

/* Removes the files of a snapshot, its manifest first: without that it is no snapshot any more. */
static tc_status remove_snapshot(const char *path, struct tc_error *err)
{
    char file[PATH_BYTES + 300];
    (void)snprintf(file, sizeof file, "%s/%s", path, TC_SNAPSHOT_MANIFEST);
    if (unlink(file) != 0 && errno != ENOENT) {
        return tc_fail(err, TC_E_IO, 0, "%s: %s", file, strerror(errno));
    }
    DIR *d = opendir(path);
    if (d == NULL) {
        return errno == ENOENT ? TC_OK : tc_fail(err, TC_E_IO, 0, "%s: %s", path, strerror(errno));
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            (void)snprintf(file, sizeof file, "%s/%s", path, e->d_name);
            (void)unlink(file);
        }
    }
    (void)closedir(d);
    return rmdir(path) == 0 ? TC_OK : tc_fail(err, TC_E_IO, 0, "%s: %s", path, strerror(errno));
}

/* Snapshots that were not finished: nothing was forgotten on their account. */
static tc_status remove_unfinished(const char *cold, struct tc_error *err)
{
    DIR *d = opendir(cold);
    tc_status status = TC_OK;
    if (d == NULL) {
        return tc_fail(err, TC_E_IO, 0, "%s: %s", cold, strerror(errno));
    }
    for (struct dirent *e; status == TC_OK && (e = readdir(d)) != NULL;) {
        char path[PATH_BYTES];
        if (strncmp(e->d_name, ".new-", 5) == 0 || strncmp(e->d_name, ".old-", 5) == 0) {
            (void)snprintf(path, sizeof path, "%s/%.80s", cold, e->d_name);
            status = remove_snapshot(path, err);
        }
    }
    (void)closedir(d);
    return status;
}

/* ---- the snapshot ---- */

static void put_retention(struct tc_grow *g, const struct tc_retain *r)
{
    struct tc_json_out j = tc_json_object_grow(g);
    tc_json_put_i64(&j, "newest_us", r->newest_us);
    tc_json_put_array(&j, "runs");
    for (size_t i = 0; i < r->runs.row_count; i++) {
        tc_json_add_str(&j, tc_answer_text(&r->runs, i, 0));
    }
    tc_json_end_array(&j);
    tc_json_end_object(&j);
}

static tc_status write_tables(struct tc_retain *r, const char *dir, struct tc_error *err)
{
    struct tc_snapshot_table tables[] = {
        {.table = TC_TABLE_RUN, .before_us = INT64_MIN},
        {.table = TC_TABLE_SERVING, .before_us = INT64_MIN},
        {.table = TC_TABLE_REQUEST,
         .time_column = TC_REQUEST_STARTED,
         .before_us = r->requests_before_us},
        {.table = TC_TABLE_TRAINING, .before_us = INT64_MIN},
        {.table = TC_TABLE_SLICE, .time_column = TC_SLICE_START, .before_us = r->slices_before_us},
        {.table = TC_TABLE_VERDICT, .time_column = TC_VERDICT_TOLD, .before_us = r->warm_before_us},
        {.table = TC_TABLE_RUN_SCOPE, .before_us = INT64_MIN},
        {.table = TC_TABLE_SOFTWARE, .before_us = INT64_MIN},
        {.table = TC_TABLE_HARDWARE, .before_us = INT64_MIN},
        {.table = TC_TABLE_CLUSTER, .before_us = INT64_MIN},
        {.table = TC_TABLE_WORKLOAD, .before_us = INT64_MIN},
        {.table = TC_TABLE_LINEAGE, .before_us = INT64_MIN},
        {.table = TC_TABLE_DEFINITION, .before_us = INT64_MIN},
    };
    const size_t count = TC_COUNT(tables);
    struct tc_grow retention = {0};
    put_retention(&retention, r);
    tc_status status = retention.failed ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the snapshot")
                                        : tc_snapshot_write(r->w, dir, tables, count, r->now_us,
                                                            tc_grow_slice(&retention), err);
    tc_grow_fini(&retention);
    for (size_t i = 0; i < count && status == TC_OK; i++) {
        if (tables[i].rows < r->moved[tables[i].table]) {
            status =
                tc_fail(err, TC_E_IO, 0,
                        "%s: the snapshot has %llu rows, not the %llu that are to be moved; "
                        "nothing was forgotten",
                        tc_table_info(tables[i].table)->name, (unsigned long long)tables[i].rows,
                        (unsigned long long)r->moved[tables[i].table]);
        }
    }
    return status;
}

/* cold/20261116T100000Z, or with a number behind it when there is one. */
static tc_status take_snapshot(struct tc_retain *r, struct tc_error *err)
{
    char cold[TC_DATA_PATH_BYTES + 8];
    char dir[PATH_BYTES];
    char final[PATH_BYTES];
    char stamp[TC_PUT_TIME_MAX + 2];
    char name[32];
    size_t len = 0;
    struct tc_buf b = tc_buf_make(stamp, sizeof stamp);
    tc_buf_time(&b, r->now_us / 1000000 * TC_SECOND);
    for (size_t i = 0; i < b.len && len + 1 < sizeof name; i++) {
        if (stamp[i] != '-' && stamp[i] != ':') {
            name[len++] = stamp[i];
        }
    }
    name[len] = '\0';
    (void)snprintf(cold, sizeof cold, "%s/cold", r->dir);
    TC_TRY(tc_snapshot_make_dir(cold, err));
    TC_TRY(remove_unfinished(cold, err));
    (void)snprintf(dir, sizeof dir, "%s/.new-%s", cold, name);
    TC_TRY(tc_snapshot_make_dir(dir, err));
    tc_status status = write_tables(r, dir, err);
    for (unsigned i = 0; status == TC_OK; i++) {
        (void)snprintf(final, sizeof final, i == 0 ? "%s/%s" : "%s/%s-%u", cold, name, i);
        if (rename(dir, final) == 0) {
            break;
        }
        if ((errno != EEXIST && errno != ENOTEMPTY) || i == 1000) {
            status = tc_fail(err, TC_E_IO, 0, "%s: %s", final, strerror(errno));
        }
    }
    return status == TC_OK ? tc_snapshot_sync_dir(cold, err) : status;
}

/* ---- rows ---- */

/* The first column of a set as keys, in memory of free(); NULL without it. */
static struct tc_slice *keys_of(const struct tc_answer *set, const bool *only, size_t *out_count)
{
    struct tc_slice *keys = calloc(set->row_count + 1, sizeof *keys);
    size_t count = 0;
    for (size_t i = 0; keys != NULL && i < set->row_count; i++) {
        if (only == NULL || only[i]) {
            keys[count++] = tc_answer_text(set, i, 0);
        }
    }
    *out_count = count;
    return keys;
}

static tc_status forget(struct tc_warehouse *w, enum tc_table table, size_t column,
                        const struct tc_slice *keys, size_t count, struct tc_error *err)
{
    struct tc_forget what = {.table = table,
                             .key_column = column,
                             .keys = keys,
                             .key_count = count,
                             .before_us = INT64_MIN};
    uint64_t gone = 0;
    return count == 0 ? TC_OK : tc_warehouse_forget(w, &what, &gone, err);
}

tc_status tc_retain_forget_runs(struct tc_warehouse *w, const struct tc_slice *runs, size_t count,
                                struct tc_error *err)
{
    TC_TRY(forget(w, TC_TABLE_SERVING, TC_SERVING_RUN_ID, runs, count, err));
    TC_TRY(forget(w, TC_TABLE_REQUEST, TC_REQUEST_RUN_ID, runs, count, err));
    TC_TRY(forget(w, TC_TABLE_TRAINING, TC_TRAINING_RUN_ID, runs, count, err));
    TC_TRY(forget(w, TC_TABLE_SLICE, TC_SLICE_RUN_ID, runs, count, err));
    return forget(w, TC_TABLE_RUN, TC_RUN_RUN_ID, runs, count, err);
}

tc_status tc_retain_forget_lineages(struct tc_warehouse *w, const struct tc_slice *runs,
                                    size_t count, struct tc_error *err)
{
    TC_TRY(forget(w, TC_TABLE_RUN_SCOPE, TC_RUN_SCOPE_RUN_ID, runs, count, err));
    return forget(w, TC_TABLE_LINEAGE, TC_LINEAGE_RUN_ID, runs, count, err);
}

tc_status tc_retain_forget_hot(struct tc_warehouse *w, int64_t before_us, struct tc_error *err)
{
    const struct tc_forget hot[] = {{.table = TC_TABLE_SLICE,
                                     .time_column = TC_SLICE_END,
                                     .before_us = before_us,
                                     .null_column = TC_SLICE_RUN_ID,
                                     .want_null = true},
                                    {.table = TC_TABLE_REQUEST,
                                     .time_column = TC_REQUEST_STARTED,
                                     .before_us = before_us,
                                     .null_column = TC_REQUEST_RUN_ID,
                                     .want_null = true}};
    uint64_t gone = 0;
    TC_TRY(tc_warehouse_forget(w, &hot[0], &gone, err));
    return tc_warehouse_forget(w, &hot[1], &gone, err);
}

/* ---- the ledger ---- */

static void put_keys(struct tc_json_out *j, const struct tc_slice *keys, size_t count)
{
    tc_json_add_array(j);
    for (size_t i = 0; i < count; i++) {
        tc_json_add_str(j, keys[i]);
    }
    tc_json_end_array(j);
}

/* What is forgotten with the transaction that is open. */
static tc_status record(struct tc_retain *r, const char *what, const struct tc_slice *keys,
                        size_t count, struct tc_error *err)
{
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_object_grow(&g);
    tc_json_put_plain(&j, "event", TC_LIT(TC_RETAIN_EVENT));
    if (tc_retain_has_hot(r)) {
        tc_json_put_i64(&j, "hot_before_us", r->hot_before_us);
    }
    if (r->verdicts.row_count > 0) {
        tc_json_put_i64(&j, "verdicts_before_us", r->warm_before_us);
    }
    tc_json_key_plain(&j, tc_slice_cstr(what));
    put_keys(&j, keys, count);
    tc_json_end_object(&j);
    return tc_ledger_record(r->dir, TC_LEDGER_COMMANDS, &g, err);
}

/* What was movable when the plan was made still is: nobody has published it since. */
static tc_status check_still(struct tc_retain *r, struct tc_error *err)
{
    struct tc_bind warm = {.type = TC_COLUMN_TIME, .as.integer = r->warm_before_us};
    int64_t count = 0;
    TC_TRY(tc_warehouse_int(r->w, "SELECT count(*) FROM (" TC_RETAIN_MOVABLE ") AS movable", &warm,
                            1, 0, &count, err));
    return (uint64_t)count == r->runs.row_count
               ? TC_OK
               : tc_fail(err, TC_E_USAGE, 0, "the runs changed meanwhile; try again");
}

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory to forget rows");
}

static tc_status forget_verdicts(struct tc_retain *r, struct tc_error *err)
{
    size_t count = 0;
    struct tc_slice *keys = keys_of(&r->verdicts, NULL, &count);
    tc_status status = keys == NULL
                           ? no_memory(err)
                           : forget(r->w, TC_TABLE_VERDICT, TC_VERDICT_DIGEST, keys, count, err);
    free(keys);
    return status;
}

/* Runs, by whatever forgets them, and into the ledger as `what`. */
static tc_status forget_set(struct tc_retain *r, const struct tc_answer *set, const bool *only,
                            const char *what,
                            tc_status (*work)(struct tc_warehouse *w, const struct tc_slice *runs,
                                              size_t count, struct tc_error *err),
                            struct tc_error *err)
{
    size_t count = 0;
    struct tc_slice *runs = keys_of(set, only, &count);
    tc_status status = runs == NULL ? no_memory(err) : work(r->w, runs, count, err);
    status = status == TC_OK ? record(r, what, runs, count, err) : status;
    free(runs);
    return status;
}

static tc_status forget_moved(struct tc_retain *r, struct tc_error *err)
{
    TC_TRY(check_still(r, err));
    TC_TRY(forget_verdicts(r, err));
    if (tc_retain_has_hot(r)) {
        TC_TRY(tc_retain_forget_hot(r->w, r->hot_before_us, err));
    }
    return forget_set(r, &r->runs, NULL, "runs", tc_retain_forget_runs, err);
}

static tc_status forget_lineages(struct tc_retain *r, struct tc_error *err)
{
    return forget_set(r, &r->lineages, r->lineage_expired, "lineages", tc_retain_forget_lineages,
                      err);
}

static tc_status in_transaction(struct tc_retain *r,
                                tc_status (*work)(struct tc_retain *r, struct tc_error *err),
                                struct tc_error *err)
{
    TC_TRY(tc_warehouse_begin(r->w, err));
    tc_status status = work(r, err);
    status = status == TC_OK ? tc_warehouse_commit(r->w, err) : status;
    if (status != TC_OK) {
        tc_warehouse_rollback(r->w);
    }
    return status;
}

/* ---- what is left of the cold ---- */

static tc_status remove_expired(struct tc_retain *r, struct tc_error *err)
{
    for (size_t i = 0; i < r->snapshot_count; i++) {
        char from[PATH_BYTES];
        char to[PATH_BYTES];
        if (!r->snapshots[i].expired) {
            continue;
        }
        /* Out of the way at once; what is left of it after a crash the next snapshot removes. */
        (void)snprintf(from, sizeof from, "%s/cold/%s", r->dir, r->snapshots[i].name);
        (void)snprintf(to, sizeof to, "%s/cold/.old-%s", r->dir, r->snapshots[i].name);
        if (rename(from, to) != 0) {
            return tc_fail(err, TC_E_IO, 0, "%s: %s", from, strerror(errno));
        }
        TC_TRY(remove_snapshot(to, err));
    }
    return TC_OK;
}

static tc_status remove_files(struct tc_retain *r, struct tc_error *err)
{
    if (r->files == NULL) {
        return TC_OK;
    }
    tc_files_ask(r->files, tc_run_evidence_refs, r->w);
    for (size_t i = 0; i < r->remove_count; i++) {
        tc_status status = tc_files_remove(r->files, &r->remove[i].digest, err);
        if (status == TC_E_USAGE) {
            tc_say("retain", "%s; it stays", err->message);
        } else if (status != TC_OK && status != TC_E_NOTFOUND) {
            return status;
        }
    }
    return TC_OK;
}

/* Months of the ledger whose verdicts are all in snapshots. A batch stands in the file of its first
 * verdict, so a month on either side is looked at too. */
static tc_status remove_months(struct tc_retain *r, struct tc_error *err)
{
    char(*names)[TC_LEDGER_NAME_MAX] = NULL;
    size_t count = 0;
    TC_TRY(tc_ledger_list(r->dir, TC_LEDGER_VERDICTS, &names, &count, err));
    tc_status status = TC_OK;
    for (size_t i = 0; i < count && status == TC_OK; i++) {
        int64_t end_ns = tc_ledger_month_end(names[i]);
        int64_t left = 1;
        if (end_ns == INT64_MAX || end_ns / 1000 + MONTH_US >= r->warm_before_us) {
            continue;
        }
        struct tc_bind range[] = {{.type = TC_COLUMN_TIME, .as.integer = end_ns / 1000 - MONTH_US},
                                  {.type = TC_COLUMN_TIME, .as.integer = end_ns / 1000 + MONTH_US}};
        status = tc_warehouse_int(
            r->w, "SELECT count(*) FROM verdict_fact WHERE told_at >= ? AND told_at < ?", range, 2,
            1, &left, err);
        if (status == TC_OK && left == 0) {
            status = tc_ledger_remove(r->dir, names[i], err);
        }
    }
    free(names);
    return status;
}

tc_status tc_retain_do(struct tc_retain *r, struct tc_error *err)
{
    bool moves = r->runs.row_count > 0 || r->verdicts.row_count > 0;
    if (moves) {
        TC_TRY(take_snapshot(r, err));
    }
    if (moves || tc_retain_has_hot(r)) {
        TC_TRY(in_transaction(r, forget_moved, err));
    }
    if (r->expired_lineages > 0) {
        TC_TRY(in_transaction(r, forget_lineages, err));
    }
    TC_TRY(remove_expired(r, err));
    TC_TRY(remove_months(r, err));
    return remove_files(r, err);
}
