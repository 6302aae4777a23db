/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manual pages in the man(7) macros, made from the same texts as --help: what is true there is true
 * here. The layout of those texts is what this relies on: synopsis, a blank line, paragraphs; notes
 * are headings that end with a colon, and lines that are indented.
 */
#include "base/buf.h"
#include "base/format.h"
#include "cli/command.h"

#define SECTION "1"

static void put(struct tc_output *out, const char *text)
{
    (void)tc_output_put(out, tc_slice_cstr(text));
}

/* A line of text: nothing in it is a request or an escape. */
static void write_line(struct tc_buf *b, const struct tc_arg *arg)
{
    struct tc_slice s = arg->text;
    if (tc_slice_starts(s, TC_LIT(".")) || tc_slice_starts(s, TC_LIT("'"))) {
        tc_buf_lit(b, "\\&");
    }
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '\\') {
            tc_buf_lit(b, "\\e");
        } else if (c == '-') {
            tc_buf_lit(b, "\\-");
        } else {
            tc_buf_char(b, c);
        }
    }
}

static struct tc_arg line(struct tc_slice text)
{
    return (struct tc_arg){.write = write_line, .text = text};
}

static void write_upper(struct tc_buf *b, const struct tc_arg *arg)
{
    for (size_t i = 0; i < arg->text.len; i++) {
        char c = arg->text.ptr[i];
        tc_buf_char(b, (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c));
    }
}

static struct tc_arg upper(struct tc_slice text)
{
    return (struct tc_arg){.write = write_upper, .text = text};
}

static void put_head(struct tc_output *out, struct tc_slice page, const char *summary)
{
    (void)tc_output_format(out,
                           ".\\\" SPDX-License-Identifier: Apache-2.0\n"
                           ".TH {} " SECTION " \"\" \"tracecore " TC_VERSION
                           "\" \"User Commands\"\n"
                           ".SH NAME\n{} \\- {}\n",
                           upper(page), line(page), line(tc_slice_cstr(summary)));
}

/* Text as it is laid out; what is indented stays as it is. A heading is before it, which begins a
 * paragraph itself. */
static void put_paragraphs(struct tc_output *out, struct tc_slice text)
{
    bool is_exact = false;
    bool ends = false; /* what follows is a paragraph of its own */
    bool is_first = true;
    while (text.len > 0) {
        struct tc_slice one = tc_slice_cut(text, '\n', &text);
        bool exact = tc_slice_starts(one, TC_LIT(" "));
        if (one.len == 0) {
            ends = true;
            continue;
        }
        put(out, is_exact && !exact ? ".fi\n" : "");
        put(out, !is_first && (ends || exact != is_exact) ? ".PP\n" : "");
        put(out, exact && !is_exact ? ".nf\n" : "");
        (void)tc_output_format(out, "{}\n", line(one));
        is_exact = exact;
        is_first = false;
        ends = false;
    }
    put(out, is_exact ? ".fi\n" : "");
}

/* Up to the blank line; "usage: " and the blanks below it are not part of it. */
static struct tc_slice put_synopsis(struct tc_output *out, struct tc_slice usage)
{
    put(out, ".SH SYNOPSIS\n.nf\n");
    while (usage.len > 0) {
        struct tc_slice one = tc_slice_cut(usage, '\n', &usage);
        if (one.len == 0) {
            break;
        }
        (void)tc_output_format(out, "{}\n", line(tc_slice_from(one, sizeof "usage: " - 1)));
    }
    put(out, ".fi\n");
    return usage;
}

static void put_option(struct tc_output *out, const struct tc_option *o)
{
    char words[256];
    struct tc_buf values = tc_buf_make(words, sizeof words);
    struct tc_slice letter = tc_slice_make(&o->letter, o->letter != '\0' ? 1 : 0);
    tc_option_values(&values, o->values, TC_LIT(", "));
    (void)tc_output_format(out, ".TP\n.B {}{}{}\\-\\-{}", letter.len > 0 ? "\\-" : "", letter,
                           letter.len > 0 ? ", " : "", line(tc_slice_cstr(o->name)));
    if (o->argument != NULL) {
        (void)tc_output_format(out, "=\\fI{}\\fP", line(tc_slice_cstr(o->argument)));
    }
    (void)tc_output_format(out, "\n{}\n", line(tc_slice_cstr(o->help)));
    if (values.len > 0) {
        (void)tc_output_format(out, "One of: {}.\n", line(tc_buf_slice(&values)));
    }
}

static void put_options(struct tc_output *out, const struct tc_command *c)
{
    static const struct tc_option help = {.name = "help", .letter = 'h', .help = "How to use it."};
    put(out, ".SH OPTIONS\n");
    for (size_t i = 0; i < tc_command_option_count(c); i++) {
        put_option(out, tc_command_option(c, i));
    }
    put_option(out, &help);
}

/* "Exit status:" and what is indented below it. */
static void put_notes(struct tc_output *out, struct tc_slice notes)
{
    while (notes.len > 0) {
        struct tc_slice rest = notes;
        struct tc_slice heading = tc_slice_cut(rest, '\n', &rest);
        size_t end = tc_slice_find(rest, TC_LIT("\n\n"));
        bool is_heading = tc_slice_ends(heading, TC_LIT(":"));
        struct tc_slice body = end == TC_NPOS ? rest : tc_slice_head(rest, end + 1);
        notes = end == TC_NPOS ? TC_EMPTY : tc_slice_from(rest, end + 2);
        if (is_heading) {
            (void)tc_output_format(out, ".SH {}\n", upper(tc_slice_head(heading, heading.len - 1)));
        } else {
            (void)tc_output_format(out, ".SH NOTES\n{}\n", line(heading));
        }
        put_paragraphs(out, body);
    }
}

void tc_man_command(struct tc_output *out, const struct tc_command *command)
{
    char name[64];
    struct tc_buf page = tc_buf_make(name, sizeof name);
    (void)tc_format(&page, "tracecore-{}", command->name);
    put_head(out, tc_buf_slice(&page), command->summary);
    struct tc_slice text = put_synopsis(out, tc_slice_cstr(command->usage));
    put(out, ".SH DESCRIPTION\n");
    put_paragraphs(out, text);
    put_options(out, command);
    if (command->notes != NULL) {
        put_notes(out, tc_slice_cstr(command->notes));
    }
    put(out, ".SH SEE ALSO\n.BR tracecore (" SECTION ")\n");
}

void tc_man_program(struct tc_output *out)
{
    size_t count = 0;
    const struct tc_command *const *all = tc_commands(&count);
    put_head(out, TC_LIT("tracecore"), "diagnosis and performance claims for AI clusters");
    put(out, ".SH SYNOPSIS\n.nf\n"
             "tracecore \\fICOMMAND\\fP [\\fIOPTIONS\\fP] [\\fIARGUMENTS\\fP]\n"
             "tracecore help [\\fICOMMAND\\fP]\n"
             "tracecore \\-\\-version\n"
             ".fi\n"
             ".SH DESCRIPTION\n"
             "Reads the telemetry a GPU cluster already produces, says what went wrong and\n"
             "where to look first, and keeps the bytes that prove it. Turns benchmark runs\n"
             "into comparisons and published numbers that anyone can check.\n"
             ".SH COMMANDS\n");
    for (size_t i = 0; i < count; i++) {
        (void)tc_output_format(out, ".TP\n.BR tracecore\\-{} (" SECTION ")\n{}\n",
                               line(tc_slice_cstr(all[i]->name)),
                               line(tc_slice_cstr(all[i]->summary)));
    }
    put(out, ".SH EXIT STATUS\n"
             ".TP\n.B 0\nDone.\n"
             ".TP\n.B 1\nSomething was found.\n"
             ".TP\n.B 2\nWrong usage, or input that cannot be read.\n"
             ".SH ENVIRONMENT\n"
             ".TP\n.B TRACECORE_*\n"
             "Every key of the configuration: TRACECORE_API_LISTEN is api.listen.\n"
             ".TP\n.B NO_COLOR\nNo colour on a terminal.\n"
             ".SH FILES\n"
             ".TP\n.I /etc/tracecore/tracecore.yaml\n"
             "The configuration of the daemon that the package installs.\n"
             ".TP\n.I /var/lib/tracecore\nIts data_dir.\n");
}
