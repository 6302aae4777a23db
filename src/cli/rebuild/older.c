/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs that were added before there was a ledger: manifests among the files that it does not name.
 * What was said when they were added is taken from the old database, where that can be read; else
 * they were added when their manifest was written, with no words.
 */
#include "cli/evidence/evidence.h"
#include "cli/proof.h"
#include "cli/rebuild/rebuild.h"

#include <stdlib.h>
#include <string.h>

/* A manifest is small, and so is what is read to see whether it is one. */
#define MANIFEST_MAX ((uint64_t)4 << 20)
#define MANIFEST_BEGINS "{\"files\":["

struct found {
    struct tc_digest digest;
    int64_t at_us;
};

struct older {
    struct tc_rebuild *r;
    struct tc_error *err;
    const struct tc_digest *known;
    size_t known_count;
    struct found *found;
    size_t count;
    size_t cap;
};

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct tc_digest));
}

static int by_time(const void *a, const void *b)
{
    const struct found *x = a;
    const struct found *y = b;
    if (x->at_us != y->at_us) {
        return x->at_us < y->at_us ? -1 : 1;
    }
    return memcmp(&x->digest, &y->digest, sizeof x->digest);
}

/* ---- which ---- */

/* The manifest in a file; false when it is none. Both are for free(). */
static bool read_manifest(struct tc_rebuild *r, const struct tc_digest *digest, char **out_text,
                          struct tc_manifest *out, void **out_memory)
{
    struct tc_error ignored;
    size_t len = 0;
    *out_text = NULL;
    *out_memory = NULL;
    if (tc_files_read(r->files, digest, MANIFEST_MAX, out_text, &len, &ignored) != TC_OK) {
        return false;
    }
    struct tc_slice text = tc_slice_make(*out_text, len);
    return tc_slice_starts(text, TC_LIT(MANIFEST_BEGINS)) &&
           tc_manifest_read(text, out, out_memory, &ignored) == TC_OK;
}

/* INT64_MIN: the old database does not say. */
static int64_t added_at(struct tc_rebuild *r, const struct tc_digest *digest)
{
    char text[TC_DIGEST_TEXT];
    struct tc_error ignored;
    int64_t us = INT64_MIN;
    tc_digest_text(digest, text);
    struct tc_bind bind = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(text)};
    return r->old != NULL &&
                   tc_warehouse_int(
                       r->old,
                       "SELECT added_at FROM benchmark_run_fact WHERE artifact_manifest_digest = ?",
                       &bind, 1, INT64_MIN, &us, &ignored) == TC_OK
               ? us
               : INT64_MIN;
}

static tc_status look_at(void *context, const struct tc_files_info *info)
{
    struct older *o = context;
    struct tc_manifest manifest;
    void *memory = NULL;
    char *text = NULL;
    if (o->known_count > 0 &&
        bsearch(&info->digest, o->known, o->known_count, sizeof *o->known, by_digest) != NULL) {
        return TC_OK;
    }
    bool is_one = read_manifest(o->r, &info->digest, &text, &manifest, &memory);
    free(memory);
    free(text);
    if (!is_one) {
        return TC_OK;
    }
    if (tc_grow_items(o->found, o->cap, o->count + 1, TC_REBUILD_LIST_MAX) != TC_OK) {
        return tc_rebuild_nomem(o->err);
    }
    int64_t us = added_at(o->r, &info->digest);
    o->found[o->count++] =
        (struct found){info->digest, us == INT64_MIN ? info->modified_ns / 1000 : us};
    return TC_OK;
}

/* ---- one of them ---- */

/* The rows of the old database, if it has them. */
struct said {
    struct tc_answer run;
    struct tc_answer lineage;
};

static void ask(struct tc_rebuild *r, const struct tc_digest *digest, struct said *out)
{
    char text[TC_DIGEST_TEXT];
    struct tc_error ignored;
    tc_digest_text(digest, text);
    struct tc_bind bind = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(text)};
    if (r->old == NULL) {
        return;
    }
    (void)!tc_answer_query(
        r->old,
        "SELECT replicate_index, replicate_group, benchmark_case_id, "
        "scheduler_run_id, job_uid, intent, run_id FROM benchmark_run_fact WHERE "
        "artifact_manifest_digest = ?",
        &bind, 1, &out->run, &ignored);
    (void)!tc_answer_query(r->old,
                           "SELECT signature_digest, raw_uris FROM artifact_lineage_dim WHERE "
                           "artifact_manifest_digest = ?",
                           &bind, 1, &out->lineage, &ignored);
}

static void take_words(const struct tc_answer *run, struct tc_run_record *record)
{
    if (run->row_count == 0) {
        return;
    }
    struct tc_slice group = tc_answer_text(run, 0, 1);
    record->replicate_index = tc_answer_known(run, 0, 0) ? tc_answer_int(run, 0, 0) : 0;
    record->replicate_group = tc_slice_eq(group, tc_answer_text(run, 0, 2)) ? TC_EMPTY : group;
    record->scheduler_run_id = tc_answer_text(run, 0, 3);
    record->job_uid = tc_answer_text(run, 0, 4);
    record->intent = tc_answer_text(run, 0, 5);
    record->run_id = tc_answer_text(run, 0, 6);
}

/* The order in which they were given, of the run's lineage. */
static void order_files(struct tc_rebuild *r, struct tc_slice uris, struct tc_record_file *files,
                        size_t count)
{
    struct tc_json root;
    struct tc_json v;
    struct tc_digest digest;
    struct tc_error ignored;
    size_t at = 0;
    if (uris.len == 0 || tc_json_parse(r->parser, uris, &root, &ignored) != TC_OK) {
        return;
    }
    for (struct tc_json_iter it = tc_json_iter_make(root); tc_json_iter_next(&it, NULL, &v);) {
        bool good = tc_digest_parse(tc_json_get_string(v, TC_LIT("digest")), &digest);
        for (size_t i = at; good && i < count; i++) {
            struct tc_slice role = tc_slice_cstr(tc_role_name(files[i].role));
            if (memcmp(&files[i].digest, &digest, sizeof digest) == 0 &&
                tc_slice_eq(role, tc_json_get_string(v, TC_LIT("role")))) {
                struct tc_record_file file = files[i];
                files[i] = files[at];
                files[at++] = file;
                break;
            }
        }
    }
}

static tc_status sign(struct tc_rebuild *r, const struct said *said, struct tc_slice run,
                      struct tc_error *err)
{
    char id[TC_RUN_ID_BYTES];
    struct tc_slice signature =
        said->lineage.row_count > 0 ? tc_answer_text(&said->lineage, 0, 0) : TC_EMPTY;
    (void)snprintf(id, sizeof id, "%.*s", TC_FMT(run));
    return signature.len == 0 ? TC_OK
                              : tc_evidence_set_signature(r->made, id, signature, NULL, err);
}

static tc_status add(struct tc_rebuild *r, const struct found *found,
                     const struct tc_manifest *manifest, struct tc_error *err)
{
    char id[32];
    char hex[TC_DIGEST_TEXT];
    struct said said = {0};
    tc_digest_text(&found->digest, hex);
    (void)snprintf(id, sizeof id, "run-%.16s", hex + 7); /* behind "sha256:" */
    struct tc_run_record record = {
        .at_us = found->at_us,
        .run_id = manifest->run_id.len > 0 ? manifest->run_id : tc_slice_cstr(id),
        .manifest = found->digest,
        .given_run_id = manifest->run_id,
        .repetition = manifest->repetition,
        .name = manifest->contract == NULL ? manifest->name : TC_EMPTY,
        .force = true, /* it was taken once */
        .files = calloc(manifest->file_count + 1, sizeof *record.files),
    };
    if (record.files == NULL) {
        return tc_rebuild_nomem(err);
    }
    for (size_t i = 0; i < manifest->file_count; i++) {
        const struct tc_manifest_file *f = &manifest->files[i];
        record.files[record.file_count++] =
            (struct tc_record_file){f->role, f->name, f->digest, found->at_us * 1000};
    }
    ask(r, &found->digest, &said);
    take_words(&said.run, &record);
    if (said.lineage.row_count > 0) {
        order_files(r, tc_answer_text(&said.lineage, 0, 1), record.files, record.file_count);
    }
    tc_status status = tc_rebuild_run(r, &record, false, err);
    status = status == TC_OK ? sign(r, &said, record.run_id, err) : status;
    tc_answer_fini(&said.run);
    tc_answer_fini(&said.lineage);
    free(record.files);
    return status;
}

tc_status tc_rebuild_older(struct tc_rebuild *r, const struct tc_digest *known, size_t count,
                           struct tc_error *err)
{
    struct older o = {.r = r, .err = err, .known = known, .known_count = count};
    if (r->files == NULL) {
        return TC_OK;
    }
    tc_status status = tc_files_walk(r->files, look_at, NULL, &o, err);
    if (status == TC_OK && o.count > 1) {
        qsort(o.found, o.count, sizeof *o.found, by_time);
    }
    for (size_t i = 0; i < o.count && status == TC_OK; i++) {
        struct tc_manifest manifest;
        void *memory = NULL;
        char *text = NULL;
        if (read_manifest(r, &o.found[i].digest, &text, &manifest, &memory)) {
            status = add(r, &o.found[i], &manifest, err);
        }
        free(memory);
        free(text);
    }
    if (o.count > 0) {
        tc_rebuild_note(r, "runs older than the ledger: %zu; their words are %s", o.count,
                        r->old != NULL ? "those of the old database" : "not known");
    }
    free(o.found);
    return status;
}
