/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore evidence verify`: is everything what was written? */
#include "evidence/verify.h"
#include "base/format.h"
#include "cli/data.h"
#include "cli/evidence/evidence.h"
#include "cli/output/progress.h"
#include "cli/output/say.h"
#include "publish/audit.h"
#include "warehouse/ledger.h"

#include <stdio.h>
#include <unistd.h>

#define LINE_BYTES (TC_EVIDENCE_PLACE_BYTES + 32768)
#define NO_OFFSET UINT64_MAX

struct tc_evidence_report {
    struct tc_output out;
    struct tc_progress progress;
    bool json;
};

void tc_evidence_begin(struct tc_evidence_report *r, size_t files, uint64_t bytes)
{
    tc_progress_init(&r->progress, true, files, bytes);
}

void tc_evidence_advance(struct tc_evidence_report *r, uint64_t bytes)
{
    tc_progress_add(&r->progress, bytes, 1);
}

static void begin(void *context, size_t files, uint64_t bytes)
{
    tc_evidence_begin(context, files, bytes);
}

static void advance(void *context, uint64_t bytes, size_t files)
{
    struct tc_evidence_report *r = context;
    tc_progress_add(&r->progress, bytes, files);
}

/* Whole files have no place but their path. */
static void put_place(struct tc_buf *b, const struct tc_verify_finding *f)
{
    if (f->path == NULL) {
        return;
    }
    tc_buf_printable(b, tc_slice_cstr(f->path));
    if (f->offset != NO_OFFSET) {
        (void)tc_format(b, ": offset {}", f->offset);
    }
    if (f->number > 0) {
        (void)tc_format(b, ": batch {}", f->number);
    }
    tc_buf_lit(b, ": ");
}

void tc_evidence_path(const char *data_dir, const struct tc_digest *digest,
                      char out[TC_EVIDENCE_PATH_BYTES])
{
    char text[TC_DIGEST_TEXT];
    tc_digest_text(digest, text);
    const char *hex = text + 7; /* behind "sha256:" */
    (void)snprintf(out, TC_EVIDENCE_PATH_BYTES, "%.4096s/files/%.2s/%s", data_dir, hex, hex);
}

void tc_evidence_place_json(struct tc_json_out *j, const struct tc_evidence_place *place)
{
    tc_json_put_str_or_null(j, "path", tc_slice_cstr(place->path));
    if (place->digest != NULL) {
        tc_json_put_digest(j, "digest", place->digest);
    } else {
        tc_json_put_null(j, "digest");
    }
    tc_json_put_str_or_null(j, "run_id", place->run);
    tc_json_put_str_or_null(j, "role", place->role);
    tc_json_put_str_or_null(j, "name", place->name);
}

static void tell(struct tc_evidence_report *r, const struct tc_verify_finding *f,
                 const struct tc_evidence_place *place, bool is_damage)
{
    tc_progress_clear(&r->progress);
    if (r->json) {
        struct tc_json_out j = tc_output_object(&r->out);
        tc_json_put_bool(&j, "damage", is_damage);
        tc_evidence_place_json(&j, place);
        tc_json_put_u64(&j, "offset", f->offset == NO_OFFSET ? 0 : f->offset);
        if (f->number > 0) {
            tc_json_put_u64(&j, "batch", f->number);
        } else {
            tc_json_put_null(&j, "batch");
        }
        tc_json_put_cstr(&j, "text", f->text);
        (void)tc_json_end_line(&j);
    } else {
        static char line[LINE_BYTES];
        struct tc_buf b = tc_buf_make(line, sizeof line);
        tc_buf_str(&b, is_damage ? TC_LIT("damaged: ") : TC_LIT("note: "));
        put_place(&b, f);
        (void)tc_format(&b, "{}\n", tc_as_printable(tc_slice_cstr(f->text)));
        (void)tc_output_put(&r->out, tc_buf_slice(&b));
    }
    (void)tc_output_flush(&r->out);
}

void tc_evidence_tell(struct tc_evidence_report *r, bool is_damage,
                      const struct tc_evidence_place *place, const char *text)
{
    bool twice =
        place->path != NULL && tc_slice_starts(tc_slice_cstr(text), tc_slice_cstr(place->path));
    tell(r,
         &(struct tc_verify_finding){
             .path = twice ? NULL : place->path, .offset = NO_OFFSET, .text = text},
         place, is_damage);
}

static void take_damage(void *context, const struct tc_verify_finding *f)
{
    tell(context, f, &(struct tc_evidence_place){.path = f->path}, true);
}

static void take_note(void *context, const struct tc_verify_finding *f)
{
    tell(context, f, &(struct tc_evidence_place){.path = f->path}, false);
}

static void sum_up_json(struct tc_output *out, const struct tc_verify_result *sum)
{
    struct tc_json_out j = tc_output_object(out);
    tc_json_put_bool(&j, "summary", true);
    tc_json_put_u64(&j, "objects", sum->objects);
    tc_json_put_u64(&j, "segments", sum->segments);
    tc_json_put_u64(&j, "batches", sum->batches);
    tc_json_put_u64(&j, "bytes", sum->bytes);
    tc_json_put_u64(&j, "citations", sum->citations);
    tc_json_put_u64(&j, "citations_gone", sum->citations_gone);
    tc_json_put_u64(&j, "set_aside", sum->set_aside);
    tc_json_put_u64(&j, "torn_bytes", sum->torn_bytes);
    tc_json_put_u64(&j, "remote", sum->remote);
    tc_json_put_u64(&j, "unreachable", sum->unreachable);
    tc_json_put_u64(&j, "damaged", sum->damaged);
    (void)tc_json_end_line(&j);
}

static struct tc_arg counted(uint64_t count, const char *noun)
{
    return tc_as_count((int64_t)count, noun);
}

static const char *are(uint64_t count)
{
    return count == 1 ? "is" : "are";
}

static void sum_up(struct tc_evidence_report *r, const struct tc_verify_result *sum)
{
    if (r->json) {
        sum_up_json(&r->out, sum);
        return;
    }
    (void)tc_output_format(&r->out, "{}, {}, {} {}, {}: ", counted(sum->objects, "object"),
                           counted(sum->segments, "open segment"), sum->batches,
                           sum->batches == 1 ? "batch" : "batches",
                           counted(sum->citations, "citation"));
    if (sum->remote > 0) {
        (void)tc_output_format(&r->out, "{} fetched from the object store; ", sum->remote);
    }
    if (sum->damaged == 0) {
        (void)tc_output_put(&r->out, TC_LIT("no damage\n"));
    } else {
        (void)tc_output_format(&r->out, "{} {} damaged\n", sum->damaged, are(sum->damaged));
    }
}

static void sum_up_files_json(struct tc_output *out, const struct tc_evidence_sum *sum)
{
    struct tc_json_out j = tc_output_object(out);
    tc_json_put_bool(&j, "summary", true);
    tc_json_put_u64(&j, "files", sum->files);
    tc_json_put_u64(&j, "bytes", sum->bytes);
    if (sum->no_rows) {
        tc_json_put_null(&j, "runs");
        tc_json_put_null(&j, "missing");
        tc_json_put_null(&j, "unreferenced");
    } else {
        tc_json_put_u64(&j, "runs", sum->runs);
        tc_json_put_u64(&j, "missing", sum->missing);
        tc_json_put_u64(&j, "unreferenced", sum->unreferenced);
    }
    tc_json_put_u64(&j, "damaged", sum->damaged);
    (void)tc_json_end_line(&j);
}

static void sum_up_files(struct tc_evidence_report *r, const struct tc_evidence_sum *sum)
{
    if (r->json) {
        sum_up_files_json(&r->out, sum);
        return;
    }
    if (sum->no_rows) {
        (void)tc_output_format(&r->out,
                               "{}: {} {} damaged; the database is missing, and what else is "
                               "cannot be told\n",
                               counted(sum->files, "file"), sum->damaged, are(sum->damaged));
        return;
    }
    (void)tc_output_format(&r->out, "{} of {}: ", counted(sum->files, "file"),
                           counted(sum->runs, "run"));
    if (sum->damaged == 0 && sum->missing == 0) {
        (void)tc_output_put(&r->out, TC_LIT("no damage, nothing is missing\n"));
    } else {
        (void)tc_output_format(&r->out, "{} {} damaged, {} {} missing\n", sum->damaged,
                               are(sum->damaged), sum->missing, are(sum->missing));
    }
}

/* The daemon's store. TC_EXIT_OK, TC_EXIT_FOUND, or TC_EXIT_BAD after it was said why. */
static int check_store(struct tc_evidence_report *r, const char *data_dir, bool needed, bool local)
{
    struct tc_verify_sink sink = {
        .context = r,
        .begin = begin,
        .advance = advance,
        .damage = take_damage,
        .note = take_note,
    };
    char path[TC_DATA_PATH_BYTES + 16];
    struct tc_verify_result sum;
    struct tc_error err;
    struct tc_evidence *e = NULL;
    (void)snprintf(path, sizeof path, "%s/evidence", data_dir);
    tc_status status = tc_evidence_open_all(path, local, &e, &err);
    if (status == TC_E_NOTFOUND && !needed) {
        return TC_EXIT_OK;
    }
    if (status == TC_OK) {
        status = tc_evidence_verify(e, &sink, &sum, &err);
        tc_evidence_close(e);
    }
    tc_progress_clear(&r->progress);
    if (status != TC_OK) {
        (void)tc_output_flush(&r->out);
        tc_say("evidence", "%s%s", err.message,
               status == TC_E_NOTFOUND ? "; --data-dir names the daemon's data_dir" : "");
        return TC_EXIT_BAD;
    }
    sum_up(r, &sum);
    if (sum.unreachable > 0) {
        (void)tc_output_flush(&r->out);
        tc_say("evidence", "%llu objects and citations were not checked: %s",
               (unsigned long long)sum.unreachable, err.message);
        return TC_EXIT_BAD;
    }
    return sum.damaged > 0 ? TC_EXIT_FOUND : TC_EXIT_OK;
}

/* Who published what: the chain of the audit log. As check_store. */
static int check_audit(struct tc_evidence_report *r, const char *data_dir)
{
    struct tc_audit_chain chain;
    struct tc_error err = {0};
    char path[TC_DATA_PATH_BYTES + 32];
    (void)snprintf(path, sizeof path, "%s/" TC_LEDGER_DIR "/" TC_AUDIT_LEDGER ".log", data_dir);
    if (tc_audit_read(data_dir, NULL, NULL, &chain, &err) != TC_OK) {
        tc_say("evidence", "%s", err.message);
        return TC_EXIT_BAD;
    }
    bool is_broken = chain.broken_at > 0;
    if (is_broken) {
        tc_evidence_tell(r, true, &(struct tc_evidence_place){.path = path}, chain.why);
    }
    if (r->json && (chain.entries > 0 || is_broken)) {
        struct tc_json_out j = tc_output_object(&r->out);
        tc_json_put_bool(&j, "summary", true);
        tc_json_put_u64(&j, "audit_entries", chain.entries);
        tc_json_put_u64(&j, "damaged", is_broken ? 1 : 0);
        (void)tc_json_end_line(&j);
    } else if (!is_broken && chain.entries > 0) {
        (void)tc_output_format(&r->out, "{} in the audit log: the chain is whole\n",
                               counted(chain.entries, "act"));
    }
    return is_broken ? TC_EXIT_FOUND : TC_EXIT_OK;
}

int tc_evidence_check(const struct tc_evidence_args *args)
{
    static struct tc_evidence_report r;
    struct tc_evidence_sum files = {0};
    char dir[TC_DATA_PATH_BYTES];
    r.json = args->json;
    if (!tc_data_dir_of("evidence", args->data_dir, dir)) {
        return TC_EXIT_BAD;
    }
    tc_output_init(&r.out, STDOUT_FILENO);
    int code = tc_evidence_check_files(&r, dir, &files);
    tc_progress_clear(&r.progress);
    if (files.any) {
        sum_up_files(&r, &files);
    }
    int store = check_store(&r, dir, !files.any, args->local);
    int audit = check_audit(&r, dir);
    code = store > code ? store : code;
    code = audit > code ? audit : code;
    if (code == TC_EXIT_OK && (files.damaged + files.missing > 0 || files.no_rows)) {
        code = TC_EXIT_FOUND;
    }
    return tc_output_end(&r.out, "evidence", code);
}
