/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchdog of PyTorch's ProcessGroupNCCL, 1.9 to 2.8. It tells of each rank what a dump of the
 * Flight Recorder tells: the collective that it waits in, and how far it got.
 *
 *   [rank13]:[E813 12:25:30.947 ProcessGroupNCCL.cpp:685] [Rank 5] Watchdog caught collective
 *   operation timeout: WorkNCCL(SeqNum=57, OpType=ALLGATHER, NumelIn=1, NumelOut=8,
 *   Timeout(ms)=600000) ran for 600096 milliseconds before timing out.
 *   [rank13]:[E813 12:25:30.948 ProcessGroupNCCL.cpp:2252] [PG ID 3 PG GUID 11(mesh_tp) Rank 5]
 *   failure detected by watchdog at work sequence id: 57 PG status: last enqueued work: 57, last
 *   completed work: 56
 *
 * "[rank13]" counts all ranks, "Rank 5" those of the group. The first line does not say which group
 * that is: a line close by, with the same sequence id, does. Where there is none, the group has no
 * name, and only ranks whose number in the group is their number in the job are taken for members
 * of one.
 */
#include "codec/nccl_log/priv.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/time.h"

#define S(literal) TC_LIT(literal)

/* How far behind a line the name of its group is looked for, and at how many places. */
#define LOOK_AHEAD ((size_t)32 << 10)
#define TAGS_MAX 64
/* The rank stands so far in front of the group at most. */
#define RANK_PREFIX_MAX 128
/* Of one list in a report. */
#define LISTED_MAX 4096
/* No call runs longer than 100 days. */
#define RAN_MS_MAX INT64_C(8640000000)

/* A process group, as lines name it. */
struct tag {
    struct tc_slice name;
    struct tc_slice desc;
    int64_t pg_id; /* -1: not told */
    int32_t local; /* rank in the group, -1 */
};

static const struct tag NO_TAG = {.pg_id = -1, .local = -1};

static int32_t rank_of(struct tc_slice digits)
{
    uint64_t rank = 0;
    return tc_slice_is_u64(digits, &rank) && rank <= TC_FR_RANK_MAX ? (int32_t)rank : -1;
}

static int64_t number_of(struct tc_slice digits)
{
    int64_t value = -1;
    return tc_slice_is_i64(digits, &value) ? value : -1;
}

/* The last "[PG ...]" of a text. */
static bool read_tag(struct tc_slice text, struct tag *out)
{
    static const char *const forms[] = {
        "[PG ID {0%d} PG GUID {1*}({2*}) Rank {3%d}$",
        "[PG ID {0%d} PG GUID {1*} Rank {3%d}$",
        "[PG {1*} ({2*}) Rank {3%d}$",
        "[PG {1*} Rank {3%d}$",
    };
    size_t at = tc_slice_find_last(text, S("[PG "));
    struct tc_slice rest;
    struct tc_slice tag =
        at == TC_NPOS ? TC_EMPTY : tc_slice_cut(tc_slice_from(text, at), ']', &rest);
    for (size_t i = 0; i < TC_COUNT(forms); i++) {
        struct tc_slice got[TC__TEXT_SLOTS];
        if (tc__text_match(tag, forms[i], got) && got[1].len <= TC_SCOPE_TEXT_MAX) {
            int64_t id = number_of(got[0].len > 0 ? got[0] : got[1]);
            *out = (struct tag){got[1], got[2], id, rank_of(got[3])};
            return true;
        }
    }
    return false;
}

/* The n of the last word + "n]" in a text; -1. */
static int32_t rank_behind(struct tc_slice text, struct tc_slice word)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    size_t at = tc_slice_find_last(text, word);
    return at != TC_NPOS && tc__text_match(tc_slice_from(text, at + word.len), "{0%d}]", got)
               ? rank_of(got[0])
               : -1;
}

/*
 * The global rank that a line is of. Lines without "[rank13]" are those of versions before 2.2, and
 * of exceptions: there only the number in the group is known, which is the global one where the
 * group is that of all ranks.
 */
static int32_t global_rank(const struct tc__nccl_hit *hit, const struct tag *tag, int32_t local)
{
    int32_t told = hit->line->scope.rank;
    told = told >= 0 ? told : rank_behind(hit->before, S("[rank"));
    if (told >= 0) {
        return told;
    }
    bool of_all = tag == NULL ? !tc_slice_contains(hit->before, S("what():"))
                              : tc_slice_eq(tag->name, S("0"));
    return of_all ? local : -1;
}

/* The sequence id of the work that a text says something went wrong with; -1. */
static int64_t work_of(struct tc_slice text)
{
    static const char *const words[] = {"at work: ", "at NCCL work: ", "at work sequence id: "};
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        struct tc_slice word = tc_slice_cstr(words[i]);
        size_t at = tc_slice_find(text, word);
        uint64_t seq = 0;
        if (at != TC_NPOS && tc_slice_u64(tc_slice_from(text, at + word.len), &seq) > 0 &&
            seq <= INT64_MAX) {
            return (int64_t)seq;
        }
    }
    return -1;
}

/* Remembers which group a sequence id is of, where all that tell of it number ranks alike. */
static void remember_tag(struct tc__lines *w, size_t tag_at, int64_t seq)
{
    w->cursor->own[TC__NCCL_OWN_SEQ] = (uint64_t)seq + 1;
    w->cursor->own[TC__NCCL_OWN_TAG_AT] = tag_at;
}

static struct tc_slice line_at(struct tc_slice bytes, size_t at)
{
    struct tc_slice rest = tc_slice_head(tc_slice_from(bytes, at), TC_LINE_MAX);
    return tc_slice_head(rest, tc_slice_find_byte(rest, '\n'));
}

/* The group of a call whose line does not name it: from the lines behind it, or one before. */
static bool find_tag(const struct tc__nccl_hit *hit, int64_t seq, int32_t rank, int32_t local,
                     struct tag *out)
{
    struct tc__lines *w = hit->w;
    struct tc_slice bytes = w->in->bytes;
    size_t at = hit->line->next;
    size_t end = at + LOOK_AHEAD;
    if (rank == local && w->cursor->own[TC__NCCL_OWN_SEQ] == (uint64_t)seq + 1) {
        return read_tag(line_at(bytes, w->cursor->own[TC__NCCL_OWN_TAG_AT]), out);
    }
    for (unsigned i = 0; i < TAGS_MAX && at < end; i++) {
        size_t step = tc_slice_find(tc_slice_head(tc_slice_from(bytes, at), end - at), S("[PG "));
        if (step == TC_NPOS) {
            return false;
        }
        at += step;
        size_t start = at > RANK_PREFIX_MAX ? at - RANK_PREFIX_MAX : 0;
        struct tc_slice before = tc_slice_make(bytes.ptr + start, at - start);
        struct tc_slice line = line_at(bytes, at);
        size_t newline = tc_slice_find_last(before, S("\n"));
        before = newline == TC_NPOS ? before : tc_slice_from(before, newline);
        int32_t other = rank_behind(before, S("[rank"));
        if (work_of(line) == seq && read_tag(line, out)) {
            other = other >= 0 ? other : out->local;
            bool alike = other == out->local && rank == local;
            if (alike) {
                remember_tag(w, at, seq);
            }
            if (alike || other == rank) {
                return true;
            }
        }
        at += line.len;
    }
    return false;
}

/* "ALLREDUCE" as the Flight Recorder calls it. */
static struct tc_slice op_of(struct tc_slice type)
{
    static const struct {
        const char *type;
        const char *op;
    } names[] = {
        {"ALLREDUCE", "all_reduce"},
        {"ALLREDUCE_COALESCED", "allreduce_coalesced"},
        {"BROADCAST", "broadcast"},
        {"REDUCE", "reduce"},
        {"ALLGATHER", "all_gather"},
        {"_ALLGATHER_BASE", "_all_gather_base"},
        {"ALLGATHER_COALESCED", "all_gather_into_tensor_coalesced"},
        {"REDUCE_SCATTER", "reduce_scatter"},
        {"_REDUCE_SCATTER_BASE", "_reduce_scatter_base"},
        {"ALLTOALL", "all_to_all"},
        {"ALLTOALL_BASE", "all_to_all"},
        {"BARRIER", "barrier"},
        {"GATHER", "gather"},
        {"SCATTER", "scatter"},
        {"SEND", "send"},
        {"RECV", "recv"},
        {"RECVANYSOURCE", "recv"},
        {"COALESCED", "coalesced"},
    };
    for (size_t i = 0; i < TC_COUNT(names); i++) {
        if (tc_slice_eq(type, tc_slice_cstr(names[i].type))) {
            return tc_slice_cstr(names[i].op);
        }
    }
    return type;
}

/* "[[4096]]" from the number of elements; empty when it is not told or there is no room. */
static struct tc_slice sizes_of(struct tc_arena *arena, struct tc_slice numel)
{
    char *text = numel.len == 0 || arena == NULL ? NULL : tc_new(arena, char, numel.len + 4);
    if (text == NULL) {
        return TC_EMPTY;
    }
    struct tc_buf b = tc_buf_make(text, numel.len + 4);
    tc_buf_lit(&b, "[[");
    tc_buf_str(&b, numel);
    tc_buf_lit(&b, "]]");
    return tc_buf_slice(&b);
}

static struct tc_event record_of(const struct tc__lines *w, const struct tag *tag, int32_t rank,
                                 int64_t seq, enum tc_nccl_state state)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NCCL_RECORD);
    ev.scope.rank = rank;
    ev.nccl.group = tag->name;
    ev.nccl.group_desc = tag->desc;
    ev.nccl.group_key = tc_nccl_group_key(w->in->job, tag->name, TC_EMPTY);
    ev.nccl.pg_id = tag->pg_id;
    ev.nccl.seq = seq;
    ev.nccl.state = (uint8_t)state;
    ev.nccl.from_dump = true;
    return ev;
}

static uint64_t transfer_mark(int32_t rank, int64_t seq)
{
    return (uint64_t)rank << 40 ^ (uint64_t)seq ^ UINT64_C(1) << 63;
}

/*
 * What tells groups without a name apart: how far the numbers in them are from those of the job.
 * Versions before 1.13 have no sequence ids: only ranks that wait in the same call are compared.
 */
static void set_unnamed_key(const struct tc__lines *w, int64_t seq, int32_t shift,
                            struct tc_event *ev)
{
    char text[64];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    if (shift != 0) {
        tc_buf_i64(&b, shift);
    }
    if (seq < 0) {
        tc_buf_str(&b, tc_slice_head(ev->nccl.op, sizeof text / 2));
    }
    ev->nccl.group_key = tc_nccl_group_key(w->in->job, TC_EMPTY, tc_buf_slice(&b));
}

/* got: sequence id, type, elements in and out, timeout, how long it ran. */
tc_status tc__nccl_on_work(const struct tc__nccl_hit *hit, bool *out_ours)
{
    struct tc__lines *w = hit->w;
    struct tag tag = NO_TAG;
    bool tagged = read_tag(hit->before, &tag);
    int32_t local = rank_behind(hit->before, S("[Rank "));
    local = local >= 0 ? local : tag.local;
    int32_t rank = global_rank(hit, tagged ? &tag : NULL, local);
    local = local >= 0 ? local : rank;
    int64_t seq = number_of(hit->got[0]);
    *out_ours = true;
    if (rank < 0) {
        return TC_OK;
    }
    if (!tagged && seq >= 0 && !find_tag(hit, seq, rank, local, &tag)) {
        tag = NO_TAG;
    }
    struct tc_event ev = record_of(w, &tag, rank, seq < 0 ? 0 : seq, TC_NCCL_STARTED);
    ev.nccl.timed_out = true;
    ev.nccl.op = op_of(hit->got[1]);
    if (tag.name.len == 0) {
        set_unnamed_key(w, seq, rank - local, &ev);
    }
    ev.nccl.is_send = tc_slice_eq(ev.nccl.op, S("send"));
    ev.nccl.is_p2p = ev.nccl.is_send || tc_slice_eq(ev.nccl.op, S("recv"));
    ev.nccl.sizes_in = sizes_of(w->out->arena, hit->got[2]);
    ev.nccl.sizes_out = sizes_of(w->out->arena, hit->got[3]);
    int64_t timeout_ms = number_of(hit->got[4]);
    ev.nccl.timeout_ms = timeout_ms > 0 && timeout_ms <= RAN_MS_MAX ? timeout_ms : 0;
    int64_t ran_ms = number_of(hit->got[5]);
    if (hit->line->time_ns != TC_TIME_NONE && ran_ms > 0 && ran_ms <= RAN_MS_MAX &&
        hit->line->time_ns > ran_ms * 1000000) {
        ev.time_ns = hit->line->time_ns - ran_ms * 1000000;
        ev.nccl.started_ns = ev.time_ns;
    }
    if (ev.nccl.is_p2p) {
        w->cursor->own[TC__NCCL_OWN_P2P] = transfer_mark(rank, seq);
    }
    return tc__lines_deliver(w, hit->line, &ev);
}

static struct tc_event dump_of(int32_t rank)
{
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NCCL_DUMP);
    ev.scope.rank = rank;
    return ev;
}

/* "Exception (either an error or timeout) detected" may as well be told by a rank whose peer is
 * gone. */
static bool tells_timeout(struct tc_slice before)
{
    static const char *const words[] = {"Timeout at NCCL work", "collective timeout",
                                        "timeout signal", "global timeout"};
    for (size_t i = 0; i < TC_COUNT(words); i++) {
        if (tc_slice_contains(before, tc_slice_cstr(words[i]))) {
            return true;
        }
    }
    return false;
}

/*
 * got: the last sequence ids that were enqueued and completed. After a timeout, what was enqueued
 * and not completed is pending; a rank that completed all it enqueued waits for nobody.
 */
tc_status tc__nccl_on_progress(const struct tc__nccl_hit *hit, bool *out_ours)
{
    struct tc__lines *w = hit->w;
    struct tag tag = NO_TAG;
    if (!read_tag(hit->before, &tag)) {
        return TC_OK;
    }
    int32_t rank = global_rank(hit, &tag, tag.local);
    int64_t enqueued = number_of(hit->got[0]);
    int64_t completed = number_of(hit->got[1]);
    int64_t work = work_of(hit->before);
    *out_ours = true;
    if (rank < 0) {
        return TC_OK;
    }
    if (work >= 0 && rank == tag.local) {
        size_t start = (size_t)(hit->line->raw.ptr - w->in->bytes.ptr);
        size_t at = tc_slice_find(hit->line->raw, S("[PG "));
        if (at != TC_NPOS) {
            remember_tag(w, start + at, work);
        }
    }
    struct tc_event ev;
    tc_event_init(&ev, TC_EVENT_NCCL_STATUS);
    ev.scope.rank = rank;
    ev.status.group = tag.name;
    ev.status.group_key = tc_nccl_group_key(w->in->job, tag.name, TC_EMPTY);
    ev.status.pg_id = tag.pg_id;
    ev.status.enqueued = enqueued;
    ev.status.completed = completed;
    TC_TRY(tc__lines_deliver(w, hit->line, &ev));
    if (work < 0 && tells_timeout(hit->before)) {
        ev = dump_of(rank);
        TC_TRY(tc__lines_deliver(w, hit->line, &ev));
    }
    bool pending = enqueued > completed && completed < INT64_MAX;
    int64_t seq = work >= 0 ? work : pending ? completed + 1 : completed;
    if (seq < 0 || (pending && !tells_timeout(hit->before)) ||
        w->cursor->own[TC__NCCL_OWN_P2P] == transfer_mark(rank, seq)) {
        return TC_OK;
    }
    ev = record_of(w, &tag, rank, seq, pending ? TC_NCCL_STARTED : TC_NCCL_COMPLETED);
    ev.nccl.timed_out =
        pending && (work >= 0 || tc_slice_contains(hit->before, S("this local rank")));
    return tc__lines_deliver(w, hit->line, &ev);
}

/* A rank that was told of another's timeout, and is a member of the group of all. */
tc_status tc__nccl_on_signal(const struct tc__nccl_hit *hit, bool *out_ours)
{
    struct tc__lines *w = hit->w;
    struct tag tag = NO_TAG;
    bool tagged = read_tag(hit->before, &tag);
    int32_t rank = tagged ? global_rank(hit, &tag, tag.local) : -1;
    *out_ours = tagged;
    if (rank < 0) {
        return TC_OK;
    }
    struct tc_event ev = dump_of(rank);
    TC_TRY(tc__lines_deliver(w, hit->line, &ev));
    char *text = w->out->arena == NULL ? NULL : tc_new(w->out->arena, char, 16);
    if (text == NULL) {
        return TC_OK;
    }
    struct tc_buf b = tc_buf_make(text, 16);
    tc_buf_char(&b, '[');
    tc_buf_i64(&b, rank);
    tc_buf_char(&b, ']');
    tc_event_init(&ev, TC_EVENT_NCCL_GROUP);
    ev.scope.rank = rank;
    ev.group.group = tag.name;
    ev.group.group_desc = tag.desc;
    ev.group.group_key = tc_nccl_group_key(w->in->job, tag.name, TC_EMPTY);
    ev.group.ranks = tc_buf_slice(&b);
    return tc__lines_deliver(w, hit->line, &ev);
}

/*
 * The report of TORCH_NCCL_DESYNC_DEBUG: a list of ranks before the wording, got[0] the sequence id
 * (the first is 1), got[1] the type of the call. `word`: what they have done with it.
 */
tc_status tc__nccl_on_desync(const struct tc__nccl_hit *hit, bool *out_ours)
{
    bool done = hit->word[0] == 'd';
    int64_t seq = hit->got[0].len > 0 ? number_of(hit->got[0]) : 0;
    size_t open = tc_slice_find_last(hit->before, S("["));
    int32_t rank = 0;
    if (open == TC_NPOS || seq < 0) {
        return TC_OK;
    }
    struct tc_slice list = tc_slice_from(hit->before, open);
    size_t at = 0;
    for (unsigned i = 0; i < LISTED_MAX && tc_rank_list_next(list, &at, &rank); i++) {
        *out_ours = true;
        struct tc_event ev =
            record_of(hit->w, &NO_TAG, rank, seq, done ? TC_NCCL_COMPLETED : TC_NCCL_STARTED);
        ev.nccl.op = done ? TC_EMPTY : op_of(hit->got[1]);
        TC_TRY(tc__lines_deliver(hit->w, hit->line, &ev));
    }
    return TC_OK;
}

/* The monitor of the watchdog: nothing moves on this rank, and nobody can say why. */
tc_status tc__nccl_on_stuck(const struct tc__nccl_hit *hit, bool *out_ours)
{
    struct tag tag = NO_TAG;
    int32_t rank = read_tag(hit->before, &tag) ? global_rank(hit, &tag, tag.local) : -1;
    struct tc_event ev;
    *out_ours = true;
    if (rank < 0) {
        return TC_OK;
    }
    tc_event_init(&ev, TC_EVENT_METRIC);
    ev.scope.rank = rank;
    ev.metric.metric = TC_METRIC_HANG_FLAG;
    ev.metric.value = 1;
    return tc__lines_deliver(hit->w, hit->line, &ev);
}

tc_status tc__nccl_on_cuda_error(const struct tc__nccl_hit *hit, bool *out_ours)
{
    struct tag tag = NO_TAG;
    struct tc_event ev;
    bool tagged = read_tag(hit->before, &tag);
    *out_ours = true;
    tc_event_init(&ev, TC_EVENT_DRIVER_FAULT);
    ev.scope.rank = global_rank(hit, tagged ? &tag : NULL, tag.local);
    ev.fault.fault = S("cuda_error");
    ev.fault.message = hit->after;
    return tc__lines_deliver(hit->w, hit->line, &ev);
}
