/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader and the writer of our own event format share. */
#ifndef TC_CODEC_EVENT_JSON_EVENT_JSON_PRIV_H
#define TC_CODEC_EVENT_JSON_EVENT_JSON_PRIV_H

#include "base/json.h"
#include "base/slice.h"
#include "codec/codec.h"
#include "event/event.h"

#define TC__EVENT_STATES (TC_NCCL_COMPLETED + 1)

/* The names of enum tc_nccl_state. */
extern const struct tc_slice tc__event_states[TC__EVENT_STATES];

/* The codec's decode with a parser that is there already. */
TC_CHECKED tc_status tc__event_json_decode(struct tc_json_parser *parser,
                                           const struct tc_codec_input *in,
                                           struct tc_codec_cursor *cursor, struct tc_codec_out *out,
                                           struct tc_error *err);

#endif
