/* SPDX-License-Identifier: Apache-2.0 */
/* The detectors and their knobs, as `tracecore detect --list-patterns` shows them. */
#ifndef TC_CLI_PATTERNS_H
#define TC_CLI_PATTERNS_H

#include "cli/output.h"

#include <stdbool.h>

/* Text for people, or one JSON object a line. */
void tc_patterns_list(struct tc_output *out, bool json);

#endif
