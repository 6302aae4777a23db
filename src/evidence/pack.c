/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence/pack_priv.h"

#include <lz4.h>
#include <zstd.h>

bool tc__unpack_lz4(const struct tc__piece *p, const char *payload, char *out)
{
    char none = '\0';
    int want = (int)p->piece_len;
    int done = LZ4_decompress_safe(payload, want == 0 ? &none : out, (int)p->payload_len, want);
    return done == want;
}

bool tc__unpack(struct ZSTD_DCtx_s *zstd, const struct tc__piece *p, const char *payload, char *out)
{
    size_t len = (size_t)p->payload_len;
    if (p->piece_len > TC__PIECE_MAX || p->payload_len > TC__PAYLOAD_MAX) {
        return false;
    }
    if (p->is_lz4) {
        return tc__unpack_lz4(p, payload, out);
    }
    return ZSTD_getFrameContentSize(payload, len) == p->piece_len &&
           ZSTD_findFrameCompressedSize(payload, len) == len &&
           ZSTD_decompressDCtx(zstd, out, (size_t)p->piece_len, payload, len) == p->piece_len;
}
