/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics on their way from the loop to the thread that slices them: body and tape of requests
 * whose batches are durable, so that they are neither read from the disk nor parsed again. A
 * shortcut only: everything is in the evidence too, and a slicer that fell behind reads it there.
 * The memory is spare memory of the request pool (net/pool.h).
 */
#ifndef TC_SERVER_WAREHOUSE_HANDOFF_H
#define TC_SERVER_WAREHOUSE_HANDOFF_H

#include "codec/otlp/wire.h"
#include "net/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A batch of metrics. */
struct tc_handed {
    uint64_t number;
    int64_t arrival_ns;
    struct tc_otlp_tape tape;
    struct tc_buffer *body;        /* of the tape; NULL: empty */
    struct tc_buffer *tape_memory; /* where the tape is */
};

struct tc_handoff;

/* first: the number of the first batch that will be put or skipped. NULL without memory. */
struct tc_handoff *tc_handoff_create(uint64_t first);
/* In the loop's thread, when the slicer has ended. Gives all memory back. NULL is fine. */
void tc_handoff_destroy(struct tc_handoff *h);
/* Called, in the loop's thread, when so many bytes wait that they should be taken soon. */
void tc_handoff_on_wake(struct tc_handoff *h, size_t bytes, void (*wake)(void *context),
                        void *context);

/* ---- the loop's thread: each batch that slices are made of, when it is durable, in order ---- */

/* Whether the slicer keeps up: else nothing need be prepared for it. */
bool tc_handoff_is_open(struct tc_handoff *h);
/* Takes both buffers. */
void tc_handoff_put(struct tc_handoff *h, const struct tc_handed *item);
/* A batch that has to be read from the evidence. */
void tc_handoff_skip(struct tc_handoff *h, uint64_t number);
/* A batch of traces, or a file that may have some, is durable. Those are not handed over: who reads
 * them finds them in the evidence, and need not look before there is one. */
void tc_handoff_note_traces(struct tc_handoff *h, uint64_t number);
/* Gives memory of batches back to the pool, those first that were read; false: there is none. */
bool tc_handoff_give_back(struct tc_handoff *h);

/* ---- the slicer's thread ---- */

enum tc_handoff_state {
    TC_HANDOFF_TAKEN,
    TC_HANDOFF_EMPTY, /* there is nothing from `next` on, here or in the evidence; now it is open */
    TC_HANDOFF_BEHIND, /* batches from `next` on have to be read from the evidence */
};

/* The batch with the lowest number from `next` on. What is taken is given to tc_handoff_done. */
enum tc_handoff_state tc_handoff_take(struct tc_handoff *h, uint64_t next, struct tc_handed *out);
void tc_handoff_done(struct tc_handoff *h, const struct tc_handed *item);
/* The slicer has read all the evidence there is: from now on batches may be put. */
void tc_handoff_open(struct tc_handoff *h);
/* Whether traces came from batch `next` on. */
bool tc_handoff_has_traces(struct tc_handoff *h, uint64_t next);

#endif
