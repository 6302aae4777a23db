/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plain scalar of YAML is, as JSON.
 */
#ifndef TC_BASE_YAML_SCALAR_PRIV_H
#define TC_BASE_YAML_SCALAR_PRIV_H

#include "base/buf.h"
#include "base/slice.h"
#include "base/yaml/json.h"

enum tc__yaml_kind {
    TC__YAML_STRING,
    TC__YAML_NULL,
    TC__YAML_BOOL,
    TC__YAML_INT,
    TC__YAML_FLOAT,
    TC__YAML_WRONG, /* looks like a number and has no value: 0x_, 0xffffffffffffffffff */
};

/* What the text is by the schema. */
enum tc__yaml_kind tc__yaml_kind(struct tc_slice text, enum tc_yaml_schema schema);

/* Room that tc__yaml_put needs for a text of that length. */
#define TC__YAML_PUT_MAX(len) ((len)*6 + 32)
/* The scalar as JSON: a text of that kind. Numbers that are JSON stay as they are spelled; those
 * that JSON or a double cannot hold (infinities, NaN) become null. */
void tc__yaml_put(struct tc_buf *b, struct tc_slice text, enum tc__yaml_kind kind,
                  enum tc_yaml_schema schema);

#endif
