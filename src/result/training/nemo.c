/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NeMo's log. Of 2.x: "Training epoch 0, iteration 45/99 | lr: 6.9e-06 | global_batch_size: 128 |
 * global_step: 45 | max_memory_reserved: 127785762816 | reduced_train_loss: 11.96 |
 * train_step_timing in s: 6.08 | TFLOPS_per_GPU: 1.249e+03 | consumed_samples: 5888 | val_loss: 2".
 * Of 1.x a bar that is drawn anew: "Epoch 0: :  47%|...| 7/15 [06:19<07:13,
 * reduced_train_loss=11.50, global_step=5.000, consumed_samples=12288.0, train_step_timing in
 * s=49.50]". There global_step is rounded to three digits (2e+3), so the bar's own count is the
 * step. Steps count from 0.
 */
#include "codec/codec.h"
#include "result/lines_priv.h"
#include "result/training/priv.h"

#include <math.h>

#define S(literal) TC_LIT(literal)
#define GIB 1073741824.0
#define STEP_MAX 1e12

enum { LOSS, TFLOPS, TPS, MEMORY, BATCH, VALUES };

static const struct tc__train_value VALUE_OF[VALUES] = {
    [LOSS] = {.names = {"reduced_train_loss:", "reduced_train_loss=", "train_loss:"},
              .field = "reduced_train_loss",
              .unit = "",
              .measures = "training_loss",
              .column = TC_TRAINING_LOSS,
              .take = TC__TRAIN_LAST,
              .note = "of the last logged step"},
    [TFLOPS] = {.names = {"TFLOPS_per_GPU:", "tflops_per_sec_per_gpu:", "tflops_per_sec_per_gpu="},
                .field = "TFLOPS_per_GPU",
                .unit = "TFLOP/s",
                .measures = "tflops_per_gpu",
                .column = TC_TRAINING_TFLOPS,
                .note = "of one device; " TC__TRAIN_AFTER},
    [TPS] = {.names = {"tokens_per_sec_per_gpu:", "tokens_per_sec_per_gpu="},
             .field = "tokens_per_sec_per_gpu",
             .unit = "tokens/s",
             .measures = "tokens_per_second_per_gpu",
             .column = TC_TRAINING_TOKENS_PER_S_GPU,
             .note = "of one device; " TC__TRAIN_AFTER},
    [MEMORY] = {.names = {"max_memory_reserved:", "peak_memory_usage:"},
                .field = "max_memory_reserved",
                .unit = "GiB",
                .measures = "memory_reserved_peak",
                .column = TC_TRAINING_MEMORY_PEAK,
                .take = TC__TRAIN_MAX,
                .note = "largest of what was logged; reserved",
                .factor = 1 / GIB},
    [BATCH] = {.names = {"global_batch_size:", "global_batch_size="},
               .field = "global_batch_size",
               .unit = "samples",
               .measures = "global_batch_size"},
};

static const struct tc_definition STEP_OF = {"train_step_timing in s", "step_time", "s", "ms",
                                             "after the first 10 steps"};
static const struct tc_definition VALIDATION_OF = {"val_loss.last", "validation_loss", "", "",
                                                   "of the last validation"};

/* "| 7/15 [" of a bar, or "7it [" of one without an end: how many steps are done. */
static bool bar_count(struct tc_slice text, double *out)
{
    size_t open = tc_slice_find(text, S(" ["));
    size_t bar = open;
    uint64_t count = 0;
    if (open == TC_NPOS) {
        return false;
    }
    while (bar > 0 && text.ptr[bar - 1] != '|' && text.ptr[bar - 1] != ':') {
        bar--;
    }
    if (tc_slice_u64(tc_slice_trim(tc_slice_make(text.ptr + bar, open - bar)), &count) == 0 ||
        count == 0) {
        return false;
    }
    *out = (double)count - 1;
    return true;
}

/* A line of 1.x: the bar. */
static bool read_bar(struct tc_slice text, struct tc__train_line *out)
{
    double seconds = 0;
    double step = 0;
    if (!tc__train_number_after(text, "train_step_timing in s=", &seconds) || seconds <= 0 ||
        !(bar_count(text, &step) || tc__train_number_after(text, "global_step=", &step)) ||
        step < 0 || step > STEP_MAX) {
        return false;
    }
    out->word = TC_TRAIN_STEP;
    out->step = (int64_t)step;
    out->step_ms = seconds * 1000;
    return true;
}

static bool read_line(const struct tc__train_log *l, struct tc_slice text,
                      struct tc__train_line *out)
{
    struct tc_train_line line;
    double number = 0;
    if (tc_slice_contains(text, S("`Trainer.fit` stopped: `max_steps="))) {
        out->word = TC_TRAIN_DONE;
        return true;
    }
    if (!tc_slice_contains(text, S("train_step_timing in s"))) {
        return false;
    }
    if (!read_bar(text, out)) {
        if (!tc_slice_contains(text, S("Training epoch ")) ||
            !tc_train_line_read(&l->search, text, &line) || line.step < 0 || line.seconds <= 0) {
            return false;
        }
        out->word = TC_TRAIN_STEP;
        out->step = line.step;
        out->step_ms = line.seconds * 1000;
    }
    tc__train_values(l->program, text, out);
    if (tc__train_number_after(text, "val_loss:", &number) ||
        tc__train_number_after(text, "val_loss=", &number)) {
        out->validation = number;
    }
    return true;
}

/* "All distributed processes registered. Starting with 16 processes" */
static void read_other(struct tc__train_log *l, struct tc_slice text)
{
    struct tc_slice rest;
    uint64_t count = 0;
    if (tc__text_after(text, S("processes registered. Starting with "), &rest) &&
        tc_slice_u64(rest, &count) > 0) {
        tc__train_world(l, (double)count);
    }
}

static const struct tc__train_program NEMO = {
    .framework = "NeMo",
    .mark = "train_step_timing in s",
    .begins = "Training epoch ",
    .values = VALUE_OF,
    .value_count = VALUES,
    .first_step = 0,
    .overwrites = true,
    .step_of = &STEP_OF,
    .validation_of = &VALIDATION_OF,
    .wants = "Training epoch 0, iteration 10/99 | ... | train_step_timing in s: ...",
    .read_line = read_line,
    .read_other = read_other,
};

static int sniff(const struct tc_result_input *in)
{
    return tc__train_sniff(&NEMO, in);
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    return tc__train_read(&NEMO, in, r, err);
}

const struct tc_reader tc_reader_nemo = {
    .name = "nemo",
    .summary = "NeMo logs of 1.x and 2.x (train_step_timing in s)",
    .forms = 1u << TC_RESULT_TEXT,
    .sniff = sniff,
    .read = read_file,
};
