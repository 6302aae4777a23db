/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One receiver over HTTP, for whatever is sent until it is taken: the client, its headers and
 * secrets, what an answer means, and when to try again. The downstream of verdicts and every
 * receiver of alerts have one; so does the command that tests a receiver.
 *
 * One thread at a time.
 */
#ifndef TC_OUTBOX_POST_H
#define TC_OUTBOX_POST_H

#include "base/slice.h"
#include "base/status.h"
#include "http_client/http_client.h"

#include <stdbool.h>
#include <stdint.h>

#define TC_POST_HEADERS_MAX 8192
#define TC_POST_SECRET_MAX 4096

struct tc_post_config {
    const char *url;        /* may have a query */
    const char *headers;    /* "Name: value\r\n" lines, without a Content-Type */
    const char *token_file; /* read for each request: Authorization: Bearer; NULL or "": none */
    struct tc_http_tls tls;
    int64_t timeout_ns;
    int64_t backoff_min_ns;
    int64_t backoff_max_ns;
    bool is_patient; /* tries again after every 5xx, 408 and 401 (a token is another by and by), not
                        only after what OTLP names */
    int stop_fd;     /* a call ends when it is readable */
};

struct tc_post {
    struct tc_http_client *client; /* NULL: not open */
    char *path;                    /* behind the host */
    char *token_file;              /* NULL: none */
    char headers[TC_POST_HEADERS_MAX];
    size_t headers_len;
    int64_t backoff_min_ns;
    int64_t backoff_max_ns;
    bool is_patient;
    int64_t backoff_ns;
    int64_t pause_ns; /* before the next try, after TC_POST_LATER */
    int64_t retry_ns; /* not before this, monotonic; 0: at once */
    uint64_t random;
};

/* Closes what it was. Strings are copied. Nothing is connected yet. */
TC_CHECKED tc_status tc_post_open(struct tc_post *p, const struct tc_post_config *config,
                                  struct tc_error *err);
/* All zero is closed. */
void tc_post_close(struct tc_post *p);

enum tc_post_result {
    TC_POST_TAKEN,   /* 2xx */
    TC_POST_LATER,   /* nobody answered, or it is to be tried again: not before retry_ns */
    TC_POST_REFUSED, /* for good */
};

struct tc_post_request {
    const char *method;       /* NULL: POST */
    const char *path;         /* NULL: that of the address; else behind it */
    const char *content_type; /* NULL: application/json */
    struct tc_slice headers;  /* more of them, "Name: value\r\n" lines */
    struct tc_slice body;
    int also_taken; /* a status that is as good as 2xx; 0: none */
};

/* Sends one request. err->message says why where it was not taken; reply->status is 0 when there
 * was no answer. */
enum tc_post_result tc_post_send(struct tc_post *p, const struct tc_post_request *request,
                                 struct tc_http_reply *out_reply, struct tc_error *err);

/* The first line of a file with a secret or an address, without white space around it. out has
 * TC_POST_SECRET_MAX bytes. */
TC_CHECKED tc_status tc_post_read_secret(const char *path, char *out, struct tc_error *err);

#endif
