/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MD5 (OpenSSL): how object stores name what they have received (ETag). Against mistakes on the way
 * only; what proves evidence is SHA-256.
 */
#ifndef TC_BASE_MD5_H
#define TC_BASE_MD5_H

#include "base/slice.h"

#include <stdint.h>

#define TC_MD5_BYTES 16

/* Allocates nothing. */
struct tc_md5 {
    uint32_t state[23]; /* the library's context */
};

void tc_md5_init(struct tc_md5 *h);
void tc_md5_update(struct tc_md5 *h, struct tc_slice s);
/* h is used up then. */
void tc_md5_final(struct tc_md5 *h, uint8_t out[TC_MD5_BYTES]);

#endif
