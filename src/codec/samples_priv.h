/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readers behind tc_samples_read: one for text, one for OTLP.
 */
#ifndef TC_CODEC_SAMPLES_PRIV_H
#define TC_CODEC_SAMPLES_PRIV_H

#include "codec/samples.h"

/* One call of tc_samples_read. */
struct tc__samples {
    const struct tc_samples_input *in;
    struct tc_arena *arena;
    const struct tc_samples_out *out;
    struct tc_samples_counts counts;
    struct tc_error *err;
};

/* Counts and tells something that is left out. */
void tc__samples_bad(struct tc__samples *s, uint64_t offset, const char *why);
TC_CHECKED tc_status tc__samples_take(struct tc__samples *s, const struct tc_sample *sample);

bool tc__samples_is_text(struct tc_slice bytes);
TC_CHECKED tc_status tc__samples_text(struct tc__samples *s);

bool tc__samples_is_otlp_json(struct tc_slice bytes);
bool tc__samples_is_otlp_protobuf(struct tc_slice bytes);
TC_CHECKED tc_status tc__samples_otlp_json(struct tc__samples *s);
TC_CHECKED tc_status tc__samples_otlp_protobuf(struct tc__samples *s);

#endif
