/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of decode of a codec that reads objects or records: where it is in the input, and how
 * events get out. Kubernetes' and OpenTelemetry's codecs share it, since one holds the other.
 */
#ifndef TC_CODEC_DECODE_PRIV_H
#define TC_CODEC_DECODE_PRIV_H

#include "base/json/json.h"
#include "base/slice.h"
#include "base/status.h"
#include "codec/codec.h"
#include "codec/value_priv.h"
#include "event/event.h"
#include "event/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc__decode {
    const struct tc_codec_input *in;
    struct tc_codec_cursor *cursor;
    struct tc_codec_out *out;
    struct tc_error *err;
    struct tc_json_parser *parser;
    /* Strings of events that lie in here live long enough: the others are copied. */
    struct tc_slice lasting;
    /* The bytes of the object or log record being read: the evidence of its events. */
    size_t raw_offset;
    size_t raw_length;
    /* When a log record was made: the time of what bears none itself. TC_TIME_NONE. */
    int64_t seen_ns;
    /* The first object or record that was skipped because it is not valid; TC_OK for none. */
    struct tc_error bad;
    /* Where the strings of an event of a kind are, once one of it came; a count of 0: none yet. */
    struct tc_event_strings strings;
    /* The walk of the text failed, see tc__json_walk: of two things wrong the first is told. */
    bool is_broken;
};

/* Whether a string lies in what outlives the call. */
static inline bool tc__decode_lasts(const struct tc__decode *d, struct tc_slice s)
{
    return (uintptr_t)s.ptr - (uintptr_t)d->lasting.ptr < d->lasting.len;
}

/* Copies the strings of ev into the batch arena, adds evidence and time of record, delivers it. */
TC_CHECKED tc_status tc__decode_emit(struct tc__decode *d, struct tc_event *ev);
/* The same for an event whose strings last. */
TC_CHECKED tc_status tc__decode_emit_lasting(struct tc__decode *d, struct tc_event *ev);
/* Counts what was not understood, and reports it where that is wanted. */
TC_CHECKED tc_status tc__codec_unknown(const struct tc_codec_input *in,
                                       struct tc_codec_cursor *cursor,
                                       const struct tc_codec_out *out, uint64_t offset,
                                       size_t length, const char *why);
/* The same for the object or record that is being read. */
TC_CHECKED tc_status tc__decode_unknown(struct tc__decode *d, const char *why);

/* a, between and b as one text in arena; empty when that is full. */
struct tc_slice tc__join(struct tc_arena *arena, struct tc_slice a, struct tc_slice between,
                         struct tc_slice b);

/*
 * Parses the text of the object or record that raw_offset points at; `what` names it in errors.
 * One that is not valid is noted in d->bad and absent: where it ends is known, so the rest is read.
 */
TC_CHECKED tc_status tc__decode_json(struct tc__decode *d, struct tc_slice json, const char *what,
                                     struct tc__value *out);

#endif
