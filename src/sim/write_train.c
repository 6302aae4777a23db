/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The training log of a job: each rank's steps with the time that it took itself,
 * evaluation, checkpoints, and what was planned. A few records are lost or doubled, and
 * now and then those of a node come a step late.
 */
#include "sim/feed_priv.h"
#include "sim/train_priv.h"

#define LOST_PPM 1000
#define TWICE_PPM 2000
#define LATE_PPM 1000
#define SEVERITY_INFO 9

static int64_t local(const struct tc_sim *s, const struct sim_job *j, uint32_t k, int64_t at_ns)
{
    return at_ns + s->nodes[j->first_node + k].skew_ms * SIM_MS;
}

static void put_steps(const struct tc_sim *s, const struct sim_job *j, uint32_t k,
                      const struct sim_beat *beat, const struct sim_sink *sink)
{
    struct tc_buf *b = sink->begin(sink->context);
    if (b == NULL) {
        return;
    }
    struct tc_json_out json = tc_json_out_make(b);
    uint32_t records = 0;
    struct sim_pod pod = tc__sim_job_pod(s, j->id, k);
    uint32_t gpus = s->options.gpus_per_node;
    char text[32];
    struct tc_buf said = tc_buf_make(text, sizeof text);
    tc_format(&said, "step {}", beat->step);
    tc__sim_begin_logs(&json, &pod);
    for (uint32_t gpu = 0; gpu < gpus; gpu++) {
        uint32_t rank = k * gpus + gpu;
        uint64_t d = sim_draw(s->options.seed, SIM_FOR_DELIVERY, (uint64_t)j->id << 32 | rank,
                              UINT64_C(1) << 32 | beat->step);
        if (sim_chance(d, LOST_PPM / 100 * s->noise_percent)) {
            continue;
        }
        const struct sim_record record = {
            .at_ns = local(s, j, k, beat->end_ns + sim_between(d, 1, 40) * SIM_MS),
            .severity = SEVERITY_INFO,
            .body = tc_buf_slice(&said)};
        tc__sim_begin_record(&json, &record);
        tc__sim_put_int(&json, "rank", rank);
        tc__sim_put_int(&json, "training.step", beat->step);
        tc__sim_put_seconds(&json, "training.step.duration",
                            tc__sim_own_time(s, j, rank, beat) / SIM_MS);
        tc__sim_put_string(&json, "training.phase", TC_LIT("train"));
        tc__sim_end(&json, "]}");
        records++;
    }
    tc__sim_end_records(&json);
    sink->end(sink->context, records);
}

/* One line for each node: a pause begins or ends. */
static void put_pause(const struct tc_sim *s, const struct sim_job *j, uint32_t k,
                      const struct sim_beat *beat, bool begins, const struct sim_sink *sink)
{
    struct tc_buf *b = sink->begin(sink->context);
    if (b == NULL) {
        return;
    }
    struct tc_json_out json = tc_json_out_make(b);
    struct sim_pod pod = tc__sim_job_pod(s, j->id, k);
    bool checkpoint = beat->kind == SIM_BEAT_CHECKPOINT;
    char text[96];
    struct tc_buf said = tc_buf_make(text, sizeof text);
    if (checkpoint) {
        tc_format(&said, "checkpoint of step {} {}", beat->step, begins ? "begins" : "is written");
    } else {
        tc_format(&said, "evaluation at step {}", beat->step);
    }
    const struct sim_record record = {
        .at_ns = local(s, j, k, (begins ? beat->start_ns : beat->end_ns) + k % 50 * 7 * SIM_MS),
        .severity = SEVERITY_INFO,
        .body = tc_buf_slice(&said)};
    tc__sim_begin_logs(&json, &pod);
    tc__sim_begin_record(&json, &record);
    if (checkpoint) {
        tc__sim_put(&json, "checkpoint.state", "{}", begins ? "begin" : "end");
        tc__sim_put(&json, "checkpoint.path", "/checkpoints/{}/step-{}", tc_as_digits(j->id, 3),
                    beat->step);
        tc__sim_put_int(&json, "checkpoint.step", beat->step);
    } else {
        tc__sim_put_int(&json, "training.step", beat->step);
        tc__sim_put_string(&json, "training.phase", TC_LIT("eval"));
    }
    tc__sim_put_int(&json, "rank", k * s->options.gpus_per_node);
    tc__sim_end(&json, "]}");
    tc__sim_end_records(&json);
    sink->end(sink->context, 1);
}

/* What is told of a beat when it ended, late nodes of the one before included. */
static void put_beat(const struct sim_train *t, const struct sim_sink *sink)
{
    const struct tc_sim *s = t->sim;
    const struct sim_job *j = t->job;
    for (uint32_t k = 0; k < j->nodes; k++) {
        if (t->beat.kind != SIM_BEAT_STEP) {
            put_pause(s, j, k, &t->beat, false, sink);
            continue;
        }
        uint64_t who = (uint64_t)j->id << 32 | k | UINT64_C(1) << 63;
        uint32_t noise = s->noise_percent;
        if (t->before.kind == SIM_BEAT_STEP && t->before.end_ns != 0 &&
            sim_chance(sim_draw(s->options.seed, SIM_FOR_DELIVERY, who, t->before.step),
                       LATE_PPM / 100 * noise)) {
            put_steps(s, j, k, &t->before, sink);
        }
        uint64_t d = sim_draw(s->options.seed, SIM_FOR_DELIVERY, who, t->beat.step);
        if (!sim_chance(d, LATE_PPM / 100 * noise)) {
            put_steps(s, j, k, &t->beat, sink);
        }
        if (sim_chance(tc_random_mix(d), TWICE_PPM / 100 * noise)) {
            put_steps(s, j, k, &t->beat, sink);
        }
    }
}

/* Goes on to the next stage in which something happens, and says when. */
static void settle(struct sim_train *t)
{
    for (;;) {
        bool begins = t->stage == SIM_TRAIN_BEGIN;
        if (begins || t->stage == SIM_TRAIN_END) {
            t->at_ns = begins ? t->beat.start_ns : t->beat.end_ns;
            if (!begins || t->beat.kind != SIM_BEAT_STEP) {
                return;
            }
            t->stage = t->beat.end_ns >= t->sim->end_ns ? SIM_TRAIN_REST : SIM_TRAIN_DURING;
            continue;
        }
        int64_t until = t->stage == SIM_TRAIN_BEFORE   ? t->beat.start_ns
                        : t->stage == SIM_TRAIN_DURING ? t->beat.end_ns
                                                       : TC_TIME_MAX;
        bool planned = t->lines.at < t->lines.end && t->lines.at->at_ns <= until;
        t->at_ns = planned ? t->lines.at->at_ns : TC_TIME_MAX;
        if (planned || t->stage == SIM_TRAIN_REST) {
            return;
        }
        t->stage = t->stage == SIM_TRAIN_BEFORE ? SIM_TRAIN_BEGIN : SIM_TRAIN_END;
    }
}

static void next_beat(struct sim_train *t)
{
    t->stage = tc__sim_clock_next(&t->clock, &t->beat) ? SIM_TRAIN_BEFORE : SIM_TRAIN_REST;
}

static bool begin(void *source, const struct tc_sim *s, uint32_t job)
{
    struct sim_train *t = source;
    const struct sim_job *j = tc__sim_job(s, job);
    *t = (struct sim_train){.sim = s,
                            .job = j,
                            .lines = tc__sim_lines(s, SIM_TRAINING, job),
                            .clock = tc__sim_clock(s, j),
                            .before = {SIM_BEAT_EVAL, 0, 0, 0}};
    next_beat(t);
    settle(t);
    return true;
}

static void put_planned(struct sim_train *t, const struct sim_sink *sink)
{
    struct tc_buf *b = sink->begin(sink->context);
    if (b != NULL) {
        tc_buf_str(b, t->lines.at->text);
        sink->end(sink->context, 1);
    }
    t->lines.at++;
}

static void step(void *source, const struct sim_sink *sink)
{
    struct sim_train *t = source;
    switch (t->stage) {
    case SIM_TRAIN_BEFORE:
    case SIM_TRAIN_DURING:
    case SIM_TRAIN_REST:
        put_planned(t, sink);
        break;
    case SIM_TRAIN_BEGIN:
        for (uint32_t k = 0; k < t->job->nodes; k++) {
            put_pause(t->sim, t->job, k, &t->beat, true, sink);
        }
        t->stage = t->beat.end_ns >= t->sim->end_ns ? SIM_TRAIN_REST : SIM_TRAIN_DURING;
        break;
    case SIM_TRAIN_END:
        put_beat(t, sink);
        t->before = t->beat;
        next_beat(t);
        break;
    }
    settle(t);
}

const struct sim_source_type tc__sim_train_source = {
    .size = sizeof(struct sim_train), .signal = TC_SIM_LOGS, .begin = begin, .step = step};

/* ---- the file ------------------------------------------------------------------------------ */

static struct tc_buf *begin_line(void *context)
{
    struct sim_out *out = context;
    if (!tc__sim_drain(out)) {
        return NULL;
    }
    tc_buf_lit(&out->b, SIM_REQUEST_BEGIN);
    return &out->b;
}

static void end_line(void *context, uint32_t records)
{
    struct sim_out *out = context;
    (void)records;
    tc_buf_lit(&out->b, SIM_REQUEST_END);
}

void tc__sim_write_train(const struct tc_sim *s, const struct sim_file *f, struct sim_out *out)
{
    struct sim_sink sink = {begin_line, end_line, out};
    struct sim_train t;
    (void)begin(&t, s, f->which);
    while (t.at_ns != TC_TIME_MAX && out->status == TC_OK) {
        step(&t, &sink);
    }
}
