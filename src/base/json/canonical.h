/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical JSON (RFC 8785): one spelling for one value, so that equal specs have one digest.
 * Members sorted by UTF-16 code units, numbers as ECMAScript writes them, no blanks. Numbers are
 * doubles: an integer that none of them is (beyond 2^53) is refused rather than rounded, and so are
 * names that occur twice and strings that are no Unicode.
 */
#ifndef TC_BASE_JSON_CANONICAL_H
#define TC_BASE_JSON_CANONICAL_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/json/json.h"
#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>

/* "-2.2250738585072014e-308" */
#define TC_ECMA_MAX 25
/* "9e20" becomes 21 digits; nothing grows more. */
#define TC_CANONICAL_GROWTH 6

/*
 * Of a value in a parsed document. The result is never longer than TC_CANONICAL_GROWTH times the
 * value's text; TC_E_LIMIT when `out` is too small. TC_E_MALFORMED: err->message says where (a JSON
 * pointer) and what. What is in `out` after a failure is of no use.
 */
TC_CHECKED tc_status tc_canonical_value(struct tc_json value, struct tc_buf *out,
                                        struct tc_error *err);
/*
 * Of a text; into memory of the caller's free(). Takes integers of any length that are doubles:
 * exactly, or in the very spelling that ECMAScript gives that double.
 */
TC_CHECKED tc_status tc_canonical_text(struct tc_slice json, char **out_text, size_t *out_len,
                                       struct tc_error *err);
/* SHA-256 of the canonical text. */
TC_CHECKED tc_status tc_canonical_digest(struct tc_slice json, struct tc_digest *out,
                                         struct tc_error *err);
/* A number as ECMAScript's Number::toString gives it; finite. At most TC_ECMA_MAX bytes. */
void tc_buf_ecma(struct tc_buf *b, double value);

#endif
