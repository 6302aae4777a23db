/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/output/say.h"

#include <unistd.h>

struct help_args {
    bool as_man;
};

static const struct tc_option OPTIONS[] = {
    TC_FLAG("man", struct help_args, as_man, "As a manual page, for man -l."),
};

static int show_program(bool as_man)
{
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    if (as_man) {
        tc_man_program(&out);
    } else {
        tc_help_program(&out);
    }
    return tc_output_end(&out, "help", TC_EXIT_OK);
}

static int show_man(const struct tc_command *command)
{
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    tc_man_command(&out, command);
    return tc_output_end(&out, "help", TC_EXIT_OK);
}

static int run(int argc, char **argv)
{
    struct help_args args = {0};
    int code = tc_options_read(&tc_command_help, argc, argv, &args);
    if (code != TC_GO_ON) {
        return code;
    }
    if (optind == argc) {
        return show_program(args.as_man);
    }
    struct tc_slice name = tc_slice_cstr(argv[optind]);
    const struct tc_command *command = tc_command_by_name(name);
    if (command == NULL) {
        tc_say("help", "there is no command \"%s\"; try: tracecore help", argv[optind]);
        return TC_EXIT_BAD;
    }
    return args.as_man ? show_man(command) : tc_command_show_help(command);
}

const struct tc_command tc_command_help = {
    .name = "help",
    .summary = "how to use the program, or one command",
    .usage = "usage: tracecore help [--man] [COMMAND]\n"
             "\n"
             "Says how to use the program, or one of its commands: the same text as\n"
             "'tracecore COMMAND --help'.\n",
    .options = OPTIONS,
    .option_count = TC_COUNT(OPTIONS),
    .words = TC_WORDS_COMMANDS,
    .run = run,
};
