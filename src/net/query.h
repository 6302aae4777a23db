/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters behind the question mark of a request. */
#ifndef TC_NET_QUERY_H
#define TC_NET_QUERY_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>

/*
 * The next "key=value" of *io_rest, decoded (%XX and +) into b. False at the end. *out_bad: it
 * holds a NUL or another control character, or a broken %XX, or does not fit b.
 */
bool tc_query_next(struct tc_slice *io_rest, struct tc_buf *b, struct tc_slice *out_key,
                   struct tc_slice *out_value, bool *out_bad);

#endif
