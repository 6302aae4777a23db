/* SPDX-License-Identifier: Apache-2.0 */
/* What standard output can show. */
#ifndef TC_CLI_OUTPUT_TERMINAL_H
#define TC_CLI_OUTPUT_TERMINAL_H

#include <stdbool.h>

/* The width for text: the terminal's, but neither unreadably narrow nor wide; 80 elsewhere. */
unsigned tc_terminal_columns(void);
bool tc_terminal_is_output(void);
/* Whether signs beyond ASCII can be drawn: the locale does not say otherwise. */
bool tc_terminal_is_utf8(void);
/* A terminal that is not dumb, and the user has not set NO_COLOR (no-color.org). */
bool tc_terminal_colour(void);
/* TERM says that it cannot move the cursor or change colours. */
bool tc_terminal_is_dumb(void);

#endif
