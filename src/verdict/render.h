/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts as bytes: JSON for programs, text for people. Pure: the content of
 * the inputs, for digests and quotes, comes through tc_sources.
 */
#ifndef TC_VERDICT_RENDER_H
#define TC_VERDICT_RENDER_H

#include "base/buf.h"
#include "event/source.h"
#include "event/verdict.h"

#include <stdbool.h>

struct tc_line_marks;

/* One JSON object, no newline; the fields in the order of schemas/verdict. */
void tc_verdict_render_json(struct tc_buf *b, const struct tc_verdict *v,
                            const struct tc_sources *sources);

/* Text for a person: docs/internals/text.md says what is where on the page, and why. */
struct tc_text_style {
    unsigned columns;
    bool colour; /* with ANSI sequences */
    bool cut;    /* quotes and lines of the overview that are too long end in an ellipsis */
    bool all;    /* nothing is folded or left out */
    /* For the numbers of lines in sources, over several pages; may be NULL. */
    struct tc_line_marks *marks;
};

/* Verdicts that links hold together, or a single one. Borrows them. */
struct tc_story_text {
    const struct tc_verdict *const *verdicts; /* roots first, then what followed */
    size_t root_count;                        /* 1 at least */
    size_t count;
    size_t number; /* its line in the overview; 0: there is none */
};

/* What can be said of all its verdicts together. */
struct tc_story_sum {
    enum tc_severity severity; /* the highest of those that are open; of all when none is */
    bool resolved;
    int64_t first_ns; /* TC_TIME_NONE when none has a date */
    int64_t last_ns;
};

struct tc_story_sum tc_story_sum_of(const struct tc_story_text *story);

/*
 * One story: severity, what and where, what to do, why, what followed, timeline and evidence.
 * Bytes from outside are shown escaped.
 */
void tc_verdict_render_story(struct tc_buf *b, const struct tc_story_text *story,
                             const struct tc_sources *sources, const struct tc_text_style *style);

/* How many stories there are, and of which kind. Zero it, then add each. */
struct tc_overview {
    size_t stories;
    size_t resolved;
    size_t open[TC_SEVERITY_CRITICAL + 1]; /* by severity */
    int64_t day;                           /* since 1970, of the first that has a date; 0: none */
    bool days;                             /* not all are of that day: lines show the date */
};

void tc_overview_add(struct tc_overview *o, const struct tc_story_sum *sum);
/* "3 stories on 2026-03-04 (UTC): 2 open (1 critical, 1 warning), 1 resolved". */
void tc_overview_render_head(struct tc_buf *b, const struct tc_overview *o,
                             const struct tc_text_style *style);
/* Number, severity, time, what and where of one, on a line. */
void tc_overview_render_line(struct tc_buf *b, const struct tc_overview *o,
                             const struct tc_story_text *story, const struct tc_text_style *style);

#endif
