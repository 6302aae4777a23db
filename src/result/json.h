/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a reader made of a file, as JSON, one object per line: each row with its columns and
 * definitions, the number of requests, the facts of each table that has some, each note. For `run
 * read` and tests.
 */
#ifndef TC_RESULT_JSON_H
#define TC_RESULT_JSON_H

#include "base/table/grow.h"
#include "result/result.h"

void tc_result_json(struct tc_grow *out, struct tc_slice file, const struct tc_result *r);

#endif
