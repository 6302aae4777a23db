/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a host_oom verdict. */
#include "detect/detector.h"
#include "detect/host_oom/priv.h"
#include "detect/words_priv.h"
#include "event/format.h"

#define KEY(name) TC_LIT("tracecore.alert.host_oom." name)
#define KB_PER_TENTH (INT64_C(1048576) / 10) /* of a GiB */

static const struct {
    const char *discriminator;
    const char *cause;
    const char *advice; /* where not the pod itself is at fault: of node and pod */
} CAUSES[] = {
    /* The kubelet says OOMKilled when a container ran into its own limit. */
    [OOM_UNKNOWN] = {"container_limit", "the container ran out of memory", NULL},
    [OOM_LIMIT] = {"container_limit", "the container hit its memory limit", NULL},
    [OOM_NODE] = {"node_memory", "the node ran out of memory",
                  "On {}: find what holds the memory (pods without limits, daemons, "
                  "/dev/shm), give it limits that fit the node together, then restart {}."},
    [OOM_NUMA] = {"cpuset_numa", "the NUMA nodes it is bound to ran out of memory",
                  "On {}: other NUMA nodes may still have memory. Widen cpuset.mems or the "
                  "numactl binding of {}, or move what shares its NUMA node."},
    [OOM_PRESSURE] = {"memory_pressure", "the memory pressure was too high for too long",
                      "On {}: oomctl shows which slice systemd-oomd watches, and its limit. "
                      "Give {} memory that it stays below, find what else fills the node, or take "
                      "the pods' slice away from systemd-oomd."},
};

static const char *const TIES[] = {
    [OOM_TIE_CGROUP] = "cgroup", [OOM_TIE_PID] = "pid", [OOM_TIE_NODE] = "node"};

static struct tc_arg node_name(const struct oom_pod *pod)
{
    return tc__as_node(pod->node);
}

static void write_pod(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct oom_pod *pod = arg->object;
    if (pod->podless && pod->rank < 0) {
        tc_format(b, "{}{}", pod->job.len > 0 ? "job " : "a job", pod->job);
    } else if (pod->podless) {
        tc_format(b, "rank {}", pod->rank);
    } else if (pod->name.len == 0) {
        tc_format(b, "the pod with uid {}", pod->uid);
    } else {
        tc_format(b, "pod {}", tc_as_pod(pod->ns, pod->name));
    }
}

static struct tc_arg pod_name(const struct oom_pod *pod)
{
    return tc_as_written(write_pod, pod);
}

/* "92.8 GiB", "410 MiB" */
static void write_size(struct tc_buf *b, const struct tc_arg *arg)
{
    int64_t tenths = arg->integer / KB_PER_TENTH;
    if (tenths >= 10) {
        tc_format(b, "{}.{} GiB", tenths / 10, tenths % 10);
    } else if (arg->integer >= 1024) {
        tc_format(b, "{} MiB", arg->integer / 1024);
    } else {
        tc_format(b, "{} KiB", arg->integer);
    }
}

static struct tc_arg size_of_kb(int64_t kb)
{
    return (struct tc_arg){.write = write_size, .integer = kb};
}

static void write_victims(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct oom_burst *burst = arg->object;
    bool named = burst->name_count > 0;
    bool sized = burst->biggest.known;
    struct tc_arg size = size_of_kb(burst->biggest.rss_kb);
    if (burst->kills > 1) {
        tc_format(b, "{} processes", burst->kills);
        for (unsigned i = 0; i < burst->name_count; i++) {
            tc_format(b, "{}{}", i == 0 ? " (" : ", ", tc__oom_word(&burst->names[i]));
        }
        tc_format(b, "{}{}", tc_when(sized, "{}the largest held {}", named ? "; " : " (", size),
                  named || sized ? ")" : "");
        return;
    }
    bool pid = burst->first.pid >= 0;
    tc_format(b, "{}{}{}{}", named ? tc__oom_word(&burst->names[0]) : TC_LIT("a process"),
              tc_when(pid, " (pid {}", burst->first.pid),
              tc_when(sized, "{}{}", pid ? ", " : " (", size), pid || sized ? ")" : "");
}

static struct tc_slice headline(struct tc_draft *d, const struct oom_pod *pod)
{
    const struct oom_burst *burst = &pod->burst;
    bool sure = burst->tie != OOM_TIE_NODE;
    bool own = pod->podless && burst->cause == OOM_LIMIT;
    bool swap = tc_slice_eq(tc__oom_word(&burst->first.constraint), TC_LIT("OOMD_SWAP"));
    struct tc_arg victims = tc_as_written(write_victims, burst);
    if (burst->first.oomd) {
        victims = TC_ARG(burst->kills > 1 ? "the processes of several cgroups"
                                          : "all processes of a cgroup");
    }
    return tc__draft_format(
        d, "{} killed {}{} {}{} on {}: {}", burst->first.oomd ? "systemd-oomd" : "The kernel",
        victims, sure ? " of" : ", it seems of", pod_name(pod), sure ? "" : ",", node_name(pod),
        swap  ? "memory and swap were nearly full"
        : own ? burst->first.slurm ? "it hit its memory limit" : "its cgroup hit its memory limit"
              : CAUSES[burst->cause].cause);
}

static struct tc_slice remediation(struct tc_draft *d, const struct oom_pod *pod)
{
    struct tc_slice container = pod->end.known ? tc__oom_word(&pod->end.container) : TC_EMPTY;
    const char *advice = CAUSES[pod->burst.cause].advice;
    if (advice != NULL) {
        return tc__draft_format(d, advice, node_name(pod), pod_name(pod));
    }
    return tc__draft_format(
        d,
        "For {}: raise the memory limit{}{}, or use less: fewer data loader "
        "workers, a smaller prefetch_factor, no caches without bound. The node "
        "is not at fault.",
        pod_name(pod), tc_when(container.len > 0, " of container {}", container),
        pod->burst.first.slurm ? " (--mem, --mem-per-cpu or --mem-per-gpu)" : "");
}

static void put_line(struct tc_draft *d, const struct oom_pod *pod, const struct oom_line *line)
{
    bool kernel = line->source == OOM_BY_KERNEL;
    struct tc_slice given = tc_slice_make(line->uid, line->uid_len);
    struct tc_arg process = tc_as_known(tc__oom_word(&line->process), "a process");
    struct tc_slice constraint = tc__oom_word(&line->constraint);
    tc__draft_piece(
        d, kernel ? TC_LIT("oom_kill") : TC_LIT("k8s_event"), line->time_ns, line->raw,
        tc__text_or(given, tc__draft_format(d, "{}:{}:{}:{}", line->sized ? "killed" : "oom_kill",
                                            pod->node, line->pid, tc_as_time(line->time_ns))),
        tc__draft_format(d, "{}{}{}{}{}",
                         line->oomd    ? "systemd-oomd killed a cgroup"
                         : line->slurm ? "Slurm tells of a kill: "
                         : kernel      ? "The kernel killed "
                                       : "A node event tells of a kill: ",
                         tc_when(!line->oomd, "{}", process),
                         tc_when(line->pid >= 0, ", pid {}", line->pid),
                         tc_when(line->rss_kb >= 0, ", which held {}", size_of_kb(line->rss_kb)),
                         tc_when(constraint.len > 0, ", constraint {}", constraint)));
}

static void put_end(struct tc_draft *d, const struct oom_pod *pod)
{
    const struct oom_end *end = &pod->end;
    struct tc_slice given = tc_slice_make(end->uid, end->uid_len);
    tc__draft_piece(
        d, end->kind == TC_EVENT_POD_STATE ? TC_LIT("pod_state") : TC_LIT("k8s_event"),
        end->time_ns, end->raw,
        tc__text_or(given, tc__draft_format(d, "oom_killed:{}/{}:{}", pod->ns, pod->name,
                                            tc_as_time(end->time_ns))),
        tc__draft_format(d, "{}{} of {} ended as OOMKilled{}",
                         end->container.len > 0 ? "Container " : "A container",
                         tc__oom_word(&end->container), pod_name(pod),
                         tc_when(end->exit_code >= 0, " with exit code {}", end->exit_code)));
}

static bool same_raw(const struct oom_line *a, const struct oom_line *b)
{
    return a->raw.source == b->raw.source && a->raw.offset == b->raw.offset &&
           a->time_ns == b->time_ns && a->sized == b->sized && a->pid == b->pid;
}

/* In order of time, so that the trail reads as it happened. */
static void put_evidence(struct tc_draft *d, const struct oom_pod *pod)
{
    const struct oom_burst *burst = &pod->burst;
    put_line(d, pod, &burst->first);
    if (burst->biggest.known && !same_raw(&burst->biggest, &burst->first)) {
        put_line(d, pod, &burst->biggest);
    }
    if (burst->kills > 1 && !same_raw(&burst->last, &burst->first) &&
        !(burst->biggest.known && same_raw(&burst->last, &burst->biggest))) {
        put_line(d, pod, &burst->last);
    }
    if (pod->end.known) {
        put_end(d, pod);
    }
    tc__draft_sort(d);
    if (d->full) { /* emit says so */
        return;
    }
    int64_t first_ns = d->evidence[0].time_ns;
    int64_t last_ns = d->evidence[d->finding.evidence_count - 1].time_ns;
    d->finding.first_ns = first_ns;
    d->finding.last_ns = last_ns > burst->last_ns ? last_ns : burst->last_ns;
}

static void put_attrs(struct tc_draft *d, const struct oom_pod *pod, struct tc_slice *names)
{
    const struct oom_burst *burst = &pod->burst;
    tc__draft_attr_int(d, KEY("kills"), burst->kills);
    if (burst->name_count > 0) {
        for (unsigned i = 0; i < burst->name_count; i++) {
            names[i] = tc__oom_word(&burst->names[i]);
        }
        tc__draft_attr_list(d, KEY("processes"), names, burst->name_count);
    }
    if (burst->biggest.known) {
        tc__draft_attr_int(d, KEY("anon_rss_kb"), burst->biggest.rss_kb);
    }
    tc__draft_attr_text(d, KEY("constraint"), tc__oom_word(&burst->first.constraint));
    tc__draft_attr_text(d, KEY("container_id"), pod->container_id);
    tc__draft_attr_text(d, KEY("tied_by"), tc_slice_cstr(TIES[burst->tie]));
}

struct tc_slice tc__oom_key(const struct oom_pod *pod, char text[OOM_KEY_MAX])
{
    struct tc_buf b = tc_buf_make(text, OOM_KEY_MAX);
    /* The uid is what all sources know; the name may be learned only later. */
    struct tc_arg who =
        pod->uid.len > 0 ? TC_ARG(pod->uid) : tc_when(true, "{}/{}", pod->ns, pod->name);
    return tc_format(&b, "{}@{}", who, tc_as_time(pod->burst.first_ns));
}

tc_status tc__oom_report(const struct oom_pod *pod, struct tc_arena *scratch,
                         const struct tc_sink *out)
{
    struct tc_slice names[OOM_NAMES_MAX];
    struct tc_draft d;
    tc__draft_open(&d, &tc_detector_host_oom, scratch);
    struct tc_finding *f = &d.finding;
    f->key = pod->key;
    f->incomplete = pod->incomplete;
    f->severity = TC_SEVERITY_CRITICAL;
    f->confidence = pod->burst.tie == OOM_TIE_NODE ? TC_CONFIDENCE_PARTIAL : TC_CONFIDENCE_FULL;
    f->discriminator = tc_slice_cstr(CAUSES[pod->burst.cause].discriminator);
    f->headline = headline(&d, pod);
    f->remediation = remediation(&d, pod);
    f->scope.node = pod->node;
    f->scope.ns = pod->ns;
    f->scope.pod = pod->name;
    f->scope.pod_uid = pod->podless ? TC_EMPTY : pod->uid;
    f->scope.container = pod->end.known ? tc__oom_word(&pod->end.container) : TC_EMPTY;
    f->scope.job = pod->job;
    f->scope.rank = pod->several_ranks && !pod->rank_killed ? -1 : pod->rank;
    f->scope.pid = pod->burst.kills == 1 ? pod->burst.first.pid : -1;
    put_attrs(&d, pod, names);
    put_evidence(&d, pod);
    return tc__draft_emit(&d, out);
}
