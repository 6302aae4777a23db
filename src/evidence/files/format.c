/* SPDX-License-Identifier: Apache-2.0 */
/*
 * header   "TCFILE" 0x0d 0x0a, version u32, zero u32
 * body     one zstd frame
 * trailer  raw bytes u64, body bytes u64, SHA-256 of the content, XXH3 of header and body u64,
 *          XXH3 of the trailer up to here u64
 *
 * Little-endian. The name of the file is the SHA-256 too, so every byte is covered twice.
 */
#include "evidence/files/files_priv.h"

#include <xxhash.h>

static const char MAGIC[8] = {'T', 'C', 'F', 'I', 'L', 'E', '\r', '\n'};

static void put64(uint8_t *to, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint64_t get64(const uint8_t *from)
{
    uint64_t value = 0;
    for (unsigned i = 8; i > 0; i--) {
        value = value << 8 | from[i - 1];
    }
    return value;
}

void tc__file_head(uint8_t out[TC__FILE_HEAD_BYTES])
{
    memcpy(out, MAGIC, sizeof MAGIC);
    put64(out + 8, TC__FILE_VERSION);
}

void tc__file_tail_write(const struct tc__file_tail *tail, uint8_t out[TC__FILE_TAIL_BYTES])
{
    put64(out, tail->raw_bytes);
    put64(out + 8, tail->body_bytes);
    memcpy(out + 16, tail->digest.bytes, TC_DIGEST_BYTES);
    put64(out + 48, tail->sum);
    put64(out + 56, XXH3_64bits(out, 56));
}

bool tc__file_tail_read(const uint8_t in[TC__FILE_TAIL_BYTES], struct tc__file_tail *out)
{
    if (get64(in + 56) != XXH3_64bits(in, 56)) {
        return false;
    }
    out->raw_bytes = get64(in);
    out->body_bytes = get64(in + 8);
    memcpy(out->digest.bytes, in + 16, TC_DIGEST_BYTES);
    out->sum = get64(in + 48);
    return true;
}
