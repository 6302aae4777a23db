/* SPDX-License-Identifier: Apache-2.0 */
/* What names a run: the digest of its workload, its case, its manifest, its id. */
#include "run/import_priv.h"

#include "base/json/canonical.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_HEX_BYTES 8

/* Over the canonical form of what was written. */
static tc_status digest_of(struct tc_grow *g, struct tc_digest *out, struct tc_error *err)
{
    tc_status status =
        g->failed ? tc__import_nomem(err) : tc_canonical_digest(tc_grow_slice(g), out, err);
    tc_grow_fini(g);
    return status;
}

/* prefix and the first 16 hex digits. */
static void put_id(char *out, size_t size, const char *prefix, const struct tc_digest *d)
{
    struct tc_buf b = tc_buf_make(out, size - 1);
    tc_buf_str(&b, tc_slice_cstr(prefix));
    for (size_t n = 0; n < ID_HEX_BYTES; n++) {
        tc_buf_hex(&b, d->bytes[n], 2);
    }
    out[b.len] = '\0';
}

/* ---- the workload ---- */

static int by_text(const void *a, const void *b)
{
    return tc_slice_cmp(*(const struct tc_slice *)a, *(const struct tc_slice *)b);
}

/* The points that were measured, each once, in order. */
static tc_status put_points(const struct tc__batches *b, size_t column, struct tc_json_out *j,
                            bool *io_known, struct tc_error *err)
{
    size_t count = 0;
    struct tc_slice *points = calloc(b->rows + 1, sizeof *points);
    if (points == NULL) {
        return tc__import_nomem(err);
    }
    for (size_t n = 0; n < b->count; n++) {
        for (size_t row = 0; row < b->items[n]->count; row++) {
            if (!tc_rows_is_null(b->items[n], column, row)) {
                points[count++] = tc_rows_get_text(b->items[n], column, row);
            }
        }
    }
    qsort(points, count, sizeof *points, by_text);
    tc_json_add_array(j);
    for (size_t n = 0; n < count; n++) {
        if (n == 0 || !tc_slice_eq(points[n], points[n - 1])) {
            tc_json_add_str(j, points[n]);
            *io_known = true;
        }
    }
    tc_json_end_array(j);
    free(points);
    return TC_OK;
}

/* Without a contract: what the result files say of it. */
static tc_status workload_of_results(struct tc__import *i, struct tc_error *err)
{
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_out_grow(&g);
    bool known = false;
    tc_json_add_object(&j);
    for (size_t n = 0; n < i->fact_count; n++) {
        const struct tc__fact *f = &i->facts[n];
        if (f->table == TC_TABLE_WORKLOAD && f->is_text) {
            tc_json_key_plain(&j, tc_slice_cstr(tc_table_info(f->table)->columns[f->column].name));
            tc_json_add_str(&j, f->text);
            known = true;
        }
    }
    tc_json_key(&j, "serving_points");
    tc_status status =
        put_points(&i->batches[TC_TABLE_SERVING], TC_SERVING_WORKLOAD_POINT, &j, &known, err);
    if (status == TC_OK) {
        tc_json_key(&j, "training_points");
        status =
            put_points(&i->batches[TC_TABLE_TRAINING], TC_TRAINING_SCALE_POINT, &j, &known, err);
    }
    if (status != TC_OK || !known) {
        tc_grow_fini(&g);
        return status;
    }
    tc_json_end_object(&j);
    i->has_workload = true;
    return digest_of(&g, &i->workload, err);
}

static tc_status workload(struct tc__import *i, struct tc_error *err)
{
    struct tc_slice canonical;
    if (i->contract == NULL) {
        TC_TRY(workload_of_results(i, err));
    } else {
        TC_TRY(tc_contract_canonical(i->contract, true, &canonical, err));
        if (tc_digest_sha256(canonical, &i->workload) != TC_OK) {
            return tc__import_nomem(err);
        }
        i->has_workload = true;
    }
    if (i->has_workload) {
        tc_digest_text(&i->workload, i->workload_text);
    }
    return TC_OK;
}

/* ---- the case ---- */

/* The next name after `last` among the readers that took a result; NULL: there is none. What only
 * describes the machine is no tool that measured. */
static const char *next_tool(const struct tc__import *i, const char *last)
{
    const char *next = NULL;
    for (size_t n = 0; n < i->source_count; n++) {
        const struct tc_reader *r = i->sources[n].left_out ? NULL : i->sources[n].reader;
        if (r != NULL && !r->only_facts && strcmp(r->name, last) > 0 &&
            (next == NULL || strcmp(r->name, next) < 0)) {
            next = r->name;
        }
    }
    return next;
}

void tc__import_tools_json(const struct tc__import *i, struct tc_json_out *j)
{
    tc_json_add_array(j);
    for (const char *tool = next_tool(i, ""); tool != NULL; tool = next_tool(i, tool)) {
        tc_json_add_cstr(j, tool);
    }
    tc_json_end_array(j);
}

static tc_status benchmark_case(struct tc__import *i, struct tc_error *err)
{
    struct tc_grow g = {0};
    struct tc_json_out j = tc_json_out_grow(&g);
    struct tc_digest digest;
    tc_json_add_object(&j);
    tc_json_put_some(&j, "scheduler_path", i->said.scheduler_path);
    if (i->contract == NULL) { /* then at least what measured it, and where, is the same */
        tc_json_key(&j, "points");
        tc_status status = tc__import_points_json(i, &j, err);
        if (status != TC_OK) {
            tc_grow_fini(&g);
            return status;
        }
        tc_json_key(&j, "tools");
        tc__import_tools_json(i, &j);
    }
    tc_json_put_some(&j, "variable_under_test", i->said.variable_under_test);
    tc_json_put_some(&j, "workload_spec_digest", tc_slice_cstr(i->workload_text));
    tc_json_end_object(&j);
    TC_TRY(digest_of(&g, &digest, err));
    put_id(i->case_id, sizeof i->case_id, "case-", &digest);
    i->group = i->want->replicate_group != NULL ? tc_slice_cstr(i->want->replicate_group)
                                                : tc_slice_cstr(i->case_id);
    return TC_OK;
}

/* ---- the manifest and the id ---- */

/* Without another name: that of the first result file, in the order of names. */
static struct tc_slice first_name(const struct tc__import *i)
{
    struct tc_slice first = TC_EMPTY;
    for (size_t n = 0; n < i->source_count; n++) {
        const struct tc__source *s = &i->sources[n];
        if (!s->left_out && s->file->role == TC_ROLE_RESULT &&
            (first.len == 0 || tc_slice_cmp(s->name, first) < 0)) {
            first = s->name;
        }
    }
    return first;
}

static tc_status manifest(struct tc__import *i, struct tc_digest *out_identity,
                          struct tc_error *err)
{
    struct tc_manifest m = {
        .name = i->contract != NULL ? i->said.name : tc_slice_cstr(i->want->name),
        .contract = i->has_contract_digest ? &i->contract_digest : NULL,
        .workload = i->has_workload ? &i->workload : NULL,
        .run_id = tc_slice_cstr(i->want->run_id),
        .repetition = i->repetition,
    };
    i->name = m.name.len > 0 ? m.name : first_name(i);
    m.files = calloc(i->source_count, sizeof *m.files);
    if (m.files == NULL) {
        return tc__import_nomem(err);
    }
    for (size_t n = 0; n < i->source_count; n++) {
        const struct tc__source *s = &i->sources[n];
        if (!s->left_out) {
            m.files[m.file_count++] =
                (struct tc_manifest_file){s->file->role, s->name, s->digest, s->size};
        }
    }
    free(i->manifest);
    i->manifest = NULL;
    tc_status status = tc_manifest_write(&m, &i->manifest, &i->manifest_len, err);
    if (status == TC_OK) {
        status = tc_manifest_identity(&m, out_identity, err);
    }
    free(m.files);
    return status;
}

static tc_status name_run(struct tc__import *i, struct tc_error *err)
{
    struct tc_digest identity;
    const char *given = i->want->stored_run_id != NULL ? i->want->stored_run_id : i->want->run_id;
    TC_TRY(manifest(i, &identity, err));
    if (tc_digest_sha256(tc_slice_make(i->manifest, i->manifest_len), &i->manifest_digest) !=
        TC_OK) {
        return tc__import_nomem(err);
    }
    tc_digest_text(&i->manifest_digest, i->manifest_text);
    if (given != NULL) {
        (void)snprintf(i->run_id, sizeof i->run_id, "%s", given);
    } else {
        put_id(i->run_id, sizeof i->run_id, "run-", &identity);
    }
    return TC_OK;
}

tc_status tc__import_warn_repetition(struct tc__import *i, struct tc_error *err)
{
    return i->repetition == 0
               ? TC_OK
               : tc__import_warnf(i, TC__NOWHERE, err, "",
                                  "the bytes of a run that is there: repetition %llu of it, as "
                                  "--again says",
                                  (unsigned long long)i->repetition);
}

tc_status tc__import_identity(struct tc__import *i, struct tc_error *err)
{
    TC_TRY(workload(i, err));
    TC_TRY(benchmark_case(i, err));
    i->repetition = i->want->repetition;
    TC_TRY(name_run(i, err));
    return tc__import_warn_repetition(i, err);
}

tc_status tc__import_name_again(struct tc__import *i, uint64_t repetition, struct tc_error *err)
{
    i->repetition = repetition;
    return name_run(i, err);
}
