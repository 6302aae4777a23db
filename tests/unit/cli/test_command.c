/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/command.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char captured[65536];

/* What was written to a descriptor while `act` ran. */
static const char *capture(int fd, void (*act)(const void *), const void *argument)
{
    int saved = dup(fd);
    int file = memfd_create("captured", 0);
    assert_true(saved >= 0 && file >= 0);
    assert_int_equal(dup2(file, fd), fd);
    act(argument);
    assert_int_equal(dup2(saved, fd), fd);
    ssize_t n = pread(file, captured, sizeof captured - 1, 0);
    assert_true(n >= 0);
    captured[n] = '\0';
    (void)close(saved);
    (void)close(file);
    return captured;
}

struct arguments {
    const char *node; /* of the shared option */
    bool json;
    const char *now;
    size_t words;
    const struct tc_option *before; /* the last word */
};

#define END_OF_COMMAND 7

static int take_now(void *args, const struct tc_option *option, const char *value)
{
    memcpy((char *)args + option->at, &value, sizeof value);
    return strcmp(value, "never") == 0 ? END_OF_COMMAND : TC_GO_ON;
}

static void take_word(void *args, const struct tc_option *before, char *word)
{
    struct arguments *a = args;
    a->words++;
    a->before = before;
    assert_int_equal(word[0], 'w');
}

static const struct tc_option OPTIONS[] = {
    TC_FLAG("json", struct arguments, json, "Json."),
    TC_TAKEN("now", "TIME", take_now, "Now.", TC_OPTION_AT(struct arguments, now, const char *)),
};
static const struct tc_option SHARED[] = {
    TC_TEXT("node", "NAME", struct arguments, node, "Node."),
    TC_TEXT("format", "NAME", struct arguments, node, "Format.", .letter = 'f'),
};

static const struct tc_command COMMAND = {.name = "made-up",
                                          .usage = "usage\n",
                                          .options = OPTIONS,
                                          .option_count = TC_COUNT(OPTIONS),
                                          .shared = SHARED,
                                          .shared_count = TC_COUNT(SHARED)};
static const struct tc_command WORDY = {.name = "wordy",
                                        .usage = "usage\n",
                                        .options = OPTIONS,
                                        .option_count = TC_COUNT(OPTIONS),
                                        .shared = SHARED,
                                        .shared_count = TC_COUNT(SHARED),
                                        .take_word = take_word};

struct line {
    int argc;
    char **argv;
    int result;
    const char *value;
    int rest;
};

static struct line last;

static void walk_once(const void *argument)
{
    const struct line *l = argument;
    struct tc_option_walk w;
    last = *l;
    tc_option_walk_init(&w, &COMMAND, l->argc, l->argv);
    last.result = tc_option_next(&w, &last.value);
    last.rest = optind;
}

/* Parses "made-up ARGUMENTS" up to the first option; what it said is in captured. */
static int parse(char *a, char *b)
{
    char name[] = "made-up";
    char *argv[] = {name, a, b, NULL};
    struct line l = {.argc = a == NULL ? 1 : b == NULL ? 2 : 3, .argv = argv};
    capture(STDERR_FILENO, walk_once, &l);
    return last.result;
}

static void options_come_by_index_with_their_values(void **state)
{
    (void)state;
    char json[] = "--json";
    char node[] = "--node";
    char gpu[] = "gpu-07";
    char joined[] = "--node=gpu-08";
    char letter[] = "-fkmsg";
    assert_int_equal(parse(json, NULL), 0);
    assert_null(last.value);
    assert_int_equal(parse(node, gpu), 2);
    assert_string_equal(last.value, "gpu-07");
    assert_int_equal(parse(joined, NULL), 2);
    assert_string_equal(last.value, "gpu-08");
    assert_int_equal(parse(letter, NULL), 3);
    assert_string_equal(last.value, "kmsg");
    assert_string_equal(captured, "");
}

static void words_can_come_where_they_stand(void **state)
{
    (void)state;
    struct tc_option_walk w;
    const char *value = NULL;
    char name[] = "made-up";
    char a[] = "a";
    char json[] = "--json";
    char dash[] = "-";
    char end[] = "--";
    char rest[] = "--node";
    char *argv[] = {name, a, json, dash, end, rest, NULL};
    tc_option_walk_init(&w, &WORDY, 6, argv);
    assert_int_equal(tc_option_next(&w, &value), TC_OPTION_WORD);
    assert_string_equal(value, "a");
    assert_int_equal(tc_option_next(&w, &value), 0);
    assert_int_equal(tc_option_next(&w, &value), TC_OPTION_WORD);
    assert_string_equal(value, "-");
    assert_int_equal(tc_option_next(&w, &value), TC_OPTION_END);
    assert_int_equal(optind, 5);
}

static void options_and_words_are_put_into_the_arguments(void **state)
{
    (void)state;
    struct arguments a = {0};
    char name[] = "wordy";
    char w1[] = "w1";
    char json[] = "--json";
    char now[] = "--now=today";
    char node[] = "-fgpu-07";
    char w2[] = "w2";
    char end[] = "--";
    char w3[] = "w3";
    char *argv[] = {name, w1, json, now, node, w2, end, w3, NULL};
    assert_int_equal(tc_options_read(&WORDY, 2, argv, &a), TC_GO_ON);
    assert_int_equal(a.words, 1);
    assert_null(a.before);
    assert_false(tc_option_is_given(&OPTIONS[0], &a));
    assert_false(tc_option_is_given(&SHARED[0], &a));
    assert_int_equal(tc_options_read(&WORDY, 8, argv, &a), TC_GO_ON);
    assert_int_equal(a.words, 4);
    assert_ptr_equal(a.before, &SHARED[1]);
    assert_true(a.json);
    assert_string_equal(a.now, "today");
    assert_string_equal(a.node, "gpu-07");
    assert_true(tc_option_is_given(&OPTIONS[0], &a));
    assert_true(tc_option_is_given(&SHARED[0], &a));
}

static void what_takes_an_option_can_end_the_command(void **state)
{
    (void)state;
    struct arguments a = {0};
    char name[] = "made-up";
    char now[] = "--now=never";
    char json[] = "--json";
    char word[] = "word";
    char *argv[] = {name, word, now, json, NULL};
    assert_int_equal(tc_options_read(&COMMAND, 4, argv, &a), END_OF_COMMAND);
    assert_false(a.json);
    char *rest[] = {name, word, json, NULL};
    assert_int_equal(tc_options_read(&COMMAND, 3, rest, &a), TC_GO_ON);
    assert_true(a.json);
    assert_int_equal(optind, 2);
}

static void an_unambiguous_beginning_is_enough(void **state)
{
    (void)state;
    char js[] = "--js";
    char no[] = "--no";
    assert_int_equal(parse(js, NULL), 0);
    assert_int_equal(parse(no, NULL), TC_OPTION_BAD);
    assert_non_null(strstr(captured, "--no is ambiguous"));
}

static void arguments_and_a_double_dash_end_the_options(void **state)
{
    (void)state;
    char path[] = "path";
    char json[] = "--json";
    char dashes[] = "--";
    assert_int_equal(parse(path, json), 0); /* options may stand behind */
    assert_int_equal(parse(dashes, json), TC_OPTION_END);
    assert_int_equal(last.rest, 2);
    assert_int_equal(parse(NULL, NULL), TC_OPTION_END);
}

static void help_is_known_to_every_command(void **state)
{
    (void)state;
    char help[] = "--help";
    char letter[] = "-h";
    assert_int_equal(parse(help, NULL), TC_OPTION_HELP);
    assert_int_equal(parse(letter, NULL), TC_OPTION_HELP);
}

static void wrong_options_are_told_with_a_remedy(void **state)
{
    (void)state;
    char slip[] = "--jsno";
    char far[] = "--zzzzzzzz";
    char value[] = "--json=1";
    char missing[] = "--node";
    char letter[] = "-x";
    char letter_missing[] = "-f";
    assert_int_equal(parse(slip, NULL), TC_OPTION_BAD);
    assert_string_equal(captured,
                        "tracecore made-up: unknown option --jsno; did you mean --json?\n");
    assert_int_equal(parse(far, NULL), TC_OPTION_BAD);
    assert_string_equal(
        captured, "tracecore made-up: unknown option --zzzzzzzz; try: tracecore help made-up\n");
    assert_int_equal(parse(value, NULL), TC_OPTION_BAD);
    assert_string_equal(captured, "tracecore made-up: option --json takes no value\n");
    assert_int_equal(parse(missing, NULL), TC_OPTION_BAD);
    assert_non_null(strstr(captured, "--node needs a value"));
    assert_int_equal(parse(letter, NULL), TC_OPTION_BAD);
    assert_non_null(strstr(captured, "unknown option -x"));
    assert_int_equal(parse(letter_missing, NULL), TC_OPTION_BAD);
    assert_non_null(strstr(captured, "-f needs a value"));
}

static void an_option_from_outside_is_shown_escaped(void **state)
{
    (void)state;
    char evil[] = "--\033[2J";
    assert_int_equal(parse(evil, NULL), TC_OPTION_BAD);
    assert_null(strchr(captured, '\033'));
    assert_non_null(strstr(captured, "--\\x1b[2J"));
}

static void commands_are_found_exactly_or_nearly(void **state)
{
    (void)state;
    assert_ptr_equal(tc_command_by_name(TC_LIT("detect")), &tc_command_detect);
    assert_null(tc_command_by_name(TC_LIT("detec")));
    assert_ptr_equal(tc_command_nearest(TC_LIT("detec")), &tc_command_detect);
    assert_null(tc_command_nearest(TC_LIT("frobnicate")));
    assert_null(tc_command_nearest(TC_LIT("")));
}

static void show(const void *argument)
{
    const struct tc_command *c = argument;
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    if (c == NULL) {
        tc_help_program(&out);
    } else {
        tc_help_command(&out, c);
    }
    assert_true(tc_output_flush(&out));
}

static void check_columns(const char *name, const char *text)
{
    for (const char *line = text; *line != '\0';) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        if (end - line > 82 || (end > line && end[-1] == ' ')) {
            print_error("%s: %.*s\n", name, (int)(end - line), line);
            fail();
        }
        line = end + 1;
    }
}

static void every_table_is_sound_and_every_help_complete(void **state)
{
    (void)state;
    size_t count = 0;
    const struct tc_command *const *all = tc_commands(&count);
    assert_true(count >= 6);
    for (size_t i = 0; i < count; i++) {
        const struct tc_command *c = all[i];
        assert_non_null(c->run);
        capture(STDOUT_FILENO, show, c);
        check_columns(c->name, captured);
        assert_int_equal(strncmp(captured, "usage: tracecore ", 17), 0);
        for (size_t a = 0; a < tc_command_option_count(c); a++) {
            const struct tc_option *o = tc_command_option(c, a);
            char wanted[64];
            (void)snprintf(wanted, sizeof wanted, " --%s", o->name);
            assert_non_null(strstr(captured, wanted));
            assert_true(strcmp(o->name, "help") != 0 && o->letter != 'h');
            for (size_t b = 0; b < a; b++) {
                const struct tc_option *other = tc_command_option(c, b);
                assert_true(strcmp(o->name, other->name) != 0);
                assert_true(o->letter == '\0' || o->letter != other->letter);
            }
        }
    }
}

static void the_program_lists_every_command(void **state)
{
    (void)state;
    size_t count = 0;
    const struct tc_command *const *all = tc_commands(&count);
    capture(STDOUT_FILENO, show, NULL);
    check_columns("help", captured);
    for (size_t i = 0; i < count; i++) {
        char wanted[64];
        (void)snprintf(wanted, sizeof wanted, "\n  %s ", all[i]->name);
        assert_non_null(strstr(captured, wanted));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_come_by_index_with_their_values),
        cmocka_unit_test(words_can_come_where_they_stand),
        cmocka_unit_test(options_and_words_are_put_into_the_arguments),
        cmocka_unit_test(what_takes_an_option_can_end_the_command),
        cmocka_unit_test(an_unambiguous_beginning_is_enough),
        cmocka_unit_test(arguments_and_a_double_dash_end_the_options),
        cmocka_unit_test(help_is_known_to_every_command),
        cmocka_unit_test(wrong_options_are_told_with_a_remedy),
        cmocka_unit_test(an_option_from_outside_is_shown_escaped),
        cmocka_unit_test(commands_are_found_exactly_or_nearly),
        cmocka_unit_test(every_table_is_sound_and_every_help_complete),
        cmocka_unit_test(the_program_lists_every_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
