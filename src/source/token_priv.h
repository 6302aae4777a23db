/* SPDX-License-Identifier: Apache-2.0 */
/* Bearer tokens in files. */
#ifndef TC_SOURCE_TOKEN_PRIV_H
#define TC_SOURCE_TOKEN_PRIV_H

#include "base/buf.h"
#include "base/status.h"

/* Bytes of a header with a token, with its end. */
#define TC__TOKEN_HEADER_MAX ((size_t)8192 + 64)

/* Adds "Authorization: Bearer ...\r\n" with what the file holds now: tokens of Kubernetes change
 * every hour. An empty path: nothing. TC_E_IO, TC_E_USAGE: it cannot be read, it is none. */
TC_CHECKED tc_status tc__token_header(const char *path, struct tc_buf *b, struct tc_error *err);

#endif
