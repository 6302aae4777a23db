/* SPDX-License-Identifier: Apache-2.0 */
/* The detectors and their knobs, as `tracecore detect --list-patterns` shows them. */
#ifndef TC_CLI_PATTERNS_H
#define TC_CLI_PATTERNS_H

#include "cli/output/output.h"

#include <stdbool.h>

struct tc_engine;

/* Text for people, or one JSON object a line. All of them, or those that `engine` has on. */
void tc_patterns_list(struct tc_output *out, const struct tc_engine *engine, bool json);

#endif
