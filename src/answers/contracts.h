/* SPDX-License-Identifier: Apache-2.0 */
/* The contracts of benchmarks, with the payload keys of the original (schema 2026-03-13). */
#ifndef TC_ANSWERS_CONTRACTS_H
#define TC_ANSWERS_CONTRACTS_H

#include "base/json/out.h"
#include "base/slice.h"
#include "contract/contract.h"

#include <stdint.h>

/* A contract that was made from values (tc_contract_template), as one object with sorted keys. */
void tc_rendered_run_json(struct tc_json_out *j, const struct tc_contract_values *values,
                          struct tc_slice yaml, int64_t now_ns);

#endif
