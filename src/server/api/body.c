/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/body.h"

#include "base/digest.h"
#include "http_client/http_client.h"

#include <stdlib.h>
#include <string.h>

#define JSON_TYPE "application/json"
/* Shorter ones fit in a packet anyway. */
#define GZIP_LEAST 1024
#define ETAG_DIGITS (TC_API_ETAG_BYTES - 2)

/* What is text. Bytes of evidence go as they are: whoever asks for them compares them. */
static bool is_text(const char *type)
{
    struct tc_slice t = tc_slice_cstr(type);
    return tc_slice_starts(t, TC_LIT(JSON_TYPE)) || tc_slice_starts(t, TC_LIT("text/"));
}

/* Where it does not become shorter, or there is no memory, it stays as it is. */
static void compress(struct tc_api_body *b)
{
    char *packed = NULL;
    size_t cap = 0;
    size_t len = 0;
    if (tc_http_gzip(b->bytes, &packed, &cap, &len) != TC_OK || len >= b->bytes.len) {
        free(packed);
        return;
    }
    char *fitted = realloc(packed, len);
    free(b->memory);
    b->memory = fitted == NULL ? packed : fitted;
    b->bytes = tc_slice_make(b->memory, len);
    b->is_gzip = true;
}

static void make_etag(struct tc_api_body *b)
{
    struct tc_digest digest;
    char text[TC_DIGEST_TEXT];
    if (tc_digest_sha256(b->bytes, &digest) == TC_OK) {
        tc_digest_text(&digest, text);
        b->etag[0] = '"';
        memcpy(b->etag + 1, text + sizeof "sha256:" - 1, ETAG_DIGITS);
        b->etag[TC_API_ETAG_BYTES - 1] = '"';
    }
}

struct tc_api_body *tc_api_body_create(struct tc_reply *io_reply, bool takes_gzip, bool wants_etag)
{
    struct tc_api_body *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return NULL;
    }
    b->uses = 1;
    b->memory = io_reply->body.buf.data;
    b->bytes = tc_slice_make(b->memory, io_reply->body.buf.len);
    b->content_type = io_reply->content_type == NULL ? JSON_TYPE : io_reply->content_type;
    b->range_from = io_reply->range_from;
    b->range_total = io_reply->range_total;
    io_reply->body = (struct tc_grow){0};
    if (takes_gzip && b->range_total == 0 && b->bytes.len >= GZIP_LEAST &&
        is_text(b->content_type)) {
        compress(b);
    }
    if (wants_etag) {
        make_etag(b);
    }
    return b;
}

struct tc_api_body *tc_api_body_use(struct tc_api_body *b)
{
    b->uses++;
    return b;
}

void tc_api_body_give(struct tc_api_body *b)
{
    if (b != NULL && --b->uses == 0) {
        free(b->memory);
        free(b);
    }
}

struct tc_slice tc_api_body_etag(const struct tc_api_body *b)
{
    return tc_slice_make(b->etag, b->etag[0] == '"' ? TC_API_ETAG_BYTES : 0);
}
