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

/* One JSON object, no newline; the fields in the order of schemas/verdict. */
void tc_verdict_render_json(struct tc_buf *b, const struct tc_verdict *v,
                            const struct tc_sources *sources);

/* Text for a person: at most `columns` wide; colour with ANSI sequences if asked. */
struct tc_text_style {
    unsigned columns;
    bool colour;
};

/* What followed from a verdict: told in short under it. */
struct tc_follower {
    const struct tc_verdict *verdict;
    bool brief; /* one line: more of the same, as the other groups that a hang holds up */
};

/*
 * One story: the verdict that explains the others in full (headline, culprit, timeline, quoted
 * evidence, what to do next), what followed from it in order, each with the reason of the link, and
 * one timeline of all of it. `more` followers are only counted. Bytes from outside are shown
 * escaped.
 */
void tc_verdict_render_story(struct tc_buf *b, const struct tc_verdict *root,
                             const struct tc_follower *followers, size_t count, size_t more,
                             const struct tc_sources *sources, const struct tc_text_style *style);

#endif
