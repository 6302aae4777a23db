/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/say.h"

#include <unistd.h>

static int show_program(void)
{
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    tc_help_program(&out);
    return tc_output_end(&out, "help", TC_EXIT_OK);
}

static int run(int argc, char **argv)
{
    int code = tc_options_read(&tc_command_help, argc, argv, NULL);
    if (code != TC_GO_ON) {
        return code;
    }
    if (optind == argc) {
        return show_program();
    }
    struct tc_slice name = tc_slice_cstr(argv[optind]);
    const struct tc_command *command = tc_command_by_name(name);
    if (command == NULL) {
        tc_say("help", "there is no command \"%s\"; try: tracecore help", argv[optind]);
        return TC_EXIT_BAD;
    }
    return tc_command_show_help(command);
}

const struct tc_command tc_command_help = {
    .name = "help",
    .summary = "how to use the program, or one command",
    .usage = "usage: tracecore help [COMMAND]\n"
             "\n"
             "Says how to use the program, or one of its commands: the same text as\n"
             "'tracecore COMMAND --help'.\n",
    .words = TC_WORDS_COMMANDS,
    .run = run,
};
