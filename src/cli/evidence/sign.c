/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore evidence sign`: a manifest under a key, as a DSSE envelope. */
#include "base/format.h"
#include "cli/command.h"
#include "cli/evidence/evidence.h"
#include "cli/output/say.h"
#include "cli/proof.h"
#include "run/evidence_refs.h"

#include <stdlib.h>
#include <string.h>

/* ---- the key ---- */

/* The key of --key; or a new one, in two files of its own. NULL: it was said why. */
static struct tc_sign_key *key_of(const struct tc_evidence_args *args)
{
    struct tc_sign_key *key = NULL;
    struct tc_error err = {0};
    char public_path[TC_DATA_PATH_BYTES];
    tc_status status = TC_OK;
    if (args->new_key == NULL) {
        status = tc_sign_key_load(args->key, true, &key, &err);
    } else {
        int len = snprintf(public_path, sizeof public_path, "%s.pub", args->new_key);
        status = len < 0 || (size_t)len >= sizeof public_path
                     ? tc_fail(&err, TC_E_USAGE, 0, "--new-key: the path is too long")
                     : tc_sign_key_make(&key, &err);
        if (status == TC_OK) {
            status = tc_sign_key_save(key, args->new_key, true, &err);
        }
        if (status == TC_OK) {
            status = tc_sign_key_save(key, public_path, false, &err);
        }
    }
    if (status != TC_OK) {
        tc_say("evidence", "%s", err.message);
        tc_sign_key_destroy(key);
        return NULL;
    }
    return key;
}

/* ---- the envelope ---- */

static void put_predicate(struct tc_grow *g, const struct tc_proof *p)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < p->manifest.file_count; i++) {
        bytes += p->manifest.files[i].size;
    }
    struct tc_json_out j = tc_json_object_grow(g);
    tc_json_put_u64(&j, "files", p->manifest.file_count);
    tc_json_put_u64(&j, "bytes", bytes);
    tc_json_put_cstr(&j, "manifestDigest", p->digest_text);
    tc_json_put_cstr(&j, "runId", p->run_id);
    tc_json_put_plain(&j, "key", TC_LIT("local"));
    tc_json_put_null(&j, "transparencyLog");
    tc_json_end_object(&j);
}

static tc_status make_envelope(const struct tc_proof *p, const struct tc_sign_key *key,
                               char **out_text, size_t *out_len, struct tc_error *err)
{
    struct tc_grow predicate = {0};
    size_t count = 0;
    struct tc_subject *subjects = tc_manifest_subjects(&p->manifest, &p->digest, &count);
    put_predicate(&predicate, p);
    tc_status status = TC_E_NOMEM;
    if (subjects == NULL || predicate.failed) {
        (void)tc_fail(err, status, 0, "no memory for a statement");
    } else {
        status = tc_sign_statement(key, subjects, count, TC_LIT(TC_PROOF_PREDICATE),
                                   tc_grow_slice(&predicate), out_text, out_len, err);
    }
    free(subjects);
    tc_grow_fini(&predicate);
    return status;
}

/* ---- the row ---- */

/* The envelope becomes evidence, then the row points to it. */
static tc_status store(struct tc_proof *p, struct tc_slice envelope, struct tc_error *err)
{
    struct tc_files_batch *batch = NULL;
    struct tc_digest digest;
    char text[80];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    tc_files_ask(p->files, tc_run_evidence_refs, p->w);
    TC_TRY(tc_files_begin(p->files, &batch, err));
    tc_status status = tc_files_add_bytes(batch, envelope, &digest, err);
    if (status == TC_OK) {
        tc_buf_digest(&b, &digest);
        status = tc_evidence_set_signature(p->w, p->run_id, tc_buf_slice(&b), p->dir, err);
    }
    if (status == TC_OK) {
        p->signature = digest;
        status = tc_files_keep(batch, err);
    }
    tc_files_end(batch);
    return status;
}

/* ---- the command ---- */

static void report(const struct tc_evidence_args *args, const struct tc_proof *p,
                   const struct tc_sign_key *key, struct tc_grow *g)
{
    struct tc_digest id;
    tc_sign_key_id(key, &id);
    if (args->json) {
        struct tc_json_out j = tc_json_object_grow(g);
        tc_json_put_some(&j, "run_id", tc_slice_cstr(p->run_id));
        tc_json_put_some(&j, "manifest", tc_slice_cstr(p->digest_text));
        tc_json_put_digest(&j, "envelope", &p->signature);
        tc_json_put_digest(&j, "keyid", &id);
        tc_json_put_plain(&j, "signing_state", TC_LIT(TC_PROOF_STATE));
        (void)tc_json_end_line(&j);
        return;
    }
    tc_grow_format(
        g, "run        {}\nmanifest   {}\nenvelope   {}\nkey        {}\n" TC_PROOF_STATE "\n",
        p->run_id, p->digest_text, tc_as_digest(&p->signature), tc_as_digest(&id));
}

static int sign_run(const struct tc_evidence_args *args)
{
    struct tc_proof p;
    struct tc_error err = {0};
    struct tc_grow g = {0};
    struct tc_sign_key *key = NULL;
    char *text = NULL;
    size_t len = 0;
    int code = TC_EXIT_BAD;
    if (tc_proof_open(&p, args->data_dir, args->what, TC_WAREHOUSE_WRITE)) {
        tc_status status = tc_proof_read(&p, &err);
        if (status != TC_OK) {
            tc_say("evidence", "the manifest of run %s: %s; nothing was signed", p.run_id,
                   err.message);
            code = TC_EXIT_FOUND;
        } else if ((key = key_of(args)) != NULL) {
            status = make_envelope(&p, key, &text, &len, &err);
            status = status == TC_OK ? store(&p, tc_slice_make(text, len), &err) : status;
            if (status == TC_OK) {
                report(args, &p, key, &g);
                code = tc_output_grown("evidence", &g, TC_EXIT_OK);
            } else {
                tc_say("evidence", "%s", err.message);
            }
        }
    }
    free(text);
    tc_grow_fini(&g);
    tc_sign_key_destroy(key);
    tc_proof_close(&p);
    return code;
}

/* A manifest in a file: the envelope goes to standard output. */
static int sign_file(const struct tc_evidence_args *args)
{
    struct tc_proof p;
    struct tc_error err = {0};
    struct tc_grow g = {0};
    char *text = NULL;
    size_t len = 0;
    int code = TC_EXIT_BAD;
    struct tc_sign_key *key = NULL;
    tc_status status = tc_proof_read_file(&p, args->file, &err);
    if (status == TC_OK && (key = key_of(args)) != NULL) {
        status = make_envelope(&p, key, &text, &len, &err);
        if (status == TC_OK) {
            tc_grow_format(&g, "{}\n", tc_slice_make(text, len));
            code = tc_output_grown("evidence", &g, TC_EXIT_OK);
        }
    }
    if (status != TC_OK) {
        tc_say("evidence", "%s: %s", args->file, err.message);
    }
    free(text);
    tc_grow_fini(&g);
    tc_sign_key_destroy(key);
    tc_proof_close(&p);
    return code;
}

int tc_evidence_sign(const struct tc_evidence_args *args)
{
    if ((args->key == NULL) == (args->new_key == NULL)) {
        return tc_command_refuse(
            &tc_command_evidence,
            "sign with which key? give --key FILE, or --new-key FILE to make one");
    }
    if ((args->what == NULL) == (args->file == NULL)) {
        return tc_command_refuse(&tc_command_evidence, "sign what? give a RUN, or --file MANIFEST");
    }
    return args->file != NULL ? sign_file(args) : sign_run(args);
}
