/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth of a simulated run lies beside its telemetry. It is for `tracecore score`:
 * a detector that read it would cheat, so it is recognised and no event comes of it.
 */
#include "base/json/raw.h"
#include "codec/codec.h"

/* The first member of the first line is "truth". */
static int sniff(struct tc_codec_head head)
{
    struct tc_slice key;
    struct tc_slice value;
    struct tc_slice rest = tc_slice_trim(tc_slice_from(head.bytes, tc_slice_bom(head.bytes)));
    struct tc_slice line = tc_slice_cut(rest, '\n', &rest);
    size_t at = 0;
    return tc_json_raw_member(line, &at, &key, &value) && tc_slice_eq(key, TC_LIT("truth"))
               ? TC_SNIFF_SURE
               : TC_SNIFF_NO;
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    (void)out;
    (void)err;
    cursor->offset = in->bytes.len;
    cursor->done = true;
    return TC_OK;
}

const struct tc_codec tc_codec_truth = {
    .name = "truth",
    .summary = "what a simulated run injected: for score, no events",
    .known_by = "objects with `fault` and `start` of `tracecore simulate`",
    .gives = "what was injected, for `tracecore score`",
    .example = "{\"fault\":\"gpu_lost\",\"start\":\"2026-03-01T10:00:00Z\",...",
    .ordered = true,
    .sniff = sniff,
    .decode = decode,
};
