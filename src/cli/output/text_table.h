/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and paragraphs for people, as wide as the terminal. */
#ifndef TC_CLI_OUTPUT_TEXT_TABLE_H
#define TC_CLI_OUTPUT_TEXT_TABLE_H

#include "base/format.h"
#include "base/slice.h"
#include "base/table/grow.h"
#include "warehouse/answer.h"

#include <stdbool.h>
#include <stddef.h>

#define TC_TEXT_TABLE_COLUMNS 24

/* Text cells; columns are made as wide as they need, and from the end left out where the screen is
 * too narrow. */
struct tc_text_table {
    size_t column_count;
    size_t width; /* of the page; 0: the terminal's */
    const char *heads[TC_TEXT_TABLE_COLUMNS];
    bool right[TC_TEXT_TABLE_COLUMNS]; /* numbers */
    size_t flexible;                   /* the column that may be cut ... */
    size_t flexible_min;               /* ... down to this */
    struct tc_grow text;               /* cells one after another */
    size_t *ends;
    size_t cell_count;
    size_t cell_cap;
    bool failed;
};

/* The next cell, of text from outside; of a format, whose text is taken as it is. */
void tc_text_table_cell(struct tc_text_table *t, struct tc_slice text);
#define tc_text_table_format(t, ...)                                              \
    tc_text_table_format_args((t), (const struct tc_arg[]){TC_ARGS(__VA_ARGS__)}, \
                              TC_ARG_COUNT(__VA_ARGS__))
void tc_text_table_format_args(struct tc_text_table *t, const struct tc_arg *args, size_t count);
/* From a set; NULL is "-". */
void tc_text_table_value(struct tc_text_table *t, const struct tc_answer *s, size_t row,
                         size_t column);
/* How many columns had no room. */
size_t tc_text_table_print(struct tc_text_table *t, struct tc_grow *out, const char *indent);
void tc_text_table_fini(struct tc_text_table *t);

/* Words behind `first`, broken where the line ends: the next begins with `indent`. */
void tc_text_words(struct tc_grow *g, const char *first, struct tc_slice words, const char *indent);
/* A line about one thing: its name, what became of it, and why, in words from outside. */
void tc_text_finding(struct tc_grow *g, struct tc_slice name, const char *state,
                     struct tc_slice why);

/* The same, ended, of a text that is freed. */
void tc_text_paragraph(struct tc_grow *g, struct tc_grow *text, const char *first,
                       const char *indent);

#endif
