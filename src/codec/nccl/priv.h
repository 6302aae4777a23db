/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms of what NCCL's monitor prints share one codec. */
#ifndef TC_CODEC_NCCL_PRIV_H
#define TC_CODEC_NCCL_PRIV_H

#include "codec/codec.h"

#include <stdbool.h>

/* True when the head of a file is the form for people, which is what `ncclras` prints by default.
 */
bool tc__ras_is_text(struct tc_slice head);
TC_CHECKED tc_status tc__ras_text_decode(const struct tc_codec_input *in,
                                         struct tc_codec_cursor *cursor, struct tc_codec_out *out,
                                         struct tc_error *err);

#endif
