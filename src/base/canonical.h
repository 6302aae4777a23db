/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical JSON (RFC 8785): one spelling for one value, so that equal specs have one digest.
 * Members sorted by UTF-16 code units, numbers as ECMAScript writes them, no blanks. Numbers are
 * doubles: an integer beyond 2^53 that is none is refused rather than rounded, and so are names
 * that occur twice and strings that are no Unicode.
 */
#ifndef TC_BASE_CANONICAL_H
#define TC_BASE_CANONICAL_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/slice.h"
#include "base/status.h"

/* Of a value in a parsed document. The result is never longer than 25 times the values' text;
 * TC_E_LIMIT when `out` is too small. err->message names the member. */
TC_CHECKED tc_status tc_canonical_value(struct tc_json value, struct tc_buf *out,
                                        struct tc_error *err);
/* Of a text; into memory of the caller's free(). */
TC_CHECKED tc_status tc_canonical_text(struct tc_slice json, char **out_text, size_t *out_len,
                                       struct tc_error *err);
/* SHA-256 of the canonical text. */
TC_CHECKED tc_status tc_canonical_digest(struct tc_slice json, struct tc_digest *out,
                                         struct tc_error *err);
/* A number as ECMAScript's ToString gives it; finite. */
void tc_buf_ecma(struct tc_buf *b, double value);

#endif
