/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An HTTP server for tests, in a thread of its own on 127.0.0.1: it answers request after request
 * by a script, and does what servers should not do when the script says so.
 */
#ifndef TC_TESTS_HTTP_PEER_H
#define TC_TESTS_HTTP_PEER_H

#include <stdbool.h>
#include <stddef.h>

enum peer_act {
    PEER_REPLY,       /* reads the request, sends the text, goes on */
    PEER_REPLY_CLOSE, /* the same, and closes */
    PEER_EARLY,       /* sends the text when the head of the request is there, then closes */
    PEER_CLOSE,       /* reads the request and closes */
    PEER_RESET,       /* the same, with a reset */
    PEER_SILENT,      /* reads the request and waits until peer_stop */
    PEER_CLOSE_IDLE,  /* closes before the next request is read */
    PEER_DRIP,        /* sends the text byte by byte */
};

struct peer_step {
    enum peer_act act;
    const char *text;
    size_t len; /* 0: strlen(text) */
};

struct peer;

/* The last step is repeated. Steps are borrowed until peer_stop. */
struct peer *peer_start(const struct peer_step *steps, size_t count);
unsigned peer_port(const struct peer *p);
/* Requests that were read, and connections. */
size_t peer_requests(struct peer *p);
size_t peer_connections(struct peer *p);
/* A copy of the nth request as it came, NUL-terminated; NULL: there was none. The caller frees. */
char *peer_request(struct peer *p, size_t n);
/* Waits until so many requests were answered; false after ten seconds. */
bool peer_wait(struct peer *p, size_t count);
void peer_stop(struct peer *p);

#endif
