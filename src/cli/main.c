/* SPDX-License-Identifier: Apache-2.0 */
/* The door of the program: finds the command and runs it. */
#include "cli/command.h"
#include "cli/output/say.h"

#include <string.h>
#include <unistd.h>

static int show_version(void)
{
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    (void)tc_output_put(&out, TC_LIT("tracecore " TC_VERSION_FULL "\n"));
    return tc_output_end(&out, NULL, TC_EXIT_OK);
}

static bool is(const char *argument, const char *letter, const char *word)
{
    return strcmp(argument, letter) == 0 || strcmp(argument, word) == 0;
}

int main(int argc, char **argv)
{
    struct tc_output out;
    if (argc < 2) {
        tc_output_init(&out, STDERR_FILENO);
        tc_help_program(&out);
        return tc_output_end(&out, NULL, TC_EXIT_BAD);
    }
    if (is(argv[1], "-V", "--version")) {
        return show_version();
    }
    if (is(argv[1], "-h", "--help")) {
        tc_output_init(&out, STDOUT_FILENO);
        tc_help_program(&out);
        return tc_output_end(&out, NULL, TC_EXIT_OK);
    }
    struct tc_slice name = tc_slice_cstr(argv[1]);
    const struct tc_command *command = tc_command_by_name(name);
    if (command != NULL) {
        return command->run(argc - 1, argv + 1);
    }
    const struct tc_command *near = tc_command_nearest(name);
    if (argv[1][0] == '-') {
        tc_say(NULL, "unknown option %s; try: tracecore help", argv[1]);
    } else if (near != NULL) {
        tc_say(NULL, "there is no command \"%s\"; did you mean %s?", argv[1], near->name);
    } else {
        tc_say(NULL, "there is no command \"%s\"; try: tracecore help", argv[1]);
    }
    return TC_EXIT_BAD;
}
