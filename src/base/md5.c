/* SPDX-License-Identifier: Apache-2.0 */
#include "base/md5.h"

#include "base/assert.h"

/* As in digest.c. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>

_Static_assert(sizeof(struct tc_md5) == sizeof(MD5_CTX), "the context fits");

void tc_md5_init(struct tc_md5 *h)
{
    TC_ASSERT(MD5_Init((MD5_CTX *)(void *)h) == 1);
}

void tc_md5_update(struct tc_md5 *h, struct tc_slice s)
{
    TC_ASSERT(MD5_Update((MD5_CTX *)(void *)h, s.ptr, s.len) == 1);
}

void tc_md5_final(struct tc_md5 *h, uint8_t out[TC_MD5_BYTES])
{
    TC_ASSERT(MD5_Final(out, (MD5_CTX *)(void *)h) == 1);
}
