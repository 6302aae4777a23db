/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload of a piece. What arrives is packed with LZ4, which takes the least of the core that
 * ingest has; what is sealed is packed with zstd, which takes the least of the disk
 * (docs/decisions/0025). Readers take both.
 */
#ifndef TC_EVIDENCE_PACK_PRIV_H
#define TC_EVIDENCE_PACK_PRIV_H

#include "evidence/segment_priv.h"

#include <stdbool.h>
#include <stddef.h>

struct ZSTD_DCtx_s;

/* Bytes of memory that tc__pack_lz4 needs, aligned as malloc does. */
size_t tc__lz4_state_bytes(void);
/* Packs up to TC__PIECE_MAX bytes into `out`, which has TC__PAYLOAD_MAX. 0: it cannot, which no
 * input leads to. */
size_t tc__pack_lz4(void *state, const char *bytes, size_t len, char *out);

/*
 * Unpacks a payload into `out`, which has p->piece_len bytes and gets no more, whatever the payload
 * says. False when it does not give exactly that many, or does not end where the header says.
 */
bool tc__unpack(struct ZSTD_DCtx_s *zstd, const struct tc__piece *p, const char *payload,
                char *out);
/* The same for an LZ4 block alone. */
bool tc__unpack_lz4(const struct tc__piece *p, const char *payload, char *out);

#endif
