/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include "base/assert.h"

/* The low-level interface is deprecated in OpenSSL 3, but it is the only one
 * that hashes without a heap-allocated context: see docs/decisions. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#define BLOCK 64
#define SHORT_MAX (BLOCK - 9) /* with the end mark and the length, still one block */

/* Where every SHA-256 begins: FIPS 180-4, 5.3.3. */
static const SHA_LONG START[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/*
 * What fits one block is padded here: the library's buffering costs as much as the block itself.
 * The library reads and writes nothing of the context but h then.
 */
static void digest_short(struct tc_slice s, struct tc_digest *out)
{
    SHA256_CTX context;
    unsigned char block[BLOCK] = {0};
    _Static_assert(sizeof context.h == sizeof START, "the state fits");
    __builtin_memcpy(context.h, START, sizeof START);
    tc_copy_64((char *)block, s.ptr, s.len);
    block[s.len] = 0x80;
    block[BLOCK - 2] = (unsigned char)(s.len >> 5); /* in bits, big-endian */
    block[BLOCK - 1] = (unsigned char)(s.len << 3);
    SHA256_Transform(&context, block);
    for (size_t i = 0; i < TC_DIGEST_BYTES / 4; i++) {
        uint32_t word = __builtin_bswap32(context.h[i]);
        __builtin_memcpy(&out->bytes[4 * i], &word, sizeof word);
    }
}

tc_status tc_digest_sha256(struct tc_slice s, struct tc_digest *out)
{
    if (s.len <= SHORT_MAX) {
        digest_short(s, out);
        return TC_OK;
    }
    SHA256_CTX context;
    if (SHA256_Init(&context) != 1 || SHA256_Update(&context, s.ptr, s.len) != 1 ||
        SHA256_Final(out->bytes, &context) != 1) {
        return TC_E_NOMEM;
    }
    return TC_OK;
}

_Static_assert(sizeof(struct tc_sha256) == sizeof(SHA256_CTX), "the context fits");

void tc_sha256_init(struct tc_sha256 *h)
{
    TC_ASSERT(SHA256_Init((SHA256_CTX *)(void *)h) == 1);
}

void tc_sha256_update(struct tc_sha256 *h, struct tc_slice s)
{
    TC_ASSERT(SHA256_Update((SHA256_CTX *)(void *)h, s.ptr, s.len) == 1);
}

void tc_sha256_final(struct tc_sha256 *h, struct tc_digest *out)
{
    TC_ASSERT(SHA256_Final(out->bytes, (SHA256_CTX *)(void *)h) == 1);
}

void tc_buf_digest(struct tc_buf *b, const struct tc_digest *d)
{
    char text[7 + 2 * TC_DIGEST_BYTES] = "sha256:";
    (void)tc_put_hex_bytes(text + 7, d->bytes, TC_DIGEST_BYTES);
    tc_buf_put(b, text, sizeof text);
}

void tc_digest_text(const struct tc_digest *d, char out[TC_DIGEST_TEXT])
{
    struct tc_buf b = tc_buf_make(out, TC_DIGEST_TEXT - 1);
    tc_buf_digest(&b, d);
    out[b.len] = '\0';
}

bool tc_digest_from_hex(struct tc_slice hex, struct tc_digest *out)
{
    for (size_t i = 0; i < TC_DIGEST_BYTES; i++) {
        uint64_t byte = 0;
        if (tc_slice_hex(tc_slice_head(tc_slice_from(hex, 2 * i), 2), &byte) != 2) {
            return false;
        }
        out->bytes[i] = (uint8_t)byte;
    }
    return hex.len == 2 * (size_t)TC_DIGEST_BYTES;
}

bool tc_digest_parse(struct tc_slice text, struct tc_digest *out)
{
    return tc_digest_from_hex(tc_slice_from(text, tc_slice_starts(text, TC_LIT("sha256:")) ? 7 : 0),
                              out);
}

bool tc_digest_parse_exact(struct tc_slice text, struct tc_digest *out)
{
    char exact[TC_DIGEST_TEXT];
    if (!tc_digest_parse(text, out)) {
        return false;
    }
    tc_digest_text(out, exact);
    return tc_slice_eq(text, tc_slice_cstr(exact));
}
