/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_priv.h"

struct sim_clock tc__sim_clock(const struct tc_sim *s, const struct sim_job *job)
{
    return (struct sim_clock){.sim = s,
                              .job = job,
                              .at_ns = job->begin_ns,
                              .step = job->first_step,
                              /* A job that was there before is somewhere between two pauses. */
                              .pause_done = true,
                              .eval_done = true};
}

static uint64_t draw(const struct sim_clock *c, enum sim_chance what, uint64_t which)
{
    return sim_draw(c->sim->options.seed, what, c->job->id, which);
}

static bool is_slow(const struct sim_job *j, int64_t at_ns)
{
    return j->slow_count > 0 && !j->live_dump && at_ns >= j->slow_from && at_ns < j->slow_until;
}

/* How many times longer a step of a job that began just now takes: compilation, caches, the first
 * batches. */
static int64_t warm_up(const struct sim_job *j, uint32_t step)
{
    return j->warm || step - j->first_step >= 4 ? 1 : 5 - (step - j->first_step);
}

/* One in 400 steps takes half as long again for everybody: a busy file system, a collector. */
#define HICCUP_PPM 2500

static int64_t step_time(const struct sim_clock *c)
{
    const struct sim_job *j = c->job;
    uint64_t d = draw(c, SIM_FOR_STEP, c->step);
    int64_t ns = j->step_ns / 1000 * sim_between(d, 985, 1015) * warm_up(j, c->step);
    if (sim_chance(tc_random_mix(d + 1), HICCUP_PPM)) {
        ns += ns / 2;
    }
    if (is_slow(j, c->at_ns)) {
        ns += ns / 100 * j->slow_percent;
    }
    return ns;
}

/* What comes next if nothing goes wrong. */
static struct sim_beat next(struct sim_clock *c)
{
    const struct sim_job *j = c->job;
    uint64_t d = draw(c, SIM_FOR_PAUSE, c->step);
    struct sim_beat beat = {SIM_BEAT_STEP, c->step, c->at_ns, 0};
    bool forced = j->stop == SIM_STOP_CHECKPOINT && c->at_ns >= j->stop_ns;
    if (!c->pause_done && (forced || c->step % j->checkpoint_every == 0)) {
        beat.kind = SIM_BEAT_CHECKPOINT;
        beat.end_ns = c->at_ns + sim_between(d, 12000, 75000) * SIM_MS;
        c->pause_done = true;
    } else if (!c->eval_done && c->step % j->eval_every == 0) {
        beat.kind = SIM_BEAT_EVAL;
        beat.end_ns = c->at_ns + sim_between(tc_random_mix(d), 30000, 110000) * SIM_MS;
        c->eval_done = true;
    } else {
        beat.end_ns = c->at_ns + step_time(c);
        c->step++;
        c->pause_done = false;
        c->eval_done = false;
    }
    return beat;
}

bool tc__sim_clock_next(struct sim_clock *c, struct sim_beat *out)
{
    const struct sim_job *j = c->job;
    if (c->over || c->at_ns >= c->sim->end_ns) {
        return false;
    }
    *out = next(c);
    bool stops = false;
    if (j->stop == SIM_STOP_CHECKPOINT) {
        stops = out->kind == SIM_BEAT_CHECKPOINT && out->start_ns >= j->stop_ns &&
                out->start_ns < j->resume_ns;
    } else if (j->stop != SIM_GOES_ON && !j->live_dump) {
        stops = out->start_ns < j->resume_ns && out->end_ns > j->stop_ns;
    }
    if (stops) {
        out->end_ns = j->resume_ns;
        c->over = j->resume_ns >= c->sim->end_ns;
    }
    c->at_ns = out->end_ns;
    return true;
}

int64_t tc__sim_own_time(const struct tc_sim *s, const struct sim_job *job, uint32_t rank,
                         const struct sim_beat *beat)
{
    uint64_t d =
        sim_draw(s->options.seed, SIM_FOR_RANK_STEP, (uint64_t)job->id << 32 | rank, beat->step);
    int64_t ns = job->step_ns / 1000 * sim_between(d, 890, 930) * warm_up(job, beat->step);
    if (sim_chance(tc_random_mix(d + 1), 3000)) { /* one rank, one step: nobody's fault */
        ns += ns / 100 * sim_between(tc_random_mix(d), 20, 60);
    }
    if (is_slow(job, beat->start_ns) && rank >= job->slow_first &&
        rank - job->slow_first < job->slow_count) {
        ns += ns / 100 * job->slow_percent;
    }
    return ns;
}
