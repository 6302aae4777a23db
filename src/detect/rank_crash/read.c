/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an event says of a failure: whose it is, and whether a process failed by itself or because
 * another one did. The words are those of PyTorch, NCCL, gloo, CUDA, JAX and the launchers.
 */
#include "detect/rank_crash/priv.h"

#include "base/limits.h"

#define S(literal) TC_LIT(literal)
#define SIGNAL_EXIT 128
#define SIGNAL_MAX 64

enum { SIG_INT = 2, SIG_ABORT = 6, SIG_KILL = 9, SIG_PIPE = 13, SIG_TERM = 15 };

static bool says_any(const struct crash_fact *f, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct tc_slice word = tc_slice_cstr(words[i]);
        if (tc_slice_find_nocase(f->message, word) != TC_NPOS ||
            tc_slice_find_nocase(f->error, word) != TC_NPOS) {
            return true;
        }
    }
    return false;
}

#define SAYS(f, words) says_any(f, words, TC_COUNT(words))

/* The end of another rank, as those see it that talk to it. */
static bool is_followed(const struct crash_fact *f)
{
    static const char *const words[] = {
        "connection closed by",
        "connection reset",
        "connection refused",
        "broken pipe",
        "BrokenPipe",
        "ConnectionReset",
        "ConnectionRefused",
        "ConnectionAborted",
        "connection was closed",
        "socket closed",
        "socket timeout",
        "remote process exited",
        "remote peer",
        "ncclRemoteError",
        "communicator was aborted",
        "communicators were aborted",
        "ncclCommAbort",
        "operation timeout",
        "watchdog timeout",
        "collective timeout",
        "collective timed out",
        "Collective ops is aborted",
        "watchdog got stuck",
        "watchdog thread got stuck",
        "DistStoreError",
        "DistNetworkError",
        "TCPStore",
        "failed to recv",
        "Rendezvous",
        "gloo/",
        "heartbeat",
        "SIGTERM",
        "ActorDiedError",
        "RayActorError",
        "ActorUnavailableError",
        "WorkerCrashedError",
        "HorovodInternalError",
        "HostsUpdatedInterrupt",
        "died of signal 15",
        "coordination service",
        "peer task",
        "Barrier timed out",
    };
    /* A server somewhere is no rank, and who has a port is not the one that wants it. */
    static const char *const others[] = {
        "://", "HTTP", "urllib", "botocore", "requests.", "EADDRINUSE", "address already in use"};
    return SAYS(f, words) && !SAYS(f, others);
}

static bool is_interrupt(const struct crash_fact *f)
{
    static const char *const words[] = {"KeyboardInterrupt", "SignalException", "SystemExit"};
    return SAYS(f, words);
}

/* Exceptions with which a launcher tells of the process that it started. */
static bool is_launchers(struct tc_slice error)
{
    static const char *const names[] = {"CalledProcessError", "ProcessExitedException",
                                        "ChildFailedError", "TrainingFailedError",
                                        "ProcessRaisedException"};
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        if (tc_slice_ends(error, tc_slice_cstr(names[i]))) {
            return true;
        }
    }
    return false;
}

static enum crash_kind kind_of(const struct crash_fact *f)
{
    static const char *const loader[] = {"DataLoader worker", "DataLoader timed out",
                                         "Pin memory thread exited"};
    static const char *const memory[] = {
        "CUDA out of memory",    "HIP out of memory",         "CUDA error: out of memory",
        "cuda.OutOfMemoryError", "torch.OutOfMemoryError",    "RESOURCE_EXHAUSTED: Out of memory",
        "STATUS_ALLOC_FAILED",   "cudaErrorMemoryAllocation", "XPU out of memory"};
    static const char *const cuda[] = {"CUDA error",
                                       "cudaError",
                                       "CUDA_ERROR_",
                                       "CUBLAS_STATUS_",
                                       "CUDNN_STATUS_",
                                       "cuDNN error",
                                       "device-side assert",
                                       "AcceleratorError",
                                       "HIP error",
                                       "hipError",
                                       "CUSOLVER_STATUS",
                                       "CUSPARSE_STATUS",
                                       "CUFFT_",
                                       "CUDA driver",
                                       "CUDA unknown error",
                                       "No CUDA GPUs are available",
                                       "CUDA-capable device"};
    static const char *const nccl[] = {"NCCL error",  "ncclSystemError",   "ncclUnhandledCudaError",
                                       "ncclInvalid", "ncclInternalError", "RCCL error"};
    /* Its watchdog says so of all that it meets. */
    static const char *const backend[] = {"DistBackendError"};
    if (!f->words) {
        return f->signal > 0 ? CRASH_SIGNAL : CRASH_EXCEPTION;
    }
    return SAYS(f, loader)                      ? CRASH_LOADER
           : SAYS(f, memory)                    ? CRASH_GPU_MEMORY
           : SAYS(f, nccl)                      ? CRASH_NCCL
           : SAYS(f, cuda)                      ? CRASH_CUDA
           : SAYS(f, backend)                   ? CRASH_NCCL
           : f->error.len > 0 || f->signal == 0 ? CRASH_EXCEPTION
                                                : CRASH_SIGNAL;
}

static enum crash_part part_of(const struct crash_fact *f)
{
    if (f->signal == SIG_INT || (f->words && is_interrupt(f))) {
        return CRASH_STOPPED;
    }
    /* Whoever ends a process by SIGTERM wants it to end; a pipe breaks at its other end. */
    bool told = f->signal == SIG_TERM || f->signal == SIG_PIPE;
    return told || (f->words && is_followed(f)) ? CRASH_FOLLOWED : CRASH_OWN;
}

static enum crash_teller teller_of(struct tc_slice told_by, const struct tc_ev_exit *exit)
{
    static const struct {
        const char *name;
        enum crash_teller teller;
    } table[] = {
        {"traceback", CRASH_BY_TRACEBACK}, {"process", CRASH_BY_PROCESS},
        {"launcher", CRASH_BY_LAUNCHER},   {"shell", CRASH_BY_SHELL},
        {"step", CRASH_BY_STEP},           {"job", CRASH_BY_JOB},
    };
    for (size_t i = 0; i < TC_COUNT(table); i++) {
        if (tc_slice_eq(told_by, tc_slice_cstr(table[i].name))) {
            return table[i].teller;
        }
    }
    return exit->exit_code > 0 || exit->signal > 0 ? CRASH_BY_LAUNCHER : CRASH_BY_TRACEBACK;
}

static bool read_exit(const struct tc_ev_exit *exit, struct crash_fact *out)
{
    out->error = tc_slice_head(exit->error, CRASH_ERROR_MAX);
    out->message = exit->message;
    out->exit_code = exit->exit_code;
    out->signal = exit->signal;
    out->local_rank = exit->local_rank;
    out->teller = teller_of(exit->told_by, exit);
    if (out->signal == 0 && exit->exit_code > SIGNAL_EXIT &&
        exit->exit_code <= SIGNAL_EXIT + SIGNAL_MAX) {
        out->signal = exit->exit_code - SIGNAL_EXIT;
    }
    out->words = exit->error.len > 0 && !is_launchers(exit->error);
    out->ends = out->teller != CRASH_BY_TRACEBACK && (out->signal > 0 || out->exit_code > 0);
    out->first = tc_slice_eq(exit->role, S("first"));
    out->last = tc_slice_eq(exit->role, S("last"));
    out->caught = tc_slice_eq(exit->role, S("caught"));
    out->kind = kind_of(out);
    out->part = part_of(out);
    if (tc_slice_eq(exit->role, S("stopped"))) {
        out->part = CRASH_STOPPED;
    } else if (out->teller == CRASH_BY_JOB) {
        out->part = CRASH_ENDED;
    } else if (out->teller == CRASH_BY_TRACEBACK && !out->words) {
        out->part = CRASH_TORN;
        return out->last;
    }
    return true;
}

/* What the kubelet ends, or somebody deletes, ends by SIGTERM or SIGKILL; a rank that waited for
 * another one until its watchdog's timeout by SIGABRT. */
static bool read_container(const struct tc_event *ev, struct crash_fact *out)
{
    const struct tc_ev_pod *pod = &ev->pod;
    bool failed = tc_slice_eq(pod->phase, S("Failed")) || tc_slice_eq(pod->reason, S("Error")) ||
                  tc_slice_eq(pod->reason, S("ContainerCannotRun"));
    if (pod->exit_code <= 0 || !failed) {
        return false;
    }
    out->message = pod->message;
    out->exit_code = pod->exit_code;
    out->signal = pod->signal;
    out->teller = CRASH_BY_CONTAINER;
    out->ends = true;
    out->kind = out->signal > 0 ? CRASH_SIGNAL : CRASH_EXCEPTION;
    bool memory = tc_slice_eq(pod->reason, S("OOMKilled"));
    bool ended = out->signal == SIG_KILL || out->signal == SIG_TERM || out->signal == SIG_INT ||
                 out->signal == SIG_ABORT ||
                 !(pod->reason.len == 0 || tc_slice_eq(pod->reason, S("Error")));
    ended = ended && !memory;
    out->part = ended || ev->scope.rank < 0 ? CRASH_ENDED : CRASH_OWN;
    return true;
}

bool tc__crash_tells(const struct tc_event *ev)
{
    return ev->kind == TC_EVENT_NCCL_RECORD ? ev->nccl.timed_out
           : ev->kind == TC_EVENT_POD_STATE ? ev->pod.exit_code > 0
                                            : true;
}

bool tc__crash_read(const struct tc_event *ev, struct crash_fact *out)
{
    *out = (struct crash_fact){
        .node = ev->scope.node,
        .ns = ev->scope.ns,
        .pod = ev->scope.pod,
        .pod_uid = ev->scope.pod_uid,
        .container = ev->scope.container,
        .mark = tc__mark(ev),
        .pid = ev->scope.pid,
        .exit_code = -1,
        .local_rank = -1,
        .rank = ev->scope.rank,
    };
    bool said = false;
    if (ev->kind == TC_EVENT_RANK_EXIT) {
        said = read_exit(&ev->exit, out);
    } else if (ev->kind == TC_EVENT_POD_STATE) {
        said = read_container(ev, out);
    } else if (ev->kind == TC_EVENT_LOADER_ERROR) {
        out->message = ev->train.message;
        out->teller = CRASH_BY_LOADER;
        out->kind = CRASH_LOADER;
        out->words = true;
        said = true;
    } else if (ev->kind == TC_EVENT_NCCL_RECORD) {
        out->part = CRASH_TIMED_OUT;
        said = true;
    }
    out->message = tc_slice_head(out->message, CRASH_MESSAGE_MAX);
    return said;
}

static struct tc_slice without_number(struct tc_slice name)
{
    size_t len = name.len;
    while (len > 0 && name.ptr[len - 1] >= '0' && name.ptr[len - 1] <= '9') {
        len--;
    }
    return len > 1 && len < name.len && name.ptr[len - 1] == '-' ? tc_slice_head(name, len - 1)
                                                                 : name;
}

static const char *const ROLES[] = {"-worker", "-master", "-launcher", "-chief", "-head", "-ps"};

bool tc__crash_is_role(const struct tc_scope *s)
{
    struct tc_slice name = without_number(s->pod);
    for (size_t i = 0; i < TC_COUNT(ROLES) && s->ns.len == 0 && s->container.len == 0; i++) {
        if (tc_slice_eq(name, tc_slice_from(tc_slice_cstr(ROLES[i]), 1))) {
            return true;
        }
    }
    return false;
}

struct tc_slice tc__crash_role(struct tc_slice pod)
{
    struct tc_slice name = without_number(pod);
    for (size_t i = 0; i < TC_COUNT(ROLES); i++) {
        struct tc_slice role = tc_slice_cstr(ROLES[i]);
        if (name.len > role.len && tc_slice_ends(name, role)) {
            return tc_slice_from(pod, name.len - role.len + 1);
        }
    }
    return TC_EMPTY;
}

struct tc_slice tc__crash_workload(struct tc_slice pod)
{
    struct tc_slice name = without_number(pod);
    struct tc_slice role = tc__crash_role(pod);
    return role.len > 0 ? tc_slice_head(pod, pod.len - role.len - 1) : name;
}
