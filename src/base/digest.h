/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (OpenSSL): the name of raw evidence and the seed of incident ids.
 */
#ifndef TC_BASE_DIGEST_H
#define TC_BASE_DIGEST_H

#include "base/buf.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdint.h>

#define TC_DIGEST_BYTES 32

struct tc_digest {
    uint8_t bytes[TC_DIGEST_BYTES];
};

/*
 * SHA-256 of s. Allocates nothing after the first call of the process.
 * TC_E_NOMEM when the library cannot set itself up.
 */
TC_CHECKED tc_status tc_digest_sha256(struct tc_slice s, struct tc_digest *out);

/*
 * SHA-256 of bytes that come in parts. A value: a copy of it goes on from where the original was.
 * Allocates nothing.
 */
struct tc_sha256 {
    uint32_t state[28]; /* the library's context */
};

void tc_sha256_init(struct tc_sha256 *h);
void tc_sha256_update(struct tc_sha256 *h, struct tc_slice s);
/* h is used up then. */
void tc_sha256_final(struct tc_sha256 *h, struct tc_digest *out);

/* "sha256:" and 64 hex digits. */
void tc_buf_digest(struct tc_buf *b, const struct tc_digest *d);
/* The same with a NUL behind it. */
#define TC_DIGEST_TEXT (sizeof "sha256:" + 2 * (size_t)TC_DIGEST_BYTES)
void tc_digest_text(const struct tc_digest *d, char out[TC_DIGEST_TEXT]);

/* All of a text: 64 hex digits; those with "sha256:" before them or not; only as it is written
 * above. *out is undefined when it is false. */
bool tc_digest_from_hex(struct tc_slice hex, struct tc_digest *out);
bool tc_digest_parse(struct tc_slice text, struct tc_digest *out);
bool tc_digest_parse_exact(struct tc_slice text, struct tc_digest *out);

#endif
