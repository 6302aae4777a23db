/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far an input reaches in time, whatever its last lines say: only its end is looked at.
 * One date may be a part of a message, so it takes two that are not far apart.
 */
#ifndef TC_CODEC_LAST_TIME_PRIV_H
#define TC_CODEC_LAST_TIME_PRIV_H

#include "base/slice.h"
#include "codec/codec.h"

#include <stdint.h>

/* The time of one line without its end; TC_TIME_NONE. */
typedef int64_t (*tc__line_time_fn)(const struct tc_codec_input *in, struct tc_slice line);

/* For inputs of lines. */
int64_t tc__last_time(const struct tc_codec_input *in, tc__line_time_fn time_of);
/* For others: whole numbers of unit_ns behind a key, whatever blanks, quotes, '=' and ':' lie
 * between them. */
int64_t tc__last_time_by_key(struct tc_slice bytes, struct tc_slice key, int64_t unit_ns);

#endif
