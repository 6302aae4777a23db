/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: Ed25519 in PEM files. */
#include "evidence/sign/sign.h"

#include "base/os/io.h"
#include "evidence/sign/sign_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a PEM file: a key has some 120 bytes. */
#define PEM_BYTES_MAX ((size_t)64 << 10)

/* Takes pkey. */
static tc_status wrap(EVP_PKEY *pkey, bool has_private, struct tc_sign_key **out_key,
                      struct tc_error *err)
{
    unsigned char *der = NULL;
    struct tc_sign_key *key = calloc(1, sizeof *key);
    int len = i2d_PUBKEY(pkey, &der);
    bool good = key != NULL && len > 0 &&
                tc_digest_sha256(tc_slice_make((const char *)der, (size_t)len), &key->id) == TC_OK;
    OPENSSL_free(der);
    if (!good) {
        free(key);
        EVP_PKEY_free(pkey);
        return tc_fail(err, TC_E_NOMEM, 0, "no memory for a key");
    }
    key->pkey = pkey;
    key->has_private = has_private;
    *out_key = key;
    return TC_OK;
}

tc_status tc_sign_key_make(struct tc_sign_key **out_key, struct tc_error *err)
{
    EVP_PKEY *pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    if (pkey == NULL) {
        ERR_clear_error();
        return tc_fail(err, TC_E_UNSUPPORTED, 0, "OpenSSL cannot make an Ed25519 key");
    }
    return wrap(pkey, true, out_key, err);
}

/* All of the file; the caller frees. */
static tc_status read_pem(const char *path, bool is_private, char **out_text, size_t *out_len,
                          struct tc_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0) {
        int error = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return tc_fail(err, error == ENOENT ? TC_E_NOTFOUND : TC_E_IO, 0, "%s: %s", path,
                       strerror(error));
    }
    tc_status status = TC_OK;
    if (!S_ISREG(st.st_mode) || st.st_size > (off_t)PEM_BYTES_MAX) {
        status = tc_fail(err, TC_E_MALFORMED, 0, "%s: no PEM file", path);
    } else if (is_private && (st.st_mode & 077) != 0) {
        status = tc_fail(
            err, TC_E_USAGE, 0,
            "%s: others may read this file (mode %03o); chmod 600 it if it is the private key",
            path, (unsigned)st.st_mode & 0777);
    }
    char *text = status == TC_OK ? malloc(PEM_BYTES_MAX) : NULL;
    if (status == TC_OK && text == NULL) {
        status = tc_fail(err, TC_E_NOMEM, 0, "no memory for a key");
    }
    ssize_t n = status == TC_OK ? read(fd, text, PEM_BYTES_MAX) : 0;
    if (n < 0) {
        status = tc_fail_errno(err, path);
    }
    (void)close(fd);
    if (status != TC_OK) {
        free(text);
        return status;
    }
    *out_text = text;
    *out_len = (size_t)n;
    return TC_OK;
}

/* Nobody is asked for a password: such keys are refused. */
static int no_password(char *buffer, int size, int writing, void *context)
{
    (void)buffer;
    (void)size;
    (void)writing;
    (void)context;
    return -1;
}

tc_status tc_sign_key_load(const char *path, bool want_private, struct tc_sign_key **out_key,
                           struct tc_error *err)
{
    char *text = NULL;
    size_t len = 0;
    TC_TRY(read_pem(path, want_private, &text, &len, err));
    BIO *bio = BIO_new_mem_buf(text, (int)len);
    EVP_PKEY *pkey = NULL;
    if (bio != NULL) {
        pkey = want_private ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL)
                            : PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL);
    }
    (void)BIO_free(bio);
    OPENSSL_cleanse(text, len);
    free(text);
    ERR_clear_error();
    if (pkey == NULL || EVP_PKEY_get_base_id(pkey) != EVP_PKEY_ED25519) {
        EVP_PKEY_free(pkey);
        return tc_fail(err, TC_E_MALFORMED, 0, "%s: no Ed25519 %s key in PEM%s", path,
                       want_private ? "private" : "public",
                       want_private ? " without a password (PKCS#8)" : " (SPKI)");
    }
    return wrap(pkey, want_private, out_key, err);
}

static tc_status write_new(const char *path, mode_t mode, const char *text, size_t len,
                           struct tc_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0) {
        return tc_fail(err, errno == EEXIST ? TC_E_USAGE : TC_E_IO, 0, "%s: %s", path,
                       errno == EEXIST ? "is there already; a key is never overwritten"
                                       : strerror(errno));
    }
    int error = tc_io_write(fd, tc_slice_make(text, len)) && fsync(fd) == 0 ? 0 : errno;
    error = close(fd) != 0 && error == 0 ? errno : error;
    if (error != 0) {
        (void)unlink(path);
        return tc_fail(err, TC_E_IO, 0, "%s: %s", path, strerror(error));
    }
    return TC_OK;
}

tc_status tc_sign_key_save(const struct tc_sign_key *key, const char *path, bool private_part,
                           struct tc_error *err)
{
    BIO *bio = BIO_new(BIO_s_secmem());
    char *text = NULL;
    bool good =
        bio != NULL && (!private_part || key->has_private) &&
        (private_part ? PEM_write_bio_PKCS8PrivateKey(bio, key->pkey, NULL, NULL, 0, NULL, NULL)
                      : PEM_write_bio_PUBKEY(bio, key->pkey)) == 1;
    long len = good ? BIO_get_mem_data(bio, &text) : 0;
    tc_status status = TC_OK;
    if (len <= 0) {
        status = tc_fail(err, TC_E_USAGE, 0, "%s: this key cannot be written", path);
    } else {
        status = write_new(path, private_part ? 0600 : 0644, text, (size_t)len, err);
    }
    (void)BIO_free(bio);
    ERR_clear_error();
    return status;
}

void tc_sign_key_destroy(struct tc_sign_key *key)
{
    if (key != NULL) {
        EVP_PKEY_free(key->pkey);
        free(key);
    }
}

void tc_sign_key_id(const struct tc_sign_key *key, struct tc_digest *out)
{
    *out = key->id;
}
