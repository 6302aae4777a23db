/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kubectl prints for people: `describe` and the tables of `get`. codec.c walks the lines,
 * describe.c reads blocks of "Key: value", rows.c and titles.c the rows of tables, text.c ages,
 * dates and what terminals and tickets put around them. kubelet.c, a codec of its own, reads the
 * log of the kubelet.
 *
 * Rows are known by their shape, so that it does not matter where a paste was cut; columns by their
 * titles count where the shape says nothing (custom columns).
 */
#ifndef TC_CODEC_KUBECTL_PRIV_H
#define TC_CODEC_KUBECTL_PRIV_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/codec.h"
#include "codec/k8s/k8s_priv.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC__KUBECTL_COLUMNS 24
#define TC__KUBECTL_WORDS 40

/* A line, with what is around it taken off. */
struct tc__kubectl_line {
    struct tc_slice raw;
    struct tc_slice text;
    size_t at;       /* of raw in the input */
    size_t next;     /* the line behind it */
    int64_t now_ns;  /* what ages count from; TC_TIME_NONE */
    int64_t time_ns; /* that the line begins with; TC_TIME_NONE */
};

/* The end of a container, as far as it was read. */
struct tc__kubectl_end {
    bool open;
    bool last; /* of the run before */
    struct tc_slice reason;
    struct tc_slice message;
    int64_t exit_code;
    int64_t signal;
    int64_t finished_ns;
};

enum tc__kubectl_section {
    TC__SECTION_TOP,
    TC__SECTION_CONTAINERS,
    TC__SECTION_INVOLVED, /* what the event that is described is about */
    TC__SECTION_OTHER,
};

/* One object of `describe`. "" and TC_TIME_NONE: not said yet, or cut off. */
struct tc__kubectl_block {
    bool open;
    bool is_pod;
    bool is_node;
    bool is_event;
    bool deleted; /* its deletion was asked for */
    enum tc__kubectl_section section;
    struct tc_slice name;
    struct tc_slice ns;
    struct tc_slice node;
    struct tc_slice rack;
    struct tc_slice phase;
    struct tc_slice reason;
    struct tc_slice message;
    struct tc_slice before;    /* a key without a value on the line above: perhaps a container */
    struct tc_slice container; /* whose keys are read */
    struct tc__kubectl_end end;
    struct tc__k8s_numbers numbers;
    struct tc_slice job; /* that its labels name */
    unsigned bad;        /* containers that ended badly */
    int64_t finished_ns;
    int64_t evicted_ns; /* of the event in its table */
    /* The lines that say its state. */
    size_t from;
    size_t to;
    /* Of an event. */
    struct tc_event event;
};

struct tc__kubectl {
    const struct tc_codec_input *in;
    struct tc_codec_cursor *cursor;
    struct tc_codec_out *out;
    struct tc__kubectl_block block;
    /* The titles above the rows, and where they begin; count 0: none. */
    size_t title_count;
    uint8_t titles[TC__KUBECTL_COLUMNS];
    size_t title_at[TC__KUBECTL_COLUMNS];
    /* What was found, for those who ask whose the input is. */
    size_t sure;
    size_t maybe;
};

/* Evidence, then the event goes out. */
TC_CHECKED tc_status tc__kubectl_deliver(struct tc__kubectl *k, size_t from, size_t to,
                                         struct tc_event *ev);

/* ---- rows.c: *out_ours is set when the line is a row or titles. ---- */
TC_CHECKED tc_status tc__kubectl_row(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                                     bool *out_ours);

/* "Evicted", "FailedMount": how reasons and phases are written. */
bool tc__kubectl_is_reason(struct tc_slice s);
/* "<none>", "<unknown>" */
bool tc__kubectl_is_placeholder(struct tc_slice s);
/* "True", "False" or "Unknown" */
bool tc__kubectl_is_condition(struct tc_slice s);
/* When something of that age was; TC_TIME_NONE where nobody knows from when ages count. */
int64_t tc__kubectl_ago(const struct tc__kubectl_line *line, struct tc_slice age);
/* "pod/name": sets kind and name of the object. */
bool tc__kubectl_object(struct tc_slice text, struct tc_event *ev);
/* The component of "kubelet, gpu-07", and the host. */
struct tc_slice tc__kubectl_source(struct tc_slice source, struct tc_slice *out_host);
/* What the column STATUS of a pod says. False: nothing that anybody waits for. */
bool tc__kubectl_pod_status(struct tc_slice status, struct tc_ev_pod *out);
TC_CHECKED tc_status tc__kubectl_tell_event(struct tc__kubectl *k,
                                            const struct tc__kubectl_line *line,
                                            struct tc_event *ev, struct tc_slice ns,
                                            struct tc_slice host);
TC_CHECKED tc_status tc__kubectl_tell_pod(struct tc__kubectl *k,
                                          const struct tc__kubectl_line *line, struct tc_event *ev);
TC_CHECKED tc_status tc__kubectl_tell_condition(struct tc__kubectl *k,
                                                const struct tc__kubectl_line *line,
                                                struct tc_slice node, const char *type,
                                                struct tc_slice status);

/* ---- titles.c ---- */

/* Remembers titles; false when the line has other things, or too few. */
bool tc__kubectl_titles(struct tc__kubectl *k, struct tc_slice text);
/* A row below titles. */
TC_CHECKED tc_status tc__kubectl_by_titles(struct tc__kubectl *k,
                                           const struct tc__kubectl_line *line, bool *out_ours);

/* ---- describe.c ---- */
TC_CHECKED tc_status tc__kubectl_key(struct tc__kubectl *k, const struct tc__kubectl_line *line,
                                     bool *out_ours);
/* Tells what the object that ends here says. */
TC_CHECKED tc_status tc__kubectl_close(struct tc__kubectl *k);
/* What an event in the table of the block is about, and what it says of the block. */
void tc__kubectl_about(struct tc__kubectl *k, struct tc_event *ev, struct tc_slice host);

/* ---- text.c ---- */

/* The next line; false at the end of the input. One of the kernel log is empty. */
bool tc__kubectl_next(const struct tc_codec_input *in, size_t at, struct tc_arena *arena,
                      struct tc__kubectl_line *out);
/* "3h41m", "2y31d", "0s": all of text. */
bool tc__kubectl_age(struct tc_slice text, int64_t *out_ns);
/* "Sat, 16 Sep 2023 01:14:02 +0000" at the start: bytes used, or 0. */
size_t tc__kubectl_date(struct tc_slice text, int64_t *out_ns);
/* Words between blanks; returns how many. */
size_t tc__kubectl_words(struct tc_slice text, struct tc_slice out[TC__KUBECTL_WORDS]);
/* The cell up to two blanks or a tab, and the rest behind them. */
struct tc_slice tc__kubectl_cell(struct tc_slice text, struct tc_slice *out_rest);
/* The name of an object: lower-case letters, digits, '-' and '.'. */
bool tc__kubectl_is_name(struct tc_slice s);

#endif
