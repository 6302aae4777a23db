/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence first, then the rows in one transaction, then the evidence is there to stay. */
#include "run/conditions.h"
#include "run/evidence_refs.h"
#include "run/import_priv.h"
#include "run/lock.h"

#include "base/assert.h"
#include "evidence/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- evidence ---- */

static tc_status add_file(struct tc__import *i, struct tc_files_batch *batch, size_t source,
                          struct tc_error *err)
{
    const struct tc__source *s = &i->sources[source];
    struct tc_digest digest;
    uint64_t size = 0;
    char text[128];
    int fd = open(s->file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return tc_fail(err, TC_E_IO, 0, "%s: cannot be opened: %s", s->file->path,
                       strerror_r(errno, text, sizeof text));
    }
    tc_status status = tc_files_add(batch, fd, &digest, &size, err);
    (void)close(fd);
    if (status == TC_OK && memcmp(&digest, &s->digest, sizeof digest) != 0) {
        status =
            tc_fail(err, TC_E_IO, 0,
                    "%s: changed while it was imported; add it when it is complete", s->file->path);
    }
    tc__import_progress(i, s->size);
    return status;
}

static tc_status add_files(struct tc__import *i, struct tc_files_batch *batch, struct tc_error *err)
{
    struct tc_digest digest;
    for (size_t n = 0; n < i->source_count; n++) {
        if (!i->sources[n].left_out) {
            TC_TRY(add_file(i, batch, n, err));
        }
    }
    return tc_files_add_bytes(batch, tc_slice_make(i->manifest, i->manifest_len), &digest, err);
}

/* [{"digest":...,"name":...,"role":...,"size":...}, ...] as artifact_lineage_dim has it. */
static void add_uris(const struct tc__import *i, struct tc_json_out *j)
{
    tc_json_add_array(j);
    for (size_t n = 0; n < i->source_count; n++) {
        const struct tc__source *s = &i->sources[n];
        if (s->left_out) {
            continue;
        }
        tc_json_add_object(j);
        tc_json_put_cstr(j, "digest", s->digest_text);
        tc_json_put_str(j, "name", s->name);
        tc_json_put_cstr(j, "role", tc_role_name(s->file->role));
        tc_json_put_u64(j, "size", s->size);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

/* ---- rows ---- */

tc_status tc__import_append(struct tc__import *i, enum tc_table table, const struct tc_rows *rows,
                            struct tc_error *err)
{
    if (!i->want->dry_run) {
        return tc_warehouse_append(i->w, table, rows, err);
    }
    tc_status status = i->sink->rows == NULL ? TC_OK : i->sink->rows(i->sink->context, table, rows);
    return status == TC_OK ? TC_OK : tc_fail(err, status, 0, "no memory to show the rows");
}

tc_status tc__import_count(struct tc__import *i, const char *sql, const struct tc_bind *bind,
                           int64_t *out, struct tc_error *err)
{
    *out = 0;
    return i->w == NULL ? TC_OK : tc_warehouse_int(i->w, sql, bind, 1, 0, out, err);
}

struct keys {
    char software[TC_DIGEST_TEXT];
    char hardware[TC_DIGEST_TEXT];
    char cluster[TC_DIGEST_TEXT];
    char workload[TC_DIGEST_TEXT];
    char lineage[TC_DIGEST_TEXT];
};

/* NULL stays where the text is empty. */
static bool put(struct tc_rows *rows, size_t column, struct tc_slice text)
{
    return text.len == 0 || tc_rows_text(rows, column, text) == TC_OK;
}

struct tc_slice tc__import_given_or_said(const struct tc__import *i, const char *given,
                                         size_t column)
{
    const struct tc__fact *fact = tc__fact_of(i, TC_TABLE_RUN, column);
    return given != NULL ? tc_slice_cstr(given) : fact != NULL ? fact->text : TC_EMPTY;
}

static struct tc_slice workload_type(const struct tc__import *i)
{
    bool serving = i->batches[TC_TABLE_SERVING].rows > 0;
    bool training = i->batches[TC_TABLE_TRAINING].rows > 0;
    if (i->contract != NULL) {
        return i->said.workload_type;
    }
    return serving && training ? TC_LIT("mixed")
           : serving           ? TC_LIT("inference")
           : training          ? TC_LIT("training")
                               : TC_EMPTY;
}

static bool put_identity(const struct tc__import *i, struct tc_rows *rows)
{
    struct tc_slice status = tc__import_given_or_said(i, NULL, TC_RUN_STATUS);
    return put(rows, TC_RUN_RUN_ID, tc_slice_cstr(i->run_id)) &&
           put(rows, TC_RUN_CASE_ID, tc_slice_cstr(i->case_id)) &&
           put(rows, TC_RUN_SPEC_DIGEST, tc_slice_cstr(i->workload_text)) &&
           put(rows, TC_RUN_MANIFEST_DIGEST, tc_slice_cstr(i->manifest_text)) &&
           put(rows, TC_RUN_CONTRACT_DIGEST, tc_slice_cstr(i->contract_digest_text)) &&
           put(rows, TC_RUN_SCHEDULER_RUN_ID,
               tc__import_given_or_said(i, i->want->scheduler_run_id, TC_RUN_SCHEDULER_RUN_ID)) &&
           put(rows, TC_RUN_JOB_UID,
               tc__import_given_or_said(i, i->want->job_uid, TC_RUN_JOB_UID)) &&
           put(rows, TC_RUN_NAME, i->name) &&
           put(rows, TC_RUN_CLASS,
               i->contract != NULL ? i->said.benchmark_class : TC_LIT("exploratory")) &&
           put(rows, TC_RUN_WORKLOAD_TYPE, workload_type(i)) &&
           put(rows, TC_RUN_CADENCE, i->said.cadence) &&
           put(rows, TC_RUN_SCHEDULER_PATH, i->said.scheduler_path) &&
           put(rows, TC_RUN_INTENT, tc__import_given_or_said(i, i->want->intent, TC_RUN_INTENT)) &&
           put(rows, TC_RUN_VARIABLE, i->said.variable_under_test) &&
           put(rows, TC_RUN_STATUS, status.len > 0 ? status : TC_LIT("unknown")) &&
           put(rows, TC_RUN_REPLICATE_GROUP, i->group);
}

static bool put_lists(const struct tc__import *i, struct tc_rows *rows)
{
    struct tc_grow warnings = {0};
    struct tc_grow tools = {0};
    struct tc_json_out warnings_json = tc_json_out_grow(&warnings);
    struct tc_json_out tools_json = tc_json_out_grow(&tools);
    tc__import_warnings_json(i, &warnings_json);
    tc__import_tools_json(i, &tools_json);
    bool ok = !warnings.failed && !tools.failed &&
              put(rows, TC_RUN_WARNINGS, tc_grow_slice(&warnings)) &&
              put(rows, TC_RUN_TOOLS, tc_grow_slice(&tools));
    tc_grow_fini(&warnings);
    tc_grow_fini(&tools);
    return ok;
}

/* Whether it repeats the runs of its group: not when it is forced, a twin, or of something else. */
static bool is_replicate(const struct tc__import *i)
{
    return !i->forced && !tc__import_is_of_other(i) && !i->has_twin;
}

/* replicate: 0 when it is none. */
static void put_numbers(const struct tc__import *i, struct tc_rows *rows, int64_t replicate)
{
    if (i->started_us != INT64_MAX) {
        tc_rows_int(rows, TC_RUN_STARTED, i->started_us);
    }
    if (i->ended_us != INT64_MIN) {
        tc_rows_int(rows, TC_RUN_ENDED, i->ended_us);
    }
    tc_rows_int(rows, TC_RUN_ADDED, i->want->now_us);
    if (replicate > 0) {
        tc_rows_int(rows, TC_RUN_REPLICATE_INDEX, replicate);
    }
    if (i->contract != NULL) {
        tc_rows_int(rows, TC_RUN_MIN_REPLICATES, i->said.min_replicates);
        tc_rows_real(rows, TC_RUN_CONFIDENCE_LEVEL, i->said.confidence_level);
    }
    tc_rows_real(rows, TC_RUN_GPU_HOUR, i->gpu_hour_usd);
    tc_rows_int(rows, TC_RUN_PUBLISHABLE, i->publishable ? 1 : 0);
}

static tc_status write_run(struct tc__import *i, const struct keys *keys, struct tc_error *err)
{
    struct tc_bind group = tc__bind_text(i->group);
    int64_t before = 0;
    struct tc_grow conditions = {0};
    TC_TRY(tc__import_count(i,
                            "SELECT count(*) FROM benchmark_run_fact WHERE replicate_group = ? AND "
                            "replicate_index IS NOT NULL",
                            &group, &before, err));
    struct tc_rows *rows = tc_rows_create(TC_TABLE_RUN);
    if (rows == NULL) {
        return tc__import_nomem(err);
    }
    TC_ASSERT(tc_rows_add(rows));
    i->replicate_index = !is_replicate(i)                ? 0
                         : i->want->replicate_index != 0 ? i->want->replicate_index
                                                         : before + 1;
    tc_status status =
        tc__import_conditions(i, before + (i->replicate_index > 0 ? 1 : 0), &conditions, err);
    if (status != TC_OK) {
        tc_grow_fini(&conditions);
        tc_rows_destroy(rows);
        return status;
    }
    if (i->sink->conditions != NULL) {
        i->sink->conditions(i->sink->context, tc_grow_slice(&conditions));
    }
    put_numbers(i, rows, i->replicate_index);
    status = put_identity(i, rows) && put_lists(i, rows) &&
                     put(rows, TC_RUN_CONDITIONS, tc_grow_slice(&conditions)) &&
                     put(rows, TC_RUN_SOFTWARE_KEY, tc_slice_cstr(keys->software)) &&
                     put(rows, TC_RUN_HARDWARE_KEY, tc_slice_cstr(keys->hardware)) &&
                     put(rows, TC_RUN_CLUSTER_KEY, tc_slice_cstr(keys->cluster)) &&
                     put(rows, TC_RUN_WORKLOAD_KEY, tc_slice_cstr(keys->workload)) &&
                     put(rows, TC_RUN_LINEAGE_KEY, tc_slice_cstr(keys->lineage))
                 ? tc__import_append(i, TC_TABLE_RUN, rows, err)
                 : tc__import_nomem(err);
    tc_grow_fini(&conditions);
    tc_rows_destroy(rows);
    return status;
}

static tc_status write_lineage(struct tc__import *i, char *out_key, uint64_t *io_rows,
                               struct tc_error *err)
{
    struct tc_grow uris = {0};
    uint64_t bytes = 0;
    struct tc_rows *rows = tc_rows_create(TC_TABLE_LINEAGE);
    if (rows == NULL) {
        return tc__import_nomem(err);
    }
    for (size_t n = 0; n < i->source_count; n++) {
        bytes += i->sources[n].left_out ? 0 : i->sources[n].size;
    }
    TC_ASSERT(tc_rows_add(rows));
    struct tc_json_out uris_json = tc_json_out_grow(&uris);
    add_uris(i, &uris_json);
    tc_rows_int(rows, TC_LINEAGE_RAW_BYTES, (int64_t)bytes);
    tc_status status =
        !uris.failed && put(rows, TC_LINEAGE_RUN_ID, tc_slice_cstr(i->run_id)) &&
                put(rows, TC_LINEAGE_MANIFEST_DIGEST, tc_slice_cstr(i->manifest_text)) &&
                put(rows, TC_LINEAGE_RAW_URIS, tc_grow_slice(&uris)) &&
                put(rows, TC_LINEAGE_SIGNING_STATE, TC_LIT("unsigned")) &&
                put(rows, TC_LINEAGE_REPORTS, TC_LIT("[]"))
            ? tc__dim_append(i, TC_TABLE_LINEAGE, rows, out_key, io_rows, err)
            : tc__import_nomem(err);
    tc_grow_fini(&uris);
    tc_rows_destroy(rows);
    return status;
}

/* The keys of the run, in the rows of its outcomes. */
static tc_status fill_keys(struct tc__import *i, struct tc_error *err)
{
    const struct {
        enum tc_table table;
        size_t column;
        struct tc_slice text;
    } keys[] = {
        {TC_TABLE_SERVING, TC_SERVING_RUN_ID, tc_slice_cstr(i->run_id)},
        {TC_TABLE_SERVING, TC_SERVING_CASE_ID, tc_slice_cstr(i->case_id)},
        {TC_TABLE_SERVING, TC_SERVING_SPEC_DIGEST, tc_slice_cstr(i->workload_text)},
        {TC_TABLE_SERVING, TC_SERVING_MANIFEST_DIGEST, tc_slice_cstr(i->manifest_text)},
        {TC_TABLE_TRAINING, TC_TRAINING_RUN_ID, tc_slice_cstr(i->run_id)},
        {TC_TABLE_TRAINING, TC_TRAINING_CASE_ID, tc_slice_cstr(i->case_id)},
        {TC_TABLE_TRAINING, TC_TRAINING_SPEC_DIGEST, tc_slice_cstr(i->workload_text)},
        {TC_TABLE_TRAINING, TC_TRAINING_MANIFEST_DIGEST, tc_slice_cstr(i->manifest_text)},
        {TC_TABLE_SLICE, TC_SLICE_RUN_ID, tc_slice_cstr(i->run_id)},
        {TC_TABLE_SLICE, TC_SLICE_JOIN, TC_LIT("given")},
    };
    for (size_t n = 0; n < TC_COUNT(keys); n++) {
        TC_TRY(tc__batches_fill(&i->batches[keys[n].table], keys[n].column, keys[n].text, err));
    }
    return TC_OK;
}

static tc_status write_outcomes(struct tc__import *i, uint64_t *rows, struct tc_error *err)
{
    static const enum tc_table tables[] = {TC_TABLE_SERVING, TC_TABLE_TRAINING, TC_TABLE_SLICE};
    TC_TRY(fill_keys(i, err));
    for (size_t t = 0; t < TC_COUNT(tables); t++) {
        const struct tc__batches *b = &i->batches[tables[t]];
        for (size_t n = 0; n < b->count; n++) {
            TC_TRY(tc__import_append(i, tables[t], b->items[n], err));
        }
        rows[tables[t]] += b->rows;
    }
    TC_TRY(tc__import_write_requests(i, &rows[TC_TABLE_REQUEST], err));
    return tc__import_telemetry_write(i, &rows[TC_TABLE_SLICE], err);
}

static tc_status write_rows(struct tc__import *i, struct tc_import_outcome *out,
                            struct tc_error *err)
{
    struct keys keys = {0};
    uint64_t *rows = out->rows;
    TC_TRY(tc__dim_write(i, TC_TABLE_SOFTWARE, keys.software, &rows[TC_TABLE_SOFTWARE], err));
    TC_TRY(tc__dim_write(i, TC_TABLE_HARDWARE, keys.hardware, &rows[TC_TABLE_HARDWARE], err));
    TC_TRY(tc__dim_write(i, TC_TABLE_CLUSTER, keys.cluster, &rows[TC_TABLE_CLUSTER], err));
    TC_TRY(tc__dim_write(i, TC_TABLE_WORKLOAD, keys.workload, &rows[TC_TABLE_WORKLOAD], err));
    TC_TRY(tc__definitions_write(i, &rows[TC_TABLE_DEFINITION], err));
    TC_TRY(write_lineage(i, keys.lineage, &rows[TC_TABLE_LINEAGE], err));
    TC_TRY(write_outcomes(i, rows, err));
    TC_TRY(tc__import_verdicts_write(i, &rows[TC_TABLE_VERDICT], err));
    TC_TRY(tc__names_write(i, &rows[TC_TABLE_RUN_SCOPE], err));
    TC_TRY(write_run(i, &keys, err));
    rows[TC_TABLE_RUN] = 1;
    return TC_OK;
}

static tc_status write_new(struct tc__import *i, struct tc_import_outcome *out,
                           struct tc_error *err)
{
    TC_TRY(tc__import_is_there(i, &out->was_there, err));
    if (out->was_there) {
        return TC_OK; /* another import of the same was faster */
    }
    TC_TRY(write_rows(i, out, err));
    return tc_run_settle(i->w, tc_slice_cstr(i->run_id), err);
}

tc_status tc__import_preview(struct tc__import *i, struct tc_import_outcome *out,
                             struct tc_error *err)
{
    TC_TRY(write_rows(i, out, err));
    out->publishable = i->publishable;
    return TC_OK;
}

static tc_status write_locked(struct tc__import *i, struct tc_import_outcome *out,
                              struct tc_error *err)
{
    TC_TRY(tc_warehouse_begin(i->w, err));
    tc_status status = write_new(i, out, err);
    if (status == TC_OK && !out->was_there && !i->want->is_stored) {
        status = tc__import_record(i, err);
    }
    if (status == TC_OK && !out->was_there) {
        status = tc_warehouse_commit(i->w, err);
    }
    if (status != TC_OK || out->was_there) {
        tc_warehouse_rollback(i->w);
    }
    return status;
}

static tc_status write_all(struct tc__import *i, struct tc_import_outcome *out,
                           struct tc_error *err)
{
    int lock = -1;
    TC_TRY(tc_runs_lock(i->want->data_dir, &lock, err));
    tc_status status = write_locked(i, out, err);
    (void)close(lock);
    return status;
}

static tc_status store_in(struct tc__import *i, struct tc_files *files,
                          struct tc_import_outcome *out, struct tc_error *err)
{
    struct tc_files_batch *batch = NULL;
    tc_files_ask(files, tc_run_evidence_refs, i->w);
    TC_TRY(tc_files_begin(files, &batch, err));
    tc_status status = add_files(i, batch, err);
    if (status == TC_OK) {
        status = write_all(i, out, err);
    }
    if (status == TC_OK) {
        status = tc_files_keep(batch, err);
    }
    tc_files_end(batch);
    return status;
}

static tc_status store(struct tc__import *i, struct tc_import_outcome *out, struct tc_error *err)
{
    struct tc_files *files = NULL;
    TC_TRY(tc_files_open(i->want->data_dir, true, &files, err));
    tc_status status = store_in(i, files, out, err);
    tc_files_close(files);
    return status;
}

tc_status tc__import_store(struct tc__import *i, struct tc_import_outcome *out,
                           struct tc_error *err)
{
    tc_status status = i->want->is_stored ? write_locked(i, out, err) : store(i, out, err);
    if (status != TC_OK || out->was_there) {
        memset(out->rows, 0, sizeof out->rows);
    }
    return status;
}

/* ---- evidence of a run that is there ---- */

/* Whether the stored copy is as it should be. One that is damaged is taken away: what is there is
 * not written again. */
static tc_status is_sound(struct tc__import *i, struct tc_files *files,
                          const struct tc_digest *digest, size_t source, const char *what,
                          bool *out, struct tc_error *err)
{
    uint64_t size = 0;
    struct tc_error why = {0};
    tc_status status = tc_files_check(files, digest, &size, &why);
    *out = status == TC_OK;
    if (status == TC_OK) {
        return TC_OK;
    }
    if (status != TC_E_NOTFOUND && status != TC_E_MALFORMED) {
        *err = why;
        return status;
    }
    if (status == TC_E_MALFORMED) {
        TC_TRY(tc_files_remove(files, digest, err));
    }
    tc__import_tell(i, source, "the stored copy%s was %s; it is put back", what,
                    status == TC_E_NOTFOUND ? "missing" : "damaged");
    return TC_OK;
}

static tc_status put_back_in(struct tc__import *i, struct tc_files *files,
                             struct tc_files_batch *batch, struct tc_import_outcome *out,
                             struct tc_error *err)
{
    bool sound = false;
    struct tc_digest digest;
    for (size_t n = 0; n < i->source_count; n++) {
        if (i->sources[n].left_out) {
            continue;
        }
        TC_TRY(is_sound(i, files, &i->sources[n].digest, n, "", &sound, err));
        if (!sound) {
            TC_TRY(add_file(i, batch, n, err));
            out->put_back++;
        }
    }
    if (i->other_file_names) {
        return TC_OK; /* its manifest is another one, which cannot be made of these */
    }
    TC_TRY(is_sound(i, files, &i->manifest_digest, TC__NOWHERE, " of the manifest", &sound, err));
    if (!sound) {
        TC_TRY(
            tc_files_add_bytes(batch, tc_slice_make(i->manifest, i->manifest_len), &digest, err));
        out->put_back++;
    }
    return TC_OK;
}

tc_status tc__import_put_back(struct tc__import *i, struct tc_import_outcome *out,
                              struct tc_error *err)
{
    struct tc_files *files = NULL;
    struct tc_files_batch *batch = NULL;
    /* Nobody is asked who needs a file: a damaged one is taken away because it is needed. */
    TC_TRY(tc_files_open(i->want->data_dir, true, &files, err));
    tc_status status = tc_files_begin(files, &batch, err);
    if (status == TC_OK) {
        status = put_back_in(i, files, batch, out, err);
        if (status == TC_OK) {
            status = tc_files_keep(batch, err);
        }
        tc_files_end(batch);
    }
    tc_files_close(files);
    return status;
}
