/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Setting text for a terminal: words that wrap, quotes that are cut, columns
 * counted in code points, bytes from outside escaped. For the pages of this room.
 */
#ifndef TC_VERDICT_TEXT_PRIV_H
#define TC_VERDICT_TEXT_PRIV_H

#include "base/buf.h"
#include "base/limits.h"
#include "base/line_marks.h"
#include "event/event.h"
#include "event/finding.h"
#include "event/source.h"
#include "verdict/render.h"

#include <stdbool.h>
#include <stddef.h>

enum tc__text_style {
    TC__TEXT_PLAIN,
    TC__TEXT_BOLD,
    TC__TEXT_DIM,
    TC__TEXT_INFO,
    TC__TEXT_WARNING,
    TC__TEXT_CRITICAL,
};

/* Invariant: at is the number of code points since the last newline. */
struct tc__page {
    struct tc_buf *b;
    unsigned columns;
    unsigned at;
    bool colour;
    bool cut; /* what is too long for a line ends in an ellipsis; else it is wrapped */
    struct tc_line_marks *marks;
};

struct tc__page tc__page_begin(struct tc_buf *b, const struct tc_text_style *style);
/* Everything after it looks so, until the next. */
void tc__page_style(struct tc__page *p, enum tc__text_style style);
/* s as it is, but escaped; not wrapped. */
void tc__page_text(struct tc__page *p, struct tc_slice s);
void tc__page_number(struct tc__page *p, size_t number);
void tc__page_blank(struct tc__page *p, unsigned count);
void tc__page_line(struct tc__page *p);
/* A sentence, wrapped; the first line starts `first` columns in, the others `next`. */
void tc__page_paragraph(struct tc__page *p, unsigned first, unsigned next, struct tc_slice s);
/* One line, escaped, however long; white space becomes one blank. */
void tc__page_uncut(struct tc__page *p, struct tc_slice s);
/* One line of at most `width` columns: white space becomes one blank, a cut ends in an ellipsis. */
void tc__page_cut(struct tc__page *p, struct tc_slice s, unsigned width);

/* A paragraph that is put together from pieces. Nothing is written before the first word. */
struct tc__flow {
    struct tc__page *page;
    unsigned first;
    unsigned next;
    bool started;
    bool fresh; /* on a new line with nothing on it yet */
};

struct tc__flow tc__flow_begin(struct tc__page *p, unsigned first, unsigned next);
/* One word, never broken unless it is longer than a line. */
void tc__flow_word(struct tc__flow *flow, struct tc_slice word);
/*
 * What follows stays together: it starts a new line when it would fit on one but not on what
 * is left of this. Two columns remain for a separator behind it.
 */
void tc__flow_together(struct tc__flow *flow, struct tc_slice a, struct tc_slice b);
/* All words of s. */
void tc__flow_words(struct tc__flow *flow, struct tc_slice s);
/* All words of a sentence; durations in seconds are given in the format of all durations. */
void tc__flow_sentence(struct tc__flow *flow, struct tc_slice s);
void tc__flow_end(struct tc__flow *flow);

#define TC__TEXT_MARGIN 2
#define TC__TEXT_BLOCK 4

/* A bold line of its own. */
void tc__page_title(struct tc__page *p, const char *title);
/* "... and N more, see --all"; nothing when there are none. */
void tc__page_more(struct tc__page *p, size_t more);

/* "CRITICAL", or "RESOLVED", in its colour. */
void tc__page_severity(struct tc__page *p, const struct tc_story_sum *sum);
/* "name value", with a dot between items; nothing when the value is empty. */
void tc__flow_item(struct tc__flow *flow, struct tc_slice name, struct tc_slice value);
/* In a few words: pattern and discriminator, node, GPU or pod, job, rank. */
void tc__flow_what_and_where(struct tc__flow *flow, const struct tc_finding *f);
/* Everything else about a finding that its headline does not say. */
void tc__page_details(struct tc__page *p, const struct tc_finding *f, bool reasons_told);
/* Why the culprits are culprits; NULL when the finding names none. */
const struct tc_attr *tc__finding_reasons(const struct tc_finding *f);

/*
 * A piece of evidence: the command that prints it, on a line of its own that is never broken, and
 * under it, for lines of a text, what they say.
 */
void tc__page_proof(struct tc__page *p, unsigned indent, const struct tc_source_view *view,
                    const struct tc_raw *raw);

/* Whether two pieces say the same of different numbers: "rank 4 entered", "rank 12 entered". */
bool tc__evidence_is_alike(const struct tc_evidence *a, const struct tc_evidence *b);

/* Pieces of evidence in order of time. Zero it first; tc__trail_end when all are added. */
struct tc__trail {
    const struct tc_evidence *pieces[TC_VERDICT_EVIDENCE_MAX];
    size_t alike[TC_VERDICT_EVIDENCE_MAX];     /* that follow each and differ in numbers only */
    int64_t until_ns[TC_VERDICT_EVIDENCE_MAX]; /* time of the last of them */
    size_t count;
    size_t left_out;
    bool relative; /* they are of different days */
};

/* At most so many pieces of a finding, the first ones; not what another finding told already. */
void tc__trail_add(struct tc__trail *t, const struct tc_finding *f, size_t most);
/* fold: pieces that are alike become one. */
void tc__trail_end(struct tc__trail *t, size_t shown, bool fold);
/* What happened when, and the bytes that say so. */
void tc__page_timeline(struct tc__page *p, const struct tc__trail *t);
void tc__page_evidence(struct tc__page *p, const struct tc__trail *t,
                       const struct tc_sources *sources);

#endif
