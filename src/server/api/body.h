/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of an answer as it is sent, once for all who get the same. A worker may make one; from
 * then on it is the loop's, where its uses are counted.
 */
#ifndef TC_SERVER_API_BODY_H
#define TC_SERVER_API_BODY_H

#include "answers/question.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Hex digits of a digest that make an ETag, with the quotes. */
#define TC_API_ETAG_BYTES ((size_t)34)
/* Compressing what is longer takes milliseconds: not on the loop. */
#define TC_API_GZIP_ON_LOOP_MAX ((size_t)32 << 10)

struct tc_api_body {
    size_t uses;
    size_t readers; /* answers that are being sent from it */
    struct tc_slice bytes;
    char *memory;             /* where the bytes are */
    const char *content_type; /* static */
    bool is_gzip;
    uint64_t range_from; /* as in struct tc_reply */
    uint64_t range_total;
    char etag[TC_API_ETAG_BYTES]; /* a NUL at its beginning: none */
};

/* Takes the reply's body, which is empty afterwards. With one use. NULL: no memory. */
struct tc_api_body *tc_api_body_create(struct tc_reply *io_reply, bool takes_gzip, bool wants_etag);
struct tc_api_body *tc_api_body_use(struct tc_api_body *b);
/* NULL is fine. */
void tc_api_body_give(struct tc_api_body *b);

struct tc_slice tc_api_body_etag(const struct tc_api_body *b);

#endif
