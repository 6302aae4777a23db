/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"

#include "base/buf.h"

static const struct tc_codec *const CODECS[] = {
#define CODEC(id) &tc_codec_##id,
#include "codec/codecs.def"
#undef CODEC
};

#define CODEC_COUNT TC_COUNT(CODECS)

const struct tc_codec *const *tc_codecs(size_t *out_count)
{
    *out_count = CODEC_COUNT;
    return CODECS;
}

const struct tc_codec *tc_codec_recognise(struct tc_slice bytes, struct tc_slice name)
{
    struct tc_slice head = tc_slice_head(bytes, TC_SNIFF_BYTES);
    bool at_end = head.len == bytes.len;
    const struct tc_codec *best = NULL;
    int best_score = TC_SNIFF_NO;
    for (size_t i = 0; i < CODEC_COUNT; i++) {
        int score = CODECS[i]->sniff(head, at_end, name);
        if (score > best_score) {
            best = CODECS[i];
            best_score = score;
        }
    }
    return best;
}

const struct tc_codec *tc_codec_by_name(struct tc_slice name)
{
    for (size_t i = 0; i < CODEC_COUNT; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(CODECS[i]->name))) {
            return CODECS[i];
        }
    }
    return NULL;
}

void tc_codec_list_names(struct tc_buf *b, struct tc_slice between)
{
    for (size_t i = 0; i < CODEC_COUNT; i++) {
        tc_buf_str(b, i > 0 ? between : TC_EMPTY);
        tc_buf_str(b, tc_slice_cstr(CODECS[i]->name));
    }
}
