/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry files of a run. Each is read when it is checked and again when its rows are written. */
#include "run/import_priv.h"

#include "base/time.h"
#include "telemetry/files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One reading of one file. */
struct reading {
    struct tc__import *i;
    size_t source;
    bool writes;
    tc_status failed; /* of a note or a name; `why` says more than the reader of the file does */
    struct tc_error why;
    struct tc_error *err;
};

static tc_status take_rows(void *context, const struct tc_rows *rows)
{
    struct reading *r = context;
    if (rows->count == 0) {
        return TC_OK;
    }
    if (!r->writes) {
        r->failed = tc__names_of_slices(r->i, rows, "telemetry", r->err);
        r->why = *r->err;
        return r->failed;
    }
    return tc__import_append(r->i, TC_TABLE_SLICE, rows, r->err);
}

static tc_status take_requests(void *context, const struct tc_rows *rows)
{
    struct reading *r = context;
    return r->writes ? tc__import_append(r->i, TC_TABLE_REQUEST, rows, r->err) : TC_OK;
}

static void take_note(void *context, struct tc_slice where, struct tc_slice field,
                      struct tc_slice text)
{
    struct reading *r = context;
    if (!r->writes && r->failed == TC_OK) {
        r->failed = tc__import_warn(r->i, r->source, where, field, text, r->err);
    }
}

/* In the first reading; the second one's are the same. */
static void take_definition(void *context, const struct tc_telemetry_definition *definition)
{
    struct reading *r = context;
    if (r->writes || r->failed != TC_OK) {
        return;
    }
    const struct tc__definition d = {
        .tool = definition->family,
        .field = definition->field,
        .measures = definition->metric,
        .source_unit = definition->source_unit,
        .unit = definition->unit,
        .note = tc_slice_cstr(definition->note),
    };
    size_t at = 0;
    r->failed = tc__definition_keep(r->i, &d, &at, r->err);
}

static void take_sample(void *context, const struct tc_sample *sample)
{
    const struct reading *r = context;
    if (!r->writes) {
        tc__queue_take(r->i, sample);
    }
}

int64_t tc__import_modified_ns(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_mtim.tv_sec * TC_SECOND + st.st_mtim.tv_nsec : TC_TIME_NONE;
}

/* Samples without a time are of the run's end or, when that is not known, of the moment the file
 * was written. */
static int64_t taken_ns(const struct tc__import *i, const char *path)
{
    return i->ended_us != INT64_MIN ? i->ended_us * 1000 : tc__import_modified_ns(path);
}

static tc_status read_bytes(struct reading *r, struct tc_slice bytes,
                            struct tc_telemetry_counts *counts)
{
    const struct tc__import *i = r->i;
    const struct tc__source *s = &i->sources[r->source];
    const struct tc_telemetry_out out = {.take = take_rows,
                                         .take_requests = take_requests,
                                         .note = take_note,
                                         .define = take_definition,
                                         .sample = take_sample,
                                         .context = r};
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
    if (r->failed != TC_OK && r->why.status != TC_OK) {
        *r->err = r->why;
    }
    return r->failed != TC_OK ? r->failed : status;
}

static tc_status read_file(struct reading *r, struct tc_telemetry_counts *counts)
{
    char *bytes = NULL;
    size_t len = 0;
    TC_TRY(tc__read_again(&r->i->sources[r->source], TC_TELEMETRY_BYTES_MAX, &bytes, &len, r->err));
    tc_status status = read_bytes(r, tc_slice_make(bytes, len), counts);
    free(bytes);
    return status;
}

static tc_status check(struct tc__import *i, size_t source, struct tc_error *err)
{
    struct tc__source *s = &i->sources[source];
    struct tc_telemetry_counts counts = {0};
    struct reading r = {.i = i, .source = source, .err = err};
    tc_status status = read_file(&r, &counts);
    if (s->has_facts && (status == TC_E_MALFORMED || status == TC_E_UNSUPPORTED)) {
        s->has_no_rows = true; /* nodes and pods without events */
        return TC_OK;
    }
    s->form = counts.form;
    s->rows = counts.rows;
    return status;
}

static bool is_telemetry(const struct tc__source *s)
{
    return !s->left_out && !s->has_no_rows && s->file->role == TC_ROLE_TELEMETRY;
}

tc_status tc__import_telemetry(struct tc__import *i, struct tc_error *err)
{
    for (size_t n = 0; n < i->source_count; n++) {
        struct tc_error own = {0};
        if (is_telemetry(&i->sources[n])) {
            tc_status status = check(i, n, &own);
            TC_TRY(tc__import_go_on(i, n, status, &own, err));
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
