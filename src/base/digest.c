/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

/* The low-level interface is deprecated in OpenSSL 3, but it is the only one
 * that hashes without a heap-allocated context: see docs/decisions. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

tc_status tc_digest_sha256(struct tc_slice s, struct tc_digest *out)
{
    SHA256_CTX context;
    if (SHA256_Init(&context) != 1 || (s.len > 0 && SHA256_Update(&context, s.ptr, s.len) != 1) ||
        SHA256_Final(out->bytes, &context) != 1) {
        return TC_E_NOMEM;
    }
    return TC_OK;
}

void tc_buf_digest(struct tc_buf *b, const struct tc_digest *d)
{
    static const char hex[] = "0123456789abcdef";
    char text[7 + 2 * TC_DIGEST_BYTES] = "sha256:";
    for (size_t i = 0; i < TC_DIGEST_BYTES; i++) {
        text[7 + 2 * i] = hex[d->bytes[i] >> 4];
        text[8 + 2 * i] = hex[d->bytes[i] & 15];
    }
    tc_buf_put(b, text, sizeof text);
}
