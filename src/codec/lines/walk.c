/* SPDX-License-Identifier: Apache-2.0 */
#include "base/assert.h"
#include "base/limits.h"
#include "base/time.h"
#include "codec/decode_priv.h"
#include "codec/last_time_priv.h"
#include "codec/lines/lines_priv.h"
#include "codec/train_log/text_priv.h"

#include <string.h>

/* How far above a line without a date one is taken from. */
#define LOOK_BACK ((size_t)64 << 10)
/* Where the title of a text is looked for. */
#define TITLE_WITHIN 512
/* Lines of a quotation, and those above it that introduce it. */
#define QUOTED_MAX 64
#define INTRODUCTION_MAX 4
/* What a person writes around quotations. */
#define LETTER_MAX ((size_t)8 << 10)
/* Ranks of a node, at least, where a node has more than one. */
#define NODE_RANKS 8
/* Lines that are enough to tell what an input is. */
#define SNIFF_LINES 2
/* Blanks before the first tag. */
#define MARKUP_WITHIN 96

/* A copy of a reader's state. */
union state {
    max_align_t aligned;
    char bytes[TC__LINE_STATE_MAX];
};

static void begin_walk(struct tc__lines *w, const struct tc__line_reader *r, union state *state)
{
    tc_scan_init(&w->scan, r->literals, r->literal_count);
    w->rank = tc__train_path_rank(w->in->name);
    w->date_ns = TC_TIME_NONE;
    w->of_processes = r->of_processes;
    if (r->state != NULL) {
        TC_ASSERT(r->state_bytes <= sizeof *state);
        w->context = memcpy(state, r->state, r->state_bytes);
    }
    w->of_node = r->of_node;
}

/* The start of the line that holds `at`, not before `stop`, which is the start of one. */
static size_t line_start(struct tc_slice bytes, size_t at, size_t stop)
{
    const char *newline = at == stop ? NULL : memrchr(bytes.ptr + stop, '\n', at - stop);
    return newline == NULL ? stop : (size_t)(newline - bytes.ptr) + 1;
}

/*
 * The next line worth a look: one with a literal, or any that is not empty where the others are
 * wanted too. A line too long is cut at its end, and its wording may lie behind that.
 */
static bool next_line(struct tc__lines *w, struct tc__line *out)
{
    struct tc_slice bytes = w->in->bytes;
    size_t at = w->cursor->offset;
    struct tc_slice raw;
    size_t hit = at;
    bool every = w->in->want_unknown || w->every;
    while (at < bytes.len) {
        if (!every && hit <= at) {
            unsigned which = 0;
            hit = tc_scan_next(&w->scan, bytes, at, &which);
            if (hit == TC_NPOS) {
                return false;
            }
            at = line_start(bytes, hit, at);
        }
        if (!tc__line_cut(bytes, at, &raw, &out->next)) {
            return false;
        }
        bool wanted = every ? tc_slice_trim(raw).len > 0 : out->next > hit;
        struct tc_slice pair;
        if (!every && wanted && tc__line_cut_pair(raw, hit - at, &pair)) {
            raw = pair;
            out->next = (size_t)(pair.ptr - bytes.ptr) + pair.len;
        }
        if (wanted) {
            w->cursor->cut += raw.len > TC_LINE_MAX;
            w->cursor->offset = at;
            tc__line_frame(w->in, tc_slice_head(raw, TC_LINE_MAX), w->out->arena, out);
            return true;
        }
        at = out->next;
    }
    return false;
}

int64_t tc__lines_time(struct tc__lines *w, const struct tc__line *line)
{
    struct tc_slice bytes = w->in->bytes;
    size_t start = (size_t)(line->raw.ptr - bytes.ptr);
    size_t stop = start > LOOK_BACK ? start - LOOK_BACK : 0;
    size_t from = w->dated_to > stop ? w->dated_to : stop;
    int64_t ns = line->time_ns;
    size_t at = start;
    while (ns == TC_TIME_NONE && at > from) {
        struct tc__line above;
        size_t next = 0;
        at = line_start(bytes, at - 1, from);
        if (tc__line_cut(bytes, at, &above.raw, &next)) {
            tc__line_frame(w->in, tc_slice_head(above.raw, TC_LINE_MAX), NULL, &above);
            ns = above.time_ns;
        }
    }
    if (ns != TC_TIME_NONE) {
        w->date_ns = ns;
        w->date_at = at;
    }
    w->dated_to = start;
    return w->date_ns != TC_TIME_NONE && w->date_at >= stop ? w->date_ns : TC_TIME_NONE;
}

bool tc__line_below(const struct tc__lines *w, const struct tc__line *line, struct tc__line *out)
{
    struct tc_slice raw;
    size_t next = 0;
    if (!tc__line_cut(w->in->bytes, line->next, &raw, &next)) {
        return false;
    }
    tc__line_frame(w->in, tc_slice_head(raw, TC_LINE_MAX), NULL, out);
    out->next = next;
    return true;
}

bool tc__line_above(const struct tc__lines *w, const struct tc__line *line, struct tc__line *out)
{
    struct tc_slice bytes = w->in->bytes;
    size_t start = (size_t)(line->raw.ptr - bytes.ptr);
    struct tc_slice raw;
    size_t next = 0;
    if (start == 0) {
        return false;
    }
    size_t at = line_start(bytes, start - 1, start > TC_LINE_MAX ? start - TC_LINE_MAX : 0);
    if (!tc__line_cut(bytes, at, &raw, &next)) {
        return false;
    }
    tc__line_frame(w->in, tc_slice_head(raw, TC_LINE_MAX), NULL, out);
    out->next = start;
    return true;
}

bool tc__line_same_stream(const struct tc__line *a, const struct tc__line *b)
{
    return a->scope.rank == b->scope.rank && tc_slice_eq(a->scope.node, b->scope.node) &&
           tc_slice_eq(a->scope.pod, b->scope.pod) &&
           tc_slice_eq(a->scope.container, b->scope.container) && tc_slice_eq(a->label, b->label);
}

/* Which process wrote the line, as the log around it says. */
static void fill_process(struct tc__lines *w, const struct tc__line *line, struct tc_scope *io)
{
    if (io->rank < 0 && line->task >= 0 && tc__lines_tasks_are_ranks(w)) {
        io->rank = line->task;
    }
    if (io->rank < 0 && line->replica >= 0 &&
        tc__lines_replicas_are_ranks(w, line->scope.container)) {
        io->rank = line->replica;
    }
    if (io->rank < 0 && line->label.len == 0 && line->scope.container.len == 0 &&
        line->scope.pod.len == 0 && line->scope.node.len == 0) {
        io->rank = tc__lines_own_rank(w);
    }
    io->pid = io->pid >= 0 ? io->pid : line->scope.pid;
    if (io->pod.len == 0) {
        tc__train_pod_file(w->in->name, io);
    }
    /* The first node of a job has its first ranks and writes its log. */
    bool here = w->rank >= 0 || io->rank < NODE_RANKS;
    if (io->node.len == 0 && io->pod.len == 0 && io->container.len == 0 && here) {
        io->node = tc__lines_home(w);
    }
}

static void fill_scope(struct tc__lines *w, const struct tc__line *line, struct tc_scope *io)
{
    const struct tc_scope *from = &line->scope;
    struct tc_slice *to[] = {&io->node, &io->ns, &io->pod, &io->pod_uid, &io->container, &io->job};
    struct tc_slice some[] = {from->node.len > 0 ? from->node : w->in->node,
                              from->ns,
                              from->pod,
                              from->pod_uid,
                              from->container,
                              w->in->job};
    for (size_t i = 0; i < TC_COUNT(to); i++) {
        *to[i] = to[i]->len > 0 ? *to[i] : some[i];
    }
    if (io->pod.len == 0) {
        tc__train_pod(w->in->name, io);
    }
    io->rank = io->rank >= 0 ? io->rank : from->rank >= 0 ? from->rank : w->rank;
    if (w->of_processes) {
        fill_process(w, line, io);
    }
}

tc_status tc__lines_deliver_from(struct tc__lines *w, size_t start, const struct tc__line *line,
                                 struct tc_event *ev)
{
    size_t at = (size_t)(line->raw.ptr - w->in->bytes.ptr);
    size_t length = at + line->raw.len - start;
    if (ev->time_ns == TC_TIME_NONE) {
        ev->time_ns = tc__lines_time(w, line);
    }
    fill_scope(w, line, &ev->scope);
    if (w->of_node && ev->scope.node.len == 0) {
        ev->scope.node = tc__heading_above(w->in, start, &w->cursor->own[TC__OWN_HEADING]);
    }
    ev->raw = (struct tc_raw){.source = w->in->source,
                              .length = (uint32_t)(length < TC_LINE_MAX ? length : TC_LINE_MAX),
                              .offset = start};
    w->cursor->events++;
    w->cursor->undated += ev->time_ns == TC_TIME_NONE;
    return w->out->event(w->out->context, ev);
}

tc_status tc__lines_deliver(struct tc__lines *w, const struct tc__line *line, struct tc_event *ev)
{
    return tc__lines_deliver_from(w, (size_t)(line->raw.ptr - w->in->bytes.ptr), line, ev);
}

tc_status tc__lines_decode(const struct tc__line_reader *r, const struct tc_codec_input *in,
                           struct tc_codec_cursor *cursor, struct tc_codec_out *out,
                           struct tc_error *err)
{
    struct tc__lines w = {.in = in, .cursor = cursor, .out = out, .err = err};
    union state state;
    struct tc__line line;
    begin_walk(&w, r, &state);
    for (;;) {
        tc_arena_mark mark = out->arena == NULL ? 0 : tc_arena_snapshot(out->arena);
        uint64_t events = cursor->events;
        bool ours = false;
        if (!next_line(&w, &line)) {
            break;
        }
        TC_TRY(r->read(&w, &line, &ours));
        bool kept = w.context != NULL && (ours || w.every);
        if (cursor->events == events && out->arena != NULL && !kept) {
            tc_arena_rewind(out->arena, mark);
        }
        if (!ours && in->want_unknown) {
            TC_TRY(tc__codec_unknown(in, cursor, out, (size_t)(line.raw.ptr - in->bytes.ptr),
                                     line.raw.len, "no rule for this line"));
        }
        cursor->offset = line.next;
        if (cursor->events != events && out->pause && w.context == NULL) {
            return TC_OK;
        }
    }
    cursor->offset = in->bytes.len;
    cursor->done = true;
    return r->end == NULL ? TC_OK : r->end(&w);
}

bool tc__lines_is_markup(struct tc_slice head)
{
    struct tc_slice text = tc_slice_trim(tc_slice_head(head, MARKUP_WITHIN));
    /* "<13>" is a priority of syslog. */
    return tc_slice_starts(text, TC_LIT("<")) && !(text.len > 1 && tc_is_digit(text.ptr[1]));
}

static bool says_any(struct tc_slice text, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (tc_slice_find_nocase(text, tc_slice_cstr(*words)) != TC_NPOS) {
            return true;
        }
    }
    return false;
}

bool tc__lines_is_guide(struct tc_slice head)
{
    static const char *const titles[] = {"runbook",      "playbook",     "troubleshooting",
                                         "known issues", "known errors", "cheat sheet",
                                         "post-mortem",  "postmortem",   NULL};
    struct tc_slice text = tc_slice_trim(tc_slice_head(head, TITLE_WITHIN));
    return says_any(tc_slice_head(text, tc_slice_find_byte(text, '\n')), titles);
}

static bool is_introduced_as_past(const struct tc__lines *w, const struct tc__line *line)
{
    static const char *const past[] = {"last week", "last month", "last night", "last time",
                                       "yesterday", "previous",   "earlier",    "in the past",
                                       "back then", "days ago",   "old run",    NULL};
    static const char *const over[] = {
        "replaced",   "restarted",        "fixed",   "resolved", "went through",
        "new run",    "works now",        "is fine", "fine now", "no longer",
        "since then", "close the ticket", NULL};
    struct tc__line at = *line;
    unsigned said = 0;
    for (unsigned i = 0; i < QUOTED_MAX && said < INTRODUCTION_MAX; i++) {
        struct tc__line above;
        if (!tc__line_above(w, &at, &above)) {
            return false;
        }
        at = above;
        if (!at.quoted && says_any(at.text, past)) {
            uint64_t *known = &w->cursor->own[TC__LINES_OWN_OVER]; /* 0, 1 no, 2 yes */
            if (*known == 0) {
                *known = says_any(tc_slice_head(w->in->bytes, LETTER_MAX), over) ? 2 : 1;
            }
            return *known == 2;
        }
        said += !at.quoted && at.text.len > 0;
    }
    return false;
}

bool tc__line_is_past(const struct tc__lines *w, const struct tc__line *line)
{
    uint64_t *own = w->cursor->own;
    if (!line->quoted) {
        return false;
    }
    /* The line below one of a quotation is of the same. */
    uint64_t at = (uint64_t)(line->raw.ptr - w->in->bytes.ptr);
    if (at == 0 || at != own[TC__LINES_OWN_QUOTED_TO]) {
        own[TC__LINES_OWN_PAST] = is_introduced_as_past(w, line);
    }
    own[TC__LINES_OWN_QUOTED_TO] = line->next;
    return own[TC__LINES_OWN_PAST] != 0;
}

static int64_t time_in(const struct tc_codec_input *in, struct tc_slice raw)
{
    struct tc__line line;
    tc__line_frame(in, raw, NULL, &line);
    return line.time_ns;
}

int64_t tc__lines_last_time(const struct tc_codec_input *in)
{
    return tc__last_time(in, time_in);
}

static tc_status drop_event(void *context, const struct tc_event *ev)
{
    (void)context;
    (void)ev;
    return TC_OK;
}

size_t tc__lines_count(const struct tc__line_reader *r, struct tc_slice head, size_t most)
{
    char room[4096];
    struct tc_arena arena;
    struct tc_codec_input in = {.bytes = head, .boot_ns = TC_TIME_NONE, .now_ns = TC_TIME_NONE};
    struct tc_codec_cursor cursor = {0};
    struct tc_codec_out out = {.event = drop_event, .arena = &arena};
    struct tc__lines w = {.in = &in, .cursor = &cursor, .out = &out};
    union state state;
    struct tc__line line;
    size_t ours = 0;
    tc_arena_init(&arena, "sniff", room, sizeof room);
    begin_walk(&w, r, &state);
    while (ours < most && next_line(&w, &line)) {
        bool known = false;
        if (r->read(&w, &line, &known) != TC_OK) {
            break;
        }
        ours += known;
        cursor.offset = line.next;
        if (w.context == NULL) {
            tc_arena_reset(&arena);
        }
    }
    tc_arena_fini(&arena);
    return ours;
}

int tc__lines_sniff(const struct tc__line_reader *r, struct tc_slice head)
{
    size_t found = tc__lines_count(r, head, SNIFF_LINES);
    return found >= SNIFF_LINES ? TC_SNIFF_LIKELY : found > 0 ? TC_SNIFF_MAYBE : TC_SNIFF_NO;
}
