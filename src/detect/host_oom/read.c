/* SPDX-License-Identifier: Apache-2.0 */
/* What an event means to host_oom: a kill, a container that was killed, or nothing. */
#include "detect/host_oom/priv.h"
#include "detect/span_priv.h"
#include "detect/words_priv.h"

/* What the constraint of a kill by systemd-oomd starts with. */
#define OOMD TC_LIT("OOMD_")
/* The constraint of a kill that Slurm tells of. */
#define SLURM TC_LIT("SLURM_STEP")

static void word_set(struct oom_word *w, struct tc_slice s)
{
    w->len = tc__text_keep(w->text, sizeof w->text, s);
}

/* The text between key and end; to the end of s when that is not there. */
static struct tc_slice between(struct tc_slice s, struct tc_slice key, struct tc_slice end)
{
    size_t at = tc_slice_find(s, key);
    if (at == TC_NPOS) {
        return TC_EMPTY;
    }
    s = tc_slice_from(s, at + key.len);
    at = tc_slice_find(s, end);
    return at == TC_NPOS ? s : tc_slice_head(s, at);
}

/* The uid as it stands in a path: systemd writes _ for -. */
static bool path_names(struct tc_slice path, struct tc_slice uid)
{
    for (size_t at = 0; uid.len > 0 && at + uid.len <= path.len; at++) {
        size_t i = 0;
        while (i < uid.len &&
               (path.ptr[at + i] == uid.ptr[i] || (path.ptr[at + i] == '_' && uid.ptr[i] == '-'))) {
            i++;
        }
        if (i == uid.len) {
            return true;
        }
    }
    return false;
}

/*
 * A limit is the pod's own when the cgroup that ran out is the pod's or below it.
 * Above the pods it is the node's: kubepods holds what the node gives to all of them.
 */
static enum oom_cause cause_of(const struct tc_event *ev)
{
    struct tc_slice c = ev->oom.constraint;
    struct tc_slice message = ev->oom.message;
    if (tc_slice_eq(c, TC_LIT("CONSTRAINT_MEMCG"))) {
        struct tc_slice limit = between(message, TC_LIT(",oom_memcg="), TC_LIT(",task_memcg="));
        if (tc_slice_starts(message, TC_LIT("Task in "))) {
            limit = between(message, TC_LIT(" as a result of limit of "), TC_LIT(" "));
        }
        bool above = limit.len > 0 && ev->scope.pod_uid.len > 0 &&
                     tc_slice_contains(limit, TC_LIT("kubepods")) &&
                     !path_names(limit, ev->scope.pod_uid);
        return above ? OOM_NODE : OOM_LIMIT;
    }
    if (tc_slice_eq(c, SLURM)) {
        return OOM_LIMIT;
    }
    if (tc_slice_eq(c, TC_LIT("CONSTRAINT_CPUSET")) ||
        tc_slice_eq(c, TC_LIT("CONSTRAINT_MEMORY_POLICY"))) {
        return OOM_NUMA;
    }
    if (tc_slice_starts(c, OOMD)) {
        return OOM_PRESSURE;
    }
    bool global = tc_slice_eq(c, TC_LIT("CONSTRAINT_NONE")) ||
                  tc_slice_starts(message, TC_LIT("Out of memory")) ||
                  tc_slice_starts(message, TC_LIT("System OOM"));
    return global ? OOM_NODE : OOM_UNKNOWN;
}

static void read_line(const struct tc_event *ev, struct oom_kill *out)
{
    struct oom_line line = {
        .time_ns = ev->time_ns,
        .pid = ev->scope.pid > 0 ? ev->scope.pid : -1,
        .rss_kb = ev->oom.anon_rss_kb,
        .raw = ev->raw,
        .source = OOM_BY_KERNEL,
        .known = true,
        .sized = ev->oom.anon_rss_kb >= 0,
    };
    struct tc_slice constraint = ev->oom.constraint;
    struct tc_slice prefix = TC_LIT("CONSTRAINT_");
    word_set(&line.process, ev->oom.process);
    if (tc_slice_starts(constraint, prefix)) {
        constraint = tc_slice_from(constraint, prefix.len);
    } else if (!tc_slice_starts(constraint, OOMD) && !tc_slice_eq(constraint, SLURM)) {
        constraint = TC_EMPTY;
    }
    word_set(&line.constraint, constraint);
    line.oomd = tc_slice_starts(constraint, OOMD);
    line.slurm = tc_slice_eq(constraint, SLURM);
    line.uid_len = tc__text_keep(line.uid, sizeof line.uid, ev->uid);
    out->pod_uid = ev->scope.pod_uid;
    out->pod_ns = ev->scope.ns;
    out->pod_name = ev->scope.pod;
    out->job = ev->scope.job;
    out->rank = ev->scope.rank;
    out->container_id = ev->oom.container_id;
    out->cause = cause_of(ev);
    out->of_job = line.slurm && out->pod_uid.len == 0 && out->pod_name.len == 0;
    /* Inside a cgroup namespace the path is "/", which says nothing. */
    out->elsewhere = ev->oom.cgroup.len > 1 && ev->scope.pod_uid.len == 0 && ev->scope.pod.len == 0;
    out->first = line;
}

/* "... Killed process 3504804 (kubectl) total-vm:..., anon-rss:5120kB, ..." as others quote it. */
static void read_quoted(struct tc_slice s, struct oom_line *line)
{
    struct tc_slice rest;
    uint64_t n = 0;
    struct tc_slice process = between(s, TC_LIT("Killed process "), TC_LIT(" total-vm"));
    struct tc_slice victim = between(s, TC_LIT("victim process: "), TC_LIT(", pid: "));
    if (victim.len > 0) {
        word_set(&line->process, victim);
        process = between(s, TC_LIT(", pid: "), TC_LIT(" "));
    } else {
        struct tc_slice name;
        (void)tc_slice_cut(process, '(', &name);
        word_set(&line->process, tc_slice_cut(name, ')', &rest));
    }
    if (tc_slice_u64(process, &n) > 0 && n > 0 && n <= INT32_MAX) {
        line->pid = (int64_t)n;
    }
    if (tc_slice_is_u64(between(s, TC_LIT("anon-rss:"), TC_LIT("kB")), &n) && n <= INT64_MAX) {
        line->rss_kb = (int64_t)n;
    }
    line->sized = line->rss_kb >= 0;
}

/* Node events: of the node-problem-detector and of the kubelet, both read from the kernel log. */
static bool read_node_event(const struct tc_event *ev, struct oom_kill *out)
{
    bool system = tc_slice_eq(ev->k8s.reason, TC_LIT("SystemOOM"));
    if ((!system && !tc_slice_eq(ev->k8s.reason, TC_LIT("OOMKilling"))) ||
        tc_slice_eq(ev->k8s.object_kind, TC_LIT("Pod"))) {
        return false;
    }
    if (out->node.len == 0 && tc_slice_eq(ev->k8s.object_kind, TC_LIT("Node"))) {
        out->node = ev->k8s.object_name;
    }
    struct tc_slice message = tc_slice_head(ev->k8s.message, 4 * OOM_QUOTE_MAX);
    struct oom_line line = {
        .time_ns = ev->time_ns,
        .pid = -1,
        .rss_kb = -1,
        .raw = ev->raw,
        .source = OOM_BY_NODE_EVENT,
        .known = true,
    };
    read_quoted(message, &line);
    line.uid_len = tc__text_keep(line.uid, sizeof line.uid, ev->uid);
    bool memcg = tc_slice_contains(message, TC_LIT("Memory cgroup out of memory"));
    bool global = system || tc_slice_starts(message, TC_LIT("Out of memory"));
    out->cause = memcg ? OOM_LIMIT : global ? OOM_NODE : OOM_UNKNOWN;
    out->first = line;
    return true;
}

bool tc__oom_read_kill(const struct tc_event *ev, struct oom_kill *out)
{
    *out = (struct oom_kill){.node = ev->scope.node, .time_ns = ev->time_ns, .rank = -1};
    if (ev->kind == TC_EVENT_OOM_KILL) {
        read_line(ev, out);
    } else if (ev->kind != TC_EVENT_K8S_EVENT || !read_node_event(ev, out)) {
        return false;
    }
    out->pid = out->first.pid;
    out->last = out->first;
    if (out->first.rss_kb >= 0) {
        out->biggest = out->first;
    }
    return true;
}

bool tc__oom_read_end(const struct tc_event *ev, struct oom_end *out)
{
    *out = (struct oom_end){
        .time_ns = ev->time_ns, .exit_code = -1, .raw = ev->raw, .kind = ev->kind, .known = true};
    word_set(&out->container, ev->scope.container);
    out->uid_len = tc__text_keep(out->uid, sizeof out->uid, ev->uid);
    if (ev->kind == TC_EVENT_POD_STATE) {
        out->exit_code = ev->pod.exit_code;
        return tc_slice_eq(ev->pod.reason, TC_LIT("OOMKilled"));
    }
    return ev->kind == TC_EVENT_K8S_EVENT &&
           tc_slice_is_any(ev->k8s.reason, "OOMKilled", "OOMKilling", "PodOOMKilling") &&
           tc_slice_eq(ev->k8s.object_kind, TC_LIT("Pod"));
}

/* The smaller of two texts, of which one that is empty says nothing. <0: a. */
static int text_order(struct tc_slice a, struct tc_slice b)
{
    return a.len == 0 || b.len == 0 ? (a.len == 0) - (b.len == 0) : tc_slice_cmp(a, b);
}

/* A state goes before an event; then facts decide, not the order in which they come. */
bool tc__oom_end_first(const struct oom_end *end, const struct oom_end *known)
{
    if (end->kind != known->kind) {
        return end->kind > known->kind;
    }
    int order = text_order(tc__oom_word(&end->container), tc__oom_word(&known->container));
    if (order == 0 && end->exit_code != known->exit_code) {
        return end->exit_code > known->exit_code;
    }
    order = order == 0 ? text_order(tc_slice_make(end->uid, end->uid_len),
                                    tc_slice_make(known->uid, known->uid_len))
                       : order;
    return order < 0 || (order == 0 && tc__raw_before(end->raw, known->raw));
}

bool tc__oom_container_first(const struct oom_pod *pod, const struct oom_names *names)
{
    if (names->container_id.len == 0 || pod->container_id.len == 0 ||
        names->container_ns != pod->container_ns) {
        return names->container_id.len > 0 &&
               (pod->container_id.len == 0 || names->container_ns < pod->container_ns);
    }
    return tc_slice_cmp(names->container_id, pod->container_id) < 0;
}

/* An order of lines that depends on nothing but the facts. */
static int line_cmp(const struct oom_line *a, const struct oom_line *b)
{
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    if (a->sized != b->sized) {
        return a->sized ? 1 : -1;
    }
    if (a->pid != b->pid) {
        return a->pid < b->pid ? -1 : 1;
    }
    if (a->raw.source != b->raw.source) {
        return a->raw.source < b->raw.source ? -1 : 1;
    }
    return (a->raw.offset > b->raw.offset) - (a->raw.offset < b->raw.offset);
}

/* The same line, told by two collectors. */
static bool same_line(const struct oom_line *a, const struct oom_line *b)
{
    return a->time_ns == b->time_ns && a->source == b->source && a->sized == b->sized &&
           a->pid == b->pid && a->rss_kb == b->rss_kb;
}

/* Keeps the line where the known one is not better: where the kernel's own line is there, nobody
 * else's is evidence; of two of one source the one that is `in_order`. True when it is kept. */
static bool keep_better(struct oom_line *io, const struct oom_line *line, bool in_order)
{
    bool better = !line->known || !io->known   ? line->known
                  : line->source == io->source ? in_order
                                               : line->source < io->source;
    if (better) {
        *io = *line;
    }
    return better;
}

static bool keep_first(struct oom_line *io, const struct oom_line *line)
{
    return keep_better(io, line, line_cmp(line, io) < 0);
}

static bool keep_last(struct oom_line *io, const struct oom_line *line)
{
    return keep_better(io, line, line_cmp(line, io) > 0 && !same_line(io, line));
}

static bool keep_biggest(struct oom_line *io, const struct oom_line *line)
{
    return keep_better(io, line,
                       line->rss_kb > io->rss_kb ||
                           (line->rss_kb == io->rss_kb && line_cmp(line, io) < 0));
}

/* As tc__text_fill; of two that are told at one time the smaller. */
static bool fill_tie(struct tc_slice *io, struct tc_slice other, bool tie)
{
    bool smaller = tie && text_order(other, *io) < 0;
    *io = smaller ? other : *io;
    return tie ? smaller : tc__text_fill(io, other);
}

/* The kernel's own line knows the cause better than "Killed process", which need not say it. */
static enum oom_cause surer(enum oom_cause a, enum oom_cause b)
{
    if (a == OOM_UNKNOWN || b == OOM_UNKNOWN) {
        return a == OOM_UNKNOWN ? b : a;
    }
    /* "Memory cgroup out of memory" says of which sort the limit is, not whose it is. */
    return a > b ? a : b;
}

bool tc__oom_kill_merge(struct oom_kill *kill, const struct oom_kill *news)
{
    bool tie = news->time_ns == kill->time_ns;
    bool changed = fill_tie(&kill->pod_uid, news->pod_uid, tie);
    changed = fill_tie(&kill->pod_ns, news->pod_ns, tie) || changed;
    changed = fill_tie(&kill->pod_name, news->pod_name, tie) || changed;
    changed = fill_tie(&kill->job, news->job, tie) || changed;
    changed = fill_tie(&kill->container_id, news->container_id, tie) || changed;
    changed = changed || (kill->rank < 0 && news->rank >= 0);
    kill->rank = kill->rank >= 0 ? kill->rank : news->rank;
    enum oom_cause cause = surer(kill->cause, news->cause);
    changed = changed || cause != kill->cause;
    kill->cause = cause;
    kill->elsewhere =
        (kill->elsewhere || news->elsewhere) && kill->pod_uid.len == 0 && kill->pod_name.len == 0;
    kill->time_ns = news->time_ns < kill->time_ns ? news->time_ns : kill->time_ns;
    changed = keep_first(&kill->first, &news->first) || changed;
    changed = keep_last(&kill->last, &news->last) || changed;
    return keep_biggest(&kill->biggest, &news->biggest) || changed;
}

/* What trains is Python, or is started by what starts it. */
static bool trains(struct tc_slice process)
{
    return tc_slice_starts_any(process, "python", "pt_", "torchrun", "deepspeed", "accelerate",
                               "ray::", "mpirun", "train", "nemo", "orted", "jax", "megatron");
}

bool tc__oom_may_be_pods(const struct oom_kill *kill)
{
    return !kill->attached && !kill->elsewhere && !kill->gone &&
           (kill->cause == OOM_LIMIT || trains(tc__oom_word(&kill->first.process)) ||
            kill->first.process.len == 0);
}

/* Keeps the names in order; those that come last in the alphabet go without. */
static bool add_name(struct oom_burst *burst, const struct oom_word *name)
{
    unsigned at = 0;
    if (name->len == 0) {
        return false;
    }
    for (; at < burst->name_count; at++) {
        int by = tc_slice_cmp(tc__oom_word(name), tc__oom_word(&burst->names[at]));
        if (by == 0) {
            return false;
        }
        if (by < 0) {
            break;
        }
    }
    if (at == OOM_NAMES_MAX) {
        return false;
    }
    burst->name_count += burst->name_count < OOM_NAMES_MAX;
    for (unsigned i = burst->name_count - 1; i > at; i--) {
        burst->names[i] = burst->names[i - 1];
    }
    burst->names[at] = *name;
    return true;
}

bool tc__oom_burst_add(struct oom_burst *burst, const struct oom_kill *kill, bool again,
                       enum oom_tie tie)
{
    bool changed = !again;
    if (!burst->known) {
        *burst = (struct oom_burst){
            .first_ns = kill->time_ns,
            .last_ns = kill->time_ns,
            .cause = kill->cause,
            .cause_ns = kill->time_ns,
            .tie = tie,
            .known = true,
        };
    }
    burst->kills += !again;
    burst->first_ns = kill->time_ns < burst->first_ns ? kill->time_ns : burst->first_ns;
    burst->last_ns = kill->time_ns > burst->last_ns ? kill->time_ns : burst->last_ns;
    burst->tie = tie < burst->tie ? tie : burst->tie;
    /* The first kill says why; of equal times the surer one. */
    bool earlier = kill->cause != OOM_UNKNOWN &&
                   (burst->cause == OOM_UNKNOWN || kill->time_ns < burst->cause_ns ||
                    (kill->time_ns == burst->cause_ns && kill->cause > burst->cause));
    if (earlier && kill->cause != burst->cause) {
        changed = true;
    }
    if (earlier) {
        burst->cause = kill->cause;
        burst->cause_ns = kill->time_ns;
    }
    changed = keep_first(&burst->first, &kill->first) || changed;
    changed = keep_last(&burst->last, &kill->last) || changed;
    changed = keep_biggest(&burst->biggest, &kill->biggest) || changed;
    changed = add_name(burst, &kill->first.process) || changed;
    return add_name(burst, &kill->last.process) || changed;
}

bool tc__oom_read_names(const struct tc_event *ev, struct oom_names *out)
{
    *out = (struct oom_names){
        .pod = {.node = ev->scope.node,
                .ns = ev->scope.ns,
                .name = ev->scope.pod,
                .uid = ev->scope.pod_uid},
        .job = ev->scope.job,
        .rank = ev->scope.rank,
    };
    if (ev->kind == TC_EVENT_K8S_EVENT && tc_slice_eq(ev->k8s.object_kind, TC_LIT("Pod"))) {
        (void)tc__text_fill(&out->pod.name, ev->k8s.object_name);
        (void)tc__text_fill(&out->pod.uid, ev->k8s.object_uid);
    }
    return out->pod.name.len > 0;
}

bool tc__oom_is_fit(const struct tc_event *ev, const struct oom_names *names)
{
    return ev->time_ns != TC_TIME_NONE && tc__scope_fits(&ev->scope) &&
           names->pod.name.len <= TC_SCOPE_TEXT_MAX && names->pod.uid.len <= TC_SCOPE_TEXT_MAX &&
           names->job.len <= TC_SCOPE_TEXT_MAX;
}

uint32_t tc__oom_told_bits(const struct oom_pod *pod)
{
    const struct oom_burst *b = &pod->burst;
    return 1U | (uint32_t)(pod->name.len > 0) << 1 | (uint32_t)pod->end.known << 2 |
           (uint32_t)(b->biggest.known) << 3 | (uint32_t)b->tie << 4 | (uint32_t)b->cause << 6 |
           (uint32_t)b->name_count << 9 | (uint32_t)(pod->node.len > 0) << 12 |
           (uint32_t)(pod->container_id.len > 0) << 13;
}
