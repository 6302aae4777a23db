/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML as JSON text, for readers of documents that come as either. One document, no aliases (a
 * small text cannot become a large one), bounded depth; plain scalars are resolved by YAML 1.2's
 * core schema, or by YAML 1.1's as PyYAML does it (yes, no, on, off are booleans; 1_000; 0o7 no).
 */
#ifndef TC_BASE_YAML_JSON_H
#define TC_BASE_YAML_JSON_H

#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>

#define TC_YAML_TEXT_MAX ((size_t)64 << 20)

enum tc_yaml_schema { TC_YAML_CORE_1_2, TC_YAML_PYTHON_1_1 };

/* Into memory of the caller's free(). TC_E_MALFORMED with "line L, column C: ..." in err. */
TC_CHECKED tc_status tc_yaml_to_json(struct tc_slice yaml, enum tc_yaml_schema schema,
                                     char **out_json, size_t *out_len, struct tc_error *err);

#endif
