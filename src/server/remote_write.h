/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends hot metrics to a Prometheus-compatible store (remote write), from a thread of its own. What
 * waits to be sent is one page: when the store does not take it before the next is due, that
 * replaces it. So memory is bounded by the page, and a store that comes back gets what is true
 * then.
 */
#ifndef TC_SERVER_REMOTE_WRITE_H
#define TC_SERVER_REMOTE_WRITE_H

#include "base/status.h"
#include "server/hot_page.h"

#include <stdint.h>

struct tc_remote_write;

struct tc_remote_write_config {
    const char *url;     /* of a request: with its path */
    const char *headers; /* "Name: value\r\n" lines beside those of the protocol; NULL: none */
    int64_t interval_ns;
    int64_t timeout_ns;       /* of one request */
    struct tc_hot_page *page; /* borrowed */
};

TC_CHECKED tc_status tc_remote_write_start(const struct tc_remote_write_config *config,
                                           struct tc_remote_write **out_remote,
                                           struct tc_error *err);
/* Ends what is being sent. NULL does nothing. */
void tc_remote_write_stop(struct tc_remote_write *r);

#endif
