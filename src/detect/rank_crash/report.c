/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a rank_crash verdict. */
#include "base/time.h"
#include "detect/finding_priv.h"
#include "detect/rank_crash/priv.h"
#include "detect/words_priv.h"
#include "event/format.h"

#define KEY(name) TC_LIT("tracecore.alert.rank_crash." name)
/* GPUs of a node that are asked whose they are. */
/* The rest of a message is in the evidence. */
#define QUOTE_MAX 160

static const struct {
    const char *discriminator;
    const char *advice; /* of the process and where it ran */
} KINDS[] = {
    [CRASH_CUDA] = {"cuda_error",
                    "Look at the GPU of {}{} first: an Xid in the kernel log of the node, ECC "
                    "errors in nvidia-smi -q. If there is none it is the program: run it again "
                    "with CUDA_LAUNCH_BLOCKING=1, or under compute-sanitizer."},
    [CRASH_NCCL] = {"nccl_error",
                    "Start with {}{}: run again with NCCL_DEBUG=INFO, which says which call "
                    "failed. Check the interface (NCCL_SOCKET_IFNAME), the InfiniBand ports and "
                    "the GPUs there."},
    [CRASH_GPU_MEMORY] = {"out_of_memory_gpu",
                          "The GPU memory of {}{} was full: check with nvidia-smi that no other "
                          "process holds some of it; then use a smaller batch or sequence, "
                          "activation checkpointing, or shard more."},
    [CRASH_LOADER] = {"dataloader_worker",
                      "A data loader worker of {}{} died. After a bus error give the container "
                      "more /dev/shm (--shm-size, an emptyDir of medium Memory); after a kill look "
                      "for an OOM kill in the kernel log; num_workers=0 shows an exception of the "
                      "worker itself."},
    [CRASH_EXCEPTION] = {"exception",
                         "Start with the stack of {}{} and fix that error: the errors of other "
                         "ranks follow from its end."},
    [CRASH_SIGNAL] = {"signal",
                      "Find out what killed {}{}: after SIGKILL look for an OOM kill in the kernel "
                      "log of its node, after SIGSEGV, SIGBUS or SIGABRT for the core dump and the "
                      "last lines of its log."},
};

static const struct {
    const char *word;
    const char *says;
} TELLERS[] = {
    [CRASH_BY_TRACEBACK] = {"traceback", "Its stack ends with"},
    [CRASH_BY_PROCESS] = {"process", "The process says"},
    [CRASH_BY_LOADER] = {"loader", "Its data loader says"},
    [CRASH_BY_LAUNCHER] = {"launcher", "The launcher reports"},
    [CRASH_BY_SHELL] = {"shell", "The shell reports"},
    [CRASH_BY_STEP] = {"step", "Slurm reports"},
    [CRASH_BY_CONTAINER] = {"container", "The kubelet reports"},
    [CRASH_BY_JOB] = {"job", "Slurm reports"},
};

static const char *const SIGNALS[] = {
    [1] = "SIGHUP", [3] = "SIGQUIT", [4] = "SIGILL",  [5] = "SIGTRAP",  [6] = "SIGABRT",
    [7] = "SIGBUS", [8] = "SIGFPE",  [9] = "SIGKILL", [11] = "SIGSEGV", [31] = "SIGSYS"};

static const struct crash_fact *words_of(const struct crash_choice *c)
{
    return c->words != NULL ? c->words : c->culprit;
}

static int64_t local_rank(const struct crash_choice *c)
{
    return c->culprit->local_rank >= 0 ? c->culprit->local_rank : words_of(c)->local_rank;
}

/* Whether a fact can be of the process that was chosen: of its rank, or of none and with the same
 * end, as a handler of signals tells of it, or of a job that has but one node. */
static bool tells_node(const struct crash_fact *f, const struct crash_fact *end, int32_t rank)
{
    bool nobodys = f->rank < 0 && f->part == CRASH_OWN && f->ends && f->signal > 0;
    return f->node.len > 0 && !f->gone &&
           ((rank >= 0 && f->rank == rank) || (nobodys && end != NULL && f->signal == end->signal));
}

/* The node that anything of this incident says the rank is on: the first that names the rank, else
 * the only one. */
static void fill_node(const struct crash_state *st, const struct crash_job *job,
                      const struct crash_fact *end, struct tc_scope *io)
{
    struct crash_fact chain = {.incident = job->incident};
    const struct crash_fact *first = NULL;
    bool several = false;
    const struct crash_fact *f = tc__window_newest(&st->facts, &chain);
    for (; f != NULL && io->node.len == 0; f = tc__window_older(&st->facts, f)) {
        if (!tells_node(f, end, io->rank)) {
            continue;
        }
        several = several || (first != NULL && !tc_slice_eq(f->node, first->node));
        bool better = first == NULL || (f->rank >= 0 && first->rank < 0) ||
                      (f->rank == first->rank && tc__mark_before(&f->mark, &first->mark));
        first = better ? f : first;
    }
    if (first != NULL && (first->rank >= 0 || !several)) {
        io->node = first->node;
    }
}

struct tc_scope tc__crash_scope(const struct crash_state *st, const struct crash_job *job,
                                const struct crash_choice *c)
{
    const struct crash_fact *told[] = {c->culprit, c->words, c->end};
    struct tc_scope scope = TC_SCOPE_NONE;
    for (size_t i = 0; i < TC_COUNT(told); i++) {
        const struct crash_fact *f = told[i];
        if (f == NULL) {
            continue;
        }
        (void)tc__text_fill(&scope.node, f->node);
        (void)tc__text_fill(&scope.ns, f->ns);
        (void)tc__text_fill(&scope.pod, f->pod);
        (void)tc__text_fill(&scope.pod_uid, f->pod_uid);
        (void)tc__text_fill(&scope.container, f->container);
        scope.rank = scope.rank >= 0 ? scope.rank : f->rank;
        scope.pid = scope.pid >= 0 ? scope.pid : f->pid;
    }
    fill_node(st, job, c->end, &scope);
    scope.job = job->is_job != 0 ? job->name : TC_EMPTY;
    tc_directory_place_rank(st->directory, &scope);
    return scope;
}

uint64_t tc__crash_told(const struct crash_choice *c, const struct tc_scope *scope)
{
    const struct crash_fact *w = words_of(c);
    uint64_t hash = tc_hash_mix((uint64_t)w->kind, (uint64_t)w->mark.time_ns);
    hash = tc_hash_mix(hash, tc_hash_mix(w->mark.raw.source, w->mark.raw.offset));
    hash = tc_hash_mix(hash, tc_hash_mix((uint64_t)scope->rank, (uint64_t)c->others));
    hash = tc_hash_mix(hash, c->end == NULL ? 0 : (uint64_t)c->end->mark.raw.offset + 2);
    hash = tc_hash_mix(hash, (uint64_t)c->proved);
    hash = tc_slice_hash(scope->node, hash);
    hash = tc_slice_hash(scope->pod, hash);
    return tc_slice_hash(scope->gpu_uuid, hash) | 2;
}

static void write_signal(struct tc_buf *b, const struct tc_arg *arg)
{
    bool named = arg->integer > 0 && arg->integer < (int64_t)TC_COUNT(SIGNALS) &&
                 SIGNALS[arg->integer] != NULL;
    tc_format(b, "{}",
              named ? TC_ARG(SIGNALS[arg->integer]) : tc_when(true, "signal {}", arg->integer));
}

static struct tc_arg signal_name(int64_t signal)
{
    return (struct tc_arg){.write = write_signal, .integer = signal};
}

/* How a fact says that the process ended: "exit code 1", "SIGKILL". */
static void write_status(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct crash_fact *f = arg->object;
    if (f->signal > 0) {
        tc_format(b, "{}", signal_name(f->signal));
    } else {
        tc_format(b, "exit code {}", f->exit_code);
    }
}

/* Who failed: "Rank 3", "Local rank 2", "A process". */
struct who {
    const struct crash_choice *choice;
    const struct tc_scope *scope;
    bool starts; /* a sentence */
};

static void write_who(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct who *w = arg->object;
    int64_t local = local_rank(w->choice);
    if (w->scope->rank >= 0) {
        tc_format(b, "{}ank {}", w->starts ? "R" : "r", w->scope->rank);
    } else if (local >= 0) {
        tc_format(b, "{}ocal rank {}", w->starts ? "L" : "l", local);
    } else {
        tc_format(b, "{}", w->starts ? "A process" : "the process");
    }
    if (w->scope->job.len > 0) {
        tc_format(b, " of job {}", w->scope->job);
    }
}

static void write_where(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_scope *s = arg->object;
    bool pod = s->pod.len > 0;
    tc_format(b, "{}{}", tc_when(pod, " in pod {}", tc_as_pod(s->ns, s->pod)),
              tc_when(s->node.len > 0, " on node {}", s->node));
}

static void write_reason(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct crash_choice *c = arg->object;
    const struct crash_fact *w = words_of(c);
    if (w->words) {
        bool named = tc_slice_starts(w->message, w->error);
        tc_format(b, "{}{}{}", named ? TC_EMPTY : w->error, w->error.len > 0 && !named ? ": " : "",
                  tc_as_printable(tc__text_clip(w->message, QUOTE_MAX)));
    }
    if (c->end != NULL) {
        tc_format(b, "{}{}{}", w->words ? " (" : "", tc_as_written(write_status, c->end),
                  w->words ? ")" : "");
    }
}

static struct tc_slice headline(struct tc_draft *d, const struct crash_choice *c,
                                const struct tc_scope *scope)
{
    struct who who = {c, scope, true};
    return tc__draft_format(
        d, "{}{} failed{}: {}{}", tc_as_written(write_who, &who), tc_as_written(write_where, scope),
        c->others > 0 ? " first" : "", tc_as_written(write_reason, c),
        tc_when(c->others > 0, "; {} ended after it", tc_as_count(c->others, "other rank")));
}

static void put_fact(struct tc_draft *d, const struct crash_fact *f)
{
    struct tc_slice kind = f->teller == CRASH_BY_LOADER      ? TC_LIT("dataloader_error")
                           : f->teller == CRASH_BY_CONTAINER ? TC_LIT("pod_state")
                                                             : TC_LIT("rank_exit");
    bool status = f->ends && (f->signal > 0 || f->exit_code > 0);
    bool quoted = f->message.len > 0;
    struct tc_arg when = tc_time_is_date(f->mark.time_ns)
                             ? tc_as_time(f->mark.time_ns)
                             : tc_when(true, "byte {}", f->mark.raw.offset);
    struct tc_slice made =
        tc__draft_format(d, "{}:{}{}", kind, tc_when(f->rank >= 0, "rank {}:", f->rank), when);
    tc__draft_piece(
        d, kind, f->mark.time_ns, f->mark.raw, tc__mark_uid(&f->mark, made),
        tc__draft_format(
            d, "{}{}{}{}{}", TELLERS[f->teller].says, f->first ? " the first failure" : "",
            tc_when(status, "{}{}", f->first ? ", " : " ", tc_as_written(write_status, f)),
            quoted ? ": " : "", tc_as_printable(tc__text_clip(f->message, QUOTE_MAX))));
}

static void put_evidence(struct tc_draft *d, const struct crash_choice *c)
{
    if (c->words != NULL) {
        put_fact(d, c->words);
    }
    if (c->culprit != c->words) {
        put_fact(d, c->culprit);
    }
    if (c->end != NULL && c->end != c->words && c->end != c->culprit) {
        put_fact(d, c->end);
    }
    tc__draft_sort(d);
}

static void put_attrs(struct tc_draft *d, const struct crash_choice *c)
{
    const struct crash_fact *w = words_of(c);
    tc__draft_attr_text(d, KEY("reported_by"), tc_slice_cstr(TELLERS[c->culprit->teller].word));
    tc__draft_attr_text(d, KEY("error"), w->words ? w->error : TC_EMPTY);
    if (c->end != NULL && c->end->exit_code > 0) {
        tc__draft_attr_int(d, KEY("exit_code"), c->end->exit_code);
    }
    if (c->end != NULL && c->end->signal > 0) {
        tc__draft_attr_int(d, KEY("signal"), c->end->signal);
    }
    if (local_rank(c) >= 0) {
        tc__draft_attr_int(d, KEY("local_rank"), local_rank(c));
    }
    tc__draft_attr_some(d, KEY("others_ended"), c->others);
}

static struct tc_slice key_of(struct tc_draft *d, const struct crash_job *job)
{
    return tc__draft_format(d, "{}{}@{}", job->is_job != 0 ? "job " : "", job->name,
                            job->told_first.time_ns);
}

tc_status tc__crash_report(const struct crash_state *st, const struct crash_job *job,
                           const struct crash_choice *c, const struct tc_scope *scope,
                           const struct tc_sink *out)
{
    struct tc_draft d;
    tc__draft_open(&d, &tc_detector_rank_crash, st->base.scratch);
    struct tc_finding *f = &d.finding;
    enum crash_kind kind = words_of(c)->kind;
    struct who who = {c, scope, false};
    f->key = key_of(&d, job);
    f->incomplete = st->facts.lost_ns >= job->first_ns;
    f->resolved = job->resolved;
    f->severity = TC_SEVERITY_CRITICAL;
    bool full = scope->rank >= 0 && c->proved && !c->is_followed;
    f->confidence = full ? TC_CONFIDENCE_FULL : TC_CONFIDENCE_PARTIAL;
    f->discriminator = tc_slice_cstr(KINDS[kind].discriminator);
    f->headline = headline(&d, c, scope);
    f->remediation = tc__draft_format(&d, KINDS[kind].advice, tc_as_written(write_who, &who),
                                      tc_as_written(write_where, scope));
    f->scope = *scope;
    put_attrs(&d, c);
    put_evidence(&d, c);
    if (!d.full && f->evidence_count > 0) {
        f->first_ns = d.evidence[0].time_ns;
        f->last_ns = job->resolved ? job->last_ns : d.evidence[f->evidence_count - 1].time_ns;
    }
    return tc__draft_emit(&d, out);
}
