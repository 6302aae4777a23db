/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where each source goes on: by source and stream, the position that came with the last batch of it
 * that is durable. What counts is in the stored batches. The file data_dir/source_positions is a
 * summary of them up to some batch, so that a start reads the names of those after it only. It is
 * written after the batches it sums up are durable and replaced as a whole: whichever of it a crash
 * leaves, summary and batches together are the same.
 */
#ifndef TC_SERVER_SOURCES_POSITIONS_H
#define TC_SERVER_SOURCES_POSITIONS_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct tc_positions;

/* NULL: no memory. Copies data_dir. */
struct tc_positions *tc_positions_create(const char *data_dir);
void tc_positions_destroy(struct tc_positions *p);

/*
 * Reads the summary, and the names of the batches after it. Without a summary, or with one that is
 * damaged (then say is told), all batches are looked at. last: the newest that is stored.
 * TC_E_UNSUPPORTED: it is of a newer program. TC_E_IO, TC_E_NOMEM.
 */
TC_CHECKED tc_status tc_positions_load(struct tc_positions *p, const char *evidence_dir,
                                       uint64_t last, void (*say)(void *context, const char *line),
                                       void *context, struct tc_error *err);

/*
 * A position; an empty one is forgotten. Source and stream have no blanks, nothing has line ends.
 * False: there are TC_SOURCE_POSITIONS_MAX, or no memory is left. Any thread, as all below.
 */
bool tc_positions_set(struct tc_positions *p, struct tc_slice source, struct tc_slice stream,
                      struct tc_slice position);
/* All batches of sources up to that number were given to tc_positions_set. Only grows. */
void tc_positions_note(struct tc_positions *p, uint64_t number);
/* The streams of one source. `take` must not call back. */
void tc_positions_each(struct tc_positions *p, struct tc_slice source,
                       void (*take)(void *of, struct tc_slice stream, struct tc_slice position),
                       void *of);
/* Writes the summary if something changed since. A second call while one runs does nothing. */
TC_CHECKED tc_status tc_positions_save(struct tc_positions *p, struct tc_error *err);

#endif
