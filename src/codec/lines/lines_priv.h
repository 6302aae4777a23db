/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What readers of text logs share: the walk from one line that matters to the next, and what stands
 * around its message, put there by loggers, collectors and people.
 *
 * A reader searches for literals (base/scan.h) and sees only lines that hold one. Wordings are
 * looked for anywhere in a line, so most prefixes need no names: only those are taken apart that
 * say when, where or who. JSON around a message (Docker, Fluent Bit, Vector, the journal, Loki) is
 * taken off, and what it says of time, node and pod is kept.
 *
 * The time of a line is its own, else that of what is around it, else that of the nearest line
 * above that has one.
 */
#ifndef TC_CODEC_LINES_LINES_PRIV_H
#define TC_CODEC_LINES_LINES_PRIV_H

#include "base/scan.h"
#include "base/slice.h"
#include "codec/codec.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cursor->own: what of a cursor the walk keeps for itself; readers count from 0. */
enum {
    TC__LINES_OWN_TASKS = TC_CURSOR_OWN - 1,
    TC__LINES_OWN_REPLICAS = TC_CURSOR_OWN - 2,
    TC__LINES_OWN_HOME = TC_CURSOR_OWN - 3,
    TC__LINES_OWN_HOME_LEN = TC_CURSOR_OWN - 4,
    TC__LINES_OWN_RANK = TC_CURSOR_OWN - 5,
    TC__LINES_OWN_OVER = TC_CURSOR_OWN - 6,
    TC__LINES_OWN_QUOTED_TO = TC_CURSOR_OWN - 7,
    TC__LINES_OWN_PAST = TC_CURSOR_OWN - 8,
    TC__OWN_HEADING = TC_CURSOR_OWN - 11, /* three: what tc__heading_above has seen */
};

struct tc__line {
    struct tc_slice raw;   /* as it stands in the input, without its end: the evidence */
    struct tc_slice text;  /* what the program wrote: a part of raw, or in the arena */
    struct tc_scope scope; /* who the things around it say it is from */
    struct tc_slice label; /* of a stream that has no other name: a task of srun, a local rank */
    int32_t task;          /* of srun --label; -1 */
    int32_t replica;       /* the number of a container of docker compose; -1 */
    int64_t time_ns;       /* of the line itself or of what is around it; TC_TIME_NONE */
    int64_t around_ns;     /* of what is around it alone; TC_TIME_NONE */
    size_t next;           /* where to go on behind it */
    bool quoted;           /* with "> ", as in a mail */
};

/* One call of decode. */
struct tc__lines {
    const struct tc_codec_input *in;
    struct tc_codec_cursor *cursor;
    struct tc_codec_out *out;
    struct tc_error *err;
    struct tc_scan scan;
    int32_t rank; /* by the name of the file, for lines that name none; -1 */
    /* The nearest date above: lines up to dated_to were looked through. */
    size_t dated_to;
    size_t date_at;
    int64_t date_ns;
    bool of_processes; /* see tc__line_reader */
    void *context;     /* the reader's state; NULL: it has none */
    bool of_node;      /* of the reader: headings name the node of its lines */
    bool every; /* set by a reader inside a block: it is handed the next line whatever is in it */
};

/*
 * Reads a line; *out_ours says whether it holds something that the reader knows. Events go to
 * tc__lines_deliver. Strings may be slices of line->text.
 */
typedef tc_status (*tc__line_fn)(struct tc__lines *w, const struct tc__line *line, bool *out_ours);

/* One of the literals that a reader searches for, in a constant table. */
#define TC__LITERAL(text)        \
    {                            \
        (text), sizeof(text) - 1 \
    }

struct tc__line_reader {
    const struct tc_slice *literals; /* at most TC_SCAN_LITERALS_MAX */
    size_t literal_count;
    tc__line_fn read;
    bool of_processes; /* events are of the process that wrote the line: see fill_scope() */
    /*
     * What a reader of blocks of lines knows of the one it is in, as it is before the first line.
     * Such a reader is not `ordered`: it reads to the end in one call. It may keep slices of lines
     * that are its own or in a block.
     */
    const void *state;
    size_t state_bytes; /* at most TC__LINE_STATE_MAX */
    /* Its lines are said of one node, not of a job: headings above them name it. */
    bool of_node;
    tc_status (*end)(struct tc__lines *w); /* of the input, with a state only; may be NULL */
};

#define TC__LINE_STATE_MAX 8192

/* tc_codec_decode, for a codec of lines. */
TC_CHECKED tc_status tc__lines_decode(const struct tc__line_reader *r,
                                      const struct tc_codec_input *in,
                                      struct tc_codec_cursor *cursor, struct tc_codec_out *out,
                                      struct tc_error *err);
/* How many of the first lines the reader knows, up to `most`. For tc_codec.sniff. */
size_t tc__lines_count(const struct tc__line_reader *r, struct tc_slice head, size_t most);
/* The same as a score: likely with two lines, maybe with one. tc_codec_sniff, for a codec of lines
 * that has no `sniff`. */
int tc__lines_sniff(const struct tc__line_reader *r, struct tc_slice head);

/*
 * Fills in what the event does not say itself (time, node, job, pod, rank), adds the evidence, and
 * hands it over. TC_E_NOMEM: the arena is full.
 */
TC_CHECKED tc_status tc__lines_deliver(struct tc__lines *w, const struct tc__line *line,
                                       struct tc_event *ev);
/* The same with evidence that begins at an earlier line: of a block that ends with this one. */
TC_CHECKED tc_status tc__lines_deliver_from(struct tc__lines *w, size_t start,
                                            const struct tc__line *line, struct tc_event *ev);

/*
 * The line below and the one above, framed, without an arena; false when there is none. `line` has
 * its raw and its next. Whoever looks around bounds how far.
 */
bool tc__line_below(const struct tc__lines *w, const struct tc__line *line, struct tc__line *out);
bool tc__line_above(const struct tc__lines *w, const struct tc__line *line, struct tc__line *out);
/* Whether two lines come from one program: logs of many ranks are often mixed line by line. */
bool tc__line_same_stream(const struct tc__line *a, const struct tc__line *b);

/* The time of a line: its own, else that of the nearest line above that has one. Lines must be
 * asked for in their order. */
int64_t tc__lines_time(struct tc__lines *w, const struct tc__line *line);

/* Whether a text begins as XML or HTML does: one that quotes lines of a log is somebody else's. */
bool tc__lines_is_markup(struct tc_slice head);
/* Whether a text is instructions, by its title: the errors that a runbook lists are examples. */
bool tc__lines_is_guide(struct tc_slice head);
/* Whether a line is quoted, what stands above the quotation says that it is of the past, and the
 * text that it is over. */
bool tc__line_is_past(const struct tc__lines *w, const struct tc__line *line);
/* A tc_codec.last_time for lines. */
int64_t tc__lines_last_time(const struct tc_codec_input *in);

/* ---- frame.c ---- */

/* The next line from `at`, without its end; false at the end of the input. */
bool tc__line_cut(struct tc_slice bytes, size_t at, struct tc_slice *out_raw, size_t *out_next);
/* Loki has many lines in one, each as ["179...","MESSAGE"]: the pair that holds the byte at `hit`.
 */
bool tc__line_cut_pair(struct tc_slice line, size_t hit, struct tc_slice *out);
/* Takes off what is around a message without a look at it: JSON, CRI, quotation marks. */
void tc__line_unwrap(const struct tc_codec_input *in, struct tc_slice raw, struct tc_arena *arena,
                     struct tc__line *out);
/*
 * What is around the message. An arena is needed only where JSON has escapes in it: without room
 * the message stays as it is written. `arena` may be NULL.
 */
void tc__line_frame(const struct tc_codec_input *in, struct tc_slice raw, struct tc_arena *arena,
                    struct tc__line *out);

/* ---- heading.c ---- */

/*
 * The node that the nearest heading above `at` names; empty when there is none. Every line is
 * looked at once: own is of the cursor, at TC__OWN_HEADING.
 */
struct tc_slice tc__heading_above(const struct tc_codec_input *in, size_t at, uint64_t own[3]);

/* ---- tasks.c ---- */

/* Each is looked up once per cursor. */

/* Whether the tasks of srun in this log are the ranks of the job. */
bool tc__lines_tasks_are_ranks(struct tc__lines *w);
/* Whether the containers of docker compose in this log are numbered as ranks are, from 0;
 * `container` is one of them. */
bool tc__lines_replicas_are_ranks(struct tc__lines *w, struct tc_slice container);
/* The rank that the beginning of the log says its process is; -1. Not 0: that one often writes into
 * the log of all. */
int32_t tc__lines_own_rank(struct tc__lines *w);
/* The node that the beginning of the log says it was written on, for a job of one node or a log of
 * one rank; "". */
struct tc_slice tc__lines_home(struct tc__lines *w);

/* ---- dates.c ---- */

/*
 * The first date in the head of a line, whatever is around it: ISO, "Nov  3 10:00:00" of syslog,
 * "E1206 18:44:12.715298" of glog and klog. The year of dates without one comes from in->now_ns.
 * TC_TIME_NONE when there is none.
 */
int64_t tc__line_date(const struct tc_codec_input *in, struct tc_slice line);

#endif
