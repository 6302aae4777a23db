/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program tells its user on standard error. One write per message; what
 * came from outside (paths, quoted input) is escaped, so that it can neither
 * move the cursor nor fake a line.
 */
#ifndef TC_CLI_OUTPUT_SAY_H
#define TC_CLI_OUTPUT_SAY_H

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses of every command. */
#define TC_EXIT_OK 0
#define TC_EXIT_FOUND 1  /* detect: verdicts; evidence: another digest */
#define TC_EXIT_BAD 2    /* wrong usage, unreadable input, unwritable output */
#define TC_EXIT_PIPE 141 /* the reader of standard output has gone: 128 + SIGPIPE */

/* Whether a command is a program beside tracecore, "tracecore-bench". */
bool tc_is_own_program(const char *command);

/* "tracecore COMMAND: message" and a newline, or "tracecore-bench: message". command may be NULL.
 */
void tc_say(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says it; the exit status of a command that ends so. */
#define tc_refuse(...) (tc_say(__VA_ARGS__), TC_EXIT_BAD)

/* The message and a newline, without the program's name: for "PATH: what is wrong with it". */
void tc_say_plain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Of more files than can be read at once, so many are not; nothing is said of none. */
void tc_say_left_out(const char *command, size_t left_out, size_t count_max);

#endif
