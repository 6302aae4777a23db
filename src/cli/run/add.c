/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore run add`: a run from what tools have written. */
#include "base/clock.h"
#include "base/format.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/data.h"
#include "cli/output/progress.h"
#include "cli/output/say.h"
#include "cli/run/run.h"
#include "intake/walk.h"
#include "result/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Files up to this size, all of them, are few rows. */
#define SMALL_BYTES ((off_t)8 << 20)

struct adding {
    const struct tc_run_args *args;
    char data_dir[TC_DATA_PATH_BYTES];
    struct tc_import_file *files;
    size_t file_count;
    size_t file_cap;
    struct tc_warehouse *w;
    struct tc_progress progress;
    uint64_t progress_done;
    uint64_t warnings;
    struct tc_grow problems; /* a JSON array */
    struct tc_grow read;     /* files as a JSON array */
    struct tc_json_out problems_json;
    struct tc_json_out read_json;
    struct tc_text_table table;
    struct tc_grow conditions; /* as benchmark_run_fact has them; empty: of a run that was there */
    struct tc_grow unknown;    /* "what (how); what (how)" */
    struct tc_grow unknown_list;
    struct tc_json_out unknown_json;
    struct tc_rows *shown[TC_TABLE_COUNT]; /* of a dry run: the rows that would be written */
    uint64_t shown_left_out;
    double gpu_hour_usd;
};

/* Rows of one table that a dry run shows. */
#define SHOWN_MAX 10000

/* How long another import is waited for. */
#define IMPORT_WAIT (60 * TC_SECOND)

/* ---- what the import tells ---- */

static void put_problem_json(struct tc_json_out *j, bool error, const char *path,
                             struct tc_slice where, struct tc_slice field, struct tc_slice text)
{
    tc_json_add_object(j);
    tc_json_put_plain(j, "kind", error ? TC_LIT("error") : TC_LIT("warning"));
    tc_json_put_some(j, "path", tc_slice_cstr(path));
    tc_json_put_some(j, "where", where);
    tc_json_put_some(j, "field", field);
    tc_json_put_some(j, "text", text);
    tc_json_end_object(j);
}

static void take_problem(void *context, bool error, const char *path, struct tc_slice where,
                         struct tc_slice field, struct tc_slice text)
{
    struct adding *a = context;
    a->warnings += error ? 0 : 1;
    tc_progress_clear(&a->progress);
    put_problem_json(&a->problems_json, error, path, where, field, text);
    if (error || !a->args->quiet) {
        tc_say_plain("%s%s%s%.*s%s%.*s%s%.*s", path == NULL ? "" : path, path == NULL ? "" : ": ",
                     error ? "" : "warning: ", TC_FMT(where), where.len > 0 ? ": " : "",
                     TC_FMT(field), field.len > 0 ? ": " : "", TC_FMT(text));
    }
}

static void take_progress(void *context, uint64_t done, uint64_t total)
{
    struct adding *a = context;
    a->progress.bytes_total = total;
    tc_progress_add(&a->progress, done - a->progress_done, 0);
    a->progress_done = done;
}

static void take_file(void *context, const struct tc_import_file *file, const char *reader,
                      uint64_t rows, struct tc_slice digest)
{
    struct adding *a = context;
    struct tc_json_out *j = &a->read_json;
    char count[32];
    tc_json_add_object(j);
    tc_json_put_some(j, "path", tc_slice_cstr(file->path));
    tc_json_put_some(j, "role", tc_slice_cstr(tc_role_name(file->role)));
    tc_json_put_some(j, "reader", tc_slice_cstr(reader));
    tc_json_put_u64(j, "rows", rows);
    tc_json_put_some(j, "digest", digest);
    tc_json_end_object(j);
    const char *slash = strrchr(file->path, '/');
    (void)snprintf(count, sizeof count, "%llu", (unsigned long long)rows);
    bool has_rows = file->role == TC_ROLE_RESULT || file->role == TC_ROLE_TELEMETRY ||
                    file->role == TC_ROLE_VERDICTS;
    bool is_read = strcmp(reader, TC_IMPORT_KEPT) != 0;
    tc_text_table_cell(&a->table, tc_slice_cstr(slash == NULL ? file->path : slash + 1));
    tc_text_table_cell(&a->table, tc_slice_cstr(tc_role_name(file->role)));
    tc_text_table_cell(&a->table, is_read ? tc_slice_cstr(reader) : TC_LIT("-"));
    tc_text_table_cell(&a->table, has_rows ? tc_slice_cstr(count) : TC_LIT("-"));
}

static void take_conditions(void *context, struct tc_slice json)
{
    struct adding *a = context;
    tc_grow_str(&a->conditions, json);
}

/* What is to be done about the same thing is said once. */
static void take_unknown(void *context, const char *what, const char *how)
{
    struct adding *a = context;
    struct tc_slice said = tc_grow_slice(&a->unknown);
    tc_json_add_object(&a->unknown_json);
    tc_json_put_cstr(&a->unknown_json, "what", what);
    tc_json_put_cstr(&a->unknown_json, "how", how);
    tc_json_end_object(&a->unknown_json);
    size_t open = tc_slice_find_last(said, TC_LIT(" ("));
    struct tc_slice last = open == TC_NPOS ? TC_EMPTY : tc_slice_from(said, open + 2);
    if (last.len > 0 && tc_slice_eq(tc_slice_head(last, last.len - 1), tc_slice_cstr(how))) {
        a->unknown.buf.len = open; /* one more of the kind, in the same brackets */
        tc_grow_format(&a->unknown, ", {} ({})", what, how);
    } else {
        tc_grow_format(&a->unknown, "{}{} ({})", said.len > 0 ? "; " : "", what, how);
    }
}

static tc_status take_rows(void *context, enum tc_table table, const struct tc_rows *rows)
{
    struct adding *a = context;
    if (!a->args->json) {
        return TC_OK;
    }
    if (a->shown[table] == NULL) {
        a->shown[table] = tc_rows_create_like(rows, SHOWN_MAX, TC_GROW_MAX);
    }
    for (size_t row = 0; row < rows->count; row++) {
        if (a->shown[table] != NULL && a->shown[table]->count == SHOWN_MAX) {
            a->shown_left_out += rows->count - row;
            return TC_OK;
        }
        if (a->shown[table] == NULL || !tc_rows_add(a->shown[table]) ||
            tc_rows_copy_row(a->shown[table], rows, row, TC_GROW_MAX) != TC_OK) {
            return TC_E_NOMEM;
        }
    }
    return TC_OK;
}

/* The directories above data_dir: on a new machine not even ~/.local/state is there. What cannot be
 * made is told by whoever needs it. */
static void make_parents(const char *dir)
{
    char path[TC_DATA_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s", dir);
    for (char *slash = strchr(path + 1, '/'); path[0] != '\0' && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

static bool are_small(const struct adding *a)
{
    struct stat st;
    off_t bytes = 0;
    for (size_t n = 0; n < a->file_count && bytes <= SMALL_BYTES; n++) {
        bytes += stat(a->files[n].path, &st) == 0 && st.st_size > 0 ? st.st_size : 0;
    }
    return bytes <= SMALL_BYTES;
}

static tc_status open_warehouse(void *context, struct tc_warehouse **out, struct tc_error *err)
{
    struct adding *a = context;
    struct tc_warehouse_config config = tc_data_config(
        "run", a->data_dir, a->args->dry_run ? TC_WAREHOUSE_READ : TC_WAREHOUSE_WRITE);
    config.wait_ns = IMPORT_WAIT;
    config.few_rows = are_small(a);
    if (!a->args->dry_run) {
        make_parents(a->data_dir);
    }
    tc_status status = tc_warehouse_open(&config, &a->w, err);
    if (status == TC_E_NOTFOUND && a->args->dry_run) {
        return TC_OK; /* then nothing is there yet */
    }
    *out = a->w;
    return status;
}

/* ---- which files ---- */

static bool add_found(struct adding *a, enum tc_role role, const struct tc_walk *walk)
{
    size_t count = a->file_count + walk->count;
    if (walk->count == 0) {
        return true;
    }
    if (tc_grow_items(a->files, a->file_cap, count, SIZE_MAX) != TC_OK) {
        tc_say("run", "no memory for the list of files");
        return false;
    }
    for (size_t n = 0; n < walk->count; n++) {
        char *path = strdup(walk->files[n].path);
        if (path == NULL) {
            tc_say("run", "no memory for the list of files");
            return false;
        }
        a->files[a->file_count++] = (struct tc_import_file){role, path, !walk->files[n].direct};
    }
    return true;
}

/* Directories become the files in them. False: something is wrong, which was said. */
static bool find_files(struct adding *a)
{
    for (size_t n = 0; n < a->args->path_count; n++) {
        const struct tc_run_path *path = &a->args->paths[n];
        struct tc_walk walk = {.count_max = TC_MANIFEST_FILES_MAX, .say = tc_say_plain};
        bool ok = tc_walk_add(&walk, path->path) == TC_OK;
        if (!ok) {
            tc_say("run", "no memory for the list of files");
        } else {
            tc_walk_end(&walk);
            tc_say_left_out("run", walk.left_out, walk.count_max);
            ok = !walk.failed && add_found(a, path->role, &walk);
        }
        tc_walk_fini(&walk);
        if (!ok) {
            return false;
        }
    }
    return true;
}

/* ---- what the user sees ---- */

static const char *verb(const struct tc_run_args *args, const struct tc_import_outcome *out)
{
    return out->was_there ? "already there" : args->dry_run ? "would be added" : "added";
}

/* What is not met, by name. */
static void put_class(struct tc_grow *g, struct adding *a, const struct tc_import_outcome *out)
{
    struct tc_grow names = {{0}, false};
    tc_run_conditions_unmet(tc_grow_slice(&a->conditions), &names);
    tc_grow_format(g, "  class: {}{}", out->benchmark_class,
                   out->publishable ? ", may be published\n"
                   : strcmp(out->benchmark_class, "exploratory") == 0
                       ? ", not to be published: it has no contract\n"
                       : ", not to be published yet\n");
    if (!out->publishable && strcmp(out->benchmark_class, "exploratory") != 0) {
        tc_text_words(g, "  not met: ", tc_grow_slice(&names), "    ");
        tc_grow_lit(g, "\n");
    }
    g->failed |= names.failed;
    tc_grow_fini(&names);
}

static void put_text(struct tc_grow *g, struct adding *a, const struct tc_import_outcome *out)
{
    tc_grow_format(g, "{}: {}  {}\n", verb(a->args, out), out->run_id,
                   tc_as_printable(tc_slice_cstr(out->name)));
    if (out->was_there && out->put_back > 0) {
        tc_grow_format(g, "{}{}", out->put_back,
                       out->put_back == 1 ? " file of its evidence was put back\n"
                                          : " files of its evidence were put back\n");
    } else if (out->was_there) {
        tc_grow_lit(g, "nothing was changed\n");
    } else {
        put_class(g, a, out);
        (void)tc_text_table_print(&a->table, g, "  ");
        if (out->notes > 0) {
            tc_grow_format(g, "  {}{}", out->notes,
                           out->notes == 1 ? " warning, recorded with the run\n"
                                           : " warnings, recorded with the run\n");
        }
    }
    if (a->unknown.buf.len > 0) {
        tc_text_words(g, "  unknown: ", tc_grow_slice(&a->unknown), "    ");
        tc_grow_lit(g, "\n");
    }
    if (!a->args->dry_run) {
        tc_grow_format(g, "next: tracecore run show {}\n", out->run_id);
    }
}

static void put_outcome_json(struct tc_json_out *j, const struct tc_import_outcome *out)
{
    tc_json_put_some(j, "run_id", tc_slice_cstr(out->run_id));
    tc_json_put_some(j, "name", tc_slice_cstr(out->name));
    tc_json_put_some(j, "benchmark_class", tc_slice_cstr(out->benchmark_class));
    tc_json_put_bool(j, "publishable", out->publishable);
    tc_json_put_some(j, "artifact_manifest_digest", tc_slice_cstr(out->manifest_digest));
    if (out->put_back > 0) {
        tc_json_put_u64(j, "put_back", out->put_back);
    }
    tc_json_put_object(j, "rows");
    for (size_t t = 0; t < TC_TABLE_COUNT; t++) {
        if (out->rows[t] > 0) {
            tc_json_key_plain(j, tc_slice_cstr(tc_table_info((enum tc_table)t)->name));
            tc_json_add_u64(j, out->rows[t]);
        }
    }
    tc_json_end_object(j);
}

/* The rows that would be written, by table. */
static void put_shown(struct tc_json_out *j, struct adding *a)
{
    tc_json_put_object(j, "tables");
    for (size_t t = 0; t < TC_TABLE_COUNT; t++) {
        if (a->shown[t] != NULL) {
            struct tc_answer set = {.rows = a->shown[t],
                                    .column_count = a->shown[t]->column_count,
                                    .row_count = a->shown[t]->count};
            tc_json_key_plain(j, tc_slice_cstr(tc_table_info((enum tc_table)t)->name));
            tc_answer_rows_json(j, &set);
        }
    }
    tc_json_end_object(j);
    if (a->shown_left_out > 0) {
        tc_json_put_u64(j, "rows_not_shown", a->shown_left_out);
    }
}

static void put_json(struct tc_grow *g, struct adding *a, const struct tc_import_outcome *out,
                     tc_status status, const struct tc_error *err)
{
    struct tc_json_out j = tc_json_out_grow(g);
    tc_json_end_array(&a->read_json);
    tc_json_end_array(&a->problems_json);
    tc_json_end_array(&a->unknown_json);
    g->failed |= a->read.failed || a->problems.failed || a->unknown_list.failed;
    if (g->failed) {
        return;
    }
    tc_json_add_object(&j);
    tc_json_put_plain(&j, "status",
                      status != TC_OK    ? TC_LIT("refused")
                      : out->was_there   ? TC_LIT("there")
                      : a->args->dry_run ? TC_LIT("checked")
                                         : TC_LIT("added"));
    if (status != TC_OK) {
        tc_json_put_some(&j, "error", tc_slice_cstr(err->message));
    } else {
        put_outcome_json(&j, out);
        if (a->conditions.buf.len > 0) {
            tc_json_put_raw(&j, "conditions", tc_grow_slice(&a->conditions));
        }
        tc_json_put_raw(&j, "unknown", tc_grow_slice(&a->unknown_list));
        if (a->args->dry_run) {
            put_shown(&j, a);
        }
    }
    tc_json_put_raw(&j, "files", tc_grow_slice(&a->read));
    tc_json_put_raw(&j, "problems", tc_grow_slice(&a->problems));
    (void)tc_json_end_line(&j);
}

/* ---- the whole ---- */

static int exit_of(tc_status status)
{
    return status == TC_OK ? TC_EXIT_OK
           : status == TC_E_MALFORMED || status == TC_E_LIMIT || status == TC_E_UNSUPPORTED
               ? TC_EXIT_FOUND
               : TC_EXIT_BAD;
}

static int add(struct adding *a, const struct tc_reader *reader)
{
    struct tc_error err = {0};
    struct tc_import_outcome out;
    struct tc_grow g = {0};
    struct tc_import import = {.data_dir = a->data_dir,
                               .files = a->files,
                               .file_count = a->file_count,
                               .reader = reader,
                               .run_id = a->args->run_id,
                               .name = a->args->name,
                               .replicate_group = a->args->replicate_group,
                               .scheduler_run_id = a->args->scheduler_run_id,
                               .job_uid = a->args->job_uid,
                               .intent = a->args->intent,
                               .gpu_hour_usd = a->gpu_hour_usd,
                               .names = a->args->names,
                               .name_count = a->args->name_count,
                               .now_us = tc_wall_ns() / 1000,
                               .again = a->args->again,
                               .force = a->args->force,
                               .dry_run = a->args->dry_run};
    struct tc_import_sink sink = {.context = a,
                                  .open = open_warehouse,
                                  .problem = take_problem,
                                  .progress = take_progress,
                                  .file = take_file,
                                  .conditions = take_conditions,
                                  .unknown = take_unknown,
                                  .rows = take_rows};
    a->problems_json = tc_json_out_grow(&a->problems);
    a->read_json = tc_json_out_grow(&a->read);
    tc_json_add_array(&a->problems_json);
    tc_json_add_array(&a->read_json);
    a->unknown_json = tc_json_out_grow(&a->unknown_list);
    tc_json_add_array(&a->unknown_json);
    tc_progress_init(&a->progress, !a->args->quiet, a->file_count, 0);
    tc_status status = tc_import_run(NULL, &import, &sink, &out, &err);
    tc_progress_clear(&a->progress);
    tc_warehouse_close(a->w);
    if (status != TC_OK) {
        tc_say("run", "%s", err.message);
    }
    if (a->args->json) {
        put_json(&g, a, &out, status, &err);
    } else if (status == TC_OK) {
        put_text(&g, a, &out);
    }
    int code = tc_output_grown("run", &g, exit_of(status));
    return status == TC_E_USAGE ? tc_command_misused(&tc_command_run) : code;
}

/* False when it is no price, which was said. */
static bool read_price(const char *text, double *out)
{
    *out = 0;
    if (text != NULL && (!tc_map_parse_number(tc_slice_cstr(text), out) || *out <= 0)) {
        tc_say("run", "--gpu-hour-usd takes US dollars, a number above 0, not \"%s\"", text);
        return false;
    }
    return true;
}

int tc_run_add(const struct tc_run_args *args)
{
    struct adding a = {.args = args,
                       .table = {.column_count = 4,
                                 .heads = {"file", "role", "read as", "rows"},
                                 .right = {false, false, false, true},
                                 .flexible = 0}};
    const struct tc_reader *reader = NULL;
    if (!tc_run_reader(args, &reader) || !read_price(args->gpu_hour_usd, &a.gpu_hour_usd)) {
        return tc_command_misused(&tc_command_run);
    }
    int code = TC_EXIT_BAD;
    if (tc_data_dir_of("run", args->data_dir, a.data_dir) && find_files(&a)) {
        code = add(&a, reader);
    }
    for (size_t n = 0; n < a.file_count; n++) {
        free((char *)(uintptr_t)a.files[n].path);
    }
    free(a.files);
    for (size_t t = 0; t < TC_TABLE_COUNT; t++) {
        tc_rows_destroy(a.shown[t]);
    }
    tc_grow_fini(&a.conditions);
    tc_grow_fini(&a.unknown);
    tc_grow_fini(&a.unknown_list);
    tc_grow_fini(&a.problems);
    tc_grow_fini(&a.read);
    tc_text_table_fini(&a.table);
    return code;
}
