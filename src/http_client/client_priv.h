/* SPDX-License-Identifier: Apache-2.0 */
/* What signed.c needs of a client. */
#ifndef TC_HTTP_CLIENT_CLIENT_PRIV_H
#define TC_HTTP_CLIENT_CLIENT_PRIV_H

#include "http_client/curl_priv.h"
#include "http_client/http_client.h"

/* A body that libcurl asks for as it sends it. */
struct tc__http_upload {
    void (*prepare)(void *context, const struct tc__curl *curl, CURL *easy); /* sets options */
    void *context;
    size_t len;
};

/* The library, and the client's handle for options that hold for all calls. */
const struct tc__curl *tc__http_client_curl(struct tc_http_client *c, CURL **out_easy);
/* From now on; then replies' headers are kept: of the last call, until the next. */
void tc__http_client_is_signed(struct tc_http_client *c);
struct tc_slice tc__http_client_head(struct tc_http_client *c);

TC_CHECKED tc_status tc__http_client_upload(struct tc_http_client *c, const char *path,
                                            struct tc_slice headers,
                                            const struct tc__http_upload *upload,
                                            int64_t timeout_ns, struct tc_http_reply *out_reply,
                                            struct tc_error *err);

#endif
