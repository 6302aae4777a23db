/* SPDX-License-Identifier: Apache-2.0 */
#include "run/record.h"

#include "base/json/out.h"

#include <stdlib.h>

/* ---- writing ---- */

static void add_files(const struct tc_run_record *r, struct tc_json_out *j)
{
    for (size_t n = 0; n < r->file_count; n++) {
        const struct tc_record_file *f = &r->files[n];
        tc_json_add_object(j);
        tc_json_put_cstr(j, "role", tc_role_name(f->role));
        tc_json_put_str(j, "name", f->name);
        tc_json_put_digest(j, "digest", &f->digest);
        tc_json_put_i64(j, "modified_ns", f->modified_ns);
        tc_json_end_object(j);
    }
}

static void add_names(const struct tc_run_record *r, struct tc_json_out *j)
{
    if (r->name_count == 0) {
        return;
    }
    tc_json_put_array(j, "names");
    for (size_t n = 0; n < r->name_count; n++) {
        tc_json_add_object(j);
        tc_json_put_str(j, "kind", tc_run_name_kind(r->names[n].kind));
        tc_json_put_str(j, "name", r->names[n].text);
        tc_json_end_object(j);
    }
    tc_json_end_array(j);
}

void tc_run_record_write(const struct tc_run_record *r, struct tc_grow *json)
{
    struct tc_json_out j = tc_json_object_grow(json);
    tc_json_put_plain(&j, "event", TC_LIT(TC_RECORD_ADD));
    tc_json_put_i64(&j, "at_us", r->at_us);
    tc_json_put_str(&j, "run_id", r->run_id);
    tc_json_put_digest(&j, "manifest", &r->manifest);
    tc_json_put_i64(&j, "replicate_index", r->replicate_index);
    if (r->repetition > 0) {
        tc_json_put_u64(&j, "repetition", r->repetition);
    }
    tc_json_put_some(&j, "format", r->format);
    tc_json_put_some(&j, "given_run_id", r->given_run_id);
    tc_json_put_some(&j, "name", r->name);
    tc_json_put_some(&j, "replicate_group", r->replicate_group);
    tc_json_put_some(&j, "scheduler_run_id", r->scheduler_run_id);
    tc_json_put_some(&j, "job_uid", r->job_uid);
    tc_json_put_some(&j, "intent", r->intent);
    if (r->gpu_hour_usd > 0) {
        tc_json_key(&j, "gpu_hour_usd");
        tc_json_add_f64(&j, r->gpu_hour_usd);
    }
    add_names(r, &j);
    tc_json_put_bool(&j, "force", r->force);
    tc_json_put_array(&j, "files");
    add_files(r, &j);
    tc_json_end_array(&j);
    tc_json_end_object(&j);
}

/* ---- reading ---- */

static bool read_file(struct tc_json v, struct tc_record_file *out)
{
    struct tc_slice role = tc_json_get_string(v, TC_LIT("role"));
    *out = (struct tc_record_file){
        .name = tc_json_get_string(v, TC_LIT("name")),
        .modified_ns = tc_json_get_int(v, TC_LIT("modified_ns"), 0),
    };
    return tc_role_parse(role, &out->role) &&
           tc_digest_parse(tc_json_get_string(v, TC_LIT("digest")), &out->digest);
}

static tc_status read_files(struct tc_json root, struct tc_run_record *out, struct tc_error *err)
{
    struct tc_json files;
    struct tc_json v;
    size_t cap = 0;
    tc_status status = TC_OK;
    if (!tc_json_get(root, TC_LIT("files"), &files)) {
        return TC_OK;
    }
    for (struct tc_json_iter it = tc_json_iter_make(files);
         status == TC_OK && tc_json_iter_next(&it, NULL, &v);) {
        status = tc_grow_items(out->files, cap, out->file_count + 1, TC_MANIFEST_FILES_MAX);
        if (status == TC_OK && !read_file(v, &out->files[out->file_count++])) {
            status = TC_E_MALFORMED;
        }
    }
    if (status != TC_OK) {
        free(out->files);
        out->files = NULL;
        out->file_count = 0;
        return tc_fail(err, status, 0, "the ledger's list of a run's files: %s",
                       tc_status_text(status));
    }
    return TC_OK;
}

/* Those of a kind that a newer program knows are left out. */
static tc_status read_names(struct tc_json root, struct tc_run_record *out, struct tc_error *err)
{
    struct tc_json names;
    struct tc_json v;
    size_t cap = 0;
    tc_status status = TC_OK;
    if (!tc_json_get(root, TC_LIT("names"), &names)) {
        return TC_OK;
    }
    for (struct tc_json_iter it = tc_json_iter_make(names);
         status == TC_OK && tc_json_iter_next(&it, NULL, &v);) {
        struct tc_record_name name = {.text = tc_json_get_string(v, TC_LIT("name"))};
        if (!tc_run_name_parse(tc_json_get_string(v, TC_LIT("kind")), &name.kind)) {
            continue;
        }
        status = tc_grow_items(out->names, cap, out->name_count + 1, TC_RUN_NAMES_MAX);
        if (status == TC_OK) {
            out->names[out->name_count++] = name;
        }
    }
    if (status != TC_OK) {
        tc_run_record_fini(out);
        return tc_fail(err, status, 0, "the ledger's list of a run's names: %s",
                       tc_status_text(status));
    }
    return TC_OK;
}

void tc_run_record_fini(struct tc_run_record *r)
{
    free(r->files);
    free(r->names);
    r->files = NULL;
    r->names = NULL;
    r->file_count = 0;
    r->name_count = 0;
}

tc_status tc_run_record_read(struct tc_json root, struct tc_run_record *out, struct tc_error *err)
{
    struct tc_json force;
    struct tc_json price;
    *out = (struct tc_run_record){
        .at_us = tc_json_get_int(root, TC_LIT("at_us"), 0),
        .run_id = tc_json_get_string(root, TC_LIT("run_id")),
        .replicate_index = tc_json_get_int(root, TC_LIT("replicate_index"), 0),
        .repetition = (uint64_t)tc_json_get_int(root, TC_LIT("repetition"), 0),
        .format = tc_json_get_string(root, TC_LIT("format")),
        .given_run_id = tc_json_get_string(root, TC_LIT("given_run_id")),
        .name = tc_json_get_string(root, TC_LIT("name")),
        .replicate_group = tc_json_get_string(root, TC_LIT("replicate_group")),
        .scheduler_run_id = tc_json_get_string(root, TC_LIT("scheduler_run_id")),
        .job_uid = tc_json_get_string(root, TC_LIT("job_uid")),
        .intent = tc_json_get_string(root, TC_LIT("intent")),
    };
    if (out->run_id.len == 0 ||
        !tc_digest_parse(tc_json_get_string(root, TC_LIT("manifest")), &out->manifest)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "a record of the ledger names no run or manifest");
    }
    if (tc_json_get(root, TC_LIT("force"), &force)) {
        (void)tc_json_bool(force, &out->force);
    }
    if (tc_json_get(root, TC_LIT("gpu_hour_usd"), &price)) {
        (void)tc_json_double(price, &out->gpu_hour_usd);
    }
    TC_TRY(read_files(root, out, err));
    return read_names(root, out, err);
}
