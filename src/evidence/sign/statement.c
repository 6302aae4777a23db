/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The envelope: DSSE v1 (github.com/secure-systems-lab/dsse) around an in-toto Statement v1.
 * What is signed is not the JSON but its pre-authentication encoding:
 *
 *   "DSSEv1" SP length(type) SP type SP length(payload) SP payload
 */
#include "base/base64.h"
#include "base/json/canonical.h"
#include "base/json/json.h"
#include "base/json/out.h"
#include "evidence/file_priv.h"
#include "evidence/sign/sign_priv.h"

#include <openssl/err.h>
#include <stdlib.h>

#define PAYLOAD_TYPE "application/vnd.in-toto+json"
#define STATEMENT_TYPE "https://in-toto.io/Statement/v1"
/* Signatures of one envelope that are tried. */
#define SIGNATURES_MAX 16
/* Beside the names, of one subject; of the statement, and of the envelope beside its payload. */
#define SUBJECT_BYTES 160
#define FRAME_BYTES 512

static tc_status no_memory(struct tc_error *err)
{
    return tc_fail(err, TC_E_NOMEM, 0, "no memory for a statement");
}

/* In memory of free(). */
static char *encode_pae(struct tc_slice payload, size_t *out_len)
{
    size_t cap = payload.len + sizeof PAYLOAD_TYPE + 64;
    char *text = malloc(cap);
    if (text == NULL) {
        return NULL;
    }
    struct tc_buf b = tc_buf_make(text, cap);
    tc_buf_lit(&b, "DSSEv1 ");
    tc_buf_u64(&b, sizeof PAYLOAD_TYPE - 1);
    tc_buf_lit(&b, " " PAYLOAD_TYPE " ");
    tc_buf_u64(&b, payload.len);
    tc_buf_char(&b, ' ');
    tc_buf_str(&b, payload);
    *out_len = b.len;
    return text;
}

/* ---- signing ---- */

static tc_status write_statement(const struct tc_subject *subjects, size_t subject_count,
                                 struct tc_slice predicate_type, struct tc_slice predicate_json,
                                 char **out_text, size_t *out_len, struct tc_error *err)
{
    size_t cap = FRAME_BYTES + predicate_json.len + 6 * predicate_type.len;
    for (size_t i = 0; i < subject_count; i++) {
        cap += SUBJECT_BYTES + 6 * subjects[i].name.len;
    }
    char *text = malloc(cap);
    if (text == NULL) {
        return no_memory(err);
    }
    struct tc_buf b = tc_buf_make(text, cap);
    struct tc_json_out j = tc_json_object_make(&b);
    tc_json_put_plain(&j, "_type", TC_LIT(STATEMENT_TYPE));
    tc_json_put_array(&j, "subject");
    for (size_t i = 0; i < subject_count; i++) {
        char hex[TC__HEX_BYTES];
        tc__hex(hex, &subjects[i].digest);
        tc_json_add_object(&j);
        tc_json_put_str(&j, "name", subjects[i].name);
        tc_json_put_object(&j, "digest");
        tc_json_put_plain(&j, "sha256", tc_slice_make(hex, sizeof hex));
        tc_json_end_object(&j);
        tc_json_end_object(&j);
    }
    tc_json_end_array(&j);
    tc_json_put_str(&j, "predicateType", predicate_type);
    tc_json_put_raw(&j, "predicate", predicate_json);
    tc_json_end_object(&j);
    tc_status status = tc_canonical_text(tc_buf_slice(&b), out_text, out_len, err);
    free(text);
    return status;
}

static tc_status sign_bytes(const struct tc_sign_key *key, struct tc_slice message,
                            uint8_t out[TC__SIGNATURE_BYTES], struct tc_error *err)
{
    size_t len = TC__SIGNATURE_BYTES;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good =
        context != NULL && EVP_DigestSignInit(context, NULL, NULL, NULL, key->pkey) == 1 &&
        EVP_DigestSign(context, out, &len, (const unsigned char *)message.ptr, message.len) == 1 &&
        len == TC__SIGNATURE_BYTES;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return good ? TC_OK : tc_fail(err, TC_E_UNSUPPORTED, 0, "OpenSSL cannot sign with this key");
}

static tc_status write_envelope(const struct tc_sign_key *key, struct tc_slice payload,
                                const uint8_t signature[TC__SIGNATURE_BYTES], char **out_text,
                                size_t *out_len, struct tc_error *err)
{
    size_t cap = FRAME_BYTES + TC_BASE64_LEN(payload.len);
    char *text = malloc(cap);
    char hex[TC__HEX_BYTES];
    if (text == NULL) {
        return no_memory(err);
    }
    struct tc_buf b = tc_buf_make(text, cap);
    tc__hex(hex, &key->id);
    tc_buf_lit(&b, "{\"payload\":\"");
    tc_buf_end(&b, tc_base64_put(text + b.len, payload, true));
    tc_buf_lit(&b, "\",\"payloadType\":\"" PAYLOAD_TYPE "\",\"signatures\":[{\"keyid\":\"");
    tc_buf_put(&b, hex, sizeof hex);
    tc_buf_lit(&b, "\",\"sig\":\"");
    tc_buf_end(&b,
               tc_base64_put(text + b.len,
                             tc_slice_make((const char *)signature, TC__SIGNATURE_BYTES), true));
    tc_buf_lit(&b, "\"}]}");
    *out_text = text;
    *out_len = b.len;
    return TC_OK;
}

tc_status tc_sign_statement(const struct tc_sign_key *key, const struct tc_subject *subjects,
                            size_t subject_count, struct tc_slice predicate_type,
                            struct tc_slice predicate_json, char **out_text, size_t *out_len,
                            struct tc_error *err)
{
    char *payload = NULL;
    size_t payload_len = 0;
    size_t pae_len = 0;
    uint8_t signature[TC__SIGNATURE_BYTES];
    if (!key->has_private) {
        return tc_fail(err, TC_E_USAGE, 0, "a public key cannot sign; give the private one");
    }
    TC_TRY(write_statement(subjects, subject_count, predicate_type, predicate_json, &payload,
                           &payload_len, err));
    char *pae = encode_pae(tc_slice_make(payload, payload_len), &pae_len);
    tc_status status =
        pae == NULL ? no_memory(err) : sign_bytes(key, tc_slice_make(pae, pae_len), signature, err);
    if (status == TC_OK) {
        status = write_envelope(key, tc_slice_make(payload, payload_len), signature, out_text,
                                out_len, err);
    }
    free(pae);
    free(payload);
    return status;
}

/* ---- verifying ---- */

static bool signed_by(const struct tc_sign_key *key, struct tc_slice message,
                      struct tc_slice base64)
{
    uint8_t signature[TC__SIGNATURE_BYTES + 8];
    size_t len = 0;
    if (base64.len > TC_BASE64_LEN(TC__SIGNATURE_BYTES) ||
        !tc_base64_get(base64, signature, &len) || len != TC__SIGNATURE_BYTES) {
        return false;
    }
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool good = context != NULL &&
                EVP_DigestVerifyInit(context, NULL, NULL, NULL, key->pkey) == 1 &&
                EVP_DigestVerify(context, signature, len, (const unsigned char *)message.ptr,
                                 message.len) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return good;
}

/* One of the signatures is by the key. What the envelope calls the key decides nothing. */
static tc_status check_signature(const struct tc_sign_key *key, struct tc_json envelope,
                                 struct tc_slice payload, struct tc_error *err)
{
    struct tc_json list;
    struct tc_json one;
    size_t pae_len = 0;
    if (!tc_json_get(envelope, TC_LIT("signatures"), &list) ||
        tc_json_type(list) != TC_JSON_ARRAY) {
        return tc_fail(err, TC_E_MALFORMED, 0, "no DSSE envelope: it has no list of signatures");
    }
    char *pae = encode_pae(payload, &pae_len);
    if (pae == NULL) {
        return no_memory(err);
    }
    bool found = false;
    struct tc_json_iter it = tc_json_iter_make(list);
    for (int i = 0; !found && i < SIGNATURES_MAX && tc_json_iter_next(&it, NULL, &one); i++) {
        found = signed_by(key, tc_slice_make(pae, pae_len), tc_json_get_string(one, TC_LIT("sig")));
    }
    free(pae);
    if (!found) {
        char hex[TC__HEX_BYTES];
        tc__hex(hex, &key->id);
        return tc_fail(err, TC_E_MALFORMED, 0, "no signature in it is by the key %.*s",
                       TC__HEX_BYTES, hex);
    }
    return TC_OK;
}

static bool names(struct tc_json list, const struct tc_subject *subject)
{
    char hex[TC__HEX_BYTES];
    struct tc_json one;
    struct tc_json digest;
    struct tc_json_iter it = tc_json_iter_make(list);
    tc__hex(hex, &subject->digest);
    while (tc_json_iter_next(&it, NULL, &one)) {
        if (tc_json_get(one, TC_LIT("digest"), &digest) &&
            tc_slice_eq_nocase(tc_json_get_string(digest, TC_LIT("sha256")),
                               tc_slice_make(hex, sizeof hex)) &&
            tc_slice_eq(tc_json_get_string(one, TC_LIT("name")), subject->name)) {
            return true;
        }
    }
    return false;
}

static tc_status check_subjects(struct tc_slice payload, const struct tc_subject *subjects,
                                size_t subject_count, struct tc_error *err)
{
    struct tc_json root;
    struct tc_json list;
    struct tc_json_parser *parser = tc_json_parser_create();
    if (parser == NULL) {
        return no_memory(err);
    }
    tc_status status = tc_json_parse(parser, payload, &root, err);
    if (status == TC_OK &&
        (!tc_slice_eq(tc_json_get_string(root, TC_LIT("_type")), TC_LIT(STATEMENT_TYPE)) ||
         !tc_json_get(root, TC_LIT("subject"), &list))) {
        status = tc_fail(err, TC_E_MALFORMED, 0, "what is signed is no in-toto statement v1");
    }
    for (size_t i = 0; i < subject_count && status == TC_OK; i++) {
        if (!names(list, &subjects[i])) {
            char hex[TC__HEX_BYTES];
            tc__hex(hex, &subjects[i].digest);
            status =
                tc_fail(err, TC_E_MALFORMED, 0, "what is signed does not name %.*s (sha256:%.*s)",
                        (int)(subjects[i].name.len > 80 ? 80 : subjects[i].name.len),
                        subjects[i].name.ptr, TC__HEX_BYTES, hex);
        }
    }
    tc_json_parser_destroy(parser);
    return status;
}

static tc_status check_envelope(const struct tc_sign_key *key, struct tc_json envelope,
                                const struct tc_subject *subjects, size_t subject_count,
                                struct tc_error *err)
{
    struct tc_slice base64 = tc_json_get_string(envelope, TC_LIT("payload"));
    if (!tc_slice_eq(tc_json_get_string(envelope, TC_LIT("payloadType")), TC_LIT(PAYLOAD_TYPE))) {
        return tc_fail(err, TC_E_MALFORMED, 0, "no DSSE envelope with an in-toto statement");
    }
    uint8_t *payload = malloc(base64.len / 4 * 3 + 4);
    size_t len = 0;
    if (payload == NULL) {
        return no_memory(err);
    }
    tc_status status = TC_OK;
    if (base64.len == 0 || !tc_base64_get(base64, payload, &len)) {
        status = tc_fail(err, TC_E_MALFORMED, 0, "no DSSE envelope: its payload is no base64");
    }
    struct tc_slice text = tc_slice_make((const char *)payload, len);
    if (status == TC_OK && key != NULL) {
        status = check_signature(key, envelope, text, err);
    }
    if (status == TC_OK) {
        status = check_subjects(text, subjects, subject_count, err);
    }
    free(payload);
    return status;
}

tc_status tc_sign_verify(const struct tc_sign_key *key, struct tc_slice envelope,
                         const struct tc_subject *subjects, size_t subject_count,
                         struct tc_error *err)
{
    struct tc_json root;
    if (envelope.len > TC_SIGN_ENVELOPE_MAX) {
        return tc_fail(err, TC_E_LIMIT, 0, "an envelope of %zu bytes; the limit is %zu",
                       envelope.len, TC_SIGN_ENVELOPE_MAX);
    }
    struct tc_json_parser *parser = tc_json_parser_create();
    if (parser == NULL) {
        return no_memory(err);
    }
    tc_status status = tc_json_parse(parser, envelope, &root, err);
    if (status == TC_OK) {
        status = check_envelope(key, root, subjects, subject_count, err);
    }
    tc_json_parser_destroy(parser);
    return status;
}
