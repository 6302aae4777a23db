/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/format.h"
#include "cli/command.h"

#include <string.h>

/* The layout of the option list. */
#define HELP_COLUMNS 80
#define HELP_INDENT 24
#define HELP_LINE_MAX 256

static void put(struct tc_output *out, const char *text)
{
    (void)tc_output_put(out, tc_slice_cstr(text));
}

static void put_line(struct tc_output *out, struct tc_buf *line)
{
    tc_buf_char(line, '\n');
    (void)tc_output_put(out, tc_buf_slice(line));
    tc_buf_reset(line);
}

static void pad(struct tc_buf *line, size_t column)
{
    while (line->len < column && line->len < line->cap) {
        tc_buf_char(line, ' ');
    }
}

/* Wraps into the right-hand column. Our own texts are ASCII here: a byte is a column. */
static void put_words(struct tc_output *out, struct tc_buf *line, struct tc_slice text)
{
    while (text.len > 0) {
        struct tc_slice word = tc_slice_cut(text, ' ', &text);
        if (line->len > HELP_INDENT && line->len + 1 + word.len > HELP_COLUMNS) {
            put_line(out, line);
        }
        if (line->len > HELP_INDENT) {
            tc_buf_char(line, ' ');
        }
        pad(line, HELP_INDENT);
        tc_buf_str(line, word);
    }
}

static void put_option(struct tc_output *out, const struct tc_option *o)
{
    char text[HELP_LINE_MAX];
    struct tc_buf line = tc_buf_make(text, sizeof text);
    tc_buf_lit(&line, "  ");
    if (o->letter != '\0') {
        tc_buf_char(&line, '-');
        tc_buf_char(&line, o->letter);
        tc_buf_lit(&line, ", ");
    } else {
        tc_buf_lit(&line, "    ");
    }
    (void)tc_format(&line, "--{}", o->name);
    if (o->argument != NULL) {
        (void)tc_format(&line, "={}", o->argument);
    }
    if (line.len + 1 > HELP_INDENT) {
        put_line(out, &line);
    }
    put_words(out, &line, tc_slice_cstr(o->help));
    char words[HELP_LINE_MAX];
    struct tc_buf values = tc_buf_make(words, sizeof words);
    tc_option_values(&values, o->values, TC_LIT(", "));
    if (values.len > 0) {
        put_words(out, &line, TC_LIT("One of:"));
        tc_buf_char(&values, '.');
        put_words(out, &line, tc_buf_slice(&values));
    }
    put_line(out, &line);
}

void tc_help_command(struct tc_output *out, const struct tc_command *command)
{
    static const struct tc_option help = {.name = "help", .letter = 'h', .help = "This text."};
    put(out, command->usage);
    if (command->options != NULL) {
        put(out, "\nOptions:\n");
        for (size_t i = 0; i < tc_command_option_count(command); i++) {
            put_option(out, tc_command_option(command, i));
        }
        put_option(out, &help);
    }
    if (command->notes != NULL) {
        put(out, "\n");
        put(out, command->notes);
    }
}

void tc_help_program(struct tc_output *out)
{
    put(out, "usage: tracecore COMMAND [OPTIONS] [ARGUMENTS]\n"
             "       tracecore help [COMMAND]\n"
             "       tracecore --version\n"
             "\n"
             "Reads the telemetry a GPU cluster already produces, says what went wrong and\n"
             "where to look first, and keeps the bytes that prove it.\n"
             "\n"
             "Commands:\n");
    size_t count = 0;
    const struct tc_command *const *all = tc_commands(&count);
    for (size_t i = 0; i < count; i++) {
        char text[HELP_LINE_MAX];
        struct tc_buf line = tc_buf_make(text, sizeof text);
        (void)tc_format(&line, "  {}", all[i]->name);
        pad(&line, 14);
        tc_buf_str(&line, tc_slice_cstr(all[i]->summary));
        put_line(out, &line);
    }
    put(out, "\n"
             "Data goes to standard output, everything else to standard error.\n"
             "Exit status: 0 done, 1 something was found, 2 wrong usage or unreadable input.\n"
             "'tracecore help COMMAND' says more about one.\n");
}
