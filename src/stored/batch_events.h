/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stored batch as events: an OTLP request, in protobuf or JSON, a file that was given whole, or a
 * piece of what a source of the daemon read. It knows
 * nothing of who takes them, so detection, a replay and a second look at a past window read a
 * batch in the same way. One thread per reader.
 */
#ifndef TC_STORED_BATCH_EVENTS_H
#define TC_STORED_BATCH_EVENTS_H

#include "base/arena.h"
#include "base/status.h"
#include "codec/otlp/wire.h"
#include "evidence/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory for the strings that had to be made, and the codec's own, of one batch. */
struct tc_batch_arenas {
    void *strings_block;
    void *scratch_block;
    struct tc_arena strings;
    struct tc_arena scratch;
};

TC_CHECKED tc_status tc_batch_arenas_init(struct tc_batch_arenas *a, struct tc_error *err);
void tc_batch_arenas_fini(struct tc_batch_arenas *a);

/* Where the events of a batch go. Each is borrowed until return; a failure stops the reading. */
struct tc_batch_taker {
    tc_status (*event)(void *context, const struct tc_event *ev);
    /* So many lines or records of the batch told nothing; may be NULL. */
    void (*unread)(void *context, uint64_t count);
    void *context;
};

/* Whether the batch is about the past by nature: a file that was given whole. */
bool tc_batch_is_file(const struct tc_batch *batch);

/*
 * Hands over the events of a batch; a file's are in order of time. Tape: NULL, or that of the body.
 * Events without a time have TC_TIME_NONE: who takes them may date them by batch->arrival_ns.
 * TC_E_MALFORMED, TC_E_UNSUPPORTED, TC_E_LIMIT: it could not be read to its end, and err says why;
 * events before that were handed over. Traces have no events.
 */
TC_CHECKED tc_status tc_batch_events(struct tc_otlp_reader *reader, const struct tc_batch *batch,
                                     const struct tc_otlp_tape *tape,
                                     struct tc_batch_arenas *arenas,
                                     const struct tc_batch_taker *taker, struct tc_error *err);

#endif
