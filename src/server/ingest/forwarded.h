/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches that other daemons forward (forward.endpoints there). Each says in the header
 * Tracecore-Batch whose it is: "AGENT NUMBER TAKEN", an id of 32 hex digits, the number that it has
 * in the agent's store, and when it was stored there. An agent sends one at a time, in the order of
 * their numbers, so the last number that is durable here says which are known: a batch whose answer
 * was lost is not stored twice. That number is the position of the stream AGENT of the source
 * "forward", in the name of the batch itself (sources/positions.h). The loop's thread.
 * docs/decisions/0029-forwarding.md.
 */
#ifndef TC_SERVER_INGEST_FORWARDED_H
#define TC_SERVER_INGEST_FORWARDED_H

#include "base/buf.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_forwarded;
struct tc_positions;

/* Agents that are known; then the one that was not heard of for longest is forgotten. */
#define TC_FORWARDED_AGENTS_MAX 65536
/* What tc_forwarded_put writes, at most. */
#define TC_FORWARDED_NAME_MAX 192

/* One batch on its way. */
struct tc_forwarded_batch {
    uint64_t agent[2];
    uint64_t number; /* 0: it was not forwarded */
    int64_t taken_ns;
    bool is_claimed;
};

/* Borrows positions, and reads from them which agents are known. NULL: no memory. */
struct tc_forwarded *tc_forwarded_create(struct tc_positions *positions);
void tc_forwarded_destroy(struct tc_forwarded *f);

/* What the header says; of "" that it was not forwarded. TC_E_MALFORMED. */
TC_CHECKED tc_status tc_forwarded_read(struct tc_slice header, struct tc_forwarded_batch *out,
                                       struct tc_error *err);

enum tc_forwarded_claim {
    TC_FORWARDED_NEW,   /* the caller stores it: tc_forwarded_end */
    TC_FORWARDED_KNOWN, /* it is durable already, as all up to *out_last are */
    TC_FORWARDED_BUSY,  /* one of this agent is on its way to the disk */
};
enum tc_forwarded_claim tc_forwarded_claim(struct tc_forwarded *f, struct tc_forwarded_batch *b,
                                           uint64_t *out_last);
/* Of one that is claimed: it is durable, or will not be. Nothing where it is not claimed. */
void tc_forwarded_end(struct tc_forwarded *f, struct tc_forwarded_batch *b, bool is_stored);

/* The lines of its name that say all this. Nothing where it was not forwarded. */
void tc_forwarded_put(struct tc_buf *name, const struct tc_forwarded_batch *b);

#endif
