/* SPDX-License-Identifier: Apache-2.0 */
/* Envelopes that are made can be checked, and nothing else passes. tests/e2e/evidence_sign.test.mjs
 * checks them with another implementation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "evidence/sign/sign_priv.h"
#include "unit/evidence/files_testing.h"

#include <openssl/pem.h>

static char path[128];
static char public_path[128];

static int set_up(void **state)
{
    int result = make_dir(state);
    (void)snprintf(path, sizeof path, "%s/key", test_dir);
    (void)snprintf(public_path, sizeof public_path, "%s/key.pub", test_dir);
    return result;
}

static struct tc_sign_key *make_key(void)
{
    struct tc_sign_key *key = NULL;
    if (tc_sign_key_make(&key, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
    return key;
}

static const struct tc_subject SUBJECTS[] = {
    {.name = {"manifest.json", 13}, .digest = {{1, 2, 3}}},
    {.name = {"a \"b\"\xc3\xa9.json", 12}, .digest = {{0xff, 0xee}}},
};

static char *sign(const struct tc_sign_key *key, size_t *out_len)
{
    char *text = NULL;
    if (tc_sign_statement(key, SUBJECTS, 2, TC_LIT("https://example.org/t/v1"),
                          TC_LIT("{\"z\": 1.0, \"a\": [true]}"), &text, out_len, &err) != TC_OK) {
        fail_msg("%s", err.message);
    }
    return text;
}

static void an_envelope_is_checked_by_its_public_key(void **state)
{
    (void)state;
    struct tc_sign_key *key = make_key();
    struct tc_sign_key *loaded = NULL;
    struct tc_sign_key *public = NULL;
    struct tc_digest a;
    struct tc_digest b;
    size_t len = 0;
    assert_int_equal(tc_sign_key_save(key, path, true, &err), TC_OK);
    assert_int_equal(tc_sign_key_save(key, public_path, false, &err), TC_OK);
    assert_int_equal(tc_sign_key_load(path, true, &loaded, &err), TC_OK);
    assert_int_equal(tc_sign_key_load(public_path, false, &public, &err), TC_OK);
    tc_sign_key_id(key, &a);
    tc_sign_key_id(public, &b);
    assert_memory_equal(&a, &b, sizeof a);
    char *text = sign(loaded, &len);
    assert_int_equal(tc_sign_verify(public, tc_slice_make(text, len), SUBJECTS, 2, &err), TC_OK);
    assert_int_equal(tc_sign_verify(public, tc_slice_make(text, len), SUBJECTS + 1, 1, &err),
                     TC_OK);
    size_t again_len = 0;
    char *again = sign(key, &again_len); /* Ed25519 has no chance in it */
    assert_int_equal(len, again_len);
    assert_memory_equal(text, again, len);
    char *none = NULL;
    assert_int_equal(
        tc_sign_statement(public, SUBJECTS, 2, TC_LIT("t"), TC_LIT("{}"), &none, &len, &err),
        TC_E_USAGE);
    free(again);
    free(text);
    tc_sign_key_destroy(public);
    tc_sign_key_destroy(loaded);
    tc_sign_key_destroy(key);
}

static void any_change_is_refused(void **state)
{
    (void)state;
    struct tc_sign_key *key = make_key();
    struct tc_sign_key *other = make_key();
    size_t len = 0;
    char *text = sign(key, &len);
    struct tc_slice envelope = tc_slice_make(text, len);
    assert_int_equal(tc_sign_verify(other, envelope, SUBJECTS, 2, &err), TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "by the key"));
    size_t payload = tc_slice_find(envelope, TC_LIT("payload\":\"")) + 10;
    size_t keyid = tc_slice_find(envelope, TC_LIT("keyid"));
    size_t sig = tc_slice_find(envelope, TC_LIT("\"sig\""));
    size_t refused = 0;
    for (size_t i = 0; i < len; i++) {
        char was = text[i];
        text[i] = (char)(was ^ 1);
        tc_status got = tc_sign_verify(key, envelope, SUBJECTS, 2, &err);
        /* The key's name in the envelope is a hint and no more. */
        bool hint = i >= keyid && i < sig;
        if (got == TC_OK && !hint) {
            fail_msg("byte %zu of %zu (payload from %zu): %.20s", i, len, payload, text + i);
        }
        refused += got != TC_OK;
        text[i] = was;
    }
    assert_true(refused > len / 2);
    assert_int_equal(tc_sign_verify(key, envelope, SUBJECTS, 2, &err), TC_OK);
    free(text);
    tc_sign_key_destroy(other);
    tc_sign_key_destroy(key);
}

static void a_subject_that_is_not_named_is_said(void **state)
{
    (void)state;
    struct tc_sign_key *key = make_key();
    size_t len = 0;
    char *text = sign(key, &len);
    struct tc_subject wrong = SUBJECTS[0];
    wrong.digest.bytes[31] = 9;
    assert_int_equal(tc_sign_verify(key, tc_slice_make(text, len), &wrong, 1, &err),
                     TC_E_MALFORMED);
    assert_non_null(strstr(err.message, "does not name manifest.json"));
    wrong = SUBJECTS[0];
    wrong.name = TC_LIT("other.json");
    assert_int_equal(tc_sign_verify(key, tc_slice_make(text, len), &wrong, 1, &err),
                     TC_E_MALFORMED);
    free(text);
    tc_sign_key_destroy(key);
}

static void what_is_no_envelope_is_refused(void **state)
{
    (void)state;
    struct tc_sign_key *key = make_key();
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "{\"payloadType\":\"text/plain\"}",
        "{\"payloadType\":\"application/vnd.in-toto+json\"}",
        "{\"payloadType\":\"application/vnd.in-toto+json\",\"payload\":\"e30=\"}",
        "{\"payloadType\":\"application/vnd.in-toto+json\",\"payload\":\"e30=\",\"signatures\":{}}",
        "{\"payloadType\":\"application/vnd.in-toto+json\",\"payload\":\"e30=\",\"signatures\":[]}",
        "{\"payloadType\":\"application/vnd.in-toto+json\",\"payload\":\"e30=\",\"signatures\":[1,"
        "{\"sig\":\"AAAA\"},{\"sig\":3}]}",
        "{\"payloadType\":\"application/vnd.in-toto+json\",\"payload\":\"!!\",\"signatures\":[]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(tc_sign_verify(key, tc_slice_cstr(bad[i]), SUBJECTS, 2, &err),
                         TC_E_MALFORMED);
    }
    tc_sign_key_destroy(key);
}

static void a_private_key_is_private_and_never_overwritten(void **state)
{
    (void)state;
    struct tc_sign_key *key = make_key();
    struct tc_sign_key *loaded = NULL;
    struct stat st;
    mode_t before = umask(0);
    assert_int_equal(tc_sign_key_save(key, path, true, &err), TC_OK);
    (void)umask(before);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(tc_sign_key_save(key, path, true, &err), TC_E_USAGE);
    assert_non_null(strstr(err.message, "never overwritten"));
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(tc_sign_key_load(path, true, &loaded, &err), TC_E_USAGE);
    assert_non_null(strstr(err.message, "chmod 600"));
    assert_int_equal(chmod(path, 0400), 0);
    assert_int_equal(tc_sign_key_load(path, true, &loaded, &err), TC_OK);
    tc_sign_key_destroy(loaded);
    loaded = NULL;
    assert_int_equal(tc_sign_key_load(path, false, &loaded, &err), TC_E_MALFORMED);
    assert_int_equal(tc_sign_key_load(public_path, false, &loaded, &err), TC_E_NOTFOUND);
    assert_int_equal(tc_sign_key_load(test_dir, false, &loaded, &err), TC_E_MALFORMED);
    assert_null(loaded);
    tc_sign_key_destroy(key);
}

static void keys_of_other_kinds_are_refused(void **state)
{
    (void)state;
    struct tc_sign_key *loaded = NULL;
    static const char *const kinds[] = {"ED448", "X25519", "",
                                        "-----BEGIN PRIVATE KEY-----\nAAAA\n"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        EVP_PKEY *pkey = i < 2 ? EVP_PKEY_Q_keygen(NULL, NULL, kinds[i]) : NULL;
        if (pkey != NULL) {
            assert_int_equal(PEM_write_PrivateKey(file, pkey, NULL, NULL, 0, NULL, NULL), 1);
        } else {
            (void)fputs(kinds[i], file);
        }
        EVP_PKEY_free(pkey);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(tc_sign_key_load(path, true, &loaded, &err), TC_E_MALFORMED);
        assert_non_null(strstr(err.message, "no Ed25519 private key"));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, remove_dir)
    const struct CMUnitTest tests[] = {
        TEST(an_envelope_is_checked_by_its_public_key),
        TEST(any_change_is_refused),
        TEST(a_subject_that_is_not_named_is_said),
        TEST(what_is_no_envelope_is_refused),
        TEST(a_private_key_is_private_and_never_overwritten),
        TEST(keys_of_other_kinds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
