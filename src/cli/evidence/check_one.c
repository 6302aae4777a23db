/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore evidence verify sha256:DIGEST`: one file of a run, or one batch. */
#include "base/format.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/data.h"
#include "cli/evidence/evidence.h"
#include "cli/output/say.h"
#include "cli/proof.h"

#include <string.h>

/* The batch of the daemon's store whose body has that digest. */
static tc_status check_batch(const char *dir, bool local, const struct tc_digest *digest,
                             uint64_t *out_bytes, struct tc_error *err)
{
    char path[TC_DATA_PATH_BYTES + 16];
    struct tc_evidence *e = NULL;
    struct tc_slice body = TC_EMPTY;
    uint64_t number = 0;
    (void)snprintf(path, sizeof path, "%s/evidence", dir);
    TC_TRY(tc_evidence_open_all(path, local, &e, err));
    tc_status status = tc_evidence_find(e, digest, true, &number, err);
    status = status == TC_OK ? tc_evidence_body(e, number, &body, err) : status;
    *out_bytes = body.len;
    if (status == TC_OK) {
        struct tc_digest actual;
        if (tc_digest_sha256(body, &actual) != TC_OK ||
            memcmp(&actual, digest, sizeof actual) != 0) {
            status = tc_fail(err, TC_E_MALFORMED, 0, "batch %llu has another SHA-256",
                             (unsigned long long)number);
        }
    }
    tc_evidence_close(e);
    return status;
}

/* The run that refers to it; false when there is none, or no database. */
static bool find_reference(const char *dir, const char *digest, char out_run[TC_RUN_ID_BYTES])
{
    struct tc_warehouse *w = NULL;
    struct tc_answer set;
    struct tc_error err;
    char like[82];
    struct tc_warehouse_config config = tc_data_config("evidence", dir, TC_WAREHOUSE_READ);
    if (tc_warehouse_open(&config, &w, &err) != TC_OK) {
        return false;
    }
    (void)snprintf(like, sizeof like, "%%%.78s%%", digest);
    struct tc_bind exact = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(digest)};
    struct tc_bind part = {.type = TC_COLUMN_TEXT, .as.text = tc_slice_cstr(like)};
    const struct tc_bind binds[] = {part, part, exact, exact};
    bool found = false;
    if (tc_answer_query(w,
                        "SELECT run_id FROM artifact_lineage_dim WHERE raw_uris LIKE ? OR "
                        "report_packets LIKE ? OR artifact_manifest_digest = ? OR "
                        "signature_digest = ? ORDER BY run_id LIMIT 1",
                        binds, 4, &set, &err) == TC_OK) {
        found = set.row_count > 0;
        if (found) {
            (void)snprintf(out_run, TC_RUN_ID_BYTES, "%.*s", TC_FMT(tc_answer_text(&set, 0, 0)));
        }
        tc_answer_fini(&set);
    }
    tc_warehouse_close(w);
    return found;
}

/* Missing where a run refers to it; else nobody said that it was here. */
static int tell_missing(const struct tc_evidence_args *args, const char *dir,
                        const struct tc_digest *digest)
{
    char path[TC_EVIDENCE_PATH_BYTES];
    char text[TC_DIGEST_TEXT];
    char run[TC_RUN_ID_BYTES];
    struct tc_grow g = {0};
    tc_digest_text(digest, text);
    if (!find_reference(dir, text, run)) {
        return tc_refuse(
            "evidence", "%s has no file and no batch with %s, and no run refers to one", dir, text);
    }
    tc_evidence_path(dir, digest, path);
    if (args->json) {
        struct tc_json_out j = tc_json_object_grow(&g);
        tc_json_put_bool(&j, "damage", true);
        tc_evidence_place_json(&j, &(struct tc_evidence_place){
                                       .path = path, .digest = digest, .run = tc_slice_cstr(run)});
        tc_json_put_plain(&j, "text", TC_LIT("missing"));
        (void)tc_json_end_line(&j);
    } else {
        tc_grow_format(&g, "missing: {}: run {} refers to it; it was at {}\n", text, run, path);
    }
    return tc_output_grown("evidence", &g, TC_EXIT_FOUND);
}

int tc_evidence_check_one(const struct tc_evidence_args *args)
{
    char dir[TC_DATA_PATH_BYTES];
    struct tc_error err = {0};
    struct tc_files *files = NULL;
    struct tc_digest digest;
    struct tc_grow g = {0};
    uint64_t bytes = 0;
    if (!tc_digest_parse(tc_slice_cstr(args->what), &digest)) {
        return tc_command_refuse(&tc_command_evidence,
                                 "a digest is sha256: and 64 hex digits, not \"%s\"", args->what);
    }
    if (!tc_data_dir_of("evidence", args->data_dir, dir)) {
        return TC_EXIT_BAD;
    }
    tc_status status = tc_files_open(dir, false, &files, &err);
    status = status == TC_OK ? tc_files_check(files, &digest, &bytes, &err) : status;
    tc_files_close(files);
    if (status == TC_E_NOTFOUND) {
        status = check_batch(dir, args->local, &digest, &bytes, &err);
    }
    if (status == TC_E_NOTFOUND) {
        return tell_missing(args, dir, &digest);
    }
    if (status != TC_OK) {
        tc_say("evidence", "%s", err.message);
        return status == TC_E_MALFORMED ? TC_EXIT_FOUND : TC_EXIT_BAD;
    }
    if (args->json) {
        struct tc_json_out j = tc_json_object_grow(&g);
        tc_json_put_bool(&j, "summary", true);
        tc_json_put_digest(&j, "digest", &digest);
        tc_json_put_u64(&j, "bytes", bytes);
        tc_json_put_u64(&j, "damaged", 0);
        (void)tc_json_end_line(&j);
    } else {
        tc_grow_format(&g, "{}: {} bytes: no damage\n", tc_as_digest(&digest), bytes);
    }
    return tc_output_grown("evidence", &g, TC_EXIT_OK);
}
