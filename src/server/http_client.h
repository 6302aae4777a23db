/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small HTTP/1.1 client for one server, blocking, with deadlines: what sends OTLP downstream
 * (outbox), a simulated fleet (simulate --otlp) and questions to a daemon (status). Keeps its
 * connection between calls.
 */
#ifndef TC_SERVER_HTTP_CLIENT_H
#define TC_SERVER_HTTP_CLIENT_H

#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct tc_http_client;

/* url: "http://host:port" or "https://...", a path in it comes before that of the calls. */
TC_CHECKED tc_status tc_http_client_create(const char *url, int64_t timeout_ns,
                                           struct tc_http_client **out_client,
                                           struct tc_error *err);
void tc_http_client_destroy(struct tc_http_client *c);

struct tc_http_reply {
    int status;             /* 200 */
    unsigned retry_after_s; /* 0: not said */
    struct tc_slice body;   /* of the client, until the next call; cut at 1 MiB */
};

/* headers: "Name: value\r\n" lines or empty. TC_E_IO with a message when there was no reply. */
TC_CHECKED tc_status tc_http_client_call(struct tc_http_client *c, const char *method,
                                         const char *path, struct tc_slice headers,
                                         struct tc_slice body, struct tc_http_reply *out_reply,
                                         struct tc_error *err);

#endif
