/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank's Flight Recorder: the last operations it issued, as torch pickles them when
 * the watchdog gives up, or when an operator asks a job that goes on. Steps before
 * the last one are complete; how far the last one got is the plan's.
 */
#include "sim/file_priv.h"
#include "sim/pickle_priv.h"
#include "sim/program_priv.h"

#include <stdio.h>

#define RING_HUNG 300
#define RING_LIVE 1200
/* Steps that the process did before the simulation. */
#define STEPS_BEFORE 400

static const struct {
    const char *desc;
} GROUPS[SIM_GROUPS] = {
    [SIM_WORLD] = {"default_pg"},
    [SIM_TENSOR] = {"TENSOR_MODEL_PARALLEL_GROUP"},
    [SIM_PIPE] = {"PIPELINE_MODEL_PARALLEL_GROUP"},
    [SIM_DATA] = {"DATA_PARALLEL_GROUP"},
    [SIM_EXPERT] = {"EXPERT_MODEL_PARALLEL_GROUP"},
};

struct dump {
    const struct tc_sim *sim;
    const struct sim_job *job;
    uint32_t rank;
    struct sim_seat seat;
    struct sim_program program;
    struct sim_program above, below; /* of the neighbouring stages */
    uint32_t waits;                  /* first operation of the last step that did not complete */
    uint32_t issued;                 /* operations of the last step */
    char names[SIM_GROUPS][12];
    uint32_t ids[SIM_GROUPS]; /* torch's pg_id: counted by each process */
};

bool tc__sim_has_dump(const struct tc_sim *s, const struct sim_job *j, uint32_t rank)
{
    if (j->live_dump) {
        return true;
    }
    if (rank == j->culprit) {
        return j->hang != SIM_HANG_GONE;
    }
    /* One job in four lacks the dump of a rank that is well. */
    uint64_t d = sim_draw(s->options.seed, SIM_FOR_DUMP, j->id, 1);
    return s->noise_percent == 0 || !sim_chance(d, 250000) ||
           rank != sim_below(tc_random_mix(d), j->ranks);
}

static bool has_group(const struct dump *d, enum sim_group g)
{
    return g == SIM_WORLD || tc__sim_group_size(d->job, g) > 1;
}

/* ---- when ---------------------------------------------------------------------------------- */

/* When the operation at that place of a stage's program is due in a step. */
static int64_t due(const struct sim_beat *step, const struct sim_program *p, uint32_t op)
{
    return step->start_ns + (step->end_ns - step->start_ns) / (int64_t)(p->count + 2) * (op + 1);
}

/* The other end of a transfer in the program of its stage. */
static uint32_t other_end(const struct sim_program *p, const struct sim_op *op)
{
    for (uint32_t i = 0; i < p->count; i++) {
        const struct sim_op *o = &p->ops[i];
        if (o->group == SIM_PIPE && o->ordinal == op->ordinal && o->stage == -op->stage &&
            o->kind == (op->kind == SIM_SEND ? SIM_RECV : SIM_SEND)) {
            return i;
        }
    }
    return 0;
}

static uint32_t peer_of(const struct dump *d, const struct sim_op *op)
{
    uint32_t stage = d->job->data * d->job->tensor;
    return op->stage > 0 ? d->rank + stage : d->rank - stage;
}

static bool is_slow_link(const struct dump *d, const struct sim_op *op, int64_t at_ns)
{
    const struct sim_job *j = d->job;
    if (j->slow_peer == SIM_NONE || at_ns < j->slow_from || at_ns >= j->slow_until) {
        return false;
    }
    uint32_t peer = peer_of(d, op);
    return (d->rank == j->slow_first && peer == j->slow_peer) ||
           (d->rank == j->slow_peer && peer == j->slow_first);
}

struct times {
    int64_t created, started, completed;
};

/* All members of a group end at the same moment; they enter within milliseconds. */
static struct times times_of(const struct dump *d, const struct sim_beat *step, uint32_t i)
{
    const struct sim_op *op = &d->program.ops[i];
    uint64_t luck = sim_draw(d->sim->options.seed, SIM_FOR_DUMP,
                             (uint64_t)d->job->id << 32 | d->rank, (uint64_t)step->step << 8 | i);
    int64_t slot = (step->end_ns - step->start_ns) / (int64_t)(d->program.count + 2);
    int64_t at = due(step, &d->program, i);
    int64_t takes = slot * 2 / 5;
    int64_t met = at;
    if (op->group == SIM_PIPE) {
        const struct sim_program *p = op->stage > 0 ? &d->above : &d->below;
        int64_t theirs = due(step, p, other_end(p, op));
        met = theirs > at ? theirs : at;
        takes = slot / 10;
        if (is_slow_link(d, op, at)) {
            takes += takes / 100 * d->job->slow_percent;
        }
    }
    int64_t skew =
        d->sim->nodes[d->job->first_node + d->rank / d->sim->options.gpus_per_node].skew_ms *
        SIM_MS;
    struct times t = {at + skew + sim_between(luck, 0, 3000) * 1000, 0, 0};
    t.started = t.created + sim_between(tc_random_mix(luck), 200, 900) * 1000;
    t.completed = met + skew + takes + sim_between(luck, 0, 300) * 1000;
    return t;
}

/* ---- what ---------------------------------------------------------------------------------- */

static void put_sizes(struct pickle *p, const char *key, int64_t rows, int64_t columns)
{
    tc__pickle_name(p, key);
    tc__pickle_open_list(p);
    tc__pickle_open_list(p);
    tc__pickle_int(p, rows);
    tc__pickle_int(p, columns);
    tc__pickle_close_list(p);
    tc__pickle_close_list(p);
}

static void put_types(struct pickle *p, const char *key)
{
    tc__pickle_name(p, key);
    tc__pickle_open_list(p);
    tc__pickle_name(p, "BFloat16");
    tc__pickle_close_list(p);
}

static void put_time(struct pickle *p, const char *key, bool known, int64_t ns)
{
    tc__pickle_name(p, key);
    if (known) {
        tc__pickle_int(p, ns);
    } else {
        tc__pickle_none(p);
    }
}

static void put_number(struct pickle *p, const char *key, int64_t value)
{
    tc__pickle_name(p, key);
    tc__pickle_int(p, value);
}

static void put_op_name(const struct dump *d, struct pickle *p, const struct sim_op *op)
{
    static const char *const NAMES[] = {"nccl:all_reduce", "nccl:_all_gather_base",
                                        "nccl:_reduce_scatter_base", "nccl:all_to_allv"};
    tc__pickle_name(p, "profiling_name");
    if (op->group != SIM_PIPE) {
        tc__pickle_name(p, NAMES[op->kind]);
        return;
    }
    char name[40];
    uint32_t here = d->seat.stage;
    uint32_t there = op->stage > 0 ? here + 1 : here - 1;
    int len = snprintf(name, sizeof name,
                       op->kind == SIM_SEND ? "nccl:send %u->%u" : "nccl:recv %u<-%u", here, there);
    tc__pickle_text(p, tc_slice_make(name, (size_t)len));
}

/* Sequence numbers count since the process began. */
static int64_t sequence(const struct dump *d, uint32_t step, const struct sim_op *op, uint32_t i)
{
    int64_t steps = (int64_t)step - d->job->first_step + STEPS_BEFORE;
    if (op->group != SIM_PIPE) {
        return steps * d->program.per_group[op->group] + op->ordinal + 1;
    }
    int64_t before = 0;
    for (uint32_t k = 0; k < i; k++) {
        before += d->program.ops[k].group == SIM_PIPE;
    }
    return steps * d->program.per_group[SIM_PIPE] + before + 1;
}

enum state { SCHEDULED, STARTED, COMPLETED };

static enum state state_of(const struct dump *d, bool last, uint32_t i)
{
    if (!last || i < d->waits) {
        return COMPLETED;
    }
    return i == d->waits ? STARTED : SCHEDULED;
}

static void put_entry(const struct dump *d, struct pickle *p, const struct sim_beat *step,
                      bool last, uint32_t i, int64_t record)
{
    static const char *const STATES[] = {"scheduled", "started", "completed"};
    const struct sim_op *op = &d->program.ops[i];
    enum state state = state_of(d, last, i);
    struct times t = times_of(d, step, i);
    bool spoils = last && d->rank == d->job->culprit && d->job->hang == SIM_HANG_MISMATCH &&
                  i == d->job->stuck;
    int64_t seq = sequence(d, step->step, op, i);
    tc__pickle_open_dict(p);
    put_number(p, "record_id", record);
    put_number(p, "pg_id", d->ids[op->group]);
    tc__pickle_name(p, "process_group");
    tc__pickle_name(p, d->names[op->group]);
    tc__pickle_name(p, GROUPS[op->group].desc);
    tc__pickle_pair(p);
    put_number(p, "collective_seq_id", op->group == SIM_PIPE ? 0 : seq);
    put_number(p, "p2p_seq_id", op->group == SIM_PIPE ? seq : 0);
    put_number(p, "op_id", record + 1);
    put_op_name(d, p, op);
    put_number(p, "time_created_ns", t.created);
    put_sizes(p, "input_sizes", op->group == SIM_WORLD ? 1 : 4096, spoils ? 4096 : 8192);
    put_types(p, "input_dtypes");
    put_sizes(p, "output_sizes", op->group == SIM_WORLD ? 1 : 4096, spoils ? 4096 : 8192);
    put_types(p, "output_dtypes");
    tc__pickle_name(p, "state");
    tc__pickle_name(p, STATES[state]);
    put_time(p, "time_discovered_started_ns", state != SCHEDULED, t.started);
    put_time(p, "time_discovered_completed_ns", state == COMPLETED, t.completed);
    tc__pickle_name(p, "retired");
    tc__pickle_bool(p, state == COMPLETED);
    put_number(p, "timeout_ms", d->job->watchdog_ns / SIM_MS);
    tc__pickle_name(p, "is_p2p");
    tc__pickle_bool(p, op->group == SIM_PIPE);
    tc__pickle_close_dict(p);
}

static bool put_groups(const struct dump *d, struct pickle *p, struct sim_out *out)
{
    tc__pickle_name(p, "pg_config");
    tc__pickle_open_dict(p);
    for (enum sim_group g = SIM_WORLD; g < SIM_GROUPS; g++) {
        if (!has_group(d, g)) {
            continue;
        }
        tc__pickle_name(p, d->names[g]);
        tc__pickle_open_dict(p);
        tc__pickle_name(p, "name");
        tc__pickle_name(p, d->names[g]);
        tc__pickle_name(p, "desc");
        tc__pickle_name(p, GROUPS[g].desc);
        tc__pickle_name(p, "ranks");
        size_t text = tc__pickle_open_text(p);
        tc_buf_char(p->b, '[');
        for (uint32_t i = 0; i < tc__sim_group_size(d->job, g); i++) {
            tc_buf_str(p->b, i > 0 ? TC_LIT(", ") : TC_EMPTY);
            tc_buf_u64(p->b, tc__sim_member(d->job, d->rank, g, i));
        }
        tc_buf_char(p->b, ']');
        tc__pickle_close_text(p, text);
        tc__pickle_close_dict(p);
        if (!tc__sim_drain(out)) {
            return false;
        }
    }
    tc__pickle_close_dict(p);
    return true;
}

/* How far each group got: numbers of its last collective in each state. */
static void put_status(const struct dump *d, struct pickle *p, const struct sim_beat *last)
{
    static const char *const KEYS[] = {"last_enqueued_collective", "last_started_collective",
                                       "last_completed_collective"};
    tc__pickle_name(p, "pg_status");
    tc__pickle_open_dict(p);
    for (enum sim_group g = SIM_WORLD; g < SIM_GROUPS; g++) {
        if (!has_group(d, g)) {
            continue;
        }
        int64_t reached[3] = {-1, -1, -1};
        if (g != SIM_PIPE) {
            int64_t steps = (int64_t)last->step - d->job->first_step + STEPS_BEFORE;
            int64_t before = steps * d->program.per_group[g];
            reached[0] = reached[1] = reached[2] = before;
            for (uint32_t i = 0; i < d->issued; i++) {
                const struct sim_op *op = &d->program.ops[i];
                enum state state = state_of(d, true, i);
                if (op->group == g) {
                    reached[0] = before + op->ordinal + 1;
                    reached[1] = state != SCHEDULED ? reached[0] : reached[1];
                    reached[2] = state == COMPLETED ? reached[0] : reached[2];
                }
            }
        }
        char id[12];
        int len = snprintf(id, sizeof id, "%u", d->ids[g]);
        tc__pickle_text(p, tc_slice_make(id, (size_t)len));
        tc__pickle_open_dict(p);
        for (size_t k = 0; k < 3; k++) {
            put_number(p, KEYS[k], reached[k]);
        }
        tc__pickle_close_dict(p);
    }
    tc__pickle_close_dict(p);
}

/* ---- all of it ----------------------------------------------------------------------------- */

static void look_around(struct dump *d)
{
    const struct sim_job *j = d->job;
    d->seat = tc__sim_seat(j, d->rank);
    tc__sim_program(j, d->seat.stage, &d->program);
    tc__sim_program(j, d->seat.stage + 1 < j->pipe ? d->seat.stage + 1 : d->seat.stage, &d->above);
    tc__sim_program(j, d->seat.stage > 0 ? d->seat.stage - 1 : 0, &d->below);
    uint32_t id = 0;
    for (enum sim_group g = SIM_WORLD; g < SIM_GROUPS; g++) {
        (void)snprintf(d->names[g], sizeof d->names[g], "%u", tc__sim_group_number(j, d->rank, g));
        d->ids[g] = id;
        id += has_group(d, g);
    }
    d->issued = d->program.count;
    d->waits = d->program.count;
    if (!j->live_dump) {
        d->waits = j->waits[d->rank];
        bool stopped = d->rank == j->culprit && j->hang == SIM_HANG_HOST;
        d->issued = stopped ? d->waits : d->issued;
    }
}

/* The steps that the recorder still holds, the last one at the end. */
#define STEPS_KEPT 16

static uint32_t last_steps(const struct dump *d, struct sim_beat *kept, uint32_t wanted)
{
    struct sim_clock clock = tc__sim_clock(d->sim, d->job);
    struct sim_beat beat;
    uint32_t count = 0;
    while (tc__sim_clock_next(&clock, &beat)) {
        bool now = beat.end_ns > d->job->stop_ns;
        if (beat.kind != SIM_BEAT_STEP || (now && d->job->live_dump)) {
            if (now) {
                break;
            }
            continue;
        }
        if (now) { /* it would have ended like the others */
            beat.end_ns = beat.start_ns + d->job->step_ns;
        }
        if (count == wanted) {
            for (uint32_t i = 1; i < count; i++) {
                kept[i - 1] = kept[i];
            }
            count--;
        }
        kept[count++] = beat;
        if (now) {
            break;
        }
    }
    return count;
}

void tc__sim_write_dump(const struct tc_sim *s, const struct sim_file *f, struct sim_out *out)
{
    struct dump d = {.sim = s, .job = tc__sim_job(s, f->which), .rank = f->rank};
    look_around(&d);
    uint32_t ring = d.job->live_dump ? RING_LIVE : RING_HUNG;
    uint32_t wanted = ring / d.program.count + 1;
    struct sim_beat steps[STEPS_KEPT];
    uint32_t count = last_steps(&d, steps, wanted < STEPS_KEPT ? wanted : STEPS_KEPT);
    if (count == 0) {
        return;
    }
    struct pickle p;
    tc__pickle_begin(&p, &out->b);
    tc__pickle_open_dict(&p);
    tc__pickle_name(&p, "version");
    tc__pickle_name(&p, "2.10");
    if (!put_groups(&d, &p, out)) {
        return;
    }
    tc__pickle_name(&p, "nccl_version");
    tc__pickle_name(&p, "2.26.5");
    put_status(&d, &p, &steps[count - 1]);
    tc__pickle_name(&p, "entries");
    tc__pickle_open_list(&p);
    for (uint32_t k = 0; k < count; k++) {
        bool last = k + 1 == count && !d.job->live_dump;
        int64_t first =
            ((int64_t)steps[k].step - d.job->first_step + STEPS_BEFORE) * d.program.count;
        for (uint32_t i = 0; i < (last ? d.issued : d.program.count) && tc__sim_drain(out); i++) {
            put_entry(&d, &p, &steps[k], last, i, first + i);
        }
    }
    tc__pickle_close_list(&p);
    tc__pickle_close_dict(&p);
    tc__pickle_end(&p);
}
