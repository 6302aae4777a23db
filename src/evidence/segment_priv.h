/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a segment: the file's header, the header of a piece, the table and the end record of
 * a sealed one. docs/evidence.md is the description. Everything is little-endian and of fixed
 * width. Nothing here touches a file; all of it takes any bytes.
 */
#ifndef TC_EVIDENCE_SEGMENT_PRIV_H
#define TC_EVIDENCE_SEGMENT_PRIV_H

#include "base/slice.h"
#include "evidence/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 1: payloads are zstd frames. 2: they may be LZ4 blocks too. */
#define TC__SEGMENT_VERSION_ZSTD 1
#define TC__SEGMENT_VERSION 2
#define TC__HEAD_BYTES 64
#define TC__PIECE_BYTES 88
#define TC__ENTRY_BYTES 16
#define TC__END_BYTES 88

/* Most of a body in one piece, and what that can become when it does not compress. */
#define TC__PIECE_MAX ((size_t)1 << 20)
#define TC__PAYLOAD_MAX (TC__PIECE_MAX + (TC__PIECE_MAX >> 8) + 64)
/* Numbers of batches, with room above for those that recovery skips. */
#define TC__NUMBER_MAX (UINT64_MAX / 4)
/* Entries of the table of a sealed segment. A segment of more batches lists every second, fourth,
 * and so on. */
#define TC__TABLE_MAX 4096

/* Kinds that are no batch of anyone: what was damaged and set aside; the table and the end. */
#define TC__KIND_SKIP 0xfffe
#define TC__KIND_TABLE 0xfffd
/* Added to the kind of a batch whose payload is an LZ4 block. */
#define TC__KIND_LZ4 0x0100
/* The table is the payload of a piece, and the end record its last bytes, so the file's too. */
#define TC__TABLE_BYTES_MAX (TC__TABLE_MAX * TC__ENTRY_BYTES + TC__END_BYTES)

struct tc__head {
    uint64_t first;     /* number of the first batch */
    int64_t created_ns; /* its arrival */
    uint64_t id;        /* random; every piece has it too */
    uint32_t version;   /* TC__SEGMENT_VERSION_ZSTD or TC__SEGMENT_VERSION */
};

struct tc__piece {
    uint64_t number;
    int64_t arrival_ns;
    uint64_t body_len;    /* of the whole batch */
    uint64_t piece_at;    /* where in the body this piece begins */
    uint64_t piece_len;   /* decompressed */
    uint64_t payload_len; /* on disk */
    uint64_t payload_sum; /* of name and payload */
    uint64_t id;
    uint32_t name_len;
    uint16_t kind;
    bool is_lz4; /* the payload is an LZ4 block, otherwise a zstd frame */
};

/* On disk, header and name and payload. */
static inline uint64_t tc__piece_disk(const struct tc__piece *p)
{
    return TC__PIECE_BYTES + p->name_len + p->payload_len;
}

static inline bool tc__piece_is_last(const struct tc__piece *p)
{
    return p->piece_at + p->piece_len == p->body_len;
}

struct tc__entry {
    uint64_t number;
    uint64_t offset;
};

/* What a segment holds, in sum. */
struct tc__totals {
    uint64_t first;
    uint64_t last;
    uint64_t batches;
    uint64_t body_bytes;
    int64_t arrival_min;
    int64_t arrival_max;
};

struct tc__end {
    struct tc__totals totals;
    uint64_t id;
    uint64_t table_at; /* where the piece of the table begins: no batch from here on */
    uint64_t entries;
};

void tc__totals_init(struct tc__totals *t);
void tc__totals_add(struct tc__totals *t, uint64_t number, int64_t arrival_ns, uint64_t body_len);

uint64_t tc__sum(const void *data, size_t len, uint64_t seed);

void tc__head_put(char *out, const struct tc__head *head);
/* False when it is none, or damaged. `bytes` has TC__HEAD_BYTES. */
bool tc__head_get(const char *bytes, struct tc__head *out);
/* The version of a header that a newer program wrote; 0 when it is ours, none, or damaged. */
unsigned tc__head_newer(const char *bytes);

/* `offset` is where in the file it stands: a copy elsewhere is not taken for one. */
void tc__piece_put(char *out, const struct tc__piece *piece, uint64_t offset);
/* False when it is none, damaged, or says what cannot be. `bytes` has TC__PIECE_BYTES. */
bool tc__piece_get(const char *bytes, uint64_t offset, struct tc__piece *out);

/* The offset of the next thing that may be the header of a piece; len when there is none. A magic
 * that is cut off by the end counts. */
size_t tc__piece_find(const char *bytes, size_t len);

void tc__entry_put(char *out, const struct tc__entry *entry);
void tc__entry_get(const char *bytes, struct tc__entry *out);

void tc__end_put(char *out, const struct tc__end *end);
/* `offset` is where in the file it stands. The record alone: the table is not looked at. */
bool tc__end_get(const char *bytes, uint64_t offset, struct tc__end *out);

#endif
