/* SPDX-License-Identifier: Apache-2.0 */
/* What the warehouse has already: the same run, the same files in another one. */
#include "run/import_priv.h"

#include "base/json/json.h"

#include <stdio.h>
#include <string.h>

/* Result files that are looked for in other runs: two runs that share results share one of these,
 * and each costs a look at all runs. */
#define TWINS_ASKED_MAX 64
/* More than anyone repeats the same bytes. */
#define REPETITIONS_MAX 10000

/* ---- small answers ---- */

struct text_answer {
    struct tc__import *i;
    struct tc_slice *out;
    bool failed;
};

static tc_status take_text(void *context, const struct tc_rows *rows)
{
    struct text_answer *a = context;
    if (rows->count > 0 && a->out->len == 0 && !tc_rows_is_null(rows, 0, 0)) {
        a->failed = !tc__import_pool_copy(&a->i->pool, tc_rows_get_text(rows, 0, 0), a->out);
    }
    return a->failed ? TC_E_NOMEM : TC_OK;
}

/* The text in the first row; empty when there is none. */
static tc_status ask_text(struct tc__import *i, const char *sql, const struct tc_bind *binds,
                          size_t bind_count, struct tc_slice *out, struct tc_error *err)
{
    struct text_answer answer = {i, out, false};
    struct tc_query query = {
        .sql = tc_slice_cstr(sql), .binds = binds, .bind_count = bind_count, .rows_max = 1};
    *out = TC_EMPTY;
    tc_status status = tc_warehouse_query(i->w, &query, take_text, &answer, NULL, err);
    return answer.failed ? tc__import_nomem(err) : status;
}

/* ---- the same run ---- */

static const struct tc__source *source_of(const struct tc__import *i, struct tc_slice role,
                                          struct tc_slice name, bool by_digest)
{
    for (size_t n = 0; n < i->source_count; n++) {
        const struct tc__source *s = &i->sources[n];
        if (!s->left_out && tc_slice_eq(role, tc_slice_cstr(tc_role_name(s->file->role))) &&
            tc_slice_eq(name, by_digest ? tc_slice_cstr(s->digest_text) : s->name)) {
            return s;
        }
    }
    return NULL;
}

/* The first file that is not the same in both, in words; empty when all bytes are. */
static void say_difference(struct tc__import *i, struct tc_json files, char *out, size_t size)
{
    struct tc_json file;
    size_t there = 0;
    size_t here = 0;
    out[0] = '\0';
    for (struct tc_json_iter it = tc_json_iter_make(files); tc_json_iter_next(&it, NULL, &file);) {
        struct tc_slice role = tc_json_get_string(file, TC_LIT("role"));
        struct tc_slice name = tc_json_get_string(file, TC_LIT("name"));
        struct tc_slice digest = tc_json_get_string(file, TC_LIT("digest"));
        const struct tc__source *s = source_of(i, role, digest, true);
        there++;
        if (s != NULL) {
            continue;
        }
        s = source_of(i, role, name, false);
        if (s != NULL) {
            (void)snprintf(out, size, "%.*s differs: it has %.*s, here it is %s", TC_FMT(name),
                           TC_FMT(tc_slice_head(digest, 19)), s->digest_text);
            return;
        }
        (void)snprintf(out, size, "it has the %.*s %.*s, which is not given here", TC_FMT(role),
                       TC_FMT(name));
        return;
    }
    for (size_t n = 0; n < i->source_count; n++) {
        here += i->sources[n].left_out ? 0 : 1;
    }
    if (here > there) {
        (void)snprintf(out, size, "there are files here that it does not have");
    }
}

/* In which way a run has other content, in words; empty: the same bytes, and no other name was
 * given. */
static tc_status compare_content(struct tc__import *i, struct tc_slice run, char *out, size_t size,
                                 struct tc_slice *out_name, struct tc_error *err)
{
    struct tc_bind id = tc__bind_text(run);
    struct tc_slice uris = TC_EMPTY;
    struct tc_json files;
    struct tc_error ignored;
    TC_TRY(
        ask_text(i, "SELECT name FROM benchmark_run_fact WHERE run_id = ?", &id, 1, out_name, err));
    TC_TRY(ask_text(i, "SELECT raw_uris FROM artifact_lineage_dim WHERE run_id = ?", &id, 1, &uris,
                    err));
    struct tc_json_parser *parser = tc_json_parser_create();
    if (parser == NULL) {
        return tc__import_nomem(err);
    }
    if (tc_json_parse(parser, uris, &files, &ignored) == TC_OK) {
        say_difference(i, files, out, size);
    } else {
        (void)snprintf(out, size, "its files are not known");
    }
    tc_json_parser_destroy(parser);
    if (out[0] == '\0' && i->want->name != NULL &&
        !tc_slice_eq(*out_name, tc_slice_cstr(i->want->name))) {
        (void)snprintf(out, size, "its name differs");
    }
    return TC_OK;
}

/* The run is the one that is there, be it with other names of files in its manifest. */
static void take_over(struct tc__import *i, struct tc_slice manifest, struct tc_slice name)
{
    i->other_file_names = true;
    i->name = name;
    (void)snprintf(i->manifest_text, sizeof i->manifest_text, "%.*s", TC_FMT(manifest));
}

/* The id is there with another manifest: the same bytes under other names are the same run. */
static tc_status need_same_content(struct tc__import *i, struct tc_slice manifest,
                                   struct tc_error *err)
{
    struct tc_slice name = TC_EMPTY;
    char what[200] = "";
    TC_TRY(compare_content(i, tc_slice_cstr(i->run_id), what, sizeof what, &name, err));
    if (what[0] == '\0') {
        take_over(i, manifest, name);
        return TC_OK;
    }
    tc__import_error(i, TC__NOWHERE, TC_EMPTY, TC_LIT("run_id"), tc_slice_cstr(what));
    return tc_fail(err, TC_E_MALFORMED, 0,
                   "run %s is there with other content; give another --run-id, or none", i->run_id);
}

/* ---- runs of before the names of files were left out of ids ---- */

/* Their id is of the manifest's digest. One with the same bytes, and no name of its own but that of
 * one of its files, unless it is the name that is given here. */
static tc_status find_renamed(struct tc__import *i, bool *out, struct tc_error *err)
{
    static const char SQL[] =
        "SELECT r.run_id FROM benchmark_run_fact r JOIN artifact_lineage_dim l ON l.run_id = "
        "r.run_id WHERE r.run_id = 'run-' || substr(r.artifact_manifest_digest, 8, 16) AND "
        "l.raw_uris LIKE ? AND (r.name = ? OR (? = '' AND l.raw_uris LIKE '%\"name\":\"' || r.name "
        "|| '\"%')) ORDER BY r.run_id";
    struct tc_slice name = i->contract != NULL ? i->name : tc_slice_cstr(i->want->name);
    struct tc_slice id = TC_EMPTY;
    struct tc_slice manifest = TC_EMPTY;
    struct tc_slice kept_name = TC_EMPTY;
    char like[TC_DIGEST_TEXT + 2];
    char what[200] = "";
    size_t n = 0;
    while (n < i->source_count &&
           (i->sources[n].left_out || i->sources[n].file->role != TC_ROLE_RESULT)) {
        n++;
    }
    if (n == i->source_count) {
        return TC_OK;
    }
    (void)snprintf(like, sizeof like, "%%%s%%", i->sources[n].digest_text);
    struct tc_bind binds[] = {tc__bind_text(tc_slice_cstr(like)), tc__bind_text(name),
                              tc__bind_text(name)};
    TC_TRY(ask_text(i, SQL, binds, 3, &id, err));
    if (id.len == 0 || id.len >= sizeof i->run_id) {
        return TC_OK;
    }
    TC_TRY(compare_content(i, id, what, sizeof what, &kept_name, err));
    if (what[0] != '\0') {
        return TC_OK;
    }
    struct tc_bind bind = tc__bind_text(id);
    TC_TRY(ask_text(i, "SELECT artifact_manifest_digest FROM benchmark_run_fact WHERE run_id = ?",
                    &bind, 1, &manifest, err));
    (void)snprintf(i->run_id, sizeof i->run_id, "%.*s", TC_FMT(id));
    take_over(i, manifest, kept_name);
    *out = true;
    return TC_OK;
}

static tc_status find_older(struct tc__import *i, bool *out, struct tc_error *err)
{
    struct tc_bind digest = tc__bind_text(tc_slice_cstr(i->manifest_text));
    struct tc_slice id = TC_EMPTY;
    if (i->want->run_id != NULL || i->want->is_stored) {
        return TC_OK;
    }
    TC_TRY(ask_text(i,
                    "SELECT run_id FROM benchmark_run_fact WHERE artifact_manifest_digest = ? "
                    "ORDER BY run_id",
                    &digest, 1, &id, err));
    if (id.len > 0 && id.len < sizeof i->run_id) {
        (void)snprintf(i->run_id, sizeof i->run_id, "%.*s", TC_FMT(id));
        *out = true;
        return TC_OK;
    }
    return i->repetition == 0 ? find_renamed(i, out, err) : TC_OK;
}

tc_status tc__import_is_there(struct tc__import *i, bool *out, struct tc_error *err)
{
    struct tc_bind id = tc__bind_text(tc_slice_cstr(i->run_id));
    struct tc_slice digest = TC_EMPTY;
    *out = false;
    i->other_file_names = false;
    TC_TRY(ask_text(i, "SELECT artifact_manifest_digest FROM benchmark_run_fact WHERE run_id = ?",
                    &id, 1, &digest, err));
    if (digest.len == 0) {
        return find_older(i, out, err);
    }
    if (!tc_slice_eq(digest, tc_slice_cstr(i->manifest_text))) {
        TC_TRY(need_same_content(i, digest, err));
    }
    *out = true;
    return TC_OK;
}

/* ---- the same bytes, measured again ---- */

tc_status tc__import_repeat(struct tc__import *i, struct tc_error *err)
{
    bool there = false;
    char first[sizeof i->run_id];
    TC_TRY(tc__import_is_there(i, &there, err));
    (void)snprintf(first, sizeof first, "%s", i->run_id);
    for (uint64_t n = 2; there; n++) {
        if (n > REPETITIONS_MAX) {
            return tc_fail(err, TC_E_LIMIT, 0, "--again: run %s was repeated %d times already",
                           first, REPETITIONS_MAX);
        }
        TC_TRY(tc__import_name_again(i, n, err));
        TC_TRY(tc__import_is_there(i, &there, err));
    }
    return tc__import_warn_repetition(i, err);
}

/* ---- the same results in another run ---- */

static tc_status check_twin(struct tc__import *i, size_t source, struct tc_error *err)
{
    struct tc__source *s = &i->sources[source];
    struct tc_grow like = {0};
    struct tc_slice other = TC_EMPTY;
    struct tc_slice group = TC_EMPTY;
    tc_grow_lit(&like, "%");
    tc_grow_str(&like, tc_slice_cstr(s->digest_text));
    tc_grow_lit(&like, "%");
    struct tc_bind binds[] = {tc__bind_text(tc_grow_slice(&like)),
                              tc__bind_text(tc_slice_cstr(i->run_id)), tc__bind_text(i->group)};
    tc_status status =
        like.failed ? tc__import_nomem(err)
                    : ask_text(i,
                               "SELECT l.run_id FROM artifact_lineage_dim l LEFT JOIN "
                               "benchmark_run_fact r ON r.run_id = l.run_id WHERE l.raw_uris LIKE "
                               "? AND l.run_id <> ? ORDER BY CASE WHEN r.replicate_group = ? THEN "
                               "0 ELSE 1 END, l.run_id",
                               binds, 3, &other, err);
    tc_grow_fini(&like);
    if (status != TC_OK || other.len == 0) {
        return status;
    }
    struct tc_bind id = tc__bind_text(other);
    TC_TRY(ask_text(i, "SELECT replicate_group FROM benchmark_run_fact WHERE run_id = ?", &id, 1,
                    &group, err));
    char text[512];
    i->has_twin |= tc_slice_eq(group, i->group);
    if (i->contract == NULL || !tc_slice_eq(group, i->group)) {
        return tc__import_warnf(i, source, err, "", "is a result of %.*s too", TC_FMT(other));
    }
    (void)snprintf(text, sizeof text,
                   "is a result of %.*s, of the same replicate group %.*s: the same bytes are no "
                   "second measurement",
                   TC_FMT(other), TC_FMT(group));
    if (i->want->force) {
        i->forced = true;
        return tc__import_warn(i, source, TC_EMPTY, TC_EMPTY, tc_slice_cstr(text), err);
    }
    i->is_twin = true;
    tc__import_error(i, source, TC_EMPTY, TC_EMPTY, tc_slice_cstr(text));
    return TC_OK;
}

tc_status tc__import_check_twins(struct tc__import *i, struct tc_error *err)
{
    size_t asked = i->repetition > 0 ? TWINS_ASKED_MAX : 0; /* that is said to be one */
    for (size_t n = 0; n < i->source_count && asked < TWINS_ASKED_MAX; n++) {
        if (!i->sources[n].left_out && i->sources[n].file->role == TC_ROLE_RESULT) {
            TC_TRY(check_twin(i, n, err));
            asked++;
        }
    }
    return TC_OK;
}

/* ---- the same run with other words ---- */

/* Names in the cluster that the run does not have. */
static tc_status tell_names(struct tc__import *i, struct tc_error *err)
{
    for (size_t n = 0; n < i->want->name_count; n++) {
        const struct tc_import_name *name = &i->want->names[n];
        const struct tc_bind binds[] = {tc__bind_text(tc_slice_cstr(i->run_id)),
                                        tc__bind_text(tc_run_name_kind(name->kind)),
                                        tc__bind_text(tc_slice_cstr(name->text))};
        int64_t count = 0;
        TC_TRY(tc_warehouse_int(
            i->w, "SELECT count(*) FROM run_scope_fact WHERE run_id = ? AND kind = ? AND name = ?",
            binds, TC_COUNT(binds), 0, &count, err));
        if (count == 0) {
            tc__import_tell(i, TC__NOWHERE,
                            "the %.*s %s is not taken over: the run is there without",
                            TC_FMT(tc_run_name_kind(name->kind)), name->text);
        }
    }
    return TC_OK;
}

tc_status tc__import_tell_words(struct tc__import *i, struct tc_error *err)
{
    const struct {
        const char *option;
        const char *given;
        const char *sql;
    } words[] = {
        {"--intent", i->want->intent, "SELECT intent FROM benchmark_run_fact WHERE run_id = ?"},
        {"--job-uid", i->want->job_uid, "SELECT job_uid FROM benchmark_run_fact WHERE run_id = ?"},
        {"--scheduler-run-id", i->want->scheduler_run_id,
         "SELECT scheduler_run_id FROM benchmark_run_fact WHERE run_id = ?"},
        {"--replicate-group", i->want->replicate_group,
         "SELECT replicate_group FROM benchmark_run_fact WHERE run_id = ?"},
    };
    struct tc_bind id = tc__bind_text(tc_slice_cstr(i->run_id));
    for (size_t n = 0; n < TC_COUNT(words); n++) {
        struct tc_slice there = TC_EMPTY;
        if (words[n].given == NULL) {
            continue;
        }
        TC_TRY(ask_text(i, words[n].sql, &id, 1, &there, err));
        if (!tc_slice_eq(there, tc_slice_cstr(words[n].given))) {
            tc__import_tell(i, TC__NOWHERE, "%s is not taken over: the run has \"%.*s\"",
                            words[n].option, TC_FMT(there));
        }
    }
    return tell_names(i, err);
}
