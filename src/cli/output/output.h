/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard output, buffered and checked: a disk that fills up is an error with
 * a message, not a shorter file. After the first failure nothing more is
 * written, and tc_output_end says why.
 */
#ifndef TC_CLI_OUTPUT_OUTPUT_H
#define TC_CLI_OUTPUT_OUTPUT_H

#include "base/buf.h"
#include "base/format.h"
#include "base/json/out.h"
#include "base/slice.h"
#include "base/table/grow.h"

#include <stdbool.h>
#include <stddef.h>

/* What becomes of invisible characters (tc_utf8_is_invisible), but for ends of lines. */
enum tc_output_escape {
    TC_ESCAPE_NOTHING,
    TC_ESCAPE_TEXT, /* \xNN for each byte; bytes that are not UTF-8 too */
    TC_ESCAPE_JSON, /* \uNNNN, so that it stays the same JSON */
};

/* Invariant: buf is what of data waits; error is an errno value, 0 while all is well. */
struct tc_output {
    int fd;
    int error;
    enum tc_output_escape escape;
    unsigned char sequence[4]; /* of a character that is not whole yet, where they are escaped */
    size_t sequence_len;
    struct tc_buf buf;
    char data[32768];
};

void tc_output_init(struct tc_output *o, int fd);
/* On a terminal, what is put from now on is escaped so; elsewhere nothing is. */
void tc_output_escape_on_terminal(struct tc_output *o, enum tc_output_escape escape);
/* False once a write has failed. Borrows s. */
bool tc_output_put(struct tc_output *o, struct tc_slice s);
/* The same for a format (base/format.h). */
#define tc_output_format(o, ...)                                              \
    tc_output_format_args((o), (const struct tc_arg[]){TC_ARGS(__VA_ARGS__)}, \
                          TC_ARG_COUNT(__VA_ARGS__))
bool tc_output_format_args(struct tc_output *o, const struct tc_arg *args, size_t count);
bool tc_output_flush(struct tc_output *o);
/* A writer of JSON that goes to o, between what is put there. */
struct tc_json_out tc_output_json(struct tc_output *o);
/* The same, with an object begun. */
struct tc_json_out tc_output_object(struct tc_output *o);

/* Arguments of formats for columns: blanks behind the text, or before the number. */
struct tc_arg tc_as_padded(struct tc_slice text, size_t width);
struct tc_arg tc_as_right(uint64_t value, size_t width);

/*
 * Flushes and gives the exit status: `status`, or TC_EXIT_BAD with a message in
 * the name of the command, or TC_EXIT_PIPE without one when the reader has gone.
 */
int tc_output_end(struct tc_output *o, const char *command, int status);
/* Writes a whole text to standard output and frees it; gives the exit status in the same way. */
int tc_output_grown(const char *command, struct tc_grow *g, int status);

#endif
