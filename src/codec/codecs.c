/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"

#include "base/buf.h"
#include "codec/lines/lines_priv.h"

static const struct tc_codec *const CODECS[] = {
#define CODEC(id) &tc_codec_##id,
#include "codec/codecs.def"
#undef CODEC
};

#define CODEC_COUNT TC_COUNT(CODECS)

_Static_assert(CODEC_COUNT <= TC_CODECS_MAX, "raise TC_CODECS_MAX");

int tc_codec_sniff(const struct tc_codec *codec, struct tc_slice head, bool at_end,
                   struct tc_slice name)
{
    return codec->sniff != NULL ? codec->sniff((struct tc_codec_head){head, at_end, name})
                                : tc__lines_sniff(codec->lines, head);
}

tc_status tc_codec_decode(const struct tc_codec *codec, const struct tc_codec_input *in,
                          struct tc_codec_cursor *cursor, struct tc_codec_out *out,
                          struct tc_error *err)
{
    return codec->decode != NULL ? codec->decode(in, cursor, out, err)
                                 : tc__lines_decode(codec->lines, in, cursor, out, err);
}

/* The end of the text from the start of a line on, as far as it was not looked at. */
static struct tc_slice tail_of(struct tc_slice bytes)
{
    if (bytes.len <= TC_SNIFF_BYTES) {
        return TC_EMPTY;
    }
    size_t from = bytes.len - TC_SNIFF_BYTES;
    struct tc_slice tail = tc_slice_from(bytes, from < TC_SNIFF_BYTES ? TC_SNIFF_BYTES : from);
    size_t newline = tc_slice_find_byte(tail, '\n');
    return newline == TC_NPOS ? TC_EMPTY : tc_slice_from(tail, newline + 1);
}

size_t tc_codec_readers(struct tc_slice bytes, struct tc_slice name,
                        const struct tc_codec *out[TC_CODECS_MAX])
{
    struct tc_slice head = tc_slice_head(bytes, TC_SNIFF_BYTES);
    struct tc_slice tail = tail_of(bytes);
    bool at_end = head.len == bytes.len;
    int best_score = TC_SNIFF_NO;
    size_t count = 0;
    for (size_t i = 0; i < CODEC_COUNT; i++) {
        int score = tc_codec_sniff(CODECS[i], head, at_end, name);
        if (score == TC_SNIFF_NO && CODECS[i]->picks_lines && tail.len > 0) {
            int last = tc_codec_sniff(CODECS[i], tail, true, name);
            score = last > TC_SNIFF_NO ? TC_SNIFF_MAYBE : TC_SNIFF_NO;
        }
        if (score == TC_SNIFF_NO) {
            continue;
        }
        out[count++] = CODECS[i];
        if (score > best_score) {
            best_score = score;
            out[count - 1] = out[0];
            out[0] = CODECS[i];
        }
    }
    if (count == 0 || !out[0]->picks_lines) {
        return count == 0 ? 0 : 1;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (out[i]->picks_lines) {
            out[kept++] = out[i];
        }
    }
    return kept;
}

const struct tc_codec *tc_codec_recognise(struct tc_slice bytes, struct tc_slice name)
{
    const struct tc_codec *readers[TC_CODECS_MAX];
    return tc_codec_readers(bytes, name, readers) == 0 ? NULL : readers[0];
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

/* A cell: what would end it is escaped. */
static void write_cell(struct tc_buf *b, const char *text)
{
    for (const char *p = text; p != NULL && *p != '\0'; p++) {
        tc_buf_str(b, *p == '|' ? TC_LIT("\\|") : tc_slice_make(p, 1));
    }
    tc_buf_lit(b, " | ");
}

void tc_codec_write_table(struct tc_buf *b)
{
    tc_buf_lit(b, "| format | what it is | known by | gives | a line of it |\n"
                  "| --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < CODEC_COUNT; i++) {
        const struct tc_codec *c = CODECS[i];
        tc_buf_lit(b, "| `");
        tc_buf_str(b, tc_slice_cstr(c->name));
        tc_buf_lit(b, "` | ");
        write_cell(b, c->summary);
        write_cell(b, c->known_by);
        write_cell(b, c->gives);
        tc_buf_lit(b, "`");
        write_cell(b, c->example);
        b->len -= b->overflowed ? 0 : 3;
        tc_buf_lit(b, "` |\n");
    }
}
