/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64 (RFC 4648). Our own and not OpenSSL's: EVP_DecodeBlock skips white space, accepts bits
 * behind the last byte that are not 0, and refuses the URL-safe alphabet and texts without padding.
 * A signed payload must have one spelling, and other tools write all of these.
 */
#ifndef TC_BASE_BASE64_H
#define TC_BASE_BASE64_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Characters for len bytes, padded and not. */
#define TC_BASE64_LEN(len) (((len) + 2) / 3 * 4)
#define TC_BASE64_BARE_LEN(len) (((len)*4 + 2) / 3)
/* Standard alphabet; not terminated. Writes no more than that. Returns the end. */
char *tc_base64_put(char *to, struct tc_slice bytes, bool padded);
/* Takes the standard and the URL-safe alphabet, padded or not. `to` has room for
 * text.len / 4 * 3 + 3 bytes. False when it is no base64. */
bool tc_base64_get(struct tc_slice text, uint8_t *to, size_t *out_len);

#endif
