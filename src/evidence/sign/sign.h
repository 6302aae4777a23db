/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures over manifests: Ed25519, in a DSSE envelope around an in-toto statement whose subjects
 * are the manifest and every file it names. A local key and no transparency log: a signature says
 * who held the key, not when.
 */
#ifndef TC_EVIDENCE_SIGN_SIGN_H
#define TC_EVIDENCE_SIGN_SIGN_H

#include "base/digest.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Of a whole envelope. */
#define TC_SIGN_ENVELOPE_MAX ((size_t)16 << 20)

struct tc_sign_key; /* private or public, from PEM */

TC_CHECKED tc_status tc_sign_key_make(struct tc_sign_key **out_key, struct tc_error *err);
/* A PKCS#8 private key, or an SPKI public one. A private key that others may read is refused. */
TC_CHECKED tc_status tc_sign_key_load(const char *path, bool want_private,
                                      struct tc_sign_key **out_key, struct tc_error *err);
/* Private: mode 0600, never over an existing file. */
TC_CHECKED tc_status tc_sign_key_save(const struct tc_sign_key *key, const char *path,
                                      bool private_part, struct tc_error *err);
void tc_sign_key_destroy(struct tc_sign_key *key);
/* SHA-256 of the public key's SPKI: the envelope's keyid. */
void tc_sign_key_id(const struct tc_sign_key *key, struct tc_digest *out);

struct tc_subject {
    struct tc_slice name;
    struct tc_digest digest;
};

/* The DSSE envelope as JSON; into memory of the caller's free(). */
TC_CHECKED tc_status tc_sign_statement(const struct tc_sign_key *key,
                                       const struct tc_subject *subjects, size_t subject_count,
                                       struct tc_slice predicate_type,
                                       struct tc_slice predicate_json, char **out_text,
                                       size_t *out_len, struct tc_error *err);
/* Checks the signature and that the statement names every subject. TC_E_MALFORMED: it is no such
 * envelope, or the signature is not by that key, or a subject is missing; err says which. Without a
 * key (NULL) only the subjects are looked at, which proves nothing of who signed. */
TC_CHECKED tc_status tc_sign_verify(const struct tc_sign_key *key, struct tc_slice envelope,
                                    const struct tc_subject *subjects, size_t subject_count,
                                    struct tc_error *err);

#endif
