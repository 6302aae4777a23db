/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a host_oom verdict. */
#include "detect/detector.h"
#include "detect/finding_priv.h"
#include "detect/host_oom/priv.h"

#define KEY(name) TC_LIT("tracecore.alert.host_oom." name)
#define ATTRS_MAX 8
#define EVIDENCE_MAX 4
/* The fixed words of all strings together, with numbers, times and names of processes. */
#define WORDS_BYTES 3072
/* Separators and a time. */
#define KEY_WORDS_BYTES 48
#define UNKNOWN_NODE TC_LIT("(name unknown)")
#define KB_PER_TENTH (INT64_C(1048576) / 10) /* of a GiB */

static const struct {
    const char *discriminator;
    const char *cause;
} CAUSES[] = {
    /* The kubelet says OOMKilled when a container ran into its own limit. */
    [OOM_UNKNOWN] = {"container_limit", "the container ran out of memory"},
    [OOM_LIMIT] = {"container_limit", "the container hit its memory limit"},
    [OOM_NODE] = {"node_memory", "the node ran out of memory"},
    [OOM_NUMA] = {"cpuset_numa", "the NUMA nodes it is bound to ran out of memory"},
    [OOM_PRESSURE] = {"memory_pressure", "the memory pressure was too high for too long"},
};

static const char *const TIES[] = {
    [OOM_TIE_CGROUP] = "cgroup", [OOM_TIE_PID] = "pid", [OOM_TIE_NODE] = "node"};

static struct tc_slice node_name(const struct oom_pod *pod)
{
    return pod->node.len > 0 ? pod->node : UNKNOWN_NODE;
}

static void put_pod(struct tc_buf *b, const struct oom_pod *pod)
{
    if (pod->podless) {
        tc_buf_lit(b, "rank ");
        tc_buf_i64(b, pod->rank);
    } else if (pod->name.len == 0) {
        tc_buf_lit(b, "the pod with uid ");
        tc_buf_str(b, pod->uid);
    } else {
        tc_buf_lit(b, "pod ");
        tc_buf_str(b, pod->ns);
        tc_buf_str(b, pod->ns.len > 0 ? TC_LIT("/") : TC_EMPTY);
        tc_buf_str(b, pod->name);
    }
}

/* "92.8 GiB" */
static void put_size(struct tc_buf *b, int64_t kb)
{
    int64_t tenths = kb / KB_PER_TENTH;
    tc_buf_i64(b, tenths / 10);
    tc_buf_char(b, '.');
    tc_buf_i64(b, tenths % 10);
    tc_buf_lit(b, " GiB");
}

static void put_victims(struct tc_buf *b, const struct oom_burst *burst)
{
    if (burst->kills > 1) {
        tc_buf_i64(b, burst->kills);
        tc_buf_lit(b, " processes");
        for (unsigned i = 0; i < burst->name_count; i++) {
            tc_buf_str(b, i == 0 ? TC_LIT(" (") : TC_LIT(", "));
            tc_buf_str(b, tc__oom_word(&burst->names[i]));
        }
        if (burst->biggest.known) {
            tc_buf_str(b, burst->name_count > 0 ? TC_LIT("; the largest held ")
                                                : TC_LIT(" (the largest held "));
            put_size(b, burst->biggest.rss_kb);
        }
        tc_buf_str(b, burst->name_count > 0 || burst->biggest.known ? TC_LIT(")") : TC_EMPTY);
        return;
    }
    tc_buf_str(b, burst->name_count > 0 ? tc__oom_word(&burst->names[0]) : TC_LIT("a process"));
    bool pid = burst->first.pid >= 0;
    if (pid) {
        tc_buf_lit(b, " (pid ");
        tc_buf_i64(b, burst->first.pid);
    }
    if (burst->biggest.known) {
        tc_buf_str(b, pid ? TC_LIT(", ") : TC_LIT(" ("));
        put_size(b, burst->biggest.rss_kb);
    }
    tc_buf_str(b, pid || burst->biggest.known ? TC_LIT(")") : TC_EMPTY);
}

static struct tc_slice headline(struct tc_draft *d, const struct oom_pod *pod)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    bool sure = pod->burst.tie != OOM_TIE_NODE;
    if (pod->burst.first.oomd) {
        tc_buf_lit(b, "systemd-oomd killed ");
        tc_buf_str(b, pod->burst.kills > 1 ? TC_LIT("the processes of several cgroups")
                                           : TC_LIT("all processes of a cgroup"));
    } else {
        tc_buf_lit(b, "The kernel killed ");
        put_victims(b, &pod->burst);
    }
    tc_buf_str(b, sure ? TC_LIT(" of ") : TC_LIT(", it seems of "));
    put_pod(b, pod);
    tc_buf_str(b, sure ? TC_LIT(" on node ") : TC_LIT(", on node "));
    tc_buf_str(b, node_name(pod));
    tc_buf_lit(b, ": ");
    bool own = pod->podless && pod->burst.cause == OOM_LIMIT;
    bool swap = tc_slice_eq(tc__oom_word(&pod->burst.first.constraint), TC_LIT("OOMD_SWAP"));
    struct tc_slice cause = tc_slice_cstr(CAUSES[pod->burst.cause].cause);
    cause = own ? TC_LIT("its cgroup hit its memory limit") : cause;
    tc_buf_str(b, swap ? TC_LIT("memory and swap were nearly full") : cause);
    return tc_buf_since(b, start);
}

static struct tc_slice remediation(struct tc_draft *d, const struct oom_pod *pod)
{
    struct tc_buf *b = &d->text;
    size_t start = b->len;
    switch (pod->burst.cause) {
    case OOM_UNKNOWN:
    case OOM_LIMIT:
        tc_buf_lit(b, "For ");
        put_pod(b, pod);
        tc_buf_lit(b, ": raise the memory limit");
        if (pod->end.known && pod->end.container.len > 0) {
            tc_buf_lit(b, " of container ");
            tc_buf_str(b, tc__oom_word(&pod->end.container));
        }
        tc_buf_lit(b, ", or use less: fewer data loader workers, a smaller prefetch_factor, no "
                      "caches without bound. Node ");
        tc_buf_str(b, node_name(pod));
        tc_buf_lit(b, " is not at fault.");
        break;
    case OOM_NODE:
        tc_buf_lit(b, "On node ");
        tc_buf_str(b, node_name(pod));
        tc_buf_lit(b, ": find what holds the memory (pods without limits, daemons, /dev/shm), give "
                      "it limits that fit the node together, then restart ");
        put_pod(b, pod);
        tc_buf_char(b, '.');
        break;
    case OOM_NUMA:
        tc_buf_lit(b, "On node ");
        tc_buf_str(b, node_name(pod));
        tc_buf_lit(b, ": other NUMA nodes may still have memory. Widen cpuset.mems or the numactl "
                      "binding of ");
        put_pod(b, pod);
        tc_buf_lit(b, ", or move what shares its NUMA node.");
        break;
    case OOM_PRESSURE:
        tc_buf_lit(b, "On node ");
        tc_buf_str(b, node_name(pod));
        tc_buf_lit(b, ": oomctl shows which slice systemd-oomd watches, and its limit. Give ");
        put_pod(b, pod);
        tc_buf_lit(b, " memory that it stays below, find what else fills the node, or take the "
                      "pods' slice away from systemd-oomd.");
        break;
    }
    return tc_buf_since(b, start);
}

static struct tc_evidence line_evidence(struct tc_draft *d, const struct oom_pod *pod,
                                        const struct oom_line *line)
{
    struct tc_buf *b = &d->text;
    bool kernel = line->source == OOM_BY_KERNEL;
    struct tc_evidence out = {
        .kind = kernel ? TC_LIT("oom_kill") : TC_LIT("k8s_event"),
        .uid = tc_slice_make(line->uid, line->uid_len),
        .time_ns = line->time_ns,
        .raw = line->raw,
    };
    size_t start = b->len;
    if (out.uid.len == 0) {
        tc_buf_str(b, line->sized ? TC_LIT("killed:") : TC_LIT("oom_kill:"));
        tc_buf_str(b, pod->node);
        tc_buf_char(b, ':');
        tc_buf_i64(b, line->pid);
        tc_buf_char(b, ':');
        tc_buf_time(b, line->time_ns);
        out.uid = tc_buf_since(b, start);
        start = b->len;
    }
    if (line->oomd) {
        tc_buf_lit(b, "systemd-oomd killed a cgroup");
    } else {
        tc_buf_str(b, kernel ? TC_LIT("The kernel killed ")
                             : TC_LIT("A node event tells of a kill: "));
        tc_buf_str(b, line->process.len > 0 ? tc__oom_word(&line->process) : TC_LIT("a process"));
    }
    if (line->pid >= 0) {
        tc_buf_lit(b, ", pid ");
        tc_buf_i64(b, line->pid);
    }
    if (line->rss_kb >= 0) {
        tc_buf_lit(b, ", which held ");
        put_size(b, line->rss_kb);
    }
    if (line->constraint.len > 0) {
        tc_buf_lit(b, ", constraint ");
        tc_buf_str(b, tc__oom_word(&line->constraint));
    }
    out.description = tc_buf_since(b, start);
    return out;
}

static struct tc_evidence end_evidence(struct tc_draft *d, const struct oom_pod *pod)
{
    const struct oom_end *end = &pod->end;
    struct tc_buf *b = &d->text;
    struct tc_evidence out = {
        .kind = end->kind == TC_EVENT_POD_STATE ? TC_LIT("pod_state") : TC_LIT("k8s_event"),
        .uid = tc_slice_make(end->uid, end->uid_len),
        .time_ns = end->time_ns,
        .raw = end->raw,
    };
    size_t start = b->len;
    if (out.uid.len == 0) {
        tc_buf_lit(b, "oom_killed:");
        tc_buf_str(b, pod->ns);
        tc_buf_char(b, '/');
        tc_buf_str(b, pod->name);
        tc_buf_char(b, ':');
        tc_buf_time(b, end->time_ns);
        out.uid = tc_buf_since(b, start);
        start = b->len;
    }
    tc_buf_str(b, end->container.len > 0 ? TC_LIT("Container ") : TC_LIT("A container"));
    tc_buf_str(b, tc__oom_word(&end->container));
    tc_buf_lit(b, " of ");
    put_pod(b, pod);
    tc_buf_lit(b, " ended as OOMKilled");
    if (end->exit_code >= 0) {
        tc_buf_lit(b, " with exit code ");
        tc_buf_i64(b, end->exit_code);
    }
    out.description = tc_buf_since(b, start);
    return out;
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
    tc__draft_evidence(d, line_evidence(d, pod, &burst->first));
    if (burst->biggest.known && !same_raw(&burst->biggest, &burst->first)) {
        tc__draft_evidence(d, line_evidence(d, pod, &burst->biggest));
    }
    if (burst->kills > 1 && !same_raw(&burst->last, &burst->first) &&
        !(burst->biggest.known && same_raw(&burst->last, &burst->biggest))) {
        tc__draft_evidence(d, line_evidence(d, pod, &burst->last));
    }
    if (pod->end.known) {
        tc__draft_evidence(d, end_evidence(d, pod));
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
        tc__draft_attr(d, (struct tc_attr){.key = KEY("processes"),
                                           .type = TC_ATTR_STRINGS,
                                           .strings = names,
                                           .count = burst->name_count});
    }
    if (burst->biggest.known) {
        tc__draft_attr_int(d, KEY("anon_rss_kb"), burst->biggest.rss_kb);
    }
    tc__draft_attr_text(d, KEY("constraint"), tc__oom_word(&burst->first.constraint));
    tc__draft_attr_text(d, KEY("container_id"), pod->container_id);
    tc__draft_attr_text(d, KEY("tied_by"), tc_slice_cstr(TIES[burst->tie]));
}

bool tc__oom_key(struct oom_pod *pod, struct tc_arena *arena)
{
    size_t len = pod->ns.len + pod->name.len + pod->uid.len + KEY_WORDS_BYTES;
    char *text = tc_new(arena, char, len);
    if (text == NULL) {
        return false;
    }
    struct tc_buf b = tc_buf_make(text, len);
    /* The uid is what all sources know; the name may be learned only later. */
    if (pod->uid.len > 0) {
        tc_buf_str(&b, pod->uid);
    } else {
        tc_buf_str(&b, pod->ns);
        tc_buf_char(&b, '/');
        tc_buf_str(&b, pod->name);
    }
    tc_buf_char(&b, '@');
    tc_buf_time(&b, pod->burst.first_ns);
    pod->key = tc_buf_slice(&b);
    return true;
}

tc_status tc__oom_report(const struct oom_pod *pod, struct tc_arena *scratch,
                         const struct tc_sink *out)
{
    /* How often each name is written, at most. */
    size_t text_bytes =
        WORDS_BYTES + 8 * pod->node.len + 5 * (pod->ns.len + pod->name.len + pod->uid.len);
    struct tc_slice names[OOM_NAMES_MAX];
    struct tc_draft d;
    tc__draft_begin(&d, &tc_detector_host_oom, scratch, text_bytes, ATTRS_MAX, EVIDENCE_MAX);
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
    f->scope.rank = pod->rank;
    f->scope.pid = pod->burst.kills == 1 ? pod->burst.first.pid : -1;
    put_attrs(&d, pod, names);
    put_evidence(&d, pod);
    return tc__draft_emit(&d, out);
}
