/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a training program as text: what torchrun, Slurm or a container's
 * runtime kept of its output. The wordings are in text.c, the walk over the lines and what may
 * stand around them in codec/lines.
 *
 * A line that names no rank is of the rank that the file is named after ("rank3.log"): ranks that
 * say the same at the same time are not copies of one log.
 */
#include "codec/codec.h"
#include "base/limits.h"
#include "base/time.h"
#include "codec/lines/lines_priv.h"
#include "codec/train_log/text_priv.h"

#define S(literal) TC_LIT(literal)

/* Where what a log begins with is looked for. */
#define HEAD_WITHIN 96
/* Lines that decide what an input is. */
#define SNIFF_LINES 2000

static tc_status read_line(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_event ev;
    *out_ours = tc__train_text_read(&w->scan, line->text, &ev);
    return *out_ours ? tc__lines_deliver(w, line, &ev) : TC_OK;
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    struct tc__line_reader r = {.read = read_line};
    r.literals = tc__train_text_literals(&r.literal_count);
    return tc__lines_decode(&r, in, cursor, out, err);
}

/* What the logs of training programs begin with, long before the first step. */
static bool is_known_head(struct tc_slice line)
{
    struct tc_slice head = tc_slice_head(line, HEAD_WITHIN);
    return tc_slice_contains(head, S("[titan] 20")) || tc_slice_contains(head, S("[NeMo I 20")) ||
           tc_slice_contains(head, S(":log_dist] [Rank "));
}

static int sniff(struct tc_codec_head head)
{
    struct tc_codec_input in = {
        .bytes = head.bytes, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE};
    struct tc__train_text text;
    struct tc__line line;
    int score = TC_SNIFF_NO;
    size_t at = 0;
    tc__train_text_init(&text);
    if (tc__lines_is_markup(head.bytes)) {
        return TC_SNIFF_NO;
    }
    for (size_t i = 0; i < SNIFF_LINES && tc__line_cut(head.bytes, at, &line.raw, &at); i++) {
        struct tc_event ev;
        struct tc_slice raw = tc_slice_head(line.raw, TC_LINE_MAX);
        unsigned which = 0;
        bool ours = tc_scan_next(&text.scan, raw, 0, &which) != TC_NPOS;
        if (ours) {
            tc__line_frame(&in, raw, NULL, &line);
            ours = !tc_slice_starts(line.text, S("{")) &&
                   tc__train_text_read(&text.scan, line.text, &ev);
        }
        if (ours && line.time_ns != TC_TIME_NONE) {
            return TC_SNIFF_LIKELY;
        }
        score = ours || is_known_head(line.raw) ? TC_SNIFF_MAYBE : score;
    }
    return score;
}

const struct tc_codec tc_codec_train_log = {
    .name = "train_log",
    .summary = "logs of training programs: steps, checkpoints and data loaders' failures",
    .known_by =
        "wordings of PyTorch, torchtitan, Megatron-LM, NeMo, DeepSpeed, Transformers and others",
    .gives = "train_step, checkpoint, dataloader_error",
    .example = "[rank0]:[titan] 2026-03-01 10:05:01,123 - root - INFO - step: 20  loss: 2.5",
    .ordered = true,
    .picks_lines = true,
    .sniff = sniff,
    .decode = decode,
    .last_time = tc__lines_last_time,
};
