/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which node the inputs are of whose lines name none: the names of the files, of their folders, and
 * what lies beside them. docs/formats.md says it for users.
 */
#ifndef TC_INTAKE_NODES_H
#define TC_INTAKE_NODES_H

#include "base/status.h"
#include "intake/input.h"

#include <stdbool.h>

/* Whether an input is of one node: kernel logs, what tools of a node print, scrapes. */
bool tc_nodes_takes_one(const struct tc_input *in);

/* Gives such inputs their node, by their names. */
void tc_nodes_apply(struct tc_inputs *in);

/*
 * Gives those that have none after that, and that --node gave none, the only one that the files
 * beside them name, and says so. TC_E_NOMEM.
 */
TC_CHECKED tc_status tc_nodes_assume(struct tc_inputs *in);

#endif
