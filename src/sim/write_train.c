/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training log of a job: each rank's steps with the time that it took itself,
 * evaluation, checkpoints, and what was planned. A few records are lost or doubled, and
 * now and then those of a node come a step late.
 */
#include "sim/file_priv.h"
#include "sim/train_priv.h"

#include <stdio.h>

#define LOST_PPM 1000
#define TWICE_PPM 2000
#define LATE_PPM 1000

static int64_t local(const struct tc_sim *s, const struct sim_job *j, uint32_t k, int64_t at_ns)
{
    return at_ns + s->nodes[j->first_node + k].skew_ms * SIM_MS;
}

static void put_steps(const struct tc_sim *s, const struct sim_job *j, uint32_t k,
                      const struct sim_beat *beat, struct tc_buf *b)
{
    struct sim_pod pod = tc__sim_job_pod(s, j->id, k);
    uint32_t gpus = s->options.gpus_per_node;
    char said[32];
    int len = snprintf(said, sizeof said, "step %u", beat->step);
    tc_buf_lit(b, "{\"resourceLogs\":[");
    tc__sim_begin_logs(b, &pod);
    for (uint32_t gpu = 0; gpu < gpus; gpu++) {
        uint32_t rank = k * gpus + gpu;
        uint64_t d = sim_draw(s->options.seed, SIM_FOR_DELIVERY, (uint64_t)j->id << 32 | rank,
                              UINT64_C(1) << 32 | beat->step);
        if (sim_chance(d, LOST_PPM / 100 * s->noise_percent)) {
            continue;
        }
        tc__sim_begin_record(b, local(s, j, k, beat->end_ns + sim_between(d, 1, 40) * SIM_MS),
                             false, tc_slice_make(said, (size_t)len));
        tc__sim_put_int(b, TC_LIT("rank"), rank);
        tc__sim_put_int(b, TC_LIT("training.step"), beat->step);
        tc__sim_put_seconds(b, TC_LIT("training.step.duration"),
                            tc__sim_own_time(s, j, rank, beat) / SIM_MS);
        tc__sim_put_string(b, TC_LIT("training.phase"), TC_LIT("train"));
        tc__sim_end_record(b);
    }
    tc__sim_end_logs(b);
    tc_buf_lit(b, "]}\n");
}

/* One line for each node: a pause begins or ends. */
static void put_pause(const struct tc_sim *s, const struct sim_job *j, uint32_t k,
                      const struct sim_beat *beat, bool begins, struct tc_buf *b)
{
    struct sim_pod pod = tc__sim_job_pod(s, j->id, k);
    int64_t at = local(s, j, k, (begins ? beat->start_ns : beat->end_ns) + k % 50 * 7 * SIM_MS);
    char said[96];
    tc_buf_lit(b, "{\"resourceLogs\":[");
    tc__sim_begin_logs(b, &pod);
    if (beat->kind == SIM_BEAT_CHECKPOINT) {
        char path[64];
        int path_len = snprintf(path, sizeof path, "/checkpoints/%03u/step-%u", j->id, beat->step);
        int len = snprintf(said, sizeof said, "checkpoint of step %u %s", beat->step,
                           begins ? "begins" : "is written");
        tc__sim_begin_record(b, at, false, tc_slice_make(said, (size_t)len));
        tc__sim_put_string(b, TC_LIT("checkpoint.state"), begins ? TC_LIT("begin") : TC_LIT("end"));
        tc__sim_put_string(b, TC_LIT("checkpoint.path"), tc_slice_make(path, (size_t)path_len));
        tc__sim_put_int(b, TC_LIT("checkpoint.step"), beat->step);
    } else {
        int len = snprintf(said, sizeof said, "evaluation at step %u", beat->step);
        tc__sim_begin_record(b, at, false, tc_slice_make(said, (size_t)len));
        tc__sim_put_int(b, TC_LIT("training.step"), beat->step);
        tc__sim_put_string(b, TC_LIT("training.phase"), TC_LIT("eval"));
    }
    tc__sim_put_int(b, TC_LIT("rank"), k * s->options.gpus_per_node);
    tc__sim_end_record(b);
    tc__sim_end_logs(b);
    tc_buf_lit(b, "]}\n");
}

static bool put_planned(struct sim_lines *lines, int64_t until_ns, struct sim_out *out)
{
    while (lines->at < lines->end && lines->at->at_ns <= until_ns) {
        if (!tc__sim_drain(out)) {
            return false;
        }
        tc_buf_lit(&out->b, "{\"resourceLogs\":[");
        tc_buf_str(&out->b, lines->at->text);
        tc_buf_lit(&out->b, "]}\n");
        lines->at++;
    }
    return true;
}

/* What is told of a beat when it ended, late nodes of the one before included. */
static bool put_beat(const struct tc_sim *s, const struct sim_job *j, const struct sim_beat *beat,
                     const struct sim_beat *before, struct sim_out *out)
{
    for (uint32_t k = 0; k < j->nodes; k++) {
        if (!tc__sim_drain(out)) {
            return false;
        }
        if (beat->kind != SIM_BEAT_STEP) {
            put_pause(s, j, k, beat, false, &out->b);
            continue;
        }
        uint64_t who = (uint64_t)j->id << 32 | k | UINT64_C(1) << 63;
        uint32_t noise = s->noise_percent;
        if (before->kind == SIM_BEAT_STEP && before->end_ns != 0 &&
            sim_chance(sim_draw(s->options.seed, SIM_FOR_DELIVERY, who, before->step),
                       LATE_PPM / 100 * noise)) {
            put_steps(s, j, k, before, &out->b);
        }
        uint64_t d = sim_draw(s->options.seed, SIM_FOR_DELIVERY, who, beat->step);
        if (!sim_chance(d, LATE_PPM / 100 * noise)) {
            put_steps(s, j, k, beat, &out->b);
        }
        if (sim_chance(sim_mix(d), TWICE_PPM / 100 * noise)) {
            put_steps(s, j, k, beat, &out->b);
        }
    }
    return true;
}

void tc__sim_write_train(const struct tc_sim *s, uint32_t job, struct sim_out *out)
{
    const struct sim_job *j = tc__sim_job(s, job);
    struct sim_lines lines = tc__sim_lines(s, SIM_TRAINING, job);
    struct sim_clock clock = tc__sim_clock(s, j);
    struct sim_beat beat;
    struct sim_beat before = {SIM_BEAT_EVAL, 0, 0, 0};
    while (tc__sim_clock_next(&clock, &beat)) {
        if (!put_planned(&lines, beat.start_ns, out)) {
            return;
        }
        if (beat.kind != SIM_BEAT_STEP) {
            for (uint32_t k = 0; k < j->nodes; k++) {
                if (!tc__sim_drain(out)) {
                    return;
                }
                put_pause(s, j, k, &beat, true, &out->b);
            }
        }
        if (beat.end_ns >= s->end_ns || !put_planned(&lines, beat.end_ns, out) ||
            !put_beat(s, j, &beat, &before, out)) {
            break;
        }
        before = beat;
    }
    (void)put_planned(&lines, TC_TIME_MAX, out);
}
