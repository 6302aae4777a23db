/* SPDX-License-Identifier: Apache-2.0 */
/* One run: its files out of the evidence, and the import over them. */
#include "base/clock.h"
#include "base/time.h"
#include "cli/rebuild/rebuild.h"
#include "run/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is wrong with a run, in one sentence. */
#define WHY_BYTES 256

struct unpacked {
    struct tc_rebuild *r;
    char dir[TC_REBUILD_PATH_BYTES];
    struct tc_import_file *files;
    size_t count;
    char why[WHY_BYTES]; /* the first error that the import tells */
};

/* ---- its files ---- */

/* Names are of manifests, which are checked: but a path is made of them here. */
static bool is_name(struct tc_slice name)
{
    return name.len > 0 && name.len < 256 && tc_slice_find_byte(name, '/') == TC_NPOS &&
           tc_slice_find_byte(name, '\0') == TC_NPOS && !tc_slice_eq(name, TC_LIT(".")) &&
           !tc_slice_eq(name, TC_LIT(".."));
}

static tc_status make_dir(const char *path, struct tc_error *err)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST
               ? TC_OK
               : tc_fail(err, TC_E_IO, 0, "%s: %s", path, strerror(errno));
}

/* Files of one name are in directories of their own. */
static tc_status unpack_file(struct unpacked *u, const struct tc_record_file *file,
                             struct tc_error *err)
{
    char path[TC_REBUILD_PATH_BYTES + 512];
    struct timespec times[2];
    uint64_t size = 0;
    if (!is_name(file->name)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "the ledger names a file that cannot be one");
    }
    (void)snprintf(path, sizeof path, "%s/%zu", u->dir, u->count);
    TC_TRY(make_dir(path, err));
    (void)snprintf(path, sizeof path, "%s/%zu/%.*s", u->dir, u->count, TC_FMT(file->name));
    char *copy = strdup(path);
    if (copy == NULL) {
        return tc_rebuild_nomem(err);
    }
    u->files[u->count++] = (struct tc_import_file){file->role, copy, false};
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return tc_fail(err, TC_E_IO, 0, "%s: %s", path, strerror(errno));
    }
    tc_status status = tc_files_copy(u->r->files, &file->digest, fd, &size, err);
    times[0] = times[1] = tc_timespec(file->modified_ns);
    if (status == TC_OK && file->modified_ns > 0) {
        (void)futimens(fd, times); /* without it, samples without a time have another one */
    }
    (void)close(fd);
    tc_progress_add(&u->r->progress, size, 1);
    return status;
}

static tc_status unpack(struct unpacked *u, const struct tc_run_record *record,
                        struct tc_error *err)
{
    if (u->r->files == NULL) {
        return tc_fail(err, TC_E_NOTFOUND, 0, "there are no files");
    }
    TC_TRY(tc_files_check(u->r->files, &record->manifest, NULL, err));
    TC_TRY(make_dir(u->dir, err));
    u->files = calloc(record->file_count + 1, sizeof *u->files);
    if (u->files == NULL) {
        return tc_rebuild_nomem(err);
    }
    for (size_t i = 0; i < record->file_count; i++) {
        TC_TRY(unpack_file(u, &record->files[i], err));
    }
    return TC_OK;
}

static tc_status clear(struct unpacked *u, struct tc_error *err)
{
    for (size_t i = 0; i < u->count; i++) {
        free((char *)(uintptr_t)u->files[i].path);
    }
    free(u->files);
    return tc_rebuild_remove(u->dir, err);
}

/* ---- the import ---- */

static void take_problem(void *context, bool error, const char *path, struct tc_slice where,
                         struct tc_slice field, struct tc_slice text)
{
    struct unpacked *u = context;
    (void)path;
    (void)where;
    if (error && u->why[0] == '\0') {
        (void)snprintf(u->why, sizeof u->why, "%.*s%s%.*s", TC_FMT(field),
                       field.len > 0 ? ": " : "", TC_FMT(text));
    }
}

/* NULL where nothing was given; out has room for all that may be given. */
static const char *given(struct tc_slice text, char out[TC_RUN_WORDS_MAX + 1])
{
    (void)snprintf(out, TC_RUN_WORDS_MAX + 1, "%.*s", TC_FMT(text));
    return text.len == 0 ? NULL : out;
}

/* The names that were given, as C strings, in one block for free(); NULL without memory. */
static struct tc_import_name *names_of(const struct tc_run_record *record)
{
    size_t bytes = 0;
    for (size_t i = 0; i < record->name_count; i++) {
        bytes += record->names[i].text.len + 1;
    }
    struct tc_import_name *names = malloc((record->name_count + 1) * sizeof *names + bytes);
    char *text = names == NULL ? NULL : (char *)(names + record->name_count + 1);
    for (size_t i = 0; names != NULL && i < record->name_count; i++) {
        struct tc_slice name = record->names[i].text;
        names[i] = (struct tc_import_name){record->names[i].kind, text};
        text += snprintf(text, name.len + 1, "%.*s", TC_FMT(name)) + 1;
    }
    return names;
}

static tc_status import(struct unpacked *u, const struct tc_run_record *record, bool force,
                        struct tc_import_outcome *out, struct tc_error *err)
{
    char words[7][TC_RUN_WORDS_MAX + 1];
    const struct tc_import_sink sink = {.context = u, .problem = take_problem};
    struct tc_import_name *names = names_of(record);
    if (names == NULL) {
        return tc_rebuild_nomem(err);
    }
    struct tc_import want = {
        .data_dir = u->r->dir,
        .files = u->files,
        .file_count = u->count,
        .reader = record->format.len > 0 ? tc_reader_by_name(record->format) : NULL,
        .run_id = given(record->given_run_id, words[0]),
        .name = given(record->name, words[1]),
        .replicate_group = given(record->replicate_group, words[2]),
        .scheduler_run_id = given(record->scheduler_run_id, words[3]),
        .job_uid = given(record->job_uid, words[4]),
        .intent = given(record->intent, words[5]),
        .gpu_hour_usd = record->gpu_hour_usd,
        .names = names,
        .name_count = record->name_count,
        .now_us = record->at_us,
        .force = force,
        .is_stored = true,
        .replicate_index = record->replicate_index,
        .stored_run_id = given(record->run_id, words[6]),
        .repetition = record->repetition,
    };
    tc_status status = tc_import_run(u->r->made, &want, &sink, out, err);
    free(names);
    return status;
}

static tc_status add(struct unpacked *u, const struct tc_run_record *record, struct tc_error *err)
{
    struct tc_import_outcome out;
    TC_TRY(unpack(u, record, err));
    TC_TRY(import(u, record, record->force, &out, err));
    u->r->runs_made++;
    return TC_OK;
}

/* ---- what becomes of one that cannot be made ---- */

static tc_status copy(struct tc_rebuild *r, const struct tc_run_record *record, const char *why,
                      struct tc_error *err)
{
    uint64_t rows = 0;
    TC_TRY(tc_rebuild_copy_run(r, record->run_id, &rows, err));
    if (rows > 0) {
        r->runs_copied++;
        r->has_gone = true;
        tc_rebuild_note(r, "run %.*s: its rows are copied from the old database: %s",
                        TC_FMT(record->run_id), why);
    } else {
        r->runs_lost++;
        tc_rebuild_note(r, "run %.*s is not in the new database: %s", TC_FMT(record->run_id), why);
    }
    return TC_OK;
}

/* Whether the old tables, which can be read, do not have it: it never was there, or no longer. */
static tc_status is_unknown(struct tc_rebuild *r, struct tc_slice run, bool *out)
{
    struct tc_bind id = {.type = TC_COLUMN_TEXT, .as.text = run};
    struct tc_error ignored;
    int64_t count = 0;
    *out = r->old != NULL &&
           tc_warehouse_int(r->old, "SELECT count(*) FROM artifact_lineage_dim WHERE run_id = ?",
                            &id, 1, 1, &count, &ignored) == TC_OK &&
           count == 0;
    return TC_OK;
}

tc_status tc_rebuild_run(struct tc_rebuild *r, const struct tc_run_record *record, bool is_gone,
                         struct tc_error *err)
{
    struct unpacked u = {.r = r};
    struct tc_error why = {0};
    struct tc_error left = {0};
    bool unknown = false;
    (void)snprintf(u.dir, sizeof u.dir, "%s/files", r->work);
    tc_status status = add(&u, record, &why);
    TC_TRY(clear(&u, status == TC_OK ? err : &left));
    if (status == TC_OK) {
        return TC_OK;
    }
    bool is_its_own = status == TC_E_NOTFOUND || status == TC_E_MALFORMED || status == TC_E_LIMIT ||
                      status == TC_E_UNSUPPORTED || status == TC_E_USAGE;
    if (!is_its_own) { /* the disk, the memory */
        *err = why;
        return status;
    }
    if (status == TC_E_NOTFOUND) {
        TC_TRY(is_unknown(r, record->run_id, &unknown));
        r->has_gone |= is_gone;
        if (is_gone || unknown) {
            return TC_OK; /* removed for its age; or an import that did not come to its end */
        }
    }
    return copy(r, record, u.why[0] != '\0' ? u.why : why.message, err);
}
