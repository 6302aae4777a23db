/* SPDX-License-Identifier: Apache-2.0 */
/* What a scalar of YAML is. */
#ifndef TC_BASE_YAML_SCALAR_PRIV_H
#define TC_BASE_YAML_SCALAR_PRIV_H

#include "base/buf.h"
#include "base/yaml/tree.h"

#define TC__YAML_TAG(name) TC_LIT("tag:yaml.org,2002:" name)

/* Sets the kind of a scalar whose text, is_plain and has_tag are known; or what is wrong. */
enum tc_yaml_fault tc__yaml_resolve(struct tc_yaml_node *n, struct tc_slice tag,
                                    enum tc_yaml_schema schema);

/*
 * An INT or REAL as JSON. By the core schema as it is spelled where that is JSON, and null for what
 * JSON has no number for; by Python's false for that, and for what 64 bits cannot hold.
 */
bool tc__yaml_put_number(struct tc_buf *b, const struct tc_yaml_node *n,
                         enum tc_yaml_schema schema);

#endif
