/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

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
