/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes LZ4 blocks (lz4_Block_format.md), which any LZ4 unpacks. It is made for what telemetry is:
 * records of one shape after each other. A match is looked for by eight bytes at every third place,
 * so that few short ones are found, and behind each match at the same distance first: where two
 * records differ in a number of the same length, the rest of them is the same again.
 * docs/decisions/0025 has what it costs.
 */
#include "evidence/pack_priv.h"

#include "base/assert.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define HASH_BITS_MAX 13
#define HASH_BITS_MIN 6
/* The odd number nearest to 2^64 divided by the golden ratio. */
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)
/* The first steps of a search are STEP bytes, one more after each 1 << STEP_SHIFT places without a
 * match. */
#define STEP 3
#define STEP_SHIFT 4
/* What the format has. */
#define MATCH_MIN 4
#define DISTANCE_MAX 65535
#define NIBBLE_MAX 15
#define LENGTH_MORE 255
#define LITERALS_LAST 5
/* No match begins in the last bytes: those are read and copied past, and the format wants 12. */
#define TAIL 24
/* Literals are copied in blocks of this size. */
#define COPY 16

static_assert(TC__PIECE_MAX + TC__PIECE_MAX / LENGTH_MORE + COPY <= TC__PAYLOAD_MAX,
              "a piece that does not compress fits");
static_assert(TAIL >= COPY + LITERALS_LAST && TAIL >= 8 + MATCH_MIN + 1, "all reads are inside");

/* Places that were passed, by the hash of the eight bytes there. */
struct table {
    uint32_t at[1 << HASH_BITS_MAX];
};

/* A block while it is written. */
struct block {
    const unsigned char *start;
    const unsigned char *end;
    const unsigned char *literals; /* what was not written yet begins here */
    unsigned char *out;
};

size_t tc__lz4_state_bytes(void)
{
    return sizeof(struct table);
}

static uint64_t eight(const unsigned char *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static uint32_t four(const unsigned char *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static uint32_t *slot_of(struct table *t, uint64_t bytes, unsigned shift)
{
    return &t->at[bytes * HASH_FACTOR >> shift];
}

/* What is over NIBBLE_MAX of a length. */
static unsigned char *put_length(unsigned char *out, size_t rest)
{
    while (rest >= LENGTH_MORE) {
        *out++ = LENGTH_MORE;
        rest -= LENGTH_MORE;
    }
    *out++ = (unsigned char)rest;
    return out;
}

/* How many bytes from a on are those from b on, b being before a. */
static size_t same_length(const unsigned char *a, const unsigned char *b, const unsigned char *end)
{
    const unsigned char *start = a;
    for (; end - a >= 8; a += 8, b += 8) {
        uint64_t differ = eight(a) ^ eight(b);
        if (differ != 0) {
            return (size_t)(a - start) + ((unsigned)__builtin_ctzll(differ) >> 3);
        }
    }
    while (a < end && *a == *b) {
        a++;
        b++;
    }
    return (size_t)(a - start);
}

/* Writes the literals before `at` and the match there, which has four bytes at least, more if they
 * are the same. Returns where it ends. */
static const unsigned char *put_match(struct block *b, const unsigned char *at,
                                      const unsigned char *match)
{
    size_t literals = (size_t)(at - b->literals);
    size_t distance = (size_t)(at - match);
    size_t more =
        same_length(at + MATCH_MIN, match + MATCH_MIN, b->end - LITERALS_LAST); /* over MATCH_MIN */
    unsigned char *token = b->out;
    unsigned char *out = token + 1;
    *token = (unsigned char)((literals < NIBBLE_MAX ? literals : NIBBLE_MAX) << 4);
    if (literals >= NIBBLE_MAX) {
        out = put_length(out, literals - NIBBLE_MAX);
    }
    /* TAIL bytes are still to come, so there is room for a whole block more, to read and to write.
     */
    size_t copied = 0;
    do {
        memcpy(out + copied, b->literals + copied, COPY);
        copied += COPY;
    } while (copied < literals);
    out += literals;
    *out++ = (unsigned char)distance;
    *out++ = (unsigned char)(distance >> 8);
    if (more >= NIBBLE_MAX) {
        *token |= NIBBLE_MAX;
        out = put_length(out, more - NIBBLE_MAX);
    } else {
        *token |= (unsigned char)more;
    }
    b->out = out;
    b->literals = at + MATCH_MIN + more;
    return b->literals;
}

/* The next match, soon behind the one that ended at `at`, at the same distance; NULL: there is
 * none. One at a time: that is what the processor foresees when records are of one shape. */
static const unsigned char *again(const unsigned char *at, size_t distance)
{
    for (const unsigned char *p = at + 1; p <= at + MATCH_MIN; p++) {
        if (four(p) == four(p - distance)) {
            return p;
        }
    }
    return NULL;
}

/* Writes a match that was found, and those that follow it at the same distance. */
static const unsigned char *put_matches(struct block *b, const unsigned char *at,
                                        const unsigned char *match)
{
    size_t distance = (size_t)(at - match);
    while (at > b->literals && match > b->start && at[-1] == match[-1]) {
        at--;
        match--;
    }
    for (;;) {
        const unsigned char *end = put_match(b, at, match);
        at = b->end - end > TAIL ? again(end, distance) : NULL;
        if (at == NULL) {
            return end;
        }
        match = at - distance;
    }
}

static void put_rest(struct block *b)
{
    size_t literals = (size_t)(b->end - b->literals);
    *b->out++ = (unsigned char)((literals < NIBBLE_MAX ? literals : NIBBLE_MAX) << 4);
    if (literals >= NIBBLE_MAX) {
        b->out = put_length(b->out, literals - NIBBLE_MAX);
    }
    if (literals > 0) {
        memcpy(b->out, b->literals, literals);
        b->out += literals;
    }
}

/* Of a table as large as the bytes deserve: a small body does not pay for an empty table. */
static unsigned bits_for(size_t len)
{
    unsigned bits = HASH_BITS_MIN;
    while (bits < HASH_BITS_MAX && (size_t)1 << (bits + 2) < len) {
        bits++;
    }
    return bits;
}

size_t tc__pack_lz4(void *state, const char *bytes, size_t len, char *out)
{
    TC_ASSERT(len <= TC__PIECE_MAX);
    struct table *t = state;
    struct block b = {.start = (const unsigned char *)bytes,
                      .end = (const unsigned char *)bytes + len,
                      .literals = (const unsigned char *)bytes,
                      .out = (unsigned char *)out};
    unsigned bits = bits_for(len);
    unsigned shift = 64 - bits;
    memset(t->at, 0, sizeof t->at[0] << bits);
    size_t step = STEP << STEP_SHIFT;
    for (const unsigned char *at = b.start + 1; b.end - at > TAIL;) {
        uint64_t here = eight(at);
        uint32_t *slot = slot_of(t, here, shift);
        const unsigned char *match = b.start + *slot;
        *slot = (uint32_t)(at - b.start);
        if (eight(match) != here || at - match > DISTANCE_MAX) {
            at += step++ >> STEP_SHIFT;
            continue;
        }
        at = put_matches(&b, at, match);
        if (b.end - at > TAIL) {
            *slot_of(t, eight(at - 2), shift) = (uint32_t)(at - 2 - b.start);
        }
        step = STEP << STEP_SHIFT;
    }
    put_rest(&b);
    return (size_t)((char *)b.out - out);
}
