/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl, loaded when something is sent for the first time: it brings 24 more libraries, which
 * would be most of the time that the program takes to start (docs/decisions/0016-libcurl.md).
 */
#ifndef TC_HTTP_CLIENT_CURL_PRIV_H
#define TC_HTTP_CLIENT_CURL_PRIV_H

#include "base/status.h"

#include <curl/curl.h>

/* One pointer for each function, of the type that the header gives it. */
struct tc__curl {
#define FUNCTION(name) __typeof__(&curl_##name) name;
#include "http_client/functions.def"
#undef FUNCTION
};

/* The library for the rest of the process's life, from any thread. TC_E_UNSUPPORTED: there is none,
 * or it is too old. */
TC_CHECKED tc_status tc__curl_load(const struct tc__curl **out, struct tc_error *err);

#endif
