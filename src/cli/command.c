/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include "base/assert.h"
#include "cli/output/say.h"

#include <string.h>
#include <unistd.h>

/* Values of struct option.val: a table index moved out of the way of letters. */
#define LONG_BASE 256
#define LONG_HELP 255

static const struct tc_command *const COMMANDS[] = {
#define COMMAND(id) &tc_command_##id,
#include "cli/commands.def"
#undef COMMAND
};

#define COMMAND_COUNT TC_COUNT(COMMANDS)

const struct tc_command *const *tc_commands(size_t *out_count)
{
    *out_count = COMMAND_COUNT;
    return COMMANDS;
}

const struct tc_command *tc_command_by_name(struct tc_slice name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (tc_slice_eq(name, tc_slice_cstr(COMMANDS[i]->name))) {
            return COMMANDS[i];
        }
    }
    return NULL;
}

/* Whether so many edits of a word still look like a slip of the finger. */
static bool is_slip(size_t distance, struct tc_slice word)
{
    return distance <= (word.len < 6 ? 2 : word.len / 3);
}

const struct tc_command *tc_command_nearest(struct tc_slice name)
{
    const struct tc_command *best = NULL;
    size_t best_distance = TC_DISTANCE_MAX;
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        size_t distance = tc_slice_distance(name, tc_slice_cstr(COMMANDS[i]->name));
        if (distance < best_distance) {
            best = COMMANDS[i];
            best_distance = distance;
        }
    }
    return is_slip(best_distance, name) ? best : NULL;
}

static const char *nearest_option(const struct tc_command *c, struct tc_slice name)
{
    const char *best = "help";
    size_t best_distance = tc_slice_distance(name, TC_LIT("help"));
    for (size_t i = 0; i < tc_command_option_count(c); i++) {
        const char *other = tc_command_option(c, i)->name;
        size_t distance = tc_slice_distance(name, tc_slice_cstr(other));
        if (distance < best_distance) {
            best = other;
            best_distance = distance;
        }
    }
    return is_slip(best_distance, name) ? best : NULL;
}

void tc_option_walk_init(struct tc_option_walk *w, const struct tc_command *command, int argc,
                         char **argv)
{
    size_t count = tc_command_option_count(command);
    TC_ASSERT(count <= TC_OPTIONS_MAX);
    *w = (struct tc_option_walk){.command = command, .argc = argc, .argv = argv};
    size_t at = 0;
    if (command->take_word != NULL) {
        w->letters[at++] = '-'; /* words come in order */
    }
    w->letters[at++] = ':'; /* a missing value is told apart from an unknown option */
    w->letters[at++] = 'h';
    for (size_t i = 0; i < count; i++) {
        const struct tc_option *o = tc_command_option(command, i);
        w->longs[i] =
            (struct option){.name = o->name,
                            .has_arg = o->argument == NULL ? no_argument : required_argument,
                            .val = LONG_BASE + (int)i};
        if (o->letter != '\0') {
            w->letters[at++] = o->letter;
            if (o->argument != NULL) {
                w->letters[at++] = ':';
            }
        }
    }
    w->longs[count] = (struct option){.name = "help", .has_arg = no_argument, .val = LONG_HELP};
    w->letters[at] = '\0';
    opterr = 0;
    optind = 0; /* makes glibc start over */
}

/* The call that prints the help of a command: a program of its own has no 'tracecore help'. */
static const char *help_call(const struct tc_command *c, char (*text)[64])
{
    bool alone = tc_is_own_program(c->name);
    (void)snprintf(*text, sizeof *text, alone ? "%s --help" : "tracecore help %s", c->name);
    return *text;
}

static int bad_long(const struct tc_option_walk *w, const char *token)
{
    const char *command = w->command->name;
    struct tc_slice rest;
    struct tc_slice name = tc_slice_cut(tc_slice_cstr(token + 2), '=', &rest);
    size_t prefix_count = 0;
    for (const struct option *o = w->longs; o->name != NULL; o++) {
        struct tc_slice known = tc_slice_cstr(o->name);
        if (tc_slice_eq(name, known)) {
            tc_say(command, "option --%s takes no value", o->name);
            return TC_OPTION_BAD;
        }
        prefix_count += tc_slice_starts(known, name);
    }
    const char *near = nearest_option(w->command, name);
    if (prefix_count > 1) {
        tc_say(command, "option --%.*s is ambiguous; write it out", TC_FMT(name));
    } else if (near != NULL) {
        tc_say(command, "unknown option --%.*s; did you mean --%s?", TC_FMT(name), near);
    } else {
        char help[64];
        tc_say(command, "unknown option --%.*s; try: %s", TC_FMT(name),
               help_call(w->command, &help));
    }
    return TC_OPTION_BAD;
}

int tc_option_next(struct tc_option_walk *w, const char **out_value)
{
    *out_value = NULL;
    int c = getopt_long(w->argc, w->argv, w->letters, w->longs, NULL);
    if (c == -1) {
        return TC_OPTION_END;
    }
    if (c == LONG_HELP || c == 'h') {
        return TC_OPTION_HELP;
    }
    if (c == 1) { /* glibc's way of saying that it is no option */
        *out_value = optarg;
        return TC_OPTION_WORD;
    }
    const char *token = w->argv[optind > 0 ? optind - 1 : 0];
    bool is_long = strncmp(token, "--", 2) == 0;
    char help[64];
    if (c == ':') {
        if (is_long) {
            tc_say(w->command->name, "option %s needs a value; try: %s", token,
                   help_call(w->command, &help));
        } else {
            tc_say(w->command->name, "option -%c needs a value; try: %s", optopt,
                   help_call(w->command, &help));
        }
        return TC_OPTION_BAD;
    }
    if (c == '?') {
        if (is_long) {
            return bad_long(w, token);
        }
        tc_say(w->command->name, "unknown option -%c; try: %s", optopt,
               help_call(w->command, &help));
        return TC_OPTION_BAD;
    }
    *out_value = optarg;
    if (c >= LONG_BASE) {
        return c - LONG_BASE;
    }
    for (size_t i = 0; i < tc_command_option_count(w->command); i++) {
        if (tc_command_option(w->command, i)->letter == c) {
            return (int)i;
        }
    }
    return TC_OPTION_BAD; /* not reached: getopt only gives letters of the table */
}

int tc_option_take(const struct tc_option *option, void *args, const char *value)
{
    if (option->take != NULL) {
        return option->take(args, option, value);
    }
    if (option->argument == NULL) {
        *(bool *)((char *)args + option->at) = true;
    } else {
        memcpy((char *)args + option->at, &value, sizeof value);
    }
    return TC_GO_ON;
}

bool tc_option_is_given(const struct tc_option *option, const void *args)
{
    const char *member = (const char *)args + option->at;
    const char *text = NULL;
    if (option->argument == NULL) {
        return *(const bool *)member;
    }
    memcpy(&text, member, sizeof text);
    return text != NULL;
}

int tc_options_read(const struct tc_command *command, int argc, char **argv, void *args)
{
    struct tc_option_walk walk;
    const char *value = NULL;
    const struct tc_option *last = NULL;
    tc_option_walk_init(&walk, command, argc, argv);
    for (int option; (option = tc_option_next(&walk, &value)) != TC_OPTION_END;) {
        if (option == TC_OPTION_HELP) {
            return tc_command_show_help(command);
        }
        if (option == TC_OPTION_BAD) {
            return TC_EXIT_BAD;
        }
        if (option == TC_OPTION_WORD) {
            command->take_word(args, last, (char *)(uintptr_t)value);
            continue;
        }
        last = tc_command_option(command, (size_t)option);
        int code = tc_option_take(last, args, value);
        if (code != TC_GO_ON) {
            return code;
        }
    }
    for (int i = optind; command->take_word != NULL && i < argc; i++) { /* behind -- */
        command->take_word(args, last, argv[i]);
    }
    return TC_GO_ON;
}

int tc_command_show_help(const struct tc_command *command)
{
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    tc_help_command(&out, command);
    return tc_output_end(&out, command->name, TC_EXIT_OK);
}

int tc_command_misused(const struct tc_command *command)
{
    tc_say_plain("try: tracecore help %s", command->name);
    return TC_EXIT_BAD;
}
