/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launchers say of the processes that they started.
 *
 * torchrun's table has a block for each rank that failed:
 *
 *   [0]:
 *     time      : 2026-11-03_10:00:03
 *     host      : gpu-17
 *     rank      : 4 (local_rank: 4)
 *     exitcode  : -9 (pid: 14750)
 *     error_file: <N/A>
 *     traceback : Signal 9 (SIGKILL) received by PID 14750
 */
#include "codec/job_log/priv.h"

#include "base/limits.h"
#include "base/time.h"
#include "codec/signals_priv.h"

#include <string.h>

#define S(literal) TC_LIT(literal)

/* Lines of a block of the table above its exit code, and below. */
#define BLOCK_ABOVE 8
#define BLOCK_BELOW 96
/* Where the table is looked for below the agent's line. */
#define TABLE_WITHIN ((size_t)32 << 10)
/* A report that runs on to the next lines is read up to here. */
#define JOINED_MAX 2048
/* Where a log of a job speaks of its ranks. */
#define RANKS_WITHIN ((size_t)16 << 10)
#define PID_MAX UINT64_C(4294967295)

int32_t tc__job_rank(struct tc_slice digits)
{
    uint64_t rank = 0;
    return tc_slice_u64(digits, &rank) > 0 && rank <= TC_FR_RANK_MAX ? (int32_t)rank : -1;
}

int64_t tc__job_pid(struct tc_slice digits)
{
    uint64_t pid = 0;
    return tc_slice_u64(digits, &pid) > 0 && pid > 0 && pid <= PID_MAX ? (int64_t)pid : -1;
}

/* A name that people did not black out: "<hostname>", "***". */
static struct tc_slice name_of(struct tc_slice text)
{
    bool name = text.len > 0 && text.len <= TC_SCOPE_TEXT_MAX && text.ptr[0] != '<' &&
                text.ptr[0] != '*' && text.ptr[0] != '[';
    return name ? text : TC_EMPTY;
}

/* The line from `after` on and those below it, with blanks between. */
static struct tc_slice join(struct tc__lines *w, const struct tc__line *line, struct tc_slice after,
                            unsigned lines, char room[JOINED_MAX])
{
    struct tc_buf b = tc_buf_make(room, JOINED_MAX);
    struct tc__line at = *line;
    tc_buf_str(&b, tc_slice_head(after, JOINED_MAX / 2));
    for (unsigned i = tc__job_look(w, lines); i > 0; i--) {
        struct tc__line below;
        if (!tc__job_below(w, &at, &below)) {
            break;
        }
        at = below;
        tc_buf_str(&b, S(" "));
        tc_buf_str(&b, tc_slice_head(at.text, JOINED_MAX / 4));
    }
    return tc_buf_slice(&b);
}

/* What a launcher says of a process, of the command that it ran too. */
static void put_launcher(struct tc_event *ev, const struct tc__line *line, bool first)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    int32_t local =
        tc__text_match(line->text, "*local_rank<=|: >{0%d}", got) ? tc__job_rank(got[0]) : -1;
    ev->exit.told_by = S("launcher");
    ev->exit.role = first ? S("first") : TC_EMPTY;
    ev->exit.local_rank = ev->exit.local_rank >= 0 ? ev->exit.local_rank : local;
}

/* "rank 3", or "local rank 3". */
static void put_rank(struct tc_event *ev, const struct tc__line *line, struct tc_slice digits)
{
    bool here = digits.len > 0 && digits.ptr >= line->text.ptr &&
                digits.ptr < line->text.ptr + line->text.len;
    size_t at = here ? (size_t)(digits.ptr - line->text.ptr) : 0;
    struct tc_slice before = tc_slice_trim(tc_slice_head(line->text, at));
    if (here && (tc_slice_ends(before, S("local rank")) || tc_slice_ends(before, S("local_rank")) ||
                 tc_slice_ends(before, S("Local rank")))) {
        ev->exit.local_rank = tc__job_rank(digits);
    } else {
        ev->scope.rank = tc__job_rank(digits);
    }
}

static bool speaks_of_ranks(struct tc__lines *w)
{
    uint64_t *known = &w->cursor->own[JOB_OWN_RANKS];
    if (*known == 0) {
        struct tc_slice head = tc_slice_head(w->in->bytes, RANKS_WITHIN);
        *known = tc_slice_find_nocase(head, S("rank")) == TC_NPOS ? 1 : 2;
    }
    return *known == 2;
}

tc_status tc__job_read_exit(struct tc__lines *w, const struct tc__line *line, struct tc_slice after,
                            const struct tc__job_report *report, bool *out_ours)
{
    char room[JOINED_MAX];
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_event ev;
    struct tc_slice text = report->lines == 0 ? after : join(w, line, after, report->lines, room);
    uint64_t signal = 0;
    if (!tc__text_match(text, report->says, got)) {
        return TC_OK;
    }
    /* What an exception says of others is told by its stack, and servers have processes, too. */
    bool whole = text.ptr == line->text.ptr && !report->own;
    if (whole && (tc__job_is_raised(w, line) || (got[SLOT_RANK].len == 0 && !speaks_of_ranks(w)))) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    *out_ours = true;
    ev.exit.signal = report->signal;
    if (got[SLOT_CODE].len > 0 && !tc__exit_status(got[SLOT_CODE], &ev.exit)) {
        return TC_OK;
    }
    if (tc_slice_u64(got[SLOT_SIGNAL], &signal) > 0 && signal > 0 && signal <= 64) {
        ev.exit.signal = (int64_t)signal;
    }
    if (got[SLOT_REST].len > 0) {
        ev.exit.signal = tc__signal_of(got[SLOT_REST]);
        *out_ours = ev.exit.signal > 0;
        if (ev.exit.signal == 0) {
            return TC_OK;
        }
    }
    ev.exit.message = tc_slice_head(line->text, JOB_MESSAGE_MAX);
    (void)tc__job_exception(line->text, &ev.exit.error);
    put_launcher(&ev, line, report->first);
    ev.exit.told_by = report->own ? S("process") : ev.exit.told_by;
    put_rank(&ev, line, got[SLOT_RANK]);
    ev.scope.pid = tc__job_pid(got[SLOT_PID]);
    struct tc_slice node = name_of(got[SLOT_NODE]);
    if (node.len > 0 && w->out->arena != NULL) {
        ev.scope.node = tc_arena_copy(w->out->arena, node);
        if (ev.scope.node.ptr == NULL) {
            return TC_E_NOMEM;
        }
    }
    return tc__lines_deliver(w, line, &ev);
}

/* "2026-11-03_10:00:03" */
static int64_t table_time(const struct tc_codec_input *in, struct tc_slice text)
{
    char date[] = "2026-11-03 10:00:03";
    int64_t ns = TC_TIME_NONE;
    if (text.len < sizeof date - 1) {
        return TC_TIME_NONE;
    }
    memcpy(date, text.ptr, sizeof date - 1);
    date[10] = date[10] == '_' ? ' ' : date[10];
    size_t used = tc_time_parse(tc_slice_make(date, sizeof date - 1), in->utc_offset_s, &ns);
    return used > 0 && ns >= 0 && ns <= TC_TIME_MAX ? ns : TC_TIME_NONE;
}

static void read_block_above(struct tc__lines *w, const struct tc__line *line, struct tc_event *ev)
{
    struct tc__line at = *line;
    bool numbered = false; /* the title is above the number */
    for (unsigned i = tc__job_look(w, BLOCK_ABOVE); i > 0; i--) {
        struct tc__line above;
        struct tc_slice got[TC__TEXT_SLOTS];
        if (!tc__job_above(w, &at, &above)) {
            return;
        }
        at = above;
        if (!tc__line_same_stream(line, &at)) {
            continue;
        }
        if (numbered) {
            ev->exit.role = tc_slice_starts(at.text, S("Root Cause")) ? S("first") : ev->exit.role;
            return;
        }
        if (tc__text_match(at.text, "rank%s:%s{0%d}<%s(local_rank: {1%d})|>", got)) {
            ev->scope.rank = tc__job_rank(got[0]);
            ev->exit.local_rank = tc__job_rank(got[1]);
        } else if (tc__text_match(at.text, "host%s:%s{0%n}", got)) {
            ev->scope.node = name_of(got[0]);
        } else if (tc__text_match(at.text, "time%s:%s{0*}", got)) {
            ev->time_ns = line->time_ns == TC_TIME_NONE ? table_time(w->in, got[0]) : ev->time_ns;
        } else if (tc__text_match(at.text, "[%d]:", got)) {
            numbered = true;
        }
    }
}

/* The last exception of the stack that the block may hold. */
static void read_block_below(struct tc__lines *w, const struct tc__line *line, struct tc_event *ev)
{
    struct tc__line at = *line;
    for (unsigned i = tc__job_look(w, BLOCK_BELOW); i > 0; i--) {
        struct tc__line below;
        struct tc_slice got[TC__TEXT_SLOTS];
        if (!tc__job_below(w, &at, &below) || tc_slice_starts(below.text, S("=====")) ||
            tc_slice_starts(below.text, S("-----")) || tc__text_match(below.text, "[%d]:", got)) {
            return;
        }
        at = below;
        struct tc_slice name;
        if (tc__line_same_stream(line, &at) && tc__job_exception(at.text, &name)) {
            ev->exit.error = name;
            ev->exit.message = tc_slice_head(at.text, JOB_MESSAGE_MAX);
        }
    }
}

tc_status tc__job_read_table(struct tc__lines *w, const struct tc__line *line,
                             struct tc_slice after, bool *out_ours)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_RANK_EXIT);
    if (!tc__text_match(after, "%s:%s{3%f}%s(pid: {1%d})", got) ||
        !tc__exit_status(got[SLOT_CODE], &ev.exit)) {
        return TC_OK;
    }
    *out_ours = true;
    ev.scope.pid = tc__job_pid(got[SLOT_PID]);
    ev.exit.message = tc_slice_head(line->text, JOB_MESSAGE_MAX);
    ev.exit.told_by = S("launcher");
    read_block_above(w, line, &ev);
    read_block_below(w, line, &ev);
    return tc__lines_deliver(w, line, &ev);
}

tc_status tc__job_read_agent(struct tc__lines *w, const struct tc__line *line,
                             struct tc_slice after, bool *out_ours)
{
    static const char says[] = "{3%f}) local_rank: %d (pid: {1%d})";
    struct tc_slice got[TC__TEXT_SLOTS];
    char table[96];
    if (!tc__text_match(after, says, got)) {
        return TC_OK;
    }
    struct tc_buf b = tc_buf_make(table, sizeof table);
    tc_buf_str(&b, S(": "));
    tc_buf_str(&b, tc_slice_head(got[SLOT_CODE], 16));
    tc_buf_str(&b, S(" (pid: "));
    tc_buf_str(&b, tc_slice_head(got[SLOT_PID], 24));
    tc_buf_str(&b, S(")"));
    struct tc_slice below = tc_slice_from(w->in->bytes, line->next);
    *out_ours = true;
    if (tc_slice_contains(tc_slice_head(below, TABLE_WITHIN), tc_buf_slice(&b))) {
        return TC_OK;
    }
    struct tc__job_report report = {.says = says, .first = true};
    return tc__job_read_exit(w, line, after, &report, out_ours);
}
