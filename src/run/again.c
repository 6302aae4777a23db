/* SPDX-License-Identifier: Apache-2.0 */
#include "run/again.h"

#include "base/clock.h"
#include "base/os/io.h"
#include "base/os/tree.h"
#include "evidence/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 5120

struct unpacked {
    const char *dir;
    const struct tc_run_bytes *bytes;
    struct tc_import_file *files;
    size_t count;
    char *why;
};

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for the files of a run");
}

/* ---- where the bytes are ---- */

static tc_status copy_stored(void *context, const struct tc_digest *digest, int to,
                             uint64_t *out_size, struct tc_error *err)
{
    return tc_files_copy(context, digest, to, out_size, err);
}

struct tc_run_bytes tc_run_bytes_of(struct tc_files *files)
{
    return (struct tc_run_bytes){.context = files, .copy = copy_stored};
}

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
    return mkdir(path, 0700) == 0 || errno == EEXIST ? TC_OK : tc_fail_errno(err, path);
}

/* Files of one name are in directories of their own. */
static tc_status unpack_file(struct unpacked *u, const struct tc_record_file *file,
                             struct tc_error *err)
{
    char path[PATH_BYTES];
    struct timespec times[2];
    uint64_t size = 0;
    if (!is_name(file->name)) {
        return tc_fail(err, TC_E_MALFORMED, 0, "the ledger names a file that cannot be one");
    }
    (void)snprintf(path, sizeof path, "%.4700s/%zu", u->dir, u->count);
    TC_TRY(make_dir(path, err));
    (void)snprintf(path, sizeof path, "%.4700s/%zu/%.*s", u->dir, u->count, TC_FMT(file->name));
    char *copy = strdup(path);
    if (copy == NULL) {
        return no_memory(err);
    }
    u->files[u->count++] = (struct tc_import_file){file->role, copy, false};
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return tc_fail_errno(err, path);
    }
    tc_status status = u->bytes->copy(u->bytes->context, &file->digest, fd, &size, err);
    times[0] = times[1] = tc_timespec(file->modified_ns);
    if (status == TC_OK && file->modified_ns > 0) {
        (void)futimens(fd, times); /* without it, samples without a time have another one */
    }
    (void)close(fd);
    if (u->bytes->progress != NULL) {
        u->bytes->progress(u->bytes->context, size);
    }
    return status;
}

static tc_status unpack(struct unpacked *u, const struct tc_run_record *record,
                        struct tc_error *err)
{
    TC_TRY(make_dir(u->dir, err));
    u->files = calloc(record->file_count + 1, sizeof *u->files);
    if (u->files == NULL) {
        return no_memory(err);
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
    return tc_tree_remove(u->dir, err);
}

/* ---- the import ---- */

static void take_problem(void *context, bool error, const char *path, struct tc_slice where,
                         struct tc_slice field, struct tc_slice text)
{
    struct unpacked *u = context;
    (void)path;
    (void)where;
    if (error && u->why[0] == '\0') {
        (void)snprintf(u->why, TC_RUN_WHY_BYTES, "%.*s%s%.*s", TC_FMT(field),
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

static tc_status import(struct tc_warehouse *w, struct unpacked *u,
                        const struct tc_run_record *record, struct tc_error *err)
{
    char words[7][TC_RUN_WORDS_MAX + 1];
    const struct tc_import_sink sink = {.context = u, .problem = take_problem};
    struct tc_import_outcome out;
    struct tc_import_name *names = names_of(record);
    if (names == NULL) {
        return no_memory(err);
    }
    struct tc_import want = {
        .data_dir = u->dir,
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
        .force = record->force,
        .is_stored = true,
        .replicate_index = record->replicate_index,
        .stored_run_id = given(record->run_id, words[6]),
        .repetition = record->repetition,
    };
    tc_status status = tc_import_run(w, &want, &sink, &out, err);
    free(names);
    return status;
}

tc_status tc_run_again(struct tc_warehouse *w, const struct tc_run_record *record,
                       const struct tc_run_bytes *bytes, const char *work,
                       char why[TC_RUN_WHY_BYTES], struct tc_error *err)
{
    struct unpacked u = {.dir = work, .bytes = bytes, .why = why};
    struct tc_error ignored;
    why[0] = '\0';
    tc_status status = unpack(&u, record, err);
    status = status == TC_OK ? import(w, &u, record, err) : status;
    tc_status cleared = clear(&u, status == TC_OK ? err : &ignored);
    return status == TC_OK ? cleared : status;
}
