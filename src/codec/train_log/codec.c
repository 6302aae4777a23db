/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a training program as text: what torchrun, Slurm or a container's
 * runtime kept of its output. The input is searched for the wordings of
 * text.c (base/scan.h) and only lines that hold one are read.
 *
 * A line's time is the first date in its head, whatever is around it: Python's
 * logging, "[rank0]:[titan] 2026-03-01 10:05:01,123 - ", "[2026-03-01 10:05:01] ",
 * "[NeMo I 2026-03-01 10:05:01 ...]", or what Kubernetes puts before each line. A
 * line without one (a traceback, print()) has that of the nearest line above. A line
 * that names no rank is of the rank that the file is named after ("rank3.log"): ranks that
 * say the same at the same time are not copies of one log.
 */
#include "codec/codec.h"
#include "base/limits.h"
#include "base/time.h"
#include "codec/decode_priv.h"
#include "codec/last_time_priv.h"
#include "codec/train_log/text_priv.h"

#define S(literal) TC_LIT(literal)

/* Where a date is looked for. */
#define DATE_WITHIN 96
/* The shortest: "2026-03-01 10:05:01". */
#define DATE_LENGTH 19
/* How far above a line without a date one is taken from. */
#define LOOK_BACK ((size_t)64 << 10)
/* Lines that decide what an input is. */
#define SNIFF_LINES 2000

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The first date in the head of a line; TC_TIME_NONE. */
static int64_t date_of(struct tc_slice line, int32_t utc_offset_s)
{
    size_t end = line.len < DATE_WITHIN ? line.len : DATE_WITHIN;
    for (size_t at = 0; at + DATE_LENGTH <= end; at++) {
        bool starts = is_digit(line.ptr[at]) && line.ptr[at + 4] == '-' &&
                      (at == 0 || !is_digit(line.ptr[at - 1]));
        int64_t ns = 0;
        if (starts && tc_time_parse(tc_slice_from(line, at), utc_offset_s, &ns) > 0 && ns >= 0 &&
            ns <= TC_TIME_MAX) {
            return ns;
        }
    }
    return TC_TIME_NONE;
}

struct walk {
    const struct tc_codec_input *in;
    struct tc_codec_cursor *cursor;
    struct tc_codec_out *out;
    struct tc__train_text text;
    int32_t rank; /* by the name of the file, for lines that name none; -1 */
    /* Lines up to here were looked through for dates; the last of them, and where it stands. */
    size_t dated_to;
    size_t date_at;
    int64_t date_ns;
};

static struct tc_slice line_at(struct tc_slice bytes, size_t start)
{
    size_t length = tc_slice_find_byte(tc_slice_from(bytes, start), '\n');
    return tc_slice_head(tc_slice_from(bytes, start), length);
}

static size_t line_start(struct tc_slice bytes, size_t at, size_t stop)
{
    const char *newline = at == stop ? NULL : memrchr(bytes.ptr + stop, '\n', at - stop);
    return newline == NULL ? stop : (size_t)(newline - bytes.ptr) + 1;
}

/* The time of the line at `start`: its own, else that of the nearest line above that has one. */
static int64_t time_of(struct walk *w, size_t start)
{
    struct tc_slice bytes = w->in->bytes;
    size_t stop = start > LOOK_BACK ? start - LOOK_BACK : 0;
    size_t from = w->dated_to > stop ? w->dated_to : stop;
    for (size_t at = start;;) {
        int64_t ns = date_of(line_at(bytes, at), w->in->utc_offset_s);
        if (ns != TC_TIME_NONE) {
            w->date_ns = ns;
            w->date_at = at;
            break;
        }
        if (at <= from) {
            break;
        }
        at = line_start(bytes, at - 1, from);
    }
    w->dated_to = start;
    return w->date_ns != TC_TIME_NONE && w->date_at >= stop ? w->date_ns : TC_TIME_NONE;
}

static tc_status deliver(struct walk *w, struct tc_slice line, struct tc_event *ev)
{
    size_t start = (size_t)(line.ptr - w->in->bytes.ptr);
    ev->time_ns = time_of(w, start);
    ev->scope.node = w->in->node;
    ev->scope.job = w->in->job;
    tc__train_pod(w->in->name, &ev->scope);
    if (ev->scope.rank < 0) {
        ev->scope.rank = w->rank;
    }
    tc__train_prefix(line, &ev->scope);
    ev->raw = (struct tc_raw){
        .source = w->in->source, .length = (uint32_t)line.len, .offset = (uint64_t)start};
    w->cursor->events++;
    w->cursor->undated += ev->time_ns == TC_TIME_NONE;
    return w->out->event(w->out->context, ev);
}

static tc_status report_unknown(struct walk *w, struct tc_slice line)
{
    if (!w->in->want_unknown || tc_slice_trim(line).len == 0) {
        return TC_OK;
    }
    return tc__codec_unknown(w->in, w->cursor, w->out, (size_t)(line.ptr - w->in->bytes.ptr),
                             line.len, "no rule for this line");
}

/*
 * The next line worth a look, without its end; false when there is none. A line too long is cut
 * at its end, and its wording may lie behind that.
 */
static bool next_line(struct walk *w, struct tc_slice *out, size_t *out_next)
{
    struct tc_slice bytes = w->in->bytes;
    size_t start = w->cursor->offset;
    start += start == 0 ? tc_slice_bom(bytes) : 0;
    if (!w->in->want_unknown && start < bytes.len) {
        unsigned which = 0;
        size_t hit = tc_scan_next(&w->text.scan, bytes, start, &which);
        start = hit == TC_NPOS ? bytes.len : line_start(bytes, hit, start);
    }
    if (start >= bytes.len) {
        return false;
    }
    struct tc_slice line = line_at(bytes, start);
    *out_next = start + line.len < bytes.len ? start + line.len + 1 : bytes.len;
    w->cursor->cut += line.len > TC_LINE_MAX;
    line = tc_slice_head(line, TC_LINE_MAX);
    *out = tc_slice_ends(line, S("\r")) ? tc_slice_head(line, line.len - 1) : line;
    return true;
}

static tc_status decode(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err)
{
    struct walk w = {.in = in, .cursor = cursor, .out = out, .date_ns = TC_TIME_NONE};
    struct tc_slice line;
    size_t next = 0;
    (void)err;
    tc__train_text_init(&w.text);
    w.rank = tc__train_path_rank(in->name);
    while (next_line(&w, &line, &next)) {
        struct tc_event ev;
        bool ours = tc__train_text_read(&w.text, line, &ev);
        TC_TRY(ours ? deliver(&w, line, &ev) : report_unknown(&w, line));
        cursor->offset = next;
        if (ours && out->pause) {
            return TC_OK;
        }
    }
    cursor->offset = in->bytes.len;
    cursor->done = true;
    return TC_OK;
}

/* What the logs of training programs begin with, long before the first step. */
static bool is_known_head(struct tc_slice line)
{
    struct tc_slice head = tc_slice_head(line, DATE_WITHIN);
    return tc_slice_contains(head, S("[titan] 20")) || tc_slice_contains(head, S("[NeMo I 20")) ||
           tc_slice_contains(head, S(":log_dist] [Rank "));
}

static int sniff(struct tc_slice head, bool at_end, struct tc_slice name)
{
    (void)at_end;
    (void)name;
    struct tc__train_text text;
    struct tc_event ev;
    int score = TC_SNIFF_NO;
    tc__train_text_init(&text);
    /* Structured text that quotes such a line is somebody else's. */
    struct tc_slice start = tc_slice_trim(tc_slice_head(head, DATE_WITHIN));
    if (tc_slice_starts(start, S("{")) || tc_slice_starts(start, S("<"))) {
        return TC_SNIFF_NO;
    }
    for (size_t i = 0; i < SNIFF_LINES && head.len > 0; i++) {
        struct tc_slice line = tc_slice_cut(head, '\n', &head);
        bool ours = tc__train_text_read(&text, line, &ev);
        if (ours && date_of(line, 0) != TC_TIME_NONE) {
            return TC_SNIFF_LIKELY;
        }
        score = ours || is_known_head(line) ? TC_SNIFF_MAYBE : score;
    }
    return score;
}

static int64_t time_in(const struct tc_codec_input *in, struct tc_slice line)
{
    return date_of(line, in->utc_offset_s);
}

static int64_t last_time(const struct tc_codec_input *in)
{
    return tc__last_time(in, time_in);
}

const struct tc_codec tc_codec_train_log = {
    .name = "train_log",
    .summary = "logs of training programs: steps, checkpoints and data loaders' failures",
    .ordered = true,
    .sniff = sniff,
    .decode = decode,
    .last_time = last_time,
};
