/* SPDX-License-Identifier: Apache-2.0 */
#include "run/manifest.h"

#include "base/assert.h"
#include "base/json/canonical.h"
#include "base/json/json.h"
#include "base/json/out.h"
#include "base/table/grow.h"
#include "evidence/sign/sign.h"

#include <stdlib.h>
#include <string.h>

#define VERSION 1
/* A file's name is the last component of a path; six bytes for one as JSON. */
#define TEXT_MAX ((size_t)64 << 20)

static const char *const ROLES[] = {
    [TC_ROLE_CONTRACT] = "contract",   [TC_ROLE_RESULT] = "result",
    [TC_ROLE_TELEMETRY] = "telemetry", [TC_ROLE_VERDICTS] = "verdicts",
    [TC_ROLE_ARTIFACT] = "artifact",
};
#define ROLE_COUNT TC_COUNT(ROLES)

const char *tc_role_name(enum tc_role role)
{
    return ROLES[role];
}

static int by_role(const void *a, const void *b)
{
    const struct tc_manifest_file *x = a;
    const struct tc_manifest_file *y = b;
    if (x->role != y->role) {
        return strcmp(ROLES[x->role], ROLES[y->role]);
    }
    int order = memcmp(x->digest.bytes, y->digest.bytes, sizeof x->digest.bytes);
    return order != 0 ? order : tc_slice_cmp(x->name, y->name);
}

static void sort_files(struct tc_manifest *m)
{
    TC_ASSERT(m->file_count <= TC_MANIFEST_FILES_MAX);
    if (m->file_count > 0) {
        qsort(m->files, m->file_count, sizeof *m->files, by_role);
    }
}

static void put_file(struct tc_json_out *j, const struct tc_manifest_file *f)
{
    tc_json_add_object(j);
    tc_json_put_digest(j, "digest", &f->digest);
    tc_json_put_str(j, "name", f->name);
    tc_json_put_cstr(j, "role", tc_role_name(f->role));
    tc_json_put_u64(j, "size", f->size);
    tc_json_end_object(j);
}

static void put_run(struct tc_json_out *j, const struct tc_manifest *m)
{
    tc_json_put_object(j, "run");
    if (m->contract != NULL) {
        tc_json_put_digest(j, "contract_digest", m->contract);
    }
    tc_json_put_some(j, "name", m->name);
    if (m->repetition > 0) {
        tc_json_put_u64(j, "repetition", m->repetition);
    }
    tc_json_put_some(j, "run_id", m->run_id);
    if (m->workload != NULL) {
        tc_json_put_digest(j, "workload_spec_digest", m->workload);
    }
    tc_json_end_object(j);
}

tc_status tc_manifest_write(struct tc_manifest *m, char **out_text, size_t *out_len,
                            struct tc_error *err)
{
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_out_grow(&g);
    sort_files(m);
    tc_json_add_object(&j);
    tc_json_put_array(&j, "files");
    for (size_t i = 0; i < m->file_count; i++) {
        put_file(&j, &m->files[i]);
    }
    tc_json_end_array(&j);
    tc_json_put_u64(&j, "manifest_version", VERSION);
    put_run(&j, m);
    tc_json_end_object(&j);
    tc_status status = g.failed
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the manifest of the run")
                           : tc_canonical_text(tc_grow_slice(&g), out_text, out_len, err);
    tc_grow_fini(&g);
    return status;
}

tc_status tc_manifest_identity(struct tc_manifest *m, struct tc_digest *out, struct tc_error *err)
{
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_out_grow(&g);
    sort_files(m);
    tc_json_add_object(&j);
    if (m->contract != NULL) {
        tc_json_put_digest(&j, "contract_digest", m->contract);
    }
    tc_json_put_array(&j, "files");
    for (size_t i = 0; i < m->file_count; i++) {
        tc_json_add_object(&j);
        tc_json_put_digest(&j, "digest", &m->files[i].digest);
        tc_json_put_cstr(&j, "role", tc_role_name(m->files[i].role));
        tc_json_end_object(&j);
    }
    tc_json_end_array(&j);
    tc_json_put_some(&j, "name", m->name);
    if (m->repetition > 0) {
        tc_json_put_u64(&j, "repetition", m->repetition);
    }
    tc_json_end_object(&j);
    tc_status status = g.failed
                           ? tc_fail(err, TC_E_NOMEM, 0, "no memory for the identity of the run")
                           : tc_canonical_digest(tc_grow_slice(&g), out, err);
    tc_grow_fini(&g);
    return status;
}

/* ---- reading ---- */

bool tc_role_parse(struct tc_slice name, enum tc_role *out)
{
    for (size_t i = 0; i < ROLE_COUNT; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(ROLES[i]))) {
            *out = (enum tc_role)i;
            return true;
        }
    }
    return false;
}

/* What a manifest points to: files, two digests, then the strings. */
struct memory {
    struct tc_digest contract;
    struct tc_digest workload;
    struct tc_manifest_file files[];
};

struct reading {
    struct tc_manifest *out;
    struct memory *memory;
    char *text; /* where the next string goes; there is as much room as the document has bytes */
};

static struct tc_slice keep(struct reading *r, struct tc_slice s)
{
    struct tc_slice copy = tc_slice_make(r->text, s.len);
    if (s.len > 0) {
        memcpy(r->text, s.ptr, s.len);
    }
    r->text += s.len;
    return copy;
}

static tc_status bad(struct tc_error *err, const char *pointer, const char *wants)
{
    return tc_fail(err, TC_E_MALFORMED, 0, "manifest: %s: %s expected", pointer, wants);
}

static tc_status read_file(struct reading *r, struct tc_json v, struct tc_error *err)
{
    struct tc_manifest_file *f = &r->memory->files[r->out->file_count];
    struct tc_slice name = TC_EMPTY;
    struct tc_json member;
    char pointer[64];
    (void)snprintf(pointer, sizeof pointer, "/files/%zu", r->out->file_count);
    if (!tc_json_get(v, TC_LIT("name"), &member) || !tc_json_string(member, &name)) {
        return bad(err, pointer, "an object with a string \"name\"");
    }
    if (!tc_digest_parse_exact(tc_json_get_string(v, TC_LIT("digest")), &f->digest)) {
        return bad(err, pointer, "\"digest\", sha256: and 64 hex digits,");
    }
    if (!tc_role_parse(tc_json_get_string(v, TC_LIT("role")), &f->role)) {
        return bad(err, pointer, "\"role\" contract, result, telemetry or artifact");
    }
    int64_t size = tc_json_get_int(v, TC_LIT("size"), -1);
    if (size < 0) {
        return bad(err, pointer, "\"size\", a number of bytes,");
    }
    f->name = keep(r, name);
    f->size = (uint64_t)size;
    r->out->file_count++;
    return TC_OK;
}

/* A digest that need not be there. */
static tc_status read_digest(struct tc_json run, struct tc_slice key, struct tc_digest *room,
                             const struct tc_digest **out, struct tc_error *err)
{
    struct tc_json member;
    if (!tc_json_get(run, key, &member)) {
        return TC_OK;
    }
    if (!tc_digest_parse_exact(tc_json_get_string(run, key), room)) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "manifest: /run/%.*s: sha256: and 64 hex digits expected", TC_FMT(key));
    }
    *out = room;
    return TC_OK;
}

static tc_status read_document(struct reading *r, struct tc_json root, struct tc_error *err)
{
    struct tc_json files;
    struct tc_json run;
    struct tc_json one;
    if (tc_json_get_int(root, TC_LIT("manifest_version"), 0) != VERSION) {
        return bad(err, "/manifest_version", "1");
    }
    if (!tc_json_get(root, TC_LIT("run"), &run) || tc_json_type(run) != TC_JSON_OBJECT) {
        return bad(err, "/run", "an object");
    }
    if (!tc_json_get(root, TC_LIT("files"), &files) || tc_json_type(files) != TC_JSON_ARRAY) {
        return bad(err, "/files", "a list");
    }
    for (struct tc_json_iter it = tc_json_iter_make(files); tc_json_iter_next(&it, NULL, &one);) {
        TC_TRY(read_file(r, one, err));
    }
    r->out->files = r->memory->files;
    r->out->name = keep(r, tc_json_get_string(run, TC_LIT("name")));
    r->out->run_id = keep(r, tc_json_get_string(run, TC_LIT("run_id")));
    int64_t repetition = tc_json_get_int(run, TC_LIT("repetition"), 0);
    if (repetition < 0) {
        return bad(err, "/run/repetition", "a number above 1");
    }
    r->out->repetition = (uint64_t)repetition;
    TC_TRY(
        read_digest(run, TC_LIT("contract_digest"), &r->memory->contract, &r->out->contract, err));
    return read_digest(run, TC_LIT("workload_spec_digest"), &r->memory->workload, &r->out->workload,
                       err);
}

static size_t count_files(struct tc_json root)
{
    struct tc_json files;
    size_t count = 0;
    if (tc_json_get(root, TC_LIT("files"), &files)) {
        for (struct tc_json_iter it = tc_json_iter_make(files);
             tc_json_iter_next(&it, NULL, &(struct tc_json){0});) {
            count++;
        }
    }
    return count;
}

/* The same bytes must come out again: then there is one spelling of a manifest, and one digest. */
static tc_status check_spelling(struct tc_slice text, const struct tc_manifest *m,
                                struct tc_error *err)
{
    struct tc_manifest again = *m;
    char *written = NULL;
    size_t len = 0;
    TC_TRY(tc_manifest_write(&again, &written, &len, err));
    bool same = tc_slice_eq(text, tc_slice_make(written, len));
    free(written);
    return same ? TC_OK
                : tc_fail(err, TC_E_MALFORMED, 0,
                          "manifest: not as it is written: canonical JSON with nothing else in it");
}

static tc_status read_parsed(struct tc_slice text, struct tc_json root, struct tc_manifest *out,
                             void **out_memory, struct tc_error *err)
{
    size_t count = count_files(root);
    if (count > TC_MANIFEST_FILES_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0, "manifest: %zu files, more than %d", count,
                       TC_MANIFEST_FILES_MAX);
    }
    struct memory *memory = calloc(1, sizeof *memory + count * sizeof memory->files[0] + text.len);
    if (memory == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the manifest");
    }
    struct reading r = {out, memory, (char *)&memory->files[count]};
    tc_status status = read_document(&r, root, err);
    if (status == TC_OK) {
        status = check_spelling(text, out, err);
    }
    if (status != TC_OK) {
        free(memory);
        *out = (struct tc_manifest){0};
        return status;
    }
    *out_memory = memory;
    return TC_OK;
}

tc_status tc_manifest_read(struct tc_slice text, struct tc_manifest *out, void **out_memory,
                           struct tc_error *err)
{
    struct tc_json root;
    *out = (struct tc_manifest){0};
    *out_memory = NULL;
    if (text.len > TEXT_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0, "manifest: more than %zu MiB", TEXT_MAX >> 20);
    }
    struct tc_json_parser *parser = tc_json_parser_create();
    if (parser == NULL) {
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for the manifest");
    }
    tc_status status = tc_json_parse(parser, text, &root, err);
    if (status == TC_OK) {
        status = read_parsed(text, root, out, out_memory, err);
    }
    tc_json_parser_destroy(parser);
    return status;
}

/* ---- what is signed ---- */

struct tc_subject *tc_manifest_subjects(const struct tc_manifest *m, const struct tc_digest *digest,
                                        size_t *out_count)
{
    struct tc_subject *list = calloc(m->file_count + 1, sizeof *list);
    if (list == NULL) {
        return NULL;
    }
    list[0] = (struct tc_subject){TC_LIT("manifest.json"), *digest};
    for (size_t i = 0; i < m->file_count; i++) {
        list[i + 1] = (struct tc_subject){m->files[i].name, m->files[i].digest};
    }
    *out_count = m->file_count + 1;
    return list;
}
