/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output/terminal.h"

#include "base/slice.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_DEFAULT 80
#define COLUMNS_MIN 40
#define COLUMNS_MAX 120

unsigned tc_terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return COLUMNS_DEFAULT;
    }
    if (size.ws_col < COLUMNS_MIN) {
        return COLUMNS_MIN;
    }
    return size.ws_col > COLUMNS_MAX ? COLUMNS_MAX : size.ws_col;
}

bool tc_terminal_is_output(void)
{
    return isatty(STDOUT_FILENO) == 1;
}

bool tc_terminal_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t n = 0; n < TC_COUNT(variables); n++) {
        struct tc_slice locale = tc_slice_cstr(getenv(variables[n]));
        if (locale.len > 0) {
            return tc_slice_find_nocase(locale, TC_LIT("utf-8")) != TC_NPOS ||
                   tc_slice_find_nocase(locale, TC_LIT("utf8")) != TC_NPOS;
        }
    }
    return true;
}

bool tc_terminal_is_dumb(void)
{
    const char *term = getenv("TERM");
    return term != NULL && strcmp(term, "dumb") == 0;
}

bool tc_terminal_colour(void)
{
    const char *no_colour = getenv("NO_COLOR");
    return tc_terminal_is_output() && !tc_terminal_is_dumb() &&
           (no_colour == NULL || no_colour[0] == '\0');
}
