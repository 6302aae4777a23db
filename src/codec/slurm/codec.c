/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slurm: what srun, salloc and slurmstepd write into the log of a job, the logs of slurmctld and
 * slurmd, and what scontrol, sinfo, sacct, squeue and seff print (tables.c).
 *
 * Slurm's tasks need not be ranks (one torchrun per node is one task per node): see
 * codec/lines/tasks.c. What ends a job as somebody wanted it (a time limit, scancel, preemption) is
 * no failure.
 */
#include "codec/codec.h"
#include "base/limits.h"
#include "base/time.h"
#include "codec/signals_priv.h"
#include "codec/slurm/priv.h"

#define S(literal) TC_LIT(literal)

/* Places of a line that are looked at. */
#define HITS_MAX 8
/* Lines around a kill that may say more of it. */
#define NEAR_LINES 24

enum rule {
    OOM,    /* slot 2: the job */
    TASK,   /* srun: how tasks on a node ended */
    BAD,    /* slot 0: nodes, 1: the reason, 2: the job */
    SILENT, /* the same; the node does not answer */
    STATE,  /* slot 0: nodes, 1: the state that they are set to */
    BEFORE, /* the node is in front of the wording */
    BACK,   /* the same, and it works again */
    HERE,   /* the node is that of the log */
    ENDED,  /* slot 2: the job, 3: its exit code, 4: its signal */
    STOP,   /* somebody cancelled the job, or its time was up */
    NODE,   /* tables.c */
    JOB,
    SEFF,
    TABLE,
    ROW, /* of sinfo without its header: slot 1: the state, 0: nodes */
    JSON,
    KNOWN /* a line of Slurm that says nothing of failures */
};

#define RULES(X)                                                                                  \
    X("oom-kill event(s) in ", OOM, "<step |StepId=>{2%d}", "")                                   \
    X("oom_kill event", OOM, "<s|> in <step |StepId=>{2%d}", "")                                  \
    X("Step ", OOM, "{2%d}<.%d|.batch|.extern|> exceeded memory limit", "")                       \
    X("Job ", OOM, "{2%d} exceeded memory limit", "")                                             \
    X("StepId=", OOM, "{2%d}* exceeded memory limit", "")                                         \
    X("Exceeded job memory limit", OOM, "", "")                                                   \
    X("Exceeded step memory limit", OOM, "", "")                                                  \
    X("srun: error: ", TASK, "{0%n}: task<s|> {1%d*}: {5*}", "")                                  \
    X("Node failure on ", BAD, "{0%p}", "Node failure")                                           \
    X("DUE TO NODE FAILURE", BAD, "", "Node failure")                                             \
    X("STEPD TERMINATED ON ", BAD, "{0%p} AT %p DUE TO {1*} *", "")                               \
    X(" failed on node ", BAD, "{0%n}: {1*}", "")                                                 \
    X(" failure on node ", BAD, "{0%w}", "Prolog failure")                                        \
    X("Prolog hung on node ", BAD, "{0%w}", "Prolog hung")                                        \
    X("prolog failed", HERE, "", "Prolog failed")                                                 \
    X("update_node: node ", STATE, "{0%p} state set to {1%w}", "")                                \
    X("drain_nodes: node ", STATE, "{0%p} state set to {1%w}", "")                                \
    X(" reason set to: ", BEFORE, "{1*}", "")                                                     \
    X("Setting node ", BAD, "{0%p} state to %p with reason:{1*}", "")                             \
    X(" not responding, setting DOWN", BEFORE, "", "Not responding")                              \
    X("error: Nodes ", SILENT, "{0%p} not responding$", "Not responding")                         \
    X("is_node_resp: node:", SILENT, "{0%p} RPC:%p : {1*}", "")                                   \
    X(" unexpectedly rebooted", BEFORE, "", "Node unexpectedly rebooted")                         \
    X(" on failed node ", BAD, "{0%p}", "Node failure")                                           \
    X("due to failure of node ", BAD, "{0%p}", "Node failure")                                    \
    X("slurmd error running JobId=", BAD, "{2%d}* on node(s)={0%n}: {1*}", "")                    \
    X("node-mark-offline ", BAD, "{0%p} {1*}", "")                                                \
    X(" returned to service", BACK, "", "")                                                       \
    X(" now responding", BACK, "", "")                                                            \
    X("_job_complete: JobId=", ENDED, "{2%d}* <WEXITSTATUS {3%d}|WTERMSIG {4%d}|OOM {5failure}>", \
      "")                                                                                         \
    X(" CANCELLED AT ", STOP, "", "")                                                             \
    X("NodeName=", NODE, "", "")                                                                  \
    X("JobId=", JOB, "", "")                                                                      \
    X("Job ID: ", SEFF, "", "")                                                                   \
    X("NODELIST", TABLE, "", "")                                                                  \
    X("HOSTNAMES", TABLE, "", "")                                                                 \
    X("NodeName ", TABLE, "", "")                                                                 \
    X("JobID", TABLE, "", "")                                                                     \
    X("JOBID", TABLE, "", "")                                                                     \
    X(" up ", ROW, "%s%p%s%d%s{1%p}%s{0%p}$", "")                                                 \
    X("\"nodes\"", JSON, "", "")                                                                  \
    X("|up|", KNOWN, "", "")                                                                      \
    X("|PENDING|", KNOWN, "", "")                                                                 \
    X("|RUNNING|", KNOWN, "", "")                                                                 \
    X("slurmstepd: ", KNOWN, "", "")                                                              \
    X("srun: ", KNOWN, "", "")                                                                    \
    X("salloc: ", KNOWN, "", "")                                                                  \
    X("sbatch: ", KNOWN, "", "")                                                                  \
    X("_slurm_rpc_", KNOWN, "", "")                                                               \
    X("slurmd version ", KNOWN, "", "")                                                           \
    X("slurmd started", KNOWN, "", "")                                                            \
    X("slurmctld version ", KNOWN, "", "")

#define RULE_LITERAL(text, rule, says, reason) {(text), sizeof(text) - 1},
#define RULE_ROW(text, rule, says, reason) {rule, says, reason},

static const struct tc_slice LITERALS[] = {RULES(RULE_LITERAL)};
static const struct row {
    enum rule rule;
    const char *says;
    const char *reason;
} ROWS[] = {RULES(RULE_ROW)};

/* What the lines around say, in slot 0 of a pattern: slurmstepd names the job of a kill, srun its
 * node. */
static struct tc_slice said_near(struct tc__lines *w, const struct tc__line *line,
                                 const char *pattern)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    for (int way = 0; way < 2; way++) {
        struct tc__line at = *line;
        for (unsigned i = 0; i < NEAR_LINES; i++) {
            struct tc__line next;
            if (!(way == 0 ? tc__line_above(w, &at, &next) : tc__line_below(w, &at, &next))) {
                break;
            }
            at = next;
            if (tc__text_match(at.text, pattern, got)) {
                return got[0];
            }
        }
    }
    return TC_EMPTY;
}

static bool is_word(char c)
{
    return c != ' ' && c != '\t' && c != '=';
}

/* The last word in front of a wording. */
static struct tc_slice word_before(struct tc_slice text, size_t at)
{
    size_t start = at;
    while (start > 0 && is_word(text.ptr[start - 1])) {
        start--;
    }
    return tc_slice_make(text.ptr + start, at - start);
}

static tc_status read_oom(struct tc__lines *w, const struct tc__line *line,
                          struct tc_slice got[TC__TEXT_SLOTS])
{
    struct slurm_job j = {.out_of_memory = true, .time_ns = TC_TIME_NONE, .job = got[2]};
    if (line->scope.node.len == 0) {
        j.node = said_near(w, line, "*srun: error: {0%n}: task<s|> *: Out Of Memory");
    }
    return tc__slurm_tell_job(w, line, &j);
}

/* "srun: error: gpu-07: task 3: Exited with exit code 1" */
static tc_status read_task(struct tc__lines *w, const struct tc__line *line,
                           struct tc_slice got[TC__TEXT_SLOTS])
{
    struct slurm_job j = {
        .exit.exit_code = -1, .time_ns = TC_TIME_NONE, .node = got[0], .rank = -1, .is_task = true};
    struct tc_slice end[TC__TEXT_SLOTS];
    uint64_t task = 0;
    if (tc_slice_is_u64(got[1], &task) && task <= TC_FR_RANK_MAX && tc__lines_tasks_are_ranks(w)) {
        j.rank = (int32_t)task;
    }
    j.out_of_memory = tc_slice_starts(got[5], S("Out Of Memory"));
    if (j.out_of_memory) {
        j.job = said_near(w, line, "*oom<_|->kill event* in <StepId=|step >{0%d}");
    }
    j.exit.signal = tc__signal_of(got[5]);
    bool told = tc__text_match(got[5], "Exited with exit code {0%d}", end) &&
                tc__exit_status(end[0], &j.exit);
    return told || j.out_of_memory || j.exit.signal > 0 ? tc__slurm_tell_job(w, line, &j) : TC_OK;
}

static tc_status read_ended(struct tc__lines *w, const struct tc__line *line,
                            struct tc_slice got[TC__TEXT_SLOTS])
{
    struct slurm_job j = {.exit.exit_code = -1, .time_ns = TC_TIME_NONE, .job = got[2]};
    bool failed = tc__exit_status(got[3], &j.exit);
    uint64_t signal = 0;
    if (tc_slice_u64(got[4], &signal) > 0 && signal > 0 && signal <= 64) {
        j.exit.signal = (int64_t)signal;
    }
    j.out_of_memory = got[5].len > 0;
    return failed || j.exit.signal > 0 || j.out_of_memory ? tc__slurm_tell_job(w, line, &j) : TC_OK;
}

/* "slurmstepd: error: *** JOB 4711 ON gpu-07 CANCELLED AT 2026-11-03T10:00:00 DUE TO TIME LIMIT
 * ***"
 */
static tc_status read_stop(struct tc__lines *w, const struct tc__line *line)
{
    struct slurm_job j = {.exit.exit_code = -1, .time_ns = TC_TIME_NONE, .stopped = true};
    struct tc_slice got[TC__TEXT_SLOTS];
    if (tc_slice_contains(line->text, S("NODE FAILURE")) ||
        (!tc__text_match(line->text, "*JOB {2%d} ON ", got) &&
         !tc__text_match(line->text, "*STEP {2%d}", got))) {
        return TC_OK;
    }
    j.job = got[2];
    return tc__slurm_tell_job(w, line, &j);
}

static tc_status read_state(struct tc__lines *w, const struct tc__line *line, struct slurm_nodes *n)
{
    bool back = tc_slice_eq(n->reason, S("IDLE")) || tc_slice_eq(n->reason, S("RESUME"));
    bool bad = tc__slurm_is_bad(n->reason);
    n->status = bad ? "True" : "False";
    return bad || back ? tc__slurm_tell_nodes(w, line, n) : TC_OK;
}

static tc_status read_hit(struct tc__lines *w, const struct tc__line *line, size_t at,
                          unsigned which, bool *out_ours)
{
    const struct row *row = &ROWS[which];
    struct tc_slice after = tc_slice_from(line->text, at + LITERALS[which].len);
    struct tc_slice got[TC__TEXT_SLOTS] = {{0}};
    if (row->says[0] != '\0' && !tc__text_match(after, row->says, got)) {
        return TC_OK;
    }
    struct slurm_nodes n = {.hosts = got[0], .job = got[2], .status = "True"};
    n.reason = got[1].len > 0 ? got[1] : tc_slice_cstr(row->reason);
    n.time_ns = TC_TIME_NONE;
    *out_ours = row->rule < NODE || row->rule == KNOWN;
    switch (row->rule) {
    case OOM:
        return read_oom(w, line, got);
    case TASK:
        return read_task(w, line, got);
    case SILENT:
        n.status = "Unknown";
        return tc__slurm_tell_nodes(w, line, &n);
    case STATE:
        return read_state(w, line, &n);
    case BACK:
        n.status = "False";
        n.hosts = word_before(line->text, at);
        return n.hosts.len > 0 ? tc__slurm_tell_nodes(w, line, &n) : TC_OK;
    case BEFORE:
        n.hosts = word_before(line->text, at);
        return n.hosts.len > 0 ? tc__slurm_tell_nodes(w, line, &n) : TC_OK;
    case HERE:
        return line->scope.node.len > 0 || w->in->node.len > 0 ? tc__slurm_tell_nodes(w, line, &n)
                                                               : TC_OK;
    case BAD:
        return tc__slurm_tell_nodes(w, line, &n);
    case ENDED:
        return read_ended(w, line, got);
    case STOP:
        return read_stop(w, line);
    case NODE:
        return tc__slurm_read_node(w, line, after, out_ours);
    case JOB:
        return tc__slurm_read_job(w, line, after, out_ours);
    case SEFF:
        return tc__slurm_read_seff(w, line, after, out_ours);
    case TABLE:
        return tc__slurm_read_table(w, line, out_ours);
    case JSON:
        return tc__slurm_read_json(w, line, after, out_ours);
    case ROW:
        *out_ours = tc__slurm_is_state(got[1]);
        n.reason = TC_EMPTY;
        return *out_ours && tc__slurm_is_bad(got[1]) ? tc__slurm_tell_nodes(w, line, &n) : TC_OK;
    case KNOWN:
        break;
    }
    return TC_OK;
}

static tc_status read_line(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    size_t from = 0;
    if (tc__line_is_past(w, line)) {
        *out_ours = true;
        return TC_OK;
    }
    /* The header of a table has read its rows. */
    if ((size_t)(line->raw.ptr - w->in->bytes.ptr) < w->cursor->own[SLURM_OWN_TABLE]) {
        *out_ours = true;
        return TC_OK;
    }
    for (int i = 0; i < HITS_MAX; i++) {
        unsigned which = 0;
        uint64_t events = w->cursor->events;
        size_t at = tc_scan_next(&w->scan, line->text, from, &which);
        if (at == TC_NPOS) {
            break;
        }
        bool ours = false;
        struct tc_slice here = tc_slice_from(line->text, at);
        /* The wordings that begin here, the first that fits. */
        for (; which < TC_COUNT(LITERALS) && !ours; which++) {
            if (tc_slice_starts(here, LITERALS[which])) {
                TC_TRY(read_hit(w, line, at, which, &ours));
            }
        }
        *out_ours |= ours;
        /* One fact per line. */
        if (w->cursor->events != events || (ours && ROWS[which - 1].rule == TABLE)) {
            break;
        }
        from = at + 1;
    }
    return TC_OK;
}

static const struct tc__line_reader READER = {
    .literals = LITERALS, .literal_count = TC_COUNT(LITERALS), .read = read_line};

static int sniff(struct tc_codec_head head)
{
    if (tc__lines_is_markup(head.bytes) || tc__lines_is_guide(head.bytes)) {
        return TC_SNIFF_NO;
    }
    return tc__lines_count(&READER, head.bytes, 1) > 0 ? TC_SNIFF_LIKELY : TC_SNIFF_NO;
}

const struct tc_codec tc_codec_slurm = {
    .name = "slurm",
    .summary = "Slurm: job logs, slurmctld and slurmd, scontrol, sinfo, sacct, squeue, seff",
    .known_by = "wordings of srun, slurmstepd, slurmctld and slurmd; NodeName=, JobId=, "
                "columns NODELIST, STATE, JobID, State",
    .gives = "rank_exit, oom_kill, node_condition",
    .example = "srun: error: gpu-07: task 3: Exited with exit code 1",
    .ordered = false,
    .picks_lines = true,
    .sniff = sniff,
    .lines = &READER,
    .last_time = tc__lines_last_time,
};
