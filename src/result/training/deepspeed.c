/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DeepSpeed's log: "[Rank 0] step=10, skipped=0, lr=[...], mom=[...]" and below it
 * "epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=25.0, CurrSamplesPerSec=25.7,
 * MemAllocated=4.32GB, MaxMemAllocated=38.49GB" (before 0.7 "0/40, SamplesPerSec=...", which counts
 * micro steps); of pipelines "steps: 10 loss: 1.0 iter time (s): 0.1 samples/sec: 40.0". Samples
 * are those of all devices. Without a pipeline a step's time is that between two lines. What the
 * flops profiler says about one step becomes slices of one number.
 */
#include "codec/codec.h"
#include "result/lines_priv.h"
#include "result/training/priv.h"

#include <string.h>

#define S(literal) TC_LIT(literal)

enum { LOSS, RUNNING, SAMPLES, MEMORY, VALUES };

/* The rate of now replaces the average since the start, where both are there. */
static const struct tc__train_value VALUE_OF[VALUES] = {
    [LOSS] = {.names = {"loss:"},
              .field = "loss",
              .unit = "",
              .measures = "training_loss",
              .column = TC_TRAINING_LOSS,
              .take = TC__TRAIN_LAST,
              .note = "of the last logged step"},
    [RUNNING] = {.names = {"RunningAvgSamplesPerSec=", "SamplesPerSec="},
                 .field = "RunningAvgSamplesPerSec",
                 .unit = "samples/s",
                 .measures = "samples_per_second",
                 .column = TC_TRAINING_SAMPLES_PER_S,
                 .take = TC__TRAIN_LAST,
                 .note = "over all steps since the start, as the last line says"},
    [SAMPLES] = {.names = {"CurrSamplesPerSec=", "samples/sec:"},
                 .field = "CurrSamplesPerSec",
                 .unit = "samples/s",
                 .measures = "samples_per_second",
                 .column = TC_TRAINING_SAMPLES_PER_S,
                 .note = TC__TRAIN_AFTER},
    [MEMORY] = {.names = {"MaxMemAllocated="},
                .field = "MaxMemAllocated",
                .unit = "GiB",
                .measures = "memory_allocated_peak",
                .column = TC_TRAINING_MEMORY_PEAK,
                .take = TC__TRAIN_MAX,
                .note = "largest of what was logged; allocated"},
};

static const struct tc_definition STEP_OF = {
    "iter time", "step_time", "s", "ms",
    "mean over the steps since the line before; after the first 10 steps"};

/* The line of the timer: of the step that was told just before, unless it says which. */
static bool read_timer(const struct tc__train_log *l, struct tc_slice text,
                       struct tc__train_line *out)
{
    double step = 0;
    struct tc_slice rest;
    if (!tc_slice_contains(text, S("SamplesPerSec="))) {
        return false;
    }
    bool told = tc__text_after(text, S("global_step="), &rest) &&
                tc__train_number(rest, &step, &rest) && step >= 0 && step < 1e12;
    out->word = TC_TRAIN_STEP;
    out->step = told ? (int64_t)step : TC__TRAIN_LAST_STEP;
    tc__train_values(l->program, text, out);
    return out->known[SAMPLES] || out->known[RUNNING];
}

static bool read_line(const struct tc__train_log *l, struct tc_slice text,
                      struct tc__train_line *out)
{
    struct tc_train_line line;
    if (read_timer(l, text, out)) {
        return true;
    }
    if (!tc_slice_contains(text, S("step")) || !tc_train_line_read(&l->search, text, &line) ||
        line.word != TC_TRAIN_STEP || line.step < 0 ||
        !(tc_slice_contains(text, S(", skipped=")) || line.seconds > 0)) {
        return false;
    }
    out->word = TC_TRAIN_STEP;
    out->step = line.step;
    out->step_ms = line.seconds > 0 ? line.seconds * 1000 : TC_UNKNOWN;
    tc__train_values(l->program, text, out);
    return true;
}

/* ---- the flops profiler ---- */

static const struct {
    const char *name;
    const char *metric;
    const char *unit;
} PROFILE[] = {
    {"iter latency:", "flops_profiler.iter_latency", "ms"},
    {"fwd latency:", "flops_profiler.fwd_latency", "ms"},
    {"bwd latency:", "flops_profiler.bwd_latency", "ms"},
    {"step latency:", "flops_profiler.step_latency", "ms"},
    {"FLOPS per GPU = 3 * fwd flops per GPU / iter latency:", "flops_profiler.flops_per_gpu",
     "TFLOP/s"},
    {"samples/second:", "flops_profiler.samples_per_second", "samples/s"},
};

/* To the unit of the slice; 0: a unit that is not known. */
static double factor_of(struct tc_slice word)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"s", 1000},   {"ms", 1},        {"us", 1e-3},     {"PFLOPS", 1000},
                 {"TFLOPS", 1}, {"GFLOPS", 1e-3}, {"MFLOPS", 1e-6}, {"", 1}};
    size_t i = tc_slice_row(word, units, unit);
    return i < TC_COUNT(units) ? units[i].factor : 0;
}

/* Its lines begin with the name; below its table modules have such names too, in braces. */
static bool read_profile(struct tc__train_log *l, struct tc_slice text)
{
    struct tc_slice line = tc_slice_trim(text);
    for (size_t i = 0; i < TC_COUNT(PROFILE); i++) {
        struct tc_slice name = tc_slice_cstr(PROFILE[i].name);
        double value = 0;
        if (!tc_slice_starts(line, name)) {
            continue;
        }
        struct tc_slice rest = tc_slice_from(line, name.len);
        bool number = tc_map_parse_number(tc__word_next(&rest), &value);
        double factor = factor_of(tc__word_next(&rest));
        /* A timer that was not stopped gives a latency far below 0. */
        if (number && value >= 0 && factor > 0) {
            tc_map_slice_value(l->r, TC_EMPTY, TC_EMPTY, PROFILE[i].metric, PROFILE[i].metric,
                               PROFILE[i].unit, PROFILE[i].unit, value * factor,
                               "of the one step that was profiled");
        }
        return true;
    }
    return false;
}

/* "world size:  32" of the profiler; "dist_world_size=16" and "nnodes=2" of the launcher. */
static void read_other(struct tc__train_log *l, struct tc_slice text)
{
    double number = 0;
    if (read_profile(l, text)) {
        return;
    }
    bool of_profiler = tc_slice_starts(tc_slice_trim(text), S("world size:"));
    if ((of_profiler && tc__train_number_after(text, "world size:", &number)) ||
        tc__train_number_after(text, "dist_world_size=", &number)) {
        tc__train_world(l, number);
    } else if (tc__train_number_after(text, "nnodes=", &number) && number >= 1 && number < 1e7 &&
               tc_slice_contains(text, S("num_local_procs="))) {
        tc_result_fact_int(l->r, TC_TABLE_HARDWARE, TC_HARDWARE_NODE_COUNT, (int64_t)number);
    }
}

static const struct tc__train_program DEEPSPEED = {
    .framework = "DeepSpeed",
    .mark = "step",
    .begins = "RunningAvgSamplesPerSec=",
    .values = VALUE_OF,
    .value_count = VALUES,
    .first_step = 1,
    .merges = true,
    .step_of = &STEP_OF,
    .wants = "[Rank 0] step=10, skipped=0, ...",
    .read_line = read_line,
    .read_other = read_other,
};

static int sniff(const struct tc_result_input *in)
{
    return tc__train_sniff(&DEEPSPEED, in);
}

static tc_status read_file(const struct tc_result_input *in, struct tc_result *r,
                           struct tc_error *err)
{
    return tc__train_read(&DEEPSPEED, in, r, err);
}

const struct tc_reader tc_reader_deepspeed = {
    .name = "deepspeed",
    .summary = "DeepSpeed logs (step=N, skipped=..., SamplesPerSec=; pipelines; flops profiler)",
    .forms = 1u << TC_RESULT_TEXT,
    .sniff = sniff,
    .read = read_file,
};
