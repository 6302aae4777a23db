/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as a document: headings, sentences, tables, plots, commands, and the lineage of its
 * numbers. It is built in an arena and then written as Markdown, HTML or JSON (render.h); what it
 * says is decided before, how it looks after.
 *
 * A measured number is never text: it is a struct tc_doc_number, with the runs it stands on, its
 * interval or the reason why it has none, and its lineage id. So no writer can lose them.
 *
 * Every text may come from outside: writers escape all of it, ours too. After a failure (the arena
 * is full) nothing is added, `failed` stays set, and one check at the end is enough.
 */
#ifndef TC_REPORT_DOCUMENT_DOCUMENT_H
#define TC_REPORT_DOCUMENT_DOCUMENT_H

#include "base/arena.h"
#include "base/format.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tc_doc_interval {
    double low;
    double high;
    double level; /* 0.95 */
};

enum tc_doc_style {
    TC_DOC_PLAIN,  /* "412.3 ms" */
    TC_DOC_RATIO,  /* of two sides: "1.38 x" */
    TC_DOC_CHANGE, /* a difference of two sides: "+160 ms" */
};

/* Invariant: has_interval, or why is not empty. */
struct tc_doc_number {
    double value;
    enum tc_doc_style style;
    struct tc_slice unit; /* empty: none */
    uint64_t runs;        /* it stands on; of two sides the candidate's */
    uint64_t base_runs;   /* of two sides the base's; else 0 */
    bool has_interval;
    struct tc_doc_interval interval;
    struct tc_slice why; /* there is no interval, in words */
    struct tc_slice id;  /* of its lineage: an entry of the document */
};

enum tc_doc_span_kind {
    TC_DOC_TEXT,
    TC_DOC_STRONG,
    TC_DOC_CODE, /* names, ids, versions: as they are, in a fixed width */
    TC_DOC_NUMBER,
};

struct tc_doc_span {
    enum tc_doc_span_kind kind;
    struct tc_slice text;
    const struct tc_doc_number *number;
    struct tc_doc_span *next;
};

/* What a line, a cell or an item says. */
struct tc_doc_spans {
    struct tc_doc_span *first;
    struct tc_doc_span *last;
};

#define TC_DOC_COLUMNS_MAX 10

struct tc_doc_row {
    size_t cell_count;
    struct tc_doc_spans cells[TC_DOC_COLUMNS_MAX];
    struct tc_doc_row *next;
};

/* Invariant: no row has more cells than there are columns. In a column of numbers a cell is one
 * number, or words that say why there is none. */
struct tc_doc_table {
    struct tc_slice caption;
    size_t column_count;
    struct tc_slice heads[TC_DOC_COLUMNS_MAX];
    bool is_number[TC_DOC_COLUMNS_MAX];
    size_t row_count;
    struct tc_doc_row *first;
    struct tc_doc_row *last;
};

/* ---- plots ---- */

enum tc_doc_plot_kind {
    TC_DOC_STRIP, /* every replicate of each side a mark on a common axis; median and interval */
    TC_DOC_CURVE, /* y against x, a line for each side */
    TC_DOC_TREND, /* a metric over runs in the order of time, with change points */
};

#define TC_DOC_SIDES_MAX 2

/* One mark. Of a strip only x; of a curve the interval of y, if it has one. */
struct tc_doc_mark {
    double x;
    double y;
    double low;
    double high;
    bool has_range;
    struct tc_slice label; /* said beside it, as "c=32"; may be empty */
};

struct tc_doc_side {
    struct tc_slice name; /* "base" */
    const struct tc_doc_mark *marks;
    size_t mark_count;
    const struct tc_doc_number *middle; /* of a strip: the median; may be NULL */
};

/* Where a trend changes: between the marks `at` - 1 and `at`; the medians before and after. */
struct tc_doc_change {
    size_t at;
    double before;
    double after;
    struct tc_slice label; /* may be empty */
};

struct tc_doc_plot {
    enum tc_doc_plot_kind kind;
    struct tc_slice title;
    struct tc_slice describes; /* what one sees, in a sentence, for those who do not see it */
    struct tc_slice x_name;    /* with its unit */
    struct tc_slice y_name;
    size_t side_count;
    struct tc_doc_side sides[TC_DOC_SIDES_MAX];
    const struct tc_doc_change *changes;
    size_t change_count;
};

/* ---- blocks ---- */

enum tc_doc_block_kind {
    TC_DOC_HEADING,
    TC_DOC_PARAGRAPH,
    TC_DOC_ITEM, /* of a list: those that follow each other are one list */
    TC_DOC_NOTE, /* set apart: what a reader must not miss */
    TC_DOC_COMMAND,
    TC_DOC_TABLE,
    TC_DOC_PLOT,
};

struct tc_doc_block {
    enum tc_doc_block_kind kind;
    unsigned level; /* of a heading: 2 or 3 */
    struct tc_doc_spans spans;
    struct tc_slice text; /* of a heading or command; commands may have lines */
    struct tc_doc_table *table;
    struct tc_doc_plot *plot;
    struct tc_doc_block *next;
};

/* ---- lineage ---- */

struct tc_doc_source {
    struct tc_slice run_id;
    struct tc_slice name; /* of the file, as it was added; empty: not known */
    struct tc_slice digest;
    struct tc_slice pointer; /* where in it; empty: not known */
};

struct tc_doc_run {
    struct tc_slice run_id;
    struct tc_slice manifest_digest;
    struct tc_slice spec_digest;
};

/* The runs of one side; many numbers stand on the same. */
struct tc_doc_basis {
    struct tc_slice name; /* "base" */
    const struct tc_doc_run *runs;
    size_t run_count;
    const struct tc_doc_source *sources;
    size_t source_count;
    struct tc_doc_basis *next;
};

struct tc_doc_lineage {
    struct tc_slice id;
    struct tc_slice what; /* "ttft_p99_ms, concurrency 32: median of base" */
    struct tc_slice query;
    struct tc_slice query_digest;
    bool is_published;
    struct tc_slice claim; /* what the id is the digest of, as canonical JSON; empty: published */
    const struct tc_doc_basis *bases[TC_DOC_SIDES_MAX]; /* those it stands on; NULL behind them */
    struct tc_doc_lineage *next;
};

/* ---- the document ---- */

struct tc_doc_fact { /* of the head: "base", "5 runs of ..." */
    struct tc_slice name;
    struct tc_doc_spans spans;
    struct tc_doc_fact *next;
};

struct tc_doc {
    struct tc_arena *arena;
    struct tc_slice title;
    struct tc_slice audience; /* engineering, product or partner */
    struct tc_slice version;  /* of the program that wrote it */
    struct tc_doc_spans answer;
    struct tc_doc_fact *first_fact;
    struct tc_doc_fact *last_fact;
    struct tc_doc_block *first;
    struct tc_doc_block *last;
    struct tc_doc_lineage *first_lineage;
    struct tc_doc_lineage *last_lineage;
    struct tc_doc_basis *first_basis;
    struct tc_doc_basis *last_basis;
    struct tc_doc_spans lost; /* where text goes once it failed */
    bool failed;
};

/* Borrows the arena for the document's whole life; texts that are given are borrowed too. */
void tc_doc_init(struct tc_doc *d, struct tc_arena *arena, struct tc_slice title);

struct tc_doc_spans *tc_doc_fact(struct tc_doc *d, struct tc_slice name);
void tc_doc_heading(struct tc_doc *d, unsigned level, struct tc_slice text);
struct tc_doc_spans *tc_doc_paragraph(struct tc_doc *d);
struct tc_doc_spans *tc_doc_item(struct tc_doc *d);
struct tc_doc_spans *tc_doc_note(struct tc_doc *d);
/* For a shell; it may have several lines. */
void tc_doc_command(struct tc_doc *d, struct tc_slice text);

/* NULL once the document failed; the functions below take that. */
struct tc_doc_table *tc_doc_table(struct tc_doc *d, struct tc_slice caption);
void tc_doc_column(struct tc_doc *d, struct tc_doc_table *t, struct tc_slice head, bool is_number);
void tc_doc_row(struct tc_doc *d, struct tc_doc_table *t);
/* The next cell of the last row. */
struct tc_doc_spans *tc_doc_cell(struct tc_doc *d, struct tc_doc_table *t);
/* A plot without marks yet, which the caller fills; NULL once the document failed. */
struct tc_doc_plot *tc_doc_plot(struct tc_doc *d, enum tc_doc_plot_kind kind,
                                struct tc_slice title);

/* Adds to what is said. Slices are borrowed; formatted text is in the arena. */
void tc_doc_add(struct tc_doc *d, struct tc_doc_spans *spans, enum tc_doc_span_kind kind,
                struct tc_slice text);
#define tc_doc_say(d, spans, ...) \
    tc_doc_add((d), (spans), TC_DOC_TEXT, tc_doc_text((d), __VA_ARGS__))
#define tc_doc_stress(d, spans, ...) \
    tc_doc_add((d), (spans), TC_DOC_STRONG, tc_doc_text((d), __VA_ARGS__))
/* Copies the number; returns the copy, NULL once the document failed. */
const struct tc_doc_number *tc_doc_add_number(struct tc_doc *d, struct tc_doc_spans *spans,
                                              const struct tc_doc_number *number);
/* Text in the arena. */
#define tc_doc_text(d, ...) \
    tc_doc_text_args((d), (const struct tc_arg[]){TC_ARGS(__VA_ARGS__)}, TC_ARG_COUNT(__VA_ARGS__))
struct tc_slice tc_doc_text_args(struct tc_doc *d, const struct tc_arg *args, size_t count);

/* The first entry with the query of this one, which is the document's. */
const struct tc_doc_lineage *tc_doc_lineage_same_query(const struct tc_doc *d,
                                                       const struct tc_doc_lineage *entry);
/* Adds an entry, unless there is one of that id. */
void tc_doc_lineage_add(struct tc_doc *d, const struct tc_doc_lineage *entry);
/* Adds the runs of a side; NULL once the document failed. */
const struct tc_doc_basis *tc_doc_basis_add(struct tc_doc *d, const struct tc_doc_basis *basis);

#endif
