/* SPDX-License-Identifier: Apache-2.0 */
/* States of nodes and jobs, and the events that come of them. */
#include "codec/signals_priv.h"
#include "codec/slurm/priv.h"

#include <string.h>

#define S(literal) TC_LIT(literal)
/* How the kernel ends what is out of memory. */
#define SIG_KILL 9

/* Signs behind a state: powered down, powering up, rebooting, planned ... A star says that the
 * node does not respond. */
static struct tc_slice without_flags(struct tc_slice state, bool *out_silent)
{
    while (state.len > 0 && memchr("*~#!%$@^-+", state.ptr[state.len - 1], 10) != NULL) {
        *out_silent |= state.ptr[state.len - 1] == '*';
        state.len--;
    }
    return state;
}

bool tc__slurm_is_state(struct tc_slice state)
{
    static const char *const good[] = {
        "idle",         "alloc",  "allocated",   "mix",           "mixed",  "comp",
        "completing",   "maint",  "resv",        "reserved",      "plnd",   "planned",
        "boot",         "reboot", "unk",         "unknown",       "pow_up", "pow_dn",
        "powered_down", "block",  "powering_up", "powering_down", "future", "npc"};
    bool silent = false;
    struct tc_slice name = without_flags(state, &silent);
    for (size_t i = 0; i < TC_COUNT(good); i++) {
        if (tc_slice_eq_nocase(name, tc_slice_cstr(good[i]))) {
            return true;
        }
    }
    /* A star alone makes no word a state. */
    return tc__slurm_is_bad(name);
}

bool tc__slurm_is_bad(struct tc_slice state)
{
    static const char *const bad[] = {"DOWN",  "DRAIN", "DRAINED",       "DRAINING",
                                      "DRNG",  "FAIL",  "FAILING",       "FAILG",
                                      "ERROR", "INVAL", "NOT_RESPONDING"};
    bool silent = false;
    state = without_flags(state, &silent);
    while (state.len > 0) {
        struct tc_slice part = tc_slice_cut(state, '+', &state);
        part = without_flags(part, &silent);
        for (size_t i = 0; i < TC_COUNT(bad); i++) {
            if (tc_slice_eq_nocase(part, tc_slice_cstr(bad[i]))) {
                return true;
            }
        }
    }
    return silent;
}

bool tc__slurm_job_state(struct tc_slice state, bool *out_failed, bool *out_memory)
{
    static const struct {
        const char *name;
        bool failed;
    } states[] = {
        {"BOOT_FAIL", true},   {"CANCELLED", false},    {"COMPLETED", false},
        {"COMPLETING", false}, {"CONFIGURING", false},  {"DEADLINE", false},
        {"FAILED", true},      {"NODE_FAIL", true},     {"OUT_OF_MEMORY", true},
        {"PENDING", false},    {"PREEMPTED", false},    {"REQUEUED", false},
        {"RESIZING", false},   {"RUNNING", false},      {"SUSPENDED", false},
        {"TIMEOUT", false},    {"LAUNCH_FAILED", true}, {"RECONFIG_FAIL", true},
    };
    /* sacct cuts what does not fit: "OUT_OF_ME+". */
    bool cut = tc_slice_ends(state, S("+")) && state.len > 5;
    struct tc_slice start = cut ? tc_slice_head(state, state.len - 1) : state;
    for (size_t i = 0; i < TC_COUNT(states); i++) {
        struct tc_slice name = tc_slice_cstr(states[i].name);
        if (tc_slice_eq(name, state) || (cut && tc_slice_starts(name, start))) {
            *out_failed = states[i].failed;
            *out_memory = tc_slice_starts(name, S("OUT_OF"));
            return true;
        }
    }
    return false;
}

bool tc__slurm_exit_code(struct tc_slice text, struct tc_ev_exit *io)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t signal = 0;
    if (!tc__text_match(text, "{0%d}:{1%d}$", got)) {
        return false;
    }
    (void)tc__exit_status(got[0], io);
    if (tc_slice_u64(got[1], &signal) > 0 && signal > 0 && signal <= 64) {
        io->signal = (int64_t)signal;
    }
    return true;
}

/* A name that was put together is in `room`, and is copied. */
static bool own_name(struct tc__lines *w, const char *room, struct tc_slice name,
                     struct tc_slice *out)
{
    *out = name;
    if (name.ptr == room && w->out->arena != NULL) {
        *out = tc_arena_copy(w->out->arena, name);
    }
    return out->ptr != NULL;
}

tc_status tc__slurm_tell_nodes(struct tc__lines *w, const struct tc__line *line,
                               const struct slurm_nodes *n)
{
    char room[SLURM_NAME_MAX];
    struct tc_slice host = TC_EMPTY;
    uint64_t at = 0;
    bool more = n->hosts.len == 0 || tc__slurm_host_next(n->hosts, &at, room, &host);
    while (more) {
        struct tc_event ev;
        tc_event_init(&ev, TC_EVENT_NODE_CONDITION);
        ev.time_ns = n->time_ns;
        ev.k8s.type = S("Slurm");
        ev.k8s.status = tc_slice_cstr(n->status);
        ev.k8s.reason = tc_slice_head(tc_slice_trim(n->reason), SLURM_MESSAGE_MAX);
        ev.k8s.message = tc_slice_head(line->text, SLURM_MESSAGE_MAX);
        ev.scope.job = tc_slice_head(n->job, TC_SCOPE_TEXT_MAX);
        if (host.len > 0 && !own_name(w, room, host, &ev.scope.node)) {
            return TC_E_NOMEM;
        }
        TC_TRY(tc__lines_deliver(w, line, &ev));
        more = n->hosts.len > 0 && tc__slurm_host_next(n->hosts, &at, room, &host);
    }
    return TC_OK;
}

static tc_status deliver_job(struct tc__lines *w, const struct tc__line *line,
                             const struct slurm_job *j, struct tc_event *ev)
{
    bool single = tc_slice_find_byte(j->node, '[') == TC_NPOS &&
                  tc_slice_find_byte(j->node, ',') == TC_NPOS && j->node.len <= TC_SCOPE_TEXT_MAX;
    ev->time_ns = j->time_ns;
    ev->scope.job = tc_slice_head(j->job, TC_SCOPE_TEXT_MAX);
    ev->scope.node = single ? j->node : TC_EMPTY;
    ev->scope.rank = j->is_task ? j->rank : -1;
    return tc__lines_deliver(w, line, ev);
}

tc_status tc__slurm_tell_job(struct tc__lines *w, const struct tc__line *line,
                             const struct slurm_job *j)
{
    struct tc_event ev;
    struct tc_slice message = tc_slice_head(line->text, SLURM_MESSAGE_MAX);
    if (j->out_of_memory) {
        tc_event_init(&ev, TC_EVENT_OOM_KILL);
        ev.oom.constraint = S("SLURM_STEP");
        ev.oom.message = message;
        TC_TRY(deliver_job(w, line, j, &ev));
    }
    if (j->out_of_memory && !j->is_task) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    ev.exit.exit_code = j->exit.exit_code;
    ev.exit.signal = j->out_of_memory ? SIG_KILL : j->exit.signal;
    ev.exit.message = message;
    ev.exit.told_by = j->is_task ? S("step") : S("job");
    ev.exit.role = j->stopped ? S("stopped") : TC_EMPTY;
    return deliver_job(w, line, j, &ev);
}
