/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who and what of a verdict, as one line: what a reader acts on, without what hangs on which
 * of several reports came first, or on when it was seen.
 */
#ifndef TC_TESTS_SUPPORT_ESSENCE_H
#define TC_TESTS_SUPPORT_ESSENCE_H

#include "base/buf.h"
#include "event/verdict.h"

#include <stdbool.h>

void tc_essence_put(struct tc_buf *b, const struct tc_verdict *v, bool with_id);

#endif
