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

tc_status tc__job_read_peer(struct tc__lines *w, const struct tc__line *line, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc__line told = *line;
    struct tc_event ev;
    if (!tc__text_match(line->text, "*/job:%n", got) ||
        !tc__text_match(line->text, "*/task:{0%d} <died|is unhealthy|has failed|failed|crashed>",
                        got)) {
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
    if (tc__text_match(line->text, "<*rank|*Rank> {0%d} <runs |is |running |>on host {2%w}", got)) {
        ev.scope.rank = tc__job_rank(got[SLOT_RANK]);
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
