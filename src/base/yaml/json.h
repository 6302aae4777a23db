/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML as JSON text, for readers of documents that come as either. One document, at most
 * TC_JSON_DEPTH_MAX levels. Plain scalars are resolved by YAML 1.2's core schema, or by YAML 1.1's
 * as PyYAML's safe loader does it (yes, no, on, off are booleans; 1_000; 010 is eight; 1e3 is
 * text); dates are text. Keys are texts as they stand. .inf and .nan, which JSON does not have, are
 * null. An integer that is too large for 64 bits becomes the nearest double.
 *
 * Aliases are expanded, but all together to no more than TC_YAML_EXPANSION_MAX bytes, so that a
 * small text cannot become a large one; one that contains itself is refused. A key that occurs
 * twice is refused by CORE_1_2; in PYTHON_1_1 the last one wins, and "<<" merges, as in PyYAML.
 * Other tags than YAML's own for null, bool, int, float, str, map and seq are refused.
 */
#ifndef TC_BASE_YAML_JSON_H
#define TC_BASE_YAML_JSON_H

#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>

#define TC_YAML_TEXT_MAX ((size_t)64 << 20)
#define TC_YAML_EXPANSION_MAX ((size_t)16 << 20)

enum tc_yaml_schema { TC_YAML_CORE_1_2, TC_YAML_PYTHON_1_1 };

/*
 * Into memory of the caller's free(); ended by a NUL that out_len does not count. An empty text is
 * null. TC_E_MALFORMED, TC_E_UNSUPPORTED or TC_E_LIMIT with "line L, column C: ..." in err, and
 * the byte in err->offset where it is known.
 */
TC_CHECKED tc_status tc_yaml_to_json(struct tc_slice yaml, enum tc_yaml_schema schema,
                                     char **out_json, size_t *out_len, struct tc_error *err);

#endif
