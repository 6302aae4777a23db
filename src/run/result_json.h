/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader made of a file, as JSON, one object a line: each row with its columns and
 * definitions, the facts of each table that has some, each note. For `run read` and tests.
 */
#ifndef TC_RUN_RESULT_JSON_H
#define TC_RUN_RESULT_JSON_H

#include "run/grow.h"
#include "run/result.h"

void tc_result_json(struct tc_grow *out, struct tc_slice file, const struct tc_result *r);

#endif
