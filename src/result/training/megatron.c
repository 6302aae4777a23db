/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of Megatron-LM and what is built on it (Megatron-DeepSpeed, MindSpeed, Megatron Bridge):
 * " iteration       10/     100 | consumed samples:         2560 | elapsed time per iteration (ms):
 * 5032.1 | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: ... | global batch size:   256
 * | lm loss: 9.1E+00 | loss scale: 1.0 | grad norm: 1.2 | number of skipped iterations: 0 | ...".
 * A time is the mean over the iterations since the line before (--log-interval).
 */
#include "codec/codec.h"
#include "result/lines_priv.h"
#include "result/training/priv.h"

#include <math.h>

#define S(literal) TC_LIT(literal)

enum { LOSS, GRAD_NORM, TFLOPS, TPS, SAMPLES, BATCH, VALUES };

static const struct tc__train_value VALUE_OF[VALUES] = {
    [LOSS] = {.names = {"lm loss:", "| loss:"},
              .field = "lm loss",
              .unit = "",
              .measures = "training_loss",
              .column = TC_TRAINING_LOSS,
              .take = TC__TRAIN_LAST,
              .note = "of the last logged iterations"},
    [GRAD_NORM] = {.names = {"grad norm:"},
                   .field = "grad norm",
                   .unit = "",
                   .measures = "gradient_norm"},
    [TFLOPS] = {.names = {"throughput per GPU (TFLOP/s/GPU):", "TFLOPs:"},
                .field = "throughput per GPU",
                .unit = "TFLOP/s",
                .measures = "tflops_per_gpu",
                .column = TC_TRAINING_TFLOPS,
                .note = "of one device; " TC__TRAIN_AFTER},
    [TPS] = {.names = {"tokens per gpu per second (tgs):", "tokens-per-second-per-gpu:",
                       "tokens/sec/gpu:"},
             .field = "tokens per gpu per second",
             .unit = "tokens/s",
             .measures = "tokens_per_second_per_gpu",
             .column = TC_TRAINING_TOKENS_PER_S_GPU,
             .note = "of one device; " TC__TRAIN_AFTER},
    [SAMPLES] = {.names = {"samples per second:"},
                 .field = "samples per second",
                 .unit = "samples/s",
                 .measures = "samples_per_second",
                 .column = TC_TRAINING_SAMPLES_PER_S,
                 .note = "global batch size / time per iteration; " TC__TRAIN_AFTER},
    [BATCH] = {.names = {"global batch size:", "gloabl batch size:"},
               .field = "global batch size",
               .unit = "samples",
               .measures = "global_batch_size"},
};

static const struct tc_definition STEP_OF = {
    "elapsed time per iteration", "step_time", "ms", "ms",
    "mean over the iterations since the line before; after the first 10 iterations"};
static const struct tc_definition VALIDATION_OF = {
    "validation loss.lm loss value.last", "validation_loss", "", "", "of the last validation"};

static bool read_line(const struct tc__train_log *l, struct tc_slice text,
                      struct tc__train_line *out)
{
    struct tc_train_line line;
    double number = 0;
    if (!tc_slice_contains(text, S("iteration")) && !tc_slice_contains(text, S("after training"))) {
        return false;
    }
    if (!tc_train_line_read(&l->search, text, &line)) {
        return false;
    }
    out->word = line.word;
    out->step = line.step;
    if (line.word == TC_TRAIN_EVAL) {
        bool known = tc__train_number_after(text, "lm loss value:", &number);
        out->validation = known ? number : TC_UNKNOWN;
        return known;
    }
    if (line.word == TC_TRAIN_DONE) {
        return true;
    }
    if (line.step < 0 || line.seconds <= 0 || !tc_slice_contains(text, S("elapsed time per"))) {
        return false;
    }
    tc__train_values(l->program, text, out);
    out->step_ms = line.seconds * 1000;
    if (!out->known[SAMPLES] && out->known[BATCH]) {
        out->known[SAMPLES] = true;
        out->values[SAMPLES] = out->values[BATCH] / line.seconds;
    }
    return true;
}

/* "using world size: 16, data-parallel size: 4, ..., tensor-model-parallel size: 4,
 * pipeline-model-parallel size: 1" */
static void read_other(struct tc__train_log *l, struct tc_slice text)
{
    static const struct {
        const char *name;
        const char *key;
    } sizes[] = {{"tensor-model-parallel size:", "tp"},
                 {"pipeline-model-parallel size:", "pp"},
                 {"context-parallel size:", "cp"},
                 {"data-parallel size:", "dp"}};
    double number = 0;
    char data[128];
    struct tc_buf point = tc_buf_make(data, sizeof data);
    if (!tc__train_number_after(text, "using world size:", &number)) {
        return;
    }
    tc__train_world(l, number);
    for (size_t i = 0; i < TC_COUNT(sizes); i++) {
        if (tc__train_number_after(text, sizes[i].name, &number)) {
            tc_map_point_number(&point, sizes[i].key, number);
        }
    }
    tc_result_fact_text(l->r, TC_TABLE_WORKLOAD, TC_WORKLOAD_DEPLOYMENT, tc_buf_slice(&point));
}

static const struct tc__train_program MEGATRON = {
    .framework = "Megatron-LM",
    .mark = "elapsed time per iteration",
    .begins = "consumed samples:",
    .values = VALUE_OF,
    .value_count = VALUES,
    .first_step = 1,
    .step_of = &STEP_OF,
    .validation_of = &VALIDATION_OF,
    .wants = "iteration N/ M | ... | elapsed time per iteration (ms): ...",
    .read_line = read_line,
    .read_other = read_other,
};

static int sniff(const struct tc_result_input *in)
{
    return tc__train_sniff(&MEGATRON, in);
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    return tc__train_read(&MEGATRON, in, r, err);
}

const struct tc_reader tc_reader_megatron = {
    .name = "megatron",
    .summary = "Megatron-LM logs (iteration N/ M | ... | elapsed time per iteration (ms): ...)",
    .forms = 1u << TC_RESULT_TEXT,
    .sniff = sniff,
    .read = read_file,
};
