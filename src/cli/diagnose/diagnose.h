/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `tracecore diagnose`. */
#ifndef TC_CLI_DIAGNOSE_DIAGNOSE_H
#define TC_CLI_DIAGNOSE_DIAGNOSE_H

#include "base/table/grow.h"
#include "diagnose/diagnose.h"

#include <stdbool.h>

/* The page for a person; all: also the checks of playbooks that are not recognised. */
void tc_diagnosis_text(struct tc_grow *g, const struct tc_diagnosis *d, bool all);

#endif
