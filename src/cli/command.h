/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every command of the program looks like: one file cmd_<name>.c with one
 * constant, one line in commands.def. The option table is the one truth: the
 * parser, --help, the manual pages and the shells' completions are made from it.
 */
#ifndef TC_CLI_COMMAND_H
#define TC_CLI_COMMAND_H

#include "base/buf.h"
#include "base/slice.h"
#include "cli/output/output.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

/* What an option's value may be, for --help and completion. */
enum tc_option_values {
    TC_VALUES_ANY,
    TC_VALUES_FORMATS,   /* names of codecs */
    TC_VALUES_PATTERNS,  /* names of detectors */
    TC_VALUES_COLOURS,   /* auto, always, never */
    TC_VALUES_AUDIENCES, /* of a report */
    TC_VALUES_REPORTS,   /* formats of a report */
};

struct tc_option {
    const char *name;     /* without the dashes */
    const char *argument; /* name of its value for --help; NULL when it takes none */
    const char *help;     /* one or more sentences; completion shows the first clause */
    enum tc_option_values values;
    char letter;      /* '\0' when there is no short form */
    unsigned actions; /* bits of the command's: those that it is for; 0: all */
    size_t at;        /* of its member in the command's arguments */
    /* What takes the value when it is to be looked at; NULL: it is stored as it is. Returns
     * TC_GO_ON, or the exit status of the command. */
    int (*take)(void *args, const struct tc_option *option, const char *value);
};

#define TC_GO_ON (-1)

/*
 * Rows of an option table, the help last and behind it what else there is, as in .letter = 'o'.
 * Which member of the arguments an option sets: a bool, the text of its value, or what its `take`
 * makes of that. A member of another type does not compile.
 */
#define TC_FLAG(option, type, member, ...)                                      \
    {                                                                           \
        .name = (option), TC_OPTION_AT(type, member, bool), .help = __VA_ARGS__ \
    }
#define TC_TEXT(option, value, type, member, ...)                                        \
    {                                                                                    \
        .name = (option), .argument = (value), TC_OPTION_AT(type, member, const char *), \
        .help = __VA_ARGS__                                                              \
    }
#define TC_TAKEN(option, value, function, ...)                                         \
    {                                                                                  \
        .name = (option), .argument = (value), .take = (function), .help = __VA_ARGS__ \
    }
#define TC_OPTION_AT(type, member, kind) \
    .at = (offsetof(type, member) + 0 * sizeof(&((type *)NULL)->member == (kind *)NULL))

/* As `words`: the names of all commands. */
#define TC_WORDS_COMMANDS "*"

struct tc_command {
    const char *name;
    const char *summary; /* a few words, for the list of commands */
    const char *usage;   /* synopsis and description, at most 80 columns */
    /* May be NULL. Every command takes --help besides, which is not in the table. */
    const struct tc_option *options;
    size_t option_count;
    /* Options behind these that several commands have: theirs is the first member of the
     * arguments. */
    const struct tc_option *shared;
    size_t shared_count;
    const char *notes; /* behind the options: exit status, examples; may be NULL */
    /* Choices for the first argument, separated by blanks; NULL: files. */
    const char *words;
    /* Takes an argument that is no option, where it stands: behind the option `before`, or NULL.
     * Without it they are left behind the options, from optind on. */
    void (*take_word)(void *args, const struct tc_option *before, char *word);
    /* argv[0] is the command's name. Returns the exit status. */
    int (*run)(int argc, char **argv);
};

#define COMMAND(id) extern const struct tc_command tc_command_##id;
#include "cli/commands.def"
#undef COMMAND

/* All commands, in the order of commands.def. */
const struct tc_command *const *tc_commands(size_t *out_count);
/* By name; NULL when there is none. */
const struct tc_command *tc_command_by_name(struct tc_slice name);
/* The command with the most similar name, or NULL when none is similar. */
const struct tc_command *tc_command_nearest(struct tc_slice name);

/* The text of --help for one command, and for the program. */
void tc_help_command(struct tc_output *out, const struct tc_command *command);
void tc_help_program(struct tc_output *out);
/* The same as manual pages (man.c): of one command, and of the program. */
void tc_man_command(struct tc_output *out, const struct tc_command *command);
void tc_man_program(struct tc_output *out);

/* The words a value can be; nothing when it can be anything. */
/* A level of confidence, from 0.5 to below 1; nothing is changed by NULL. False when it is none,
 * which was said in the name of the command. */
bool tc_option_level(const char *command, const char *text, double *io_level);
void tc_option_values(struct tc_buf *b, enum tc_option_values values, struct tc_slice between);

#define TC_OPTIONS_MAX 32

/* A walk over argv with getopt_long. One at a time in a process: getopt's state is the C library's.
 */
struct tc_option_walk {
    const struct tc_command *command;
    int argc;
    char **argv;
    struct option longs[TC_OPTIONS_MAX + 2];
    char letters[2 * TC_OPTIONS_MAX + 5];
};

static inline size_t tc_command_option_count(const struct tc_command *c)
{
    return c->option_count + c->shared_count;
}

static inline const struct tc_option *tc_command_option(const struct tc_command *c, size_t index)
{
    return index < c->option_count ? &c->options[index] : &c->shared[index - c->option_count];
}

#define TC_OPTION_END (-1)  /* optind is the first argument that is no option */
#define TC_OPTION_BAD (-2)  /* wrong, and the user has been told */
#define TC_OPTION_HELP (-3) /* help was asked for */
#define TC_OPTION_WORD (-4) /* no option, of a command that takes words */

void tc_option_walk_init(struct tc_option_walk *w, const struct tc_command *command, int argc,
                         char **argv);
/* The index of the next option, for tc_command_option, its value (or NULL) in *out_value;
 * or one of the above. */
int tc_option_next(struct tc_option_walk *w, const char **out_value);
/* Puts one option into the arguments. TC_GO_ON, or an exit status. */
int tc_option_take(const struct tc_option *option, void *args, const char *value);

/* Whether it was put there. For options of TC_FLAG and TC_TEXT whose default is none. */
bool tc_option_is_given(const struct tc_option *option, const void *args);

/* Puts all options, and the words, into the arguments; --help is answered. TC_GO_ON, or an exit
 * status; what is wrong was said. */
int tc_options_read(const struct tc_command *command, int argc, char **argv, void *args);

/* Prints the command's help; the exit status of having done so. */
int tc_command_show_help(const struct tc_command *command);
/* Tells how to get help with a command that was called wrongly; TC_EXIT_BAD. */
int tc_command_misused(const struct tc_command *command);
/* The same, after it was said what is wrong. */
#define tc_command_refuse(command, ...) \
    (tc_say((command)->name, __VA_ARGS__), tc_command_misused(command))

#endif
