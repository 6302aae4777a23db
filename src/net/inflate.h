/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes compression off a body, into a buffer of the pool, and never further than the limit: a bomb
 * costs what the limit allows and no more. One for the loop, used again for every body.
 */
#ifndef TC_NET_INFLATE_H
#define TC_NET_INFLATE_H

#include "base/slice.h"
#include "base/status.h"
#include "net/pool.h"

#include <stddef.h>

enum tc_encoding { TC_ENCODING_NONE, TC_ENCODING_GZIP, TC_ENCODING_ZSTD, TC_ENCODING_UNKNOWN };

/* Of the value of Content-Encoding or grpc-encoding. */
enum tc_encoding tc_encoding_parse(struct tc_slice name);

struct tc_inflater;

/* NULL when there is no memory. */
struct tc_inflater *tc_inflater_create(void);
void tc_inflater_destroy(struct tc_inflater *f);

/*
 * *out is a buffer of the pool with the content. TC_E_LIMIT: more than bytes_max; TC_E_MALFORMED:
 * not that compression, damaged or cut off; TC_E_NOMEM: the pool has no room, and err->offset is
 * how much it takes.
 */
TC_CHECKED tc_status tc_inflate(struct tc_inflater *f, enum tc_encoding encoding,
                                struct tc_slice bytes, struct tc_pool *pool, size_t bytes_max,
                                struct tc_buffer **out, struct tc_error *err);

#endif
