/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the kernel log codec. codec.c walks the input and delivers events;
 * frame.c takes the prefix off one line (who logged it, when, on which
 * host) with the times of time.c; journal.c does the same for records of the systemd
 * journal; the rules of rules.c and its neighbours turn one message into one event.
 *
 * What a line is worth rests on who wrote it: only the kernel's own lines are
 * evidence. Rules are therefore anchored at the start of the message, so a
 * program that quotes a kernel message inside its own line makes no event.
 */
#ifndef TC_CODEC_KMSG_KMSG_PRIV_H
#define TC_CODEC_KMSG_KMSG_PRIV_H

#include "base/arena.h"
#include "base/scan.h"
#include "base/slice.h"
#include "codec/codec.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tc__kmsg_origin {
    TC__KMSG_KERNEL,       /* the kernel's own, or nothing says otherwise */
    TC__KMSG_OOMD,         /* systemd-oomd logged it: it kills as the kernel does */
    TC__KMSG_FOREIGN,      /* another program logged it */
    TC__KMSG_COMMENT,      /* "# ..." */
    TC__KMSG_CONTINUATION, /* " KEY=value" of the /dev/kmsg record above */
};

/* One line or journal record without its prefix. Slices point into the input. */
struct tc__kmsg_line {
    struct tc_slice raw; /* the exact bytes, without the newline */
    struct tc_slice message;
    struct tc_slice node; /* from the line, else the input's */
    int64_t time_ns;      /* TC_TIME_NONE: no date is known */
    int64_t uptime_ns;    /* set only where the line has no date of its own */
    int64_t count;        /* of "message repeated N times", else 1 */
    enum tc__kmsg_origin origin;
    bool framed;             /* the prefix is one that only system logs have */
    bool sure;               /* the prefix is one that nothing else has */
    bool torn;               /* journal: the record ends inside a field */
    size_t torn_at;          /* of an export, with torn: where that field starts */
    struct tc_slice numbers; /* journal: the message as a JSON array of bytes; see unpack */
};

/* Takes the prefix off `raw`, a line of the input. */
void tc__kmsg_frame(const struct tc_codec_input *in, struct tc_slice raw,
                    struct tc__kmsg_line *out);
/* The last step of it, shared with the journal: trims, unwraps "message repeated". */
void tc__kmsg_frame_message(const struct tc_codec_input *in, struct tc_slice message,
                            struct tc__kmsg_line *out);

/* time.c: takes a time off the start of *io_s; false, nothing changed, when it is not there.
 */
/* "[  123.456789]", "[  +0.000844]" */
bool tc__kmsg_take_uptime(const struct tc_codec_input *in, struct tc_slice *io_s,
                          struct tc__kmsg_line *out);
/* "[Thu Sep 19 02:29:46 2024]", "[Sep19 02:29]" */
bool tc__kmsg_take_bracket_date(const struct tc_codec_input *in, struct tc_slice *io_s,
                                struct tc__kmsg_line *out);
/* "Sep 19 16:18:02 " */
bool tc__kmsg_take_syslog_date(const struct tc_codec_input *in, struct tc_slice *io_s,
                               struct tc__kmsg_line *out);
/* "Thu 2024-09-19 02:29:46 UTC " */
bool tc__kmsg_take_full_date(const struct tc_codec_input *in, struct tc_slice *io_s,
                             struct tc__kmsg_line *out);
/* "1726712986.123456 " */
bool tc__kmsg_take_unix(struct tc_slice *io_s, struct tc__kmsg_line *out);
/* A date replaces the time since boot; TC_TIME_NONE changes nothing. */
void tc__kmsg_set_date(int64_t time_ns, struct tc__kmsg_line *out);
void tc__kmsg_set_uptime(const struct tc_codec_input *in, int64_t uptime_ns,
                         struct tc__kmsg_line *out);

/* How the input is cut into lines and records. */
enum tc__kmsg_shape {
    TC__KMSG_LINES,
    TC__KMSG_EXPORT, /* journalctl -o export: starts with a field of journald's, or MESSAGE= */
    TC__KMSG_PRETTY, /* journalctl -o json-pretty, with other lines between the records */
};

enum tc__kmsg_shape tc__kmsg_shape_of(struct tc_slice bytes);
/* The record that starts at *io_at; moves it to the next one. False at the end. With out NULL
 * it is only stepped over. Not for TC__KMSG_LINES. */
bool tc__kmsg_record_next(enum tc__kmsg_shape shape, const struct tc_codec_input *in, size_t *io_at,
                          struct tc__kmsg_line *out);
/* The record that ends where the one at *io_at starts; moves *io_at to it. */
bool tc__kmsg_record_prev(enum tc__kmsg_shape shape, const struct tc_codec_input *in, size_t *io_at,
                          struct tc__kmsg_line *out);
/* One object of `journalctl -o json`; false when it is some other object. */
bool tc__kmsg_frame_json(const struct tc_codec_input *in, struct tc_slice raw,
                         struct tc__kmsg_line *out);

/* The message of a line that has it as numbers, in arena, up to TC_LINE_MAX bytes; it
 * stays empty when one is no byte. False when the arena is full. */
bool tc__kmsg_unpack(const struct tc_codec_input *in, struct tc_arena *arena,
                     struct tc__kmsg_line *io_line);

enum tc__kmsg_verdict {
    TC__KMSG_NOT_MINE, /* the next rule may look */
    TC__KMSG_EVENT,    /* *ev is filled but for raw */
    TC__KMSG_PART,     /* understood; another line of the same report carries the event */
    TC__KMSG_BROKEN,   /* would be this rule's, but does not say what it must: see why */
    TC__KMSG_NOMEM,    /* the arena is full */
};

/*
 * What a rule sees. Neighbouring lines are read through prev and next below, which find them in
 * the input; or in `lines`, for lines that came one by one and `line` is one of.
 */
struct tc__kmsg_context {
    const struct tc_codec_input *in;
    const struct tc__kmsg_line *line;
    const struct tc__kmsg_line *lines; /* NULL: in the input */
    size_t line_count;
    /* Called before lines[at] is looked at as a neighbour; false: it is none of the kernel's, and
     * is stepped over. NULL: all of them are. */
    bool (*ready)(void *owner, size_t at);
    void *owner;
    struct tc_arena *arena;
    const struct tc_scan *scan; /* see tc__kmsg_has_literal; NULL: the line has one, or may */
    enum tc__kmsg_shape shape;
    const char *why; /* literal; set with TC__KMSG_BROKEN */
};

typedef enum tc__kmsg_verdict (*tc__kmsg_rule)(struct tc__kmsg_context *c, struct tc_event *ev);

/* How a line of the NVIDIA driver begins that reports an Xid: no prefix of frame.c does. */
#define TC__KMSG_XID TC_LIT("NVRM: Xid (")

/* A search for what every rule needs: a message without any of its literals is at most a part of a
 * report. Most have none, and looking for all at once costs less than any rule. */
void tc__kmsg_scan_init(struct tc_scan *scan);
bool tc__kmsg_has_literal(const struct tc_scan *scan, struct tc_slice message);
/* Groups of rules, as bits: a message with the literals of some cannot be another's. */
enum {
    TC__KMSG_DRIVER = 1,
    TC__KMSG_PCI = 2,
    TC__KMSG_MEMORY = 4,
    TC__KMSG_FAULTS = 8,
    TC__KMSG_ALL_RULES = 15,
};
/* Those whose literals it has. */
unsigned tc__kmsg_rules_of(const struct tc_scan *scan, struct tc_slice message);

/* Tries every rule on the line, of which message, node, times, count and origin are read. */
enum tc__kmsg_verdict tc__kmsg_apply(struct tc__kmsg_context *c, struct tc_event *ev);

/* A line that begins with TC__KMSG_XID; it needs no other. blank: an event of its kind with nothing
 * in it, made once for many lines. Sets neither times nor node. */
enum tc__kmsg_verdict tc__kmsg_xid(struct tc__kmsg_context *c, const struct tc_event *blank,
                                   struct tc_event *ev);
enum tc__kmsg_verdict tc__kmsg_rule_oomd(struct tc__kmsg_context *c, struct tc_event *ev);
enum tc__kmsg_verdict tc__kmsg_rule_aer(struct tc__kmsg_context *c, struct tc_event *ev);
enum tc__kmsg_verdict tc__kmsg_rule_cgroup_stats(struct tc__kmsg_context *c, struct tc_event *ev);
enum tc__kmsg_verdict tc__kmsg_rule_amd(struct tc__kmsg_context *c, struct tc_event *ev);
/* The rules of pci.c, memory.c and faults.c, up to NULL. */
extern const tc__kmsg_rule tc__kmsg_pci_rules[];
extern const tc__kmsg_rule tc__kmsg_memory_rules[];
extern const tc__kmsg_rule tc__kmsg_fault_rules[];

/* The fault of a GPU that an Event or a condition of a Kubernetes node quotes; false when it quotes
 * none. Its strings are those of `said`, or in arena. */
bool tc__kmsg_quoted(const struct tc_event *said, struct tc_arena *arena, struct tc_event *out);

/* Lines around c->line, nearest first: start with *io_at at tc__kmsg_offset. */
bool tc__kmsg_prev(const struct tc__kmsg_context *c, size_t *io_at, struct tc__kmsg_line *out);
bool tc__kmsg_next(const struct tc__kmsg_context *c, size_t *io_at, struct tc__kmsg_line *out);
size_t tc__kmsg_offset(const struct tc__kmsg_context *c);

/* One of the lines above, of the same host, has one of these words; a NULL ends them. */
bool tc__kmsg_said_above(const struct tc__kmsg_context *c, const char *const *words);

/* A fault event about the line, with its message and its count. */
void tc__kmsg_fault(const struct tc__kmsg_context *c, struct tc_event *ev, enum tc_event_kind kind,
                    struct tc_slice fault, struct tc_slice device);

static inline bool tc__kmsg_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool tc__kmsg_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool tc__kmsg_is_alnum(char c)
{
    return tc__kmsg_is_digit(c) || tc__kmsg_is_upper(c) || (c >= 'a' && c <= 'z');
}

static inline bool tc__kmsg_take(struct tc_slice *io_s, struct tc_slice prefix)
{
    if (!tc_slice_starts(*io_s, prefix)) {
        return false;
    }
    *io_s = tc_slice_from(*io_s, prefix.len);
    return true;
}

/* The part of s before `needle`, and what follows it; false when s does not have it. */
static inline bool tc__kmsg_split(struct tc_slice s, struct tc_slice needle,
                                  struct tc_slice *out_head, struct tc_slice *out_tail)
{
    size_t at = tc_slice_find(s, needle);
    if (at == TC_NPOS) {
        return false;
    }
    *out_head = tc_slice_head(s, at);
    *out_tail = tc_slice_from(s, at + needle.len);
    return true;
}

static inline struct tc_slice tc__kmsg_skip_spaces(struct tc_slice s)
{
    while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t')) {
        s = tc_slice_from(s, 1);
    }
    return s;
}

#endif
