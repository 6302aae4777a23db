/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a running daemon, over its API. */
#ifndef TC_CLI_DAEMON_H
#define TC_CLI_DAEMON_H

#include "base/slice.h"
#include "base/status.h"
#include "http_client/http_client.h"

#include <stdbool.h>

#define TC_DAEMON_API_DEFAULT "http://127.0.0.1:4320"
/* The environment variable with the token of a daemon that wants one. */
#define TC_DAEMON_TOKEN "TRACECORE_TOKEN"

struct tc_daemon {
    const char *command; /* that messages are said in the name of */
    const char *url;
    struct tc_http_client *client;
    bool silent; /* nothing is said when it does not answer */
};

/* Of a daemon that speaks https; member is a struct tc_http_tls. */
#define TC_DAEMON_TLS_OPTIONS(type, member)                                                       \
    TC_TEXT("cacert", "FILE", type, member.ca_file,                                               \
            "PEM file with the authority of the daemon's certificate, instead of the system's."), \
        TC_TEXT("cert", "FILE", type, member.cert_file,                                           \
                "PEM file with our certificate, for a daemon that wants one "                     \
                "(api.tls.client_ca)."),                                                          \
        TC_TEXT("key", "FILE", type, member.key_file, "PEM file with its key.")

/* False when the URL or a file is wrong, which was said. Borrows all. */
bool tc_daemon_open(struct tc_daemon *d, const char *command, const char *url,
                    const struct tc_http_tls *tls);
void tc_daemon_close(struct tc_daemon *d);

/* A GET with the token of the environment; any status is TC_OK. Nothing is said. */
TC_CHECKED tc_status tc_daemon_call(struct tc_daemon *d, const char *path,
                                    struct tc_http_reply *out_reply, struct tc_error *err);
/* The body of a GET, until the next; false when there is none, which was said with the remedy. */
bool tc_daemon_get(struct tc_daemon *d, const char *path, struct tc_slice *out_body);

#endif
