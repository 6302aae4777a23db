/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every reader of a format looks like. A codec is pure: bytes and hints
 * in, events out, no files, no clock, no globals. The format is recognised from
 * content; names are hints. One file per format, one line in codecs.def.
 *
 * Every codec takes hostile bytes: bounded work and memory, an error that names
 * the offset and the field, never a crash, and what could be read is delivered
 * before the error is returned.
 */
#ifndef TC_CODEC_CODEC_H
#define TC_CODEC_CODEC_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/status.h"
#include "event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How sure a codec is that bytes are its own. The highest wins; ties go to codecs.def's order. */
#define TC_SNIFF_NO 0
#define TC_SNIFF_MAYBE 30 /* looks like it */
#define TC_SNIFF_LIKELY 60
#define TC_SNIFF_SURE 100 /* a magic number or an unmistakable key */

struct tc__line_reader;
struct tc_buf;
struct tc_prom_scrapes;

/* What is decoded, and what is known about it from outside. Unknown hints are empty. */
struct tc_codec_input {
    struct tc_slice bytes; /* the whole input; events may point into it */
    struct tc_slice name;  /* its path as given; the last component carries a dump's rank */
    uint32_t source;       /* for tc_raw */
    struct tc_slice node;  /* node of lines that do not name one */
    struct tc_slice job;   /* job of a dump */
    struct tc_slice place; /* node or pod of a dump, by the name of its directory */
    int64_t boot_ns;       /* when the node booted, for times since boot; TC_TIME_NONE */
    int64_t now_ns;        /* decides the year of dates without one; TC_TIME_NONE */
    int64_t taken_ns;      /* when the last scrape in it was taken, for samples without a time;
                              0 or TC_TIME_NONE: not known */
    const struct tc_prom_scrapes *scrapes; /* in it, where counted before; NULL */
    int64_t interval_ns;  /* between scrapes without a time; 0: TC_SCRAPE_INTERVAL */
    int32_t utc_offset_s; /* zone of dates without one */
    bool want_unknown;    /* report what was not understood */
};

#define TC_SCRAPE_INTERVAL (15 * TC_SECOND)
#define TC_CURSOR_OWN 16

/* Where decoding stands. Zero it before the first call. */
struct tc_codec_cursor {
    size_t offset; /* next byte to look at */
    bool done;
    uint64_t events;
    uint64_t undated;            /* events that have only a time since boot */
    uint64_t unknown;            /* lines or records that were not understood */
    uint64_t cut;                /* lines that were longer than TC_LINE_MAX */
    uint64_t own[TC_CURSOR_OWN]; /* what the codec remembers between calls */
};

/*
 * Where events go. `event` borrows ev until return; the strings of ev live in the
 * input's bytes or in `arena`. When `event` sets pause, a codec that can stops
 * after it and returns TC_OK with cursor->done false; call decode again to go on.
 * (A codec whose `ordered` is false may ignore pause.)
 */
struct tc_codec_out {
    tc_status (*event)(void *context, const struct tc_event *ev);
    /* May be NULL. `why` is a literal. */
    tc_status (*unknown)(void *context, uint64_t offset, size_t length, const char *why);
    void *context;
    struct tc_arena *arena;   /* for strings that had to be made; full: TC_E_NOMEM */
    struct tc_arena *scratch; /* for the codec's own use during one call */
    bool pause;
};

/* What an input is recognised by. */
struct tc_codec_head {
    struct tc_slice bytes; /* its first, up to TC_SNIFF_BYTES */
    bool at_end;           /* they are all of it */
    struct tc_slice name;
};

struct tc_codec {
    const char *name;    /* stable id: "kmsg" */
    const char *summary; /* one sentence for --help and docs */
    /* For the table of formats (tracecore decode --formats, docs/formats.md). */
    const char *known_by; /* what it is recognised by */
    const char *gives;    /* kinds of events, with commas */
    const char *example;  /* one line of it */
    bool ordered;         /* events come in time order but for small local disorder */
    bool picks_lines;     /* reads what it knows out of any text: several such may read one file */
    /* Whether those of this input do, from its first bytes; NULL: as `ordered` says. */
    bool (*in_order)(struct tc_slice head);
    int (*sniff)(struct tc_codec_head head);
    tc_status (*decode)(const struct tc_codec_input *in, struct tc_codec_cursor *cursor,
                        struct tc_codec_out *out, struct tc_error *err);
    /* What reads a line, where that is all of `decode`; and of `sniff`, where that is NULL too. */
    const struct tc__line_reader *lines;
    /*
     * The time of the last line or record with one, event or not; TC_TIME_NONE. Looks at the
     * end of the input only. NULL: its events are all that it says of time.
     */
    int64_t (*last_time)(const struct tc_codec_input *in);
};

#define TC_SNIFF_BYTES ((size_t)64 << 10)

#define CODEC(id) extern const struct tc_codec tc_codec_##id;
#include "codec/codecs.def"
#undef CODEC

/* What `sniff` and `decode` say; without them, what the lines do. */
int tc_codec_sniff(const struct tc_codec *codec, struct tc_slice head, bool at_end,
                   struct tc_slice name);
TC_CHECKED tc_status tc_codec_decode(const struct tc_codec *codec, const struct tc_codec_input *in,
                                     struct tc_codec_cursor *cursor, struct tc_codec_out *out,
                                     struct tc_error *err);

/* The codec that recognises the bytes best, or NULL. Looks at their beginning; where that says
 * nothing, at their end: what went wrong stands in the last lines of a log. */
const struct tc_codec *tc_codec_recognise(struct tc_slice bytes, struct tc_slice name);

#define TC_CODECS_MAX 24

/*
 * All that can read the bytes, the best first: it alone, unless it picks lines: then all that do
 * and find some. Returns how many.
 */
size_t tc_codec_readers(struct tc_slice bytes, struct tc_slice name,
                        const struct tc_codec *out[TC_CODECS_MAX]);
/* By name, for --format; NULL when there is none. */
const struct tc_codec *tc_codec_by_name(struct tc_slice name);
/* All of them as a table in Markdown: docs/formats.md. */
void tc_codec_write_table(struct tc_buf *b);
#define TC_CODEC_TABLE_MAX ((size_t)64 << 10)
/* The names of all, in the order of codecs.def. */
void tc_codec_list_names(struct tc_buf *b, struct tc_slice between);

#endif
