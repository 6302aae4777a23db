/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/say.h"

#include "base/buf.h"
#include "base/format.h"
#include "base/os/io.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* A message longer than this is cut: paths are at most 4,096 bytes. */
#define MESSAGE_MAX 8192
#define ESCAPE_GROWTH 4 /* a byte as \xNN */

__attribute__((format(printf, 2, 0))) static void say(struct tc_slice prefix, const char *format,
                                                      va_list arguments)
{
    char message[MESSAGE_MAX];
    char escaped[MESSAGE_MAX * ESCAPE_GROWTH];
    struct tc_buf b = tc_buf_make(escaped, sizeof escaped);
    int len = vsnprintf(message, sizeof message, format, arguments);
    size_t shown = len < 0 ? 0 : (size_t)len < sizeof message ? (size_t)len : sizeof message - 1;
    (void)tc_format(&b, "{}{}\n", prefix, tc_as_printable(tc_slice_make(message, shown)));
    (void)tc_io_write(STDERR_FILENO, tc_buf_slice(&b)); /* else nobody is left to tell */
}

bool tc_is_own_program(const char *command)
{
    return tc_slice_starts(tc_slice_cstr(command), TC_LIT("tracecore-"));
}

void tc_say(const char *command, const char *format, ...)
{
    char text[64];
    struct tc_buf prefix = tc_buf_make(text, sizeof text);
    if (command == NULL) {
        tc_buf_lit(&prefix, "tracecore");
    } else {
        (void)tc_format(&prefix, "{}{}", tc_is_own_program(command) ? "" : "tracecore ", command);
    }
    tc_buf_lit(&prefix, ": ");
    va_list arguments;
    va_start(arguments, format);
    say(tc_buf_slice(&prefix), format, arguments);
    va_end(arguments);
}

void tc_say_plain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(TC_EMPTY, format, arguments);
    va_end(arguments);
}

void tc_say_left_out(const char *command, size_t left_out, size_t count_max)
{
    if (left_out > 0) {
        tc_say(command, "%zu file%s not read: more than %zu; give fewer at a time", left_out,
               left_out == 1 ? " was" : "s were", count_max);
    }
}
