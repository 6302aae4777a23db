/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_EVIDENCE_SIGN_SIGN_PRIV_H
#define TC_EVIDENCE_SIGN_SIGN_PRIV_H

#include "evidence/sign/sign.h"

#include <openssl/evp.h>
#include <stdint.h>

#define TC__SIGNATURE_BYTES 64

struct tc_sign_key {
    EVP_PKEY *pkey;
    bool has_private;
    struct tc_digest id;
};

/* Characters for len bytes. */
#define TC__BASE64_LEN(len) (((len) + 2) / 3 * 4)
/* Standard alphabet, padded; not terminated. Returns the end. */
char *tc__base64_put(char *to, const uint8_t *bytes, size_t len);
/* Takes the standard and the URL-safe alphabet, padded or not. `to` has room for
 * text.len / 4 * 3 + 3 bytes. False when it is no base64. */
bool tc__base64_get(struct tc_slice text, uint8_t *to, size_t *out_len);

#endif
