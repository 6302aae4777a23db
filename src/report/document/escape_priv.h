/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from anywhere, made harmless in the three places that a report has for it. In all of them
 * what is not seen (control characters, marks of direction) and bytes that are not UTF-8 become
 * \xNN: a reader sees what is there, and it changes nothing.
 */
#ifndef TC_REPORT_DOCUMENT_ESCAPE_PRIV_H
#define TC_REPORT_DOCUMENT_ESCAPE_PRIV_H

#include "base/slice.h"
#include "base/table/grow.h"

#include <stdbool.h>

/* For the text of an element of HTML or SVG, and for an attribute between quotes of either kind. */
void tc__html_text(struct tc_grow *g, struct tc_slice s);
/* The same, with its lines: for <pre>. */
void tc__html_lines(struct tc_grow *g, struct tc_slice s);

/* Where a text of Markdown stands: a backslash is not enough everywhere. */
enum tc__md_place {
    TC__MD_LINE_START, /* first of a paragraph or item */
    TC__MD_INLINE,
    TC__MD_CELL, /* of a table: as inline, and a bar would end it */
};
/* GitHub's Markdown too: no link, mention of a person, reference or formula comes of it. */
void tc__md_text(struct tc_grow *g, struct tc_slice s, enum tc__md_place place);
/* A code span. */
void tc__md_code(struct tc_grow *g, struct tc_slice s, enum tc__md_place place);
/* A fenced block of code, with its lines. `info` is a word of ours. */
void tc__md_block(struct tc_grow *g, struct tc_slice s, const char *info);

#endif
