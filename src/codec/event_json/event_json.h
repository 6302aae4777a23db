/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own event format, NDJSON: one event per line, fields named by event/fields.h.
 * The reader is tc_codec_event_json (codec/codec.h); this is the writer. What is
 * written reads back as the same event, but for bytes that are not UTF-8, which
 * JSON cannot carry: each becomes U+FFFD. The format is docs/events.md.
 */
#ifndef TC_CODEC_EVENT_JSON_EVENT_JSON_H
#define TC_CODEC_EVENT_JSON_EVENT_JSON_H

#include "base/buf.h"
#include "event/event.h"
#include "event/source.h"

/*
 * Appends the event as one JSON object without a newline; b->overflowed tells
 * when it did not fit. Borrows all three. Where the proving bytes lie is written
 * when sources (may be NULL) knows the event's source.
 */
void tc_event_json_write(struct tc_buf *b, const struct tc_event *ev,
                         const struct tc_sources *sources);

#endif
