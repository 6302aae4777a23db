/* SPDX-License-Identifier: Apache-2.0 */
/* The cold tier: which snapshots, lineages and files are too old. */
#include "base/json/json.h"
#include "base/table/grow.h"
#include "cli/retain/retain.h"
#include "cli/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MANIFEST_MAX ((size_t)64 << 20)
/* Runs, files and references of one plan: far beyond what a disk holds. */
#define LIST_MAX ((size_t)1 << 32)

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for the plan");
}

/* ---- snapshots ---- */

static tc_status add_cold_run(struct tc_retain *r, struct tc_slice id, bool stays,
                              struct tc_error *err)
{
    bool room = tc_grow_items(r->cold_runs, r->cold_cap, r->cold_count + 1, LIST_MAX) == TC_OK;
    char *copy = room ? strndup(id.len > 0 ? id.ptr : "", id.len) : NULL;
    if (copy == NULL) {
        return no_memory(err);
    }
    r->cold_runs[r->cold_count++] = (struct tc_retain_run){copy, stays};
    return TC_OK;
}

static tc_status read_runs(struct tc_retain *r, struct tc_json root,
                           struct tc_retain_snapshot *snapshot, struct tc_error *err)
{
    struct tc_json retention;
    struct tc_json runs;
    struct tc_json newest;
    struct tc_json run;
    int64_t newest_us = 0;
    if (!tc_json_get(root, TC_LIT("retention"), &retention) ||
        !tc_json_get(retention, TC_LIT("newest_us"), &newest) || !tc_json_int(newest, &newest_us) ||
        !tc_json_get(retention, TC_LIT("runs"), &runs)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "its manifest.json is none of retain's");
    }
    snapshot->expired = newest_us < r->cold_before_us;
    for (struct tc_json_iter it = tc_json_iter_make(runs); tc_json_iter_next(&it, NULL, &run);) {
        struct tc_slice id = TC_EMPTY;
        if (tc_json_string(run, &id)) {
            TC_TRY(add_cold_run(r, id, !snapshot->expired, err));
        }
    }
    return TC_OK;
}

static tc_status read_snapshot(struct tc_retain *r, struct tc_retain_snapshot *snapshot,
                               struct tc_error *err)
{
    char path[TC_DATA_PATH_BYTES + 128];
    char *text = NULL;
    size_t len = 0;
    struct tc_json root;
    (void)snprintf(path, sizeof path, "%s/cold/%s/%s", r->dir, snapshot->name,
                   TC_SNAPSHOT_MANIFEST);
    TC_TRY(tc_proof_slurp(path, MANIFEST_MAX, &text, &len, err));
    struct tc_json_parser *parser = tc_json_parser_create();
    tc_status status = parser == NULL ? no_memory(err)
                                      : tc_json_parse(parser, tc_slice_make(text, len), &root, err);
    if (status == TC_OK) {
        status = read_runs(r, root, snapshot, err);
    }
    tc_json_parser_destroy(parser);
    free(text);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tc_retain_run *)a)->run_id,
                  ((const struct tc_retain_run *)b)->run_id);
}

static tc_status list_snapshots(struct tc_retain *r, struct tc_error *err)
{
    char path[TC_DATA_PATH_BYTES + 16];
    r->snapshots = calloc(TC_RETAIN_SNAPSHOTS_MAX, sizeof *r->snapshots);
    if (r->snapshots == NULL) {
        return no_memory(err);
    }
    (void)snprintf(path, sizeof path, "%s/cold", r->dir);
    DIR *d = opendir(path);
    if (d == NULL) {
        return errno == ENOENT ? TC_OK : tc_fail(err, TC_E_IO, 0, "%s: %s", path, strerror(errno));
    }
    tc_status status = TC_OK;
    for (struct dirent *e; status == TC_OK && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof r->snapshots[0].name) {
            continue;
        }
        if (r->snapshot_count == TC_RETAIN_SNAPSHOTS_MAX) {
            status = tc_fail(err, TC_E_LIMIT, 0, "more than %d snapshots in %s",
                             TC_RETAIN_SNAPSHOTS_MAX, path);
            break;
        }
        struct tc_retain_snapshot *snapshot = &r->snapshots[r->snapshot_count++];
        (void)snprintf(snapshot->name, sizeof snapshot->name, "%.79s", e->d_name);
        status = read_snapshot(r, snapshot, err);
        if (status != TC_OK) {
            char why[TC_ERROR_MESSAGE_MAX];
            (void)snprintf(why, sizeof why, "%s", err->message);
            status = tc_fail(err, status, 0, "%s/%s: %.150s; move it away to go on", path,
                             snapshot->name, why);
        }
    }
    (void)closedir(d);
    if (r->cold_count > 1) {
        qsort(r->cold_runs, r->cold_count, sizeof *r->cold_runs, by_name);
    }
    return status;
}

/* ---- lineages ---- */

/* In a snapshot that is removed, and in none that stays. */
static bool is_expired(const struct tc_retain *r, const char *id)
{
    bool found = false;
    size_t low = 0;
    size_t high = r->cold_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(r->cold_runs[middle].run_id, id) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < r->cold_count && strcmp(r->cold_runs[low].run_id, id) == 0; low++) {
        if (r->cold_runs[low].stays) {
            return false;
        }
        found = true;
    }
    return found;
}

static tc_status plan_lineages(struct tc_retain *r, struct tc_error *err)
{
    TC_TRY(
        tc_answer_query(r->w,
                        "SELECT run_id, artifact_manifest_digest FROM artifact_lineage_dim WHERE "
                        "run_id NOT IN (SELECT run_id FROM benchmark_run_fact) AND run_id NOT IN "
                        "(SELECT run_id FROM published_number WHERE run_id IS NOT NULL) AND "
                        "(artifact_manifest_digest IS NULL OR artifact_manifest_digest NOT IN "
                        "(SELECT artifact_manifest_digest FROM published_number WHERE "
                        "artifact_manifest_digest IS NOT NULL)) ORDER BY run_id",
                        NULL, 0, &r->lineages, err));
    r->lineage_expired = calloc(r->lineages.row_count + 1, sizeof *r->lineage_expired);
    if (r->lineage_expired == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < r->lineages.row_count; i++) {
        char id[TC_RUN_ID_BYTES];
        (void)snprintf(id, sizeof id, "%.*s", TC_FMT(tc_answer_text(&r->lineages, i, 0)));
        r->lineage_expired[i] = is_expired(r, id);
        r->expired_lineages += r->lineage_expired[i];
    }
    return TC_OK;
}

/* ---- files ---- */

struct references {
    struct tc_digest *list;
    size_t count;
    size_t cap;
};

static bool refer(struct references *f, const struct tc_digest *digest)
{
    if (tc_grow_items(f->list, f->cap, f->count + 1, LIST_MAX) != TC_OK) {
        return false;
    }
    f->list[f->count++] = *digest;
    return true;
}

static bool refer_text(struct references *f, struct tc_slice text)
{
    struct tc_digest digest;
    return !tc_digest_parse(text, &digest) || refer(f, &digest);
}

/* A JSON list of digests, or of objects that have one. */
static bool refer_list(struct references *f, struct tc_json_parser *parser, struct tc_slice json)
{
    struct tc_error err;
    struct tc_json root;
    struct tc_json item;
    bool good = true;
    if (json.len == 0 || tc_json_parse(parser, json, &root, &err) != TC_OK) {
        return json.len == 0;
    }
    for (struct tc_json_iter it = tc_json_iter_make(root);
         good && tc_json_iter_next(&it, NULL, &item);) {
        struct tc_slice text = tc_json_get_string(item, TC_LIT("digest"));
        if (text.len == 0) {
            (void)tc_json_string(item, &text);
        }
        good = refer_text(f, text);
    }
    return good;
}

static bool lineage_goes(const struct tc_retain *r, struct tc_slice run)
{
    for (size_t i = 0; i < r->lineages.row_count; i++) {
        if (r->lineage_expired[i] && tc_slice_eq(tc_answer_text(&r->lineages, i, 0), run)) {
            return true;
        }
    }
    return false;
}

static tc_status refer_lineages(struct tc_retain *r, struct references *f, struct tc_error *err)
{
    struct tc_answer set;
    TC_TRY(tc_answer_query(r->w,
                           "SELECT run_id, artifact_manifest_digest, signature_digest, raw_uris, "
                           "report_packets FROM artifact_lineage_dim",
                           NULL, 0, &set, err));
    struct tc_json_parser *parser = tc_json_parser_create();
    bool good = parser != NULL && !set.cut;
    for (size_t row = 0; row < set.row_count && good; row++) {
        if (r->expired_lineages > 0 && lineage_goes(r, tc_answer_text(&set, row, 0))) {
            continue;
        }
        good = refer_text(f, tc_answer_text(&set, row, 1)) &&
               refer_text(f, tc_answer_text(&set, row, 2)) &&
               refer_list(f, parser, tc_answer_text(&set, row, 3)) &&
               refer_list(f, parser, tc_answer_text(&set, row, 4));
    }
    tc_json_parser_destroy(parser);
    tc_answer_fini(&set);
    return good ? TC_OK
                : tc_fail(err, TC_E_MALFORMED, 0,
                          "artifact_lineage_dim cannot be read in full; nothing is removed");
}

/* What a published number's manifest names, whether its run has a row or not. */
static tc_status refer_published(struct tc_retain *r, struct references *f, struct tc_error *err)
{
    struct tc_answer set;
    TC_TRY(tc_answer_query(r->w,
                           "SELECT DISTINCT artifact_manifest_digest FROM published_number WHERE "
                           "artifact_manifest_digest IS NOT NULL",
                           NULL, 0, &set, err));
    bool good = true;
    for (size_t row = 0; row < set.row_count && good; row++) {
        struct tc_digest digest;
        struct tc_manifest manifest;
        struct tc_error ignored;
        void *memory = NULL;
        char *text = NULL;
        size_t len = 0;
        if (!tc_digest_parse(tc_answer_text(&set, row, 0), &digest)) {
            continue;
        }
        good = refer(f, &digest);
        if (tc_files_read(r->files, &digest, TC_MANIFEST_BYTES_MAX, &text, &len, &ignored) ==
                TC_OK &&
            tc_manifest_read(tc_slice_make(text, len), &manifest, &memory, &ignored) == TC_OK) {
            for (size_t i = 0; i < manifest.file_count && good; i++) {
                good = refer(f, &manifest.files[i].digest);
            }
        }
        free(memory);
        free(text);
    }
    tc_answer_fini(&set);
    return good ? TC_OK : no_memory(err);
}

struct walk {
    struct tc_retain *retain;
    struct references *references;
};

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct tc_digest));
}

static tc_status take_file(void *context, const struct tc_files_info *info)
{
    struct walk *w = context;
    struct tc_retain *r = w->retain;
    if (info->modified_ns / 1000 >= r->cold_before_us ||
        (w->references->count > 0 &&
         bsearch(&info->digest, w->references->list, w->references->count, sizeof info->digest,
                 by_digest) != NULL)) {
        return TC_OK;
    }
    TC_TRY(tc_grow_items(r->remove, r->remove_cap, r->remove_count + 1, LIST_MAX));
    r->remove[r->remove_count++] = (struct tc_retain_file){info->digest, info->disk_bytes};
    r->remove_bytes += info->disk_bytes;
    return TC_OK;
}

static tc_status plan_files(struct tc_retain *r, struct tc_error *err)
{
    struct references f = {0};
    struct walk walk = {r, &f};
    tc_status status = tc_files_open(r->dir, false, &r->files, err);
    if (status == TC_E_NOTFOUND) {
        return TC_OK;
    }
    status = status == TC_OK ? refer_lineages(r, &f, err) : status;
    status = status == TC_OK ? refer_published(r, &f, err) : status;
    if (status == TC_OK && f.count > 1) {
        qsort(f.list, f.count, sizeof *f.list, by_digest);
    }
    status = status == TC_OK ? tc_files_walk(r->files, take_file, NULL, &walk, err) : status;
    free(f.list);
    return status;
}

tc_status tc_retain_plan_cold(struct tc_retain *r, struct tc_error *err)
{
    TC_TRY(list_snapshots(r, err));
    TC_TRY(plan_lineages(r, err));
    return plan_files(r, err);
}
