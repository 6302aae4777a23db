/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What processes say while they die, what those around them say of it (a shell, docker compose, the
 * peers), and where launchers say that they run.
 */
#include "codec/job_log/priv.h"

#include "base/limits.h"
#include "codec/signals_priv.h"

#define S(literal) TC_LIT(literal)

/* PyTorch's watchdog of NCCL ends its process by abort(). */
#define SIG_ABORT 6
/* Nodes of a mapping, and ranks of a node. */
#define MAPPING_MAX 4096
/* Lines above a stack in which NCCL says what went wrong, and the GPUs of a node. */
#define WARNED_WITHIN 64
#define NODE_GPUS 8

/* The rank in the head of a message of a process group, where that is the group of all. */
static int32_t rank_of_group(struct tc_slice text)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    bool all = tc__text_match(text, "*[Rank {0%d}]", got) ||
               tc__text_match(text, "*[PG 0 Rank {0%d}]", got) ||
               tc__text_match(text, "*(default_pg) Rank {0%d}]", got);
    return all ? tc__job_rank(got[0]) : -1;
}

tc_status tc__job_read_watchdog(struct tc__lines *w, const struct tc__line *line,
                                struct tc_slice after, bool *out_ours)
{
    struct tc_event ev;
    /* What C++ says of it once more. */
    if (after.len == 0 || tc_slice_starts(line->text, S("what():"))) {
        return TC_OK;
    }
    *out_ours = true;
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    ev.exit.error = S("c10::DistBackendError");
    ev.exit.message = tc_slice_head(after, JOB_MESSAGE_MAX);
    ev.exit.signal = SIG_ABORT;
    ev.exit.told_by = S("process");
    ev.scope.rank = line->scope.rank >= 0 ? line->scope.rank : rank_of_group(line->text);
    return tc__lines_deliver(w, line, &ev);
}

/* How the coordination service says that a task is gone. */
static bool says_gone(struct tc_slice text)
{
    return tc_slice_contains_any(text, "unhealthy", " died", "has failed", "crashed",
                                 "disconnected", "stopped sending heartbeats", "heartbeat timeout");
}

tc_status tc__job_read_peer(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc__line told = *line;
    struct tc__line above;
    struct tc_event ev;
    /* A list of tasks stands below what is said of them. */
    bool listed = tc_slice_starts(line->text, S("/job:")) && tc__job_above(w, line, &above) &&
                  says_gone(above.text);
    if ((!listed && !says_gone(line->text)) ||
        !tc__text_match(line->text, "*/job:*/task:{0%d}", got)) {
        return TC_OK;
    }
    *out_ours = true;
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    ev.exit.message = tc_slice_head(line->text, JOB_MESSAGE_MAX);
    ev.exit.told_by = S("launcher");
    ev.exit.role = S("first");
    ev.scope.rank = tc__job_rank(got[0]);
    /* The line is another's. */
    told.scope = TC_SCOPE_NONE;
    return tc__lines_deliver(w, &told, &ev);
}

tc_status tc__job_read_replica(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    if (line->replica < 0 || !tc__text_match(line->text, "exited with code {3%d}$", got) ||
        !tc__exit_status(got[SLOT_CODE], &ev.exit)) {
        return TC_OK;
    }
    *out_ours = true;
    ev.exit.message = tc_slice_head(tc_slice_trim(line->raw), JOB_MESSAGE_MAX);
    ev.exit.told_by = S("launcher");
    return tc__lines_deliver(w, line, &ev);
}

static bool is_key_byte(char c)
{
    return tc_is_word(c) || c == '-';
}

/* The value behind "key=", "key: " or "key:"; "". A key is a word of its own. */
static struct tc_slice value_of(struct tc_slice text, const char *const *keys)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    for (; *keys != NULL; keys++) {
        struct tc_slice key = tc_slice_cstr(*keys);
        size_t at = tc_slice_find(text, key);
        bool alone = at != TC_NPOS && (at == 0 || !is_key_byte(text.ptr[at - 1]));
        if (alone && tc__text_match(tc_slice_from(text, at + key.len), "<=|: |:>{0%w}", got) &&
            got[0].len > 0) {
            return got[0];
        }
    }
    return TC_EMPTY;
}

tc_status tc__job_read_place(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    static const char *const ranks[] = {"world_rank", "global_rank", "rank", "RANK", NULL};
    static const char *const hosts[] = {"host", "hostname", "node", "ip", NULL};
    static const char *const pids[] = {"pid", "PID", NULL};
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_RANK_PLACE);
    static const char *const said[] = {
        "<*rank|*Rank> {0%d} <runs |is |running |started |>on <host|node> {2%w}",
        /* Open MPI and Intel MPI */
        "[{2%n}:{1%d}] <MCW rank|Rank> {0%d} ",
        "[{2%n}:{1%d}] *reported by process [%d,{0%d}]",
        "[%d] MPI startup(): %s{0%d}%s{1%d}%s{2%n}%s%{",
    };
    size_t form = 0;
    while (form < TC_COUNT(said) && !tc__text_match(line->text, said[form], got)) {
        form++;
    }
    if (form < TC_COUNT(said)) {
        ev.scope.rank = tc__job_rank(got[SLOT_RANK]);
        ev.scope.pid = tc__job_pid(got[SLOT_PID]);
        ev.scope.node = got[SLOT_NODE];
    } else {
        struct tc_slice rank = value_of(line->text, ranks);
        uint64_t number = 0;
        ev.scope.rank = tc_slice_is_u64(rank, &number) ? tc__job_rank(rank) : -1;
        ev.scope.node = value_of(line->text, hosts);
        ev.scope.pid = tc__job_pid(value_of(line->text, pids));
    }
    if (ev.scope.rank < 0 || ev.scope.node.len == 0 || ev.scope.node.len > TC_SCOPE_TEXT_MAX) {
        return TC_OK;
    }
    *out_ours = true;
    ev.place.origin = S("launcher");
    return tc__lines_deliver(w, line, &ev);
}

tc_status tc__job_read_mapping(struct tc__lines *w, const struct tc__line *line,
                               struct tc_slice after, bool *out_ours)
{
    size_t open = tc_slice_find_byte(after, '{');
    struct tc_slice rest = tc_slice_from(after, open == TC_NPOS ? after.len : open);
    struct tc_slice got[TC__TEXT_SLOTS];
    for (unsigned i = 0; i < MAPPING_MAX && tc__text_match(rest, "*'{0*}': {1[*]}{5*}", got); i++) {
        struct tc_event ev;
        size_t at = 0;
        rest = got[5];
        *out_ours = true;
        tc_event_init(&ev, TC_EVENT_RANK_PLACE);
        ev.place.origin = S("launcher");
        for (unsigned k = 0; k < MAPPING_MAX && tc_rank_list_next(got[1], &at, &ev.scope.rank);
             k++) {
            struct tc_event one = ev;
            one.scope.node = tc_slice_head(got[0], TC_SCOPE_TEXT_MAX);
            TC_TRY(tc__lines_deliver(w, line, &one));
        }
    }
    return TC_OK;
}

struct tc_slice tc__job_warned_host(struct tc__lines *w, const struct tc__line *line, int32_t rank)
{
    struct tc__line at = *line;
    struct tc_slice got[TC__TEXT_SLOTS];
    for (unsigned i = tc__job_look(w, WARNED_WITHIN); i > 0; i--) {
        struct tc__line above;
        uint64_t gpu = 0;
        if (!tc__job_above(w, &at, &above)) {
            return TC_EMPTY;
        }
        at = above;
        if (tc__text_match(at.text, "{0%n}:%d:%d [{1%d}] *NCCL WARN ", got) &&
            tc_slice_is_u64(got[1], &gpu) && (int64_t)gpu == rank % NODE_GPUS) {
            return tc_slice_head(got[0], TC_SCOPE_TEXT_MAX);
        }
    }
    return TC_EMPTY;
}

tc_status tc__job_read_terminate(struct tc__lines *w, const struct tc__line *line,
                                 struct tc_slice after, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_event ev;
    struct tc__line below;
    if (!tc__text_match(after, "{0*}'", got)) {
        return TC_OK;
    }
    *out_ours = true;
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    ev.exit.error = tc_slice_head(got[0], TC_SCOPE_TEXT_MAX);
    ev.exit.message = tc_slice_head(line->text, JOB_MESSAGE_MAX);
    ev.exit.signal = 6;
    ev.exit.told_by = S("process");
    if (tc__job_below(w, line, &below) && tc__text_match(below.text, "what():%s{0*}", got)) {
        ev.exit.message = tc_slice_head(got[0], JOB_MESSAGE_MAX);
        ev.scope.rank = rank_of_group(got[0]);
    }
    return tc__lines_deliver(w, line, &ev);
}

tc_status tc__job_read_shell(struct tc__lines *w, const struct tc__line *line,
                             struct tc_slice after, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_event ev;
    if (!tc__text_match(after, "%d:%s{1%d}%s{5*}", got)) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    ev.exit.signal = tc__signal_of(got[SLOT_REST]);
    ev.exit.message = tc_slice_head(line->text, JOB_MESSAGE_MAX);
    ev.exit.told_by = S("shell");
    ev.scope.pid = tc__job_pid(got[SLOT_PID]);
    /* Whoever ended it by SIGTERM or SIGINT wanted to. */
    if (ev.exit.signal == 0 || ev.exit.signal == 15 || ev.exit.signal == 2) {
        return TC_OK;
    }
    *out_ours = true;
    return tc__lines_deliver(w, line, &ev);
}
