/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML as JSON text, for readers of documents that come as either. Aliases are written out, but all
 * together to no more than a bound, so that a small text cannot become a large one.
 */
#ifndef TC_BASE_YAML_JSON_H
#define TC_BASE_YAML_JSON_H

#include "base/slice.h"
#include "base/status.h"
#include "base/yaml/tree.h"

#include <stddef.h>

#define TC_YAML_TEXT_MAX ((size_t)64 << 20)
#define TC_YAML_EXPANSION_MAX ((size_t)16 << 20)

/*
 * A value of a tree that was read without failure. By TC_YAML_CORE_1_2 an integer that is too large
 * for 64 bits becomes the nearest double, and .inf and .nan, which JSON does not have, are null; by
 * TC_YAML_PYTHON_1_1 those are refused, and keys are written as Python's json module does it.
 * Into memory of the caller's free(); ended by a NUL that out_len does not count. TC_E_UNSUPPORTED
 * or TC_E_LIMIT with "line L, column C: ..." in err.
 */
TC_CHECKED tc_status tc_yaml_json(const struct tc_yaml_node *n,
                                  const struct tc_yaml_options *options, char **out_json,
                                  size_t *out_len, struct tc_error *err);

/*
 * One document by YAML 1.2's core schema, at most TC_JSON_DEPTH_MAX levels. An empty text is null.
 * TC_E_MALFORMED, TC_E_UNSUPPORTED or TC_E_LIMIT with "line L, column C: ..." in err, and the byte
 * in err->offset where it is known.
 */
TC_CHECKED tc_status tc_yaml_to_json(struct tc_slice yaml, char **out_json, size_t *out_len,
                                     struct tc_error *err);

#endif
