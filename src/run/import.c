/* SPDX-License-Identifier: Apache-2.0 */
#include "run/import.h"

#include "base/assert.h"
#include "run/import_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- what was asked for ---- */

/* A run's id stands in paths, tables and commands. */
static bool is_id(const char *id)
{
    size_t len = strlen(id);
    for (size_t n = 0; n < len; n++) {
        char c = id[n];
        bool ok = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '.' || c == '_' || c == '-' || c == ':';
        if (!ok) {
            return false;
        }
    }
    return len > 0 && len <= TC_RUN_ID_MAX && id[0] != '-';
}

static tc_status check_words(const struct tc_import *want, struct tc_error *err)
{
    const struct {
        const char *option;
        const char *text;
    } words[] = {{"--name", want->name},
                 {"--replicate-group", want->replicate_group},
                 {"--scheduler-run-id", want->scheduler_run_id},
                 {"--job-uid", want->job_uid},
                 {"--intent", want->intent}};
    for (size_t n = 0; n < TC_COUNT(words); n++) {
        if (words[n].text != NULL && words[n].text[0] == '\0') {
            return tc_fail(err, TC_E_USAGE, 0, "%s: empty; leave it out instead", words[n].option);
        }
        if (words[n].text != NULL && strlen(words[n].text) > TC_RUN_WORDS_MAX) {
            return tc_fail(err, TC_E_USAGE, 0, "%s: more than %d bytes", words[n].option,
                           TC_RUN_WORDS_MAX);
        }
    }
    for (size_t n = 0; n < want->name_count; n++) {
        size_t len = strlen(want->names[n].text);
        if (len == 0 || len > TC_RUN_NAME_BYTES) {
            return tc_fail(err, TC_E_USAGE, 0, "the name of a pod, job or node has 1 to %d bytes",
                           TC_RUN_NAME_BYTES);
        }
    }
    return TC_OK;
}

static tc_status check_wanted(const struct tc_import *want, struct tc_error *err)
{
    size_t contracts = 0;
    size_t results = 0;
    for (size_t n = 0; n < want->file_count; n++) {
        contracts += want->files[n].role == TC_ROLE_CONTRACT ? 1 : 0;
        results += want->files[n].role == TC_ROLE_RESULT ? 1 : 0;
    }
    if (contracts > 1) {
        return tc_fail(err, TC_E_USAGE, 0, "a run has one contract, not %zu", contracts);
    }
    if (results == 0) {
        return tc_fail(err, TC_E_USAGE, 0, "a run needs a result; give --result FILE");
    }
    if (want->file_count > TC_MANIFEST_FILES_MAX) {
        return tc_fail(err, TC_E_USAGE, 0, "%zu files, more than %d; split them into runs",
                       want->file_count, TC_MANIFEST_FILES_MAX);
    }
    if (want->run_id != NULL && !is_id(want->run_id)) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "--run-id takes 1 to %d letters, digits, and . _ - : in it, not \"%s\"",
                       TC_RUN_ID_MAX, want->run_id);
    }
    if (want->run_id != NULL && want->again) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "--again names the run by itself: leave out --run-id, or --again");
    }
    if (contracts > 0 && want->name != NULL) {
        return tc_fail(err, TC_E_USAGE, 0,
                       "--name is for runs without a contract: metadata.name is this one's name");
    }
    return check_words(want, err);
}

/* ---- from files to rows ---- */

static struct tc_slice last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return tc_slice_cstr(slash == NULL ? path : slash + 1);
}

static tc_status prepare(struct tc__import *i, struct tc_error *err)
{
    i->sources = calloc(i->want->file_count, sizeof *i->sources);
    if (i->sources == NULL) {
        return tc__import_nomem(err);
    }
    for (size_t n = 0; n < i->want->file_count; n++) {
        const struct tc_import_file *file = &i->want->files[n];
        struct stat st;
        i->sources[n] = (struct tc__source){.file = file, .name = last_component(file->path)};
        if (stat(file->path, &st) == 0 && S_ISREG(st.st_mode)) {
            /* Read once, and once more when it becomes evidence. */
            i->bytes_total += 2 * (uint64_t)st.st_size;
        }
    }
    i->source_count = i->want->file_count;
    return TC_OK;
}

/* The one sentence behind all that was told. */
static tc_status refuse(const struct tc__import *i, struct tc_error *err)
{
    if (i->unreadable) {
        return tc_fail(err, TC_E_IO, 0, "not all files can be read; nothing was added");
    }
    if (i->contract_is_bad) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "the contract is not valid; nothing was added. `tracecore contract "
                       "check FILE` says more; without --contract the run is exploratory");
    }
    if (i->is_twin) {
        return tc_fail(
            err, TC_E_MALFORMED, 0,
            "a replicate has results of its own; nothing was added. --force adds it, and "
            "the run is not publishable");
    }
    if (i->contradictions == i->errors) {
        return tc_fail(err, TC_E_MALFORMED, 0,
                       "the files contradict themselves; nothing was added. --force records it, "
                       "and the run is not publishable");
    }
    return tc_fail(err, TC_E_MALFORMED, 0, "not all files can be taken; nothing was added");
}

static tc_status need_result(const struct tc__import *i, struct tc_error *err)
{
    for (size_t n = 0; n < i->source_count; n++) {
        const struct tc__source *s = &i->sources[n];
        if (!s->left_out && s->reader != NULL && !s->reader->only_facts) {
            return TC_OK;
        }
    }
    return tc_fail(err, TC_E_MALFORMED, 0,
                   "no reader knows any of the files as a result; nothing was added");
}

static tc_status collect(struct tc__import *i, struct tc_error *err)
{
    TC_TRY(prepare(i, err));
    TC_TRY(tc__import_read(i, err));
    if (i->errors == 0) {
        TC_TRY(need_result(i, err));
        TC_TRY(tc__facts_settle(i, err));
        TC_TRY(tc__facts_add_image(i, err));
        TC_TRY(tc__import_check_points(i, err));
        TC_TRY(tc__import_join_requests(i, err));
        TC_TRY(tc__import_identity(i, err));
        TC_TRY(tc__names_given(i, err));
    }
    TC_TRY(
        tc__import_telemetry(i, err)); /* tells what is wrong there even when it is for nothing */
    return i->errors > 0 ? refuse(i, err) : tc__import_compute(i, err);
}

static void tell_files(const struct tc__import *i)
{
    for (size_t n = 0; i->sink->file != NULL && n < i->source_count; n++) {
        const struct tc__source *s = &i->sources[n];
        if (!s->left_out) {
            i->sink->file(i->sink->context, s->file,
                          s->reader != NULL ? s->reader->name
                          : s->form != NULL ? s->form
                                            : TC_IMPORT_KEPT,
                          s->rows, tc_slice_cstr(s->digest_text));
        }
    }
}

static void summarise(const struct tc__import *i, struct tc_import_outcome *out)
{
    (void)snprintf(out->run_id, sizeof out->run_id, "%s", i->run_id);
    (void)snprintf(out->manifest_digest, sizeof out->manifest_digest, "%s", i->manifest_text);
    (void)snprintf(out->name, sizeof out->name, "%.*s", TC_FMT(i->name));
    (void)snprintf(out->benchmark_class, sizeof out->benchmark_class, "%.*s",
                   TC_FMT(i->contract != NULL ? i->said.benchmark_class : TC_LIT("exploratory")));
    out->notes = i->warning_count + i->warnings_left_out;
}

/* Of the run as it is in the warehouse. */
static tc_status ask_publishable(struct tc__import *i, struct tc_import_outcome *out,
                                 struct tc_error *err)
{
    struct tc_bind id = tc__bind_text(tc_slice_cstr(i->run_id));
    int64_t publishable = 0;
    TC_TRY(tc__import_count(i,
                            "SELECT count(*) FROM benchmark_run_fact WHERE run_id = ? AND "
                            "publishable",
                            &id, &publishable, err));
    out->publishable = publishable > 0;
    return TC_OK;
}

static tc_status import(struct tc__import *i, struct tc_import_outcome *out, struct tc_error *err)
{
    TC_TRY(collect(i, err));
    if (i->w == NULL && i->sink->open != NULL) {
        TC_TRY(i->sink->open(i->sink->context, &i->w, err));
    }
    TC_ASSERT(i->w != NULL || i->want->dry_run);
    if (i->w != NULL && i->want->again) {
        TC_TRY(tc__import_repeat(i, err));
    }
    if (i->w != NULL) {
        TC_TRY(tc__import_is_there(i, &out->was_there, err));
        TC_TRY(out->was_there ? tc__import_tell_words(i, err) : tc__import_check_twins(i, err));
    }
    if (i->errors > 0) {
        return refuse(i, err);
    }
    summarise(i, out);
    tell_files(i);
    if (!out->was_there) {
        tc__import_tell_unknown(i);
    }
    if (i->want->dry_run && !out->was_there) {
        return tc__import_preview(i, out, err);
    }
    if (i->want->dry_run || (out->was_there && i->want->is_stored)) {
        return ask_publishable(i, out, err);
    }
    TC_TRY(out->was_there ? tc__import_put_back(i, out, err) : tc__import_store(i, out, err));
    return ask_publishable(i, out, err);
}

static void fini(struct tc__import *i)
{
    for (size_t t = 0; t < TC_TABLE_COUNT; t++) {
        tc__batches_fini(&i->batches[t]);
    }
    tc_contract_destroy(i->contract);
    free(i->contract_text);
    free(i->queue);
    free(i->manifest);
    free(i->definitions);
    free(i->warnings);
    free(i->facts);
    for (size_t n = 0; n < i->source_count; n++) {
        free(i->sources[n].bounds);
    }
    free(i->sources);
    tc__names_fini(&i->names);
    tc__import_pool_fini(&i->pool);
}

tc_status tc_import_run(struct tc_warehouse *w, const struct tc_import *want,
                        const struct tc_import_sink *sink, struct tc_import_outcome *out,
                        struct tc_error *err)
{
    struct tc__import i = {.w = w,
                           .want = want,
                           .sink = sink,
                           .gpu_hour_usd =
                               want->gpu_hour_usd > 0 ? want->gpu_hour_usd : (double)NAN,
                           .started_us = INT64_MAX,
                           .ended_us = INT64_MIN};
    *out = (struct tc_import_outcome){0};
    TC_TRY(check_wanted(want, err));
    tc_status status = import(&i, out, err);
    fini(&i);
    return status;
}
