/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From stored batches to verdicts on their way out: decodes a batch, feeds its events to `live`,
 * renders what that tells, with the digests of the cited bytes, and hands it to the outbox. The
 * same way for what comes in and for what is replayed at start. The loop's thread.
 */
#ifndef TC_SERVER_DETECTION_H
#define TC_SERVER_DETECTION_H

#include "base/status.h"
#include "codec/otlp/wire.h"
#include "config/config.h"
#include "evidence/store.h"
#include "live/live.h"
#include "outbox/outbox.h"
#include "server/cited.h"
#include "server/detector_memory.h"
#include "server/follow/batch_reader.h"
#include "server/recheck/recheck.h"
#include "server/run_book.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_detection;

struct tc_detection_parts {
    const struct tc_config *config; /* borrowed until return */
    struct tc_store *store;         /* to cite */
    struct tc_otlp_reader *reader;  /* shared with ingest */
    struct tc_run_book *runs;       /* learns who belongs to which run; NULL: nobody asks */
    const char *evidence_dir;       /* where it was stored, for what is cited later */
};

TC_CHECKED tc_status tc_detection_create(const struct tc_detection_parts *parts,
                                         struct tc_detection **out_detection, struct tc_error *err);
void tc_detection_destroy(struct tc_detection *d);

struct tc_live *tc_detection_live(struct tc_detection *d);
/* Where verdicts go. The outbox is opened after detection was made, since it restores into it. */
void tc_detection_connect(struct tc_detection *d, struct tc_outbox *outbox);
/* Who else hears of each verdict that the outbox took: its number there and its line, borrowed. */
void tc_detection_listen(struct tc_detection *d,
                         void (*told)(void *context, uint64_t number, struct tc_slice json),
                         void *context);

/*
 * Makes the events of a request and feeds them. What cannot be read of it is counted. Borrows batch
 * and tape, which is that of its body; NULL: the body is parsed.
 */
void tc_detection_take(struct tc_detection *d, const struct tc_batch *batch,
                       const struct tc_otlp_tape *tape);

/*
 * The same in turns, for what a thread has read: a batch begins, its events follow, and a file
 * ends. Each, as tc_detection_advance and tc_detection_end_replay, may be TC_E_AGAIN once the
 * budget is spent: call it again, with the same arguments, in the next turn.
 */
TC_CHECKED tc_status tc_detection_begin_batch(struct tc_detection *d, const struct tc_chunk *first);
TC_CHECKED tc_status tc_detection_feed(struct tc_detection *d, const struct tc_event *ev,
                                       int64_t arrival_ns, bool past);
TC_CHECKED tc_status tc_detection_end_file(struct tc_detection *d, int64_t arrival_ns, bool found);
/* Time that detection may take from now on until it says TC_E_AGAIN; 0: as much as it needs. */
void tc_detection_budget(struct tc_detection *d, int64_t ns);
bool tc_detection_is_spent(const struct tc_detection *d);

/* Our clock shows now_ns. */
TC_CHECKED tc_status tc_detection_advance(struct tc_detection *d, int64_t now_ns);

/* Events that had no time of their own between 1970 and 2200 and were dated by their arrival. */
uint64_t tc_detection_undated(const struct tc_detection *d);
/* Everything held is handed over and told. */
TC_CHECKED tc_status tc_detection_drain(struct tc_detection *d, int64_t now_ns);
/* New times of the configuration (SIGHUP). */
void tc_detection_configure(struct tc_detection *d, const struct tc_config *config);
/* What becomes of late events: for status. */
struct tc_recheck *tc_detection_recheck(struct tc_detection *d);
/* Detectors whose memory is full. */
const struct tc_detector_memory *tc_detection_memory(const struct tc_detection *d);
/* Where the bytes of batches are found when a verdict cites them. */
struct tc_cited *tc_detection_cited(struct tc_detection *d);

/* From here on what is fed was stored before the start: nothing is told ... */
void tc_detection_begin_replay(struct tc_detection *d);
/* ... until it has all been fed, at now_ns on our clock: then what is new is told. */
TC_CHECKED tc_status tc_detection_end_replay(struct tc_detection *d, int64_t now_ns);

#endif
