/* SPDX-License-Identifier: Apache-2.0 */
/* `tracecore evidence verify RUN`: its manifest, every file it names, its signature. */
#include "base/format.h"
#include "cli/command.h"
#include "cli/evidence/evidence.h"
#include "cli/output/say.h"
#include "cli/proof.h"

#include <stdlib.h>
#include <string.h>

struct outcome {
    struct tc_grow out;
    bool json;
    uint64_t files;
    uint64_t bytes;
    uint64_t damaged;    /* files, and the envelope */
    bool not_signed;     /* as asked: not at all, or not by this key */
    char signature[160]; /* in words */
};

/* One line. Sound files with a signature that is not as asked are not damaged. */
static void tell(struct outcome *o, const struct tc_evidence_place *place, bool is_damage,
                 const char *why)
{
    struct tc_grow text = {0};
    struct tc_grow *g = &o->out;
    o->damaged += is_damage;
    o->not_signed |= !is_damage;
    tc_grow_format(&text, "{}{}{}: {}", place->role, place->name.len > 0 ? " " : "", place->name,
                   why);
    if (o->json) {
        struct tc_json_out j = tc_json_object_grow(g);
        tc_json_put_bool(&j, "damage", is_damage);
        tc_evidence_place_json(&j, place);
        tc_json_put_str(&j, "text", tc_grow_slice(&text));
        (void)tc_json_end_line(&j);
    } else {
        tc_grow_format(g, "{}: {}\n", is_damage ? "damaged" : "not as asked",
                       tc_as_printable(tc_grow_slice(&text)));
    }
    g->failed |= text.failed;
    tc_grow_fini(&text);
}

static void check_files(struct tc_proof *p, struct outcome *o)
{
    struct tc_error err = {0};
    char path[TC_EVIDENCE_PATH_BYTES];
    for (size_t i = 0; i < p->manifest.file_count; i++) {
        const struct tc_manifest_file *f = &p->manifest.files[i];
        uint64_t size = 0;
        struct tc_evidence_place place = {.path = path,
                                          .digest = &f->digest,
                                          .run = tc_slice_cstr(p->run_id),
                                          .role = tc_slice_cstr(tc_role_name(f->role)),
                                          .name = f->name};
        tc_evidence_path(p->dir, &f->digest, path);
        if (tc_files_check(p->files, &f->digest, &size, &err) != TC_OK) {
            tell(o, &place, true, err.message);
        } else if (size != f->size) {
            tell(o, &place, true, "it has another size than the manifest says");
        }
        o->files++;
        o->bytes += size;
    }
}

/* NULL when no key was given, or it cannot be loaded: *out_bad then. */
static struct tc_sign_key *public_key(const char *path, bool *out_bad)
{
    struct tc_sign_key *key = NULL;
    struct tc_error err = {0};
    if (path != NULL && tc_sign_key_load(path, false, &key, &err) != TC_OK) {
        tc_say("evidence", "%s", err.message);
        *out_bad = true;
    }
    return key;
}

/* Of the manifest or the envelope. */
static void tell_of(struct outcome *o, const struct tc_proof *p, struct tc_slice role,
                    const struct tc_digest *digest, bool is_damage, const char *why)
{
    char path[TC_EVIDENCE_PATH_BYTES];
    struct tc_evidence_place place = {
        .digest = digest, .run = tc_slice_cstr(p->run_id), .role = role};
    if (digest != NULL && p->files != NULL) {
        tc_evidence_path(p->dir, digest, path);
        place.path = path;
    }
    tell(o, &place, is_damage, why);
}

static const struct tc_digest *envelope_of(const struct tc_proof *p)
{
    return p->is_signed ? &p->signature : NULL;
}

static void check_envelope(const struct tc_proof *p, const struct tc_sign_key *key,
                           struct tc_slice envelope, struct outcome *o)
{
    struct tc_error err = {0};
    size_t count = 0;
    struct tc_subject *subjects = tc_manifest_subjects(&p->manifest, &p->digest, &count);
    if (subjects == NULL) {
        o->out.failed = true;
        return;
    }
    if (tc_sign_verify(key, envelope, subjects, count, &err) != TC_OK) {
        tell_of(o, p, TC_LIT("signature"), envelope_of(p), false, err.message);
        (void)snprintf(o->signature, sizeof o->signature, "not by this key");
    } else {
        (void)snprintf(o->signature, sizeof o->signature,
                       "by this key (local key, no transparency log)");
    }
    free(subjects);
}

static void check_signature(struct tc_proof *p, const struct tc_sign_key *key, struct outcome *o)
{
    struct tc_error err = {0};
    char *text = NULL;
    size_t len = 0;
    if (!p->is_signed) {
        (void)snprintf(o->signature, sizeof o->signature, "none");
        if (key != NULL) {
            tell_of(o, p, TC_LIT("signature"), NULL, false, "the run is not signed");
        }
        return;
    }
    (void)snprintf(o->signature, sizeof o->signature,
                   "there, not checked: give --pub FILE (local key, no transparency log)");
    if (tc_files_read(p->files, &p->signature, TC_SIGN_ENVELOPE_MAX, &text, &len, &err) != TC_OK) {
        tell_of(o, p, TC_LIT("signature"), &p->signature, true, err.message);
    } else if (key != NULL) {
        check_envelope(p, key, tc_slice_make(text, len), o);
    }
    free(text);
}

static int exit_of(const struct outcome *o)
{
    return o->damaged > 0 || o->not_signed ? TC_EXIT_FOUND : TC_EXIT_OK;
}

static void sum_up(const struct tc_proof *p, struct outcome *o)
{
    struct tc_grow *g = &o->out;
    if (o->json) {
        struct tc_json_out j = tc_json_object_grow(g);
        tc_json_put_bool(&j, "summary", true);
        tc_json_put_some(&j, "run_id", tc_slice_cstr(p->run_id));
        tc_json_put_some(&j, "manifest", tc_slice_cstr(p->digest_text));
        tc_json_put_u64(&j, "files", o->files);
        tc_json_put_u64(&j, "bytes", o->bytes);
        tc_json_put_u64(&j, "damaged", o->damaged);
        tc_json_put_some(&j, "signature", tc_slice_cstr(o->signature));
        (void)tc_json_end_line(&j);
        return;
    }
    tc_grow_format(g, "{}: manifest {}\n{}{}{} bytes: ", p->run_id, p->digest_text, o->files,
                   o->files == 1 ? " file, " : " files, ", o->bytes);
    if (o->damaged == 0) {
        tc_grow_lit(g, "no damage");
    } else {
        tc_grow_format(g, "{}{}", o->damaged, o->damaged == 1 ? " is wrong" : " are wrong");
    }
    tc_grow_format(g, "\nsignature: {}\n", o->signature);
}

int tc_evidence_check_run(const struct tc_evidence_args *args)
{
    struct tc_proof p = {0};
    struct tc_error err = {0};
    struct outcome o = {.json = args->json};
    bool bad = false;
    int code = TC_EXIT_BAD;
    struct tc_sign_key *key = public_key(args->pub, &bad);
    if (!bad && tc_proof_open(&p, args->data_dir, args->what, TC_WAREHOUSE_READ)) {
        if (tc_proof_read(&p, &err) != TC_OK) {
            tell_of(&o, &p, TC_LIT("manifest"), &p.digest, true, err.message);
        } else {
            check_files(&p, &o);
        }
        check_signature(&p, key, &o);
        sum_up(&p, &o);
        code = tc_output_grown("evidence", &o.out, exit_of(&o));
    }
    tc_grow_fini(&o.out);
    tc_sign_key_destroy(key);
    tc_proof_close(&p);
    return code;
}

/* A manifest and its envelope in files, and a public key: no database. */
int tc_evidence_check_offline(const struct tc_evidence_args *args)
{
    struct tc_proof p = {0};
    struct tc_error err = {0};
    struct outcome o = {.json = args->json};
    bool bad = false;
    char *text = NULL;
    size_t len = 0;
    int code = TC_EXIT_BAD;
    if (args->envelope == NULL || args->pub == NULL) {
        return tc_command_refuse(&tc_command_evidence,
                                 "verify --file MANIFEST needs --envelope FILE and --pub FILE");
    }
    struct tc_sign_key *key = public_key(args->pub, &bad);
    tc_status status = TC_OK;
    if (!bad) {
        status = tc_proof_slurp(args->envelope, TC_SIGN_ENVELOPE_MAX, &text, &len, &err);
        status = status == TC_OK ? tc_proof_read_file(&p, args->file, &err) : status;
    }
    if (status == TC_E_MALFORMED) {
        tc_say("evidence", "%s: %s", args->file, err.message);
        code = TC_EXIT_FOUND;
    } else if (status != TC_OK) {
        tc_say("evidence", "%s", err.message);
    } else if (!bad) {
        check_envelope(&p, key, tc_slice_make(text, len), &o);
        sum_up(&p, &o);
        code = tc_output_grown("evidence", &o.out, exit_of(&o));
    }
    free(text);
    tc_grow_fini(&o.out);
    tc_sign_key_destroy(key);
    tc_proof_close(&p);
    return code;
}
