/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A piece of what a source of the daemon read, as events: by the codecs that its name states, else
 * by those that recognise its bytes. It is about the present, as a request of OTLP is, and small,
 * so it is decoded in the arenas of the caller.
 */
#ifndef TC_STORED_SOURCE_EVENTS_H
#define TC_STORED_SOURCE_EVENTS_H

#include "stored/batch_events.h"

/*
 * Hands over the events of a batch of TC_BATCH_SOURCE. Bytes that nobody reads have none: a source
 * is pointed at a log whose lines are mostly of no interest. TC_E_USAGE: its name is not one that
 * the daemon gives.
 */
TC_CHECKED tc_status tc_source_events(const struct tc_batch *batch, struct tc_batch_arenas *arenas,
                                      const struct tc_batch_taker *taker, struct tc_error *err);

#endif
