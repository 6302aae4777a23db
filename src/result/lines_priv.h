/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs as lines of words: what the readers of text files share.
 */
#ifndef TC_RESULT_LINES_PRIV_H
#define TC_RESULT_LINES_PRIV_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

struct tc__lines {
    struct tc_slice rest;
    size_t line;  /* of the one just given, from 1 */
    bool in_line; /* behind a carriage return, for tc__lines_next_part */
};

/* From the start of a text to its last character that is no blank: nothing left means that the line
 * just given was the last one. */
struct tc__lines tc__lines_of(struct tc_slice text);

/* The next line without its end; of one that was overwritten by carriage returns, the last text. */
bool tc__lines_next(struct tc__lines *l, struct tc_slice *out);

/* The same, but each of the texts that overwrite each other is given: progress bars. */
bool tc__lines_next_part(struct tc__lines *l, struct tc_slice *out);

/* The text without colours and other escape sequences of terminals: itself when it has none, else
 * a copy in `memory`, which is cut at `size`. */
struct tc_slice tc__line_plain(struct tc_slice line, char *memory, size_t size);

/* Without what launchers put before a line: "3: " of srun -l, "[1,0]<stdout>:" of mpirun,
 * "[rank0]:" and "[default0]:" of torchrun. *out_rank is the number, -1 without one. */
struct tc_slice tc__line_bare(struct tc_slice line, long *out_rank);

/* The next word; empty at the end. */
struct tc_slice tc__word_next(struct tc_slice *io_rest);

/* One of the words, which have blanks between them. */
bool tc__word_in(struct tc_slice word, const char *words);

/* Behind the first `what`; false when the text does not have it. */
bool tc__text_after(struct tc_slice text, struct tc_slice what, struct tc_slice *out);

/* The next field of a line of CSV; quotes around it are taken off (no tool has quotes inside).
 * False at the end of the line. */
bool tc__csv_field(struct tc_slice *io_line, struct tc_slice *out);
/* "1,234.50" without its commas, if that is a number. */
bool tc__csv_number(struct tc_slice text, double *out);

/* The last component of a path. */
struct tc_slice tc__path_last(struct tc_slice path);

#endif
