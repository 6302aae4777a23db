/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry files of a run. Each is read when it is checked and again when its rows are written. */
#include "run/import_priv.h"

#include "base/time.h"
#include "telemetry/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One reading of one file. */
struct reading {
    struct tc__import *i;
    size_t source;
    bool writes;
    tc_status failed; /* of a note */
    struct tc_error *err;
};

static tc_status take_rows(void *context, const struct tc_rows *rows)
{
    struct reading *r = context;
    if (!r->writes || rows->count == 0) {
        return TC_OK;
    }
    return tc_warehouse_append(r->i->w, TC_TABLE_SLICE, rows, r->err);
}

static void take_note(void *context, struct tc_slice where, struct tc_slice field,
                      struct tc_slice text)
{
    struct reading *r = context;
    if (!r->writes && r->failed == TC_OK) {
        r->failed = tc__import_warn(r->i, r->source, where, field, text, r->err);
    }
}

static bool is_defined(const struct tc__import *i, const struct tc_telemetry_definition *d)
{
    for (size_t n = 0; n < i->definition_count; n++) {
        if (tc_slice_eq(i->definitions[n].field, d->field) &&
            tc_slice_eq(i->definitions[n].tool, d->family)) {
            return true;
        }
    }
    return false;
}

/* A metric that has another name here than its producer gave it. */
static tc_status add_definition(struct tc__import *i, const struct tc_telemetry_definition *d,
                                struct tc_error *err)
{
    struct tc__definition own = {0};
    struct tc_grow id = {0};
    void *items = i->definitions;
    bool ok =
        tc__import_room(&items, i->definition_count, &i->definition_cap, sizeof *i->definitions);
    i->definitions = items;
    tc_grow_str(&id, d->family);
    tc_grow_lit(&id, ":");
    tc_grow_str(&id, d->field);
    ok = ok && !id.failed && tc__import_pool_copy(&i->pool, tc_grow_slice(&id), &own.id) &&
         tc__import_pool_copy(&i->pool, d->family, &own.tool) &&
         tc__import_pool_copy(&i->pool, d->field, &own.field) &&
         tc__import_pool_copy(&i->pool, d->metric, &own.measures) &&
         tc__import_pool_copy(&i->pool, d->source_unit, &own.source_unit) &&
         tc__import_pool_copy(&i->pool, d->unit, &own.unit) &&
         tc__import_pool_copy(&i->pool, tc_slice_cstr(d->note), &own.note);
    tc_grow_fini(&id);
    if (!ok) {
        return tc__import_nomem(err);
    }
    i->definitions[i->definition_count++] = own;
    return TC_OK;
}

static void take_definition(void *context, const struct tc_telemetry_definition *d)
{
    struct reading *r = context;
    if (!r->writes && r->failed == TC_OK && !is_defined(r->i, d)) {
        r->failed = add_definition(r->i, d, r->err);
    }
}

/* Samples without a time are of the run's end or, when that is not known, of the moment the file
 * was written. */
static int64_t taken_ns(const struct tc__import *i, const char *path)
{
    struct stat st;
    if (i->ended_us != INT64_MIN) {
        return i->ended_us * 1000;
    }
    return stat(path, &st) == 0 ? st.st_mtim.tv_sec * TC_SECOND + st.st_mtim.tv_nsec : TC_TIME_NONE;
}

static tc_status read_bytes(struct reading *r, struct tc_slice bytes,
                            struct tc_telemetry_counts *counts)
{
    const struct tc__import *i = r->i;
    const struct tc__source *s = &i->sources[r->source];
    const struct tc_telemetry_out out = {
        .take = take_rows, .note = take_note, .context = r, .define = take_definition};
    const struct tc_telemetry_input in = {
        .name = tc_slice_cstr(s->file->path),
        .bytes = bytes,
        .taken_ns = taken_ns(i, s->file->path),
        .run_id = tc_slice_cstr(i->run_id),
        .scheduler_run_id = tc_slice_cstr(i->want->scheduler_run_id),
        .job_uid = tc_slice_cstr(i->want->job_uid),
        .source_digest = tc_slice_cstr(s->digest_text),
    };
    tc_status status = tc_telemetry_read(&in, &out, counts, r->err);
    return r->failed != TC_OK ? r->failed : status;
}

static tc_status read_file(struct reading *r, struct tc_telemetry_counts *counts)
{
    const struct tc__source *s = &r->i->sources[r->source];
    struct tc_digest digest;
    char *bytes = NULL;
    size_t len = 0;
    TC_TRY(tc__read_whole(s->file->path, TC_TELEMETRY_BYTES_MAX, &bytes, &len, r->err));
    struct tc_slice all = tc_slice_make(bytes, len);
    tc_status status = tc_digest_sha256(all, &digest);
    if (status != TC_OK) {
        status = tc__import_nomem(r->err);
    } else if (memcmp(&digest, &s->digest, sizeof digest) != 0) {
        status = tc_fail(r->err, TC_E_IO, 0,
                         "changed while it was imported; add it when it is complete");
    } else {
        status = read_bytes(r, all, counts);
    }
    free(bytes);
    return status;
}

static tc_status check(struct tc__import *i, size_t source, struct tc_error *err)
{
    struct tc__source *s = &i->sources[source];
    struct tc_telemetry_counts counts = {0};
    struct reading r = {.i = i, .source = source, .err = err};
    tc_status status = read_file(&r, &counts);
    s->form = counts.form;
    s->rows = counts.rows;
    return status;
}

static bool is_telemetry(const struct tc__source *s)
{
    return !s->left_out && s->file->role == TC_ROLE_TELEMETRY;
}

tc_status tc__import_telemetry(struct tc__import *i, struct tc_error *err)
{
    for (size_t n = 0; n < i->source_count; n++) {
        struct tc_error own = {0};
        if (!is_telemetry(&i->sources[n])) {
            continue;
        }
        tc_status status = check(i, n, &own);
        if (status == TC_E_NOMEM) {
            *err = own;
            return status;
        }
        if (status != TC_OK) {
            i->unreadable |= status == TC_E_IO;
            tc__import_error(i, n, TC_EMPTY, TC_EMPTY, tc_slice_cstr(own.message));
        }
    }
    return TC_OK;
}

tc_status tc__import_telemetry_write(struct tc__import *i, uint64_t *io_rows, struct tc_error *err)
{
    for (size_t n = 0; n < i->source_count; n++) {
        struct tc_telemetry_counts counts = {0};
        struct reading r = {.i = i, .source = n, .writes = true, .err = err};
        if (is_telemetry(&i->sources[n])) {
            TC_TRY(read_file(&r, &counts));
            *io_rows += counts.rows;
        }
    }
    return TC_OK;
}
