/* SPDX-License-Identifier: Apache-2.0 */
/* Text in addresses of HTTP. */
#ifndef TC_BASE_URL_H
#define TC_BASE_URL_H

#include "base/buf.h"
#include "base/slice.h"

/* All but letters, digits and -._~ as %XX: one part of a path, or a value in a query. */
void tc_buf_url(struct tc_buf *b, struct tc_slice text);

#endif
