/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: processes the kernel killed for want of it, and host DRAM that failed.
 *
 * One kill is usually logged twice, as "oom-kill:constraint=..." with the cgroup
 * and as "Killed process ..." with the sizes. Both become events, since either
 * may be missing; detectors join them by pid. systemd-oomd kills whole cgroups, on one line.
 * Kernels before 5.0 say "Task in ..." instead of the first.
 */
#include "codec/kmsg/kmsg_priv.h"
#include "codec/match_priv.h"

#define POD_UID_LENGTH 36
#define POD_HASH_LENGTH 32 /* static pods have a bare hash for a uid */
#define CONTAINER_ID_LENGTH 64
/* A GHES report has a dozen lines; the DIMM, if named, comes soon after its section. */
#define GHES_LOOK_LINES 12
#define PID_MAX 4194304 /* PID_MAX_LIMIT of 64-bit kernels */
/* Old kernels list every process of the cgroup before they kill one. */
#define OLD_KILL_LOOK_LINES 512
/* And they say right above it whose memory ran out. */
#define OLD_REASON_LOOK_LINES 4
/* From the cgroup's numbers up to its name. */
#define OLD_TASK_LOOK_LINES 16

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool all_hex(struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!is_hex(s.ptr[i])) {
            return false;
        }
    }
    return true;
}

static bool read_pid(struct tc_slice text, int64_t *out)
{
    uint64_t pid = 0;
    if (tc_slice_u64(text, &pid) == 0 || pid > PID_MAX) {
        return false;
    }
    *out = (int64_t)pid;
    return true;
}

/*
 * The pod's uid in a cgroup path: "-pod<uid>.slice" where systemd makes the
 * cgroups (it writes _ for -), "/pod<uid>/" elsewhere. False when the arena is full.
 */
static bool find_pod(const struct tc__kmsg_context *c, struct tc_slice path, struct tc_slice *out)
{
    struct tc_slice s = path;
    struct tc_slice head;
    while (tc__kmsg_split(s, TC_LIT("pod"), &head, &s)) {
        bool fits = s.ptr - path.ptr > 3 && (s.ptr[-4] == '-' || s.ptr[-4] == '/');
        size_t len = 0;
        bool made = false;
        while (fits && len < s.len &&
               (is_hex(s.ptr[len]) || s.ptr[len] == '-' || s.ptr[len] == '_')) {
            made = made || s.ptr[len] == '_';
            len++;
        }
        struct tc_slice end = tc_slice_from(s, len);
        if ((len != POD_UID_LENGTH && len != POD_HASH_LENGTH) ||
            (end.len > 0 && end.ptr[0] != '/' && end.ptr[0] != '.')) {
            continue;
        }
        *out = tc_slice_head(s, len);
        if (!made) {
            return true;
        }
        char *copy = tc_new(c->arena, char, len);
        for (size_t i = 0; copy != NULL && i < len; i++) {
            copy[i] = s.ptr[i];
            if (copy[i] == '_') {
                copy[i] = '-';
            }
        }
        *out = tc_slice_make(copy, copy == NULL ? 0 : len);
        return copy != NULL;
    }
    return true;
}

/* The id of "cri-containerd-<id>.scope", "docker-<id>.scope", ".../pod<uid>/<id>", "/docker/<id>".
 */
static struct tc_slice find_container(struct tc_slice path)
{
    size_t slash = tc_slice_find_last(path, TC_LIT("/"));
    if (slash == TC_NPOS) {
        return TC_EMPTY;
    }
    struct tc_slice name = tc_slice_from(path, slash + 1);
    struct tc_slice parent = tc_slice_head(path, slash);
    size_t above = tc_slice_find_last(parent, TC_LIT("/"));
    parent = tc_slice_from(parent, above == TC_NPOS ? 0 : above + 1);
    if (tc_slice_ends(name, TC_LIT(".scope"))) {
        name = tc_slice_head(name, name.len - sizeof ".scope" + 1);
        size_t dash = tc_slice_find_last(name, TC_LIT("-"));
        name = tc_slice_from(name, dash == TC_NPOS ? 0 : dash + 1);
        return name.len == CONTAINER_ID_LENGTH && all_hex(name) ? name : TC_EMPTY;
    }
    bool certain = tc_slice_eq(parent, TC_LIT("docker")) || tc_slice_starts(parent, TC_LIT("pod"));
    return certain || (name.len == CONTAINER_ID_LENGTH && all_hex(name)) ? name : TC_EMPTY;
}

/*
 * "oom-kill:constraint=CONSTRAINT_MEMCG,...,task_memcg=/...,task=python,pid=1,uid=0".
 * The name of the task is its own choice and may hold commas, so the pid is read
 * from the end. A line torn before the pid still proves the kill.
 */
static enum tc__kmsg_verdict rule_constraint(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    int64_t pid = -1;
    if (!tc__kmsg_take(&s, TC_LIT("oom-kill:constraint="))) {
        return TC__KMSG_NOT_MINE;
    }
    struct tc_slice rest;
    struct tc_slice constraint = tc_slice_cut(s, ',', &rest);
    s = tc_slice_from(s, constraint.len);
    if (!tc_slice_starts(constraint, TC_LIT("CONSTRAINT_"))) {
        c->why = "oom-kill with a constraint that the kernel does not have";
        return TC__KMSG_BROKEN;
    }
    size_t at = tc_slice_find_last(s, TC_LIT(",pid="));
    struct tc_slice fields = at == TC_NPOS ? s : tc_slice_head(s, at);
    if (at != TC_NPOS && !read_pid(tc_slice_from(s, at + sizeof ",pid=" - 1), &pid)) {
        c->why = "oom-kill without a process id";
        return TC__KMSG_BROKEN;
    }
    struct tc_slice head = TC_EMPTY;
    struct tc_slice cgroup = TC_EMPTY;
    struct tc_slice process = TC_EMPTY;
    if (!tc__kmsg_split(fields, TC_LIT(",task_memcg="), &head, &fields)) {
        (void)tc__kmsg_split(fields, TC_LIT(",task="), &head, &process);
    } else if (!tc__kmsg_split(fields, TC_LIT(",task="), &cgroup, &process)) {
        cgroup = fields;
    }
    struct tc_slice pod = TC_EMPTY;
    if (!find_pod(c, cgroup, &pod)) {
        return TC__KMSG_NOMEM;
    }
    /* In a container with a cgroup namespace only the limit's own group names the pod. */
    struct tc_slice before;
    struct tc_slice limit;
    if (pod.len == 0 && head.len > 0 &&
        tc__kmsg_split(head, TC_LIT(",oom_memcg="), &before, &limit) && !find_pod(c, limit, &pod)) {
        return TC__KMSG_NOMEM;
    }
    tc_event_init(ev, TC_EVENT_OOM_KILL);
    ev->scope.pid = pid;
    ev->scope.pod_uid = pod;
    ev->oom.constraint = constraint;
    ev->oom.cgroup = cgroup;
    ev->oom.container_id = find_container(cgroup);
    ev->oom.process = process;
    ev->oom.message = c->line->message;
    return TC__KMSG_EVENT;
}

/* "(name) total-vm:..." or "(name)": a name may hold parentheses of its own. */
static struct tc_slice killed_name(struct tc_slice s)
{
    size_t open = tc_slice_find_byte(s, '(');
    size_t close = tc_slice_find(s, TC_LIT(") total-vm:"));
    if (close == TC_NPOS) {
        close = tc_slice_find_last(s, TC_LIT(")"));
    }
    if (open == TC_NPOS || close == TC_NPOS || close < open) {
        return TC_EMPTY;
    }
    return tc_slice_make(s.ptr + open + 1, close - open - 1);
}

/*
 * The constraint in what kernels before 5 print above a kill, "Out of memory: Kill process 7 (x)
 * score 9 or sacrifice child"; empty when it is not there.
 */
static struct tc_slice reason_above(const struct tc__kmsg_context *c)
{
    struct tc__kmsg_line line;
    size_t at = tc__kmsg_offset(c);
    for (int i = 0; i < OLD_REASON_LOOK_LINES && tc__kmsg_prev(c, &at, &line); i++) {
        if (line.origin != TC__KMSG_KERNEL || !tc_slice_eq(line.node, c->line->node)) {
            continue;
        }
        if (tc_slice_starts(line.message, TC_LIT("Memory cgroup out of memory: Kill process "))) {
            return TC_LIT("CONSTRAINT_MEMCG");
        }
        if (tc_slice_starts(line.message, TC_LIT("Out of memory: Kill process "))) {
            return TC_LIT("CONSTRAINT_NONE");
        }
        if (tc_slice_contains(line.message, TC_LIT("Killed process "))) {
            break; /* what is above is another kill's */
        }
    }
    return TC_EMPTY;
}

/*
 * "[Memory cgroup out of memory: |Out of memory: ]Killed process 63214 (uwsgi) total-vm:...".
 * The "Kill process ... or sacrifice child" of kernels before 5 only announces a kill,
 * often of another process: no event.
 */
static enum tc__kmsg_verdict rule_killed(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    int64_t pid = -1;
    bool memcg = tc__kmsg_take(&s, TC_LIT("Memory cgroup out of memory: "));
    bool alone = !memcg && !tc__kmsg_take(&s, TC_LIT("Out of memory: ")) &&
                 !tc__kmsg_take(&s, TC_LIT("Out of memory (oom_kill_allocating_task): "));
    if (!tc__kmsg_take(&s, TC_LIT("Killed process "))) {
        return TC__KMSG_NOT_MINE;
    }
    if (!read_pid(s, &pid)) {
        c->why = "killed process without a process id";
        return TC__KMSG_BROKEN;
    }
    tc_event_init(ev, TC_EVENT_OOM_KILL);
    ev->scope.pid = pid;
    ev->oom.process = killed_name(s);
    ev->oom.constraint = memcg ? TC_LIT("CONSTRAINT_MEMCG") : alone ? reason_above(c) : TC_EMPTY;
    ev->oom.message = c->line->message;
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t kb = 0;
    if (tc__text_match(s, "*anon-rss:{0%d}kB", got) && tc_slice_is_u64(got[0], &kb) &&
        kb <= INT64_MAX) {
        ev->oom.anon_rss_kb = (int64_t)kb;
    }
    return TC__KMSG_EVENT;
}

/* The pid of the first "Killed process" below the line, of the same node; -1 when there is none. */
static int64_t killed_below(const struct tc__kmsg_context *c)
{
    struct tc__kmsg_line line;
    size_t at = tc__kmsg_offset(c);
    for (int i = 0; i < OLD_KILL_LOOK_LINES && tc__kmsg_next(c, &at, &line); i++) {
        struct tc_slice s = line.message;
        int64_t pid = -1;
        if (line.origin != TC__KMSG_KERNEL || !tc_slice_eq(line.node, c->line->node)) {
            continue;
        }
        if (tc_slice_starts(s, TC_LIT("Task in "))) {
            break;
        }
        if (tc__kmsg_take(&s, TC_LIT("Killed process ")) && read_pid(s, &pid)) {
            return pid;
        }
    }
    return -1;
}

/*
 * "Task in /kubepods/... killed as a result of limit of /kubepods/...": how kernels before 5.0
 * name the cgroup, a page above their "Killed process". With its pid both are one kill.
 */
static enum tc__kmsg_verdict rule_task_in(struct tc__kmsg_context *c, struct tc_event *ev)
{
    enum { CGROUP, LIMIT };
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice pod = TC_EMPTY;
    if (!tc__text_match(c->line->message, "Task in {0*} killed as a result of limit of {1*}",
                        got)) {
        return TC__KMSG_NOT_MINE;
    }
    if (!find_pod(c, got[CGROUP], &pod) || (pod.len == 0 && !find_pod(c, got[LIMIT], &pod))) {
        return TC__KMSG_NOMEM;
    }
    tc_event_init(ev, TC_EVENT_OOM_KILL);
    ev->scope.pid = killed_below(c);
    ev->scope.pod_uid = pod;
    ev->oom.constraint = TC_LIT("CONSTRAINT_MEMCG");
    ev->oom.cgroup = got[CGROUP];
    ev->oom.container_id = find_container(got[CGROUP]);
    ev->oom.message = c->line->message;
    return TC__KMSG_EVENT;
}

/*
 * "Memory cgroup stats for /kubepods/pod...: cache:32KB rss:...": the limit's own cgroup, which
 * kernels before 5.0 print above a kill, and cut logs have instead of "Task in". Another line tells
 * the kill where that is there.
 */
enum tc__kmsg_verdict tc__kmsg_rule_cgroup_stats(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice pod = TC_EMPTY;
    if (!tc__text_match(c->line->message, "Memory cgroup stats for {0/*}:", got)) {
        return TC__KMSG_NOT_MINE;
    }
    if (!find_pod(c, got[0], &pod)) {
        return TC__KMSG_NOMEM;
    }
    int64_t pid = killed_below(c);
    struct tc__kmsg_line line;
    size_t at = tc__kmsg_offset(c);
    for (int i = 0; i < OLD_TASK_LOOK_LINES && tc__kmsg_prev(c, &at, &line); i++) {
        if (tc_slice_starts(line.message, TC_LIT("Task in "))) {
            return TC__KMSG_PART;
        }
    }
    if (pod.len == 0 || pid < 0) {
        return TC__KMSG_PART;
    }
    tc_event_init(ev, TC_EVENT_OOM_KILL);
    ev->scope.pid = pid;
    ev->scope.pod_uid = pod;
    ev->oom.constraint = TC_LIT("CONSTRAINT_MEMCG");
    ev->oom.cgroup = got[0];
    ev->oom.container_id = find_container(got[0]);
    ev->oom.message = c->line->message;
    return TC__KMSG_EVENT;
}

/* "[System ]OOM encountered, victim process: postgres, pid: 12345" */
static enum tc__kmsg_verdict rule_victim(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    int64_t pid = -1;
    (void)tc__kmsg_take(&s, TC_LIT("System "));
    if (!tc__kmsg_take(&s, TC_LIT("OOM encountered, victim process: "))) {
        return TC__KMSG_NOT_MINE;
    }
    size_t at = tc_slice_find_last(s, TC_LIT(", pid: "));
    if (at == TC_NPOS || !read_pid(tc_slice_from(s, at + sizeof ", pid: " - 1), &pid)) {
        c->why = "OOM victim without a process id";
        return TC__KMSG_BROKEN;
    }
    tc_event_init(ev, TC_EVENT_OOM_KILL);
    ev->scope.pid = pid;
    ev->oom.process = tc_slice_head(s, at);
    ev->oom.message = c->line->message;
    return TC__KMSG_EVENT;
}

/*
 * "Killed /kubepods.slice/... due to memory pressure for /kubepods.slice being 71.23% > 60.00% for
 * > 30s with reclaim activity", "... due to memory used (N) / total (N) and swap used (N) / ...".
 * Talos: "Sending SIGKILL to cgroup {..., "cgroup": "/sys/fs/cgroup/kubepods/..."}".
 */
enum tc__kmsg_verdict tc__kmsg_rule_oomd(struct tc__kmsg_context *c, struct tc_event *ev)
{
    enum { CGROUP, WHY };
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_slice pod = TC_EMPTY;
    if (!tc__text_match(c->line->message, "Killed {0/*} due to memory {1*}", got) &&
        !tc__text_match(c->line->message,
                        "Sending SIGKILL to cgroup {1*}\"cgroup\":%s\"/sys/fs/cgroup{0/*}\"",
                        got)) {
        return TC__KMSG_NOT_MINE;
    }
    if (!find_pod(c, got[CGROUP], &pod)) {
        return TC__KMSG_NOMEM;
    }
    tc_event_init(ev, TC_EVENT_OOM_KILL);
    ev->scope.pod_uid = pod;
    bool pressure = !tc_slice_starts(got[WHY], TC_LIT("used"));
    ev->oom.constraint = pressure ? TC_LIT("OOMD_PRESSURE") : TC_LIT("OOMD_SWAP");
    ev->oom.cgroup = got[CGROUP];
    ev->oom.container_id = find_container(got[CGROUP]);
    ev->oom.message = c->line->message;
    return TC__KMSG_EVENT;
}

/* "EDAC MC1: 262 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (channel:1 ..." */
static enum tc__kmsg_verdict rule_edac(struct tc__kmsg_context *c, struct tc_event *ev)
{
    enum { ERRORS, SORT, DIMM };
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t errors = 1;
    if (!tc__text_match(c->line->message,
                        "EDAC MC<%d|>: {0<%d|>}%s{1<CE|UE>} <* on {2*} (|* on {2*}|>", got)) {
        return TC__KMSG_NOT_MINE;
    }
    int64_t count = 0;
    if ((got[ERRORS].len > 0 && !tc_slice_is_u64(got[ERRORS], &errors)) || errors > INT32_MAX ||
        __builtin_mul_overflow((int64_t)errors, c->line->count, &count)) {
        c->why = "EDAC with a count that cannot be";
        return TC__KMSG_BROKEN;
    }
    bool corrected = got[SORT].ptr[0] == 'C';
    tc__kmsg_fault(c, ev, TC_EVENT_MEMORY_ERROR, corrected ? TC_LIT("edac_ce") : TC_LIT("edac_ue"),
                   got[DIMM]);
    ev->fault.count = count;
    return TC__KMSG_EVENT;
}

/* "{1}[Hardware Error]: " at the start of *io_s: the number of the report, and the prefix off. */
static bool take_ghes(struct tc_slice *io_s, uint64_t *out_report)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    if (!tc__text_match(*io_s, "%{{0%d}%}[Hardware Error]:%s{1*}", got) ||
        !tc_slice_is_u64(got[0], out_report)) {
        return false;
    }
    *io_s = got[1];
    return true;
}

/*
 * Firmware reports are of memory, PCIe, processors: the section says which. One
 * event for each memory section, with the DIMM if a later line names it.
 */
static enum tc__kmsg_verdict rule_ghes(struct tc__kmsg_context *c, struct tc_event *ev)
{
    struct tc_slice s = c->line->message;
    uint64_t report = 0;
    if (!take_ghes(&s, &report) || !tc_slice_starts(s, TC_LIT("section_type: memory error"))) {
        return TC__KMSG_NOT_MINE;
    }
    tc__kmsg_fault(c, ev, TC_EVENT_MEMORY_ERROR, TC_LIT("ghes"), TC_EMPTY);
    struct tc__kmsg_line line;
    size_t at = tc__kmsg_offset(c);
    for (int i = 0; i < GHES_LOOK_LINES && tc__kmsg_next(c, &at, &line); i++) {
        uint64_t other = 0;
        s = line.message;
        if (!tc_slice_eq(line.node, c->line->node) || !take_ghes(&s, &other) || other != report) {
            continue;
        }
        if (tc_slice_starts(s, TC_LIT("section_type:"))) {
            break;
        }
        if (tc__kmsg_take(&s, TC_LIT("DIMM location: "))) {
            ev->fault.device = s;
            break;
        }
    }
    return TC__KMSG_EVENT;
}

const tc__kmsg_rule tc__kmsg_memory_rules[] = {
    rule_constraint, rule_killed, rule_task_in, tc__kmsg_rule_cgroup_stats,
    rule_victim,     rule_edac,   rule_ghes,    NULL};
