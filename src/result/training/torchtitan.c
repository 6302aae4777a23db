/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchtitan's log: "step: 20  loss: 11.83506  grad_norm: 9.6669  memory: 48.87GiB(51.44%)  tps:
 * 4,376  tflops: 253.41  mfu: 25.62%", with colours and whatever stands before it. tps is tokens
 * per second of one device since the line before (step 1 and every log_freq steps). Older versions
 * have wps for tps and no tflops. Logs of several ranks repeat the same steps: the lowest rank
 * counts.
 */
#include "codec/codec.h"
#include "result/lines_priv.h"
#include "result/training/priv.h"

#define S(literal) TC_LIT(literal)

enum { LOSS, GRAD_NORM, MEMORY, MEMORY_PCT, TPS, TFLOPS, MFU, VALUES };

static const struct tc__train_value VALUE_OF[VALUES] = {
    [LOSS] = {.names = {"loss:"},
              .field = "loss",
              .unit = "",
              .measures = "training_loss",
              .column = TC_TRAINING_LOSS,
              .take = TC__TRAIN_LAST,
              .note = "of the last logged step"},
    [GRAD_NORM] = {.names = {"grad_norm:"},
                   .field = "grad_norm",
                   .unit = "",
                   .measures = "gradient_norm"},
    [MEMORY] = {.names = {"memory:"},
                .field = "memory",
                .unit = "GiB",
                .measures = "memory_reserved_peak",
                .column = TC_TRAINING_MEMORY_PEAK,
                .take = TC__TRAIN_MAX,
                .note = "largest of what was logged; reserved"},
    [MEMORY_PCT] = {.names = {"GiB("},
                    .field = "memory_pct",
                    .unit = "%",
                    .measures = "memory_reserved_peak_share",
                    .inside = true},
    [TPS] = {.names = {"tps:", "wps:"},
             .field = "tps",
             .unit = "tokens/s",
             .measures = "tokens_per_second_per_gpu",
             .column = TC_TRAINING_TOKENS_PER_S_GPU,
             .note = "of one device; " TC__TRAIN_AFTER},
    [TFLOPS] = {.names = {"tflops:"},
                .field = "tflops",
                .unit = "TFLOP/s",
                .measures = "tflops_per_gpu",
                .column = TC_TRAINING_TFLOPS,
                .note = "of one device; " TC__TRAIN_AFTER},
    [MFU] = {.names = {"mfu:"},
             .field = "mfu",
             .unit = "%",
             .measures = "mfu",
             .column = TC_TRAINING_MFU,
             .note = TC__TRAIN_AFTER},
};

static const struct tc_definition VALIDATION_OF = {"validate.loss.last", "validation_loss", "", "",
                                                   "of the last validation"};

static bool read_line(const struct tc__train_log *l, struct tc_slice text,
                      struct tc__train_line *out)
{
    struct tc_train_line line;
    if (tc_slice_contains(text, S("Training completed"))) {
        out->word = TC_TRAIN_DONE;
        return true;
    }
    if (!tc_slice_contains(text, S("step:")) || !tc_train_line_read(&l->search, text, &line) ||
        line.step < 0) {
        return false;
    }
    tc__train_values(l->program, text, out);
    out->word = line.word;
    out->step = line.step;
    if (line.word == TC_TRAIN_EVAL && out->known[LOSS]) {
        out->validation = out->values[LOSS];
    }
    return (out->known[LOSS] || out->not_finite[LOSS]) && (out->known[TPS] || out->known[MEMORY]);
}

/* Facts about the machine and the software that stand in other lines. */
static void read_other(struct tc__train_log *l, struct tc_slice text)
{
    struct tc_slice rest;
    struct tc_slice tail;
    double number = 0;
    if (tc__text_after(text, S(" capacity: "), &rest)) {
        /* "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory" */
        size_t with = tc_slice_find(rest, S(" with "));
        if (with != TC_NPOS && tc_slice_contains(rest, S("GiB"))) {
            tc_result_fact_text(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MODEL,
                                tc_slice_head(rest, with));
            if (tc__train_number(tc_slice_from(rest, with + 6), &number, &tail) && number > 0 &&
                number < 1e6) {
                tc_result_fact_int(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_GPU_MEMORY,
                                   (int64_t)(number * 1024));
            }
        }
    } else if (tc__text_after(text, S("torchtitan version: "), &rest)) {
        tc_result_tool_version(l->r, tc__word_next(&rest));
    } else if (tc__text_after(text, S("Model "), &rest) && tc_slice_contains(rest, S(" size: "))) {
        /* "Model llama3 8B size: 8,030,261,248 total parameters" */
        tc_result_fact_text(l->r, TC_TABLE_WORKLOAD, TC_WORKLOAD_MODEL,
                            tc_slice_head(rest, tc_slice_find(rest, S(" size: "))));
    } else if (tc__text_after(text, S("global batch size "), &rest) &&
               tc__train_number(rest, &number, &tail)) {
        tc__train_batch(l, number);
    }
}

static const struct tc__train_program TORCHTITAN = {
    .framework = "torchtitan",
    .mark = "step:",
    .begins = "step:",
    .values = VALUE_OF,
    .value_count = VALUES,
    .first_step = 1,
    .validation_of = &VALIDATION_OF,
    .wants = "step: ... loss: ... tps: ...",
    .read_line = read_line,
    .read_other = read_other,
};

static int sniff(const struct tc_result_input *in)
{
    return tc__train_sniff(&TORCHTITAN, in);
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    return tc__train_read(&TORCHTITAN, in, r, err);
}

const struct tc_reader tc_reader_torchtitan = {
    .name = "torchtitan",
    .summary = "torchtitan logs (step: ... loss: ... tps: ... mfu: ...)",
    .forms = 1u << TC_RESULT_TEXT,
    .sniff = sniff,
    .read = read_file,
};
