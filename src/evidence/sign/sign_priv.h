/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_EVIDENCE_SIGN_SIGN_PRIV_H
#define TC_EVIDENCE_SIGN_SIGN_PRIV_H

#include "evidence/sign/sign.h"

#include <openssl/evp.h>

#define TC__SIGNATURE_BYTES 64

struct tc_sign_key {
    EVP_PKEY *pkey;
    bool has_private;
    struct tc_digest id;
};

#endif
