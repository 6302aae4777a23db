/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore evidence verify`: the files of runs, every byte of them, and what refers to them. */
#include "base/json/json.h"
#include "base/table/grow.h"
#include "base/time.h"
#include "cli/data.h"
#include "cli/evidence/evidence.h"
#include "cli/output/say.h"
#include "cli/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX ((size_t)1 << 24)
#define LINE_BYTES 1024

struct known {
    struct tc_digest digest;
    uint64_t bytes;
    bool referenced;
};

struct check {
    struct tc_evidence_report *report;
    struct tc_evidence_sum *sum;
    struct tc_files *files;
    const char *data_dir;
    struct known *list; /* in the order of the digests */
    size_t count;
    size_t cap;
};

static tc_status note_file(void *context, const struct tc_files_info *info)
{
    struct check *c = context;
    if (tc_grow_items(c->list, c->cap, c->count + 1, FILES_MAX) != TC_OK) {
        return TC_E_NOMEM;
    }
    c->list[c->count++] = (struct known){.digest = info->digest, .bytes = info->disk_bytes};
    c->sum->bytes += info->disk_bytes;
    return TC_OK;
}

static void note_odd(void *context, const char *path)
{
    struct check *c = context;
    tc_evidence_tell(c->report, false, &(struct tc_evidence_place){.path = path},
                     "no file of tracecore's");
}

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct tc_digest));
}

/* NULL when it is not there; else it is referred to from now on. */
static struct known *look_up(const struct check *c, const struct tc_digest *digest)
{
    struct known *k =
        c->count == 0 ? NULL : bsearch(digest, c->list, c->count, sizeof *k, by_digest);
    if (k != NULL) {
        k->referenced = true;
    }
    return k;
}

static void check_bytes(struct check *c)
{
    struct tc_error err;
    tc_evidence_begin(c->report, c->count, c->sum->bytes);
    for (size_t i = 0; i < c->count; i++) {
        tc_status status = tc_files_check(c->files, &c->list[i].digest, NULL, &err);
        if (status == TC_E_NOTFOUND) {
            continue; /* removed since; what misses it will say so */
        }
        c->sum->files++;
        if (status != TC_OK) {
            char path[TC_EVIDENCE_PATH_BYTES];
            tc_evidence_path(c->data_dir, &c->list[i].digest, path);
            c->sum->damaged++;
            tc_evidence_tell(
                c->report, true,
                &(struct tc_evidence_place){.path = path, .digest = &c->list[i].digest},
                err.message);
        }
        tc_evidence_advance(c->report, c->list[i].bytes);
    }
}

static void tell_missing(struct check *c, struct tc_slice run, const char *what,
                         struct tc_slice name, const struct tc_digest *digest)
{
    char line[LINE_BYTES];
    char text[TC_DIGEST_TEXT];
    tc_digest_text(digest, text);
    (void)snprintf(line, sizeof line, "missing: %s%s%.*s of run %.*s (%s)", what,
                   name.len > 0 ? " " : "", (int)(name.len > 200 ? 200 : name.len),
                   name.len > 0 ? name.ptr : "", TC_FMT(tc_slice_head(run, 200)), text);
    c->sum->missing++;
    tc_evidence_tell(c->report, true,
                     &(struct tc_evidence_place){
                         .digest = digest, .run = run, .role = tc_slice_cstr(what), .name = name},
                     line);
}

/* What the manifest names. A manifest that is damaged was told already. */
static void check_manifest(struct check *c, struct tc_slice run, const struct tc_digest *digest)
{
    struct tc_error err = {0};
    struct tc_manifest manifest;
    void *memory = NULL;
    char *text = NULL;
    size_t len = 0;
    if (look_up(c, digest) == NULL) {
        tell_missing(c, run, "manifest", TC_EMPTY, digest);
        return;
    }
    if (tc_files_read(c->files, digest, TC_MANIFEST_BYTES_MAX, &text, &len, &err) != TC_OK) {
        return;
    }
    if (tc_manifest_read(tc_slice_make(text, len), &manifest, &memory, &err) != TC_OK) {
        char line[LINE_BYTES];
        (void)snprintf(line, sizeof line, "the manifest of run %.*s is none: %s", TC_FMT(run),
                       err.message);
        c->sum->damaged++;
        tc_evidence_tell(
            c->report, true,
            &(struct tc_evidence_place){.digest = digest, .run = run, .role = TC_LIT("manifest")},
            line);
        free(text);
        return;
    }
    for (size_t i = 0; i < manifest.file_count; i++) {
        const struct tc_manifest_file *f = &manifest.files[i];
        if (look_up(c, &f->digest) == NULL) {
            tell_missing(c, run, tc_role_name(f->role), f->name, &f->digest);
        }
    }
    free(memory);
    free(text);
}

/* A JSON list of digests, or of objects that have one. */
static void check_list(struct check *c, struct tc_slice run, struct tc_slice json)
{
    struct tc_error err;
    struct tc_json root;
    struct tc_json item;
    struct tc_json_parser *parser = json.len == 0 ? NULL : tc_json_parser_create();
    if (parser == NULL) {
        return;
    }
    if (tc_json_parse(parser, json, &root, &err) == TC_OK) {
        for (struct tc_json_iter it = tc_json_iter_make(root);
             tc_json_iter_next(&it, NULL, &item);) {
            struct tc_slice text = tc_json_get_string(item, TC_LIT("digest"));
            struct tc_digest digest;
            if (text.len == 0) {
                (void)tc_json_string(item, &text);
            }
            if (tc_digest_parse(text, &digest) && look_up(c, &digest) == NULL) {
                tell_missing(c, run, "report packet", TC_EMPTY, &digest);
            }
        }
    }
    tc_json_parser_destroy(parser);
}

static int check_runs(struct check *c, struct tc_warehouse *w)
{
    struct tc_answer set;
    struct tc_error err = {0};
    if (tc_answer_query(w,
                        "SELECT run_id, artifact_manifest_digest, signature_digest, report_packets "
                        "FROM artifact_lineage_dim ORDER BY run_id",
                        NULL, 0, &set, &err) != TC_OK) {
        return tc_refuse("evidence", "%s", err.message);
    }
    for (size_t row = 0; row < set.row_count; row++) {
        struct tc_slice run = tc_answer_text(&set, row, 0);
        struct tc_digest digest;
        c->sum->runs++;
        if (tc_digest_parse(tc_answer_text(&set, row, 1), &digest)) {
            check_manifest(c, run, &digest);
        }
        if (tc_digest_parse(tc_answer_text(&set, row, 2), &digest) && look_up(c, &digest) == NULL) {
            tell_missing(c, run, "signature", TC_EMPTY, &digest);
        }
        check_list(c, run, tc_answer_text(&set, row, 3));
    }
    bool cut = set.cut;
    tc_answer_fini(&set);
    if (cut) {
        tc_say("evidence", "more than %d runs; the rest was not looked at", TC_ANSWER_ROWS_MAX);
    }
    return cut ? TC_EXIT_BAD : TC_EXIT_OK;
}

static void tell_unreferenced(struct check *c)
{
    for (size_t i = 0; i < c->count; i++) {
        char line[160];
        char text[TC_DIGEST_TEXT];
        if (c->list[i].referenced) {
            continue;
        }
        tc_digest_text(&c->list[i].digest, text);
        (void)snprintf(line, sizeof line, "no run refers to the file %s", text);
        c->sum->unreferenced++;
        tc_evidence_tell(c->report, false,
                         &(struct tc_evidence_place){.digest = &c->list[i].digest}, line);
    }
}

static void tell_tables(struct check *c, const char *what)
{
    char path[TC_EVIDENCE_PATH_BYTES];
    char text[512];
    (void)snprintf(path, sizeof path, "%.4096s/warehouse.duckdb", c->data_dir);
    (void)snprintf(text, sizeof text, "%s; `tracecore rebuild` makes it anew", what);
    c->sum->any = true;
    c->sum->damaged++;
    tc_evidence_tell(c->report, true, &(struct tc_evidence_place){.path = path}, text);
}

/* Whether a table could not be read for another reason than damage. */
static bool is_elsewhere(struct tc_warehouse *w, tc_status status, bool has_file)
{
    int64_t one = 0;
    struct tc_error err;
    return status == TC_E_LIMIT || status == TC_E_NOMEM ||
           (!has_file && tc_warehouse_int(w, "SELECT 1", NULL, 0, 0, &one, &err) != TC_OK);
}

/* Every value of every table. *out_whole: false after it was told what is damaged. */
static int check_tables(struct check *c, struct tc_warehouse *w, bool *out_whole)
{
    char path[TC_EVIDENCE_PATH_BYTES];
    char what[320];
    struct tc_error err = {0};
    struct stat st;
    int64_t bytes = 0;
    bool has_file = strncmp(tc_warehouse_engine(w), "daemon", 6) != 0;
    (void)snprintf(path, sizeof path, "%.4096s/warehouse.duckdb", c->data_dir);
    if (has_file && stat(path, &st) == 0 && tc_warehouse_file_bytes(w, &bytes, &err) == TC_OK &&
        st.st_size < bytes) {
        (void)snprintf(what, sizeof what, "it has %lld bytes of %lld", (long long)st.st_size,
                       (long long)bytes);
        tell_tables(c, what);
        return TC_EXIT_OK;
    }
    for (size_t i = 0; i < TC_TABLE_COUNT; i++) {
        tc_status status = tc_warehouse_read_all(w, (enum tc_table)i, &err);
        if (status != TC_OK && is_elsewhere(w, status, has_file)) {
            return tc_refuse("evidence", "%s", err.message);
        }
        if (status != TC_OK) {
            (void)snprintf(what, sizeof what, "%s cannot be read: %s",
                           tc_table_info((enum tc_table)i)->name, err.message);
            tell_tables(c, what);
            return TC_EXIT_OK;
        }
    }
    *out_whole = true;
    return TC_EXIT_OK;
}

/* Against the rows; where there is no database, missing files cannot be told. */
static int check_references(struct check *c, const char *data_dir)
{
    struct tc_warehouse *w = NULL;
    struct tc_error err = {0};
    struct tc_warehouse_config config = tc_data_config("evidence", data_dir, TC_WAREHOUSE_READ);
    tc_status status = tc_warehouse_open(&config, &w, &err);
    if (status == TC_E_NOTFOUND) {
        if (c->count > 0) {
            c->sum->no_rows = true;
            tc_evidence_tell(
                c->report, true, &(struct tc_evidence_place){.path = data_dir},
                "no database: which files are missing cannot be told; `tracecore rebuild` makes "
                "it anew");
        }
        return TC_EXIT_OK;
    }
    if (status == TC_E_MALFORMED) {
        tell_tables(c, err.message);
        return TC_EXIT_OK;
    }
    if (status != TC_OK) {
        return tc_refuse("evidence", "%s", err.message);
    }
    c->sum->any = true;
    bool is_whole = false;
    int code = check_tables(c, w, &is_whole);
    code = is_whole ? check_runs(c, w) : code;
    tc_warehouse_close(w);
    if (is_whole && code == TC_EXIT_OK) {
        tell_unreferenced(c);
    }
    return code;
}

int tc_evidence_check_files(struct tc_evidence_report *r, const char *data_dir,
                            struct tc_evidence_sum *out)
{
    struct check c = {.report = r, .sum = out, .data_dir = data_dir};
    struct tc_error err = {0};
    tc_status status = tc_files_open(data_dir, false, &c.files, &err);
    if (status == TC_OK) {
        out->any = true;
        status = tc_files_walk(c.files, note_file, note_odd, &c, &err);
    }
    int code = TC_EXIT_OK;
    if (status != TC_OK && status != TC_E_NOTFOUND) {
        tc_say("evidence", "%s",
               status == TC_E_NOMEM ? "no memory to list all files" : err.message);
        code = TC_EXIT_BAD;
    } else {
        check_bytes(&c);
        code = check_references(&c, data_dir);
    }
    free(c.list);
    tc_files_close(c.files);
    return code;
}
