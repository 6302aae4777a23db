/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a training job died, as its own log says: the reports of launchers (torchrun, accelerate,
 * DeepSpeed, mpirun and PRRTE, MPICH, Horovod, Ray, Lightning, Composer), the stacks of Python and
 * C++, errors of CUDA, and errors of storage that a program met while it read or wrote.
 *
 * Steps, checkpoints and loaders are read by train_log, collectives by other readers of the same
 * file. Each wording is a row of one table; what needs the lines around it is in trace.c and
 * launch.c.
 */
#include "codec/codec.h"
#include "base/limits.h"
#include "base/time.h"
#include "codec/job_log/priv.h"

#define S(literal) TC_LIT(literal)

/* Places of a line that are looked at. */
#define HITS_MAX 16

enum rule {
    EXIT,
    FIRST,
    LINE,    /* as EXIT, of the whole line */
    CRASHED, /* the same, and the process itself says so */
    KILLED,  /* as EXIT, by SIGKILL */
    AGENT,
    TABLE,
    FRAME,
    TERMINATE,
    WATCHDOG,
    PEER,
    SHELL,
    REPLICA,
    PLACE,
    MAPPING,
    STOPPED,
    CUDA,
    ERRNO,
    RAY_OOM
};

#define HYDRA                                                                                  \
    "<*KILLED BY SIGNAL: {4%d}|*EXIT STRING: *(signal {4%d})|*EXIT STATUS: {3%f}|*EXIT CODE: " \
    "{3%f}|>"

/*
 * Each wording by a part of it that is rare, and what follows that part. For EXIT and FIRST, where
 * the launcher says that this process failed before the others, the slots are those of launch.c,
 * and the number is how many lines below it may run on to; for LINE and CRASHED they are those of
 * the whole line; for CUDA the text is the name of the fault.
 */
#define RULES(X)                                                                              \
    X("failed (exitcode: ", AGENT, 0, "")                                                     \
    X("exitcode ", TABLE, 0, "")                                                              \
    X(", line ", FRAME, 0, "")                                                                \
    X("terminate called after throwing an instance of '", TERMINATE, 0, "")                   \
    X(": line ", SHELL, 0, "")                                                                \
    X("thread terminated with exception: ", WATCHDOG, 0, "")                                  \
    X("/task:", PEER, 0, "")                                                                  \
    X("local_rank", PLACE, 0, "")                                                             \
    X(" on host ", PLACE, 0, "")                                                              \
    X(" on node ", PLACE, 0, "")                                                              \
    X("MCW rank ", PLACE, 0, "")                                                              \
    X("reported by process [", PLACE, 0, "")                                                  \
    X("MPI startup(): ", PLACE, 0, "")                                                        \
    X("global_rank_mapping=", MAPPING, 0, "")                                                 \
    X("Memory on the node (IP: ", KILLED, 0, "{2%w}*pid={1%d}")                               \
    /* docker compose */                                                                      \
    X("exited with code ", REPLICA, 0, "{3%d}$")                                              \
    /* PALS, ALPS, jsrun, and programs that start others */                                   \
    X(" died from signal ", LINE, 0, "<*rank|*Rank> {0%d} died from signal {4%d}")            \
    X("PE RANK ", EXIT, 0, "{0%d} exit signal {5*}")                                          \
    X("(first noticed rank ", FIRST, 0, "{0%d}) terminated with <signal {4%d}|* {3%d}>")      \
    X(" exited", LINE, 0,                                                                     \
      "<*rank {0%d}|*Rank {0%d}|*pid {1%d}|*PID {1%d}><)|> exited<:|> <with |on |by |><exit " \
      "|><signal {4%d}|code {3%f}|status {3%f}>")                                             \
    /* What processes write while they die: UCX, Open MPI, Python's faulthandler */           \
    X("] Caught signal ", CRASHED, 0, "[{2%n}:{1%d}:%d:%d] Caught signal {4%d}")              \
    X("] Signal: ", CRASHED, 0, "[{2%n}:{1%d}] Signal: *({4%d})")                             \
    X("Fatal Python error: ", CRASHED, 0, "*Fatal Python error: {5*}")                        \
    /* DeepSpeed, Horovod */                                                                  \
    X("exits with return code = ", FIRST, 0, "{3%f}")                                         \
    X("Process name: ", FIRST, 2,                                                             \
      "<[[%d,%d],{0%d}]|[*@%d,{0%d}]|{0%d}>%s<Exit code|exit code|exitcode>:%s{3%f}")         \
    X("Process ", EXIT, 0, "{0%d} exit with status code {3%f}")                               \
    /* Lightning, Composer */                                                                 \
    X("[rank: ", FIRST, 0, "{0%d}] Child process with PID {1%d} terminated with code {3%f}")  \
    X("Global rank ", EXIT, 0, "{0%d} (PID {1%d}) exited with code {3%f}")                    \
    /* Open MPI: ORTE and PRRTE; MPICH and Intel MPI */                                       \
    X("process rank ", FIRST, 2,                                                              \
      "{0%d} with PID {1%d} on<| the> node {2%n} exit<ed on signal {4%d}|>")                  \
    X("MPI_ABORT was invoked ", FIRST, 2,                                                     \
      "<on|by> rank {0%d} <*with errorcode {3%f}|*Errorcode: {3%f}>")                         \
    X("RANK ", EXIT, 8, "{0%d} PID {1%d} RUNNING AT {2%n}" HYDRA)                             \
    X("PID ", EXIT, 8, "{1%d} RUNNING AT {2%n}" HYDRA)                                        \
    /* Ray */                                                                                 \
    X("Worker IP address: ", EXIT, 0, "{2%n} *Worker PID: {1%d} Worker exit type: ")          \
    X("The actor died unexpectedly", EXIT, 8, "*pid: {1%d}<*ip: {2%n}|>")                     \
    X("killed due to memory pressure (OOM)", RAY_OOM, 0, "")                                  \
    /* Somebody ended the job: torchrun, Lightning */                                         \
    X(" death signal, shutting down workers", STOPPED, 0, "")                                 \
    X("Received SIGTERM: ", STOPPED, 0, "")                                                   \
    /* CUDA: cudaGetErrorString() and the names of the errors */                              \
    X("uncorrectable ECC error encountered", CUDA, 0, "cuda_ecc")                             \
    X("cudaErrorECCUncorrectable:", CUDA, 0, "cuda_ecc")                                      \
    X("CUDA_ERROR_ECC_UNCORRECTABLE:", CUDA, 0, "cuda_ecc")                                   \
    X("uncorrectable NVLink error", CUDA, 0, "cuda_nvlink")                                   \
    X("peer GPU memory over nvlink or a hardware error", CUDA, 0, "cuda_nvlink")              \
    X("an illegal memory access was encountered", CUDA, 0, "cuda_illegal_address")            \
    X("an illegal instruction was encountered", CUDA, 0, "cuda_illegal_instruction")          \
    X("unspecified launch failure", CUDA, 0, "cuda_launch_failure")                           \
    X("the launch timed out and was terminated", CUDA, 0, "cuda_launch_timeout")              \
    X("hardware stack error", CUDA, 0, "cuda_hardware_stack")                                 \
    X("CUDA-capable device(s) is/are busy or unavailable", CUDA, 0, "cuda_unavailable")       \
    X("CUDA-capable devices are busy or unavailable", CUDA, 0, "cuda_unavailable")            \
    X("no CUDA-capable device is detected", CUDA, 0, "cuda_no_device")                        \
    X("system not yet initialized", CUDA, 0, "cuda_not_initialized")                          \
    X("CUDA error: unknown error", CUDA, 0, "cuda_unknown")                                   \
    X("CUDA unknown error", CUDA, 0, "cuda_unknown")                                          \
    /* Python; Rust and what is written in it */                                              \
    X("[Errno ", ERRNO, 0, "{0%d}] {5*}")                                                     \
    X("(os error ", ERRNO, 0, "{0%d})")                                                       \
    X("Os { code: ", ERRNO, 0, "{0%d}, {5*}")

#define RULE_LITERAL(text, rule, lines, says) {(text), sizeof(text) - 1},
#define RULE_ROW(text, rule, lines, says) {rule, lines, says},

static const struct tc_slice LITERALS[] = {RULES(RULE_LITERAL)};
static const struct row {
    enum rule rule;
    unsigned lines;
    const char *says;
} ROWS[] = {RULES(RULE_ROW)};

/*
 * What the errors of files are called. Sockets know some of them too: those are of storage only
 * where a path is named.
 */
static const struct {
    uint64_t number;
    const char *fault;
    bool needs_path;
} ERRNOS[] = {
    {5, "io_error", false},         {19, "no_device", true},      {28, "no_space", false},
    {30, "readonly", false},        {61, "no_data", true},        {74, "bad_message", true},
    {103, "not_connected", true},   {107, "not_connected", true}, {108, "not_connected", false},
    {110, "timed_out", true},       {112, "host_down", true},     {113, "no_route", true},
    {116, "stale_handle", false},   {117, "fs_corrupted", false}, {121, "io_error", false},
    {122, "quota_exceeded", false},
};

/* The first absolute path in quotes: OSError names the file behind the text of the error. */
static struct tc_slice quoted_path(struct tc_slice text)
{
    static const char quotes[] = {'\'', '"'};
    for (size_t i = 0; i < TC_COUNT(quotes); i++) {
        char opening[] = {quotes[i], '/', '\0'};
        size_t at = tc_slice_find(text, tc_slice_cstr(opening));
        if (at == TC_NPOS) {
            continue;
        }
        struct tc_slice path = tc_slice_from(text, at + 1);
        size_t len = tc_slice_find_byte(path, quotes[i]);
        if (len != TC_NPOS) {
            return tc_slice_head(path, len);
        }
    }
    return TC_EMPTY;
}

static tc_status read_errno(struct tc__lines *w, const struct tc__line *line, struct tc_slice after,
                            const char *says, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice path = quoted_path(after);
    uint64_t number = 0;
    if (!tc__text_match(after, says, got) || tc_slice_u64(got[0], &number) == 0) {
        return TC_OK;
    }
    for (size_t i = 0; i < TC_COUNT(ERRNOS); i++) {
        if (ERRNOS[i].number != number || (ERRNOS[i].needs_path && path.len == 0)) {
            continue;
        }
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_STORAGE_ERROR);
        ev.fault.fault = tc_slice_cstr(ERRNOS[i].fault);
        ev.fault.device = tc_slice_head(path, TC_SCOPE_TEXT_MAX);
        ev.fault.message = tc_slice_head(line->text, JOB_MESSAGE_MAX);
        *out_ours = true;
        return tc__lines_deliver(w, line, &ev);
    }
    return TC_OK;
}

/* The text of an error is only that of a process that met it behind the word CUDA. */
static tc_status read_cuda(struct tc__lines *w, const struct tc__line *line, size_t at,
                           const char *fault, bool *out_ours)
{
    struct tc_event ev;
    if (tc_slice_find_nocase(tc_slice_head(line->text, at + 4), S("cuda")) == TC_NPOS) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_DRIVER_FAULT);
    ev.fault.fault = tc_slice_cstr(fault);
    ev.fault.message = tc_slice_head(line->text, JOB_MESSAGE_MAX);
    *out_ours = true;
    return tc__lines_deliver(w, line, &ev);
}

/* "4 Workers (tasks / actors) killed due to memory pressure (OOM), ... at node (ID: .., IP: ..)" */
static tc_status read_ray_oom(struct tc__lines *w, const struct tc__line *line, size_t at,
                              bool *out_ours)
{
    struct tc_slice before = tc_slice_trim(tc_slice_head(line->text, at));
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_event ev;
    size_t workers = tc_slice_find_last(before, S(" Workers (tasks / actors)"));
    if (workers == TC_NPOS || workers == 0 || before.ptr[workers - 1] < '0' ||
        before.ptr[workers - 1] > '9' ||
        (before.ptr[workers - 1] == '0' && (workers == 1 || before.ptr[workers - 2] == ' '))) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_OOM_KILL);
    ev.oom.constraint = S("RAY_MEMORY_MONITOR");
    ev.oom.message = tc_slice_head(line->text, JOB_MESSAGE_MAX);
    if (tc__text_match(tc_slice_from(line->text, at), "* IP: {0%w}", got)) {
        ev.scope.node = tc_slice_head(got[0], TC_SCOPE_TEXT_MAX);
    }
    *out_ours = true;
    return tc__lines_deliver(w, line, &ev);
}

/* What fails from here on was told to end. */
static tc_status read_stopped(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    ev.exit.told_by = S("launcher");
    ev.exit.role = S("stopped");
    ev.exit.message = tc_slice_head(line->text, JOB_MESSAGE_MAX);
    *out_ours = true;
    return tc__lines_deliver(w, line, &ev);
}

static tc_status read_hit(struct tc__lines *w, const struct tc__line *line, size_t at,
                          unsigned which, bool *out_ours)
{
    const struct row *row = &ROWS[which];
    struct tc_slice after = tc_slice_from(line->text, at + LITERALS[which].len);
    switch (row->rule) {
    case EXIT:
    case FIRST:
    case LINE:
    case CRASHED:
    case KILLED: {
        bool whole = row->rule == LINE || row->rule == CRASHED;
        struct tc__job_report report = {row->says, row->lines, row->rule == FIRST,
                                        row->rule == CRASHED, row->rule == KILLED ? 9 : 0};
        return tc__job_read_exit(w, line, whole ? line->text : after, &report, out_ours);
    }
    case WATCHDOG:
        return tc__job_read_watchdog(w, line, after, out_ours);
    case PEER:
        return tc__job_read_peer(w, line, out_ours);
    case REPLICA:
        return tc__job_read_replica(w, line, out_ours);
    case PLACE:
        return tc__job_read_place(w, line, out_ours);
    case MAPPING:
        return tc__job_read_mapping(w, line, after, out_ours);
    case AGENT:
        return tc__job_read_agent(w, line, after, out_ours);
    case TABLE:
        return tc__job_read_table(w, line, after, out_ours);
    case FRAME:
        return tc__job_read_frame(w, line, out_ours);
    case TERMINATE:
        return tc__job_read_terminate(w, line, after, out_ours);
    case SHELL:
        return tc__job_read_shell(w, line, after, out_ours);
    case STOPPED:
        return read_stopped(w, line, out_ours);
    case CUDA:
        return read_cuda(w, line, at, row->says, out_ours);
    case ERRNO:
        return read_errno(w, line, after, row->says, out_ours);
    case RAY_OOM:
        return read_ray_oom(w, line, at, out_ours);
    }
    return TC_OK;
}

/* A line may say several things, but none twice: the names of an error and its text. */
static tc_status read_line(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    bool done[RAY_OOM + 1] = {false};
    size_t from = 0;
    if (tc__line_is_past(w, line) || tc__job_is_tested(w, line)) {
        *out_ours = true;
        return TC_OK;
    }
    if (line->raw.len > line->text.len) {
        TC_TRY(tc__job_read_json_stack(w, line, out_ours));
        if (*out_ours) {
            return TC_OK;
        }
    }
    for (int i = 0; i < HITS_MAX; i++) {
        unsigned which = 0;
        size_t at = tc_scan_next(&w->scan, line->text, from, &which);
        if (at == TC_NPOS) {
            break;
        }
        struct tc_slice here = tc_slice_from(line->text, at);
        /* The wordings that begin here, the first that fits. */
        for (bool ours = false; which < TC_COUNT(LITERALS) && !ours; which++) {
            if (!done[ROWS[which].rule] && tc_slice_starts(here, LITERALS[which])) {
                TC_TRY(read_hit(w, line, at, which, &ours));
                done[ROWS[which].rule] |= ours;
                *out_ours |= ours;
            }
        }
        from = at + 1;
    }
    return TC_OK;
}

static const struct tc__line_reader READER = {
    .literals = LITERALS,
    .literal_count = TC_COUNT(LITERALS),
    .read = read_line,
    .of_processes = true,
};

static int sniff(struct tc_codec_head head)
{
    if (tc__lines_is_markup(head.bytes) || tc__lines_is_guide(head.bytes)) {
        return TC_SNIFF_NO;
    }
    if (tc__lines_count(&READER, head.bytes, 1) > 0) {
        return TC_SNIFF_LIKELY;
    }
    return tc__job_is_healthy_log(head.bytes) ? TC_SNIFF_MAYBE : TC_SNIFF_NO;
}

const struct tc_codec tc_codec_job_log = {
    .name = "job_log",
    .summary = "how a job died: reports of launchers, stacks, errors of CUDA and of storage",
    .known_by = "wordings of torchrun, DeepSpeed, mpirun, Ray and Lightning, Python's stacks, "
                "texts of CUDA's errors, [Errno N]",
    .gives = "rank_exit, rank_place, driver_fault, storage_error, oom_kill",
    .example = "failed (exitcode: -9) local_rank: 3 (pid: 4021) of binary: /usr/bin/python3",
    .ordered = true,
    .picks_lines = true,
    .sniff = sniff,
    .lines = &READER,
    .last_time = tc__lines_last_time,
};
